//! Whatever goes wrong: a clear message, a documented exit code, no panic, what was measured is
//! reported, and no server is left behind.

use std::fs;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use pgdyno_platform::child::{Signal, send_signal};
use pgdyno_testkit::postgres_with;

use crate::child::{Running, server_processes, wait_until};
use crate::support::{Database, Ran, connect, pgdyno, ran};

/// `pgdyno ARGS` on a server of its own below `cache`.
fn own_server(cache: &Path, args: &[&str]) -> Command {
    let mut command = pgdyno(args);
    command
        .envs(pgdyno_testkit::own_cache(cache))
        .arg("--pg-bindir")
        .arg(&pgdyno_testkit::installation().bindir);
    command
}

/// No process of a server and no data are left below `cache`.
#[track_caller]
fn assert_nothing_left(cache: &Path) {
    assert_eq!(server_processes(cache), Vec::<u32>::new(), "processes left");
    let servers = fs::read_dir(cache.join("servers")).into_iter().flatten();
    let left: Vec<_> = servers
        .flatten()
        .map(|entry| entry.file_name())
        .filter(|name| name != ".pgdyno-lock")
        .collect();
    assert!(left.is_empty(), "left behind: {left:?}");
}

/// A script file that lasts as long as the returned directory.
fn script(text: &str) -> (tempfile::TempDir, String) {
    let dir = tempfile::tempdir().expect("temporary directory");
    let path = dir.path().join("mine.sql");
    fs::write(&path, text).expect("written");
    let path = path.to_str().expect("ASCII").to_owned();
    (dir, path)
}

fn transactions_in_progress(db: &Database, application: &str) -> bool {
    let query = format!(
        "SELECT count(*) > 0 FROM pg_stat_activity
         WHERE datname = current_database() AND {application} AND pid <> pg_backend_pid()"
    );
    db.value(&query) == "t"
}

#[test]
fn a_wrong_command_line_is_answered_with_what_was_meant() {
    let cache = pgdyno_testkit::home();
    let run = |args: &[&str]| -> Ran { ran(&mut own_server(cache.path(), args)) };
    run(&["run", "tpcb", "--cleints", "3"]).expect(2, &["--cleints", "--clients"]);
    run(&["run", "tpcb", "-c", "0"]).expect(2, &["-c", "0"]);
    run(&["run", "tpcb", "-T", "3", "-t", "5"]).expect(2, &["cannot be used with"]);
    run(&["run", "tpcb", "--param", "scala=3"]).expect(2, &["scala", "scale"]);
    run(&["run", "tpbc"]).expect(2, &["tpbc", "tpcb", "a folder is named by its path"]);
    run(&["run", "/nowhere/x.sql"]).expect(2, &["/nowhere/x.sql", "No such file"]);
    run(&["run", "tpcb", "--json=/nonexistent/x"])
        .expect(2, &["--json", "/nonexistent/x", "No such file"]);
    let servers = cache.path().join("servers");
    assert!(!servers.exists(), "nothing was started");
}

#[test]
fn a_script_with_an_error_is_shown_with_its_place_and_nothing_is_started() {
    let cache = pgdyno_testkit::home();
    let (_dir, path) = script("\\set a 1\nSELECT 1;\n\\set b 1 +* 2\n");
    let refused = ran(&mut own_server(cache.path(), &["run", &path])).expect(1, &[]);
    let (place, rest) = refused.stderr.split_once('\n').expect("several lines");
    // In pgbench's form: the column is the caret's.
    assert!(
        place.contains(&format!("{path}:3: syntax error")),
        "{place}"
    );
    assert!(rest.contains("\\set b 1 +* 2\n          ^"), "{rest}");
    assert!(!cache.path().join("servers").exists());

    let (_dir, path) = script("\\sett a 1\n");
    ran(&mut own_server(cache.path(), &["run", &path])).expect(1, &[&format!("{path}:1:"), "sett"]);
}

#[test]
fn a_missing_object_has_the_servers_error() {
    let db = Database::new("bad_missing_tables");
    let (_dir, path) = script("\\set a 1\nSELECT * FROM nothing_here;\n");
    let run = db.pgdyno(&["run", &path, "-t", "5", "-c", "2"]).expect(
        1,
        &[
            "relation \"nothing_here\" does not exist",
            "client ",
            &format!("aborted at {path}:2: ERROR:"),
            "SELECT * FROM nothing_here;\n              ^",
            &format!("pgdyno: error: 1 more: aborted at {path}:2"),
            "ABORTED",
            "42P01",
        ],
    );
    let says = "failed       all 2 transactions: 42P01 relation \"nothing_here\" does not exist";
    assert!(run.stdout.contains(says), "{run:?}");
    let mut lines = run.stdout.lines();
    let place = lines.find(|line| line.contains(":2:SELECT * FROM nothing_here;"));
    let (place, mark) = (place.expect("the place"), lines.next().expect("its mark"));
    let at = place.chars().position(|c| c == '*').expect("a star") + "* FROM ".len();
    assert_eq!(mark, format!("{:at$}^", ""), "{run:?}");
    assert!(!run.stdout.contains("limited by"), "{run:?}");
    let (_dir, path) = script("\\set a 1/0\nSELECT :a;\n");
    db.pgdyno(&["run", &path, "-t", "5"])
        .expect(1, &[&format!("{path}:1: division by zero\n\\set a 1/0")]);
    // Going on after errors: each is counted, and the run is complete.
    let (_dir, path) = script("SELECT * FROM nothing_here;\n");
    let run = db
        .pgdyno(&["run", &path, "-t", "5", "--continue-on-error"])
        .expect(
            1,
            &[
                "all 5 transactions: 42P01 relation",
                "create the tables first",
            ],
        );
    // A mistake in a script is no conflict between transactions.
    assert!(!run.stdout.contains("Contention limited it"), "{run:?}");
}

#[test]
fn a_server_that_is_not_there_is_named_with_the_reason() {
    let free = std::net::TcpListener::bind("127.0.0.1:0").expect("a port is free");
    let port = free.local_addr().expect("bound").port();
    drop(free);
    let url = format!("postgresql://me@127.0.0.1:{port}/bench");
    let expected = ["127.0.0.1", &port.to_string(), "Connection refused"];
    ran(&mut pgdyno(&["run", "tpcb", "--url", &url])).expect(3, &expected);
    let port = port.to_string();
    let by_environment = [("PGHOST", "127.0.0.1"), ("PGPORT", &port)];
    ran(pgdyno(&["run", "tpcb"]).envs(by_environment)).expect(3, &expected);
    ran(&mut pgdyno(&[
        "run",
        "tpcb",
        "--url",
        "postgresql://no.such.host.invalid/x",
    ]))
    .expect(3, &["no.such.host.invalid"]);
    let db = Database::new("missing_database");
    let url = db.url.replace("missing_database", "never_created");
    ran(&mut pgdyno(&["run", "tpcb", "--url", &url])).expect(
        3,
        &[
            "database \"never_created\" does not exist",
            "CREATE DATABASE",
        ],
    );
}

#[test]
fn a_wrong_or_missing_password_is_an_error() {
    let server = postgres_with(&["password_encryption=scram-sha-256"]);
    let mut session = connect(&server.address().url());
    session
        .simple_query(
            "CREATE ROLE alice LOGIN PASSWORD 'right'; GRANT CREATE ON SCHEMA public TO alice",
        )
        .expect("superuser");
    // From 16 on. More iterations of the hash than most drivers take.
    let has_iterations = server.version().major >= 16;
    if has_iterations {
        session
            .simple_query(
                "SET scram_iterations = 150000; CREATE ROLE bob LOGIN PASSWORD 'right' IN ROLE alice",
            )
            .expect("superuser");
    }
    fs::write(
        server.data_dir().join("pg_hba.conf"),
        "local all postgres trust\nhost all all 127.0.0.1/32 scram-sha-256\n",
    )
    .expect("ours");
    session
        .simple_query("SELECT pg_reload_conf()")
        .expect("superuser");
    let port = server.address().port;
    let url = format!("postgresql://alice@127.0.0.1:{port}/postgres");
    let run = |password: Option<&str>| {
        let mut command = pgdyno(&["run", "select-only", "-t", "10", "--url", &url]);
        if let Some(password) = password {
            command.env("PGPASSWORD", password);
        }
        ran(command.env("PGPASSFILE", "/nonexistent"))
    };
    // The new rules hold once the postmaster has read them.
    wait_until("passwords are asked for", || run(None).code == Some(3));
    run(None).expect(3, &["no password supplied"]);
    run(Some("wrong")).expect(
        3,
        &[
            "password authentication failed for user \"alice\"",
            "PGPASSWORD",
        ],
    );
    run(Some("right")).expect(0, &["(10 committed"]);
    if !has_iterations {
        return;
    }
    let url = url.replace("alice", "bob");
    let run = |limit: Option<&str>| {
        let mut command = pgdyno(&["run", "select-only", "-t", "10", "--url", &url]);
        if let Some(limit) = limit {
            command.env("PGSCRAMMAXITERATIONS", limit);
        }
        ran(command.env("PGPASSWORD", "right"))
    };
    run(None).expect(0, &["(10 committed"]);
    let asked = "asks for 150000 iterations of SCRAM's hash";
    let fewer = "set the role's password anew with fewer";
    run(Some("149999")).expect(3, &[asked, "scram_max_iterations=150000", fewer]);
}

#[test]
fn more_clients_than_connections_is_an_error_with_the_limit() {
    let server = postgres_with(&["max_connections=12"]);
    let db = Database::on(&server, "connections");
    db.pgdyno(&["run", "select-only", "-c", "40", "-t", "5"])
        .expect(
            3,
            &[
                "too many clients already",
                "client ",
                "max_connections is 12",
            ],
        );
    wait_until("all have left", || {
        !transactions_in_progress(&db, "backend_type = 'client backend'")
    });
    // Instruments have sessions too, and leave few of the twelve.
    let few = [
        "run",
        "select-only",
        "-c",
        "4",
        "-t",
        "5",
        "--observe",
        "none",
    ];
    db.pgdyno(&few).expect(0, &["(20 committed"]);
}

#[test]
fn a_server_killed_in_the_middle_costs_nothing_that_was_measured() {
    let cache = pgdyno_testkit::home();
    let args = ["run", "tpcb", "-c", "4", "-T", "30", "--param", "scale=1"];
    let file = cache.path().join("result.json");
    let mut run =
        Running::start(own_server(cache.path(), &args).arg(format!("--json={}", file.display())));
    let postmaster = postmaster_once_running(cache.path(), &mut run);
    send_signal(postmaster, Signal::Kill).expect("it runs");
    let ran = run.ended().expect(3, &["tps  ", "ABORTED"]);
    let json: serde_json::Value =
        serde_json::from_str(&fs::read_to_string(&file).expect("written")).expect("JSON");
    assert!(json["measured"]["committed"].as_u64() > Some(0), "{ran:?}");
    assert_eq!(json["clients"]["disconnected"], 4);
    wait_until("the server's last process has ended", || {
        server_processes(cache.path()).is_empty()
    });
    assert_nothing_left(cache.path());
}

/// Waits until the clients of a run on its own server are at work; the server's first process.
fn postmaster_once_running(cache: &Path, run: &mut Running) -> u32 {
    let mut postmaster = None;
    wait_until("clients at work", || {
        assert!(!run.is_over(), "it ended early");
        let processes = server_processes(cache);
        // A load updates nothing; clients wait for each other at the only branch.
        let is_at_work = |pid: &u32| {
            let title = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
            String::from_utf8_lossy(&title).contains("UPDATE waiting")
        };
        postmaster = processes.iter().copied().find(|pid| {
            let status = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
            let parent = status.rsplit(") ").next().and_then(|s| s.split(' ').nth(1));
            parent == Some(run.id().to_string().as_str())
        });
        processes.iter().any(is_at_work)
    });
    // What was measured is more than nothing.
    std::thread::sleep(Duration::from_millis(300));
    postmaster.expect("pgdyno is its parent")
}

#[test]
fn an_interrupt_ends_a_run_with_its_summary_and_its_server() {
    for (signal, code) in [
        (Signal::Interrupt, 130),
        (Signal::Terminate, 143),
        (Signal::Hangup, 129),
    ] {
        let cache = pgdyno_testkit::home();
        let args = ["run", "tpcb", "-c", "4", "-T", "60"];
        let mut run = Running::start(own_server(cache.path(), &args).process_group(0));
        postmaster_once_running(cache.path(), &mut run);
        if signal == Signal::Interrupt {
            // As a terminal does it: all of the group, and the server must not be part of that.
            let group = format!("-{}", run.id());
            let status = Command::new("kill").args(["-INT", "--", &group]).status();
            assert!(status.expect("kill is there").success());
        } else {
            run.signal(signal);
        }
        let ran = run.ended().expect(code, &["INTERRUPTED", "tps  "]);
        assert!(!ran.stdout.contains("(0 committed"), "{ran:?}");
        assert!(ran.stdout.contains("0 failed"), "transactions end: {ran:?}");
        assert_nothing_left(cache.path());
    }
}

#[test]
fn an_interrupted_load_takes_its_server_with_it() {
    let cache = pgdyno_testkit::home();
    let args = ["run", "tpcb", "--param", "scale=300"];
    let run = Running::start(&mut own_server(cache.path(), &args));
    wait_until("rows go in", || {
        let is_copying = |pid: u32| {
            let title = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
            String::from_utf8_lossy(&title).contains(" COPY")
        };
        server_processes(cache.path()).into_iter().any(is_copying)
    });
    run.signal(Signal::Interrupt);
    run.ended().expect(130, &["interrupted"]);
    assert_nothing_left(cache.path());
}

#[test]
fn not_even_a_kill_leaves_a_server_process() {
    let cache = pgdyno_testkit::home();
    let args = ["run", "tpcb", "-c", "4", "-T", "60"];
    let mut run = Running::start(&mut own_server(cache.path(), &args));
    postmaster_once_running(cache.path(), &mut run);
    run.signal(Signal::Kill);
    assert_eq!(run.ended().code, Some(137));
    wait_until("the server's last process has ended", || {
        server_processes(cache.path()).is_empty()
    });
    // Its data go with the next server.
    ran(&mut own_server(
        cache.path(),
        &["run", "select-only", "-t", "1"],
    ))
    .expect(0, &["(1 committed, "]);
    assert_nothing_left(cache.path());
}

#[test]
fn a_second_interrupt_ends_a_run_that_hangs_on_a_lock() {
    let db = Database::new("hangs");
    db.sql("CREATE TABLE held (x int); INSERT INTO held VALUES (1)");
    let mut holder = connect(&db.url);
    holder
        .simple_query("BEGIN; UPDATE held SET x = 2")
        .expect("it is there");
    let (_dir, path) = script("UPDATE held SET x = 3;\n");
    let mut run = Running::start(&mut pgdyno(&["run", &path, "-T", "60", "--url", &db.url]));
    wait_until("it waits for the lock", || {
        transactions_in_progress(&db, "wait_event_type = 'Lock'")
    });
    run.signal(Signal::Interrupt);
    std::thread::sleep(Duration::from_millis(500));
    assert!(!run.is_over(), "the first lets transactions finish");
    run.signal(Signal::Interrupt);
    run.ended()
        .expect(130, &["INTERRUPTED", "tps  ", "(0 committed"]);
    holder.simple_query("ROLLBACK").expect("ours");
}

#[test]
fn a_full_disk_is_an_error_and_the_server_survives() {
    // A small disk of its own, which only root can make; a server needs some 60 MB.
    let cache = pgdyno_testkit::home();
    let disk = cache.path().join("disk");
    let image = cache.path().join("image");
    fs::create_dir(&disk).expect("ours");
    let image_file = fs::File::create(&image).expect("ours");
    image_file.set_len(150 << 20).expect("ours");
    let succeeds = |command: &mut Command| command.output().is_ok_and(|o| o.status.success());
    let is_mounted = succeeds(Command::new("mkfs.ext4").arg("-q").arg(&image))
        && succeeds(
            Command::new("mount")
                .args(["-o", "loop"])
                .args([&image, &disk]),
        );
    if !is_mounted {
        pgdyno_testkit::skip!(
            "a_full_disk_is_an_error_and_the_server_survives",
            "only root can mount a small file system"
        );
    }
    struct Unmount<'a>(&'a Path);
    impl Drop for Unmount<'_> {
        fn drop(&mut self) {
            let _ = Command::new("umount").arg("-l").arg(self.0).output();
        }
    }
    let _unmount = Unmount(&disk);
    let args = ["run", "tpcb", "--param", "scale=20"];
    let run = ran(&mut own_server(&disk, &args));
    // It ends the server when the log of changes has no room, or else the statement.
    assert!(matches!(run.code, Some(1 | 3)), "{run:?}");
    let code = run.code.unwrap_or_default();
    run.expect(
        code,
        &["could not fill pgbench_accounts", "No space left on device"],
    );
    assert_nothing_left(&disk);
}

#[test]
fn a_reader_that_leaves_early_is_no_error() {
    let db = Database::new("reader_leaves");
    let (_dir, path) = script("SELECT 1;\n");
    for args in [
        &["run", &path, "-t", "5"][..],
        &["run", &path, "-t", "5", "--json"],
        &["pack", "list"],
        &["--help"],
    ] {
        let mut command = pgdyno(args);
        if args[0] == "run" {
            command.args(["--url", &db.url]);
        }
        let (reader, writer) = std::io::pipe().expect("a pipe");
        drop(reader);
        let output = command.stdout(writer).output().expect("it starts");
        let stderr = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(0), "{args:?}: {stderr}");
        assert!(!stderr.contains("panicked"), "{args:?}: {stderr}");
    }
    // With progress and errors unread too, the result is still there.
    let (reader, writer) = std::io::pipe().expect("a pipe");
    drop(reader);
    let output = pgdyno(&["run", &path, "-T", "1.2", "--url", &db.url])
        .stderr(writer)
        .stdout(Stdio::piped())
        .output()
        .expect("it starts");
    assert_eq!(output.status.code(), Some(0));
    assert!(String::from_utf8_lossy(&output.stdout).contains("tps  "));
    // A result that cannot be kept is an error.
    let full = fs::OpenOptions::new()
        .write(true)
        .open("/dev/full")
        .expect("Linux has it");
    let output = pgdyno(&["run", &path, "-t", "5", "--url", &db.url])
        .stdout(full)
        .output()
        .expect("it starts");
    assert_eq!(output.status.code(), Some(1));
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert!(
        stderr.contains("could not write to standard output: No space left"),
        "{stderr}"
    );
}
