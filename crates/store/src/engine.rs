//! How the engine waited for its sockets, as an event of its trial.

use pgdyno_platform::io::{Backend, Used};
use rusqlite::{Connection, OptionalExtension, params};
use serde_json::{Value, json};

const KIND: &str = "engine";

/// Keeps it.
///
/// # Errors
/// The store cannot be written.
pub fn write(connection: &Connection, number: i64, io: &Used) -> rusqlite::Result<()> {
    let text = json!({ "io": io.backend.name(), "why_not_io_uring": io.why_not_uring });
    let sql = "INSERT INTO event (trial, at_us, kind, text) VALUES (?, 0, ?, ?)";
    connection
        .execute(sql, params![number, KIND, text.to_string()])
        .map(|_| ())
}

/// Reads it; none of a trial that was kept before this was known.
///
/// # Errors
/// The store cannot be read.
pub fn read(connection: &Connection, number: i64) -> rusqlite::Result<Option<Used>> {
    let sql = "SELECT text FROM event WHERE trial = ? AND kind = ?";
    let text: Option<String> = connection
        .query_row(sql, params![number, KIND], |row| row.get(0))
        .optional()?;
    let engine = text.and_then(|text| serde_json::from_str::<Value>(&text).ok());
    Ok(engine.and_then(|engine| {
        let why_not = engine["why_not_io_uring"].as_str();
        Some(Used {
            backend: Backend::named(engine["io"].as_str()?)?,
            why_not_uring: why_not.map(str::to_owned),
        })
    }))
}
