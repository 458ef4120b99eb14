//! The page of a comparison.

use serde::Serialize;

use crate::document::Interval;
use crate::document::answer::Answer;
use crate::document::comparison::{Differing, Drift, Family, Lacking, Says, Verdict};
use crate::document::repeats::{LatencyKind, Spread};
use crate::document::{Common, Gate, Histogram, Packed};

/// Two sets of trials beside each other, point by point.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(test, derive(ts_rs::TS), ts(rename = "CompareData"))]
pub struct ComparePage {
    #[cfg_attr(test, ts(type = "'compare'"))]
    pub kind: &'static str,
    /// What every page begins with.
    #[serde(flatten)]
    pub common: Common,
    /// What comes of all points together; of one point what comes of that.
    pub answer: Answer,
    pub says: Says,
    /// The gate, and what came of it.
    pub gate: Option<Gate>,
    pub a: Side,
    pub b: Side,
    /// A table of differences for each point that both sides have. The first is the page's subject.
    pub pairs: Vec<Pair>,
    /// Points that one side lacks.
    pub lacking: Vec<Lacking>,
    /// What differs in how the first trials of both sides were measured.
    pub changed: Vec<Differing>,
    /// How many more values differ that only name the server itself (port, paths).
    pub left_out: usize,
    /// What does not: its name, and words.
    #[cfg_attr(test, ts(type = "Array<[name: string, words: string]>"))]
    pub same: Vec<(&'static str, String)>,
    /// How it was compared: a name, and words.
    #[cfg_attr(test, ts(type = "Array<[name: string, words: string]>"))]
    pub method: Vec<(&'static str, &'static str)>,
}

/// One side of a comparison.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct Side {
    /// What it has that the other has not, or as named on the command line: short, for charts.
    pub name: String,
    /// How many trials, and when.
    pub facts: String,
}

/// The repeats of one workload at one point on both sides.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct Pair {
    /// What was measured, for people.
    pub point: String,
    /// Whether repeats were compared in pairs.
    pub paired: bool,
    /// Which way its headline's figures point.
    pub says: Says,
    pub sentence: String,
    /// Which latencies all figures are of.
    pub latency: LatencyKind,
    pub a: SideFigures,
    pub b: SideFigures,
    /// What came of comparing each figure.
    pub differences: Vec<Difference>,
    /// Of a commit, by what its session did; missing: a trial was not observed.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(test, ts(optional))]
    pub time_per_commit: Option<Vec<TimePerCommit>>,
    /// Statements of both sides. Not compared yet.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(test, ts(optional))]
    pub statements: Option<Vec<ComparedStatement>>,
}

/// A statement on both sides.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct ComparedStatement {
    pub text: String,
    /// Of an execution on A's side.
    pub a_mean_us: Option<f64>,
    /// Of an execution on B's side.
    pub b_mean_us: Option<f64>,
    /// Of executions on A's side.
    pub a_p99_us: Option<u64>,
    /// Of executions on B's side.
    pub b_p99_us: Option<u64>,
    /// Whether they differ; `null`: not tested.
    pub significant: Option<bool>,
}

/// The latencies of one side.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct SideFigures {
    /// In the order in which they were run.
    pub trials: Vec<OrderedTrial>,
    pub histogram: Histogram,
    /// Each repeat's, for the range.
    pub repeats: Vec<Histogram>,
    /// Merged step by step over the repeats, from their start of measuring.
    pub over_time: OverTime,
    /// Checkpoints of each repeat, in the order of trials: from and to in microseconds on the
    /// repeat's clock. Not read yet.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(test, ts(optional))]
    pub checkpoints: Option<Vec<Vec<[i64; 2]>>>,
}

/// A trial and its place in time.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct OrderedTrial {
    /// Its number in the notebook.
    pub trial: i64,
    /// Grows with the time at which it was run.
    pub order: i64,
    /// When it was started, UTC.
    pub started: String,
}

/// Histograms that share their buckets, one a step.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct OverTime {
    /// The length of a step.
    pub step_us: u64,
    /// Where each bucket ends (its highest equivalent value), ascending.
    pub buckets_us: Vec<u64>,
    pub merged: Vec<Packed>,
    /// The least p99 of a repeat in each step. Not computed yet.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(test, ts(optional))]
    pub p99_low_us: Option<Vec<Option<f64>>>,
    /// The greatest. Not computed yet.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(test, ts(optional))]
    pub p99_high_us: Option<Vec<Option<f64>>>,
}

/// A figure of B vs. A's.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct Difference {
    pub figure: &'static str,
    pub name: String,
    pub unit: &'static str,
    pub higher_is_better: bool,
    /// A relative limit of the gate on it, as a share.
    pub gate: Option<f64>,
    /// Why it was not compared; then nothing of what follows is there.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(test, ts(optional))]
    pub not_compared: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(test, ts(optional))]
    pub a: Option<Spread>,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(test, ts(optional))]
    pub b: Option<Spread>,
    /// The 95 % interval of the percentile of all of A's transactions together, from the whole seconds of its trials;
    /// left out of other figures.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(test, ts(optional))]
    pub a_within: Option<Interval>,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(test, ts(optional))]
    pub b_within: Option<Interval>,
    /// What it was judged with.
    pub family: Family,
    /// B to A as a share, by the Hodges-Lehmann shift: 0.106 is +10.6 %; missing where a figure is not
    /// positive, and without a verdict.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(test, ts(optional))]
    pub change: Option<f64>,
    /// The interval of the change; those of the primary family hold together at 95 %.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(test, ts(optional))]
    pub change_interval: Option<[f64; 2]>,
    /// From A's median to B's, as a share: what was measured, without an interval.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(test, ts(optional))]
    pub change_of_medians: Option<f64>,
    /// The smallest change that so many repeats with this noise show in 80 of 100 cases.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(test, ts(optional))]
    pub smallest_change: Option<f64>,
    /// What time has to do with it; missing: not tested.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(test, ts(optional))]
    pub drift: Option<Drift>,
    /// How many repeats a side it takes, where there are not enough.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(test, ts(optional))]
    pub repeats_needed: Option<usize>,
    /// Two-sided p-value among its family; missing without a verdict.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(test, ts(optional))]
    pub p: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(test, ts(optional))]
    pub verdict: Option<Verdict>,
}

/// Time of one client for each commit, by what its session did.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct TimePerCommit {
    /// The class of wait events; `CPU`: none, `Client`: outside the server, `Other`: the small ones.
    pub class: String,
    pub name: String,
    pub a_us: f64,
    pub b_us: f64,
}
