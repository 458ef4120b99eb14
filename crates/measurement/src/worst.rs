//! The transactions that took longest, each with its time: where to look for what went on then.

pub const WORST_COUNT: usize = 5;

/// A transaction that took long.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SlowTransaction {
    /// Which script it was, in the order of the scripts.
    pub script: usize,
    pub client: usize,
    /// When it ended, in microseconds since clients began to work.
    pub ended_us: u64,
    /// How long it took, in microseconds: its response time where there is a rate, else its service
    /// time.
    pub latency_us: u64,
}

/// Brings those of several threads into order, the longest first, and leaves the rest out.
pub fn order_worst(worst: &mut Vec<SlowTransaction>) {
    worst.sort_by_key(|slow| std::cmp::Reverse(slow.latency_us));
    worst.truncate(WORST_COUNT);
}
