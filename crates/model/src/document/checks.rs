//! What must hold of the data, and whether it did.

use serde::{Deserialize, Serialize};

/// A check of the workload's pack (`[[check]]`, workloads/README.md): what must hold of the data whatever
/// transactions do.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct DataCheck {
    /// Its name in the pack.
    pub name: String,
    /// What holds, in one sentence.
    pub help: String,
    /// Whether it held each time; `null`: not known.
    pub held: Option<bool>,
    /// What the query must return: `no row`, a value.
    pub expected: String,
    /// What it returned: the first time that it did not hold, else the last time; `null`: never asked.
    pub found: Option<String>,
    /// When that was: `before`, `during`, `after` the trial.
    pub at: Option<String>,
    /// How often it was asked.
    pub looks: u64,
    /// How often it did not hold.
    pub failures: u64,
    /// The longest time that the query took.
    pub took_us_max: u64,
    /// Why it was not asked, or not as often as it should.
    pub unknown: Option<String>,
}
