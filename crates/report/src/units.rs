//! Work units in the terminal.

use super::latency_table::{cells, heading};
use super::table::Table;
use pgdyno_model::document::UnitFigures;
use pgdyno_spec::text as figures;

/// A row an operation; nothing where none were counted.
pub fn text(units: &[UnitFigures], width: usize) -> String {
    if units.is_empty() {
        return String::new();
    }
    let mut table = Table::default();
    let mut columns = heading("work unit, ms");
    columns.splice(2..2, ["units/s", "rows/s"].map(str::to_owned));
    table.row(columns);
    for units in units {
        let mut row = cells(&units.operation, &units.latency);
        let rates = [units.units_per_s, units.rows_per_s];
        row.splice(2..2, rates.map(figures::rate));
        table.row(row);
    }
    table.text(width)
}
