//! How much text a trial has. What pgdyno keeps is far below this limit; a stranger's notebook that is beyond it would
//! fill the reader's memory.

use std::sync::LazyLock;

use crate::db::{Db, Error, Result};
use crate::schema::ddl::{TABLES, Table};

/// More is not read of a trial, figures apart: statements, messages, events, findings.
const TEXT_BYTES_MAX: u64 = 64 << 20;

/// Tables of figures and histograms, which grow as the trial does.
const OF_FIGURES: [&str; 9] = [
    "second",
    "failure",
    "work",
    "client_time",
    "added",
    "unit",
    "samples",
    "history",
    "command_total",
];

/// The length of all values of a trial. Lengths are read without the values.
static LENGTH: LazyLock<String> = LazyLock::new(|| {
    let has_text = |table: &&Table| {
        !OF_FIGURES.contains(&table.name) && (table.is_part() || table.name == "trial_begun")
    };
    let sums = TABLES.iter().filter(has_text).map(|table| {
        let lengths = table.columns.iter().map(|column| {
            let name = column.name;
            format!("coalesce(octet_length({name}), 0)")
        });
        let lengths: Vec<String> = lengths.collect();
        let of = if table.is_part() { "trial" } else { "number" };
        format!(
            "(SELECT coalesce(sum({}), 0) FROM {} WHERE {of} = ?1)",
            lengths.join(" + "),
            table.name
        )
    });
    format!("SELECT {}", sums.collect::<Vec<_>>().join(" + "))
});

/// Looks at a trial in a file before it is read. A notebook on a server is the team's own.
///
/// # Errors
/// It has too much text; the file cannot be read.
pub fn check(db: &Db, number: i64) -> Result<()> {
    let Db::File(_) = db else {
        return Ok(());
    };
    let bytes: i64 = db.query_row(&LENGTH, [number], |row| row.get(0))?;
    match u64::try_from(bytes) {
        Ok(bytes) if bytes > TEXT_BYTES_MAX => Err(Error::Unreadable(format!(
            "trial {number} has {} MiB of text, and at most {} are read: pgdyno wrote none like it",
            bytes >> 20,
            TEXT_BYTES_MAX >> 20
        ))),
        _ => Ok(()),
    }
}
