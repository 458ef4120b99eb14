//! The page of an experiment.

use std::collections::BTreeMap;

use serde::Serialize;
use serde_json::Value;

use super::TrialPage;
use crate::document::Common;
use crate::document::answer::Answer;
use crate::document::capacity::Capacity;
use crate::document::points::PointResult;
use crate::document::section::Section;

/// An experiment's points on a grid of what varies, and every trial in run order.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(test, derive(ts_rs::TS), ts(rename = "ExperimentData"))]
pub struct ExperimentPage {
    #[cfg_attr(test, ts(type = "'experiment'"))]
    pub kind: &'static str,
    /// What every page begins with.
    #[serde(flatten)]
    pub common: Common,
    /// What it says in place of the verdict, which is `null` then.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(test, ts(optional))]
    pub answer: Option<Answer>,
    pub name: String,
    /// Its UUID; empty where no experiment holds the trials together.
    pub uuid: String,
    pub definition: String,
    /// In order: Server, Target, Database, Load generator, pgdyno, Pack, … with words each.
    #[cfg_attr(test, ts(type = "Array<[name: string, words: string]>"))]
    pub environment: Vec<(&'static str, String)>,
    /// The limit of p99 of response times, where a capacity was asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(test, ts(optional))]
    pub slo_us: Option<f64>,
    /// What varies. Points stand on a grid of these; zipped axes are one axis.
    pub axes: Vec<Axis>,
    /// The targets by the names that stand for them everywhere, where there are several.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[cfg_attr(test, ts(optional, as = "Option<Vec<TargetRow>>"))]
    pub targets: Vec<TargetRow>,
    /// Planned points that have no figures, with the reason.
    pub missing: Vec<Missing>,
    /// Trials that have ended and all that were planned, where some are missing; absent of a set.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(test, ts(optional))]
    pub so_far: Option<[u64; 2]>,
    /// The change from the first to the last quarter of the trials, as medians of their shares of their
    /// points' medians; `null` with fewer than eight.
    pub drift: Option<f64>,
    pub points: Vec<Point>,
    /// Every trial of the points, in run order, those that do not count too.
    pub trials: Vec<TrialRef>,
    /// Index in points: the one with the highest median goodput.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(test, ts(optional))]
    pub best: Option<usize>,
    /// From the first trial's beginning to the last one's end.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(test, ts(optional))]
    pub took_s: Option<f64>,
    /// What of that was measured.
    pub measured_s: f64,
    /// Where on the axis of sizes memory ends.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(test, ts(optional))]
    pub zones: Option<Zones>,
    /// How much load keeps the limit of p99.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(test, ts(optional))]
    pub capacity: Option<Capacity>,
    /// What a laboratory shows below its answer; `null`: it is a sweep.
    pub sections: Option<Vec<Section>>,
    /// Whether its points are shown.
    pub has_points: bool,
    /// Whether its trials are shown in the order in which they ran.
    pub has_repeats: bool,
    /// All that a laboratory found, under the name of what it prints as JSON.
    #[serde(flatten)]
    #[cfg_attr(test, ts(skip))]
    pub facts: BTreeMap<&'static str, Value>,
    /// Trials that have a page of their own within this file: `#trial=NUMBER`.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(test, ts(optional))]
    pub pages: Option<Vec<TrialPage>>,
}

#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct Axis {
    pub name: String,
    pub title: String,
    pub kind: AxisKind,
    /// In words, in order: numbers as typed, targets by their names.
    pub values: Vec<String>,
    /// The same as numbers, where all are.
    pub numbers: Option<Vec<f64>>,
    /// Of an axis of sizes: that of the database at each value.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(test, ts(optional))]
    pub sizes_bytes: Option<Vec<Option<u64>>>,
}

/// What the values of an axis are.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
#[cfg_attr(test, derive(ts_rs::TS))]
pub enum AxisKind {
    /// Workloads: each has its own scale, and none is held against another.
    Workload,
    /// Kinds, which have no order: never joined by a line.
    Category,
    Number,
}

#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct TargetRow {
    pub name: String,
    /// What it is: `PostgreSQL 18.1`; `null`: it was never reached.
    pub product: Option<String>,
    /// Where it is, without a password.
    pub address: String,
    /// The isolation level in effect, where it is one.
    pub isolation: Option<String>,
    /// Of an idle session, p50.
    pub round_trip_us: Option<u64>,
}

/// A planned point that has no figures.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct Missing {
    pub title: String,
    /// Index of its value on each axis; `null` where it has one that no measured point has.
    pub at: Option<Vec<usize>>,
    /// `not measured yet`, `failed: too many connections`.
    pub why: String,
}

/// A point on the grid.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct Point {
    #[serde(flatten)]
    pub result: PointResult,
    /// Index of its value on each axis.
    pub at: Vec<usize>,
    pub retries_per_commit: Option<f64>,
    /// The verdict of most of its repeats; `null`: none has one.
    pub limit: Option<PointLimit>,
}

/// What limited most repeats of a point.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct PointLimit {
    pub code: String,
    pub name: String,
    /// So many repeats have this verdict.
    pub agree: u64,
    pub of: u64,
}

/// A trial of an experiment.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct TrialRef {
    /// Its number in the notebook.
    pub trial: i64,
    pub uuid: String,
    pub point: usize,
    /// Which repeat of its point.
    pub repeat: Option<u32>,
    pub state: String,
    /// Whether it counts in its point.
    pub counts: bool,
    pub goodput_per_s: Option<f64>,
    /// Of response times under a rate, else of service times.
    pub p50_us: Option<u64>,
    pub p99_us: Option<u64>,
    /// What limited it; `null`: no diagnosis was made.
    pub limit: Option<TrialLimit>,
    /// Why it does not count, or what went wrong.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(test, ts(optional))]
    pub flag: Option<String>,
    /// When it was begun, UTC.
    pub started: String,
}

#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct TrialLimit {
    pub code: String,
    pub name: String,
}

/// Where on the axis of sizes memory ends.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct Zones {
    pub axis: String,
    pub shared_buffers_bytes: Option<u64>,
    /// Of the server's host, where pgdyno is on it.
    pub memory_bytes: Option<u64>,
}
