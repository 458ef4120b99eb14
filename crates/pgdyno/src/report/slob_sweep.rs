//! What a sweep of `pgdyno slob sweep` came to: a row a point, where the caches end and what a
//! logical read costs on each level.

use std::collections::BTreeMap;

use pgdyno_drive::record::Latencies;
use pgdyno_stats::{CacheEnd, CacheFit, SetPoint};
use serde_json::{Value, json};

use super::over::Over;
use super::table::Table;
use crate::plan::experiment::slob_sweep::{Room, Vary};

use pgdyno_model::document::{Accounted, Accounting};
use pgdyno_model::{State, text as figures};

/// The results, as trials come in.
pub struct Results {
    pub(super) vary: Vary,
    pub(super) room: Room,
    pub(super) points: BTreeMap<u64, Point>,
}

/// The repeats of a point.
#[derive(Default)]
pub(super) struct Point {
    /// Their numbers, when they are from the store.
    pub(super) numbers: Vec<i64>,
    pub(super) accounts: Vec<Accounting>,
    /// Work units of all of them.
    pub(super) units: Latencies,
    failed: u32,
}

impl Results {
    /// None yet.
    pub fn new(vary: Vary, room: Room) -> Self {
        Self {
            vary,
            room,
            points: BTreeMap::new(),
        }
    }

    /// A trial is over.
    pub fn add(&mut self, over: &Over<'_>) {
        let value = self.vary.of(&over.point).as_u64();
        let point = self.points.entry(value.unwrap_or(0)).or_default();
        match over.outcome.filter(|_| over.state == State::Complete) {
            None => point.failed += 1,
            Some(outcome) => {
                point.numbers.extend(over.number);
                point.accounts.extend(outcome.accounting.clone());
                for units in &outcome.recording.measured.all().units {
                    point.units.merge(&units.latencies);
                }
            }
        }
    }

    /// The table, and for sizes where the caches end.
    pub fn text(&self, width: usize) -> String {
        let mut table = Table::default();
        let first = match self.vary {
            Vary::Size => "active set",
            Vary::Sessions => "sessions",
            Vary::Reads => "reads",
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
        for (value, point) in &self.points {
            let rate = |of: fn(&Accounting) -> Option<f64>| dash(point.median(of), figures::rate);
            let fine = |of: fn(&Accounting) -> Option<f64>| {
                dash(point.median(of), |value| format!("{value:.2}"))
            };
            let percent = |value: f64| format!("{:.2}", value * 100.0);
            table.row([
                self.name(*value),
                rate(Accounting::liops),
                dash(point.median(Accounting::hit_ratio), percent),
                rate(Accounting::misses_per_s),
                rate(Accounting::device_reads_per_s),
                fine(Accounting::us_per_logical_read),
                fine(Accounting::cpu_us_per_logical_read),
                fine(Accounting::cores_busy),
                dash(point.median(Accounting::wal_bytes_per_s), |v| {
                    format!("{:.2}", v / (1 << 20) as f64)
                }),
                figures::percentile_ms(&point.units, 99.0),
            ]);
        }
        let mut text = table.text(width);
        let failed: u32 = self.points.values().map(|point| point.failed).sum();
        if failed > 0 {
            text += &format!("{failed} trials failed and are in no figure\n");
        }
        if self.vary == Vary::Size {
            text += &format!("\n{}", self.ends());
        }
        text
    }

    fn name(&self, value: u64) -> String {
        match self.vary {
            Vary::Size => figures::bytes((value * self.room.block) as f64),
            Vary::Sessions => figures::count(value),
            Vary::Reads => format!("{} %", 100 - value.min(100)),
        }
    }

    pub(super) fn fit(&self) -> CacheFit {
        let points = self.points.iter().filter_map(|(blocks, point)| {
            Some(SetPoint {
                size_bytes: (blocks * self.room.block) as f64,
                read_us: point.median(Accounting::us_per_logical_read)?,
                missed: point.median(Accounting::miss_ratio)?,
                from_device: point.median(Accounting::device_ratio),
            })
        });
        CacheFit::new(&points.collect::<Vec<_>>())
    }

    /// Where the caches end, in words.
    fn ends(&self) -> String {
        let fit = self.fit();
        let mut text = String::new();
        text += &line(
            "shared_buffers",
            fit.first_end,
            fit.first_keeps_bytes,
            &format!("is {}", figures::bytes(self.room.shared_buffers as f64)),
        );
        let memory = match self.room.memory {
            Some(memory) => format!("memory is {}", figures::bytes(memory as f64)),
            None => "memory is not known".to_owned(),
        };
        text += &line(
            "page cache",
            fit.second_end,
            fit.second_keeps_bytes,
            &memory,
        );
        let levels = levels(&fit);
        if !levels.is_empty() {
            text += &format!("{:<15} {}\n", "a logical read", levels.join(", "));
        }
        text
    }

    /// For programs.
    pub fn to_json(&self) -> Value {
        let points = self.points.iter().map(|(value, point)| {
            let accounts = point.accounts.iter().map(Accounted::from);
            json!({
                "value": value,
                "size_bytes": (self.vary == Vary::Size).then_some(value * self.room.block),
                "liops": point.median(Accounting::liops),
                "hit_ratio": point.median(Accounting::hit_ratio),
                "misses_per_s": point.median(Accounting::misses_per_s),
                "device_reads_per_s": point.median(Accounting::device_reads_per_s),
                "us_per_logical_read": point.median(Accounting::us_per_logical_read),
                "unit_p99_us": point.units.percentile_us(99.0),
                "failed": point.failed,
                "trials": accounts.collect::<Vec<_>>(),
            })
        });
        let fit = self.fit();
        let sizes = (self.vary == Vary::Size).then(|| {
            json!({
                "shared_buffers_bytes": self.room.shared_buffers,
                "memory_bytes": self.room.memory,
                "shared_buffers_end": end_json(fit.first_end),
                "shared_buffers_keeps_bytes": fit.first_keeps_bytes,
                "page_cache_end": end_json(fit.second_end),
                "page_cache_keeps_bytes": fit.second_keeps_bytes,
                "read_us": {
                    "shared_buffers": fit.first_us,
                    "page_cache": fit.second_us,
                    "device": fit.device_us,
                },
            })
        });
        json!({
            "sweep": match self.vary {
                Vary::Size => "size",
                Vary::Sessions => "sessions",
                Vary::Reads => "reads",
            },
            "points": points.collect::<Vec<_>>(),
            "caches": sizes,
        })
    }
}

impl Point {
    /// Over the repeats that know it; `None` when one does not.
    pub(super) fn median(&self, of: impl Fn(&Accounting) -> Option<f64>) -> Option<f64> {
        let mut values: Vec<f64> = self.accounts.iter().map(of).collect::<Option<_>>()?;
        values.sort_by(f64::total_cmp);
        let (low, high) = (values.len().checked_sub(1)? / 2, values.len() / 2);
        Some((values[low] + values[high]) / 2.0)
    }
}

fn dash(value: Option<f64>, text: impl Fn(f64) -> String) -> String {
    value.map_or_else(|| "–".to_owned(), text)
}

fn line(cache: &str, end: Option<CacheEnd>, keeps: Option<f64>, known: &str) -> String {
    format!("{cache:<15} {} ({known})\n", end_words(end, keeps))
}

/// Where a cache ends, in words.
pub(super) fn end_words(end: Option<CacheEnd>, keeps: Option<f64>) -> String {
    let size = figures::bytes;
    let mut text = match end {
        None => "where it ends is not known".to_owned(),
        Some(CacheEnd::Between { fits, spills }) => {
            format!("{} fit, {} do not", size(fits), size(spills))
        }
        Some(CacheEnd::Below(least)) => format!("{} do not fit; measure less", size(least)),
        Some(CacheEnd::Beyond(most)) => {
            format!("{} fit; where it ends lies beyond", size(most))
        }
    };
    if let Some(keeps) = keeps {
        text += &format!("; larger sets find {} kept", size(keeps));
    }
    text
}

/// What a logical read costs on each level that is known.
pub(super) fn levels(fit: &CacheFit) -> Vec<String> {
    let levels = [
        ("shared_buffers", fit.first_us),
        ("the page cache", fit.second_us),
        ("the device", fit.device_us),
    ];
    let levels = levels
        .into_iter()
        .filter_map(|(from, us)| Some(format!("{:.2} µs from {from}", us?)));
    levels.collect()
}

fn end_json(end: Option<CacheEnd>) -> Value {
    match end {
        None => Value::Null,
        Some(CacheEnd::Between { fits, spills }) => {
            json!({ "fits_bytes": fits, "spills_bytes": spills })
        }
        Some(CacheEnd::Below(spills)) => json!({ "fits_bytes": null, "spills_bytes": spills }),
        Some(CacheEnd::Beyond(fits)) => json!({ "fits_bytes": fits, "spills_bytes": null }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::accounting::tests::accounting;
    use pgdyno_model::Fact;

    const MB: u64 = 1 << 20;

    /// A set of so many blocks over 64 MB of shared_buffers, a miss costing 9 µs more than 1.
    fn at(blocks: u64) -> Accounting {
        let missed = (1.0 - 64.0 * MB as f64 / (blocks * 8192) as f64).max(0.0);
        let mut it = accounting();
        let Fact::Seen(buffers) = &mut it.buffers else {
            panic!("no counters");
        };
        let reads = 1_000_000.0;
        for (name, grown) in [("blks_hit", 1.0 - missed), ("blks_read", missed)] {
            let before = buffers.before[name];
            buffers
                .after
                .insert(name.to_owned(), before + (grown * reads) as u64);
        }
        it.sessions = 1;
        it.elapsed_us = (reads * (1.0 + 9.0 * missed)) as u64;
        it
    }

    fn results(sizes: &[u64]) -> Results {
        let room = Room {
            shared_buffers: 64 * MB,
            block: 8192,
            memory: Some(1024 * MB),
            disk_free: None,
            cpus: Some(4),
        };
        let mut results = Results::new(Vary::Size, room);
        for blocks in sizes {
            let point = results.points.entry(*blocks).or_default();
            point.accounts.push(at(*blocks));
            (0..2000).for_each(|n| point.units.record(100 + n));
        }
        results
    }

    #[test]
    fn the_ends_of_the_caches_and_the_price_of_a_read_stand_under_the_table() {
        let results = results(&[4096, 8192, 16_384, 32_768]);
        let text = results.text(120);
        for part in [
            "active set",
            "32 MB",
            "shared_buffers  64 MB fit, 128 MB do not; larger sets find 64 MB kept (is 64 MB)",
            "page cache      256 MB fit; where it ends lies beyond (memory is 1 GB)",
            "a logical read  1.00 µs from shared_buffers, 10.00 µs from the page cache",
        ] {
            assert!(text.contains(part), "{part}\n{text}");
        }
        let json = results.to_json();
        assert_eq!(
            json["caches"]["shared_buffers_end"]["fits_bytes"],
            64.0 * MB as f64
        );
        assert!(json["points"][3]["liops"].as_f64().unwrap() > 0.0);
        assert!(json["points"][0]["unit_p99_us"].as_u64().is_some());
    }

    #[test]
    fn points_without_figures_have_dashes_and_failures_are_told() {
        let mut results = results(&[4096]);
        results.points.entry(8192).or_default().failed = 1;
        let text = results.text(120);
        assert!(text.contains("64 MB") && text.contains('–'), "{text}");
        assert!(text.contains("1 trials failed"), "{text}");
    }
}
