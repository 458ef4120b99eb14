//! The seconds of a trial, column by column, all scripts together.

use std::collections::BTreeMap;

use pgdyno_measurement::{Latencies, ScriptSecond, Second};

use super::histogram::{Grid, Shared};
use pgdyno_model::document::Packed;
use pgdyno_model::document::page::{NamedCounts, Timeline};
use pgdyno_model::document::phases::measured_from_us;
use pgdyno_spec::Rate;

/// The columns; `rate` is what the schedule asked for.
pub fn timeline(seconds: &[Second], rate: Option<&Rate>) -> Timeline {
    columns(seconds, rate, Shared::of)
}

/// The same with buckets that do not depend on the seconds, so that those of later ones can be put behind them.
pub fn on_grid(seconds: &[Second], rate: Option<&Rate>, grid: &Grid) -> Timeline {
    let mut timeline = columns(seconds, rate, |lists| grid.shared(lists));
    let warmup = seconds.iter().map(|second| u8::from(second.warmup));
    timeline.warmup = Some(warmup.collect());
    timeline
}

fn columns(
    seconds: &[Second],
    rate: Option<&Rate>,
    share: impl FnOnce(&[Vec<Latencies>]) -> Shared,
) -> Timeline {
    let column = |of: fn(&ScriptSecond) -> u64| -> Vec<u64> {
        let sum = |second: &Second| second.scripts.iter().map(of).sum();
        seconds.iter().map(sum).collect()
    };
    let merged = |of: fn(&ScriptSecond) -> Option<&pgdyno_measurement::Packed>| -> Vec<Latencies> {
        let all = |second: &Second| {
            let mut all = Latencies::default();
            let packed = second.scripts.iter().filter_map(of);
            packed.for_each(|packed| all.merge(&packed.unpack()));
            all
        };
        seconds.iter().map(all).collect()
    };
    let service = merged(|script| Some(&script.service));
    let response = rate.map(|_| merged(|script| script.response.as_ref()));
    let max_us = |list: &[Latencies]| -> Vec<Option<u64>> {
        let max = |one: &Latencies| (one.count() > 0).then(|| one.max_us());
        list.iter().map(max).collect()
    };
    let (service_max_us, response_max_us) = (max_us(&service), response.as_deref().map(max_us));
    let lists: Vec<Vec<Latencies>> = [service].into_iter().chain(response).collect();
    let shared = share(&lists);
    let packed = |list: Vec<Vec<u64>>| list.into_iter().map(Packed).collect();
    let mut lists = shared.lists.into_iter().map(packed);
    let has_warmup = seconds.iter().any(|second| second.warmup);
    let warmup = seconds.iter().map(|second| u8::from(second.warmup));
    let classes = failed_by_class(seconds);
    Timeline {
        start_us: seconds.iter().map(|s| s.start_us).collect(),
        length_us: seconds.iter().map(|s| s.length_us).collect(),
        warmup: has_warmup.then(|| warmup.collect()),
        committed: column(|script| script.counts.committed),
        failed: column(|script| script.counts.failed_total()),
        skipped: column(|script| script.counts.skipped),
        unknown: column(|script| script.counts.unknown),
        late: column(|script| script.counts.late),
        retries: column(|script| script.counts.retries),
        due: rate.map(|rate| due(seconds, rate)),
        service_max_us,
        response_max_us,
        buckets_us: shared.buckets_us,
        resolution: shared.resolution,
        service: lists.next().unwrap_or_default(),
        response: lists.next(),
        retries_by_reason: None,
        failed_by_class: (!classes.is_empty()).then_some(classes),
        committed_by_script: committed_by_script(seconds),
    }
}

/// How many transactions the schedule asked for in each of them.
pub fn due(seconds: &[Second], rate: &Rate) -> Vec<f64> {
    let measured_us = measured_from_us(seconds);
    let since = |us: u64| us as i64 - measured_us as i64;
    let of = |s: &Second| rate.due(since(s.start_us), since(s.start_us + s.length_us));
    seconds.iter().map(of).collect()
}

pub fn committed_by_script(seconds: &[Second]) -> Option<Vec<Vec<u64>>> {
    let scripts = seconds.iter().map(|second| second.scripts.len()).max()?;
    let of = |script: usize| -> Vec<u64> {
        let committed = |second: &Second| {
            let script = second.scripts.get(script);
            script.map_or(0, |script| script.counts.committed)
        };
        seconds.iter().map(committed).collect()
    };
    (scripts > 1).then(|| (0..scripts).map(of).collect())
}

pub fn failed_by_class(seconds: &[Second]) -> Vec<NamedCounts> {
    let mut classes = BTreeMap::<String, Vec<u64>>::new();
    for (at, second) in seconds.iter().enumerate() {
        for (class, count) in second.scripts.iter().flat_map(|s| &s.counts.failed) {
            let counts = classes.entry(class.code().to_owned());
            counts.or_insert_with(|| vec![0; seconds.len()])[at] += count;
        }
    }
    let classes = classes.into_iter();
    classes
        .map(|(name, count)| NamedCounts { name, count })
        .collect()
}
