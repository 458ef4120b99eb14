//! Transactions one by one, for those who log them.

use super::Outcome;

/// One transaction that has ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LoggedTransaction {
    pub client: usize,
    /// How many transactions of this client have ended by now, this one included.
    pub number: u64,
    pub script: usize,
    pub outcome: Outcome,
    /// How often it was tried, the first try included.
    pub tries: u32,
    /// From its scheduled start to its end in microseconds; 0 unless it was committed, or ended in
    /// an open block ([`super::Failure::OpenBlock`]).
    pub latency_us: u64,
    /// How late it started in microseconds; 0 where the latency is.
    pub lag_us: u64,
    /// From its begin to its end in microseconds, whatever came of it, pauses between tries included.
    pub took_us: u64,
    /// How late it began in microseconds, whatever came of it.
    pub waited_us: u64,
    /// When it ended, in microseconds since clients began to work.
    pub at_us: u64,
}
