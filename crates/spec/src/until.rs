//! When a run ends.

use std::num::NonZeroU64;
use std::time::Duration;

/// When a run ends by itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Until {
    /// Each client has ended so many transactions (failed and skipped ones count).
    Transactions(NonZeroU64),
    /// No transaction starts after so much time; what has started is finished.
    Elapsed(Duration),
}
