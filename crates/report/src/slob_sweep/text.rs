//! A sweep of slob for people: a row a point, and where the caches end.

use pgdyno_model::document::{
    slob_sweep::CacheEnd, slob_sweep::ReadCosts, slob_sweep::SlobCaches, slob_sweep::SlobPoint,
    slob_sweep::SlobSweepResult,
};
use pgdyno_spec::experiment::slob_sweep::SlobVary;

use crate::table::Table;
use pgdyno_spec::text as figures;

/// The table, and for sizes where the caches end.
pub fn text(sweep: &SlobSweepResult, width: usize) -> String {
    let mut table = Table::default();
    let first = match sweep.sweep {
        SlobVary::Size => "active set",
        SlobVary::Sessions => "sessions",
        SlobVary::Reads => "reads",
    };
    table.row([
        first,
        "LIOPS",
        "hit %",
        "misses/s",
        "device reads/s",
        "µs a read",
        "CPU µs",
        "cores",
        "log MB/s",
        "unit p99 ms",
    ]);
    let rate = |of: Option<f64>| dash(of, figures::rate);
    let fine = |of: Option<f64>| dash(of, |value| format!("{value:.2}"));
    for point in &sweep.points {
        table.row([
            name(sweep.sweep, point),
            rate(point.liops),
            fine(point.hit_ratio.map(|share| share * 100.0)),
            rate(point.misses_per_s),
            rate(point.device_reads_per_s),
            fine(point.us_per_logical_read),
            fine(point.cpu_us_per_logical_read),
            fine(point.cores_busy),
            fine(point.wal_bytes_per_s.map(|bytes| bytes / (1 << 20) as f64)),
            point
                .unit_p99_us
                .map_or_else(|| "–".to_owned(), figures::ms),
        ]);
    }
    let mut text = table.text(width);
    let failed: u32 = sweep.points.iter().map(|point| point.failed).sum();
    if failed > 0 {
        text += &format!("{failed} trials failed and are not in the figures\n");
    }
    if let Some(caches) = &sweep.caches {
        text += &format!("\n{}", ends(caches));
    }
    text
}

fn name(sweep: SlobVary, point: &SlobPoint) -> String {
    match sweep {
        SlobVary::Size => figures::bytes(point.size_bytes.unwrap_or(0) as f64),
        SlobVary::Sessions => figures::count(point.value),
        SlobVary::Reads => format!("{} %", 100 - point.value.min(100)),
    }
}

/// Where the caches end, in words.
fn ends(caches: &SlobCaches) -> String {
    let mut text = line(
        "shared_buffers",
        caches.shared_buffers_end,
        caches.shared_buffers_keeps_bytes,
        &format!("is {}", figures::bytes(caches.shared_buffers_bytes as f64)),
    );
    let memory = match caches.memory_bytes {
        Some(memory) => format!("memory is {}", figures::bytes(memory as f64)),
        None => "memory is not known".to_owned(),
    };
    text += &line(
        "page cache",
        caches.page_cache_end,
        caches.page_cache_keeps_bytes,
        &memory,
    );
    let levels = levels(&caches.read_us);
    if !levels.is_empty() {
        text += &format!("{:<15} {}\n", "a logical read", levels.join(", "));
    }
    text
}

fn dash(value: Option<f64>, text: impl Fn(f64) -> String) -> String {
    value.map_or_else(|| "–".to_owned(), text)
}

fn line(cache: &str, end: Option<CacheEnd>, keeps: Option<f64>, known: &str) -> String {
    format!("{cache:<15} {} ({known})\n", end_words(end, keeps))
}

/// Where a cache ends, in words.
pub fn end_words(end: Option<CacheEnd>, keeps: Option<f64>) -> String {
    let size = figures::bytes;
    let ends = end.map(|end| (end.fits_bytes, end.spills_bytes));
    let mut text = match ends {
        None | Some((None, None)) => "size not known".to_owned(),
        Some((Some(fits), Some(spills))) => {
            format!("{} fit, {} do not", size(fits), size(spills))
        }
        Some((None, Some(least))) => format!("{} do not fit; measure smaller sets", size(least)),
        Some((Some(most), None)) => {
            format!("{} fit; the cache is larger", size(most))
        }
    };
    if let Some(keeps) = keeps {
        text += &format!("; larger sets find {} kept", size(keeps));
    }
    text
}

/// What a logical read costs on each level that is known.
pub fn levels(costs: &ReadCosts) -> Vec<String> {
    let levels = [
        ("shared_buffers", costs.shared_buffers),
        ("the page cache", costs.page_cache),
        ("the device", costs.device),
    ];
    let levels = levels
        .into_iter()
        .filter_map(|(from, us)| Some(format!("{:.2} µs from {from}", us?)));
    levels.collect()
}
