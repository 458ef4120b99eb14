//! `pgdyno export --parquet`: what it refuses, and with the feature `parquet` what it leaves. What is in the files:
//! `crates/report/src/parquet/tests.rs`, `scripts/test-analysis`.

use crate::cli::store::Notebook;
use crate::support::Database;

/// A notebook with a trial.
fn with_a_trial(name: &str) -> Notebook {
    let (notebook, db) = (Notebook::new(), Database::new(name));
    db.pgdyno(&["load", "tpcb"]).expect(0, &[]);
    let run = ["run", "select-only", "-t", "30", "--observe", "none"];
    notebook.run(&db, &run).expect(0, &[]);
    notebook
}

/// Only where pgdyno is built without.
#[cfg(not(feature = "parquet"))]
#[test]
fn a_build_without_parquet_says_which_has_it() {
    let notebook = with_a_trial("export_no_parquet");
    let directory = tempfile::tempdir().unwrap();
    let to = directory.path().join("tables");
    let args = ["export", "--parquet", to.to_str().unwrap()];
    let texts = [
        "this pgdyno is built without Parquet",
        "packages of pgdyno have it",
        "cargo build --release --features parquet",
        "pgdyno export -o FILE.sqlite",
    ];
    notebook.pgdyno(&args).expect(2, &texts);
    assert!(!to.exists());
}

#[test]
fn tables_are_instead_of_other_forms() {
    let notebook = Notebook::new();
    for other in [&["-o", "x"][..], &["--bundle", "x"], &["--history"]] {
        let args = [&["export", "1", "--parquet", "tables"], other].concat();
        notebook.pgdyno(&args).expect(2, &["cannot be used with"]);
    }
}

#[cfg(feature = "parquet")]
#[test]
fn tables_go_into_a_new_or_empty_directory() {
    use std::fs;

    let notebook = with_a_trial("export_parquet");
    let directory = tempfile::tempdir().unwrap();
    let at = |name: &str| directory.path().join(name).to_str().unwrap().to_owned();
    let export = |to: &str| notebook.pgdyno(&["export", "1", "--parquet", to]);
    let names = |to: &str| {
        let entries = fs::read_dir(to).unwrap();
        let names = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap());
        let mut names: Vec<String> = names.collect();
        names.sort();
        names
    };
    let all = [
        "histograms.parquet",
        "seconds.parquet",
        "series.parquet",
        "trials.parquet",
    ];
    let new = at("new");
    let told = [
        "1 trial written to",
        "(rows: trials 1, seconds 1, histograms ",
    ];
    export(&new).expect(0, &told);
    assert_eq!(names(&new), all);
    export(&new).expect(2, &["new is not empty", "name another with --parquet"]);
    let empty = at("empty");
    fs::create_dir(&empty).unwrap();
    export(&empty).expect(0, &told);
    // A file, no directory above it, no trial.
    let file = at("file");
    fs::write(&file, "mine").unwrap();
    export(&file).expect(2, &["cannot use", "Not a directory"]);
    assert_eq!(fs::read_to_string(&file).unwrap(), "mine");
    export(&at("none/below")).expect(1, &["cannot create", "No such file or directory"]);
    let none = at("of-none");
    let args = ["export", "77", "--parquet", &none];
    notebook.pgdyno(&args).expect(2, &["77"]);
    assert!(!std::path::Path::new(&none).exists());
}
