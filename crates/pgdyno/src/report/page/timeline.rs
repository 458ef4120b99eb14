//! The seconds of a trial, column by column, all scripts together.

use std::collections::BTreeMap;

use pgdyno_drive::record::{Latencies, Packed, ScriptSecond, Second};
use serde_json::{Value, json};

use super::histogram::Shared;

/// The columns; `rate` is what the schedule asked for a second.
pub fn timeline(seconds: &[Second], rate: Option<f64>) -> Value {
    let column = |of: fn(&ScriptSecond) -> u64| -> Vec<u64> {
        let sum = |second: &Second| second.scripts.iter().map(of).sum();
        seconds.iter().map(sum).collect()
    };
    let merged = |of: fn(&ScriptSecond) -> Option<&Packed>| -> Vec<Latencies> {
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
    let has_response = response.is_some();
    let lists: Vec<Vec<Latencies>> = [service].into_iter().chain(response).collect();
    let shared = Shared::of(&lists);
    let mut timeline = json!({
        "start_us": seconds.iter().map(|s| s.start_us).collect::<Vec<_>>(),
        "length_us": seconds.iter().map(|s| s.length_us).collect::<Vec<_>>(),
        "committed": column(|script| script.counts.committed),
        "failed": column(|script| script.counts.failed_total()),
        "skipped": column(|script| script.counts.skipped),
        "unknown": column(|script| script.counts.unknown),
        "late": column(|script| script.counts.late),
        "retries": column(|script| script.counts.retries),
        "service_max_us": service_max_us,
        "buckets_us": shared.buckets_us,
        "resolution": shared.resolution,
        "service": shared.lists[0],
    });
    if seconds.iter().any(|second| second.warmup) {
        let warmup = seconds.iter().map(|second| u8::from(second.warmup));
        timeline["warmup"] = warmup.collect();
    }
    if let Some(rate) = rate {
        let due = seconds.iter().map(|s| rate * s.length_us as f64 / 1e6);
        timeline["due"] = due.collect();
    }
    if has_response {
        timeline["response"] = json!(shared.lists[1]);
        timeline["response_max_us"] = json!(response_max_us);
    }
    let classes = failed_by_class(seconds);
    if !classes.is_empty() {
        timeline["failed_by_class"] = json!(classes);
    }
    let scripts = seconds.iter().map(|second| second.scripts.len()).max();
    if let Some(scripts) = scripts.filter(|scripts| *scripts > 1) {
        let of = |script: usize| -> Vec<u64> {
            let committed = |second: &Second| {
                let script = second.scripts.get(script);
                script.map_or(0, |script| script.counts.committed)
            };
            seconds.iter().map(committed).collect()
        };
        timeline["committed_by_script"] = (0..scripts).map(of).collect();
    }
    timeline
}

fn failed_by_class(seconds: &[Second]) -> Vec<Value> {
    let mut classes = BTreeMap::<String, Vec<u64>>::new();
    for (at, second) in seconds.iter().enumerate() {
        for (class, count) in second.scripts.iter().flat_map(|s| &s.counts.failed) {
            let counts = classes.entry(class.code().to_owned());
            counts.or_insert_with(|| vec![0; seconds.len()])[at] += count;
        }
    }
    let classes = classes.into_iter();
    classes
        .map(|(name, count)| json!({ "name": name, "count": count }))
        .collect()
}
