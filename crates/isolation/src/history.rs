//! A history: what each transaction did and saw, and when it began and ended. Compact: a million
//! transactions of four operations take about 120 MB, because reads of a list share its elements.

use crate::keys::{KeyKind, KeyName, Keys};

/// What became of a transaction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Status {
    Committed,
    /// It did not take effect.
    Aborted,
    /// It may have taken effect, at any time after it began: the connection was lost during COMMIT.
    Unknown,
}

/// One operation. Values are unique for each key: they name the write.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Operation {
    /// Adds `value` to the end of the list `key`.
    Append {
        key: u32,
        value: i64,
    },
    Write {
        key: u32,
        value: i64,
    },
    /// Inserts the row `value` that matches the predicate `key`.
    Insert {
        key: u32,
        value: i64,
    },
    /// Read a list of one element or more: see [`History::list`].
    ReadList {
        key: u32,
        spine: u32,
        /// How many of them the read returned.
        len: u32,
    },
    Read {
        key: u32,
        value: i64,
    },
    /// Read a list or register, and there was no row, or it was empty.
    ReadNothing {
        key: u32,
    },
    /// Read all rows that match the predicate `key`: see [`History::rows`].
    ReadRows {
        key: u32,
        start: u32,
        len: u32,
    },
    /// A read whose answer is not recorded, because the transaction did not commit for certain.
    Unread {
        key: u32,
    },
    /// The same of a read by a predicate.
    UnreadRows {
        key: u32,
    },
}

impl Operation {
    /// The key that it reads or writes.
    pub const fn key(self) -> u32 {
        match self {
            Self::Append { key, .. }
            | Self::Write { key, .. }
            | Self::Insert { key, .. }
            | Self::ReadList { key, .. }
            | Self::Read { key, .. }
            | Self::ReadNothing { key }
            | Self::ReadRows { key, .. }
            | Self::Unread { key }
            | Self::UnreadRows { key } => key,
        }
    }

    /// The value that it writes; nothing for a read.
    pub const fn written(self) -> Option<i64> {
        match self {
            Self::Append { value, .. } | Self::Write { value, .. } | Self::Insert { value, .. } => {
                Some(value)
            }
            _ => None,
        }
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Transaction {
    /// Who ran it. A client runs one transaction after another.
    pub client: u32,
    pub status: Status,
    /// When it was sent, in nanoseconds since any one moment.
    pub begin_ns: i64,
    /// When its end was known, likewise.
    pub end_ns: i64,
    /// The place of its begin among all begins and ends.
    pub begin_place: u32,
    /// The place of its end.
    pub end_place: u32,
    pub(crate) first: u32,
}

/// A sequence of elements of a list that reads share: each read is one of its beginnings.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Spine {
    pub key: u32,
    pub elements: Vec<i64>,
    /// Whether committed transactions read it. Others prove nothing.
    pub committed: bool,
    /// The transaction whose read is the longest.
    pub longest_by: u32,
}

/// Where a history's file ends too early.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CutOff {
    /// The last line, counted from 1.
    pub line: u64,
    /// Transactions that have begun and whose end is missing; they count as unknown.
    pub open: u64,
}

/// A clock that went backwards.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClockStep {
    pub times: u64,
    /// By how much at most, in nanoseconds.
    pub largest_ns: i64,
    /// Whether the order of events is known all the same: they were recorded one after the other.
    pub order_known: bool,
}

/// Transactions in the order in which they were added. [`crate::Builder`] and [`crate::read`] make one.
#[derive(Clone, Debug, Default)]
pub struct History {
    pub(crate) transactions: Vec<Transaction>,
    pub(crate) operations: Vec<Operation>,
    pub(crate) spines: Vec<Spine>,
    pub(crate) row_values: Vec<i64>,
    pub(crate) keys: Keys,
    pub(crate) kinds: Vec<KeyKind>,
    pub(crate) cut_off: Option<CutOff>,
    pub(crate) clock_step: Option<ClockStep>,
}

impl History {
    pub fn transactions(&self) -> &[Transaction] {
        &self.transactions
    }

    /// What a transaction did, in its order. `transaction` is an index of [`Self::transactions`].
    pub fn operations(&self, transaction: u32) -> &[Operation] {
        let at = transaction as usize;
        let end = self
            .transactions
            .get(at + 1)
            .map_or(self.operations.len(), |next| next.first as usize);
        &self.operations[self.transactions[at].first as usize..end]
    }

    /// The elements that a read of a list returned.
    pub fn list(&self, spine: u32, len: u32) -> &[i64] {
        &self.spines[spine as usize].elements[..len as usize]
    }

    /// The rows that a read by a predicate returned, sorted.
    pub fn rows(&self, start: u32, len: u32) -> &[i64] {
        &self.row_values[start as usize..][..len as usize]
    }

    /// What a key is called.
    pub fn key(&self, key: u32) -> &KeyName {
        self.keys.name(key)
    }

    pub fn kind(&self, key: u32) -> KeyKind {
        self.kinds[key as usize]
    }

    pub fn key_count(&self) -> usize {
        self.keys.len()
    }

    /// Where its file ended too early, if it did.
    pub fn cut_off(&self) -> Option<&CutOff> {
        self.cut_off.as_ref()
    }

    /// Whether its clock went backwards.
    pub fn clock_step(&self) -> Option<&ClockStep> {
        self.clock_step.as_ref()
    }

    /// Whether one transaction had ended before another began.
    pub fn ended_before(&self, first: u32, second: u32) -> bool {
        let (first, second) = (
            &self.transactions[first as usize],
            &self.transactions[second as usize],
        );
        first.status == Status::Committed && first.end_place < second.begin_place
    }
}
