//! What is booked is what happened, as the tables tell.

use std::time::Duration;

use pgdyno_testkit::postgres_with;
use serde_json::Value;

use crate::child::{Running, wait_until};
use crate::support::{Database, connect, pgdyno, ran};

/// How the sums of the three balances differ from the sum of all deltas, as three numbers.
const DIFFERENCES: &str = "
    SELECT (SELECT sum(abalance) FROM pgbench_accounts) - h.delta,
           (SELECT sum(tbalance) FROM pgbench_tellers) - h.delta,
           (SELECT sum(bbalance) FROM pgbench_branches) - h.delta
    FROM (SELECT coalesce(sum(delta), 0) AS delta FROM pgbench_history) h";

fn rows(db: &Database) -> u64 {
    let count = db.value("SELECT count(*) FROM pgbench_history");
    count.parse().expect("a number")
}

/// A count of the measured phase.
fn booked(json: &Value, what: &str) -> u64 {
    json["measured"][what].as_u64().expect("a count")
}

#[test]
fn with_retries_the_tables_have_exactly_what_is_booked_as_committed() {
    let server = postgres_with(&["default_transaction_isolation=serializable"]);
    let db = Database::on(&server, "retries");
    let run = db
        .pgdyno(&[
            "run",
            "tpcb",
            "-c",
            "8",
            "-j",
            "2",
            "-T",
            "1",
            "--max-tries",
            "10",
            "--json",
            "--param",
            "scale=2",
        ])
        .expect(0, &[]);
    let json: Value = serde_json::from_str(&run.stdout).expect("JSON");
    assert!(booked(&json, "retries") > 0, "nothing was retried: {run:?}");
    assert!(booked(&json, "retried") > 0);
    assert!(booked(&json, "committed") > 0);
    assert_eq!(booked(&json, "unknown"), 0);
    assert_eq!(rows(&db), booked(&json, "committed"));
    assert_eq!(db.rows(DIFFERENCES), ["0|0|0"]);
    assert_eq!(
        json["target"]["facts"]["default_transaction_isolation"],
        "serializable"
    );

    // Without retries the same server makes transactions fail, and they leave no trace.
    let run = db
        .pgdyno(&[
            "run", "tpcb", "-c", "8", "-t", "40", "--json", "--seed", "1",
        ])
        .expect(0, &[]);
    let before = booked(&json, "committed");
    let json: Value = serde_json::from_str(&run.stdout).expect("JSON");
    let (committed, failed) = (booked(&json, "committed"), booked(&json, "failed"));
    assert_eq!(committed + failed, 8 * 40, "{run:?}");
    assert!(failed > 0, "{run:?}");
    assert_eq!(json["measured"]["failed_by_class"]["40001"], failed);
    assert_eq!(rows(&db), before + committed);
    assert_eq!(db.rows(DIFFERENCES), ["0|0|0"]);
}

/// A commit waits while the gate has a row: before it is done, so that ending the backend then
/// undoes it.
const GATE: &str = "
    CREATE TABLE gate (x int);
    CREATE FUNCTION pass() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN
        WHILE EXISTS (SELECT FROM gate) LOOP PERFORM pg_sleep(0.01); END LOOP;
        RETURN NULL;
    END $$;
    CREATE CONSTRAINT TRIGGER pass AFTER INSERT ON pgbench_history
        DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION pass()";

/// Ends `count` backends that are found in the middle of COMMIT at this wait event.
fn kill_in_commit(url: &str, wait_event: &str, count: usize) {
    let mut session = connect(url);
    let waiting = format!(
        "SELECT pid FROM pg_stat_activity WHERE datname = current_database()
         AND state = 'active' AND query = 'END;' AND wait_event = '{wait_event}' LIMIT {count}"
    );
    // Once there, they stay.
    let mut pids = Vec::new();
    wait_until(&format!("commits at {wait_event}"), || {
        pids = session.query(&waiting).expect("a query").rows;
        pids.len() == count
    });
    for pid in pids.into_iter().flatten().flatten() {
        let kill = format!("SELECT pg_terminate_backend({pid}, 5000)");
        let killed = session.query(&kill).expect("superuser").rows;
        assert_eq!(killed, [[Some("t".to_owned())]]);
    }
}

/// Commits until the commits of the server wait for a standby. Its own goes on waiting for one, and is
/// seen by ending its backend.
///
/// The setting is in force a moment after it was read, and a commit before that does not wait.
fn standby_is_waited_for(url: &str) {
    let mut session = connect(url);
    let pid = session.query("SELECT pg_backend_pid()").expect("a query");
    let pid = pid.rows[0][0].clone().expect("a number");
    std::thread::scope(|scope| {
        scope.spawn(move || {
            while session
                .simple_query("CREATE TABLE w (); DROP TABLE w")
                .is_ok()
            {}
        });
        let mut other = connect(url);
        let waits =
            format!("SELECT 1 FROM pg_stat_activity WHERE pid = {pid} AND wait_event = 'SyncRep'");
        wait_until("a commit waits for a standby", || {
            !other.query(&waits).expect("a query").rows.is_empty()
        });
        let end = format!("SELECT pg_terminate_backend({pid}, 5000)");
        other.query(&end).expect("superuser");
    });
}

/// Ends two backends whose commits are undone by it, and two whose commits are done: they only
/// wait for a standby before they would say so.
fn kill_four_in_commit(db_url: &str) {
    let mut session = connect(db_url);
    let mut run = |statement: &str| {
        session.simple_query(statement).expect(statement);
    };
    run("INSERT INTO gate VALUES (1)");
    kill_in_commit(db_url, "PgSleep", 2);
    // This session's own commits are not to wait for a standby. Those at the gate do, even if the
    // trial's time is over by now.
    run("SET synchronous_commit = local");
    run("ALTER SYSTEM SET synchronous_standby_names = 'absent'");
    run("SELECT pg_reload_conf()");
    standby_is_waited_for(db_url);
    run("DELETE FROM gate");
    kill_in_commit(db_url, "SyncRep", 2);
    run("ALTER SYSTEM RESET synchronous_standby_names");
    run("SELECT pg_reload_conf()");
}

#[test]
fn commits_cut_off_are_unknown_and_bound_what_the_tables_have() {
    let server = postgres_with(&[]);
    let db = Database::on(&server, "killed");
    db.pgdyno(&["load", "tpcb", "--param", "scale=4"])
        .expect(0, &[]);
    db.sql(GATE);
    let url = db.url.clone();
    let killer = std::thread::spawn(move || {
        let mut session = connect(&url);
        let begun = "SELECT 1 FROM pgbench_history LIMIT 1";
        while session.query(begun).expect("it is loaded").rows.is_empty() {
            std::thread::sleep(Duration::from_millis(5));
        }
        kill_four_in_commit(&url);
    });
    let dir = tempfile::tempdir().expect("temporary directory");
    let file = dir.path().join("result.json");
    let option = format!("--json={}", file.display());
    let run = Running::start(
        pgdyno(&[
            "run", "tpcb", "-c", "8", "-j", "2", "-R", "400", "-t", "300",
        ])
        .args(["--url", &db.url, &option]),
    );
    killer.join().expect("it killed");
    let run = run.ended().expect(
        3,
        &[
            "tps  ",
            "INCOMPLETE: 4 clients of 8 ended early",
            "4 unknown",
        ],
    );
    let json = std::fs::read_to_string(file).expect("written");
    let json: Value = serde_json::from_str(&json).expect("JSON");
    let (committed, unknown) = (booked(&json, "committed"), booked(&json, "unknown"));
    assert_eq!(json["clients"]["disconnected"], 4, "{run:?}");
    assert_eq!(unknown, 4, "{json:#}");
    assert_eq!(booked(&json, "failed"), 0, "{json:#}");
    let rows = rows(&db);
    assert!(committed <= rows && rows <= committed + unknown);
    assert_eq!(rows, committed + 2, "two of the unknown were committed");
    assert_eq!(db.rows(DIFFERENCES), ["0|0|0"]);
}

#[test]
fn what_a_client_did_before_its_connection_was_lost_between_commits_is_no_mystery() {
    let db = Database::new("lost_before_commit");
    db.pgdyno(&["load", "tpcb"]).expect(0, &[]);
    // The backend ends itself inside an open transaction: certainly nothing was committed.
    let dir = tempfile::tempdir().expect("temporary directory");
    let script = dir.path().join("gone.sql");
    std::fs::write(
        &script,
        "BEGIN;\nINSERT INTO pgbench_history (tid) VALUES (1);\n\
         SELECT pg_terminate_backend(pg_backend_pid());\nEND;\n",
    )
    .expect("written");
    let run = ran(pgdyno(&["run", "-t", "5", "--json", "--url", &db.url]).arg(&script))
        .expect(3, &["terminating connection due to administrator command"]);
    let json: Value = serde_json::from_str(&run.stdout).expect("JSON");
    assert_eq!(booked(&json, "unknown"), 0, "{run:?}");
    assert_eq!(booked(&json, "failed"), 1, "{run:?}");
    assert_eq!(booked(&json, "committed"), 0);
    assert_eq!(json["end"], "all-clients-aborted");
    assert_eq!(rows(&db), 0);
}
