//! How transactions end, and how many of each kind there were.

use std::collections::BTreeMap;
use std::fmt;

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Failure {
    /// The server refused a statement with this SQLSTATE (five ASCII characters).
    Sqlstate([u8; 5]),
    /// The server answered COMMIT with ROLLBACK and no error.
    RolledBack,
    /// The connection broke where nothing can have been committed.
    ConnectionLost,
    /// No connection was to be had for the transaction.
    ConnectionRefused,
    /// The server is there and not what `target_session_attrs` asks for.
    WrongServer,
    /// The script found an invariant broken (`\error`).
    Invariant,
    /// A row was looked for without success ([`crate::Script::must_find`]); everything was executed.
    RowMissing,
    /// A command of the script itself went wrong (`\set`, `\shell`, `\gset`…).
    Script,
    /// The script ended with a transaction block open, and the client with it. (To pgbench the
    /// transaction counts as processed.)
    OpenBlock,
    /// The run was stopped in its middle.
    Interrupted,
}

impl Failure {
    pub const SERIALIZATION: Self = Self::Sqlstate(*b"40001");
    pub const DEADLOCK: Self = Self::Sqlstate(*b"40P01");

    /// Adds counts by failure to others.
    pub fn merge_counts(mine: &mut BTreeMap<Self, u64>, others: &BTreeMap<Self, u64>) {
        for (failure, count) in others {
            *mine.entry(*failure).or_default() += count;
        }
    }

    /// The class as reports name it: the SQLSTATE, or a word.
    pub fn code(&self) -> &str {
        match self {
            // See `from_sqlstate`, which admits ASCII only.
            Self::Sqlstate(code) => std::str::from_utf8(code).unwrap_or("?????"),
            Self::RolledBack => "rolled-back",
            Self::ConnectionLost => "connection-lost",
            Self::ConnectionRefused => "connection-refused",
            Self::WrongServer => "wrong-server",
            Self::Invariant => "invariant",
            Self::RowMissing => "row-missing",
            Self::Script => "script",
            Self::OpenBlock => "open-block",
            Self::Interrupted => "interrupted",
        }
    }

    /// The failure whose [`Failure::code`] this is.
    pub fn from_code(code: &str) -> Self {
        let words = [
            Self::RolledBack,
            Self::ConnectionLost,
            Self::ConnectionRefused,
            Self::WrongServer,
            Self::Invariant,
            Self::RowMissing,
            Self::Script,
            Self::OpenBlock,
            Self::Interrupted,
        ];
        words
            .into_iter()
            .find(|failure| failure.code() == code)
            .unwrap_or_else(|| Self::from_sqlstate(code))
    }

    /// The failure that a server's SQLSTATE represents; a malformed one becomes `XX000`
    /// (internal error).
    pub fn from_sqlstate(code: &str) -> Self {
        match <[u8; 5]>::try_from(code.as_bytes()) {
            Ok(bytes) if bytes.is_ascii() => Self::Sqlstate(bytes),
            _ => Self::Sqlstate(*b"XX000"),
        }
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let text = match *self {
            Self::SERIALIZATION => "serialization failure",
            Self::DEADLOCK => "deadlock",
            Self::Sqlstate(_) => return write!(f, "SQLSTATE {}", self.code()),
            Self::RolledBack => "COMMIT answered with ROLLBACK",
            Self::ConnectionLost => "connection lost",
            Self::ConnectionRefused => "no connection",
            Self::WrongServer => "not the kind of server that is asked for",
            Self::Invariant => "broken invariant",
            Self::RowMissing => "row not found",
            Self::Script => "script error",
            Self::OpenBlock => "transaction block left open",
            Self::Interrupted => "interrupted",
        };
        f.write_str(text)
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// All of the script was executed.
    Committed,
    /// Not all of the script was executed, and no block that was open has been committed. (What
    /// the script did before outside a block is committed all the same.)
    Failed(Failure),
    /// Not started: it was already later than the latency limit.
    Skipped,
    /// The connection broke while a commit was under way, or the server said that the result is
    /// ambiguous: the client does not know.
    Unknown,
}

/// Transactions by how they ended.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    pub committed: u64,
    pub failed: BTreeMap<Failure, u64>,
    pub skipped: u64,
    pub unknown: u64,
    /// Tries beyond the first, of all transactions.
    pub retries: u64,
    /// Transactions that were tried more than once.
    pub retried: u64,
    /// Committed, but later than the latency limit.
    pub late: u64,
}

impl Counts {
    /// Books one transaction after so many tries.
    pub fn book(&mut self, outcome: Outcome, tries: u32) {
        if tries > 1 {
            self.retries += u64::from(tries - 1);
            self.retried += 1;
        }
        match outcome {
            Outcome::Committed => self.committed += 1,
            Outcome::Failed(failure) => *self.failed.entry(failure).or_default() += 1,
            Outcome::Skipped => self.skipped += 1,
            Outcome::Unknown => self.unknown += 1,
        }
    }

    /// Failed transactions of all reasons.
    pub fn failed_total(&self) -> u64 {
        self.failed.values().sum()
    }

    /// Transactions booked: committed, failed, skipped and unknown.
    pub fn total(&self) -> u64 {
        self.committed + self.failed_total() + self.skipped + self.unknown
    }

    /// Adds what another has counted.
    pub fn merge(&mut self, other: &Self) {
        self.committed += other.committed;
        self.skipped += other.skipped;
        self.unknown += other.unknown;
        self.retries += other.retries;
        self.retried += other.retried;
        self.late += other.late;
        Failure::merge_counts(&mut self.failed, &other.failed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_booked_transaction_is_in_the_total_once() {
        let mut counts = Counts::default();
        counts.book(Outcome::Committed, 3);
        counts.book(Outcome::Failed(Failure::SERIALIZATION), 2);
        counts.book(Outcome::Failed(Failure::from_sqlstate("23505")), 1);
        counts.book(Outcome::Skipped, 1);
        counts.book(Outcome::Unknown, 1);
        let mut sum = counts.clone();
        sum.merge(&counts);
        assert_eq!((sum.total(), sum.failed_total()), (10, 4));
        assert_eq!((sum.retries, sum.retried), (6, 4));
        assert_eq!(sum.failed[&Failure::SERIALIZATION], 2);
    }

    #[test]
    fn a_malformed_sqlstate_is_an_internal_error() {
        assert_eq!(Failure::from_sqlstate("4000").code(), "XX000");
        assert_eq!(Failure::from_sqlstate("é000").code(), "XX000");
        assert_eq!(Failure::from_sqlstate("40P01"), Failure::DEADLOCK);
    }

    #[test]
    fn a_failure_is_known_again_by_its_code() {
        for failure in [
            Failure::DEADLOCK,
            Failure::RolledBack,
            Failure::ConnectionLost,
            Failure::ConnectionRefused,
            Failure::Invariant,
            Failure::RowMissing,
            Failure::Script,
            Failure::OpenBlock,
            Failure::Interrupted,
        ] {
            assert_eq!(Failure::from_code(failure.code()), failure);
        }
    }
}
