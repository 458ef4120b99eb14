//! Rows of latencies in the terminal, in milliseconds.

use pgdyno_model::document::Latency;
use pgdyno_spec::text::{self as figures, DASH, PERCENTILES};

/// What a table of latencies has over its columns.
pub fn heading(first: &str) -> Vec<String> {
    let percentiles = PERCENTILES.map(figures::percentile_name);
    let names = [first, "count", "mean"].map(str::to_owned).into_iter();
    names.chain(percentiles).chain(["max".to_owned()]).collect()
}

/// A row of such a table; a dash where too few values lie beyond a percentile.
pub fn cells(name: &str, latency: &Latency) -> Vec<String> {
    let mean = latency.mean_us;
    let mean = mean.map_or_else(|| DASH.to_owned(), figures::ms_precisely);
    let max = latency.max_us.map_or_else(|| DASH.to_owned(), figures::ms);
    let mut cells = vec![name.to_owned(), figures::count(latency.count), mean];
    cells.extend(PERCENTILES.map(|percentile| latency.percentile_ms(percentile)));
    cells.push(max);
    cells
}
