//! The points of an experiment: what `pgdyno show --experiment NAME --json` prints.

use std::collections::BTreeMap;

use serde::Serialize;
use serde_json::Value;

use super::Interval;
use super::answer::Answer;
use super::capacity::Capacity;
use super::repeats::{LatencyKind, Repeat, Spread};
use crate::{Note, NoteOfTrials};
use pgdyno_spec::{experiment::Kind, text};

/// What an experiment came to, point by point.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct Points {
    pub experiment: ExperimentName,
    /// What it says, in one sentence; `None`: nothing was measured that says anything.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(test, ts(optional))]
    pub answer: Option<Answer>,
    pub points: Vec<PointResult>,
    /// Numbers of the trials that found the maximum for others' rates: no points of their own.
    pub maxima: Vec<i64>,
    /// How much load keeps the limit, where that was asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(test, ts(optional))]
    pub capacity: Option<Capacity>,
}

/// An experiment of the notebook.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct ExperimentName {
    /// Its number in the notebook.
    pub number: i64,
    pub uuid: String,
    pub name: String,
    /// Which answer is looked for in it.
    pub kind: Kind,
    /// When it was begun, UTC.
    pub created: String,
}

/// The repeats of one workload with the same values for all that varies.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct PointResult {
    pub title: String,
    /// What varies: values by path (`params.scale`).
    #[cfg_attr(test, ts(type = "Record<string, unknown>"))]
    pub varied: BTreeMap<String, Value>,
    pub workload: String,
    #[cfg_attr(test, ts(type = "unknown"))]
    pub point: Option<Value>,
    /// The isolation level at which its transactions really ran; `null` where that is not known, or not
    /// the same for all.
    pub isolation_in_effect: Option<String>,
    pub repeats: usize,
    /// The trials that count, in the order in which they were run.
    pub trials: Vec<Repeat>,
    /// Those that do not count.
    pub left_out: Vec<LeftOut>,
    /// Which latencies the percentiles are of.
    pub latency: LatencyKind,
    /// `goodput` (1/s), `p50`, `p90`, `p95`, `p99`, `p99.9` (µs).
    pub figures: BTreeMap<String, PointFigure>,
    /// Transactions of all trials that count.
    pub committed: u64,
    pub failed: u64,
    pub retries: u64,
    /// Repeats that lie far from the others; they count all the same.
    pub outliers: Vec<Outlier>,
    /// What is noted of repeats that were not steady; they count too.
    pub unsteady: Vec<Unsteady>,
    /// What happened in some repeats and not in others.
    pub uneven: Vec<Note>,
    /// Other validity notes on the repeats, warnings and serious ones.
    pub notes: Vec<NoteOfTrials>,
}

/// A figure of a point.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct PointFigure {
    /// `null`: a repeat lacks it.
    pub over_repeats: Option<Spread>,
    /// Of a percentile: that of all repeats' transactions together, `null` with too few of them.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(test, ts(optional))]
    pub together_us: Option<Option<u64>>,
    /// The 95 % interval of [`Self::together_us`], from the whole seconds of all repeats.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(test, ts(optional))]
    pub interval: Option<Interval>,
}

impl PointFigure {
    /// A percentile of all repeats' transactions together, as `write` shows microseconds, with the mark of doubt; a dash
    /// with too few of them.
    pub fn percentile(&self, write: impl Fn(f64) -> String) -> String {
        match self.together_us.flatten() {
            Some(us) => Interval::marked(write(us as f64), self.interval.as_ref()),
            None => text::DASH.to_owned(),
        }
    }
}

/// A trial that does not count.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct LeftOut {
    /// Its number in the notebook.
    pub trial: i64,
    /// Which repeat it was to be.
    pub repeat: Option<u32>,
    /// `excluded: a backup was running`, `failed: no connection`.
    pub why: String,
}

/// A repeat that lies far from the others.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct Outlier {
    pub figure: String,
    /// Its number in the notebook.
    pub trial: i64,
    pub repeat: Option<u32>,
    pub value: f64,
    pub modified_z_score: f64,
}

/// A note on a repeat's warm-up or steadiness.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct Unsteady {
    /// Its number in the notebook.
    pub trial: i64,
    pub repeat: Option<u32>,
    pub code: String,
    pub sentence: String,
}
