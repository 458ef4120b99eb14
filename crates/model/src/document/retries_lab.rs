//! What `pgdyno lab retries --json` prints: the forms of a transaction side by side.

use std::collections::BTreeMap;

use serde::Serialize;
use serde_json::Value;

use super::{Facts, Latency};

/// All points, in the order in which they were first measured.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct RetriesLab {
    /// Grows when a field changes its meaning or goes.
    pub format: u32,
    pub lab: String,
    pub pgdyno: String,
    pub exploratory: bool,
    /// The workload's name; `null`: no trial ended. So with `variables`, `trial` and `target`.
    pub workload: Option<String>,
    /// What its clients started with.
    pub variables: Option<BTreeMap<String, String>>,
    /// What was asked of the first trial.
    pub trial: Option<LabTrial>,
    pub target: Option<LabTarget>,
    /// One for each number of clients, isolation level, policy.
    pub points: Vec<LabPoint>,
    pub says: Vec<String>,
}

/// What was asked of a trial.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct LabTrial {
    /// How long it was to measure.
    pub duration_s: Option<f64>,
    /// Transactions of each client, instead.
    pub transactions_per_client: Option<u64>,
    /// The most tries of a transaction; 0: any number.
    pub max_tries: u32,
}

#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct LabTarget {
    pub title: String,
    /// What is known about the server.
    pub facts: Facts,
}

/// All forms under the same circumstances.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct LabPoint {
    /// The parameters that all its forms have in common.
    #[cfg_attr(test, ts(type = "Record<string, unknown>"))]
    pub given: Value,
    /// The isolation level that was found to be in effect.
    pub isolation: Option<String>,
    pub forms: Vec<LabForm>,
    /// Each form's goodput beside each other's that follows it, judged together.
    pub pairs: Vec<LabPair>,
    /// What its table means, in a sentence.
    pub says: Option<String>,
}

/// Two forms beside each other.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct LabPair {
    /// The one with the higher median goodput, or the first of equals.
    pub first: String,
    pub second: String,
    /// By what share the first's goodput exceeds the other's: 0.78 is 1.78 times as much; `null`: too few
    /// repeats to compare.
    pub difference: Option<f64>,
    /// Its interval; all pairs of a point hold together.
    pub interval: Option<(f64, f64)>,
    /// How surely the intervals hold, 0 to 1.
    pub level: f64,
    /// Which form is ahead; `null`: undecided.
    pub ahead: Option<String>,
    /// Repeats that each form would need to be distinguished from the others; `null`: they have as many.
    pub needs_repeats: Option<u64>,
}

/// All trials of a form at a point.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct LabForm {
    pub form: String,
    pub goodput_per_s: Option<LabGoodput>,
    /// The other figures of each repeat, in the order of those of goodput.
    pub repeats: Vec<LabRepeat>,
    /// Of all repeats, from the start of each transaction's first try.
    pub service: Latency,
    pub committed: u64,
    pub failed: u64,
    /// All transactions that were to be done.
    pub transactions: u64,
    /// Transactions that were given up.
    pub given_up: u64,
    pub retries: u64,
    /// Retries by the server, as transactions report or as it counts.
    pub server_retries: u64,
    pub retries_per_commit: Option<f64>,
    pub server_retries_per_commit: Option<f64>,
    /// The share of the time in tries that was spent in those that failed, 0 to 1.
    pub lost_time_share: Option<f64>,
    pub lost_statement_share: Option<f64>,
    /// Why trials came to nothing, each reason once.
    pub not_run: Vec<String>,
}

/// Figures of one repeat of a form.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct LabRepeat {
    /// Its trial in the notebook; `null`: it is not stored.
    pub trial: Option<i64>,
    /// When it began among all trials of the laboratory, from 1.
    pub order: u64,
    /// Of service times; `null` with too few transactions.
    pub p99_us: Option<u64>,
    /// By clients; `null`: nothing was committed.
    pub retries_per_commit: Option<f64>,
    /// The share of the time in tries that was spent in those that failed, 0 to 1.
    pub lost_time_share: Option<f64>,
}

/// Committed transactions a second over the repeats.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct LabGoodput {
    pub median: f64,
    pub min: f64,
    pub max: f64,
    /// Of the median, from six repeats on.
    pub interval: Option<(f64, f64)>,
    pub repeats: Vec<f64>,
}

impl RetriesLab {
    /// Why no form could be run at all, each reason once; empty: some trial is complete.
    pub fn nothing_but(&self) -> Vec<&str> {
        let forms = self.points.iter().flat_map(|point| &point.forms);
        let all = forms
            .flat_map(|form| &form.not_run)
            .filter(|_| self.target.is_none());
        let mut reasons: Vec<&str> = Vec::new();
        for why in all.map(String::as_str) {
            if !reasons.contains(&why) {
                reasons.push(why);
            }
        }
        reasons
    }
}
