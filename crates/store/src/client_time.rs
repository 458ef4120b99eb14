//! Where clients were, second by second, and what the generator added to their latencies.

use std::collections::BTreeMap;

use super::packed;
use crate::db::{self, Db, Optional, Value, params};
use pgdyno_measurement::{Added, ClientTime, Recording, Second};

/// By start, and whether that is warm-up.
pub type ByStart = BTreeMap<(u64, bool), ClientTime>;

/// Keeps those of a second.
pub fn write(connection: &Db, number: i64, second: &Second) -> db::Result<()> {
    let mut row = vec![
        Value::Integer(number),
        packed::whole(second.start_us),
        Value::Integer(second.warmup.into()),
    ];
    row.extend(second.time.numbers().map(packed::whole));
    let places = vec!["?"; row.len()].join(", ");
    let sql = format!("INSERT INTO client_time VALUES ({places})");
    connection.execute(&sql, row)?;
    Ok(())
}

/// Those of all seconds of a trial that began at `from_us` or later.
pub fn read(connection: &Db, number: i64, from_us: i64) -> db::Result<ByStart> {
    let mut all = ByStart::new();
    connection.each(
        "SELECT * FROM client_time WHERE trial = ? AND start_us >= ?",
        params![number, from_us],
        |row| {
            let mut numbers = [0; ClientTime::NUMBERS];
            for (at, number) in numbers.iter_mut().enumerate() {
                *number = row.get(at + 3)?;
            }
            all.insert(
                (row.get(1)?, row.get(2)?),
                ClientTime::from_numbers(numbers),
            );
            Ok(())
        },
    )?;
    Ok(all)
}

/// Keeps what the generator added.
pub fn write_added(connection: &Db, number: i64, recording: &Recording) -> db::Result<()> {
    let added = &recording.added;
    let mut row = vec![Value::Integer(number)];
    for latencies in [&added.shown, &added.without, &added.without_max] {
        row.extend(packed::columns(Some(&latencies.pack())));
    }
    let places = vec!["?"; row.len()].join(", ");
    let sql = format!("INSERT INTO added VALUES ({places})");
    connection.execute(&sql, row)?;
    Ok(())
}

/// What was kept of it.
pub fn read_added(connection: &Db, number: i64) -> db::Result<Added> {
    let sql = "SELECT * FROM added WHERE trial = ?";
    let found = connection.query_row(sql, [number], |row| {
        Ok(Added {
            shown: packed::read_latencies(row, 1)?,
            without: packed::read_latencies(row, 5)?,
            without_max: packed::read_latencies(row, 9)?,
        })
    });
    found.optional().map(Option::unwrap_or_default)
}
