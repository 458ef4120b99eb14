//! What the trial's sessions wait for on a real server, beside sessions of others.

use std::thread;

use pgdyno_testkit::postgres_with;
use serde_json::Value;

use crate::support::{Database, connect, pgdyno, ran};

/// A run of this script for so many seconds.
fn measured(db: &Database, script: &str, args: &[&str]) -> Value {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("script.sql");
    std::fs::write(&path, script).unwrap();
    let mut command = pgdyno(&["run", "-q", "--json", "--no-store", "--url", &db.url]);
    let ran = ran(command.args(args).arg(&path));
    serde_json::from_str(&ran.stdout).unwrap_or_else(|e| panic!("{e}: {ran:?}"))
}

fn share(json: &Value, part: &str) -> f64 {
    let parts = json["budget"]["parts"].as_array().unwrap();
    let found = parts.iter().find(|row| row["part"] == part);
    found.map_or(0.0, |row| row["share"].as_f64().unwrap())
}

#[test]
fn sleeping_sessions_of_others_take_nothing_from_the_clients_waits() {
    let server = postgres_with(&[]);
    let db = Database::on(&server, "sessions");
    db.sql("CREATE TABLE hot AS SELECT 1 AS id, 0 AS n");
    let script = "BEGIN;\nUPDATE hot SET n = n + 1;\n\\sleep 5 ms\nEND;\n";
    // Twice as many as clients.
    let strangers: Vec<_> = (0..12).map(|_| connect(&db.url)).collect();
    let cancels: Vec<_> = strangers
        .iter()
        .map(|session| session.cancel_handle())
        .collect();
    let sleeping = strangers.into_iter().map(|mut session| {
        thread::spawn(move || session.simple_query("SELECT pg_sleep(600)").is_err())
    });
    let sleeping: Vec<_> = sleeping.collect();
    db.wait_for("SELECT 1 FROM pg_stat_activity WHERE wait_event = 'PgSleep' HAVING count(*) = 12");
    let json = measured(&db, script, &["-c", "6", "-T", "2"]);
    cancels.iter().for_each(|cancel| cancel.cancel().unwrap());
    assert!(sleeping.into_iter().all(|thread| thread.join().unwrap()));
    assert_eq!(
        json["budget"]["unseen"],
        Value::Null,
        "{:#}",
        json["budget"]
    );
    assert_eq!(share(&json, "others"), 0.0, "{:#}", json["budget"]);
    assert!(share(&json, "row-locks") > 0.2, "{:#}", json["budget"]);
}

#[test]
fn a_standby_that_is_missing_is_what_limited_it() {
    let server = postgres_with(&[]);
    let db = Database::on(&server, "missing");
    db.sql("CREATE TABLE journal (n int)");
    db.sql("ALTER SYSTEM SET synchronous_standby_names = 'missing'");
    db.sql("SELECT pg_reload_conf()");
    // The checkpointer tells sessions that commits wait, before it makes a checkpoint.
    db.sql("CHECKPOINT");
    let json = measured(
        &db,
        "INSERT INTO journal VALUES (1);\n",
        &["-c", "2", "-T", "6"],
    );
    let verdict = &json["verdict"];
    assert_eq!(
        verdict["limit"], "durable-commit",
        "{verdict:#} {:#}",
        json["budget"]
    );
    let sentence = verdict["sentence"].as_str().unwrap();
    assert!(
        sentence.starts_with("A missing standby limited it"),
        "{verdict:#}"
    );
    assert!(
        sentence.contains("synchronous_standby_names = 'missing'"),
        "{verdict:#}"
    );
}
