//! What `pgdyno lab disturb` found: the repeats of a disturbed trial, and controls without the
//! disturbance, by turns.

use serde::Serialize;

use super::phases::Phase;
use super::{ClientStall, DisturbFigures, Endpoint, MigrationRun, Reason, Truth};
use crate::Fact;

/// All targets, in the order in which they were first measured.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct DisturbLab {
    /// Grows when a field changes its meaning or goes.
    pub format: u32,
    /// `disturb`, or `migrate`: its targets are forms of the migration then, with the same controls.
    pub lab: String,
    pub pgdyno: String,
    /// The workload's name; `null`: no trial was begun.
    pub workload: Option<String>,
    /// Clients at the same time.
    pub clients: Option<u32>,
    /// What was offered, in words.
    pub offered: Option<String>,
    /// The commands with their moments, without secrets.
    pub commands: Vec<String>,
    pub undo: Option<String>,
    pub targets: Vec<DisturbTarget>,
    /// What was found, in a sentence or two.
    pub says: Vec<String>,
}

/// All trials on a target.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct DisturbTarget {
    pub title: String,
    /// The disturbed trials, in the order in which they ran.
    pub repeats: Vec<DisturbRepeat>,
    pub controls: Vec<DisturbRepeat>,
    /// Figures over the repeats that count.
    pub summary: Vec<DisturbSummary>,
    /// The same over the controls.
    pub controls_summary: Vec<DisturbSummary>,
    /// Whether the repeats differ from the controls.
    pub effect: DisturbEffect,
    /// What was found here, in a sentence.
    pub says: String,
}

/// A trial of the laboratory.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct DisturbRepeat {
    /// Its number in the notebook.
    pub trial: i64,
    /// Which repeat it is, from 1.
    pub repeat: u32,
    pub state: String,
    /// Why it is not complete.
    pub reason: Option<String>,
    /// Whether it counts in the summary: its commands did what they were to do, and there are figures.
    pub counts: bool,
    /// What went wrong with its commands.
    pub troubles: Vec<String>,
    /// When its commands ran, by name, in the order of their moments; one that is undone before the next, until then.
    pub commands: Vec<Phase>,
    /// Whether the database has what it acknowledged, or why that is not known; `null` where
    /// transactions left no receipts.
    pub truth: Option<Fact<Truth>>,
    /// What the disturbance did; `null` where the trial came to nothing.
    pub figures: Option<DisturbFigures>,
    /// Why tries failed, by SQLSTATE, over the measured time.
    pub reasons: Vec<Reason>,
    /// By server: connections made, lost and moved there, and transactions.
    pub endpoints: Vec<Endpoint>,
    /// The longest times in which a client got no commit after the start, fifty at most, the longest
    /// first.
    pub clients: Vec<ClientStall>,
    /// How many there were, from 100 ms on.
    pub clients_stalls: u64,
    /// How many clients had one.
    pub clients_stalled: u64,
    /// What the migration did, of `pgdyno lab migrate`.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(test, ts(optional))]
    pub migration: Option<Box<MigrationRun>>,
}

#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct DisturbSummary {
    /// Which: `first_error_us`, `first_success_us`, `no_service_us`, `back_us`, `worst_client_us`,
    /// `missed`, `failed`, `unknown`, `skipped`, `late`.
    pub figure: String,
    pub n: u64,
    /// Repeats in which it never came: those that were not back, or had no success, before the end.
    pub never: u64,
    /// Over the repeats; `null` when it never came in half of them.
    pub median: Option<f64>,
    /// Of those in which it came.
    pub min: Option<f64>,
    pub max: Option<f64>,
    /// Of the median, from six repeats on: from one of the repeats to another; its upper end is `null`
    /// where that never came.
    pub interval: Option<DisturbInterval>,
}

/// An interval of a median between two of the figures.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct DisturbInterval {
    pub low: Option<f64>,
    pub high: Option<f64>,
    /// How surely it holds the median, 0 to 1.
    pub level: f64,
}

/// Whether disturbed repeats miss more than controls.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct DisturbEffect {
    /// `null`: undecided.
    pub is_seen: Option<bool>,
    /// Of the rank sum test.
    pub p: Option<f64>,
    pub says: String,
}

impl DisturbLab {
    /// Lost writes of all repeats and controls.
    pub fn lost_writes(&self) -> u64 {
        let all = self.targets.iter();
        let all = all.flat_map(|target| target.repeats.iter().chain(&target.controls));
        let truths = all.filter_map(|repeat| repeat.truth.as_ref()?.known());
        truths.map(|truth| truth.lost).sum()
    }

    /// Whether the database lost what it had acknowledged, in any of them.
    pub fn has_lost_writes(&self) -> bool {
        self.lost_writes() > 0
    }
}
