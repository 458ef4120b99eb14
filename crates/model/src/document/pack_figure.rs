//! Figures that a pack makes of a trial, beside those that every trial has.

use serde::{Deserialize, Serialize};

/// A figure of the workload's pack (`[[figure]]`, workloads/README.md), and whether it is within its limits.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct PackFigure {
    /// Its name in the pack.
    pub name: String,
    /// What it says, in one sentence.
    pub help: String,
    /// Its unit: `a minute`, `ms`, `%`.
    pub unit: String,
    pub value: Option<f64>,
    /// The least that it should be; `null` where any is right.
    pub at_least: Option<f64>,
    /// The most that it should be; `null` where any is right.
    pub at_most: Option<f64>,
    /// Whether it is within these limits; `null`: there are none, or it is not known.
    pub within: Option<bool>,
    /// Why it is not known.
    pub unknown: Option<String>,
}
