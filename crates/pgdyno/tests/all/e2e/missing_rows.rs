//! Reads and updates that find no row where the workload has one.

use serde_json::Value;

use crate::support::{Database, pgdyno, ran};

#[test]
fn rows_that_are_gone_fail_natively_and_are_named_by_pgbench() {
    let db = Database::new("missing_rows");
    ran(&mut pgdyno(&["pgbench", "-i", "-q", "-d", &db.url])).expect(0, &[]);
    let run = |workload: &str| {
        let args = [
            "run",
            workload,
            "-t",
            "20",
            "--no-store",
            "--observe",
            "none",
            "--json",
        ];
        let ran = db.pgdyno(&args);
        let document: Value = serde_json::from_str(&ran.stdout).unwrap();
        let counts = &document["measured"];
        // A run in which everything failed has failed.
        let committed = counts["committed"].as_u64();
        assert_eq!(
            ran.code,
            Some(i32::from(committed == Some(0))),
            "{workload}"
        );
        (
            counts["committed"].as_u64().unwrap(),
            counts["failed_by_class"]["row-missing"]
                .as_u64()
                .unwrap_or(0),
        )
    };
    let pgbench = |builtin: &str| {
        let args = ["pgbench", "-n", "-b", builtin, "-t", "20", "-d", &db.url];
        ran(&mut pgdyno(&args)).expect(0, &["number of transactions actually processed: 20/20"])
    };
    let says = "transactions found no row where the workload has one";
    for workload in ["select-only", "simple-update", "tpcb", "update"] {
        assert_eq!(run(workload), (20, 0), "{workload}");
    }
    for builtin in ["select-only", "simple-update", "tpcb-like"] {
        let ran = pgbench(builtin);
        assert!(!ran.stderr.contains(says), "{}", ran.stderr);
    }
    db.sql("DELETE FROM pgbench_accounts");
    for workload in ["select-only", "simple-update", "tpcb", "update"] {
        assert_eq!(run(workload), (0, 20), "{workload}");
    }
    for builtin in ["select-only", "simple-update", "tpcb-like"] {
        let ran = pgbench(builtin);
        let warning = format!("pgbench: warning: 20 {says}");
        assert!(ran.stderr.contains(&warning), "{}", ran.stderr);
        assert!(!ran.stdout.contains("no row"), "{}", ran.stdout);
        assert!(
            ran.stdout
                .contains("number of failed transactions: 0 (0.000%)"),
            "{}",
            ran.stdout
        );
    }
    // A script of the user's own may find nothing.
    let dir = tempfile::tempdir().unwrap();
    std::fs::write(
        dir.path().join("own.sql"),
        "SELECT * FROM pgbench_accounts;\n",
    )
    .unwrap();
    let mut own = pgdyno(&["pgbench", "-n", "-f", "own.sql", "-t", "5", "-d", &db.url]);
    let ran = ran(own.current_dir(dir.path())).expect(0, &[]);
    assert!(!ran.stderr.contains(says), "{}", ran.stderr);
}

#[test]
fn kv_names_reads_of_numbers_that_were_not_loaded() {
    let db = Database::new("missing_keys");
    let run = |write_seq: &str| {
        let write_seq = format!("write_seq={write_seq}");
        let args = [
            "run",
            "kv",
            "--param",
            "insert_count=50",
            "--param",
            &write_seq,
            "--param",
            "read_percent=100",
            "-t",
            "100",
            "--no-store",
            "--observe",
            "none",
        ];
        db.pgdyno(&args).expect(0, &["(100 committed"])
    };
    let says = "transactions found no row where the workload has one";
    let ran = run("50");
    assert!(!(ran.stdout + &ran.stderr).contains(says));
    // Before anything is written, reads find nothing, which the workload means.
    let ran = run("0");
    assert!(!(ran.stdout + &ran.stderr).contains(says));
    let ran = run("5000");
    assert!(ran.stdout.contains(says), "{}", ran.stdout);
}
