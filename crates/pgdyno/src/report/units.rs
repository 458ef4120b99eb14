//! Work units: in the terminal and for programs.

use pgdyno_drive::record::{Recording, Units};
use serde_json::{Value, json};

use super::json::latency;
use super::summary::{heading_of_latencies, latency_cells};
use super::table::Table;
use pgdyno_model::text as figures;

/// Those of the measured time, a row an operation; nothing where none were counted.
pub fn text(recording: &Recording, width: usize) -> String {
    let all = recording.measured.all().units;
    let elapsed_us = recording.measured.elapsed_us;
    let mut table = Table::default();
    let mut heading = heading_of_latencies("work unit, ms");
    heading.splice(2..2, ["units/s", "rows/s"].map(str::to_owned));
    table.row(heading);
    let mut has_any = false;
    for (name, units) in recording.operations.iter().zip(&all) {
        if units.count() == 0 {
            continue;
        }
        has_any = true;
        let mut cells = latency_cells(name, &units.latencies);
        let rates = [units.count(), units.rows].map(|number| rate(number, elapsed_us));
        cells.splice(2..2, rates.map(figures::rate));
        table.row(cells);
    }
    match has_any {
        true => table.text(width),
        false => String::new(),
    }
}

/// What a list of units by operation is for programs.
pub fn json(operations: &[String], units: &[Units], elapsed_us: u64) -> Value {
    let units = operations.iter().zip(units);
    let units = units.filter(|(_, units)| units.count() > 0);
    let units = units.map(|(operation, units)| {
        json!({
            "operation": operation,
            "units": units.count(),
            "units_per_s": rate(units.count(), elapsed_us),
            "rows": units.rows,
            "rows_per_s": rate(units.rows, elapsed_us),
            "latency": latency(&units.latencies),
        })
    });
    units.collect()
}

fn rate(number: u64, elapsed_us: u64) -> f64 {
    number as f64 * 1e6 / elapsed_us.max(1) as f64
}
