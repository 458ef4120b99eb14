//! Sets of many trials: pages that say what they leave out, and stay small.

use std::collections::BTreeMap;
use std::path::Path;

use rusqlite::Connection;

use crate::support::{Database, document_of, pgdyno, ran};

/// Repeats the only trial of a notebook until there are so many, by turns with the tags a and b.
fn multiply(notebook: &Path, trials: i64) {
    let store = Connection::open(notebook).unwrap();
    let sql = "SELECT m.name, group_concat(c.name, ',') FROM sqlite_schema m, pragma_table_info(m.name) c \
               WHERE m.type = 'table' AND m.name NOT LIKE 'sqlite%' GROUP BY m.name";
    let mut select = store.prepare(sql).unwrap();
    let tables = select.query_map([], |row| Ok((row.get(0)?, row.get(1)?)));
    let tables: BTreeMap<String, String> = tables.unwrap().map(Result::unwrap).collect();
    store.execute_batch("BEGIN").unwrap();
    for number in 2..=trials {
        // What it was copied from is there first.
        for table in ["trial_begun", "trial_ended", "script", "second", "work"] {
            let columns = &tables[table];
            let values = columns.split(',').map(|column| match column {
                "number" | "trial" => number.to_string(),
                "uuid" => format!("'{number:08}-0000-4000-8000-000000000000'"),
                column => column.to_owned(),
            });
            let values: Vec<String> = values.collect();
            let key = if table == "trial_begun" {
                "number"
            } else {
                "trial"
            };
            let values = values.join(", ");
            let sql = format!(
                "INSERT INTO {table} ({columns}) SELECT {values} FROM {table} WHERE {key} = 1"
            );
            store.execute(&sql, []).unwrap();
        }
    }
    let tag = "INSERT INTO tag (trial, tag) SELECT number, iif(number % 2, 'a', 'b') FROM trial";
    store.execute(tag, []).unwrap();
    store.execute_batch("COMMIT").unwrap();
}

fn size(file: &Path) -> u64 {
    std::fs::metadata(file).unwrap().len()
}

#[test]
fn pages_of_many_trials_leave_out_what_would_not_fit_and_say_so() {
    let database = Database::new("many");
    let folder = tempfile::tempdir().unwrap();
    // A file: its rows are multiplied behind pgdyno's back.
    let notebook = folder.path().join("notebook.sqlite");
    std::fs::write(folder.path().join("one.sql"), "SELECT 1;\n").unwrap();
    let at = |args: &[&str]| {
        let mut command = pgdyno(args);
        command
            .current_dir(folder.path())
            .env("PGDYNO_STORE", &notebook);
        ran(&mut command)
    };
    at(&["run", "one.sql", "-t", "50", "--url", &database.url]).expect(0, &["kept as trial 1"]);
    multiply(&notebook, 502);

    at(&["compare", "tag:a", "tag:b", "--html", "two.html"]).expect(0, &["251"]);
    let page = folder.path().join("two.html");
    let text = document_of(&page).to_string();
    assert!(text.contains("repeats-left-out"), "{text:.2000}");
    assert!(size(&page) < 5_000_000, "{} bytes", size(&page));

    at(&["report", "1-502", "-o", "all.html"]).expect(0, &["all.html"]);
    let page = folder.path().join("all.html");
    let text = document_of(&page).to_string();
    assert!(text.contains("pages-left-out"), "{text:.2000}");
    assert!(
        text.contains("the pages of its 502 trials are left out"),
        "{text:.2000}"
    );
    assert!(size(&page) < 5_000_000, "{} bytes", size(&page));

    // As many as fit have all of it.
    at(&["compare", "1-200", "201-400", "--html", "fits.html"]).expect(0, &["200"]);
    let text = document_of(&folder.path().join("fits.html")).to_string();
    assert!(!text.contains("repeats-left-out"), "{text:.2000}");
}
