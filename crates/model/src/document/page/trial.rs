//! A trial's page.

use std::collections::BTreeMap;

use serde::Serialize;

use super::{Event, Instrument, Series, Timeline, Waits, Worst};
use crate::document::answer::Sure;
use crate::document::{Common, Histogram, Run, TimeBudget};

#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(test, derive(ts_rs::TS), ts(rename = "TrialData"))]
pub struct TrialPage {
    #[cfg_attr(test, ts(type = "'trial'"))]
    pub kind: &'static str,
    #[serde(flatten)]
    pub common: Common,
    /// What `pgdyno show TRIAL --json` prints, without `seconds`, `observed` and `verdict`.
    pub run: Run,
    /// Of a trial of several generators: whether they gave one result, and who weakened it.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[cfg_attr(test, ts(optional, as = "Option<Vec<Sure>>"))]
    pub one_result: Vec<Sure>,
    /// Where the clients' time went; left out when nothing was measured.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(test, ts(optional))]
    pub budget: Option<TimeBudget>,
    /// The other repeats of its point, this one included, in the order of repeats.
    pub siblings: Vec<Sibling>,
    pub timeline: Timeline,
    /// Whole-run histograms of the measured time.
    pub histograms: Histograms,
    /// Same order as the SQL commands of `run.statements`, flat; without those never executed.
    pub statements: Vec<StatementRow>,
    /// Try on which transactions were committed: `[0]` on the first. Not recorded yet.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(test, ts(optional))]
    pub commits_by_try: Option<Vec<u64>>,
    /// A sentence on the client's counters beside the server's. Not made yet.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(test, ts(optional))]
    pub counters_sentence: Option<String>,
    /// What the database holds beside what was counted. Not asked for yet.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(test, ts(optional))]
    pub balance: Option<Balance>,
    pub instruments: Vec<Instrument>,
    /// Times of samples, shared by series.
    pub clocks_us: Vec<Vec<i64>>,
    /// What was seen, but for waits.
    pub series: Vec<Series>,
    /// What sessions waited for, where that was sampled.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(test, ts(optional))]
    pub waits: Option<Waits>,
    /// What happened to the server.
    pub events: Vec<Event>,
    pub worst: Vec<Worst>,
    /// What the server counted by statement, the most expensive first.
    pub server_statements: Vec<ServerStatement>,
    /// What the storage layer did, where the workload is about that.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(test, ts(optional))]
    pub slob: Option<SlobTrial>,
    /// Settings that are not as the server's program has them.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(test, ts(optional))]
    pub settings: Option<Vec<Setting>>,
    /// How many settings the server has, for "9 of 381". Not asked for yet.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(test, ts(optional))]
    pub settings_total: Option<u64>,
    /// Why they are not known.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(test, ts(optional))]
    pub settings_unknown: Option<String>,
    /// In order: Server, Target, Database, Nodes, Load generator, pgdyno, Pack, …
    #[cfg_attr(test, ts(type = "Array<[name: string, words: string]>"))]
    pub environment: Vec<(&'static str, String)>,
}

/// What the database holds beside what was counted, such as rows of pgbench_history.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct Balance {
    /// `null`: that cannot be said.
    pub balanced: Option<bool>,
    pub sentence: String,
}

impl TrialPage {
    /// The kind of its page.
    pub const KIND: &'static str = "trial";
}

/// Histograms of the measured time.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct Histograms {
    pub service: Histogram,
    /// Of response times, with a rate.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(test, ts(optional))]
    pub response: Option<Histogram>,
    /// Of the tries that were committed, where there may be several.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(test, ts(optional))]
    pub attempt: Option<Histogram>,
}

/// A repeat among its siblings, for the dot strips.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct Sibling {
    /// Its number in the notebook.
    pub trial: i64,
    pub repeat: Option<u32>,
    /// The trial of this page.
    pub this: bool,
    pub goodput_per_s: Option<f64>,
    /// Of response times with a rate, else of service times.
    pub p50_us: Option<u64>,
    pub p99_us: Option<u64>,
    pub p99_9_us: Option<u64>,
    pub retries_per_commit: Option<f64>,
    pub failed: Option<u64>,
}

/// An SQL command of a script.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct StatementRow {
    pub script: String,
    pub text: String,
    pub executions: u64,
    /// Errors after which the transaction was tried again.
    pub retries: u64,
    pub failures: u64,
    pub sum_us: u64,
    pub mean_us: Option<f64>,
    pub p50_us: Option<u64>,
    pub p99_us: Option<u64>,
    pub max_us: Option<u64>,
    /// Where its sessions mostly waited. Not known yet.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(test, ts(optional))]
    pub wait: Option<StatementWait>,
}

/// Where a statement's sessions mostly waited.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct StatementWait {
    pub class: String,
    pub event: String,
    pub share: f64,
}

/// The statement that took longest in a transaction.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct SlowestStatement {
    pub text: String,
    pub us: u64,
}

/// What the server says it did for one statement.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct ServerStatement {
    /// As the server has it.
    pub text: String,
    /// How often it was executed.
    pub calls: u64,
    pub time_us: f64,
    /// Rows it gave or changed.
    pub rows: Option<u64>,
    /// What else the server reports, by its own names.
    pub details: BTreeMap<String, f64>,
}

/// A setting of the server.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct Setting {
    pub name: String,
    pub value: String,
    /// What the server's program has.
    pub default: Option<String>,
    pub from: Option<String>,
    /// Whether it is listed although it is the default. No verdict names any yet.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(test, ts(optional))]
    pub named_by_verdict: Option<bool>,
}

/// Work units of slob and what they cost.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct SlobTrial {
    /// A row each, in order.
    pub accounting: Vec<AccountingRow>,
    pub units: Option<Histogram>,
    pub units_label: String,
    /// What the server's count came to.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(test, ts(optional))]
    pub sentence: Option<String>,
}

/// A figure of the storage layer, or why there is none.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct AccountingRow {
    pub name: String,
    pub value: Option<f64>,
    pub unit: String,
    /// The same for each work unit.
    pub per_unit: Option<f64>,
    /// Why it is not known.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(test, ts(optional))]
    pub unknown: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(test, ts(optional))]
    pub what: Option<String>,
}
