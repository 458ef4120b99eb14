//! What a trial's draws came to, as an event of it: [`KeySkew`] as JSON.

use pgdyno_model::document::KeySkew;
use rusqlite::{Connection, OptionalExtension, params};

const KIND: &str = "key_skew";

/// Keeps it.
///
/// # Errors
/// The store cannot be written.
pub fn write(connection: &Connection, number: i64, key_skew: &KeySkew) -> rusqlite::Result<()> {
    let text = serde_json::json!(key_skew).to_string();
    let sql = "INSERT INTO event (trial, at_us, kind, text) VALUES (?, 0, ?, ?)";
    connection
        .execute(sql, params![number, KIND, text])
        .map(|_| ())
}

/// Reads it, if there is any.
///
/// # Errors
/// The store cannot be read.
pub fn read(connection: &Connection, number: i64) -> rusqlite::Result<Option<KeySkew>> {
    let sql = "SELECT text FROM event WHERE trial = ? AND kind = ?";
    let text: Option<String> = connection
        .query_row(sql, params![number, KIND], |row| row.get(0))
        .optional()?;
    Ok(text.and_then(|text| serde_json::from_str(&text).ok()))
}
