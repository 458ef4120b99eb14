//! The transactions that took longest: into the store and out of it.

use super::packed::whole;
use crate::db::{self, Db, params};
use pgdyno_measurement::{Recording, SlowTransaction};

/// Writes a row each.
///
/// # Errors
/// The store cannot be written.
pub fn write(connection: &Db, number: i64, recording: &Recording) -> db::Result<()> {
    for (place, slow) in recording.worst.iter().enumerate() {
        connection.execute(
            "INSERT INTO worst VALUES (?, ?, ?, ?, ?, ?)",
            params![
                number,
                place,
                slow.script,
                slow.client,
                whole(slow.ended_us),
                whole(slow.latency_us)
            ],
        )?;
    }
    Ok(())
}

/// Reads them back, the longest first.
///
/// # Errors
/// The store cannot be read.
pub fn read(connection: &Db, number: i64) -> db::Result<Vec<SlowTransaction>> {
    let select = connection.prepare(
        "SELECT script, client, ended_us, latency_us FROM worst WHERE trial = ? ORDER BY place",
    );
    select.query_map([number], |row| {
        Ok(SlowTransaction {
            script: row.get(0)?,
            client: row.get(1)?,
            ended_us: row.get(2)?,
            latency_us: row.get(3)?,
        })
    })
}
