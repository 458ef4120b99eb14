//! Histories: what transactions observed is written to a file, and the checker finds in it what the level of
//! isolation allows, and nothing else.

use std::fs;
use std::path::Path;

use serde_json::Value;

use crate::support::{Database, pgdyno, ran};

/// Runs a mix at a level with its history in `file`; its document.
fn recorded(database: &Database, file: &Path, level: &str, more: &[&str]) -> Value {
    let path = file.display().to_string();
    let mut args = vec![
        "run",
        "isolation",
        "-c",
        "4",
        "-t",
        "200",
        "--param",
        "keys=1",
        "--param",
        "max_length=2",
    ];
    args.extend(["--json", "--history", &path, "--isolation", level]);
    args.extend(["--retry", "restart", "--seed", "5", "--observe", "none"]);
    args.extend(more);
    let stdout = database.pgdyno(&args).expect(0, &[]).stdout;
    serde_json::from_str(&stdout).expect("JSON")
}

fn checked(file: &Path, options: &[&str]) -> crate::support::Ran {
    let path = file.display().to_string();
    let mut args = vec!["check-history", &path];
    args.extend(options);
    ran(&mut pgdyno(&args))
}

/// Events of this type by clients below this number, or from it on.
fn events(text: &str, kind: &str, is_it: impl Fn(u64) -> bool) -> usize {
    let events = text.lines().map(|line| {
        let event: Value = serde_json::from_str(line).expect("an event");
        let process = event["process"].as_u64().expect("a process");
        event["type"] == kind && is_it(process)
    });
    events.filter(|is_one| *is_one).count()
}

#[test]
fn read_committed_shows_lost_updates_and_serializable_none() {
    let database = Database::new("history_levels");
    let dir = tempfile::tempdir().expect("temporary directory");
    let loose = dir.path().join("loose.json");
    let document = recorded(&database, &loose, "read-committed", &[]);
    let ran = checked(&loose, &["--level", "repeatable-read"]);
    ran.expect(1, &["lost-update", "non-repeatable-read"]);
    checked(&loose, &["--level", "read-committed"]).expect(0, &[]);

    // Every transaction is there, and then each key once, read by another client.
    let text = fs::read_to_string(&loose).expect("a history");
    let committed = document["committed"].as_u64();
    let committed = committed.or(document["measured"]["committed"].as_u64());
    let committed = committed.expect("a count") as usize;
    assert_eq!(events(&text, "ok", |process| process < 4), committed);
    let keys = database.value("SELECT max(k) + 1 FROM isolation_lists");
    let read = events(&text, "ok", |process| process >= 4);
    assert_eq!(read.to_string(), keys);

    // The tables are emptied before the next one: what they had does not count.
    let strict = dir.path().join("strict.edn");
    recorded(&database, &strict, "serializable", &[]);
    let ran = checked(&strict, &["--level", "serializable"]);
    let ran = ran.expect(0, &[]);
    assert!(!ran.stdout.contains("lost-update"), "{}", ran.stdout);
    let text = fs::read_to_string(&strict).expect("a history");
    // Tries that the server refused are transactions of their own.
    assert!(text.contains(":type :fail"), "no try failed");
}

#[test]
fn registers_and_predicates_are_recorded_in_pipelines_of_values_and_prepared() {
    let database = Database::new("history_mixes");
    let dir = tempfile::tempdir().expect("temporary directory");
    let file = dir.path().join("h.edn");
    recorded(
        &database,
        &file,
        "read-committed",
        &["--mix", "register", "-M", "prepared"],
    );
    checked(&file, &["--level", "repeatable-read"]).expect(1, &["lost-update"]);
    recorded(
        &database,
        &file,
        "read-committed",
        &["--mix", "predicate", "-M", "extended"],
    );
    checked(&file, &["--level", "serializable"]).expect(1, &["G2"]);
    recorded(&database, &file, "serializable", &["--mix", "predicate"]);
    checked(&file, &["--level", "serializable"]).expect(0, &[]);
}

/// Each level and what `check-history` says of it.
fn verdicts(stdout: &str) -> Vec<(String, String)> {
    let lines = stdout.lines().filter_map(|line| {
        let (level, said) = line.split_once("  ")?;
        let said = said.trim();
        let is_one = ["no violation seen", "broken: ", "not known: "]
            .iter()
            .any(|word| said.starts_with(word));
        is_one.then(|| (level.to_owned(), said.to_owned()))
    });
    lines.collect()
}

#[test]
fn the_history_of_a_trial_is_kept_and_exported_with_the_same_verdict_and_goes_with_it() {
    let database = Database::new("history_kept");
    let dir = tempfile::tempdir().expect("temporary directory");
    let notes = dir.path().join("n.sqlite").display().to_string();
    let run = |more: &[&str]| {
        let mut args = vec![
            "run",
            "isolation",
            "-c",
            "4",
            "-t",
            "100",
            "--observe",
            "none",
        ];
        args.extend(["--isolation", "read-committed", "--param", "keys=2"]);
        args.extend(["--json", "--store", &notes]);
        args.extend(more);
        let stdout = database.pgdyno(&args).expect(0, &[]).stdout;
        serde_json::from_str::<Value>(&stdout).expect("JSON")
    };
    let pgdyno_says = |args: &[&str]| {
        let mut all = args.to_vec();
        all.extend(["--store", &notes]);
        ran(&mut pgdyno(&all))
    };
    let recorded = dir.path().join("recorded.json");
    let document = run(&[
        "--check-isolation",
        "--history",
        &recorded.display().to_string(),
    ]);
    let levels = document["isolation"]["levels"].as_array().expect("levels");
    let reported = levels.iter().map(|of| {
        let by = of["by"].as_array().expect("anomalies").iter();
        let by: Vec<&str> = by.map(|one| one.as_str().expect("a name")).collect();
        let said = match (of["kept"].as_bool(), of["unknown"].as_str()) {
            (Some(true), _) => "no violation seen".to_owned(),
            (Some(false), _) => format!("broken: {}", by.join(", ")),
            (None, why) => format!("not known: {}", why.expect("why")),
        };
        (of["level"].as_str().expect("a level").to_owned(), said)
    });
    let reported: Vec<(String, String)> = reported.collect();
    assert!(
        reported
            .iter()
            .any(|(_, said)| said.starts_with("broken: ")),
        "{reported:?}"
    );

    for (name, more) in [
        ("kept.json", &[][..]),
        ("kept.edn", &[]),
        ("named.txt", &["--format", "json"]),
    ] {
        let file = dir.path().join(name);
        let path = file.display().to_string();
        let mut args = vec!["export", "1", "--history", "-o", &path];
        args.extend(more);
        pgdyno_says(&args).expect(0, &["transactions committed"]);
        let text = fs::read_to_string(&file).expect("a history");
        assert_eq!(text.starts_with("{\""), name != "kept.edn", "{name}");
        let checked = checked(&file, &[]).expect(0, &[]);
        assert_eq!(verdicts(&checked.stdout), reported, "{name}");
        // It is written once.
        pgdyno_says(&args).expect(2, &["exists already"]);
    }
    let exported = fs::read_to_string(dir.path().join("kept.json")).expect("a history");
    assert_eq!(exported, fs::read_to_string(&recorded).expect("a history"));
    let printed = pgdyno_says(&["export", "1", "--history", "--format", "json"]);
    assert_eq!(printed.expect(0, &[]).stdout, exported);

    run(&[]);
    pgdyno_says(&["export", "2", "--history"])
        .expect(1, &["trial 2 has no history", "--check-isolation"]);
    pgdyno_says(&["export", "1", "2", "--history"]).expect(2, &["that of one trial"]);
    pgdyno_says(&["export", "--history"]).expect(2, &["that of one trial"]);
    pgdyno_says(&["export", "1", "--format", "json", "-o", "x"]).expect(2, &["--history"]);
    pgdyno_says(&["rm", "--yes", "1"]).expect(0, &[]);
    pgdyno_says(&["sql", "SELECT count(*) AS left FROM history"]).expect(0, &["0"]);
}

#[test]
fn a_trial_that_is_not_kept_has_its_history_in_the_file_which_may_have_had_another() {
    let database = Database::new("history_file");
    let dir = tempfile::tempdir().expect("temporary directory");
    let file = dir.path().join("h.edn");
    fs::write(&file, "x".repeat(1 << 20)).expect("written");
    let path = file.display().to_string();
    let args = [
        "run",
        "isolation",
        "-t",
        "5",
        "--observe",
        "none",
        "--no-store",
    ];
    let run = |more: &[&str]| {
        let mut all = args.to_vec();
        all.extend(["--history", &path]);
        all.extend(more);
        database.pgdyno(&all)
    };
    // What is refused leaves what is there.
    run(&["--param", "keys=0"]).expect(2, &["keys"]);
    assert_eq!(fs::metadata(&file).expect("a file").len(), 1 << 20);
    run(&[]).expect(0, &["h.edn has the history: "]);
    let text = fs::read_to_string(&file).expect("a history");
    assert!(text.starts_with("{:index 0") && !text.contains('x'.to_string().repeat(9).as_str()));
    // A disk without room, at the end: the result is there, the exit code says what is not.
    let full = database.pgdyno(&[&args[..], &["--history", "/dev/full"]].concat());
    full.expect(1, &["tps  ", "cannot write the history /dev/full"]);
}

#[test]
fn a_history_without_the_reading_of_all_keys_says_so() {
    let database = Database::new("history_unread");
    let dir = tempfile::tempdir().expect("temporary directory");
    database.sql("CREATE TABLE t (k int PRIMARY KEY, v int); INSERT INTO t VALUES (1, NULL)");
    let script = dir.path().join("read.sql");
    fs::write(&script, "SELECT v FROM t;\n\\observe read 1\n").expect("written");
    let (script, file) = (script.display().to_string(), dir.path().join("h.json"));
    let path = file.display().to_string();
    let args = ["run", &script, "-t", "3", "--no-store", "--observe", "none"];
    let ran = database.pgdyno(&[&args[..], &["--history", &path]].concat());
    let ran = ran.expect(0, &["! the history does not end with a read of all keys"]);
    assert!(!ran.stdout.contains("history-cut-off"), "{}", ran.stdout);
    let text = fs::read_to_string(&file).expect("a history");
    assert_eq!(events(&text, "ok", |_| true), 3);
}

#[test]
fn a_history_of_several_generators_is_refused() {
    let database = Database::new("history_generators");
    let args = [
        "run",
        "isolation",
        "-t",
        "2",
        "--generators",
        "2",
        "--history",
        "h.edn",
    ];
    database.pgdyno(&args).expect(
        2,
        &["a history of several generators", "leave out --history"],
    );
    assert!(!Path::new("h.edn").exists());
}

#[test]
fn what_cannot_have_a_history_is_refused_with_the_way_out() {
    let database = Database::new("history_refused");
    let dir = tempfile::tempdir().expect("temporary directory");
    let file = dir.path().join("h.edn").display().to_string();
    let run = |args: &[&str]| {
        let mut all = vec!["run"];
        all.extend(args);
        all.extend([
            "-t",
            "2",
            "--no-store",
            "--observe",
            "none",
            "--history",
            &file,
        ]);
        database.pgdyno(&all)
    };
    run(&["tpcb"]).expect(2, &["does not say what it observes", "such as isolation"]);
    let script = |name: &str, text: &str| {
        let path = dir.path().join(name);
        fs::write(&path, text).expect("written");
        path.display().to_string()
    };
    database.sql("CREATE TABLE t (k int PRIMARY KEY, v text); INSERT INTO t VALUES (1, 'x')");
    let wrong = script("wrong.sql", "SELECT v FROM t;\n\\observe list 1\n");
    run(&[&wrong]).expect(
        1,
        &[
            "list 1 was answered with \"x\", which is no list",
            "! the history does not end with a read of all keys",
        ],
    );
    let several = script("several.sql", "SELECT 1\\; SELECT 2;\n\\observe read 1\n");
    run(&[&several]).expect(1, &["line 1", "this command has several"]);
    let back = script(
        "back.sql",
        "BEGIN;\nSELECT 1;\n\\observe read 1\nROLLBACK TO s;\nEND;\n",
    );
    run(&[&back]).expect(1, &["line 4", "cannot roll back to a savepoint"]);
    let none = script(
        "none.sql",
        "\\set v random_string(3)\nSELECT 1;\n\\observe read :v\n",
    );
    run(&[&none]).expect(1, &["the variable v is no whole number"]);
    let nowhere = dir.path().join("no/h.edn").display().to_string();
    let ran = database.pgdyno(&["run", "isolation", "--history", &nowhere]);
    ran.expect(2, &["cannot write the history"]);
}

#[test]
fn a_connection_killed_with_its_commit_under_way_is_unknown_and_its_client_another() {
    let database = Database::new("history_unknown");
    let dir = tempfile::tempdir().expect("temporary directory");
    database.sql("CREATE TABLE t (k int PRIMARY KEY, v text); INSERT INTO t VALUES (1, '')");
    // An autocommit statement may have committed when its connection is lost.
    let script = dir.path().join("killed.sql");
    fs::write(
        &script,
        "\\set value fresh('values', 1)\n\
         UPDATE t SET v = v || ',' || :value WHERE k = 1 AND (:value <> 3 OR pg_terminate_backend(pg_backend_pid()));\n\
         \\observe append 1 :value\n",
    )
    .expect("written");
    let file = dir.path().join("h.json");
    let (script, path) = (script.display().to_string(), file.display().to_string());
    let args = [
        "run",
        &script,
        "-t",
        "5",
        "--reconnect",
        "--no-store",
        "--history",
        &path,
    ];
    database.pgdyno(&args);
    let text = fs::read_to_string(&file).expect("a history");
    assert_eq!(events(&text, "info", |process| process == 0), 1, "{text}");
    assert_eq!(events(&text, "ok", |process| process == 0), 2, "{text}");
    assert_eq!(events(&text, "ok", |process| process == 1), 2, "{text}");
}
