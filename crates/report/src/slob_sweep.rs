//! What a sweep of `pgdyno slob sweep` came to, as a document: a row a point, where the caches end and
//! what a logical read costs on each level.

mod answer;
mod sections;

pub(super) use sections::{end_words, levels};

use std::collections::BTreeMap;

use pgdyno_measurement::Latencies;
use pgdyno_stats::{CacheFit, SetPoint};
use serde_json::{Value, json};

use super::lab::{Lab, Trials};
use super::over::Over;
use crate::page::slob_sweep::document;
use pgdyno_model::document::Accounting;
use pgdyno_model::document::answer::Answer;
use pgdyno_model::document::section::Section;
use pgdyno_model::document::slob_sweep::{ReadCosts, SlobCaches, SlobPoint, SlobSweepResult};
use pgdyno_model::{Outcome, State};
use pgdyno_spec::Failure;
use pgdyno_spec::experiment::slob_sweep::{Room, SlobVary};

/// The results, as trials come in.
pub struct Results {
    pub(super) vary: SlobVary,
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
    pub fn new(vary: SlobVary, room: Room) -> Self {
        Self {
            vary,
            room,
            points: BTreeMap::new(),
        }
    }

    pub fn add(&mut self, over: &Over<'_>) {
        let value = self.vary.of(&over.point).as_u64();
        let point = self.points.entry(value.unwrap_or(0)).or_default();
        match over.outcome.filter(|_| over.state == State::Complete) {
            None => point.failed += 1,
            Some(outcome) => {
                point.numbers.extend(over.number);
                point.accounts.extend(outcome.findings.get());
                for units in &outcome.recording.measured.all().units {
                    point.units.merge(&units.latencies);
                }
            }
        }
    }

    fn fit(&self) -> CacheFit {
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

    pub fn document(&self) -> SlobSweepResult {
        let points = self.points.iter().map(|(value, point)| SlobPoint {
            value: *value,
            size_bytes: (self.vary == SlobVary::Size).then_some(value * self.room.block),
            liops: point.median(Accounting::liops),
            hit_ratio: point.median(Accounting::hit_ratio),
            misses_per_s: point.median(Accounting::misses_per_s),
            device_reads_per_s: point.median(Accounting::device_reads_per_s),
            us_per_logical_read: point.median(Accounting::us_per_logical_read),
            cpu_us_per_logical_read: point.median(Accounting::cpu_us_per_logical_read),
            cores_busy: point.median(Accounting::cores_busy),
            wal_bytes_per_s: point.median(Accounting::wal_bytes_per_s),
            unit_p99_us: point.units.percentile_us(99.0),
            failed: point.failed,
            trials: point.accounts.iter().map(Into::into).collect(),
        });
        SlobSweepResult {
            sweep: self.vary,
            points: points.collect(),
            caches: (self.vary == SlobVary::Size).then(|| self.caches()),
        }
    }

    /// Where the caches end, of a sweep of sizes.
    pub(super) fn caches(&self) -> SlobCaches {
        let fit = self.fit();
        SlobCaches {
            shared_buffers_bytes: self.room.shared_buffers,
            memory_bytes: self.room.memory,
            shared_buffers_end: fit.first_end.map(Into::into),
            shared_buffers_keeps_bytes: fit.first_keeps_bytes,
            page_cache_end: fit.second_end.map(Into::into),
            page_cache_keeps_bytes: fit.second_keeps_bytes,
            read_us: ReadCosts {
                shared_buffers: fit.first_us,
                page_cache: fit.second_us,
                device: fit.device_us,
            },
        }
    }
}

impl Lab for Results {
    fn facts(&self) -> Option<(&'static str, Value)> {
        Some(("slob", json!(document(self))))
    }

    fn title(&self, _: &str) -> String {
        format!("SLOB: logical reads by {}", document(self).x.title)
    }

    fn answer(&self) -> Option<Answer> {
        answer::answer(&document(self))
    }

    fn sections(&self) -> Vec<Section> {
        sections::sections(self, &document(self))
    }
}

/// The sweep of these trials; `None`: none of them says what varies, or knows its server.
///
/// # Errors
/// The store cannot be read.
pub fn lab(trials: &Trials<'_>) -> Result<Option<Results>, Failure> {
    let definition = trials.definition();
    let points = definition["points"]
        .as_array()
        .map_or(&[][..], Vec::as_slice);
    let Some(vary) = SlobVary::in_points(points) else {
        return Ok(None);
    };
    let mut results: Option<Results> = None;
    trials.each_with(|over, outcome| {
        if results.is_none() {
            results = room(outcome).map(|room| Results::new(vary, room));
        }
        if let Some(results) = &mut results {
            results.add(&over);
        }
    })?;
    Ok(results)
}

/// What a trial knows of its server.
fn room(outcome: &Outcome) -> Option<Room> {
    let facts = &outcome.facts;
    let is_here = facts.same_host.known().is_some_and(|here| *here);
    let accounting: Accounting = outcome.findings.get()?;
    let counters = accounting.buffers.known()?;
    Some(Room {
        shared_buffers: *facts.shared_buffers_bytes.known()?,
        block: counters.block_bytes,
        memory: outcome.host.memory_bytes.filter(|_| is_here),
        disk_free: None,
        cpus: is_here.then_some(outcome.host.cpus),
    })
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

#[cfg(test)]
mod tests {
    use super::*;
    use pgdyno_model::Fact;
    use pgdyno_model::document::accounting::example::example as accounting;

    const MB: u64 = 1 << 20;

    /// A set of so many blocks over 64 MB of shared_buffers, a miss costing 9 µs more than 1.
    fn at(blocks: u64) -> Accounting {
        let missed = (1.0 - 64.0 * MB as f64 / (blocks * 8192) as f64).max(0.0);
        let mut it = accounting();
        let Fact::Known(buffers) = &mut it.buffers else {
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
        let mut results = Results::new(SlobVary::Size, room);
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
        let document = results.document();
        let text = crate::lab::text(&results, 120);
        let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
        for part in [
            "active set",
            "32 MB",
            "shared_buffers: 64 MB fit, 128 MB do not; larger sets find 64 MB kept (is 64 MB).",
            "page cache: 256 MB fit; the cache is larger (memory is 1 GB).",
            "a logical read: 1.00 µs from shared_buffers, 10.00 µs from the page cache.",
        ] {
            assert!(text.contains(part), "{part}\n{text}");
        }
        let json = serde_json::to_value(&document).unwrap();
        assert_eq!(
            json["caches"]["shared_buffers_end"]["fits_bytes"],
            64.0 * MB as f64
        );
        assert!(json["points"][3]["liops"].as_f64().unwrap() > 0.0);
        assert!(json["points"][0]["unit_p99_us"].as_u64().is_some());
    }

    #[test]
    fn points_without_figures_have_dashes_and_failures_are_listed() {
        let mut results = results(&[4096]);
        results.points.entry(8192).or_default().failed = 1;
        let text = crate::lab::text(&results, 120);
        assert!(text.contains("64 MB") && text.contains('–'), "{text}");
        assert!(text.contains("1 trials failed"), "{text}");
    }
}
