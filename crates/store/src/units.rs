//! Work units of a trial, second by second.

use std::collections::BTreeMap;

use pgdyno_drive::record::{PackedUnits, Second};
use rusqlite::types::Value;
use rusqlite::{Connection, params, params_from_iter};

use super::packed::{self, whole};

/// Writes the operations that a trial counts, by their numbers.
///
/// # Errors
/// The store cannot be written.
pub fn begin(connection: &Connection, number: i64, operations: &[String]) -> rusqlite::Result<()> {
    for (operation, name) in operations.iter().enumerate() {
        connection.execute(
            "INSERT INTO operation VALUES (?, ?, ?)",
            params![number, operation, name],
        )?;
    }
    Ok(())
}

/// The operations that a trial counts.
///
/// # Errors
/// The store cannot be read.
pub fn operations(connection: &Connection, number: i64) -> rusqlite::Result<Vec<String>> {
    let sql = "SELECT name FROM operation WHERE trial = ? ORDER BY operation";
    let mut select = connection.prepare_cached(sql)?;
    select.query_map([number], |row| row.get(0))?.collect()
}

/// Writes those of a second.
///
/// # Errors
/// The store cannot be written.
pub fn write(connection: &Connection, number: i64, second: &Second) -> rusqlite::Result<()> {
    for (script, of_script) in second.scripts.iter().enumerate() {
        for (operation, units) in of_script.units.iter().enumerate() {
            let count = units.unpack().count();
            if count == 0 {
                continue;
            }
            let mut row = vec![
                Value::Integer(number),
                whole(second.start_us),
                Value::Integer(second.warmup.into()),
                whole(script as u64),
                whole(operation as u64),
                whole(count),
                whole(units.rows),
            ];
            row.extend(packed::columns(Some(&units.latencies)));
            let places = vec!["?"; row.len()].join(", ");
            let sql = format!("INSERT INTO unit VALUES ({places})");
            let mut insert = connection.prepare_cached(&sql)?;
            insert.execute(params_from_iter(row))?;
        }
    }
    Ok(())
}

/// All of a trial, by start, whether that is warm-up, and script; then by operation.
///
/// # Errors
/// The store cannot be read.
pub fn read(
    connection: &Connection,
    number: i64,
) -> rusqlite::Result<BTreeMap<(u64, bool, u64), Vec<PackedUnits>>> {
    let mut select = connection.prepare_cached(
        "SELECT start_us, warmup, script, operation, rows, latency_sum_us, \
         latency_sum_squares_us2, latency_max_us, latency_histogram \
         FROM unit WHERE trial = ? ORDER BY operation",
    )?;
    let mut rows = select.query([number])?;
    let mut all: BTreeMap<_, Vec<PackedUnits>> = BTreeMap::new();
    while let Some(row) = rows.next()? {
        let units = all.entry((row.get(0)?, row.get(1)?, row.get(2)?));
        let units = units.or_default();
        let operation: usize = row.get(3)?;
        let none = || pgdyno_drive::record::Units::default().pack();
        units.resize_with(operation.max(units.len()), none);
        units.push(PackedUnits {
            rows: row.get(4)?,
            latencies: packed::read_latencies(row, 5)?.pack(),
        });
    }
    Ok(all)
}
