//! The generators of a trial that several have measured.

use serde::{Deserialize, Serialize};

use crate::notebook::ClockReading;

/// What became of a generator.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[cfg_attr(test, derive(ts_rs::TS))]
pub enum GeneratorEnd {
    /// It measured to the end.
    Complete,
    /// It was interrupted, or its clients ended early.
    Early,
    /// It was not heard of any more.
    Died,
    /// It had not arrived when the others began.
    NeverArrived,
}

/// One generator.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct Generator {
    /// Its number, from 0.
    pub generator: u32,
    /// What became of it.
    pub end: GeneratorEnd,
    /// Its own trial in the notebook.
    pub trial: Option<i64>,
    /// The name of its host.
    pub host: Option<String>,
    /// Its clients.
    pub clients: u32,
    /// Transactions it committed in the measured time.
    pub committed: u64,
    /// The same a second.
    pub goodput_per_s: f64,
    /// CPU time of its engine, in microseconds.
    pub cpu_us: u64,
    /// How much of the time its busiest thread wanted a CPU, 0 to 1.
    pub busiest_share: f64,
    /// How late its event loops were at worst, in microseconds.
    pub lag_max_us: u64,
    /// Mean of what it added to a latency itself, in microseconds; `null` when too few were followed.
    pub added_mean_us: Option<f64>,
    /// How late after the agreed instant its clients began, in microseconds.
    pub began_late_us: Option<i64>,
    /// Its clock beside the notebook's, before the trial.
    pub clock: Option<ClockReading>,
    /// Until when it measured, in microseconds since clients began to work.
    pub until_us: u64,
}

/// All of them.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct Generators {
    /// How many there were to be.
    pub asked: u32,
    /// Each of them.
    pub list: Vec<Generator>,
    /// From the first that began to the last, in microseconds, by their own clocks.
    pub start_spread_us: Option<u64>,
    /// How wrong that may be, by how the clocks were compared.
    pub start_uncertainty_us: Option<u64>,
}
