//! What `pgdyno lab isolation` found: by level, which anomalies were seen, which were not and how sure
//! that is, and what the product promises.

use serde::Serialize;

use super::isolation::{IsolationExample, IsolationPromise};
use crate::Fact;

/// All levels, in the order in which they were first measured.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct IsolationLab {
    /// Grows when a field changes its meaning or goes.
    pub format: u32,
    pub lab: String,
    pub pgdyno: String,
    /// The packs whose histories were recorded.
    pub workloads: Vec<String>,
    /// Clients at the same time.
    pub clients: Option<u32>,
    pub target: Option<String>,
    pub server: Option<String>,
    /// The commands of a disturbance with their moments, without secrets.
    pub commands: Vec<String>,
    /// Where reads went, if not where writes went.
    pub reads: Option<String>,
    /// Whether the levels kept what is promised; `null`: not known.
    pub is_kept: Option<bool>,
    /// What was found, the gravest first.
    pub says: Vec<String>,
    /// The kinds of anomalies: the columns of the table.
    pub anomalies: Vec<IsolationColumn>,
    /// One for each level that was asked for.
    pub levels: Vec<IsolationLevel>,
    /// Examples of what was seen: the smallest of each level and kind, forbidden ones first.
    pub examples: Vec<IsolationSeen>,
    /// The verdict's check of itself.
    pub checks: Vec<IsolationSelfCheck>,
    pub trials: Vec<IsolationTrial>,
}

#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct IsolationColumn {
    pub name: String,
    pub title: String,
    /// What it is called in papers: `G2-item`; empty where it has the same name.
    pub code: String,
    /// What happens, in a phrase.
    pub meaning: String,
    /// What its share is of: `overlapping conflicting pairs`, `dependencies`.
    pub of: String,
}

/// What was found at a level.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct IsolationLevel {
    /// As it was asked for: `repeatable read`.
    pub asked: String,
    /// As the server reported it inside transactions.
    pub in_effect: Fact<String>,
    /// The level before that is the same in effect.
    pub same_as: Option<String>,
    /// What the product promises at the level in effect.
    pub promise: Fact<IsolationPromise>,
    /// Whether it kept that; `null`: not known.
    pub is_kept: Option<bool>,
    /// What was found, in a sentence.
    pub says: String,
    pub trials: Vec<i64>,
    /// Tries of transactions in their histories.
    pub recorded: u64,
    /// Of them, those that took effect.
    pub committed: u64,
    /// Of them, those that did not.
    pub aborted: u64,
    /// Of them, those of which that is not known.
    pub unknown: u64,
    /// Pairs of transactions that ran at the same time and conflicted.
    pub conflicting_pairs: u64,
    /// What it came to, by pack.
    pub rates: Vec<IsolationRate>,
    /// In the order of the columns.
    pub cells: Vec<IsolationCell>,
}

/// What a level came to with a pack: of wrong answers, if there were any.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct IsolationRate {
    pub workload: String,
    pub repeats: u64,
    /// Committed transactions a second: the median of its trials.
    pub goodput_per_s: Option<f64>,
    /// The least and the most.
    pub range: Option<(f64, f64)>,
    /// Retries for each commit, over all trials.
    pub retries_per_commit: Option<f64>,
    /// Overlapping conflicting pairs, over all trials.
    pub conflicting_pairs: u64,
    /// Whether no anomaly was seen that the level forbids; `null`: not known.
    pub is_kept: Option<bool>,
}

/// What was seen of an anomaly at a level.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct IsolationCell {
    pub anomaly: String,
    /// How often it was seen.
    pub count: u64,
    /// Whether there may be more.
    pub at_least: bool,
    /// Trials in which it was seen.
    pub trials: u64,
    /// Trials whose history would show it.
    pub of_trials: u64,
    /// In so many pairs of their histories it could have occurred.
    pub pairs: u64,
    /// The largest share of these in which it may occur, with 95 % confidence, if it was not seen:
    /// 1 − 0.05^(1/n).
    pub at_most: Option<f64>,
    /// Whether what is promised forbids what was seen, or the kind as a whole where nothing was seen;
    /// `null`: it is not known what is promised.
    pub forbidden: Option<bool>,
    /// Why it is not known whether it occurs, and what would tell.
    pub unknown: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct IsolationSeen {
    pub level: String,
    pub column: String,
    pub anomaly: String,
    /// What happened, in a phrase.
    pub meaning: String,
    /// The trial in which it was seen.
    pub trial: i64,
    pub workload: String,
    /// Whether what is promised forbids it; `null`: it is not known what is promised.
    pub forbidden: Option<bool>,
    /// The file that a replay of it is written to by default.
    pub file: String,
    pub example: IsolationExample,
}

/// Something that must hold before a conclusion is shown.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct IsolationSelfCheck {
    /// `null`: a limit of what is known.
    pub held: Option<bool>,
    pub name: String,
    pub says: String,
}

#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct IsolationTrial {
    /// Its number in the notebook.
    pub trial: i64,
    pub level: String,
    pub workload: String,
    /// Which repeat it is, from 1.
    pub repeat: u32,
    pub state: String,
    /// Why it does not count, or what is missing of its history.
    pub reason: Option<String>,
    pub counts: bool,
    pub goodput_per_s: Option<f64>,
    /// Tries of transactions in its history.
    pub recorded: u64,
    pub conflicting_pairs: u64,
    /// Anomalies with how often each was seen.
    pub found: Vec<(String, u64)>,
    /// How long the check took.
    pub checked_ms: u64,
}

impl IsolationLab {
    /// Whether a level is broken.
    pub fn is_broken(&self) -> bool {
        self.is_kept == Some(false)
    }
}
