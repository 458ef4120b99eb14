//! Rows of latencies in the terminal, in milliseconds.

use pgdyno_model::document::Latency;
use pgdyno_model::text::{self as figures, PERCENTILES};

/// What a table of latencies has over its columns.
pub fn heading(first: &str) -> Vec<String> {
    let percentiles = PERCENTILES.map(figures::percentile_name);
    let names = [first, "count", "mean"].map(str::to_owned).into_iter();
    names.chain(percentiles).chain(["max".to_owned()]).collect()
}

/// A row of such a table; a dash where too few values lie beyond a percentile.
pub fn cells(name: &str, latency: &Latency) -> Vec<String> {
    let ms = |us: Option<u64>| us.map_or_else(|| "–".to_owned(), figures::ms);
    let mean = latency.mean_us;
    let mean = mean.map_or_else(|| "–".to_owned(), figures::ms_precisely);
    let mut cells = vec![name.to_owned(), figures::count(latency.count), mean];
    cells.extend(latency.percentiles_us().map(ms));
    cells.push(ms(latency.max_us));
    cells
}
