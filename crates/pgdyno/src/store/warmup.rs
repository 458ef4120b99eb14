//! A warm-up whose end is found while it runs, as events of its trial: that it was asked for, and
//! how it ended.

use rusqlite::{Connection, params};

use super::packed::whole;
use crate::plan::warmup::Ended;

/// It was asked for; the trial's `warmup_s` is its limit.
const ASKED: &str = "warmup-detected";
/// It ended: [`Ended`] as JSON.
const ENDED: &str = "warmup-ended";

/// The end of a trial's warm-up will be looked for.
///
/// # Errors
/// The store cannot be written.
pub fn asked(connection: &Connection, number: i64) -> rusqlite::Result<()> {
    let sql = "INSERT INTO event (trial, at_us, kind, text) VALUES (?, 0, ?, '')";
    connection.execute(sql, params![number, ASKED]).map(|_| ())
}

/// It ended so, after so much time.
///
/// # Errors
/// The store cannot be written.
pub fn ended(
    connection: &Connection,
    number: i64,
    elapsed_us: u64,
    ended: &Ended,
) -> rusqlite::Result<()> {
    let text = serde_json::json!(ended).to_string();
    let sql = "INSERT INTO event (trial, at_us, kind, text) VALUES (?, ?, ?, ?)";
    let row = params![number, whole(elapsed_us), ENDED, text];
    connection.execute(sql, row).map(|_| ())
}

/// Whether it was asked for, and how it ended, if it did while its pgdyno lived.
///
/// # Errors
/// The store cannot be read.
pub fn read(connection: &Connection, number: i64) -> rusqlite::Result<(bool, Option<Ended>)> {
    let mut select =
        connection.prepare("SELECT kind, text FROM event WHERE trial = ? AND kind IN (?, ?)")?;
    let mut rows = select.query(params![number, ASKED, ENDED])?;
    let (mut detected, mut ended) = (false, None);
    while let Some(row) = rows.next()? {
        match row.get::<_, String>(0)?.as_str() {
            ASKED => detected = true,
            _ => ended = serde_json::from_str(&row.get::<_, String>(1)?).ok(),
        }
    }
    Ok((detected, ended))
}
