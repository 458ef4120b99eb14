//! What a trial's draws came to, as an event of it: [`KeySkew`] as JSON.

use crate::db::{self, Db};
use crate::happening;
use pgdyno_model::document::KeySkew;

const KIND: &str = "key_skew";

/// Keeps it.
///
/// # Errors
/// The store cannot be written.
pub fn write(connection: &Db, number: i64, key_skew: &KeySkew) -> db::Result<()> {
    let text = serde_json::json!(key_skew).to_string();
    happening::tell(connection, number, 0, KIND, &text)
}

/// Reads it, if there is any.
///
/// # Errors
/// The store cannot be read.
pub fn read(connection: &Db, number: i64) -> db::Result<Option<KeySkew>> {
    let text = happening::told(connection, number, KIND)?;
    Ok(text.and_then(|text| serde_json::from_str(&text).ok()))
}
