//! The server's report on one statement's time when it was run once more after the trial.

use serde::{Deserialize, Serialize};

/// The fact of an instrument that has a list of [`Explained`].
pub const EXPLAINED: &str = "explained";

/// A statement. Times are medians of its samples, in microseconds; `None` where they are not reported.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Explained {
    /// As the script has it, without values.
    pub text: String,
    /// How often it was run.
    pub samples: u64,
    pub execution_us: u64,
    /// What the server calls its storage layer.
    pub layer: String,
    /// Time in the storage layer, of all its requests together.
    pub storage_us: Option<u64>,
    /// Time spent waiting for other transactions.
    pub contention_us: Option<u64>,
    /// Rows that the storage layer read.
    pub rows: Option<u64>,
}
