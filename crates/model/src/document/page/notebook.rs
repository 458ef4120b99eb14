//! The page of a notebook: what runs, experiments, and the list of trials. Only a server gives it.

use serde::{Deserialize, Serialize};

use crate::State;
use crate::document::Common;
use crate::document::page::PartOf;

#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(test, derive(ts_rs::TS), ts(rename = "NotebookData"))]
pub struct NotebookPage {
    #[cfg_attr(test, ts(type = "'notebook'"))]
    pub kind: &'static str,
    #[serde(flatten)]
    pub common: Common,
    pub trials_total: u64,
    pub experiments_total: u64,
    /// Trials that run now, the newest first.
    pub running: Vec<RunningTrial>,
    /// Experiments with a trial that runs now.
    pub growing: Vec<GrowingExperiment>,
    pub experiments: Vec<ExperimentItem>,
    /// What the list was asked for.
    pub query: Query,
    pub found: u64,
    pub pages: u64,
    /// This page of them, the newest first.
    pub trials: Vec<TrialItem>,
}

impl NotebookPage {
    /// The kind of its page.
    pub const KIND: &'static str = "notebook";
}

/// Which trials a list is to show; all conditions must hold.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(default)]
#[cfg_attr(test, derive(ts_rs::TS), ts(rename = "NotebookQuery"))]
pub struct Query {
    /// Words that all stand in the workload, target, note, tags or experiment's name; a number or the
    /// beginning of a UUID finds that trial.
    pub q: Option<String>,
    pub workload: Option<String>,
    pub tag: Option<String>,
    /// In this state, by its name.
    pub state: Option<String>,
    /// Of the experiment with this name, or whose UUID begins so.
    pub experiment: Option<String>,
    /// Which page of the list, from 1 (0 counts as 1).
    pub page: u64,
}

/// A trial that is running.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct RunningTrial {
    pub number: i64,
    pub uuid: String,
    pub workload: String,
    /// How many clients it has.
    pub clients: Option<u32>,
    /// Where it runs, without secrets.
    pub target: String,
    /// The name of its experiment.
    pub experiment: Option<String>,
    pub started: String,
    pub now_us: Option<u64>,
    pub planned_us: Option<u64>,
    /// Committed transactions a second in up to 40 seconds, the last one is the newest.
    pub goodput_per_s: Vec<f64>,
    pub warmup: bool,
    /// Of the last five seconds, in microseconds; `null` with fewer than ten transactions beyond it.
    pub p50_us: Option<u64>,
    pub p99_us: Option<u64>,
    /// Failed transactions of the measured time so far.
    pub failed: u64,
    /// What most sessions waited for in the last five seconds, and how many did on average.
    #[cfg_attr(test, ts(type = "Array<[event: string, sessions: number]>"))]
    pub waits: Vec<(String, f64)>,
    pub cannot_stop: Option<String>,
    pub silent_s: Option<u64>,
    pub is_gone: bool,
    pub part: Option<PartOf>,
    /// Where several generators measure one trial: figures above are of all of them together, these of
    /// each. Empty: it is measured by one.
    pub generators: Vec<GeneratorNow>,
}

/// One of several generators, now.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct GeneratorNow {
    pub generator: u32,
    /// The number of its own trial.
    pub trial: i64,
    /// Whether its process has ended before its time, as far as is known.
    pub has_died: bool,
    /// Its part of the clients.
    pub clients: u32,
    /// The end of its last second.
    pub now_us: Option<u64>,
    /// What it committed a second in its last second; `null`: it has none.
    pub goodput_per_s: Option<f64>,
    /// Over its last five seconds, as [`RunningTrial::p99_us`].
    pub p99_us: Option<u64>,
    /// Its failed transactions of the measured time so far.
    pub failed: u64,
}

/// An experiment that is running.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct GrowingExperiment {
    pub number: i64,
    pub uuid: String,
    pub name: String,
    /// When it was begun, UTC.
    pub created: String,
    /// Trials that it will have; `null`: it decides on the way.
    pub planned: Option<u64>,
    pub done: u64,
    /// Trials that failed, were aborted or are partial.
    pub failed: u64,
    /// Numbers of the trials that run.
    pub running: Vec<i64>,
    /// Its points with their repeats.
    pub points: Vec<GrowingPoint>,
}

/// A point of an experiment that is running.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct GrowingPoint {
    /// In words: `select-only, 8 clients`.
    pub what: String,
    pub repeats: Vec<GrowingRepeat>,
}

/// A repeat of a point: done, running, to come.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct GrowingRepeat {
    /// How far it has come; `null`: it has not begun.
    pub state: Option<State>,
    /// Its number in this notebook.
    pub trial: Option<i64>,
    /// Why it does not count.
    pub excluded: Option<String>,
}

/// An experiment of the notebook.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct ExperimentItem {
    pub number: i64,
    pub uuid: String,
    pub name: String,
    /// When it was begun, UTC.
    pub created: String,
    pub trials: u64,
    /// Those that count: complete and not excluded.
    pub counted: u64,
}

/// A trial of the list.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct TrialItem {
    pub number: i64,
    pub uuid: String,
    /// How far it has come.
    pub state: State,
    /// Why it is not complete.
    pub reason: Option<String>,
    /// Why it does not count.
    pub excluded: Option<String>,
    /// What people say of it.
    pub note: Option<String>,
    pub tags: Vec<String>,
    pub workload: String,
    /// How many clients it had.
    pub clients: Option<u32>,
    /// Where it ran, without secrets.
    pub target: String,
    /// The name of its experiment.
    pub experiment: Option<String>,
    pub started: String,
    pub goodput_per_s: Option<f64>,
    /// Response times with a rate, else service times, in microseconds.
    pub p50_us: Option<u64>,
    pub p99_us: Option<u64>,
    pub failed: Option<u64>,
}
