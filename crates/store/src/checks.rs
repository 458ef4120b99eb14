//! What must hold of the data, as an event of its trial: a list of [`DataCheck`] as JSON.

use crate::db::{self, Db};
use crate::happening;
use pgdyno_model::document::DataCheck;

const KIND: &str = "checks";

/// Keeps them.
///
/// # Errors
/// The store cannot be written.
pub fn write(connection: &Db, number: i64, checks: &[DataCheck]) -> db::Result<()> {
    let text = serde_json::json!(checks).to_string();
    happening::tell(connection, number, 0, KIND, &text)
}

/// Reads them; none where none was asked.
///
/// # Errors
/// The store cannot be read.
pub fn read(connection: &Db, number: i64) -> db::Result<Vec<DataCheck>> {
    let text = happening::told(connection, number, KIND)?;
    Ok(text
        .and_then(|text| serde_json::from_str(&text).ok())
        .unwrap_or_default())
}
