//! `pgdyno lab isolation` on a real server: what each level lets through is seen and called what it is.

use std::fs;
use std::path::Path;

use serde_json::Value;

use crate::support::{Database, Ran, pgdyno, ran};

/// The laboratory's document after one trial of each level on lists.
fn lab(database: &Database, length: &str) -> Value {
    let store = tempfile::tempdir().expect("temporary directory");
    let store = store.path().join("n.sqlite").display().to_string();
    let ran = database.pgdyno(&[
        "lab",
        "isolation",
        "--mix",
        "append",
        "-T",
        length,
        "--repeat",
        "1",
        "--json",
        "--store",
        &store,
    ]);
    serde_json::from_str(&ran.expect(0, &[]).stdout).expect("JSON")
}

fn level<'a>(lab: &'a Value, name: &str) -> &'a Value {
    let levels = lab["levels"].as_array().expect("levels");
    let found = levels.iter().find(|level| level["asked"] == name);
    found.unwrap_or_else(|| panic!("no level {name}: {lab}"))
}

fn count(level: &Value, anomaly: &str) -> u64 {
    let cells = level["cells"].as_array().expect("cells");
    let cell = cells.iter().find(|cell| cell["anomaly"] == anomaly);
    cell.and_then(|cell| cell["count"].as_u64())
        .expect("a count")
}

fn shows_what_postgresql_documents(lab: &Value) {
    let loose = level(lab, "read committed");
    assert!(
        count(loose, "lost-update") > 0 && count(loose, "non-repeatable-read") > 0,
        "{loose}"
    );
    let snapshot = level(lab, "repeatable read");
    assert!(count(snapshot, "write-skew") > 0, "{snapshot}");
    assert_eq!(
        count(snapshot, "lost-update") + count(snapshot, "non-repeatable-read"),
        0
    );
    let strict = level(lab, "serializable");
    for anomaly in [
        "lost-update",
        "non-repeatable-read",
        "write-skew",
        "stale-read",
    ] {
        assert_eq!(count(strict, anomaly), 0, "{strict}");
    }
    // None is broken; a short trial may not have pairs enough to say that it was kept.
    for level in [loose, snapshot, strict] {
        assert_ne!(level["is_kept"], false, "{level}");
        assert!(level["conflicting_pairs"].as_u64() > Some(0), "{level}");
    }
    assert_eq!(snapshot["promise"]["level"], "snapshot isolation");
}

#[test]
fn each_level_shows_what_postgresql_documents_of_it() {
    shows_what_postgresql_documents(&lab(&Database::new("isolation_lab"), "800ms"));
}

#[test]
#[ignore = "make test-long PART=isolation"]
fn twenty_of_twenty_runs_show_the_same() {
    let database = Database::new("isolation_lab_long");
    for _ in 0..20 {
        shows_what_postgresql_documents(&lab(&database, "3s"));
    }
}

#[test]
fn what_cannot_be_is_refused_before_anything_runs() {
    let database = Database::new("isolation_lab_refused");
    let refused = |args: &[&str], why: &str| {
        let all: Vec<&str> = ["lab", "isolation"].iter().chain(args).copied().collect();
        database.pgdyno(&all).expect(2, &[why]);
    };
    refused(&["--during", "true", "--control"], "there are no controls");
    refused(
        &["--mix", "lists"],
        "possible values: append, register, predicate",
    );
    refused(&["-c", "1"], "from 2 to 100000");
    refused(&["--with", "chekpoint"], "did you mean \"checkpoint\"");
    refused(
        &["--with", "promotion"],
        "pgdyno:promotion is for a private server",
    );
    refused(&["--with", "promotion:behind=soon"], "behind: ");
    refused(
        &["--endpoint-role", "reads=db2", "--mix", "append"],
        "no script of the mix append goes elsewhere",
    );
    refused(&["--script-role", "append=reads"], "no endpoint has it");
    refused(&["-R", "none"], "--rate");
}

/// The laboratory on a private pair of servers of its own, in this directory.
fn on_a_pair(dir: &Path, args: &[&str]) -> Ran {
    let bindir = pgdyno_testkit::installation().bindir.display().to_string();
    let mut lab = pgdyno(&["lab", "isolation", "--repeat", "1", "-c", "4"]);
    lab.args(args)
        .args(["--pg-bindir", &bindir, "--pg-set", "fsync=off"])
        .args(["--json=lab.json", "--store", "n.sqlite"])
        .current_dir(dir);
    ran(&mut lab)
}

fn document(dir: &Path) -> Value {
    let text = fs::read_to_string(dir.join("lab.json")).expect("written");
    serde_json::from_str(&text).expect("JSON")
}

/// Anomalies of all trials by their own names.
fn names(lab: &Value) -> Vec<&str> {
    let trials = lab["trials"].as_array().expect("trials");
    let found = trials
        .iter()
        .flat_map(|trial| trial["found"].as_array().expect("anomalies"));
    found.map(|one| one[0].as_str().expect("a name")).collect()
}

/// Of sessions and of time: what a standby shows and a primary never.
fn of_order(name: &&str) -> bool {
    let sessions = [
        "non-monotonic-read",
        "missed-own-write",
        "non-monotonic-write",
        "write-before-read",
        "no-causal-order",
        "lost-write",
    ];
    name.ends_with("-process") || name.ends_with("-realtime") || sessions.contains(name)
}

#[test]
fn an_asynchronous_standby_shows_stale_reads_and_breaks_sessions_and_the_primary_does_not() {
    let dir = tempfile::tempdir().expect("temporary directory");
    let common = [
        "--mix",
        "session",
        "-T",
        "2s",
        "-R",
        "200",
        "--pg-standby",
        "async",
    ];
    let late = ["--pg-set", "recovery_min_apply_delay=200ms"];
    let reads = ["--endpoint-role", "reads=standby"];
    let through = on_a_pair(dir.path(), &[&common[..], &late, &reads].concat());
    through.expect(0, &["(a standby)", "Stale read ", " allowed"]);
    let lab = document(dir.path());
    let found = names(&lab);
    for name in [
        "missed-own-write",
        "non-monotonic-read",
        "G-single-item-realtime",
    ] {
        assert!(found.contains(&name), "no {name}: {found:?}");
    }
    // The history begins empty there, too; and nothing is lost by being late.
    assert!(!found.contains(&"unwritten-value"), "{found:?}");
    assert!(!found.contains(&"lost-write"), "{found:?}");
    let levels = lab["levels"].as_array().expect("levels");
    assert_eq!(levels.len(), 2, "a standby refuses serializable: {lab:#}");
    for level in levels {
        assert!(count(level, "stale-read") > 0 && count(level, "session") > 0);
        assert_ne!(level["is_kept"], false, "it is documented: {level:#}");
        let says = level["says"].as_str().expect("a sentence");
        assert!(
            says.contains("with reads at ") && says.contains("(a standby)"),
            "{says}"
        );
        let source = level["promise"]["source"].as_str().expect("a source");
        assert!(source.contains("27.4.1"), "{source}");
    }
    assert!(
        lab["reads"]
            .as_str()
            .is_some_and(|it| it.starts_with("reads at "))
    );

    // The same sessions where they write: the standby is as late as before.
    let common = [&common[..], &late].concat();
    on_a_pair(dir.path(), &common).expect(0, &[]);
    let lab = document(dir.path());
    let wrong: Vec<&str> = names(&lab).into_iter().filter(of_order).collect();
    assert!(wrong.is_empty(), "{wrong:?}");
    for level in lab["levels"].as_array().expect("levels") {
        assert!(level["committed"].as_u64() > Some(100), "{level:#}");
        assert_ne!(level["is_kept"], false, "{level:#}");
    }
}

#[test]
fn a_standby_that_refuses_a_level_is_named_with_the_way_out() {
    let dir = tempfile::tempdir().expect("temporary directory");
    let args = [
        "--pg-standby",
        "async",
        "--endpoint-role",
        "reads=standby",
        "--isolation",
        "serializable",
        "-T",
        "1s",
    ];
    let ran = on_a_pair(dir.path(), &args);
    assert_ne!(ran.code, Some(0), "{}", ran.stderr);
    for text in [
        "cannot use serializable mode in a hot standby",
        "--isolation repeatable-read",
    ] {
        assert!(ran.stderr.contains(text), "{}", ran.stderr);
    }
}

#[test]
fn a_write_lost_by_promoting_a_standby_that_received_nothing_is_found_in_the_history() {
    let dir = tempfile::tempdir().expect("temporary directory");
    let common = [
        "--mix",
        "session",
        "--isolation",
        "read-committed",
        "--with",
        "promotion:behind=1s",
        "--before",
        "1s",
        "--after",
        "6s",
        // As many as are needed.
        "-R",
        "200",
    ];
    let lossy = on_a_pair(
        dir.path(),
        &[&common[..], &["--pg-standby", "async"]].concat(),
    );
    lossy.expect(
        1,
        &[
            "READ COMMITTED during pgdyno:promotion behind=1s DID NOT HOLD: lost write (",
            "the write is lost",
            "FORBIDDEN",
        ],
    );
    let lab = document(dir.path());
    let level = level(&lab, "read committed");
    assert!(count(level, "lost-write") > 10, "{level:#}");
    // Commits under way when it was lost, if there were any.
    assert!(level["unknown"].is_u64(), "{level:#}");
    // The file that shows it again does.
    let examples = lab["examples"].as_array().expect("examples");
    let seen = examples.iter().find(|seen| seen["anomaly"] == "lost-write");
    let file = seen.expect("an example")["file"].as_str().expect("a name");
    let mut check = pgdyno(&["check-history", file, "--level", "strict-serializable"]);
    ran(check.current_dir(dir.path())).expect(1, &["lost-write", "the write is lost"]);

    // Where commits wait for the standby, none that was acknowledged is lost.
    on_a_pair(
        dir.path(),
        &[&common[..], &["--pg-standby", "sync"]].concat(),
    )
    .expect(0, &["during pgdyno:promotion"]);
    let lab = document(dir.path());
    assert!(!names(&lab).contains(&"lost-write"), "{lab:#}");
}

#[test]
fn a_laboratory_with_rate_policy_and_disturbance_goes_on_where_it_was_interrupted() {
    let database = Database::new("isolation_lab_resume");
    let dir = tempfile::tempdir().expect("temporary directory");
    let store = dir.path().join("n.sqlite").display().to_string();
    let run = |more: &[&str]| {
        let mut args = vec![
            "lab",
            "isolation",
            "--mix",
            "append",
            "--repeat",
            "1",
            "-c",
            "4",
        ];
        args.extend(["--isolation", "read-committed,serializable", "-R", "200"]);
        args.extend(["--retry", "none", "--with", "checkpoint", "--yes"]);
        args.extend([
            "--before", "500ms", "--after", "1s", "--json", "--store", &store,
        ]);
        args.extend(more);
        let ran = database.pgdyno(&args).expect(0, &[]);
        serde_json::from_str::<Value>(&ran.stdout).expect("JSON")
    };
    let first = run(&["--seed", "7"]);
    assert_eq!(
        first["trials"].as_array().map(Vec::len),
        Some(2),
        "{first:#}"
    );
    let says = first["says"].to_string();
    assert!(says.contains("during pgdyno:checkpoint"), "{says}");
    for level in first["levels"].as_array().expect("levels") {
        // At the rate that was asked for, not as fast as it can.
        let committed = level["committed"].as_u64().expect("a count");
        assert!((1..1000).contains(&committed), "{level:#}");
    }
    // All trials are there: nothing is run again, and the verdict is the same.
    let again = run(&["--seed", "7", "--resume"]);
    assert_eq!(first["trials"], again["trials"]);
    assert_eq!(first["says"], again["says"]);
}

#[test]
fn a_level_that_scripts_take_back_is_not_judged_as_the_one_that_was_asked_for() {
    let database = Database::new("isolation_lab_misled");
    database.sql("CREATE TABLE lists (k int PRIMARY KEY, v text NOT NULL)");
    let dir = tempfile::tempdir().expect("temporary directory");
    let check = |first: &str| {
        let script = dir.path().join("script.sql");
        let text = format!(
            "{first}\nBEGIN;\nSELECT v FROM lists WHERE k = 1;\n\\observe list 1\n\
             \\set value fresh('values', 1)\n\
             INSERT INTO lists VALUES (1, (:value)::text) ON CONFLICT (k) DO UPDATE SET v = lists.v || ',' || excluded.v;\n\
             \\observe append 1 :value\nCOMMIT;\n"
        );
        fs::write(&script, text).expect("written");
        database.sql("TRUNCATE lists");
        let script = script.display().to_string();
        let mut args = vec![
            "run",
            &script,
            "-c",
            "4",
            "-t",
            "100",
            "--isolation",
            "serializable",
        ];
        args.extend(["--retry", "restart", "--check-isolation", "--json"]);
        args.extend(["--observe", "none", "--no-store"]);
        let ran = database.pgdyno(&args);
        let document: Value = serde_json::from_str(&ran.stdout).expect("JSON");
        let isolation = document["isolation"].clone();
        let found = isolation["found"].as_array().cloned().unwrap_or_default();
        let lost = found
            .into_iter()
            .find(|found| found["anomaly"] == "lost-update");
        (isolation, lost)
    };
    // What the database sets for its sessions is weaker than what a session asks for.
    database.sql(
        "ALTER DATABASE isolation_lab_misled SET default_transaction_isolation = 'read committed'",
    );
    let (isolation, lost) = check("SELECT 1;");
    assert_eq!(isolation["in_effect"], "serializable", "{isolation:#}");
    assert_eq!(lost, None);
    // Said in SQL: transactions of both levels are possible, which promise nothing in common.
    let (isolation, lost) =
        check("SET SESSION CHARACTERISTICS AS TRANSACTION ISOLATION LEVEL READ COMMITTED;");
    assert_eq!(isolation["in_effect"], "serializable, read committed");
    let why = isolation["promise"]["unknown"].as_str().expect("a reason");
    assert!(why.contains("several levels"), "{why}");
    assert!(lost.expect("lost updates")["forbidden"].is_null());
    // Said in a string: it cannot be known, and there is no warning.
    let (isolation, lost) =
        check("SELECT set_config('default_transaction_isolation', 'read committed', false);");
    assert!(
        isolation["in_effect"]["unknown"].is_string(),
        "{isolation:#}"
    );
    assert!(isolation["promise"]["unknown"].is_string(), "{isolation:#}");
    assert!(lost.expect("lost updates")["forbidden"].is_null());
}
