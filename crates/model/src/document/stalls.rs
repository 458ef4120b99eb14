//! Times without service, and what they would mean for requests that come by themselves.

use pgdyno_drive::record::{self, Recording};
use pgdyno_stats::Arrival;
use serde::Serialize;

use super::Latency;

/// So many are listed.
const LISTED_MAX: usize = 1000;

/// Times without service within the asked duration: from 100 ms on nothing was committed, and that is
/// not usual for the trial (docs/results.md).
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct Stalls {
    /// How many.
    pub count: usize,
    /// Together.
    pub total_us: u64,
    /// The longest.
    pub longest_us: u64,
    /// The share of the asked duration, 0 to 1.
    pub share: f64,
    /// Each, the first thousand.
    pub each: Vec<Stall>,
    /// What a request at a random moment would have taken; `null` without stalls, and with a rate,
    /// where response times say it.
    pub random_arrival: Option<Latency>,
}

/// A time without service.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct Stall {
    /// When it began, in microseconds since clients began to work.
    pub start_us: u64,
    /// Its length.
    pub length_us: u64,
}

impl From<&Recording> for Stalls {
    fn from(recording: &Recording) -> Self {
        let stalls = &recording.stalls;
        let total_us = stalls.iter().map(|stall| stall.length_us).sum();
        let asked_us = recording.measured.asked_us();
        Self {
            count: stalls.len(),
            total_us,
            longest_us: stalls.iter().map(|s| s.length_us).max().unwrap_or(0),
            share: match asked_us {
                0 => 0.0,
                asked_us => total_us as f64 / asked_us as f64,
            },
            each: stalls.iter().take(LISTED_MAX).map(Stall::from).collect(),
            random_arrival: random_arrival(recording),
        }
    }
}

impl From<&record::Stall> for Stall {
    fn from(stall: &record::Stall) -> Self {
        Self {
            start_us: stall.start_us,
            length_us: stall.length_us,
        }
    }
}

fn random_arrival(recording: &Recording) -> Option<Latency> {
    let measured = recording.measured.all();
    if recording.stalls.is_empty() || measured.response.is_some() {
        return None;
    }
    let buckets = measured.service.histogram().buckets();
    let stalls = recording.stalls.iter().map(|stall| stall.length_us as f64);
    let arrival = Arrival::new(
        buckets.map(|bucket| (bucket.middle_us() as f64, bucket.count)),
        &stalls.collect::<Vec<_>>(),
        recording.measured.asked_us() as f64,
        recording.clients.total as u64,
    )?;
    let count = measured.service.count();
    // As of those that it is computed from.
    let percentile = |percent: f64| {
        let is_supported = measured.service.percentile_us(percent).is_some();
        is_supported.then(|| arrival.percentile(percent).round() as u64)
    };
    Some(Latency {
        count,
        mean_us: Some(arrival.mean()),
        stddev_us: None,
        p50_us: percentile(50.0),
        p90_us: percentile(90.0),
        p95_us: percentile(95.0),
        p99_us: percentile(99.0),
        p99_9_us: percentile(99.9),
        max_us: Some(arrival.max().round() as u64),
        intervals: None,
    })
}
