//! What became of transactions by the time at which they were to start, as an event of their trial, in
//! JSON: slots of 100 ms, those that have something in them.

use pgdyno_measurement::{PackedSlot, Slots};
use serde::{Deserialize, Serialize};

use crate::db::{self, Db};
use crate::happening;

const KIND: &str = "slots";

#[derive(Serialize, Deserialize)]
struct StoredSlots {
    within_us: Option<u64>,
    /// Of each its number; due, skipped, failed, unknown, within the limit, commits, errors; the first
    /// commit and the first error; commits by response time.
    slots: Vec<PackedSlot>,
}

/// Keeps them.
///
/// # Errors
/// The store cannot be written.
pub fn write(connection: &Db, number: i64, slots: &Slots) -> db::Result<()> {
    let kept = StoredSlots {
        within_us: slots.within_us,
        slots: slots.pack(),
    };
    let text = serde_json::json!(kept).to_string();
    happening::tell(connection, number, 0, KIND, &text)
}

/// Reads them, if there are any.
///
/// # Errors
/// The store cannot be read.
pub fn read(connection: &Db, number: i64) -> db::Result<Option<Slots>> {
    let text = happening::text_of(connection, number, KIND)?;
    let kept: Option<StoredSlots> = text.and_then(|text| serde_json::from_str(&text).ok());
    Ok(kept.map(|kept| Slots::unpack(kept.within_us, kept.slots)))
}
