//! What disturbed a trial, as an event of it: [`Disturbed`] as JSON.

use crate::db::{self, Db};
use crate::happening;
use pgdyno_model::document::Disturbed;

/// The event's kind.
pub const KIND: &str = "disturbed";

/// Keeps it.
///
/// # Errors
/// The store cannot be written.
pub fn write(connection: &Db, number: i64, it: &Disturbed) -> db::Result<()> {
    let text = serde_json::json!(it).to_string();
    happening::tell(connection, number, it.due_us, KIND, &text)
}

/// Reads it, if there is any.
///
/// # Errors
/// The store cannot be read.
pub fn read(connection: &Db, number: i64) -> db::Result<Option<Disturbed>> {
    let text = happening::told(connection, number, KIND)?;
    Ok(text.and_then(|text| serde_json::from_str(&text).ok()))
}
