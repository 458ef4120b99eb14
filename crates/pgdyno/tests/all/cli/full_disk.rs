//! A disk that is full: what was measured is reported, nothing claims to be whole, and the exit code says
//! so. In a mount namespace of its own, so that nothing has to be undone.

use std::ffi::OsStr;
use std::fs;
use std::io::Write;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde_json::Value;

use crate::child::Running;
use crate::cli::store::Notebook;
use crate::support::{Database, Ran, pgdyno};

/// A command that finds a small disk at `at`, what is done with its output, and what follows in the
/// shell behind its end.
fn on_small_disk(command: &Command, at: &Path, size: &str, (to, then): (&str, &str)) -> Command {
    let script = format!(
        "mount -t tmpfs -o size={size} tmpfs '{}' || exit 99; \"$@\" {to}; code=$?; {then} exit $code",
        at.display()
    );
    let mut shell = Command::new("unshare");
    shell.args(["--mount", "sh", "-c", &script, "sh"]);
    shell.arg(command.get_program()).args(command.get_args());
    for (name, value) in command.get_envs() {
        match value {
            Some(value) => shell.env(name, value),
            None => shell.env_remove(name),
        };
    }
    shell.stdin(Stdio::null());
    shell
}

/// Whether this user may mount a disk.
fn can_mount() -> bool {
    let probe = Command::new("unshare").args(["--mount", "true"]).output();
    pgdyno_platform::user::is_root() && probe.is_ok_and(|output| output.status.success())
}

/// Writes until there is no room.
fn fill(path: &Path) {
    let mut file = fs::File::create(path).unwrap();
    for size in [1 << 16, 1 << 10, 1] {
        while file.write_all(&vec![b'x'; size]).is_ok() {}
    }
}

/// A file as a process sees it.
fn seen_by(running: &Running, path: &Path) -> PathBuf {
    let root = PathBuf::from(format!("/proc/{}/root", running.id()));
    root.join(path.strip_prefix("/").unwrap())
}

/// A trial whose disk fills up while it runs, and what is done with its output; the notebook says at
/// last how it ended.
fn trial_on_a_disk_that_fills_up(db: &Database, dir: &Path, size: &str, to: &str) -> Ran {
    db.sql("CREATE TABLE visit (client int)");
    let (disk, tmp) = (dir.join("disk"), dir.join("tmp"));
    fs::create_dir(&disk).unwrap();
    fs::create_dir(&tmp).unwrap();
    let script = dir.join("visit.sql");
    fs::write(
        &script,
        "\\sleep 5 ms\ninsert into visit values (:client_id);\n",
    )
    .unwrap();
    let store = disk.join("notebook.sqlite");
    let mut command = pgdyno(&["run", script.to_str().unwrap(), "-c", "2", "-T", "3"]);
    command.arg("--store").arg(&store).args(["--url", &db.url]);
    command.env("TMPDIR", &tmp);
    // When there is room again, the notebook is asked.
    let then = format!(
        "rm '{}'; '{}' sql \"SELECT state, reason FROM trial\" --store '{}';",
        disk.join("filler").display(),
        env!("CARGO_BIN_EXE_pgdyno"),
        store.display()
    );
    let running = Running::start(&mut on_small_disk(&command, &disk, size, (to, &then)));
    db.wait_for("SELECT client FROM visit OFFSET 100 LIMIT 1");
    fill(&seen_by(&running, &disk.join("filler")));
    running.ended()
}

#[test]
fn a_disk_that_fills_up_during_a_trial_costs_nothing() {
    if !can_mount() {
        pgdyno_testkit::skip!(
            "full_disk::a_disk_that_fills_up_during_a_trial_costs_nothing",
            "only root can mount a small disk"
        );
    }
    let db = Database::new("full_disk_kept");
    let dir = tempfile::tempdir().unwrap();
    let ran = trial_on_a_disk_that_fills_up(&db, dir.path(), "8m", "").expect(0, &["tps  "]);
    assert!(ran.stdout.contains("complete"), "{ran:#?}");
}

#[test]
fn a_disk_without_any_room_at_the_end_of_a_trial_costs_the_notebook_but_not_the_result() {
    if !can_mount() {
        pgdyno_testkit::skip!(
            "full_disk::a_disk_without_any_room_at_the_end_of_a_trial_costs_the_notebook_but_not_the_result",
            "only root can mount a small disk"
        );
    }
    let db = Database::new("full_disk_end");
    let dir = tempfile::tempdir().unwrap();
    // Too small for the room that a trial keeps.
    let ran = trial_on_a_disk_that_fills_up(&db, dir.path(), "4m", "").expect(
        1,
        &[
            "tps  ",
            "pgdyno: error: this run is not kept",
            "full",
            "its complete result is in ",
        ],
    );
    assert!(ran.stdout.contains("aborted"), "{ran:#?}");
    let files: Vec<PathBuf> = fs::read_dir(dir.path().join("tmp"))
        .unwrap()
        .map(|e| e.unwrap().path())
        .collect();
    let [file] = files.as_slice() else {
        panic!("{files:?}")
    };
    assert!(ran.stderr.contains(file.to_str().unwrap()), "{ran:#?}");
    assert_eq!(
        fs::metadata(file).unwrap().permissions().mode() & 0o777,
        0o600
    );
    let document: Value = serde_json::from_str(&fs::read_to_string(file).unwrap()).unwrap();
    let committed = document["measured"]["committed"].as_u64().unwrap();
    assert_eq!(
        committed.to_string(),
        db.value("SELECT count(*) FROM visit")
    );
}

#[test]
fn a_result_that_can_neither_be_kept_nor_printed_is_rescued() {
    if !can_mount() {
        pgdyno_testkit::skip!(
            "full_disk::a_result_that_can_neither_be_kept_nor_printed_is_rescued",
            "only root can mount a small disk"
        );
    }
    let db = Database::new("full_disk_output");
    let dir = tempfile::tempdir().unwrap();
    let ran = trial_on_a_disk_that_fills_up(&db, dir.path(), "4m", "> /dev/full");
    let texts = [
        "this run is not kept",
        "its complete result is in ",
        "No space left",
    ];
    ran.expect(1, &texts);
    let files = fs::read_dir(dir.path().join("tmp")).unwrap();
    assert_eq!(files.count(), 1);
}

#[test]
fn a_store_on_a_full_disk_fails_before_the_run() {
    if !can_mount() {
        pgdyno_testkit::skip!(
            "full_disk::a_store_on_a_full_disk_fails_before_the_run",
            "only root can mount a small disk"
        );
    }
    let dir = tempfile::tempdir().unwrap();
    let store = dir.path().join("notebook.sqlite");
    let mut command = pgdyno(&[
        "run",
        "select-only",
        "--url",
        "host=127.0.0.1 port=1 user=x",
    ]);
    command.arg("--store").arg(&store);
    let small = on_small_disk(&command, dir.path(), "8k", ("", ""));
    let ran = crate::support::ran(&mut { small });
    ran.expect(1, &["the store", "full", "make room"]);
}

#[test]
fn a_bundle_that_finds_no_room_leaves_nothing() {
    let name = "full_disk::a_bundle_that_finds_no_room_leaves_nothing";
    if !can_mount() {
        pgdyno_testkit::skip!(name, "only root can mount a small disk");
    }
    let (db, notebook) = (Database::new("full_disk_bundle"), Notebook::new());
    notebook
        .run(&db, &["run", "select-only", "-t", "20"])
        .expect(0, &[]);
    let disk = notebook.beside("disk");
    fs::create_dir(&disk).unwrap();
    let mut command = notebook.command(&["export", "1", "--bundle"]);
    command.arg(disk.join("x.bundle"));
    let then = format!("ls -A '{}' | sed 's/^/left: /';", disk.display());
    let small = on_small_disk(&command, &disk, "8k", ("", &then));
    let ran = crate::support::ran(&mut { small });
    let ran = ran.expect(
        1,
        &["cannot write", "x.bundle", "No space left", "make room"],
    );
    assert!(!ran.stdout.contains("left: "), "{ran:#?}");
}

#[test]
fn a_log_that_finds_no_room_ends_pgbench_as_it_does_the_stock_one() {
    let name = "full_disk::a_log_that_finds_no_room_ends_pgbench_as_it_does_the_stock_one";
    if !can_mount() {
        pgdyno_testkit::skip!(name, "only root can mount a small disk");
    }
    let Some(stock) = pgdyno_testkit::stock_pgbench() else {
        pgdyno_testkit::skip!(name, "no stock pgbench 18");
    };
    let db = Database::new("full_disk_log");
    let dir = tempfile::tempdir().unwrap();
    let disk = dir.path().join("disk");
    fs::create_dir(&disk).unwrap();
    let script = dir.path().join("one.sql");
    fs::write(&script, "SELECT 1;\n").unwrap();
    let prefix = format!("--log-prefix={}", disk.join("log").display());
    let run = |program: &OsStr, verb: &[&str], more: &[&str]| {
        let mut command = Command::new(program);
        command
            .args(verb)
            .args(["-n", "-t", "2000", "-c", "2", "-l", &prefix]);
        command
            .args(more)
            .arg("-f")
            .arg(&script)
            .args(["-d", &db.url]);
        crate::support::ran(&mut on_small_disk(&command, &disk, "8k", ("", "")))
    };
    let ours = OsStr::new(env!("CARGO_BIN_EXE_pgdyno"));
    for more in [&[][..], &["-j", "2"], &["--aggregate-interval=1"]] {
        let (theirs, own) = (
            run(stock.as_os_str(), &[], more),
            run(ours, &["pgbench"], more),
        );
        assert_eq!(own.code, theirs.code, "{more:?}: {own:#?} {theirs:#?}");
        assert!(own.stdout.contains("tps = ") && theirs.stdout.contains("tps = "));
    }
    // A log that is not whole does not go unsaid.
    let own = run(ours, &["pgbench"], &[]);
    assert!(
        own.stderr.contains("could not write to logfile"),
        "{own:#?}"
    );
}

#[test]
fn a_file_of_results_is_written_where_output_is_full_and_kept_until_there_is_a_new_one() {
    let db = Database::new("full_output");
    let notebook = Notebook::new();
    let script = notebook.beside("one.sql");
    fs::write(&script, "SELECT 1;\n").unwrap();
    let file = notebook.beside("run.json");
    let json_to = format!("--json={}", file.display());
    let run = |url: &str| {
        let mut command = notebook.command(&["run", "-t", "5", &json_to, "--url", url]);
        command.arg(&script);
        command
    };
    let full = fs::OpenOptions::new().write(true).open("/dev/full");
    let mut command = run(&db.url);
    let ran = Running::start_silent(command.stdout(full.unwrap())).ended();
    assert_eq!(ran.code, Some(1), "{ran:#?}");
    let written = fs::read_to_string(&file).unwrap();
    let document: Value = serde_json::from_str(&written).unwrap();
    assert_eq!(document["measured"]["committed"], 5);
    let nowhere = "host=127.0.0.1 port=1 user=x";
    crate::support::ran(&mut run(nowhere)).expect(3, &[]);
    assert_eq!(fs::read_to_string(&file).unwrap(), written);
    fs::remove_file(&file).unwrap();
    crate::support::ran(&mut run(nowhere)).expect(3, &[]);
    assert!(!file.exists(), "there is no result");
}
