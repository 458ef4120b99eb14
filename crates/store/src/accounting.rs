//! What the storage layer did in a trial, as an event of it: [`Accounting`] as JSON.

use crate::db::{self, Db};
use crate::happening;
use pgdyno_model::document::Accounting;

/// The event's kind.
pub const KIND: &str = "accounting";

/// Keeps it.
///
/// # Errors
/// The store cannot be written.
pub fn write(connection: &Db, number: i64, it: &Accounting) -> db::Result<()> {
    let text = serde_json::json!(it).to_string();
    happening::tell(connection, number, it.elapsed_us, KIND, &text)
}

/// Reads it, if there is any.
///
/// # Errors
/// The store cannot be read.
pub fn read(connection: &Db, number: i64) -> db::Result<Option<Accounting>> {
    let text = happening::told(connection, number, KIND)?;
    Ok(text.and_then(|text| serde_json::from_str(&text).ok()))
}
