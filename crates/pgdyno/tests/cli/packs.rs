//! The shipped packs of plain files: each loads, runs, and its checks hold; what a check is there for is
//! planted, and found.

use crate::support::Database;

/// Loads a pack, runs each of its mixes, and leaves its tables.
fn runs(database: &Database, pack: &str, params: &[&str], mixes: &[&str]) {
    let with = |verb: &str, more: &[&str]| {
        let mut args = vec![verb, pack, "--quiet"];
        args.extend(params.iter().flat_map(|param| ["--param", param]));
        args.extend(more);
        database.pgdyno(&args)
    };
    with("load", &[]).expect(0, &[]);
    let run = [
        "--no-store",
        "-c",
        "4",
        "-t",
        "100",
        "--max-tries",
        "20",
        "--observe",
        "none",
    ];
    with("run", &run).expect(0, &["failed       0 (0 %)", "held: "]);
    for mix in mixes {
        let mut run = run.to_vec();
        run.extend(["--mix", mix]);
        with("run", &run).expect(0, &["failed       0 (0 %)", "held: "]);
    }
}

/// What a run without transactions to speak of says of the data as it is now.
fn finds(database: &Database, pack: &str, check: &str) {
    let ran = database.pgdyno(&["run", pack, "--no-store", "-t", "1", "--observe", "none"]);
    ran.expect(1, &[&format!("FAILED {check} "), "SERIOUS [check-failed]"]);
}

#[test]
fn smallbank_keeps_its_ledger_and_a_lost_write_is_found() {
    let database = Database::new("pack_smallbank");
    runs(
        &database,
        "smallbank",
        &["customers=1000"],
        &["read-mostly"],
    );
    let serializable = [
        "run",
        "smallbank",
        "--no-store",
        "-t",
        "50",
        "-c",
        "4",
        "--isolation",
        "serializable",
        "--max-tries",
        "0",
    ];
    database.pgdyno(&serializable).expect(0, &["2 of 2 held"]);
    database.sql("UPDATE smallbank_checking SET bal = bal - 1 WHERE custid = 3");
    finds(&database, "smallbank", "ledger");
    database.sql("UPDATE smallbank_checking SET bal = bal + 1 WHERE custid = 3");
    database.sql("DELETE FROM smallbank_savings WHERE custid = 1000");
    finds(&database, "smallbank", "accounts");
}

#[test]
fn queue_takes_each_job_once_and_a_job_taken_twice_is_found() {
    let database = Database::new("pack_queue");
    runs(&database, "queue", &["jobs=500"], &["add", "take"]);
    let left = database.value("SELECT count(*) FROM queue_jobs");
    let taken = database.value("SELECT count(*) FROM queue_taken");
    assert_ne!(taken, "0");
    assert_ne!(left, "0");
    // An empty queue is no error.
    database.sql("DELETE FROM queue_jobs");
    database
        .pgdyno(&["run", "queue", "--mix", "take", "--no-store", "-t", "5"])
        .expect(0, &["2 of 2 held"]);
    assert_eq!(database.value("SELECT count(*) FROM queue_taken"), taken);
    database.sql("INSERT INTO queue_taken SELECT taking - 1, id FROM queue_taken LIMIT 1");
    finds(&database, "queue", "taken once");
    database.sql("INSERT INTO queue_jobs SELECT id, 1, '' FROM queue_taken ORDER BY id LIMIT 3");
    finds(&database, "queue", "taken is gone");
}

#[test]
fn upsert_counts_every_statement_and_half_an_update_is_found() {
    let database = Database::new("pack_upsert");
    runs(&database, "upsert", &["counters=50"], &[]);
    assert_eq!(database.value("SELECT sum(n) FROM upsert_counters"), "400");
    database.sql("UPDATE upsert_counters SET n = n + 1 WHERE id = 1");
    finds(&database, "upsert", "totals");
}

#[test]
fn timeseries_goes_on_behind_what_is_there_and_a_wrong_value_is_found() {
    let database = Database::new("pack_timeseries");
    runs(
        &database,
        "timeseries",
        &["readings=2000"],
        &["ingest", "read"],
    );
    // No reading twice, and none left out.
    let reading =
        "SELECT count(*) = max(at_us) / 1000 + 1, count(*) > 2400 FROM timeseries_readings";
    assert_eq!(database.value(reading), "t|t");
    database.sql("UPDATE timeseries_readings SET value = -1 WHERE at_us = 5000");
    finds(&database, "timeseries", "values");
}
