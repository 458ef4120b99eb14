//! Times without service, made on purpose on a real server.

use std::fs;
use std::process::Command;
use std::thread::sleep;
use std::time::{Duration, Instant};

use pgdyno_platform::child::Signal;
use pgdyno_testkit::postgres;
use serde_json::Value;

use crate::child::Running;
use crate::support::{Database, connect, pgdyno, ran};

const SECOND: Duration = Duration::from_secs(1);
/// Its pause is on the server, so that clients are in a statement nearly all the time and use little CPU.
const READ: &str = "SELECT n FROM t, pg_sleep(0.003);\n";

/// A run of `SELECT` statements in its own notebook, and what it wrote.
struct Run {
    folder: tempfile::TempDir,
    database: Database,
    running: Option<Running>,
}

impl Run {
    fn start(name: &str, args: &str) -> Run {
        let folder = tempfile::tempdir().expect("temporary directory");
        let database = Database::on(postgres(), name);
        database.sql("CREATE TABLE t AS SELECT 1 AS n");
        fs::write(folder.path().join("read.sql"), READ).expect("written");
        let mut command = pgdyno(&["run", "-q", "read.sql", "--json=run.json"]);
        command
            .args(["--url", &database.url])
            .args(args.split(' '))
            .current_dir(folder.path())
            .env(
                "PGDYNO_STORE",
                crate::support::notebook::at(&folder.path().join("notebook")),
            );
        let running = Some(Running::start(&mut command));
        database.wait_for(&format!(
            "SELECT 1 FROM pg_stat_activity WHERE datname = '{name}' AND query LIKE 'SELECT n FROM t,%'"
        ));
        Run {
            folder,
            database,
            running,
        }
    }

    /// Its text and its document, which is the same from the notebook.
    fn ended(&mut self, reported: &[&str]) -> (String, Value) {
        let running = self.running.take().expect("it runs");
        let text = running.ended().expect(0, reported).stdout;
        let written = fs::read_to_string(self.folder.path().join("run.json")).expect("written");
        let written: Value = serde_json::from_str(&written).expect("JSON");
        let mut show = pgdyno(&["show", "1", "--json"]);
        let shown = ran(show.env(
            "PGDYNO_STORE",
            crate::support::notebook::at(&self.folder.path().join("notebook")),
        ));
        let shown: Value = serde_json::from_str(&shown.expect(0, &[]).stdout).expect("JSON");
        for part in ["measured", "stalls", "steadiness", "notes"] {
            assert_eq!(shown[part], written[part], "{part}");
        }
        (text, written)
    }
}

fn number(value: &Value) -> f64 {
    value.as_f64().unwrap_or_else(|| panic!("{value}"))
}

fn codes(json: &Value) -> Vec<&str> {
    let notes = json["notes"].as_array().expect("a list").iter();
    notes.filter_map(|note| note["code"].as_str()).collect()
}

#[test]
fn a_lock_for_one_second_of_five_is_shown_as_a_stall_with_its_share() {
    let mut run = Run::start("stalls_lock", "-c 4 -j 2 -T 5");
    sleep(SECOND);
    let mut holder = connect(&run.database.url);
    let lock = "BEGIN; LOCK TABLE t IN ACCESS EXCLUSIVE MODE";
    holder.simple_query(lock).expect("locked");
    sleep(SECOND);
    holder.simple_query("COMMIT").expect("unlocked");
    // On a busy machine there may be others, shorter ones.
    let (_, json) = run.ended(&[" stall", " of the time"]);
    assert!(codes(&json).contains(&"stalls"), "{json}");

    let stalls = &json["stalls"];
    let longest_us = number(&stalls["longest_us"]);
    assert!((900_000.0..2_500_000.0).contains(&longest_us), "{stalls}");
    let total_us = number(&stalls["total_us"]);
    assert!((number(&stalls["share"]) - total_us / 5e6).abs() < 1e-9);
    let each = stalls["each"].as_array().expect("a list").iter();
    let lengths = each.clone().map(|stall| number(&stall["length_us"]));
    assert_eq!(lengths.sum::<f64>(), total_us);
    // A closed loop hardly notices; who comes at a random time does.
    let service = &json["measured"]["service"];
    let arrival = &stalls["random_arrival"];
    assert!(number(&service["p90_us"]) < 100_000.0, "{service}");
    assert!(number(&arrival["p90_us"]) > 200_000.0, "{arrival}");
    let squares = each.map(|stall| number(&stall["length_us"]).powi(2));
    let waited_us = squares.sum::<f64>() / (2.0 * 5e6);
    let extra_us = number(&arrival["mean_us"]) - waited_us;
    assert!(
        extra_us > 0.0 && extra_us <= number(&service["mean_us"]),
        "{arrival}"
    );
}

#[test]
fn backends_frozen_at_the_end_are_a_stall_and_what_they_finish_is_no_goodput() {
    let mut run = Run::start("stalls_frozen", "-c 3 -T 5");
    let begun = Instant::now();
    let theirs = "SELECT pid FROM pg_stat_activity WHERE datname = 'stalls_frozen' AND query LIKE 'SELECT n FROM t,%'";
    run.database.wait_for(&format!("{theirs} OFFSET 2"));
    let pids = run.database.rows(theirs);
    let signal = |name: &str| {
        let status = Command::new("kill").arg(name).args(&pids).status();
        assert!(status.expect("kill is there").success());
    };
    sleep(SECOND);
    signal("-STOP");
    // Half a second and more after the end.
    sleep((6 * SECOND).saturating_sub(begun.elapsed()));
    signal("-CONT");
    let (_, json) = run.ended(&[" stall"]);
    assert!(codes(&json).contains(&"stalls"), "{json}");
    let (measured, stalls) = (&json["measured"], &json["stalls"]);
    // It began within the asked time and lasted longer.
    let each = stalls["each"].as_array().expect("a list");
    let last = each.last().expect("a stall");
    let end_us = number(&last["start_us"]) + number(&last["length_us"]);
    assert!((end_us - 5e6).abs() < 1_000.0, "{stalls}");
    assert!(number(&measured["drain_us"]) > 500_000.0, "{measured}");
    assert_eq!(measured["drain_committed"], 3, "those under way");
    let committed = number(&measured["committed"]) - 3.0;
    assert!((number(&measured["goodput_per_s"]) * 5.0 - committed).abs() < 0.01);
    let seconds = json["seconds"].as_array().expect("a list").iter();
    let asked = seconds.filter(|second| second["drain"] == false);
    let asked_us: f64 = asked.map(|second| number(&second["length_us"])).sum();
    assert_eq!(asked_us, 5e6);
}

#[test]
fn a_trial_without_stalls_says_nothing_of_them() {
    let mut run = Run::start("stalls_none", "-c 2 -T 2 --rate 20");
    let (text, json) = run.ended(&[]);
    // The host may stall by itself; of few transactions only long gaps are stalls.
    if json["stalls"]["count"] == 0 {
        assert!(
            !text.contains("\nstalls ") && !text.contains("[stalls]"),
            "{text}"
        );
    }
    assert!(json["stalls"]["random_arrival"].is_null());
}

#[test]
fn a_client_that_fails_for_a_second_is_reported_with_its_failures() {
    let folder = tempfile::tempdir().expect("temporary directory");
    let database = Database::on(postgres(), "stalls_client");
    database.sql(
        "CREATE TABLE fails AS SELECT true AS yes; CREATE TABLE failed (at int); \
         CREATE FUNCTION work(client int) RETURNS int LANGUAGE plpgsql AS $$ BEGIN \
         IF client = 1 AND (SELECT yes FROM fails) THEN RAISE SQLSTATE '40001'; END IF; \
         RETURN 1; END $$",
    );
    let text = "\\sleep 10 ms\nSELECT work(:client_id);\n";
    fs::write(folder.path().join("work.sql"), text).expect("written");
    let store = crate::support::notebook::at(&folder.path().join("notebook"));
    let mut command = pgdyno(&[
        "run",
        "-q",
        "work.sql",
        "-c",
        "3",
        "-T",
        "4",
        "--max-tries",
        "1",
    ]);
    command
        .args(["--url", &database.url])
        .current_dir(folder.path());
    let running = Running::start(command.env("PGDYNO_STORE", &store));
    database.wait_for(
        "SELECT 1 FROM pg_stat_activity WHERE datname = 'stalls_client' AND query LIKE '%work(%'",
    );
    sleep(2 * SECOND);
    database.sql("UPDATE fails SET yes = false");
    let reported = [
        "\nno commit    ",
        " s of client 1: from 0 s to ",
        " 40001\n",
    ];
    running.ended().expect(0, &reported);
    let mut show = pgdyno(&["show", "1", "--json"]);
    let shown = ran(show.env("PGDYNO_STORE", &store)).expect(0, &[]).stdout;
    let shown: Value = serde_json::from_str(&shown).expect("JSON");
    let stalls = &shown["stalls"];
    let longest = &stalls["clients"][0];
    assert_eq!(
        (&longest["client"], &longest["is_over"]),
        (&1.into(), &true.into())
    );
    assert_eq!(longest["failed"]["40001"], shown["measured"]["failed"]);
    assert!(number(&longest["length_us"]) > 1_000_000.0, "{stalls}");
}

#[test]
fn what_the_generator_sleeps_through_is_not_the_servers() {
    let mut run = Run::start("generator_stopped", "-c 2 -T 5s");
    let pgdyno = run.running.as_ref().expect("it runs");
    pgdyno.signal(Signal::Stop);
    sleep(SECOND * 3 / 2);
    pgdyno.signal(Signal::Continue);
    let (text, document) = run.ended(&["pgdyno itself did not run for"]);
    let stops = document["stalls"]["generator"].as_array().expect("a list");
    assert_eq!(stops.len(), 1, "{stops:?}");
    let stopped_us = stops[0]["length_us"].as_u64().expect("a length");
    assert!(stopped_us >= 1_300_000, "{stopped_us}");
    let start_us = stops[0]["start_us"].as_u64().expect("a start");
    let is_own = |stall: &Value| {
        let from_us = stall["start_us"].as_u64().expect("a start");
        let until_us = from_us + stall["length_us"].as_u64().expect("a length");
        from_us < start_us + stopped_us && until_us > start_us
    };
    let stalls = document["stalls"]["each"].as_array().expect("a list");
    assert!(!stalls.iter().any(is_own), "{stalls:?}");
    let budget = &document["budget"];
    let parts = budget["parts"].as_array().expect("a list");
    let part = parts
        .iter()
        .find(|part| part["part"] == "generator-stopped");
    let client_s = part.and_then(|part| part["client_s"].as_f64());
    // Both clients were in a statement, or about to send one.
    assert!(client_s >= Some(2.0 * 1.2), "{parts:?}");
    let added = budget["added"].as_array().expect("a list");
    let longest = added.last().expect("a row");
    assert_eq!(longest["percentile"], 100.0);
    assert!(
        longest["adds_us"].as_f64() >= Some(1_300_000.0),
        "{longest}"
    );
    let first = &document["notes"][0];
    assert_eq!(first["code"], "generator-stopped", "{text}");
}

#[test]
fn compatible_commands_warn_once_that_the_generator_did_not_run() {
    let database = Database::on(postgres(), "generator_stopped_there");
    let folder = tempfile::tempdir().expect("temporary directory");
    database.sql("CREATE TABLE t AS SELECT 1 AS n");
    fs::write(folder.path().join("read.sql"), READ).expect("written");
    let workload = "recordcount=10\noperationcount=1000000000\nworkload=core\nmaxexecutiontime=3\nreadproportion=1\nupdateproportion=0\n\
                    requestdistribution=uniform\n";
    fs::write(folder.path().join("reads"), workload).expect("written");
    let address = postgres().address();
    let (host, port) = (address.socket_dir.display().to_string(), address.port);
    let user = database.value("SELECT current_user");
    let of_sysbench = format!(
        "oltp_point_select --db-driver=pgsql --pgsql-host={host} --pgsql-port={port} --pgsql-user={user} \
         --pgsql-db=generator_stopped_there --table-size=10 --time=3"
    );
    let of_go = format!(
        "pg -P reads -p pg.host={host} -p pg.port={port} -p pg.user={user} -p pg.db=generator_stopped_there"
    );
    let url = &database.url;
    let command = |line: &str| {
        let words: Vec<&str> = line.split_whitespace().collect();
        let mut command = pgdyno(&words);
        command.current_dir(folder.path());
        command
    };
    for load in [
        format!("sysbench {of_sysbench} prepare"),
        format!("go-ycsb load {of_go}"),
        format!("workload init kv --insert-count 10 --db generator_stopped_there {url}"),
    ] {
        ran(&mut command(&load)).expect(0, &[]);
    }
    let runs = [
        (
            format!("pgbench -n -T 3 -f read.sql {url}"),
            "SELECT n FROM t",
        ),
        (
            format!("sysbench {of_sysbench} run"),
            "SELECT c FROM sbtest1",
        ),
        (format!("go-ycsb run {of_go}"), "SELECT %FROM usertable"),
        (
            format!(
                "workload run kv --read-percent 100 --write-seq R10 --duration 3s --db generator_stopped_there {url}"
            ),
            "SELECT k, v FROM kv",
        ),
    ];
    let running = runs.map(|(line, query)| {
        let running = Running::start(&mut command(&line));
        database.wait_for(&format!(
            "SELECT 1 FROM pg_stat_activity WHERE datname = current_database() AND query ILIKE '{query}%'"
        ));
        running
    });
    sleep(SECOND / 2);
    running.iter().for_each(|one| one.signal(Signal::Stop));
    sleep(SECOND / 2);
    running.iter().for_each(|one| one.signal(Signal::Continue));
    for one in running {
        let ended = one.ended().expect(0, &[]);
        let said = ended
            .stderr
            .matches("pgdyno itself did not run for 0.")
            .count();
        assert_eq!(said, 1, "{ended:#?}");
    }
}

#[test]
fn loads_and_lines_of_a_sweep_say_that_pgdyno_itself_did_not_run() {
    let stop = |running: &Running| {
        running.signal(Signal::Stop);
        sleep(SECOND / 2);
        running.signal(Signal::Continue);
    };
    let database = Database::on(postgres(), "stopped_load");
    // The load waits for it, so that it is not over before it is stopped.
    database.sql(
        "CREATE FUNCTION late() RETURNS event_trigger LANGUAGE plpgsql AS $$ BEGIN PERFORM pg_sleep(0.3); END $$; \
         CREATE EVENT TRIGGER late ON ddl_command_end EXECUTE FUNCTION late()",
    );
    let load = Running::start(&mut pgdyno(&["load", "tpcb", "--url", &database.url]));
    database.wait_for(
        "SELECT 1 FROM pg_stat_activity WHERE datname = 'stopped_load' AND pid <> pg_backend_pid() AND wait_event = 'PgSleep'",
    );
    stop(&load);
    load.ended()
        .expect(0, &["pgdyno itself did not run for ", " of the load"]);

    let folder = tempfile::tempdir().expect("temporary directory");
    let experiment = "workload = 'sleep.sql'\nduration = '6s'\nreset.settle = 0\n";
    fs::write(folder.path().join("e.toml"), experiment).expect("written");
    fs::write(folder.path().join("sleep.sql"), "SELECT pg_sleep(0.01);\n").expect("written");
    let mut sweep = pgdyno(&["sweep", "e.toml", "--url", &database.url]);
    sweep
        .current_dir(folder.path())
        .env("PGDYNO_STORE", folder.path().join("notebook"));
    let sweep = Running::start(&mut sweep);
    database.wait_for(
        "SELECT 1 FROM pg_stat_activity WHERE datname = 'stopped_load' AND query = 'SELECT pg_sleep(0.01);'",
    );
    stop(&sweep);
    let ended = sweep.ended().expect(0, &["1 of 1 trials complete"]);
    let mut lines = ended.stdout.lines();
    let line = lines.find(|line| line.starts_with("[1/1]"));
    assert!(
        line.is_some_and(|line| line.contains("pgdyno itself did not run for ")),
        "{ended:#?}"
    );
}
