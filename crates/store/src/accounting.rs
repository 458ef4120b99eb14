//! What the storage layer did in a trial, as an event of it: [`Accounting`] as JSON.

use rusqlite::{Connection, OptionalExtension, params};

use super::packed::whole;
use pgdyno_model::document::Accounting;

/// The event's kind.
pub const KIND: &str = "accounting";

/// Keeps it.
///
/// # Errors
/// The store cannot be written.
pub fn write(connection: &Connection, number: i64, it: &Accounting) -> rusqlite::Result<()> {
    let text = serde_json::json!(it).to_string();
    let sql = "INSERT INTO event (trial, at_us, kind, text) VALUES (?, ?, ?, ?)";
    let row = params![number, whole(it.elapsed_us), KIND, text];
    connection.execute(sql, row).map(|_| ())
}

/// Reads it, if there is any.
///
/// # Errors
/// The store cannot be read.
pub fn read(connection: &Connection, number: i64) -> rusqlite::Result<Option<Accounting>> {
    let sql = "SELECT text FROM event WHERE trial = ? AND kind = ?";
    let text: Option<String> = connection
        .query_row(sql, params![number, KIND], |row| row.get(0))
        .optional()?;
    Ok(text.and_then(|text| serde_json::from_str(&text).ok()))
}
