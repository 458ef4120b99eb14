//! Times without service: into the store and out of it.

use super::packed::whole;
use crate::db::{self, Db, params};
use pgdyno_drive::record::{Recording, Stall};

/// Writes a row each.
///
/// # Errors
/// The store cannot be written.
pub fn write(connection: &Db, number: i64, recording: &Recording) -> db::Result<()> {
    for stall in &recording.stalls {
        connection.execute(
            "INSERT INTO stall VALUES (?, ?, ?)",
            params![number, whole(stall.start_us), whole(stall.length_us)],
        )?;
    }
    Ok(())
}

/// Reads them back, in their order.
///
/// # Errors
/// The store cannot be read.
pub fn read(connection: &Db, number: i64) -> db::Result<Vec<Stall>> {
    let select = connection
        .prepare("SELECT start_us, length_us FROM stall WHERE trial = ? ORDER BY start_us");
    select.query_map([number], |row| {
        Ok(Stall {
            start_us: row.get(0)?,
            length_us: row.get(1)?,
        })
    })
}
