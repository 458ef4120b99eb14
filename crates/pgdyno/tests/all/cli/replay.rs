//! A server's own traffic, from its logs to a replay with the same result.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use pgdyno_platform::child::Signal;
use pgdyno_server::Server;
use pgdyno_testkit::postgres_with;
use serde_json::Value;

use crate::child::Running;
use crate::support::{Database, Ran, pgdyno, ran};

const PREFIX: &str = "%m [%p] %q%u@%d";

const LOGGED: [&str; 8] = [
    "logging_collector=on",
    "log_destination=stderr,csvlog,jsonlog",
    "log_line_prefix=%m [%p] %q%u@%d",
    "log_min_duration_statement=0",
    "log_connections=on",
    "log_disconnections=on",
    "log_directory=log",
    "log_filename=pg.log",
];

/// A server that logs, and the file of this form.
fn log_of(server: &Server, form: &str) -> PathBuf {
    server.data_dir().join("log").join(format!("pg.{form}"))
}

fn recorded(log: &Path, to: &Path) -> Ran {
    ran(pgdyno(&["record"]).arg(log).arg("-o").arg(to))
}

pub fn json_of(command: &[&str], file: &Path) -> Value {
    let shown = ran(pgdyno(command).arg(file).arg("--json"));
    serde_json::from_str(&shown.stdout).unwrap()
}

/// Accounts, tellers and branches have the sum of all deltas.
pub fn sums(database: &Database) -> Vec<String> {
    database.rows(
        "SELECT (SELECT sum(abalance) FROM pgbench_accounts), (SELECT sum(tbalance) FROM pgbench_tellers), (SELECT sum(bbalance) FROM pgbench_branches), (SELECT sum(delta) FROM pgbench_history), (SELECT count(*) FROM pgbench_history)",
    )
}

#[test]
fn a_trial_is_recorded_from_every_form_of_log_and_replays_to_equal_sums() {
    let server = postgres_with(&LOGGED);
    let original = Database::on(&server, "original");
    original.pgdyno(&["load", "tpcb"]);
    original.sql("CREATE DATABASE copy TEMPLATE original");
    for query_mode in ["simple", "prepared"] {
        original
            .pgdyno(&[
                "run",
                "tpcb",
                "-c",
                "3",
                "-t",
                "20",
                "--query-mode",
                query_mode,
            ])
            .expect(0, &[]);
    }
    let dir = tempfile::tempdir().unwrap();
    let mut counts = Vec::new();
    for form in ["csv", "json", "log"] {
        let file = dir.path().join(form);
        let log = log_of(&server, form);
        // A prefix without anything behind it, which is none of those that are recognised.
        ran(pgdyno(&["record", "--prefix", PREFIX])
            .arg(log)
            .arg("-o")
            .arg(&file))
        .expect(0, &["statements of"]);
        let mode = fs::metadata(&file).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
        let shown = json_of(&["record", "show"], &file);
        let commits = shown["texts"]
            .as_array()
            .unwrap()
            .iter()
            .filter(|text| text["text"] == "COMMIT" || text["text"] == "END");
        counts.push(
            commits
                .map(|text| text["statements"].as_u64().unwrap())
                .sum::<u64>(),
        );
    }
    assert!(
        counts[0] >= 120 && counts.iter().all(|count| *count == counts[0]),
        "{counts:?}"
    );
    let copy = Database {
        url: original.url.replace("original", "copy"),
    };
    let file = dir.path().join("csv");
    // Other databases' sessions are in the log, too.
    copy.pgdyno(&["replay", file.to_str().unwrap()])
        .expect(2, &["leave the database out"]);
    fs::write(
        dir.path().join("own.csv"),
        only_of(&log_of(&server, "csv"), "original"),
    )
    .unwrap();
    recorded(&dir.path().join("own.csv"), &file).expect(0, &[]);
    let replayed = copy.pgdyno(&["replay", file.to_str().unwrap(), "--json", "--speed", "4"]);
    let replayed: Value = serde_json::from_str(&replayed.stdout).unwrap();
    assert_eq!(
        replayed["errors"]["new"],
        serde_json::json!([]),
        "{replayed:#}"
    );
    assert_eq!(
        replayed["statements"]["sent"],
        replayed["statements"]["answered"]
    );
    assert_eq!(sums(&copy), sums(&original));
    assert!(sums(&copy)[0].ends_with("|120"), "{:?}", sums(&copy));
    let lateness = &replayed["lateness"];
    for parts in ["waited_for_ns", "caused_by_ns"] {
        let parts = lateness[parts].as_object().unwrap().values();
        let sum: u64 = parts.map(|part| part.as_u64().unwrap()).sum();
        assert_eq!(sum, lateness["total_ns"].as_u64().unwrap());
    }
}

/// The trial's own lines of a csvlog: from the copy of its tables on.
fn only_of(log: &Path, database: &str) -> String {
    let log = fs::read_to_string(log).unwrap();
    let (_, log) = log.split_once("CREATE DATABASE copy TEMPLATE").unwrap();
    let lines = log
        .lines()
        .skip(1)
        .filter(|line| line.contains(&format!("\"{database}\"")));
    lines.map(|line| format!("{line}\n")).collect()
}

#[test]
fn what_cannot_be_recorded_or_replayed_says_why_and_what_to_do() {
    let dir = tempfile::tempdir().unwrap();
    let log = dir.path().join("a.log");
    let file = dir.path().join("a.rec");
    fs::write(&log, "LOG:  statement: SELECT 1\n").unwrap();
    recorded(&log, &file).expect(
        2,
        &["no log_line_prefix that is known", "SHOW log_line_prefix"],
    );
    let with_prefix = |prefix: &str| {
        ran(pgdyno(&["record", "--prefix", prefix])
            .arg(&log)
            .arg("-o")
            .arg(&file))
    };
    with_prefix("%u ").expect(2, &["has no time", "csvlog"]);
    with_prefix("%m %u ").expect(2, &["tells sessions apart"]);
    assert!(!file.exists());
    let nowhere = dir.path().join("no/a.rec");
    recorded(&log, &nowhere).expect(2, &["there is no folder"]);
    recorded(&dir.path().join("none"), &file).expect(2, &["cannot read"]);
    fs::write(&log, "2026-11-29 12:34:56.001 UTC [7] me@shop LOG:  statement: ALTER ROLE a PASSWORD 'hunter22'\n").unwrap();
    recorded(&log, &file).expect(0, &["1 statements", "ends of sessions"]);
    let show = |file: &Path| ran(pgdyno(&["record", "show"]).arg(file));
    let shown = show(&file).expect(0, &["has a password", "users     me 100 %"]);
    assert!(!shown.stdout.contains("hunter22"));
    show(&log).expect(2, &["is not a recording"]);
    let server = Database::new("replay_refused");
    let replay = |file: &Path, more: &[&str]| {
        server.pgdyno(&[&["replay", file.to_str().unwrap()], more].concat())
    };
    replay(&file, &[]).expect(2, &["no statement to replay"]);
    replay(&log, &[]).expect(2, &["is not a recording"]);
    replay(&file, &["--from", "2", "--to", "1"]).expect(2, &["--to is not after"]);
    replay(&file, &["--speed", "0"]).expect(2, &["0.001 to 1000"]);
    let away = ran(pgdyno(&["replay"])
        .arg(&file)
        .args(["--url", "postgresql://127.0.0.1:1/x"]));
    away.expect(3, &["127.0.0.1"]);
}

/// A recording of an INSERT each 20 ms.
fn of_inserts(dir: &Path, count: usize) -> PathBuf {
    let (log, file) = (dir.join("a.log"), dir.join("a.rec"));
    let line = |number: usize| {
        let (second, ms) = (number * 20 / 1000, number * 20 % 1000);
        format!(
            "2026-11-29 12:34:{second:02}.{ms:03} UTC [7] me@shop LOG:  duration: 1.000 ms  statement: INSERT INTO seen VALUES ({number})\n"
        )
    };
    fs::write(&log, (1..=count).map(line).collect::<String>()).unwrap();
    recorded(&log, &file).expect(0, &[]);
    file
}

#[test]
fn time_in_which_pgdyno_was_stopped_is_its_own_lateness() {
    let dir = tempfile::tempdir().unwrap();
    let file = of_inserts(dir.path(), 60);
    let database = Database::new("replay_stopped");
    database.sql("CREATE TABLE seen (n int)");
    let running =
        Running::start(
            pgdyno(&["replay"])
                .arg(&file)
                .args(["--url", &database.url, "--json"]),
        );
    database.wait_for("SELECT 1 FROM seen WHERE n = 5");
    running.signal(Signal::Stop);
    std::thread::sleep(std::time::Duration::from_millis(600));
    running.signal(Signal::Continue);
    let ended = running.ended();
    let document: Value = serde_json::from_str(&ended.stdout).unwrap();
    let caused = &document["lateness"]["caused_by_ns"];
    let ns = |part: &str| caused[part].as_u64().unwrap();
    assert!(
        ns("generator") > 10 * (ns("slow_statements") + ns("connection")),
        "{caused}"
    );
    assert_eq!(database.value("SELECT count(*), max(n) FROM seen"), "60|60");
}

#[test]
fn ctrl_c_ends_a_replay_and_reports_what_was_sent() {
    let dir = tempfile::tempdir().unwrap();
    let file = of_inserts(dir.path(), 2900);
    let database = Database::new("replay_interrupted");
    database.sql("CREATE TABLE seen (n int)");
    let running = Running::start(
        pgdyno(&["replay"])
            .arg(&file)
            .args(["--url", &database.url]),
    );
    database.wait_for("SELECT 1 FROM seen WHERE n = 5");
    running.signal(Signal::Interrupt);
    running.ended().expect(
        130,
        &[
            "interrupted: what was due later was not sent",
            "started within 1 ms",
        ],
    );
}
