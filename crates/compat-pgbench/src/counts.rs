//! What pgbench counts, from what the engine counts.

use pgdyno_measurement::{Counts, Failure, Outcome};

/// Transactions as pgbench counts them.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct PgbenchTally {
    /// "actually processed": a script that ended in an open block counts, though its client ends.
    pub processed: u64,
    /// Failed with a serialization failure.
    pub serialization: u64,
    pub deadlock: u64,
    /// Failed with another error of the server; with `--continue-on-error` only.
    pub other: u64,
    /// Perhaps committed: the connection was lost during a commit, or the server leaves it open.
    /// pgbench has no word for it; where its clients would have gone on it counts as nothing else.
    pub unknown: u64,
    /// Never started because they were too late.
    pub skipped: u64,
    pub retried: u64,
    pub retries: u64,
    /// Processed, but later than the latency limit.
    pub late: u64,
}

/// How one transaction is counted; `None` when pgbench does not count it, because its client ended
/// with it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PgbenchCounted {
    Processed,
    Skipped,
    /// As failed, with pgbench's word for the reason.
    Failed(&'static str),
}

/// The way pgbench counts an outcome. `goes_on`: clients survive other errors of the server
/// (`--continue-on-error`) or lost connections (`--reconnect`), whose transactions have failed
/// then.
pub fn counted(outcome: Outcome, goes_on: bool) -> Option<PgbenchCounted> {
    match outcome {
        Outcome::Committed | Outcome::Failed(Failure::OpenBlock) => Some(PgbenchCounted::Processed),
        Outcome::Skipped => Some(PgbenchCounted::Skipped),
        Outcome::Failed(Failure::SERIALIZATION) => Some(PgbenchCounted::Failed("serialization")),
        Outcome::Failed(Failure::DEADLOCK) => Some(PgbenchCounted::Failed("deadlock")),
        Outcome::Failed(Failure::Interrupted | Failure::Script) => None,
        Outcome::Failed(_) if goes_on => Some(PgbenchCounted::Failed("other")),
        // Logs have no column for it.
        Outcome::Unknown if goes_on => Some(PgbenchCounted::Failed("unknown")),
        Outcome::Failed(_) | Outcome::Unknown => None,
    }
}

impl PgbenchTally {
    pub fn of(counts: &Counts, goes_on: bool) -> Self {
        let mut tally = Self {
            processed: counts.committed,
            skipped: counts.skipped,
            retried: counts.retried,
            retries: counts.retries,
            late: counts.late,
            unknown: if goes_on { counts.unknown } else { 0 },
            ..Self::default()
        };
        for (failure, number) in &counts.failed {
            match counted(Outcome::Failed(*failure), goes_on) {
                Some(PgbenchCounted::Processed) => tally.processed += number,
                Some(PgbenchCounted::Failed("serialization")) => tally.serialization += number,
                Some(PgbenchCounted::Failed("deadlock")) => tally.deadlock += number,
                Some(PgbenchCounted::Failed(_)) => tally.other += number,
                Some(PgbenchCounted::Skipped) | None => {}
            }
        }
        tally
    }

    /// All failed ones: those that certainly left nothing.
    pub fn failed(&self) -> u64 {
        self.serialization + self.deadlock + self.other
    }

    /// All that pgbench knows of.
    pub fn total(&self) -> u64 {
        self.processed + self.skipped + self.failed() + self.unknown
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_client_that_ended_takes_its_transaction_with_it() {
        let mut counts = Counts::default();
        let unique = Failure::from_sqlstate("23505");
        for outcome in [
            Outcome::Committed,
            Outcome::Failed(Failure::SERIALIZATION),
            Outcome::Failed(Failure::DEADLOCK),
            Outcome::Failed(Failure::OpenBlock),
            Outcome::Failed(unique),
            Outcome::Failed(Failure::ConnectionLost),
            Outcome::Failed(Failure::Script),
            Outcome::Unknown,
            Outcome::Skipped,
        ] {
            counts.book(outcome, 1);
        }
        let tally = PgbenchTally::of(&counts, false);
        assert_eq!((tally.processed, tally.failed(), tally.total()), (2, 2, 5));
        let tally = PgbenchTally::of(&counts, true);
        assert_eq!((tally.processed, tally.other, tally.total()), (2, 2, 8));
        // What may be committed has not failed.
        assert_eq!((tally.failed(), tally.unknown), (4, 1));
    }
}
