//! `[[check]]` of a pack: what must hold of the data is asked before, during and after a trial.

use serde_json::Value;

use crate::support::{self, Database, Ran};

const OWN: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/all/cli/own_pack");

fn document(ran: &Ran) -> Value {
    serde_json::from_str(&ran.stdout).unwrap_or_else(|e| panic!("{e}: {ran:#?}"))
}

/// The check of this name.
fn check<'a>(document: &'a Value, name: &str) -> &'a Value {
    let mut checks = document["checks"].as_array().unwrap().iter();
    checks.find(|check| check["name"] == name).unwrap()
}

fn run(database: &Database, more: &str) -> Ran {
    let args = ["run", OWN, "--no-store", "--json"].into_iter();
    let args = args.chain(more.split_whitespace());
    database.pgdyno(&args.collect::<Vec<_>>())
}

#[test]
fn what_holds_is_said_and_what_does_not_fails_the_run_with_its_figures() {
    let database = Database::new("checks_own");
    let good = document(&run(&database, "-T 1s").expect(0, &[]));
    for name in ["ids of own1", "ids of own2", "twice", "fillers"] {
        assert_eq!(check(&good, name)["held"], true, "{good:#}");
    }
    let ids = check(&good, "ids of own1");
    // Before, after, and now and then during the second.
    assert!(ids["looks"].as_u64().unwrap() >= 3, "{ids}");
    assert_eq!(check(&good, "twice")["looks"], 1);
    assert_eq!(
        check(&good, "fillers")["expected"],
        "1, as before the trial"
    );

    database.sql("INSERT INTO own1 SELECT -7, 0, -13, -12, filler FROM own1 WHERE id = 1");
    database.sql("UPDATE own1 SET twice1 = 0 WHERE id = 2");
    let bad = run(&database, "-t 5");
    assert_eq!(bad.code, Some(1), "{bad:#?}");
    let bad = document(&bad);
    let ids = check(&bad, "ids of own1");
    assert_eq!(
        (&ids["held"], &ids["at"]),
        (&false.into(), &"before".into())
    );
    assert_eq!(ids["found"], "1 row: -7 | 0");
    let twice = check(&bad, "twice");
    assert_eq!(
        (&twice["held"], &twice["found"]),
        (&false.into(), &"-5.00".into())
    );
    assert_eq!(check(&bad, "ids of own2")["held"], true);
    let note = bad["notes"]
        .as_array()
        .unwrap()
        .iter()
        .find(|note| note["code"] == "check-failed");
    assert_eq!(note.unwrap()["severity"], "serious", "{bad:#}");
    run(&database, "-t 5 --no-checks").expect(0, &["\"checks\": []"]);
}

#[test]
fn what_changes_while_transactions_run_is_found_and_marked_on_the_time_line() {
    let database = Database::new("checks_during");
    database
        .pgdyno(&["load", "bank", "--quiet", "--param", "rows=100"])
        .expect(0, &[]);
    let folder = tempfile::tempdir().unwrap();
    let pack = "name = \"thief\"\nsummary = \"s\"\nuses = \"bank\"\n[[script]]\nname = \"a\"\nfile = \"a.sql\"\n\
        [[check]]\nname = \"sum\"\nhelp = \"h\"\nquery = \"SELECT sum(balance) FROM bank\"\nunchanged = true\n\
        at = [\"during\", \"after\"]\nevery_s = 0.1\n";
    std::fs::write(folder.path().join("pack.toml"), pack).unwrap();
    let script = "UPDATE bank SET balance = balance + 1 WHERE id = 1;\n\\sleep 10 ms\n";
    std::fs::write(folder.path().join("a.sql"), script).unwrap();
    let path = folder.path().to_str().unwrap();
    let ran = database.pgdyno(&["run", path, "--no-store", "-T", "1s", "--json"]);
    assert_eq!(ran.code, Some(1), "{ran:#?}");
    let reported = document(&ran);
    let sum = check(&reported, "sum");
    assert_eq!(
        (&sum["held"], &sum["at"]),
        (&false.into(), &"during".into()),
        "{sum}"
    );
    assert!(sum["failures"].as_u64().unwrap() > 2, "{sum}");
    let events = reported["observed"]["events"].as_array().unwrap();
    assert!(
        events.iter().any(|event| event["kind"] == "check-failed"),
        "{events:#?}"
    );
    // The same pack on undamaged tables.
    let bank = database.pgdyno(&["run", "bank", "--no-store", "-t", "50"]);
    bank.expect(1, &["FAILED sum of bank", "expected 0, found"]);
}

#[test]
fn a_check_that_cannot_be_asked_is_not_known_and_says_why() {
    let database = Database::new("checks_unknown");
    let folder = tempfile::tempdir().unwrap();
    let pack = "name = \"m\"\nsummary = \"s\"\n[[script]]\nname = \"a\"\nfile = \"a.sql\"\n\
        [[check]]\nname = \"c\"\nhelp = \"h\"\nquery = \"SELECT nothing\"\n";
    std::fs::write(folder.path().join("pack.toml"), pack).unwrap();
    std::fs::write(folder.path().join("a.sql"), "SELECT 1;\n").unwrap();
    let path = folder.path().to_str().unwrap();
    let ran = database.pgdyno(&["run", path, "--no-store", "-t", "1"]);
    ran.expect(
        0,
        &[
            "not known c: ",
            "column \"nothing\" does not exist",
            "! check c has no result",
        ],
    );
}

#[test]
fn a_kept_trial_still_knows_its_checks() {
    let database = Database::new("checks_kept");
    let home = tempfile::tempdir().unwrap();
    let store = home.path().join("notes.db");
    let store = store.to_str().unwrap();
    database
        .pgdyno(&["run", "bank", "--store", store, "-t", "5"])
        .expect(0, &["1 of 1 held: sum of bank"]);
    support::ran(&mut support::pgdyno(&["show", "1", "--store", store]))
        .expect(0, &["1 of 1 held: sum of bank"]);
    // What cockroach's tool does not ask is not asked for it.
    let listed = database.pgdyno(&["workload", "run", "bank", "--max-ops", "5", &database.url]);
    assert!(!listed.stdout.contains("held"), "{listed:#?}");
}

#[test]
fn a_check_can_change_nothing() {
    let database = Database::new("checks_read_only");
    database.sql("CREATE TABLE kept (n int); INSERT INTO kept VALUES (1)");
    let folder = tempfile::tempdir().unwrap();
    let pack = "name = \"m\"\nsummary = \"s\"\n[[script]]\nname = \"a\"\nfile = \"a.sql\"\n\
        [[check]]\nname = \"c\"\nhelp = \"h\"\nquery = \"DELETE FROM kept RETURNING n\"\nreturns = \"1\"\n";
    std::fs::write(folder.path().join("pack.toml"), pack).unwrap();
    std::fs::write(folder.path().join("a.sql"), "SELECT 1;\n").unwrap();
    let path = folder.path().to_str().unwrap();
    let ran = database.pgdyno(&["run", path, "--no-store", "-t", "1"]);
    let reported = "cannot execute DELETE in a read-only transaction";
    ran.expect(0, &["not known c: ", reported, "! check c has no result"]);
    assert_eq!(database.value("SELECT count(*) FROM kept"), "1");
}
