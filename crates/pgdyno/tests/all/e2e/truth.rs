//! Receipts: the database is asked for what it has acknowledged.

use std::fs;

use pgdyno_server::Setting;
use pgdyno_testkit::postgres_with;
use serde_json::Value;

use crate::child::Running;
use crate::support::{Database, pgdyno};

fn truth(stdout: &str) -> Value {
    let document: Value = serde_json::from_str(stdout).expect("JSON");
    document["truth"].clone()
}

#[test]
fn without_a_disturbance_nothing_is_lost_and_sums_agree() {
    let database = Database::new("truth_plain");
    let args = "run tpcb --receipts -c 4 -t 25 --json --seed 5";
    let args: Vec<&str> = args.split(' ').collect();
    // Each time with a mark of its own: receipts of the first are still there.
    for times in 1..=2 {
        let reported = truth(&database.pgdyno(&args).expect(0, &[]).stdout);
        assert_eq!(reported["acknowledged"], 100, "{reported:#}");
        assert_eq!(
            (&reported["lost"], &reported["twice"]),
            (&0.into(), &0.into())
        );
        assert_eq!(reported["tables"][0], "pgbench_history");
        let grown = reported["sums"]["grown"].as_array().expect("sums");
        assert_eq!(grown.len(), 4, "{reported:#}");
        assert!(
            grown.iter().all(|table| table[1] == grown[0][1]),
            "{reported:#}"
        );
        let rows = "SELECT count(DISTINCT filler) FROM pgbench_history";
        assert_eq!(database.value(rows), (100 * times).to_string());
    }
    let brief = database.pgdyno(&["run", "tpcb", "--receipts", "-t", "5", "-M", "prepared"]);
    brief.expect(
        0,
        &["receipts     5 acknowledged, all in the database; sums agree"],
    );
}

#[test]
fn other_scripts_leave_a_row_of_their_own_and_what_they_roll_back_is_no_loss() {
    let database = Database::new("truth_scripts");
    database.sql("CREATE TABLE t (n int)");
    let dir = tempfile::tempdir().expect("temporary directory");
    let script = |name: &str, text: &str| {
        let path = dir.path().join(name);
        fs::write(&path, text).expect("written");
        path.display().to_string()
    };
    let plain = script("plain.sql", "INSERT INTO t VALUES (:client_id);\n");
    let reported = database.pgdyno(&["run", &plain, "--receipts", "-c", "2", "-t", "10", "--json"]);
    let reported = truth(&reported.expect(0, &[]).stdout);
    assert_eq!(
        (&reported["acknowledged"], &reported["lost"]),
        (&20.into(), &0.into())
    );
    assert_eq!(database.value("SELECT count(*) FROM pgdyno_receipts"), "20");
    assert_eq!(reported["tables"][0], "pgdyno_receipts");

    let half = script(
        "half.sql",
        "\\set back random(0, 1)\nBEGIN;\nINSERT INTO t VALUES (1);\n\\if :back\nROLLBACK;\n\\else\n\
         COMMIT;\n\\endif\n",
    );
    let reported = database.pgdyno(&["run", &half, "--receipts", "-t", "40", "--json"]);
    let reported = truth(&reported.expect(0, &[]).stdout);
    let number = |name: &str| reported[name].as_u64().expect("a number");
    assert_eq!(number("lost"), 0);
    assert_eq!(number("acknowledged") + number("without_receipt"), 40);
    assert!(
        number("without_receipt") > 0 && number("acknowledged") > 0,
        "{reported:#}"
    );

    // One that loses its own receipts: what is missing is found, named, and in the exit code.
    let loses = script(
        "loses.sql",
        "BEGIN;\nINSERT INTO t VALUES (2);\nCOMMIT;\nDELETE FROM pgdyno_receipts WHERE receipt % 10 = 3;\n",
    );
    let ran = database.pgdyno(&["run", &loses, "--receipts", "-t", "20"]);
    let ran = ran.expect(
        1,
        &[
            "LOST WRITES  2 of 20",
            "client 0, its transaction 3, acknowledged",
        ],
    );
    let lost = ran.stdout.find("LOST WRITES").expect("reported");
    let figures = ran.stdout.find("receipts  ").expect("reported");
    assert!(lost < figures, "{}", ran.stdout);

    database.sql("DROP TABLE pgdyno_receipts; CREATE TABLE pgdyno_receipts (mine int)");
    let refused = database.pgdyno(&["run", &plain, "--receipts", "-t", "1"]);
    refused.expect(
        1,
        &["the table pgdyno_receipts is not pgdyno's", "rename it"],
    );
    let twice = script("twice.sql", "BEGIN;\nCOMMIT;\nBEGIN;\nCOMMIT;\n");
    let refused = database.pgdyno(&["run", &twice, "--receipts", "-t", "1"]);
    refused.expect(2, &["line 4", "commits more than once"]);
    let refused = database.pgdyno(&["run", "slob", "--receipts", "-t", "1"]);
    refused.expect(
        2,
        &[
            "--receipts does not go with storage accounting",
            "leave --receipts out",
        ],
    );
}

#[test]
fn a_commit_whose_wait_for_a_standby_was_cancelled_is_unknown_and_resolved() {
    let server = postgres_with(&[]);
    let database = Database::on(&server, "truth_sync");
    database.pgdyno(&["load", "tpcb"]).expect(0, &[]);
    let absent = Setting::new("synchronous_standby_names", "absent").expect("a setting");
    server.set(&[absent]).expect("it runs");
    database.wait_for("SELECT 1 WHERE current_setting('synchronous_standby_names') = 'absent'");
    let mut run = pgdyno(&["run", "tpcb", "--receipts", "-c", "1", "-t", "3", "--json"]);
    let mut running = Running::start(run.args(["--url", &database.url]));
    // Each wait is cancelled once: a second time would be the next statement's.
    let mut cancelled = Vec::new();
    while cancelled.len() < 3 {
        let waiting = "SELECT pid, xact_start FROM pg_stat_activity WHERE wait_event = 'SyncRep'";
        for wait in database.rows(waiting) {
            let (pid, _) = wait.split_once('|').expect("two columns");
            if !cancelled.contains(&wait) {
                database.sql(&format!("SELECT pg_cancel_backend({pid})"));
                cancelled.push(wait);
            }
        }
        assert!(!running.is_over(), "{:#?}", running.ended());
    }
    let ran = running.ended();
    let document: Value = serde_json::from_str(&ran.stdout).expect("JSON");
    let counts = &document["measured"];
    assert_eq!(
        (&counts["unknown"], &counts["committed"]),
        (&3.into(), &0.into()),
        "{counts:#}"
    );
    let reported = &document["truth"];
    assert_eq!(
        (&reported["in_doubt"], &reported["in_doubt_landed"]),
        (&3.into(), &3.into()),
        "{reported:#}"
    );
    assert_eq!(
        (&reported["acknowledged"], &reported["lost"]),
        (&0.into(), &0.into())
    );
    let reason = &document["reasons"][0]["reason"];
    assert_eq!(
        reason, "committed without its synchronous standby",
        "{document:#}"
    );
}
