//! What `pgdyno calibrate --self` prints, and how a trial names it.

use pgdyno_model::document::{Ceiling, SelfCalibration};
use pgdyno_spec::text;

use crate::table::{Table, one_line};

/// Where a ceiling comes from: `calibrate --self, 2026-11-23, 2 threads, simple`.
pub fn source(known: &Ceiling, threads: usize) -> String {
    let day = known.calibrated.get(..10).unwrap_or(&known.calibrated);
    format!(
        "calibrate --self, {day}, {}, {}",
        text::plural(threads as u64, "thread"),
        known.query_mode
    )
}

pub fn table(found: &SelfCalibration, width: usize) -> String {
    let cpu = found.host.cpu_model.as_deref().unwrap_or("CPU unknown");
    let mut out = format!(
        "this machine's load generator: {}, {cpu}, {}\n\n",
        text::plural(found.host.cpus as u64, "CPU"),
        found.io
    );
    let mut table = Table::default();
    table.row([
        "query mode",
        "threads",
        "clients",
        "measured/s",
        "CPU µs each",
        "ceiling/s",
        "p50 µs",
        "p99 µs",
    ]);
    for row in &found.rows {
        let latency = |us: Option<u64>| us.map_or_else(|| "–".to_owned(), text::count);
        table.row([
            row.query_mode.clone(),
            text::count(row.threads as u64),
            text::count(row.clients as u64),
            text::count(row.measured_per_s as u64),
            text::fixed(row.cpu_us_per_round_trip, 2),
            text::count(row.ceiling_per_s as u64),
            latency(row.p50_us),
            latency(row.p99_us),
        ]);
    }
    out += &table.text(width);
    out += "round trips of one SELECT to a built-in server that answers at once; ceiling: threads × 1 s / CPU each\n";
    for note in &found.notes {
        let (word, code) = (note.severity.word(), &note.code);
        out += &format!("{word:<9} {code}: {}\n", one_line(&note.sentence));
    }
    out
}
