//! `pgdyno lab migrate` on a real PostgreSQL: explained, run in its forms, undone, gated, killed.

use serde_json::Value;

use pgdyno_platform::child::Signal;

use crate::child::Running;
use crate::cli::store::Notebook;
use crate::support::{Database, connect, document_of, pgdyno, ran};

pub fn written(notebook: &Notebook, name: &str, text: &str) -> String {
    let path = notebook.beside(name);
    std::fs::write(&path, text).unwrap();
    path.display().to_string()
}

const DBMATE: &str = "-- migrate:up\nALTER TABLE t ADD COLUMN k int;\nCREATE INDEX t_a ON t (a);\n\
                      -- migrate:down\nDROP INDEX t_a;\nALTER TABLE t DROP COLUMN k;\n";

#[test]
fn a_migration_is_explained_without_a_server_and_with_one() {
    let notebook = Notebook::new();
    let file = written(
        &notebook,
        "V2__x.sql",
        "ALTER TABLE t ALTER COLUMN a TYPE varchar(40);\nDO $$ BEGIN END $$;\n",
    );
    let args = ["lab", "migrate", &file, "--explain"];
    ran(&mut pgdyno(&args)).expect(
        0,
        &[
            "Strongest lock: ACCESS EXCLUSIVE on t",
            "as Flyway runs it, on PostgreSQL 18",
            "the old type",
            "not known",
        ],
    );
    ran(pgdyno(&args).args(["--pg", "14"])).expect(0, &["on PostgreSQL 14"]);
    ran(pgdyno(&args).args(["--product", "yugabytedb"])).expect(
        0,
        &[
            "Not online: a table rewrite",
            "on YugabyteDB: by its documentation alone",
        ],
    );
    ran(pgdyno(&args).args(["--product", "yugabytedb", "--pg", "14"]))
        .expect(2, &["cannot be used with"]);
    let db = Database::new("migrate_explain");
    db.sql("CREATE TABLE t (a varchar(20))");
    let shown = ran(pgdyno(&args).args(["--json", "--url", &db.url])).expect(0, &[]);
    let document: Value = serde_json::from_str(&shown.stdout).unwrap();
    let form = &document["statements"][0]["forms"][0];
    assert_eq!(form["rewrite"]["is"], "no", "{document}");
    assert_eq!(form["locks"][0]["mode"], "ACCESS EXCLUSIVE");
    let empty = written(&notebook, "a.sql", "-- nothing\n");
    ran(&mut pgdyno(&["lab", "migrate", &empty, "--explain"])).expect(2, &["no statement to run"]);
}

#[test]
fn what_contradicts_itself_is_refused_with_the_way_out() {
    let notebook = Notebook::new();
    let db = Database::new("migrate_refused");
    let file = written(&notebook, "a.sql", "SELECT 1;");
    let lab = |args: &[&str]| ran(pgdyno(&["lab", "migrate", &file, "--url", &db.url]).args(args));
    lab(&[]).expect(
        2,
        &["nothing says how the migration is undone", "--undo COMMAND"],
    );
    lab(&["--no-undo"]).expect(2, &["--no-undo is for one run"]);
    lab(&["--forms", "online", "--undo", "true"])
        .expect(2, &["no statement of the file has an online form"]);
    lab(&["--fail-if", "p99 > 1s"]).expect(2, &["outage > TIME"]);
}

#[test]
fn forms_are_run_by_turns_and_undone_and_the_decision_comes_first() {
    let db = Database::new("migrate_lab");
    db.sql("CREATE TABLE t (id int PRIMARY KEY, a int); INSERT INTO t SELECT g, g FROM generate_series(1, 100) g");
    let notebook = Notebook::new();
    let file = written(&notebook, "1 x.sql", DBMATE);
    let load = written(&notebook, "load.sql", "SELECT * FROM t WHERE id = 1;\n");
    let args = [
        "lab",
        "migrate",
        &file,
        "--workload",
        &load,
        "-c",
        "2",
        "-R",
        "100",
        "--seed",
        "7",
        "--before",
        "1s",
        "--after",
        "2s",
        "--repeat",
        "1",
        "--reader",
        "500ms",
        "--forms",
        "as-written,online",
        "--url",
        &db.url,
    ];
    ran(notebook.command(&args).arg("--print")).expect(0, &["kind = \"migrate\"", "form=online"]);
    let json_to = format!("--json={}", notebook.beside("lab.json").display());
    ran(notebook
        .command(&args)
        .args([&json_to, "--fail-if", "outage > 10s"]))
    .expect(
        0,
        &[
            "online form: CREATE INDEX CONCURRENTLY t_a ON t (a);",
            "as written",
            "online form, lock_timeout 50ms, behind a reader of 500ms",
            "ACCESS EXCLUSIVE t",
            "--fail-if: passed",
        ],
    );
    let document = std::fs::read(notebook.beside("lab.json")).unwrap();
    let document: Value = serde_json::from_slice(&document).unwrap();
    assert_eq!(document["lab"], "migrate");
    let targets = document["targets"].as_array().unwrap();
    let titles: Vec<&str> = targets
        .iter()
        .map(|target| target["title"].as_str().unwrap())
        .collect();
    assert_eq!(
        titles
            .iter()
            .copied()
            .collect::<std::collections::BTreeSet<_>>(),
        std::collections::BTreeSet::from([
            "as written",
            "as written, behind a reader of 500ms",
            "online form, lock_timeout 50ms",
            "online form, lock_timeout 50ms, behind a reader of 500ms"
        ])
    );
    for target in targets {
        let repeat = &target["repeats"][0];
        assert!(
            repeat["counts"] == true && target["controls"][0]["counts"] == true,
            "{target:#}"
        );
        assert_eq!(repeat["migration"]["is_done"], true, "{target:#}");
        if target["title"] == "as written, behind a reader of 500ms" {
            assert_eq!(
                repeat["migration"]["holders"][0]["application"], "pgdyno reader",
                "{target:#}"
            );
        }
    }
    // Each was undone.
    let left = db.rows("SELECT attname FROM pg_attribute WHERE attrelid = 't'::regclass AND attnum > 0 AND NOT attisdropped");
    assert_eq!(left, ["id", "a"]);
    assert_eq!(
        db.rows("SELECT indexrelid::regclass FROM pg_index WHERE indrelid = 't'::regclass"),
        ["t_pkey"]
    );
    let page = notebook.beside("page.html");
    let page_to = page.display().to_string();
    ran(&mut notebook.command(&["report", "lab-migrate", "-o", &page_to])).expect(0, &[]);
    let page = document_of(&page);
    assert_eq!(page["disturb_lab"]["targets"], document["targets"]);
    assert!(
        page["answer"]["question"]
            .as_str()
            .unwrap()
            .contains("may this migration be run")
    );
}

#[test]
fn a_private_server_is_copied_back_and_a_wrong_migration_says_so() {
    let notebook = Notebook::new();
    let file = written(
        &notebook,
        "a.sql",
        "CREATE TABLE once (a int);\nALTER TABLE pgbench_branches ADD COLUMN k int;\n",
    );
    let load = [
        "-c",
        "2",
        "-R",
        "50",
        "--before",
        "1s",
        "--after",
        "1s",
        "--no-controls",
    ];
    let lab = |file: &str, more: &[&str]| {
        let mut command = notebook.command(&[
            "lab",
            "migrate",
            file,
            "--forms",
            "as-written",
            "--seed",
            "7",
        ]);
        ran(command.args(load).args(more))
    };
    // The second run finds the table gone again.
    let twice = lab(&file, &["--repeat", "2"]).expect(0, &["2 of 2"]);
    assert!(!twice.stdout.contains("already exists"), "{twice:?}");
    let wrong = written(
        &notebook,
        "b.sql",
        "BEGIN; CREATE TABLE once (a int); SELECT 1 / 0; COMMIT;",
    );
    lab(&wrong, &["--repeat", "1"]).expect(
        1,
        &["division by zero", "rolled back: nothing of it is left"],
    );
}

#[test]
fn a_migration_that_is_still_trying_at_the_end_has_given_up() {
    let db = Database::new("migrate_gives_up");
    db.sql("CREATE TABLE t (id int PRIMARY KEY)");
    let notebook = Notebook::new();
    let file = written(&notebook, "a.sql", "ALTER TABLE t ADD COLUMN k int;\n");
    let load = written(&notebook, "load.sql", "SELECT 1;\n");
    let mut holding = connect(&db.url);
    holding
        .simple_query("BEGIN; LOCK TABLE t IN ACCESS SHARE MODE")
        .unwrap();
    let args = [
        "lab",
        "migrate",
        &file,
        "--workload",
        &load,
        "-c",
        "1",
        "-R",
        "50",
        "--before",
        "500ms",
        "--after",
        "1s",
        "--repeat",
        "1",
        "--forms",
        "lock-timeout",
        "--no-controls",
        "--no-undo",
        "--url",
        &db.url,
    ];
    let lab = ran(&mut notebook.command(&args)).expect(0, &["gives up in 1 of 1 run after"]);
    assert!(
        lab.stdout.contains("a.sql:1: gave up after") && lab.stdout.contains("0 of 1"),
        "{lab:?}"
    );
    notebook.pgdyno(&["ls"]).expect(0, &["complete"]);
}

/// Killed in the middle of its transaction, and after its commit.
#[test]
fn a_killed_pgdyno_leaves_the_database_as_it_was_or_restores_it() {
    let db = Database::new("migrate_kill");
    db.sql("CREATE TABLE t (id int PRIMARY KEY, a int)");
    let notebook = Notebook::new();
    let journals = tempfile::tempdir().unwrap();
    let has = "SELECT 1 FROM pg_attribute WHERE attrelid = 't'::regclass AND attname = 'k' AND NOT attisdropped";
    let gone = "SELECT 1 WHERE NOT EXISTS (SELECT FROM pg_stat_activity WHERE datname = current_database() \
                AND pid <> pg_backend_pid() AND application_name LIKE 'pgdyno migrate%')";
    let load = written(&notebook, "load.sql", "SELECT 1;\n");
    let lab = |file: &str| {
        let args = [
            "lab",
            "migrate",
            file,
            "--workload",
            &load,
            "-c",
            "1",
            "-R",
            "10",
            "--before",
            "200ms",
            "--after",
            "300s",
            "--repeat",
            "1",
            "--forms",
            "as-written",
            "--no-controls",
            "--url",
            &db.url,
        ];
        let mut command = notebook.command(&args);
        Running::start(command.env("XDG_CACHE_HOME", journals.path()))
    };
    let restore = || {
        let mut command = notebook.command(&["restore"]);
        ran(command.env("XDG_CACHE_HOME", journals.path()))
    };
    // Its second statement waits for this lock.
    let mut holding = connect(&db.url);
    holding
        .simple_query("BEGIN; LOCK TABLE t IN ACCESS SHARE MODE; SELECT pg_advisory_xact_lock(5)")
        .unwrap();
    let file = written(
        &notebook,
        "1.sql",
        "-- migrate:up\nCREATE TABLE u ();\nALTER TABLE t ADD COLUMN k int;\n\
                                            -- migrate:down\nALTER TABLE t DROP COLUMN k;\nDROP TABLE u;\n",
    );
    let running = lab(&file);
    db.wait_for("SELECT 1 FROM pg_stat_activity WHERE application_name = 'pgdyno migrate' AND wait_event_type = 'Lock'");
    running.signal(Signal::Kill);
    drop(running);
    holding.simple_query("COMMIT").unwrap();
    db.wait_for(gone);
    assert!(db.rows(has).is_empty(), "the server rolled it back");
    restore();
    assert!(db.rows(has).is_empty());
    // Committed, and the trial goes on.
    let running = lab(&file);
    db.wait_for(has);
    running.signal(Signal::Kill);
    drop(running);
    db.wait_for(gone);
    assert_eq!(db.rows(has), ["1"]);
    restore().expect(0, &["DROP COLUMN k"]);
    assert!(db.rows(has).is_empty() && db.value("SELECT to_regclass('u')") == "NULL");
    restore().expect(0, &[]);
}
