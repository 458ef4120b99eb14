//! What `pgdyno run` and `pgdyno pgbench` keep in the notebook, on a real PostgreSQL, and what is
//! left of it when they are killed.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use pgdyno_platform::child::{Signal, send_signal};
use serde_json::Value;

use crate::child::Running;
use crate::support::notebook::{self, number, value};
use crate::support::{Database, Ran, ended, pgdyno, ran};

/// A store of one's own.
pub struct Notebook {
    dir: tempfile::TempDir,
    is_file: bool,
}

impl Notebook {
    pub fn new() -> Notebook {
        Notebook {
            dir: tempfile::tempdir().unwrap(),
            is_file: false,
        }
    }

    /// A file in any case, for what only holds of files.
    pub fn in_file() -> Notebook {
        Notebook {
            is_file: true,
            ..Notebook::new()
        }
    }

    /// What `--store` is to name.
    pub fn path(&self) -> PathBuf {
        if self.is_file {
            self.file()
        } else {
            notebook::at(&self.file())
        }
    }

    /// Where it is when it is a file.
    pub fn file(&self) -> PathBuf {
        self.dir.path().join("notebook.sqlite")
    }

    pub fn beside(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    pub fn command(&self, args: &[&str]) -> Command {
        let mut command = pgdyno(args);
        command.env("PGDYNO_STORE", self.path());
        command
    }

    pub fn pgdyno(&self, args: &[&str]) -> Ran {
        ran(&mut self.command(args))
    }

    pub fn run(&self, db: &Database, args: &[&str]) -> Ran {
        ran(self.command(args).args(["--url", &db.url]))
    }

    /// Values of the first row, joined by `|`; read behind pgdyno's back.
    pub fn value(&self, sql: &str) -> String {
        value(&self.path(), sql)
    }

    /// Whether this text is anywhere in it.
    pub fn has(&self, text: &str) -> bool {
        notebook::has(&self.path(), text)
    }

    /// The answer of `pgdyno sql --json`.
    pub fn rows(&self, sql: &str) -> Vec<Value> {
        let answer = self.pgdyno(&["sql", "--json", sql]).expect(0, &[]);
        serde_json::from_str(&answer.stdout).unwrap()
    }
}

/// Scripts with failures of two kinds, retries, and one that goes well.
fn scripts(notebook: &Notebook, db: &Database) -> [String; 2] {
    db.sql("CREATE TABLE one (id int PRIMARY KEY, n int); INSERT INTO one VALUES (1, 0)");
    let good = notebook.beside("good.sql");
    std::fs::write(&good, "SELECT n FROM one;\n").unwrap();
    let bad = notebook.beside("bad.sql");
    let text = "\\set d random(0, 3)\n\
                BEGIN ISOLATION LEVEL SERIALIZABLE;\n\
                UPDATE one SET n = n + 1;\n\
                SELECT 1 / :d;\n\
                END;\n";
    std::fs::write(&bad, text).unwrap();
    [&good, &bad].map(|path| path.display().to_string())
}

#[test]
fn what_is_kept_of_a_run_is_what_the_run_reported() {
    let notebook = Notebook::new();
    let db = Database::new("store_figures");
    let [good, bad] = scripts(&notebook, &db);
    let bad = format!("{bad}@3");
    let args = [
        "run",
        &good,
        &bad,
        "-c",
        "4",
        "-T",
        "3",
        "--warmup",
        "1s",
        "--rate",
        "300",
        "-L",
        "200ms",
        "--continue-on-error",
        "--max-tries",
        "3",
        "--json",
        "--tag",
        "first",
        "--note",
        "cold",
    ];
    let reported = notebook.run(&db, &args).expect(0, &["kept as trial 1"]);
    let reported: Value = serde_json::from_str(&reported.stdout).unwrap();
    assert!(
        reported["measured"]["failed"].as_u64() > Some(0),
        "{reported}"
    );

    // Row by row: what is in the seconds comes to the totals.
    for column in [
        "committed",
        "failed",
        "skipped",
        "unknown",
        "late",
        "retries",
        "retried",
    ] {
        let (sum, total) = (
            format!("SELECT sum({column}) FROM second WHERE NOT warmup"),
            format!("SELECT {column} FROM trial"),
        );
        assert_eq!(notebook.value(&sum), notebook.value(&total), "{column}");
        assert_eq!(
            notebook.value(&total),
            reported["measured"][column].to_string()
        );
    }
    let lengths = "SELECT sum(length_us) FROM second WHERE NOT warmup AND script = 0";
    assert_eq!(
        notebook.value(lengths),
        notebook.value("SELECT elapsed_us FROM trial")
    );
    let wrong = "SELECT count(*) FROM second s WHERE failed <> (SELECT coalesce(sum(transactions), 0) \
                 FROM failure f WHERE f.trial = s.trial AND f.start_us = s.start_us \
                 AND f.warmup = s.warmup AND f.script = s.script)";
    assert_eq!(notebook.value(wrong), "0");
    assert_eq!(
        notebook.value("SELECT sum(transactions) FROM failures WHERE class = '22012'"),
        reported["measured"]["failed_by_class"]["22012"].to_string()
    );
    for (column, place) in [
        ("service_p50_us", "/measured/service/p50_us"),
        ("service_p99_us", "/measured/service/p99_us"),
        ("service_p99_9_us", "/measured/service/p99_9_us"),
        ("response_p95_us", "/measured/response/p95_us"),
        ("response_max_us", "/measured/response/max_us"),
        ("client_user_us", "/client_cpu/user_us"),
        ("clients", "/trial/clients"),
        ("seed", "/trial/seed"),
        ("latency_limit_us", "/trial/latency_limit_us"),
    ] {
        let kept = notebook.value(&format!("SELECT {column} FROM trial"));
        let reported = reported
            .pointer(place)
            .unwrap()
            .to_string()
            .replace("null", "NULL");
        assert_eq!(kept, reported, "{column}");
    }
    let marks = "SELECT state, workload, note, (SELECT tag FROM tag) FROM trial";
    let workload = reported["workload"]["name"].as_str().unwrap();
    assert_eq!(
        notebook.value(marks),
        format!("complete|{workload}|cold|first")
    );

    // And all of it is shown again.
    let shown = notebook.pgdyno(&["show", "1", "--json"]).expect(0, &[]);
    let mut shown: Value = serde_json::from_str(&shown.stdout).unwrap();
    let stored = shown.as_object_mut().unwrap().remove("stored").unwrap();
    assert_eq!(
        (&stored["number"], &stored["state"]),
        (&1.into(), &"complete".into())
    );
    for (name, value) in reported.as_object().unwrap() {
        // Kept to the microsecond.
        if name == "started" {
            // Zeros at the end of a second's fraction are not written.
            let to_the_us = |time: &Value| {
                let time = time.as_str().unwrap().trim_end_matches('Z');
                format!("{time:0<26}")[..26].to_owned()
            };
            assert_eq!(to_the_us(&shown[name]), to_the_us(value));
        } else {
            assert_eq!(&shown[name], value, "{name}");
        }
    }
    assert_eq!(
        shown.as_object().unwrap().len(),
        reported.as_object().unwrap().len()
    );
}

/// Waits until a query gives this.
fn wait_for(path: &Path, sql: &str, enough: impl Fn(i64) -> bool) {
    let began = Instant::now();
    while !number(path, sql).is_some_and(&enough) {
        assert!(
            began.elapsed() < Duration::from_secs(60),
            "never came: {sql}"
        );
        std::thread::sleep(Duration::from_millis(20));
    }
}

fn in_background(notebook: &Notebook, db: &Database, args: &[&str]) -> Child {
    let mut command = notebook.command(args);
    command.args(["--url", &db.url]);
    command.stdout(Stdio::piped()).stderr(Stdio::piped());
    command.spawn().unwrap()
}

const SECONDS: &str = "SELECT count(*) FROM second";

#[test]
fn every_second_outlives_a_pgdyno_that_is_killed() {
    let notebook = Notebook::in_file();
    let db = Database::new("store_kill");
    db.pgdyno(&["load", "tpcb"]).expect(0, &[]);
    let mut child = in_background(
        &notebook,
        &db,
        &["run", "tpcb", "-c", "2", "-R", "100", "-T", "60"],
    );
    wait_for(&notebook.path(), SECONDS, |n| n >= 3);
    send_signal(child.id(), Signal::Kill).unwrap();
    child.wait().unwrap();
    // As the first reader finds it.
    let found = notebook.value("SELECT state, committed, (SELECT count(*) FROM second) FROM trial");
    let (state, seconds) = (found.split('|').next(), found.rsplit('|').next().unwrap());
    assert_eq!(
        (state, seconds.parse::<u32>().unwrap() >= 3),
        (Some("running"), true),
        "{found}"
    );
    let sum = notebook.value("SELECT sum(committed) FROM second");
    // What the server has committed is there, but for the second that was under way.
    let committed: u64 = db
        .value("SELECT count(*) FROM pgbench_history")
        .parse()
        .unwrap();
    let sum: u64 = sum.parse().unwrap();
    assert!(sum > 0 && sum <= committed, "{sum} of {committed}");

    notebook.pgdyno(&["ls"]).expect(0, &["aborted"]);
    let none = notebook.pgdyno(&["ls", "--tag", "such"]);
    none.expect(0, &["no trial is like that; pgdyno ls shows the newest"]);
    let columns = "SELECT state, reason, committed, elapsed_us = \
                   (SELECT sum(length_us) FROM second), ended > started FROM trial";
    let expected = format!("aborted|its pgdyno ended before the trial did|{sum}|1|1");
    assert_eq!(notebook.value(columns), expected);
    notebook
        .pgdyno(&["show", "1"])
        .expect(0, &["aborted (its pgdyno ended", "INTERRUPTED", "tps  "]);
    assert_eq!(notebook.value("PRAGMA integrity_check"), "ok");
}

#[test]
fn a_notebook_that_is_gone_before_the_end_leaves_the_result_in_a_file_of_its_own() {
    let db = Database::new("store_gone");
    type Way = (&'static str, fn(&Path));
    let ways: [Way; 3] = [
        ("removed", |file| fs::remove_file(file).unwrap()),
        ("replaced", |file| {
            fs::remove_file(file).unwrap();
            fs::write(file, "my notes").unwrap();
        }),
        ("cut short", |file| {
            fs::OpenOptions::new()
                .write(true)
                .open(file)
                .unwrap()
                .set_len(100)
                .unwrap();
        }),
    ];
    for (how, gone) in ways {
        let notebook = Notebook::in_file();
        let script = notebook.beside("one.sql");
        fs::write(&script, "SELECT 1;\n\\sleep 5 ms\n").unwrap();
        let script = script.display().to_string();
        let mut command = notebook.command(&["run", &script, "-T", "3", "--url", &db.url]);
        let folder = script.rsplit_once('/').unwrap().0.to_owned();
        let running = Running::start(command.env("TMPDIR", folder));
        wait_for(&notebook.path(), SECONDS, |n| n >= 1);
        gone(&notebook.path());
        let ran = running.ended();
        assert_eq!(ran.code, Some(1), "{how}: {ran:#?}");
        for text in ["this run is not kept", "its complete result is in "] {
            assert!(ran.stderr.contains(text), "{how}: {ran:#?}");
        }
        assert!(!ran.stderr.contains("kept as trial"), "{how}: {ran:#?}");
    }
}

#[test]
fn several_pgdynos_keep_their_trials_in_one_store_at_once() {
    let notebook = Notebook::new();
    let db = Database::new("store_both");
    db.pgdyno(&["load", "tpcb"]).expect(0, &[]);
    let args = [
        "run",
        "select-only",
        "-T",
        "3",
        "-R",
        "100",
        "--tag",
        "both",
    ];
    let children: Vec<Child> = (0..3)
        .map(|_| in_background(&notebook, &db, &args))
        .collect();
    // Each of them runs, and none takes another's for dead.
    let running = "SELECT count(*) FROM trial WHERE state = 'running'";
    wait_for(&notebook.path(), running, |n| n == 3);
    let listed = notebook
        .pgdyno(&["ls", "--state", "running", "--csv"])
        .expect(0, &[]);
    assert_eq!(listed.stdout.lines().count(), 4, "{listed:#?}");
    notebook
        .pgdyno(&["rm", "1", "--yes"])
        .expect(1, &["trial 1 is running"]);
    for child in children {
        ended(child.wait_with_output().unwrap()).expect(0, &["kept as trial"]);
    }
    let each = "SELECT count(*), count(DISTINCT uuid), count(*) FILTER (WHERE state = 'complete'), \
                count(*) FILTER (WHERE committed = (SELECT sum(committed) FROM second WHERE trial = number)) FROM trial";
    assert_eq!(notebook.value(each), "3|3|3|3");
}

#[test]
fn a_stopped_trial_is_aborted_and_a_broken_one_failed() {
    let notebook = Notebook::new();
    let db = Database::new("store_states");
    db.pgdyno(&["load", "tpcb"]).expect(0, &[]);
    let child = in_background(
        &notebook,
        &db,
        &["run", "select-only", "-T", "60", "-R", "100"],
    );
    wait_for(&notebook.path(), SECONDS, |n| n >= 1);
    send_signal(child.id(), Signal::Interrupt).unwrap();
    ended(child.wait_with_output().unwrap()).expect(130, &["INTERRUPTED", "kept as trial 1"]);
    let bad = notebook.beside("bad.sql");
    std::fs::write(&bad, "SELECT no_such_column;\n").unwrap();
    let bad = bad.display().to_string();
    notebook
        .run(&db, &["run", &bad, "-c", "2"])
        .expect(1, &["kept as trial 2"]);
    // A role that may not have that many: the server has connections left for other tests.
    db.sql(
        "CREATE ROLE store_states LOGIN CONNECTION LIMIT 2; \
         GRANT SELECT ON ALL TABLES IN SCHEMA public TO store_states",
    );
    let url = db.url.replace("postgres@", "store_states@");
    assert_ne!(url, db.url);
    notebook
        .pgdyno(&["run", "select-only", "-c", "9", "-T", "1", "--url", &url])
        .expect(3, &["too many connections"]);
    let states = "SELECT string_agg(state || ': ' || reason, '; ') FROM trial";
    let states = notebook.value(states);
    let expected = "aborted: interrupted; failed: 2 of 2 clients ended before their time; failed: \
                    could not create connection";
    assert!(states.starts_with(expected), "{states}");
    let error = "SELECT count(*) FROM event WHERE trial = 2 AND kind = 'error' \
                 AND text LIKE '%no_such_column%'";
    assert_eq!(notebook.value(error), "2");
    // What says so is shown.
    notebook
        .pgdyno(&["show", "2"])
        .expect(0, &["failed (2 of 2", "ABORTED"]);
    notebook
        .pgdyno(&["show", "3"])
        .expect(0, &["failed (could not create"]);
    assert_eq!(notebook.value("SELECT count(*) FROM result"), "0");
}

#[test]
fn nothing_is_synced_to_disk_while_a_trial_runs() {
    let name = "nothing_is_synced_to_disk_while_a_trial_runs";
    let traced = |args: &[&str], to: &Path| {
        let mut strace = Command::new("strace");
        strace.args([
            "-f",
            "-tt",
            "-e",
            "trace=fsync,fdatasync,sync_file_range,msync,write",
            "-o",
        ]);
        strace.arg(to).args(args);
        strace
    };
    let probe = Notebook::in_file();
    let can = traced(&["true"], &probe.beside("probe")).output();
    if !can.is_ok_and(|output| output.status.success()) {
        pgdyno_testkit::skip!(name, "strace cannot trace here");
    }
    let notebook = Notebook::in_file();
    let db = Database::new("store_sync");
    db.pgdyno(&["load", "tpcb"]).expect(0, &[]);
    // The store is there, so that making it is not part of it.
    notebook
        .run(&db, &["run", "select-only", "-t", "10"])
        .expect(0, &[]);
    let log = notebook.beside("trace");
    let program = env!("CARGO_BIN_EXE_pgdyno");
    let args = [
        program,
        "run",
        "select-only",
        "-R",
        "300",
        "-T",
        "3",
        "--url",
        &db.url,
    ];
    let mut command = traced(&args, &log);
    command.env("PGDYNO_STORE", notebook.path());
    ran(&mut command).expect(0, &["kept as trial 2"]);
    let log = std::fs::read_to_string(log).unwrap();
    let lines: Vec<&str> = log.lines().collect();
    // The line of the third second, on standard error, is at the end of the trial.
    let at = |what: &str| lines.iter().position(|line| line.contains(what)).unwrap();
    let (first, last) = (at("pgdyno:     1 s"), at("pgdyno:     3 s"));
    let syncs = |lines: &[&str]| lines.iter().filter(|line| line.contains("sync(")).count();
    assert_eq!(syncs(&lines[..last]), 0, "{log}");
    assert!(first < last && syncs(&lines[last..]) > 0, "{log}");
}

#[test]
fn no_secret_is_kept() {
    let notebook = Notebook::new();
    let db = Database::new("store_secret");
    db.sql("CREATE TABLE t (a int)");
    let script = notebook.beside("s.sql");
    std::fs::write(&script, "SELECT 1;\n").unwrap();
    // The server trusts; it is not asked for.
    let url = db.url.replace("postgres@", "postgres:t0ps3cret@");
    assert_ne!(url, db.url);
    let script = script.display().to_string();
    let args = ["run", &script, "-t", "10", "--url", &url];
    notebook.pgdyno(&args).expect(0, &[]);
    let mut command = notebook.command(&["run", &script, "-t", "10", "--url", &db.url]);
    ran(command.env("PGPASSWORD", "t0ps3cret")).expect(0, &[]);
    assert!(!notebook.has("t0ps3cret"));
    let command = notebook.value("SELECT command FROM trial WHERE number = 1");
    assert!(command.contains("postgres:***@"), "{command}");
}

fn ran_without_server(notebook: &Notebook, args: &[&str]) -> Ran {
    let nowhere = ["--url", "postgresql://x@127.0.0.1:1/x"];
    notebook.pgdyno(&[args, &nowhere].concat())
}

#[test]
fn an_unusable_store_fails_before_the_run() {
    let notebook = Notebook::new();
    let db = Database::new("store_broken");
    db.pgdyno(&["load", "tpcb"]).expect(0, &[]);
    let other = notebook.beside("letter.txt");
    std::fs::write(&other, "Dear reader").unwrap();
    let other = other.display().to_string();
    for (store, what) in [
        (other.as_str(), "letter.txt is no pgdyno store"),
        ("/proc/none/s", "cannot create /proc/none for the store"),
        ("/dev/full/s", "/dev/full/s"),
    ] {
        let args = ["run", "select-only", "-t", "10", "--store", store];
        let ran = notebook.run(&db, &args);
        let ran = ran.expect(1, &[what, "--store or PGDYNO_STORE", "--no-store"]);
        assert_eq!(ran.stdout, "", "nothing was measured");
        // Not even the server was looked for.
        ran_without_server(&notebook, &args).expect(1, &[what]);
    }
    assert_eq!(std::fs::read_to_string(&other).unwrap(), "Dear reader");
    // Nor is there one without a request.
    notebook
        .run(&db, &["run", "select-only", "-t", "10", "--no-store"])
        .expect(0, &["tps  "]);
    assert!(notebook::is_empty(&notebook.path()));
    let args = ["run", "select-only", "--no-store", "--tag", "x"];
    notebook.run(&db, &args).expect(2, &["cannot be used with"]);
    notebook
        .run(&db, &["run", "select-only", "--tag", "two words"])
        .expect(2, &["a tag is a word"]);
}

#[test]
fn pgbench_keeps_a_run_only_when_it_is_asked_to() {
    let notebook = Notebook::new();
    let db = Database::new("store_pgbench");
    db.pgdyno(&["load", "tpcb"]).expect(0, &[]);
    let command = || {
        let mut command = notebook.command(&["pgbench"]);
        command.args(["-n", "-d", &db.url]);
        command
    };
    let pgbench = |args: &[&str]| ran(command().args(args));
    let mut unasked = command();
    let unasked = unasked.args(["-S", "-t", "20"]).env("PGDYNO_STORE", "");
    ran(unasked).expect(0, &["tps = "]);
    assert!(notebook::is_empty(&notebook.path()));
    pgbench(&["-S", "-t", "20", "-c", "2", "--store"]).expect(0, &["tps = "]);
    let kept = "SELECT state, committed, clients, transactions_per_client, server_version IS NOT NULL \
                FROM trial";
    assert_eq!(notebook.value(kept), "complete|40|2|20|1");
    let elsewhere = notebook.beside("other.sqlite");
    let store = format!("--store={}", elsewhere.display());
    pgbench(&["-t", "5", &store]).expect(0, &["tps = "]);
    assert_eq!(value(&elsewhere, "SELECT count(*) FROM trial"), "1");
    let ran = pgbench(&["-S", "-t", "5", "--store=/proc/none"]);
    let ran = ran.expect(1, &["cannot create /proc/none for the store"]);
    assert_eq!(ran.stdout, "");
}
