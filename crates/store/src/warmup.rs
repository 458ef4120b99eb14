//! A warm-up whose end is found while it runs, as an event of its trial: how it
//! ended.

use crate::db::{self, Db};
use crate::happening;
use pgdyno_model::document::WarmupEnd;

/// It ended: [`WarmupEnd`] as JSON.
const ENDED: &str = "warmup-ended";

/// It ended so, after so much time.
///
/// # Errors
/// The store cannot be written.
pub fn ended(connection: &Db, number: i64, elapsed_us: u64, ended: &WarmupEnd) -> db::Result<()> {
    let text = serde_json::json!(ended).to_string();
    happening::tell(connection, number, elapsed_us, ENDED, &text)
}

/// How it ended, if it did while its pgdyno lived.
///
/// # Errors
/// The store cannot be read.
pub fn read(connection: &Db, number: i64) -> db::Result<Option<WarmupEnd>> {
    let text = happening::text_of(connection, number, ENDED)?;
    Ok(text.and_then(|text| serde_json::from_str(&text).ok()))
}
