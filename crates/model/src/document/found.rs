//! What is found out about a trial beside its figures: how its warm-up ended, what its draws came to,
//! what the server counted.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use pgdyno_spec::Rate;

/// Why a warm-up whose end was to be found came to it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[cfg_attr(test, derive(ts_rs::TS))]
pub enum EndedBy {
    Steady,
    Limit,
    /// The trial ended in it: nothing was measured.
    Trial,
}

/// How such a warm-up ended.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct WarmupEnd {
    #[serde(rename = "ended_by")]
    pub by: EndedBy,
    pub figure: Figure,
    /// At the limit, what was still going on: the change over the later half, as a share of the
    /// median there. `None` where it makes no share.
    pub change: Option<f64>,
}

/// A figure of a second.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[cfg_attr(test, derive(ts_rs::TS))]
pub enum Figure {
    /// Committed transactions a second; where a workload counts work units, units.
    Throughput,
    /// The mean response time of the committed transactions that ended in it, in microseconds; none
    /// of a second in which none did.
    ResponseTime,
}

impl Figure {
    /// The most informative one for a trial at this rate.
    pub fn of_pace(rate: Option<&Rate>) -> Self {
        match rate {
            None => Self::Throughput,
            Some(_) => Self::ResponseTime,
        }
    }

    pub fn name(self) -> &'static str {
        match self {
            Self::Throughput => "throughput",
            Self::ResponseTime => "response time",
        }
    }
}

/// What the draws came to.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct KeySkew {
    pub draws: u64,
    /// Whether the run made more than were replayed.
    pub is_sample: bool,
    pub distinct: u64,
    /// Share of the row that was drawn most, 0 to 1.
    pub hottest_share: f64,
    /// Share of the hundred rows that were drawn most.
    pub hottest_100_share: f64,
}

/// What was counted during a trial, warm-up included.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct ServerCounters {
    /// Where the counters are from, for people.
    pub source: String,
    /// How much each has grown.
    pub counted: BTreeMap<String, u64>,
    /// The sum of those that count what clients retry for, where there are any.
    pub restarts: Option<u64>,
    /// Endpoints whose server was restarted meanwhile: what it counted before that is missing.
    #[serde(default)]
    pub restarted: Vec<String>,
}
