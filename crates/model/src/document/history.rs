//! How a figure changed over a notebook's trials: what `pgdyno history --json` prints.

use serde::Serialize;

use super::GateResult;

/// A figure of trials that can be compared, in the order in which they ran.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct History {
    /// Its name: times are in microseconds, goodput in transactions a second.
    pub figure: String,
    pub workload: String,
    /// Options of the load that are not the default, in words.
    pub load: Vec<String>,
    pub target: String,
    /// On which machine pgdyno ran.
    pub host: String,
    pub trials: Vec<HistoryTrial>,
    /// Where the level changed, oldest first.
    pub changes: Vec<Change>,
    /// The correlation from one trial to the next, where the level seems to change and does so no more than such a
    /// correlation explains; there are no changes then.
    pub masked_by: Option<f64>,
    /// Trials that are none of these.
    pub left_out: Vec<LeftOut>,
    pub gate: Option<HistoryGate>,
}

#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct HistoryTrial {
    pub number: i64,
    pub started: String,
    pub value: f64,
    pub version: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct Change {
    /// The place of the first trial after it, from 0.
    pub index: usize,
    /// Its number in the notebook.
    pub first_after: i64,
    pub started: String,
    /// The median since the change before.
    pub before: f64,
    /// The median until the next change.
    pub after: f64,
    /// The change as a share of before: Hodges and Lehmann's shift of the logarithms.
    pub change: Option<f64>,
    pub interval: Option<[f64; 2]>,
    /// How rare it is where no level changes: among shuffled trials, and among trials that follow each other as these.
    pub p: f64,
    /// The server's version before and after, where they differ.
    pub versions: Option<[String; 2]>,
}

/// Trials that were not mixed in.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct LeftOut {
    /// Why: `another load`, `another target` …
    pub why: &'static str,
    pub trials: usize,
}

/// What a gate says of the newest change.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct HistoryGate {
    pub condition: String,
    pub result: GateResult,
    pub sentence: String,
}
