//! What is done between trials, so that each finds the database as the others did.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::seconds;

/// What to do before each trial.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Reset {
    /// Whether tables of `pgbench -i` that were made with other parameters are replaced.
    #[serde(default)]
    pub replace_pgbench_tables: bool,
    /// Tables to empty, besides those of pgdyno's own that start empty.
    pub truncate: Vec<String>,
    /// When to vacuum and analyze.
    pub vacuum: Vacuum,
    /// Whether to make a checkpoint.
    pub checkpoint: bool,
    /// How long the checkpoint may take.
    #[serde(rename = "checkpoint_timeout_s", with = "seconds")]
    pub checkpoint_timeout: Duration,
    /// How long to wait afterwards.
    #[serde(rename = "settle_s", with = "seconds")]
    pub settle: Duration,
}

impl Default for Reset {
    fn default() -> Self {
        Reset {
            replace_pgbench_tables: false,
            truncate: Vec::new(),
            vacuum: Vacuum::Needed,
            checkpoint: true,
            checkpoint_timeout: Duration::from_secs(300),
            settle: Duration::from_secs(1),
        }
    }
}

/// When tables are vacuumed and analyzed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Vacuum {
    /// When a trial has written to them, or the server counts changes since the last time.
    Needed,
    Always,
    Never,
}

impl Vacuum {
    pub fn word(self) -> &'static str {
        match self {
            Vacuum::Needed => "needed",
            Vacuum::Always => "always",
            Vacuum::Never => "never",
        }
    }
}
