//! A notebook that came from elsewhere or is damaged: whatever is in its rows, it is read or
//! refused with a reason.
//!
//! The input changes rows of a small notebook: lines `TABLE.COLUMN=VALUE`, where the value is `n` (NULL),
//! or begins with `i` (integer), `r` (real), `t` (text) or `x` (blob in hexadecimal).

use std::path::Path;
use std::sync::LazyLock;

use pgdyno_model::notebook::{Filter, Kind};
use pgdyno_store::{Store, example};
use rusqlite::Connection;
use rusqlite::types::Value;
use tempfile::TempDir;

/// One trial with a row in every table that has rows of trials.
static NOTEBOOK: LazyLock<Vec<u8>> = LazyLock::new(|| {
    let folder = folder();
    let path = folder.path().join("notebook");
    let store = Store::open(&path).expect("a new notebook");
    let begun = store.begin(&example()).expect("a trial can begin");
    begun.fail("over").expect("a trial can end");
    drop(store);
    let file = opened(&path);
    for table in columns_of(
        &file,
        "SELECT name FROM sqlite_master WHERE type = 'table'",
        "",
    ) {
        let is_filled = format!("SELECT 1 FROM \"{table}\"");
        let columns = columns_of(&file, "SELECT name FROM pragma_table_info(?)", &table);
        if !columns.iter().any(|name| name == "trial")
            || file
                .prepare(&is_filled)
                .and_then(|mut found| found.exists([]))
                .unwrap_or(true)
        {
            continue;
        }
        let values = columns.iter().map(|name| match name.as_str() {
            name if name.ends_with("_histogram") => "x''",
            name if name.contains("squares") => "'1'",
            _ => "1",
        });
        let values: Vec<&str> = values.collect();
        let row = format!("INSERT INTO \"{table}\" VALUES ({})", values.join(", "));
        file.execute(&row, [])
            .unwrap_or_else(|e| panic!("{row}: {e}"));
    }
    drop(file);
    std::fs::read(&path).expect("the notebook's file")
});

/// In memory where there is such a place: SQLite waits for a disk when it closes a file.
fn folder() -> TempDir {
    let made = tempfile::tempdir_in("/dev/shm").or_else(|_| tempfile::tempdir());
    made.expect("a temporary folder")
}

fn opened(path: &Path) -> Connection {
    let file = Connection::open(path).expect("a file of SQLite");
    let fast = "PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF; PRAGMA ignore_check_constraints = ON;";
    file.execute_batch(fast).expect("settings of SQLite");
    file
}

fn columns_of(file: &Connection, sql: &str, table: &str) -> Vec<String> {
    let mut found = file.prepare(sql).expect("a query of the schema");
    let parameters: &[&str] = if table.is_empty() { &[] } else { &[table] };
    let names = found.query_map(rusqlite::params_from_iter(parameters), |row| row.get(0));
    names
        .expect("names")
        .map(|name| name.expect("a name"))
        .collect()
}

pub fn run(bytes: &[u8]) {
    let text = String::from_utf8_lossy(bytes);
    let folder = folder();
    let path = folder.path().join("notebook");
    std::fs::write(&path, &*NOTEBOOK).expect("room for a notebook");
    let file = opened(&path);
    for line in text.lines().take(8) {
        change(&file, line);
    }
    drop(file);
    let read = || {
        let store = Store::existing(&path)?;
        store.trials(&Filter::default())?;
        let number = store.trial_number("1")?;
        store.trial("1")?;
        for kind in [Kind::Service, Kind::Response, Kind::Lag] {
            store.latencies(number, None, kind)?;
        }
        store.seconds(number)?;
        store.notes(number)?;
        store.outcome(number)
    };
    if let Err(failure) = read() {
        assert!(!failure.to_string().is_empty());
    }
}

/// Changes all rows of a table; what is no table, column or value of it does nothing.
fn change(file: &Connection, line: &str) {
    let Some((place, value)) = line.split_once('=') else {
        return;
    };
    let is_name = |name: &str| {
        !name.is_empty()
            && name
                .bytes()
                .all(|b| b.is_ascii_lowercase() || b == b'_' || b.is_ascii_digit())
    };
    let Some((table, column)) = place
        .split_once('.')
        .filter(|(t, c)| is_name(t) && is_name(c))
    else {
        return;
    };
    let Some(value) = value_of(value) else {
        return;
    };
    // Refused values of strict tables stay out.
    let _ = file.execute(&format!("UPDATE \"{table}\" SET \"{column}\" = ?"), [value]);
}

fn value_of(text: &str) -> Option<Value> {
    let (kind, rest) = text.split_at_checked(1)?;
    Some(match kind {
        "n" => Value::Null,
        "i" => Value::Integer(rest.parse().ok()?),
        "r" => Value::Real(rest.parse().ok()?),
        "t" => Value::Text(rest.to_owned()),
        "x" => {
            let digits = rest.as_bytes().chunks_exact(2);
            let bytes = digits.map(|two| u8::from_str_radix(str::from_utf8(two).ok()?, 16).ok());
            Value::Blob(bytes.collect::<Option<_>>()?)
        }
        _ => return None,
    })
}
