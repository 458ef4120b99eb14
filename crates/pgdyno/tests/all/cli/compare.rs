//! `pgdyno compare` on trials of a real PostgreSQL.

use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;

use crate::support::notebook;
use crate::support::{Database, Ran, document_of, pgdyno, ran};

struct Notebook<'a> {
    database: &'a Database,
    folder: &'a Path,
}

impl Notebook<'_> {
    fn store(&self) -> PathBuf {
        notebook::at(&self.folder.join("notebook.sqlite"))
    }

    fn command(&self, args: &[&str]) -> Command {
        let mut command = pgdyno(args);
        command
            .current_dir(self.folder)
            .env("PGDYNO_STORE", self.store());
        command
    }

    fn pgdyno(&self, args: &[&str]) -> Ran {
        ran(&mut self.command(args))
    }

    /// Takes the notes away that a busy machine gave: gates would not decide.
    fn without_notes(&self) {
        notebook::change(&self.store(), "UPDATE trial_ended SET notes = '[]'");
    }

    /// Gives the first six trials and the others figures as of a quiet machine, some tenths of a percent apart: what
    /// a busy one adds may look like a drift.
    fn steady(&self) {
        notebook::change(
            &self.store(),
            "UPDATE trial_ended SET goodput_per_s = CASE WHEN trial <= 6 THEN 400 ELSE 48 END * (1 + 0.001 * (trial % 3)), \
             service_p50_us = CASE WHEN trial <= 6 THEN 2400 ELSE 20200 END + 10 * (trial % 3)",
        );
    }

    /// So many trials of a script with this text.
    fn trials(&self, count: usize, text: &str, tag: &str) {
        std::fs::write(self.folder.join("one.sql"), text).unwrap();
        for _ in 0..count {
            let args = ["run", "one.sql", "-t", "40", "--tag", tag, "--url"];
            let ran = ran(self.command(&args).arg(&self.database.url));
            ran.expect(0, &["kept as trial"]);
        }
    }
}

#[test]
fn two_sets_of_trials_are_compared_by_their_repeats() {
    let database = Database::new("compare");
    let folder = tempfile::tempdir().unwrap();
    let notebook = Notebook {
        database: &database,
        folder: folder.path(),
    };
    notebook.trials(6, "SELECT pg_sleep(0.002);\n", "fast");
    notebook.trials(6, "SELECT pg_sleep(0.02);\n", "slow");
    notebook.without_notes();
    notebook.steady();
    // One side after the other: what else changed in between is in the difference.
    let after = ["compare", "tag:fast", "tag:slow", "--fail-if", "p50 > +5%"];
    let after = notebook.pgdyno(&after);
    let after = after.expect(
        4,
        &[
            "Cannot tell: goodput of B is",
            "lower, but the sides did not run by turns",
            "Order: All of A ran before all of B",
            "statement 1  SELECT pg_sleep(0.002); → SELECT pg_sleep(0.02);",
            "p50 > +5%: cannot tell: the sides differ, but did not run by turns",
        ],
    );
    assert!(!after.stdout.contains("interval +"), "{after:#?}");
    let found = notebook.pgdyno(&["compare", "tag:fast", "tag:slow", "--accept-order"]);
    let found = found.expect(
        0,
        &[
            "one.sql",
            "lower",
            "higher",
            "medians of 6 and 6 trials",
            "B is worse: goodput −",
            "up to 15 of 100 such verdicts false",
            "Drift: may be ",
            "Hodges–Lehmann shift",
        ],
    );
    assert!(
        found
            .stdout
            .contains("too few transactions for it in 6 trials"),
        "{found:#?}"
    );
    let gated = [
        "compare",
        "1-6",
        "7-12",
        "--accept-order",
        "--fail-if",
        "p50 > +5%",
    ];
    notebook.pgdyno(&gated).expect(1, &["p50 > +5%: fails"]);
    notebook
        .pgdyno(&["compare", "1-6", "7-12", "--paired"])
        .expect(2, &["did not run by turns", "compare them unpaired"]);
    let required = |a: &str, b: &str| {
        notebook.pgdyno(&[
            "compare",
            a,
            b,
            "--accept-order",
            "--fail-unless",
            "goodput > -5%",
        ])
    };
    required("7-12", "1-6").expect(0, &["goodput > -5%: passes"]);
    required("1-6", "7-12").expect(1, &["goodput > -5%: fails: not shown"]);
    let gated = [
        "compare",
        "7-12",
        "1-6",
        "--accept-order",
        "--fail-if",
        "p50 > +5%, goodput < -3%",
    ];
    notebook.pgdyno(&gated).expect(0, &["passes"]);
    let json = [
        "compare",
        "1-6",
        "7,8,9,10,11,12",
        "--accept-order",
        "--json",
    ];
    let json = notebook.pgdyno(&json);
    let json: Value = serde_json::from_str(&json.stdout).unwrap();
    let goodput = &json["points"][0]["figures"]["goodput"];
    assert_eq!(goodput["verdict"], "lower");
    assert!(goodput["change"].as_f64().unwrap() < -0.2, "{json:#}");

    let few = notebook.pgdyno(&["compare", "1-2", "7-8", "--fail-if", "p50 > +5%"]);
    let few = few.expect(
        4,
        &[
            "Cannot tell: 2 repeats, 5 needed",
            "p50 > +5%: cannot tell: 2",
        ],
    );
    assert!(!few.stdout.contains('%'), "no estimate: {few:#?}");
    notebook
        .pgdyno(&["exclude", "1", "--reason", "a backup was running"])
        .expect(0, &[]);
    notebook
        .pgdyno(&["compare", "tag:fast", "tag:slow"])
        .expect(0, &["medians of 5 and 6 trials"]);
}

/// On a server of its own: sessions of others would be distinguished from the trial's.
#[test]
fn where_the_time_of_a_commit_went_is_shown_for_both_sides() {
    let server = pgdyno_testkit::postgres_with(&[]);
    let database = Database::on(&server, "compare_time");
    let folder = tempfile::tempdir().unwrap();
    let notebook = Notebook {
        database: &database,
        folder: folder.path(),
    };
    let run = |text: &str, options: &[&str]| {
        std::fs::write(folder.path().join("one.sql"), text).unwrap();
        let args = ["run", "one.sql", "-c", "4", "-T", "2", "--url"];
        let mut command = notebook.command(&args);
        let ran = ran(command.arg(&database.url).args(options));
        ran.expect(0, &["kept as trial"]);
    };
    run("SELECT pg_sleep(0.02);\n", &[]);
    run("SELECT pg_sleep(0.04);\n", &[]);
    run("SELECT pg_sleep(0.04);\n", &["--observe", "none"]);
    let pair = |a: &str, b: &str| {
        let compare = ["compare", a, b, "--html", "ab.html"];
        notebook.pgdyno(&compare).expect(0, &[]);
        document_of(&folder.path().join("ab.html"))["pairs"][0].take()
    };
    let seen = pair("1", "2");
    let parts = seen["time_per_commit"].as_array().unwrap();
    let most = &parts[0];
    assert_eq!(most["class"], "others", "{parts:#?}");
    let (a_us, b_us) = (most["a_us"].as_f64(), most["b_us"].as_f64());
    // Each sleeps for most of its time, however slow the machine is.
    assert!(a_us > Some(10_000.0) && b_us > Some(20_000.0), "{parts:#?}");
    assert!(a_us < b_us, "{parts:#?}");
    assert!(pair("2", "3").get("time_per_commit").is_none());
}

#[test]
fn what_cannot_be_compared_is_said() {
    let database = Database::new("compare_not");
    let folder = tempfile::tempdir().unwrap();
    let notebook = Notebook {
        database: &database,
        folder: folder.path(),
    };
    let (code, none) = notebook::by_kind((2, "there is no trial 1"), (1, "there is no store"));
    notebook
        .pgdyno(&["compare", "1", "2"])
        .expect(code, &[none]);
    notebook.trials(1, "SELECT 1;\n", "one");
    let folder_of_other = folder.path().join("two.sql");
    std::fs::write(folder_of_other, "SELECT 2;\n").unwrap();
    let args = ["run", "two.sql", "-t", "5", "--url"];
    ran(notebook.command(&args).arg(&database.url)).expect(0, &[]);
    for (args, texts) in [
        (
            &["1", "2"][..],
            &["no workload and point in common", "A: one.sql"][..],
        ),
        (&["1", "3"], &["3"]),
        (&["1", "3-"], &["not a list of trials"]),
        (
            &["1", "tag:none"],
            &["names no complete trial", "pgdyno ls"],
        ),
        (&["1", "nosuch"], &["nosuch"]),
        (&["1", "1", "--fail-if", "p42 > +5%"], &["--fail-if", "p42"]),
        (&["1", "1-2"], &["trial 1 is on both sides", "with itself"]),
        (&["one:clients=4", "1"], &["one"]),
        (
            &["1", "2", "--paired"],
            &["no workload and point in common"],
        ),
    ] {
        let mut all = vec!["compare"];
        all.extend(args);
        let found = notebook.pgdyno(&all);
        assert_ne!(found.code, Some(0), "{found:#?}");
        for text in texts {
            assert!(found.stderr.contains(text), "no {text} in {found:#?}");
        }
    }
}

#[test]
fn a_serious_note_and_a_point_that_one_side_lacks_make_a_gate_cannot_tell() {
    let database = Database::new("compare_serious");
    let folder = tempfile::tempdir().unwrap();
    let notebook = Notebook {
        database: &database,
        folder: folder.path(),
    };
    let sweep = |name: &str, clients: &str| {
        let toml = format!(
            "name = '{name}'\nworkload = [['one.sql']]\ntransactions = 40\nrepeats = 8\n\
             reset.settle = 0\nreset.checkpoint = false\nclients = {clients}\n"
        );
        std::fs::write(folder.path().join("one.sql"), "SELECT 1;\n").unwrap();
        std::fs::write(folder.path().join("e.toml"), toml).unwrap();
        let mut command = notebook.command(&["sweep", "e.toml", "--url"]);
        ran(command.arg(&database.url)).expect(0, &["trials complete"]);
    };
    sweep("two", "[1, 2]");
    sweep("one", "[1]");
    notebook.without_notes();
    // Points of one experiment ran by turns, in an order that was drawn.
    let points = ["compare", "two:clients=1", "two:clients=2", "--paired"];
    let turns = "held        By turns: The order was random";
    let found = notebook
        .pgdyno(&points)
        .expect(0, &["medians of 8 and 8 trials", turns]);
    assert!(found.stdout.contains("\n  clients  1 → 2\n"), "{found:#?}");
    notebook
        .pgdyno(&["compare", "two:clients=1", "two:clients=3"])
        .expect(2, &["no point has clients 3", "there are: 1, 2"]);
    notebook
        .pgdyno(&["compare", "two:cleints=1", "two:clients=2"])
        .expect(2, &["no parameter cleints", "there are: "]);

    let gate = ["--fail-if", "goodput < 0.001/s"];
    let gated = |a: &str, b: &str, more: &[&str]| {
        notebook.pgdyno(&[&["compare", a, b][..], &gate, more].concat())
    };
    gated("one", "two:clients=1", &[]).expect(0, &["passes"]);
    let lacks = "B has no trials of one.sql";
    gated("two", "one", &[]).expect(4, &[lacks, "passes", "cannot tell"]);

    let notes = r#"[{"code":"client-bound","severity":"serious","sentence":"the client is the limit","remedy":""}]"#;
    let sql = format!(
        "UPDATE trial_ended SET notes = '{notes}' WHERE trial = (SELECT max(number) FROM trial)"
    );
    notebook::change(&notebook.store(), &sql);
    let said = [
        "SERIOUS   client-bound, trial 24: the client is the limit",
        "cannot tell: SERIOUS",
    ];
    gated("two:clients=1", "one", &[]).expect(4, &said);
    gated("two:clients=1", "one", &["--accept-serious"]).expect(0, &said[..1]);
    notebook
        .pgdyno(&["show", "--experiment", "one"])
        .expect(0, &said[..1]);
    for form in ["--markdown", "--json"] {
        notebook
            .pgdyno(&["compare", "two:clients=1", "one", form])
            .expect(0, &["the client is the limit"]);
    }
    notebook
        .pgdyno(&["compare", "two:clients=1", "one", "--html", "ab.html"])
        .expect(0, &[]);
    let notes = document_of(&folder.path().join("ab.html"))["notes"].take();
    assert_eq!(
        notes[0]["sentence"], "trial 24: the client is the limit",
        "{notes}"
    );
}

#[test]
fn tables_with_other_rows_and_keys_are_reported_and_equal_estimates_are_not() {
    let database = Database::new("compare_tables");
    let folder = tempfile::tempdir().unwrap();
    let notebook = Notebook {
        database: &database,
        folder: folder.path(),
    };
    database.sql(
        "CREATE TABLE t AS SELECT generate_series(1, 1000) AS id; \
         ALTER TABLE t ADD PRIMARY KEY (id); ANALYZE t",
    );
    let text = "SELECT count(*) FROM t WHERE id = 1;\n";
    notebook.trials(1, text, "keyed");
    database.sql("INSERT INTO t SELECT generate_series(1001, 1020); ANALYZE t");
    notebook.trials(1, text, "nearly");
    database.sql(
        "INSERT INTO t SELECT generate_series(1021, 3000); ALTER TABLE t DROP CONSTRAINT t_pkey; \
         CREATE INDEX ON t (id DESC); ANALYZE t",
    );
    notebook.trials(1, text, "other");
    let compare = |a: &str, b: &str| notebook.pgdyno(&["compare", a, b]).stdout;
    let same = compare("tag:keyed", "tag:nearly");
    assert!(!same.contains("table t"), "{same}");
    let other = compare("tag:keyed", "tag:other");
    for text in [
        "table t: rows estimate",
        "1000 → 3000",
        "table t: keys",
        "primary btree (id) → btree (id DESC)",
    ] {
        assert!(other.contains(text), "{text}: {other}");
    }
}
