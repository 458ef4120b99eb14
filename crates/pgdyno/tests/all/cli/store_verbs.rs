//! The verbs that read and mark what the notebook has.

use serde_json::Value;

use crate::cli::store::Notebook;
use crate::support::Database;
use crate::support::notebook::{self, by_kind};

/// A notebook with three short trials, two of them with a tag.
fn with_trials(name: &str) -> Notebook {
    trials_in(Notebook::new(), name)
}

fn trials_in(notebook: Notebook, name: &str) -> Notebook {
    let db = Database::new(name);
    db.pgdyno(&["load", "tpcb"]).expect(0, &[]);
    for workload in ["select-only", "tpcb", "tpcb"] {
        let tag = format!("of-{workload}");
        let args = ["run", workload, "-t", "30", "--tag", &tag, "--tag", "all"];
        notebook.run(&db, &args).expect(0, &[]);
    }
    notebook
}

/// The numbers that `ls` gives.
fn listed(notebook: &Notebook, filter: &[&str]) -> Vec<u64> {
    let ran = notebook
        .pgdyno(&[&["ls", "--json"], filter].concat())
        .expect(0, &[]);
    let rows: Vec<Value> = serde_json::from_str(&ran.stdout).unwrap();
    rows.iter()
        .map(|row| row["number"].as_u64().unwrap())
        .collect()
}

#[test]
fn trials_are_listed_by_what_is_asked_for() {
    let notebook = with_trials("verbs_ls");
    assert_eq!(listed(&notebook, &[]), [3, 2, 1]);
    assert_eq!(listed(&notebook, &["--workload", "tpcb"]), [3, 2]);
    assert_eq!(
        listed(&notebook, &["--tag", "of-select-only", "--tag", "all"]),
        [1]
    );
    assert!(listed(&notebook, &["--tag", "of-select-only", "--tag", "of-tpcb"]).is_empty());
    assert_eq!(
        listed(&notebook, &["--state", "complete", "--limit", "2"]),
        [3, 2]
    );
    assert!(listed(&notebook, &["--state", "failed"]).is_empty());
    assert_eq!(listed(&notebook, &["--since", "1h"]), [3, 2, 1]);
    assert!(listed(&notebook, &["--since", "2999-01-01"]).is_empty());
    let table = notebook
        .pgdyno(&["ls", "--limit", "1"])
        .expect(0, &["1 of 3 trials"]);
    assert!(
        table.stdout.lines().count() == 2 && table.stdout.contains("of-tpcb"),
        "{table:#?}"
    );
    let csv = notebook
        .pgdyno(&["ls", "--csv", "--workload", "select-only"])
        .expect(0, &[]);
    let (heading, row) = csv.stdout.trim_end().split_once('\n').unwrap();
    assert!(
        heading.contains(",service_mean_us,service_p50_us,"),
        "{heading}"
    );
    assert!(
        heading.starts_with("number,uuid,state,") && row.starts_with("1,"),
        "{csv:#?}"
    );
    let tags = "\"[\"\"all\"\",\"\"of-select-only\"\"]\"";
    assert!(row.contains(tags), "{row}");
    notebook
        .pgdyno(&["ls", "--experiment", "none"])
        .expect(2, &["there is no experiment none"]);
    notebook
        .pgdyno(&["ls", "--since", "yesterday"])
        .expect(2, &["WHEN is a date"]);
    notebook
        .pgdyno(&["ls", "--state", "odd"])
        .expect(2, &["possible values"]);
}

#[test]
fn a_trial_is_marked_and_removed_by_its_number_or_uuid() {
    let notebook = with_trials("verbs_marks");
    let uuid = notebook.value("SELECT uuid FROM trial WHERE number = 2");
    notebook
        .pgdyno(&["note", &uuid[..12], "new disks"])
        .expect(0, &[]);
    notebook.pgdyno(&["note", "2"]).expect(0, &["new disks"]);
    notebook
        .pgdyno(&["tag", "2", "a", "b", "--remove", "all"])
        .expect(0, &[]);
    let tags = notebook
        .pgdyno(&["tag", &uuid.to_uppercase()])
        .expect(0, &[]);
    assert_eq!(tags.stdout, "a\nb\nof-tpcb\n");
    notebook
        .pgdyno(&["exclude", "2", "--reason", "a backup ran"])
        .expect(0, &[]);
    assert_eq!(notebook.value("SELECT count(*) FROM result"), "2");
    let shown = [
        "note         new disks",
        "EXCLUDED     a backup ran",
        "tags         a b of-tpcb",
    ];
    notebook.pgdyno(&["show", "2"]).expect(0, &shown);
    notebook
        .pgdyno(&["exclude", "2", "--include"])
        .expect(0, &[]);
    notebook.pgdyno(&["note", "2", "--clear"]).expect(0, &[]);
    assert_eq!(
        notebook.value("SELECT count(*), max(note) FROM result"),
        "3|NULL"
    );
    notebook
        .pgdyno(&["rm", "2", "3"])
        .expect(2, &["there is no terminal", "--yes"]);
    notebook
        .pgdyno(&["rm", "2", "9", "--yes"])
        .expect(2, &["there is no trial 9"]);
    assert_eq!(listed(&notebook, &[]), [3, 2, 1], "all or nothing");
    notebook
        .pgdyno(&["rm", "2", &uuid, "3", "--yes"])
        .expect(0, &[]);
    for table in [
        "second",
        "statement",
        "script",
        "tag",
        "thread",
        "connecting",
    ] {
        let left = format!("SELECT min(trial) || ' ' || max(trial) FROM {table}");
        assert_eq!(notebook.value(&left), "1 1", "{table}");
    }
}

#[test]
fn mistakes_are_named_with_the_way_out() {
    let notebook = Notebook::in_file();
    for verb in [
        &["ls"][..],
        &["show", "1"],
        &["sql", "SELECT 1"],
        &["export", "-o", "x"],
    ] {
        notebook
            .pgdyno(verb)
            .expect(1, &["there is no store at", "`pgdyno run` makes one"]);
    }
    assert!(!notebook.file().exists());
    let notebook = with_trials("verbs_mistakes");
    notebook
        .pgdyno(&["show", "4"])
        .expect(2, &["there is no trial 4", "pgdyno ls"]);
    notebook
        .pgdyno(&["show", "%"])
        .expect(2, &["there is no trial %"]);
    notebook
        .pgdyno(&["tag", "1", "two words"])
        .expect(2, &["cannot be a tag"]);
    notebook
        .pgdyno(&["tag", "1", "--remove", "x"])
        .expect(1, &["has no tag x"]);
    notebook.pgdyno(&["exclude", "1"]).expect(2, &["--reason"]);
    notebook
        .pgdyno(&["exclude", "1", "--reason", ""])
        .expect(2, &["--reason needs <TEXT>"]);
    notebook
        .pgdyno(&["sql", "DELETE FROM tag"])
        .expect(2, &[by_kind("read-only", "only queries are answered")]);
    let no_table = by_kind("relation \"y\" does not exist", "no such table: y");
    notebook
        .pgdyno(&["sql", "SELECT x FROM y"])
        .expect(2, &[no_table, "pgdyno help store"]);
    let existing = notebook.beside("copy.sqlite").display().to_string();
    notebook
        .pgdyno(&["export", "-o", &existing])
        .expect(0, &["3 trials written"]);
    notebook
        .pgdyno(&["export", "-o", &existing])
        .expect(2, &["exists already"]);
    notebook
        .pgdyno(&["export", "nothing", "-o", "x"])
        .expect(2, &["there is no trial nothing"]);
    notebook
        .pgdyno(&["import", "/no/such"])
        .expect(1, &["there is no store at /no/such"]);
    notebook
        .pgdyno(&["import", &notebook.path().display().to_string()])
        .expect(2, &["is the store itself"]);
}

#[test]
fn a_copy_of_a_trial_shows_what_the_original_does() {
    let notebook = with_trials("verbs_copy");
    let copy = notebook.beside("copy.sqlite").display().to_string();
    notebook
        .pgdyno(&["export", "1", "3", "-o", &copy])
        .expect(0, &["2 trials written to"]);
    let other = Notebook::new();
    other
        .pgdyno(&["import", &copy])
        .expect(0, &["2 trials added"]);
    other
        .pgdyno(&["import", &copy])
        .expect(0, &["0 trials added", "2 trials there already"]);
    assert_eq!(listed(&other, &[]), [2, 1]);
    let uuid = notebook.value("SELECT uuid FROM trial WHERE number = 3");
    let show = |notebook: &Notebook| {
        let shown = notebook.pgdyno(&["show", &uuid, "--json"]).expect(0, &[]);
        let mut shown: Value = serde_json::from_str(&shown.stdout).unwrap();
        assert!(
            shown["stored"]
                .as_object_mut()
                .unwrap()
                .remove("number")
                .is_some()
        );
        shown
    };
    assert_eq!(show(&notebook), show(&other));
}

#[test]
fn sql_answers_as_table_csv_and_json() {
    let notebook = with_trials("verbs_sql");
    let sql = "SELECT number AS n, 'a,b' AS t, NULL AS z FROM trial WHERE number < 3";
    let table = notebook.pgdyno(&["sql", sql]).expect(0, &[]);
    assert_eq!(table.stdout, "n    t  z\n1  a,b\n2  a,b\n");
    let csv = notebook.pgdyno(&["sql", "--csv", sql]).expect(0, &[]);
    assert_eq!(csv.stdout, "n,t,z\n1,\"a,b\",\n2,\"a,b\",\n");
    assert_eq!(
        notebook.rows(sql)[1],
        serde_json::json!({"n": 2, "t": "a,b", "z": null})
    );
}

#[test]
fn every_query_of_the_documentation_is_answered() {
    let notebook = trials_in(Notebook::in_file(), "verbs_docs");
    let text = include_str!("../../../../../docs/store.md");
    let queries: Vec<&str> = text
        .split("```sql\n")
        .skip(1)
        .map(|rest| rest.split("```").next().unwrap())
        .collect();
    assert!(queries.len() >= 10, "{}", queries.len());
    for query in queries {
        let ran = notebook.pgdyno(&["sql", query]).expect(0, &[]);
        assert!(!ran.stdout.is_empty(), "{query}");
    }
    // Every table and view has its place there.
    for row in notebook.rows("SELECT name FROM sqlite_schema WHERE type IN ('table', 'view')") {
        let name = row["name"].as_str().unwrap();
        assert!(
            name.starts_with("sqlite_") || text.contains(&format!("`{name}`")),
            "{name}"
        );
    }
}

#[test]
fn export_of_parquet_files_says_what_reads_the_notebook() {
    let notebook = with_trials("verbs_parquet");
    let dir = tempfile::tempdir().unwrap();
    let to = dir.path().join("tables");
    let args = ["export", "1", "--parquet", to.to_str().unwrap()];
    let texts = [
        "writes no Parquet files any more",
        "with --tables it has histograms as rows",
        "pgdyno export TRIAL… -o FILE.sqlite --tables",
        "pgdyno help analysis",
    ];
    notebook.pgdyno(&args).expect(2, &texts);
    assert!(!to.exists());
    // What it says is so.
    let file = dir.path().join("one.sqlite");
    let file = file.to_str().unwrap();
    let export = ["export", "1", "-o", file, "--tables"];
    notebook.pgdyno(&export).expect(0, &["1 trial written to"]);
    let sql = "SELECT sum(count) AS n FROM bucket WHERE what = 'service' UNION ALL SELECT committed FROM trials";
    let rows = notebook.pgdyno(&["sql", "--store", file, "--json", sql]);
    let rows: serde_json::Value = serde_json::from_str(&rows.expect(0, &[]).stdout).unwrap();
    assert_eq!(rows[0], rows[1], "{rows}");
    assert!(rows[0]["n"].as_u64().unwrap() > 0, "{rows}");
}

#[test]
fn a_folder_has_a_page_for_each_trial() {
    let notebook = with_trials("verbs_folder");
    let dir = tempfile::tempdir().unwrap();
    let folder = dir.path().join("site");
    let name = folder.to_str().unwrap();
    let report = ["report", "2-3", "--folder", name];
    notebook.pgdyno(&report).expect(0, &["index.html"]);
    let page = |place: &str| std::fs::read_to_string(folder.join(place).join("index.html"));
    for place in ["", "2", "3"] {
        assert!(page(place).unwrap().contains("<html"), "{place}");
    }
    assert!(page("1").is_err());
    let of_trial = crate::support::document_of(&folder.join("3/index.html"));
    assert!(of_trial.to_string().contains("tpcb"));
    // Reports are written over, what is none is left alone.
    notebook.pgdyno(&report).expect(0, &[]);
    std::fs::write(folder.join("2/index.html"), "mine").unwrap();
    notebook.pgdyno(&report).expect(2, &["index.html"]);
    assert_eq!(page("2").unwrap(), "mine");
    let file = dir.path().join("file");
    std::fs::write(&file, "").unwrap();
    let file = file.to_str().unwrap();
    notebook
        .pgdyno(&["report", "1", "--folder", file])
        .expect(1, &["cannot make the directory", "--folder DIR"]);
}

#[test]
fn a_pgdyno_that_is_older_than_the_tables_reads_and_writes_nothing() {
    let notebook = with_trials("verbs_newer");
    notebook::change(
        &notebook.path(),
        by_kind(
            "UPDATE notebook SET version = 99",
            "PRAGMA user_version = 99",
        ),
    );
    assert_eq!(listed(&notebook, &[]), [3, 2, 1]);
    notebook.pgdyno(&["show", "1"]).expect(0, &["tps  "]);
    let copy = notebook.beside("copy.sqlite").display().to_string();
    notebook
        .pgdyno(&["export", "1", "-o", &copy])
        .expect(0, &["1 trial written"]);
    let script = notebook.beside("one.sql");
    std::fs::write(&script, "SELECT 1;\n").unwrap();
    let script = script.display().to_string();
    let writing: [&[&str]; 8] = [
        &[
            "run",
            &script,
            "-t",
            "1",
            "--url",
            "postgresql://x@127.0.0.1:1/x",
        ],
        &["rerun", "1"],
        &["note", "1", "no"],
        &["tag", "1", "no"],
        &["exclude", "1", "--reason", "no"],
        &["rm", "1", "--yes"],
        &["import", &copy],
        &["store", "thin", "--older", "0s"],
    ];
    for verb in writing {
        let said = ["is of a newer pgdyno (version 99", "use the newer pgdyno"];
        notebook.pgdyno(verb).expect(1, &said);
    }
    assert_eq!(
        notebook.value("SELECT count(*), count(note), count(excluded) FROM trial"),
        "3|0|0"
    );
}
