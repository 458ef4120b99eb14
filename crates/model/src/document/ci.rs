//! Whether a change may be merged: what `pgdyno ci --json` prints.

use serde::Serialize;

use super::GateResult;
use crate::NoteOfTrials;

/// Two sides, a gate and its answer.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct Ci {
    pub answer: GateResult,
    /// The gate as it was given, with its option.
    pub gate: String,
    /// `by turns`, or `duet`: both at once.
    pub mode: &'static str,
    pub workload: String,
    pub clients: u32,
    /// How long each trial measured.
    pub trial_s: f64,
    /// How long it could have taken.
    pub budget_s: f64,
    /// How long it took, from the first trial on.
    pub elapsed_s: f64,
    /// Blocks, each with two trials a side.
    pub blocks: usize,
    /// Of the random numbers: which side came first in each block was drawn from it.
    pub seed: i64,
    /// Whether it was cut short by a signal: intervals are those of these blocks alone, and there is no verdict.
    pub interrupted: bool,
    /// The side that is there already.
    pub base: CiSide,
    /// The side that is to be judged.
    pub head: CiSide,
    pub figures: Vec<CiFigure>,
    pub conditions: Vec<CiCondition>,
    /// When it was looked at, and what that showed.
    pub looks: Vec<CiLook>,
    /// Validity notes on the trials, warnings and serious ones.
    pub notes: Vec<NoteOfTrials>,
    /// What would tell, where this does not.
    pub advice: Option<String>,
    /// The tag or the experiment that has the trials in the notebook.
    pub kept_as: String,
}

#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct CiSide {
    /// As it was given, without a password.
    pub given: String,
    pub kind: &'static str,
    pub version: Option<String>,
    /// Numbers of its trials in the notebook.
    pub trials: Vec<i64>,
}

/// A figure of both sides.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct CiFigure {
    /// Its name: times are in microseconds, goodput in transactions a second.
    pub figure: String,
    /// The median over the base's trials.
    pub base: Option<f64>,
    /// The median over the head's trials.
    pub head: Option<f64>,
    /// Head's change as a share of base, from the blocks' contrasts; `None` where there is no verdict.
    pub change: Option<f64>,
    pub interval: Option<[f64; 2]>,
    /// The level of that at the last look; all looks together hold at 95 %.
    pub level: Option<f64>,
    /// The smallest change that so many blocks with this noise find in 80 of 100 cases.
    pub smallest_change: Option<f64>,
}

/// A condition of the gate.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct CiCondition {
    pub condition: String,
    pub result: GateResult,
    pub evidence: String,
}

/// A look before the end, or the last one.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct CiLook {
    /// The share of the time budget that was over.
    pub share: f64,
    pub blocks: usize,
    /// The level of its intervals.
    pub level: f64,
    pub result: GateResult,
}
