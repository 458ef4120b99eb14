//! `pgdyno pgbench` where it goes past pgbench, and `ysql_bench`. That it equals pgbench is shown
//! in tests/pgbench.

use std::fs;
use std::path::Path;
use std::process::Stdio;
use std::time::{Duration, Instant};

use hdrhistogram::Histogram;
use hdrhistogram::serialization::Deserializer;
use hdrhistogram::serialization::interval_log::{IntervalLogIterator, LogEntry};
use pgdyno_platform::child::{Signal, send_signal};
use serde_json::Value;

use crate::support::{Database, Ran, ended, pgdyno, ran};

const SELECT_1: &str = "SELECT 1;\n";

/// `pgdyno COMMAND ARGS` on a database, in a folder.
fn run(command: &str, db: &Database, folder: &Path, args: &[&str]) -> Ran {
    ran(pgdyno(&[command])
        .args(args)
        .args(["-d", &db.url])
        .current_dir(folder))
}

fn script(folder: &Path, name: &str, text: &str) {
    fs::write(folder.join(name), text).unwrap();
}

/// The number in a line of the report.
fn number(ran: &Ran, before: &str) -> f64 {
    let rest = ran.stdout.split(before).nth(1);
    let rest = rest.unwrap_or_else(|| panic!("no \"{before}\" in {ran:#?}"));
    let end = rest
        .find(|c: char| !(c.is_ascii_digit() || c == '.'))
        .unwrap_or(rest.len());
    rest[..end].parse().unwrap()
}

#[test]
fn percentiles_are_shown_where_ten_transactions_lie_beyond_them() {
    let db = Database::new("pgbench_percentiles");
    let folder = tempfile::tempdir().unwrap();
    script(folder.path(), "one.sql", SELECT_1);
    let common = ["-n", "-f", "one.sql", "-t", "500", "--percentiles=50,99"];
    let ran = run("pgbench", &db, folder.path(), &common).expect(
        0,
        &["latency p99: not shown, fewer than 10 transactions lie beyond it"],
    );
    assert!(number(&ran, "latency p50 = ") > 0.0);
    let timed = ["-n", "-f", "one.sql", "-T", "2", "-P", "1", "--percentiles"];
    let ran = run("pgbench", &db, folder.path(), &timed).expect(0, &["latency p90 = "]);
    let progress: Vec<&str> = ran.stderr.lines().collect();
    assert_eq!(progress.len(), 2, "{ran:#?}");
    assert!(
        progress.iter().all(|line| line.contains(", p50 0.")),
        "{ran:#?}"
    );
    for (list, complaint) in [("50,x", "x"), ("100", "100"), ("0", "0"), ("50,,99", "")] {
        let option = format!("--percentiles={list}");
        let text = format!("pgdyno: error: invalid percentile: \"{complaint}\"");
        let text = text.replace("pgdyno", "pgbench");
        run("pgbench", &db, folder.path(), &["-n", &option]).expect(1, &[&text, "50,99,99.9"]);
    }
}

#[test]
fn a_warm_up_is_measured_apart() {
    let db = Database::new("pgbench_warmup");
    let folder = tempfile::tempdir().unwrap();
    script(folder.path(), "nap.sql", "\\sleep 10 ms\nSELECT 1;\n");
    let args = [
        "-n",
        "-f",
        "nap.sql",
        "-t",
        "20",
        "--warmup=500ms",
        "-P",
        "1",
        "-l",
        "--log-prefix=log",
    ];
    let ran = run("pgbench", &db, folder.path(), &args)
        .expect(0, &["number of transactions actually processed: 20/20"]);
    let warm_up = number(&ran, "warm-up (not in the figures above): ");
    assert!((1.0..=50.0).contains(&warm_up), "{ran:#?}");
    // The log has what the figures have.
    let log = fs::read_dir(folder.path()).unwrap().flatten().find(|file| {
        let name = file.file_name();
        name.to_string_lossy().starts_with("log.")
    });
    let log = fs::read_to_string(log.unwrap().path()).unwrap();
    assert_eq!(log.lines().count(), 20, "{log}");
    assert!(log.starts_with("0 1 ") && log.contains("\n0 20 "), "{log}");
    run("pgbench", &db, folder.path(), &["-n", "--warmup=soon"])
        .expect(1, &["invalid warm-up time: \"soon\"", "500ms"]);
}

#[test]
fn json_holds_what_the_report_shows() {
    let db = Database::new("pgbench_json");
    let folder = tempfile::tempdir().unwrap();
    script(folder.path(), "one.sql", SELECT_1);
    let args = [
        "-n",
        "-f",
        "one.sql",
        "-t",
        "30",
        "-c",
        "2",
        "--json=out.json",
    ];
    run("pgbench", &db, folder.path(), &args)
        .expect(0, &["number of transactions actually processed: 60/60"]);
    let text = fs::read_to_string(folder.path().join("out.json")).unwrap();
    let document: Value = serde_json::from_str(&text).unwrap();
    assert_eq!(
        document["measured"]["scripts"][0]["committed"], 60,
        "{document:#}"
    );
    assert_eq!(document["workload"]["name"], "one.sql");
    assert_eq!(document["target"]["kind"], "named");
    assert!(
        document["target"]["facts"]["server_version"].is_string(),
        "{document:#}"
    );
    let args = ["-n", "-f", "one.sql", "--json=/nowhere/out.json"];
    run("pgbench", &db, folder.path(), &args).expect(
        1,
        &["pgbench: error: --json: could not create /nowhere/out.json"],
    );
}

#[test]
fn the_hdr_log_holds_every_transaction() {
    let db = Database::new("pgbench_hdr_log");
    let folder = tempfile::tempdir().unwrap();
    script(folder.path(), "one.sql", SELECT_1);
    script(folder.path(), "two.sql", "SELECT 2;\n");
    let args = [
        "-n",
        "-f",
        "one.sql",
        "-f",
        "two.sql@2",
        "-T",
        "2",
        "-c",
        "2",
        "--hdr-log=log.hlog",
    ];
    let ran = run("pgbench", &db, folder.path(), &args).expect(0, &[]);
    let log = fs::read(folder.path().join("log.hlog")).unwrap();
    let text = String::from_utf8_lossy(&log);
    assert!(
        text.contains("#[Histogram log format version 1.3]\n#[StartTime: "),
        "{text}"
    );
    let mut seconds = 0;
    let mut tags = Vec::new();
    let mut all = Histogram::<u64>::new_with_bounds(1, 3_600_000_000, 3).unwrap();
    for entry in IntervalLogIterator::new(&log) {
        let LogEntry::Interval(interval) = entry.unwrap() else {
            continue;
        };
        seconds += 1;
        tags.extend(interval.tag().map(|tag| tag.as_str().to_owned()));
        let bytes = base64(interval.encoded_histogram());
        let histogram: Histogram<u64> = Deserializer::new().deserialize(&mut &bytes[..]).unwrap();
        assert!(histogram.max() as f64 <= interval.max() * 1.01 + 1.0);
        all.add(histogram).unwrap();
    }
    assert_eq!(all.len() as f64, number(&ran, "actually processed: "));
    assert!(seconds >= 4, "two seconds, two scripts: {seconds}");
    tags.sort();
    tags.dedup();
    assert_eq!(tags, ["1:one.sql", "2:two.sql"]);
    let args = ["-n", "-f", "one.sql", "--hdr-log=/nowhere/log"];
    run("pgbench", &db, folder.path(), &args).expect(
        1,
        &["pgbench: error: --hdr-log: could not create /nowhere/log"],
    );
}

/// The bytes behind base64 text.
fn base64(text: &str) -> Vec<u8> {
    let value = |c: u8| match c {
        b'A'..=b'Z' => c - b'A',
        b'a'..=b'z' => c - b'a' + 26,
        b'0'..=b'9' => c - b'0' + 52,
        b'+' => 62,
        _ => 63,
    };
    let digits: Vec<u8> = text.bytes().filter(|c| *c != b'=').map(value).collect();
    let mut bytes = Vec::new();
    for group in digits.chunks(4) {
        let bits = group
            .iter()
            .fold(0u32, |bits, digit| bits << 6 | u32::from(*digit));
        let bits = bits << (6 * (4 - group.len()));
        bytes.extend_from_slice(&bits.to_be_bytes()[1..group.len()]);
    }
    bytes
}

#[test]
fn clients_can_continue_after_errors() {
    let db = Database::new("pgbench_continue");
    let folder = tempfile::tempdir().unwrap();
    db.sql("CREATE TABLE once (id int PRIMARY KEY)");
    script(folder.path(), "once.sql", "INSERT INTO once VALUES (1);\n");
    let args = [
        "-n",
        "-f",
        "once.sql",
        "-t",
        "5",
        "--continue-on-error",
        "--failures-detailed",
        "-r",
        "-l",
        "--log-prefix=log",
    ];
    let ran = run("pgbench", &db, folder.path(), &args).expect(
        0,
        &[
            "number of transactions actually processed: 1/5",
            "number of failed transactions: 4 (80.000%)\n\
             number of serialization failures: 0 (0.000%)\n\
             number of deadlock failures: 0 (0.000%)\n\
             number of other failures: 4 (80.000%)\n",
            "          4 INSERT INTO once VALUES (1);",
        ],
    );
    assert_eq!(ran.stderr, "");
    let log = fs::read_dir(folder.path()).unwrap().flatten().find(|file| {
        let name = file.file_name();
        name.to_string_lossy().starts_with("log.")
    });
    let log = fs::read_to_string(log.unwrap().path()).unwrap();
    assert_eq!(log.matches(" other 0 ").count(), 4, "{log}");
}

#[test]
fn a_lost_connection_becomes_an_outage() {
    let db = Database::new("pgbench_reconnect");
    let folder = tempfile::tempdir().unwrap();
    // Every tenth, but never the last one: after that no client would connect again.
    let text = "\\set n :n + 1\n\\sleep 5 ms\n\
        SELECT pg_terminate_backend(pg_backend_pid()) WHERE :n % 10 = 5;\n";
    script(folder.path(), "lose.sql", text);
    let args = [
        "-n",
        "-f",
        "lose.sql",
        "-t",
        "100",
        "-D",
        "n=0",
        "--reconnect",
        "--failures-detailed",
    ];
    let ran = run("pgbench", &db, folder.path(), &args).expect(
        0,
        &[
            "lost its connection",
            "is connected again",
            "(still lost at the end: 0)",
        ],
    );
    let lost = number(&ran, "connections lost: ");
    let processed = number(&ran, "actually processed: ");
    assert_eq!((processed, lost), (90.0, 10.0), "{ran:#?}");
    assert_eq!(
        number(&ran, "number of transactions with an unknown result: "),
        lost
    );
}

#[test]
fn an_interrupt_ends_a_run_with_its_report() {
    let db = Database::new("pgbench_interrupt");
    let folder = tempfile::tempdir().unwrap();
    script(folder.path(), "one.sql", SELECT_1);
    for (signal, code) in [
        (Signal::Interrupt, 130),
        (Signal::Terminate, 143),
        (Signal::Hangup, 129),
    ] {
        let began = Instant::now();
        let child = pgdyno(&["pgbench", "-n", "-f", "one.sql", "-T", "100", "-d", &db.url])
            .current_dir(folder.path())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        db.wait_for(
            "SELECT 1 FROM pg_stat_activity WHERE datname = current_database() \
             AND query = 'SELECT 1;'",
        );
        send_signal(child.id(), signal).unwrap();
        let ran = ended(child.wait_with_output().unwrap());
        ran.expect(code, &["duration: 100 s", "tps = "]);
        assert!(began.elapsed() < Duration::from_secs(60));
    }
}

#[test]
fn ysql_bench_has_its_own_tables_and_rules() {
    let db = Database::new("ysql_bench");
    let folder = tempfile::tempdir().unwrap();
    let init = run(
        "ysql_bench",
        &db,
        folder.path(),
        &["-i", "--batch-size=30000"],
    );
    let init = init.expect(0, &["creating tables (with primary keys)..."]);
    assert!(!init.stderr.contains("vacuuming"), "{init:#?}");
    let keys = "SELECT count(*) FROM pg_index WHERE indisprimary \
                AND indrelid::regclass::text LIKE 'ysql_bench_%'";
    assert_eq!(db.value(keys), "3");
    // Each batch was a transaction of its own.
    assert_eq!(
        db.value("SELECT count(DISTINCT xmin::text) FROM ysql_bench_accounts"),
        "4"
    );
    run("ysql_bench", &db, folder.path(), &["-t", "3", "-r"]).expect(
        0,
        &[
            "number of transactions actually processed: 3/3",
            "UPDATE ysql_bench_accounts SET",
        ],
    );
    assert_eq!(db.value("SELECT count(*) FROM ysql_bench_history"), "3");

    script(
        folder.path(),
        "conflict.sql",
        "DO $$ BEGIN RAISE EXCEPTION 'again' USING ERRCODE = '40001'; END $$;\n",
    );
    let args = ["-n", "-f", "conflict.sql", "-t", "5", "-r"];
    let one_try = run("ysql_bench", &db, folder.path(), &args);
    one_try.expect(
        2,
        &[
            "ysql_bench: error: client 0 script 0 aborted in command 0 query 0: ERROR:  again",
            "maximum number of tries: 1",
            "number of failed transactions: 1 (100.000%)",
        ],
    );
    let args = ["-n", "-f", "conflict.sql", "-t", "5", "-r", "--max-tries=3"];
    let three_tries = run("ysql_bench", &db, folder.path(), &args);
    three_tries.expect(
        2,
        &[
            "total number of retries: 2",
            "statement latencies in milliseconds, failures and retries:",
            "          1          2 DO $$",
        ],
    );
    // pgbench itself goes on.
    let args = ["-n", "-f", "conflict.sql", "-t", "5"];
    run("pgbench", &db, folder.path(), &args)
        .expect(0, &["number of failed transactions: 5 (100.000%)"]);
    run("pgbench", &db, folder.path(), &["-i", "--batch-size=5"])
        .expect(1, &["pgbench: unrecognized option '--batch-size=5'"]);
}

#[test]
fn runs_are_kept_where_the_environment_or_the_configuration_says_so() {
    let db = Database::new("pgbench_kept");
    let folder = tempfile::tempdir().unwrap();
    script(folder.path(), "one.sql", SELECT_1);
    let kept = |store: &str| {
        let trials = "SELECT count(*) FROM trial WHERE committed = 3";
        let listed =
            ran(pgdyno(&["sql", "--csv", trials, "--store", store]).current_dir(folder.path()))
                .expect(0, &[]);
        listed.stdout.lines().last().unwrap_or_default().to_owned()
    };
    let three = ["-n", "-f", "one.sql", "-t", "3", "-d", &db.url];
    let pgbench = || {
        let mut command = pgdyno(&["pgbench"]);
        command.args(three).current_dir(folder.path());
        command
    };
    let plain = ran(&mut pgbench()).expect(0, &["number of transactions actually processed: 3/3"]);
    let same = ran(pgbench().env("PGDYNO_STORE", "named.sqlite")).expect(0, &[]);
    assert_eq!(kept("named.sqlite"), "1");
    // What is printed is pgbench's, kept or not.
    let lines = |ran: &Ran| ran.stdout.lines().count();
    assert_eq!(lines(&plain), lines(&same));
    assert_eq!(same.stderr, plain.stderr);

    fs::write(
        folder.path().join("pgdyno.toml"),
        "store = 'configured.sqlite'\n",
    )
    .unwrap();
    ran(pgbench()
        .env_remove("PGDYNO_CONFIG")
        .env_remove("PGDYNO_STORE"))
    .expect(0, &[]);
    assert_eq!(kept("configured.sqlite"), "1");
    // A mistake there is said, and does not keep it from measuring.
    fs::write(folder.path().join("pgdyno.toml"), "stroe = 'x'\n").unwrap();
    ran(pgbench()
        .env_remove("PGDYNO_CONFIG")
        .env_remove("PGDYNO_STORE"))
    .expect(
        0,
        &[
            "pgbench: warning: the run is not kept",
            "did you mean `store`?",
        ],
    );
}
