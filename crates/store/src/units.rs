//! Work units of a trial, second by second.

use std::collections::BTreeMap;

use super::packed::{self, whole};
use crate::db::{self, Db, Value, params};
use pgdyno_measurement::{PackedUnits, Second};

/// Writes the operations that a trial counts, by their numbers.
///
/// # Errors
/// The store cannot be written.
pub fn begin(connection: &Db, number: i64, operations: &[String]) -> db::Result<()> {
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
pub fn operations(connection: &Db, number: i64) -> db::Result<Vec<String>> {
    let sql = "SELECT name FROM operation WHERE trial = ? ORDER BY operation";
    connection
        .prepare(sql)
        .query_map([number], |row| row.get(0))
}

/// Writes those of a second.
///
/// # Errors
/// The store cannot be written.
pub fn write(connection: &Db, number: i64, second: &Second) -> db::Result<()> {
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
            connection.execute(&sql, row)?;
        }
    }
    Ok(())
}

/// All of a trial that began at `from_us` or later, by start, whether that is warm-up, and script; then by operation.
///
/// # Errors
/// The store cannot be read.
pub fn read(
    connection: &Db,
    number: i64,
    from_us: i64,
) -> db::Result<BTreeMap<(u64, bool, u64), Vec<PackedUnits>>> {
    let select = connection.prepare(
        "SELECT start_us, warmup, script, operation, rows, latency_sum_us, \
         latency_sum_squares_us2, latency_max_us, latency_histogram \
         FROM unit WHERE trial = ? AND start_us >= ? ORDER BY operation",
    );
    let mut all: BTreeMap<_, Vec<PackedUnits>> = BTreeMap::new();
    select.each(params![number, from_us], |row| {
        let units = all.entry((row.get(0)?, row.get(1)?, row.get(2)?));
        let units = units.or_default();
        let operation: usize = row.get(3)?;
        let none = || pgdyno_measurement::Units::default().pack();
        units.resize_with(operation.max(units.len()), none);
        units.push(PackedUnits {
            rows: row.get(4)?,
            latencies: packed::read_latencies(row, 5)?.pack(),
        });
        Ok(())
    })?;
    Ok(all)
}
