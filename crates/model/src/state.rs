//! How far a trial has come.

use std::fmt;

/// States of a trial.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum, serde::Serialize)]
#[serde(rename_all = "lowercase")]
#[cfg_attr(test, derive(ts_rs::TS))]
pub enum State {
    /// The trial is running.
    Running,
    /// The trial ended normally.
    Complete,
    /// Some of several generators did not measure all of it.
    Partial,
    /// The trial failed; the notebook has the reason.
    Failed,
    /// The trial was interrupted, or pgdyno was killed.
    Aborted,
}

impl State {
    /// As the notebook has it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Running => "running",
            Self::Complete => "complete",
            Self::Partial => "partial",
            Self::Failed => "failed",
            Self::Aborted => "aborted",
        }
    }

    /// From [`State::name`].
    pub fn from_name(name: &str) -> Option<Self> {
        let all = <Self as clap::ValueEnum>::value_variants().iter();
        all.copied().find(|state| state.name() == name)
    }
}

impl fmt::Display for State {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}
