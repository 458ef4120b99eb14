//! What is known of a trial as a whole: each an event of it, its text a value of the document as JSON.

use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::db::{self, Db};
use crate::happening;

/// [`Accounting`](pgdyno_model::document::Accounting): what the storage layer did in it.
pub const ACCOUNTING: &str = "accounting";
/// A list of [`DataCheck`](pgdyno_model::document::DataCheck): what must hold of the data.
pub const CHECKS: &str = "checks";
pub const DISTURBED: &str = "disturbed";
/// A list of [`PackFigure`](pgdyno_model::document::PackFigure): what the pack makes of it.
pub const FIGURES: &str = "figures";
/// [`Staleness`](pgdyno_model::document::Staleness): how stale reads were at standbys.
pub const STALENESS: &str = "staleness";
/// [`IsolationCheck`](pgdyno_model::document::IsolationCheck), or why there is none: what its history shows.
pub const ISOLATION: &str = "isolation";
/// [`KeySkew`](pgdyno_model::document::KeySkew): what its draws came to.
pub const KEY_SKEW: &str = "key_skew";

/// Keeps one, `at_us` microseconds after its clients began.
///
/// # Errors
/// The store cannot be written.
pub fn write(
    db: &Db,
    number: i64,
    at_us: u64,
    kind: &str,
    value: &impl Serialize,
) -> db::Result<()> {
    happening::tell(
        db,
        number,
        at_us,
        kind,
        &serde_json::json!(value).to_string(),
    )
}

/// Reads one, if there is any that this version understands.
///
/// # Errors
/// The store cannot be read.
pub fn read<T: DeserializeOwned>(db: &Db, number: i64, kind: &str) -> db::Result<Option<T>> {
    let text = happening::text_of(db, number, kind)?;
    Ok(text.and_then(|text| serde_json::from_str(&text).ok()))
}
