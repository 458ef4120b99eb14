//! A warm-up whose end is found while it runs, as an event of its trial: how it
//! ended.

use rusqlite::{Connection, OptionalExtension, params};

use super::packed::whole;
use pgdyno_model::document::WarmupEnd;

/// It ended: [`WarmupEnd`] as JSON.
const ENDED: &str = "warmup-ended";

/// It ended so, after so much time.
///
/// # Errors
/// The store cannot be written.
pub fn ended(
    connection: &Connection,
    number: i64,
    elapsed_us: u64,
    ended: &WarmupEnd,
) -> rusqlite::Result<()> {
    let text = serde_json::json!(ended).to_string();
    let sql = "INSERT INTO event (trial, at_us, kind, text) VALUES (?, ?, ?, ?)";
    let row = params![number, whole(elapsed_us), ENDED, text];
    connection.execute(sql, row).map(|_| ())
}

/// How it ended, if it did while its pgdyno lived.
///
/// # Errors
/// The store cannot be read.
pub fn read(connection: &Connection, number: i64) -> rusqlite::Result<Option<WarmupEnd>> {
    let sql = "SELECT text FROM event WHERE trial = ? AND kind = ?";
    let text: Option<String> = connection
        .query_row(sql, params![number, ENDED], |row| row.get(0))
        .optional()?;
    Ok(text.and_then(|text| serde_json::from_str(&text).ok()))
}
