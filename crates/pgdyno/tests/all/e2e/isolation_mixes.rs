//! The mixes of the pack `isolation` that each show one anomaly: on a real server at each level, what it documents
//! is seen and nothing else.

use serde_json::Value;

use crate::support::{Database, pgdyno, ran};

const LENGTH_MS: u64 = 400;
/// Whether an anomaly shows is luck: a trial that does not show it is followed by a longer one, up to this.
const LENGTH_MAX_MS: u64 = 16_000;

/// What the history of a trial of this length shows.
fn check(database: &Database, mix: &str, level: &str, length_ms: u64) -> Value {
    let length = format!("{length_ms}ms");
    let ran = database.pgdyno(&[
        "run",
        "isolation",
        "--mix",
        mix,
        "--isolation",
        level,
        "-c",
        "8",
        "-T",
        &length,
        "--retry",
        "restart",
        "--check-isolation",
        "--observe",
        "none",
        "--no-store",
        "--json",
    ]);
    let document: Value = serde_json::from_str(&ran.expect(0, &[]).stdout).expect("JSON");
    for check in document["checks"].as_array().expect("checks") {
        assert_eq!(check["held"], true, "{check}");
    }
    let check = &document["isolation"];
    assert!(check["conflicting_pairs"].as_u64() > Some(0), "{check}");
    check.clone()
}

fn count(check: &Value, anomaly: &str) -> u64 {
    let mut found = check["found"].as_array().expect("anomalies").iter();
    let found = found.find(|found| found["anomaly"] == anomaly);
    found.and_then(|found| found["count"].as_u64()).unwrap_or(0)
}

/// READ COMMITTED shows all of these, and nothing that it forbids; the other two levels show nothing at all.
fn only_read_committed_shows(mix: &str, anomalies: &[&str]) {
    let database = Database::new(&format!("isolation_mix_{}", mix.replace('-', "_")));
    let mut missed = anomalies.to_vec();
    let mut length_ms = LENGTH_MS;
    while !missed.is_empty() {
        assert!(length_ms <= LENGTH_MAX_MS, "{missed:?} did not show");
        let seen = check(&database, mix, "read-committed", length_ms);
        missed.retain(|anomaly| count(&seen, anomaly) == 0);
        for found in seen["found"].as_array().expect("anomalies") {
            assert_eq!(found["forbidden"], false, "{found}");
        }
        length_ms *= 2;
    }
    for level in ["repeatable-read", "serializable"] {
        let seen = check(&database, mix, level, LENGTH_MS);
        assert_eq!(seen["found"], Value::Array(Vec::new()), "{level}: {seen}");
    }
}

#[test]
fn readers_of_a_bank_see_half_a_transfer_at_read_committed_only() {
    only_read_committed_shows("bank", &["fractured-read"]);
}

#[test]
fn counters_lose_increments_at_read_committed_only() {
    only_read_committed_shows("counter", &["lost-update"]);
}

#[test]
fn readers_disagree_about_the_order_of_two_writes_at_read_committed_only() {
    only_read_committed_shows("long-fork", &["long-fork"]);
}

#[test]
fn the_laboratory_runs_them_when_they_are_named_and_keeps_what_they_observed() {
    let database = Database::new("isolation_mix_lab");
    let dir = tempfile::tempdir().expect("temporary directory");
    let notes = dir.path().join("n.sqlite").display().to_string();
    let lab = [
        "lab",
        "isolation",
        "--mix",
        "counter,long-fork",
        "--isolation",
        "serializable",
        "-T",
        "1s",
        "--repeat",
        "1",
        "--store",
        &notes,
    ];
    database.pgdyno(&lab).expect(0, &[]);
    for trial in ["1", "2"] {
        let export = ["export", trial, "--history", "--store", &notes];
        let exported = ran(&mut pgdyno(&export)).expect(0, &[]).stdout;
        assert!(exported.contains(":type :ok"), "{exported}");
    }
}

#[test]
fn a_bank_of_one_account_is_refused() {
    let database = Database::new("isolation_mix_refused");
    let ran = database.pgdyno(&["run", "isolation", "--mix", "bank", "--param", "keys=1"]);
    ran.expect(2, &["a transfer needs two accounts: raise keys"]);
}

#[test]
fn values_apart_from_statements_are_recorded_alike() {
    let database = Database::new("isolation_mix_modes");
    for mix in ["bank", "counter", "long-fork"] {
        for mode in ["extended", "prepared"] {
            let args = [
                "run",
                "isolation",
                "--mix",
                mix,
                "-M",
                mode,
                "-c",
                "2",
                "-t",
                "40",
            ];
            let mut args = args.to_vec();
            args.extend(["--isolation", "read-committed", "--check-isolation"]);
            args.extend(["--observe", "none", "--no-store", "--json"]);
            let ran = database.pgdyno(&args).expect(0, &[]);
            let document: Value = serde_json::from_str(&ran.stdout).expect("JSON");
            assert_eq!(document["measured"]["committed"], 80, "{mix} {mode}");
            assert!(document["isolation"]["dependencies"].as_u64() > Some(0));
        }
    }
}
