//! What the generator itself adds to latencies.

use super::Latencies;

/// Latencies of the same transactions as they were, and without what the generator added.
#[derive(Clone, Debug, Default)]
pub struct Added {
    /// As they were: response times with a rate, else service times.
    pub shown: Latencies,
    /// Without the estimate of what was added.
    pub without: Latencies,
    /// Without the most that can have been added.
    pub without_max: Latencies,
}

impl Added {
    pub fn merge(&mut self, other: &Self) {
        self.shown.merge(&other.shown);
        self.without.merge(&other.without);
        self.without_max.merge(&other.without_max);
    }
}
