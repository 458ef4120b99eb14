//! Isolation levels and session guarantees, anomalies, and which level forbids which anomaly.
//!
//! Sources: A. Adya, Weak Consistency, PhD thesis, MIT 1999 (G0 to G2, levels PL-1 to PL-3); A. Cerone,
//! G. Bernardi & A. Gotsman, CONCUR 2015 (internal, read atomic, snapshot isolation); jepsen.io/consistency
//! and Elle's `consistency_model.clj` (names, process and real-time forms); D. Terry et al., PDIS 1994
//! (session guarantees); R. Biswas & C. Enea, OOPSLA 2019 (levels of registers).

use std::fmt;

/// What a database may promise.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Level {
    ReadUncommitted,
    ReadCommitted,
    ReadAtomic,
    Causal,
    RepeatableRead,
    SnapshotIsolation,
    Serializable,
    StrongSessionSnapshotIsolation,
    StrongSnapshotIsolation,
    StrongSessionSerializable,
    StrictSerializable,
    MonotonicReads,
    MonotonicWrites,
    ReadYourWrites,
    WritesFollowReads,
}

impl Level {
    /// All of them: levels, then session guarantees.
    pub const ALL: [Self; 15] = [
        Self::ReadUncommitted,
        Self::ReadCommitted,
        Self::ReadAtomic,
        Self::Causal,
        Self::RepeatableRead,
        Self::SnapshotIsolation,
        Self::Serializable,
        Self::StrongSessionSnapshotIsolation,
        Self::StrongSnapshotIsolation,
        Self::StrongSessionSerializable,
        Self::StrictSerializable,
        Self::MonotonicReads,
        Self::MonotonicWrites,
        Self::ReadYourWrites,
        Self::WritesFollowReads,
    ];

    /// The name in texts and JSON.
    pub const fn name(self) -> &'static str {
        match self {
            Self::ReadUncommitted => "read uncommitted",
            Self::ReadCommitted => "read committed",
            Self::ReadAtomic => "read atomic",
            Self::Causal => "causal",
            Self::RepeatableRead => "repeatable read",
            Self::SnapshotIsolation => "snapshot isolation",
            Self::Serializable => "serializable",
            Self::StrongSessionSnapshotIsolation => "strong session snapshot isolation",
            Self::StrongSnapshotIsolation => "strong snapshot isolation",
            Self::StrongSessionSerializable => "strong session serializable",
            Self::StrictSerializable => "strict serializable",
            Self::MonotonicReads => "monotonic reads",
            Self::MonotonicWrites => "monotonic writes",
            Self::ReadYourWrites => "read your writes",
            Self::WritesFollowReads => "writes follow reads",
        }
    }

    /// Whether it promises an order between transactions of different clients by time.
    pub const fn is_real_time(self) -> bool {
        matches!(
            self,
            Self::StrongSnapshotIsolation | Self::StrictSerializable
        )
    }

    /// Whether only transactions that run at the same time can break it: it promises no order of sessions or of time.
    pub const fn is_of_concurrency(self) -> bool {
        matches!(
            self,
            Self::ReadUncommitted
                | Self::ReadCommitted
                | Self::ReadAtomic
                | Self::RepeatableRead
                | Self::SnapshotIsolation
                | Self::Serializable
        )
    }

    /// Whether the order of a key's versions must be known to say that it holds.
    pub const fn needs_version_order(self) -> bool {
        !matches!(self, Self::ReadCommitted | Self::ReadAtomic | Self::Causal)
    }

    /// Whether an anomaly breaks it.
    pub fn forbids(self, anomaly: Anomaly) -> bool {
        use Anomaly as A;
        match anomaly {
            A::DuplicateElement => !self.is_session_guarantee(),
            A::AbortedRead
            | A::IntermediateRead
            | A::UnwrittenValue
            | A::FutureRead
            | A::ReorderedAppends
            | A::IncompatibleOrder => self.at_least_read_committed(),
            A::Internal | A::FracturedRead | A::NonRepeatableRead => {
                self.at_least_read_committed() && self != Self::ReadCommitted
            }
            // Adya's repeatable read is of items, not of predicates.
            A::FracturedRows | A::Phantom => {
                self.at_least_read_committed()
                    && !matches!(self, Self::ReadCommitted | Self::RepeatableRead)
            }
            A::LostUpdate | A::LongFork => {
                self.at_least_read_committed() && self >= Self::RepeatableRead
            }
            // Other levels do not say when a transaction takes effect: it may be after all reads.
            A::LostWrite => self.is_real_time(),
            A::CommitOrder(level) => match level {
                Level::ReadCommitted => self.at_least_read_committed(),
                Level::ReadAtomic => self.at_least_read_committed() && self != Self::ReadCommitted,
                _ => self.keeps_sessions(),
            },
            A::SessionOrder => self.keeps_sessions(),
            A::NonMonotonicRead => self == Self::MonotonicReads || self.keeps_sessions(),
            A::NonMonotonicWrite => self == Self::MonotonicWrites || self.keeps_sessions(),
            A::MissedOwnWrite => self == Self::ReadYourWrites || self.keeps_sessions(),
            A::WriteBeforeRead => self == Self::WritesFollowReads || self.keeps_sessions(),
            A::Cycle(cycle) => self.forbids_cycle(cycle),
        }
    }

    /// Session guarantees are promised apart from levels.
    pub fn is_session_guarantee(self) -> bool {
        self >= Self::MonotonicReads
    }

    fn at_least_read_committed(self) -> bool {
        !self.is_session_guarantee() && self >= Self::ReadCommitted
    }

    /// Whether sessions count in it: in causal consistency by the definition of Biswas & Enea.
    fn keeps_sessions(self) -> bool {
        matches!(
            self,
            Self::Causal
                | Self::StrongSessionSnapshotIsolation
                | Self::StrongSnapshotIsolation
                | Self::StrongSessionSerializable
                | Self::StrictSerializable
        )
    }

    fn forbids_cycle(self, cycle: Cycle) -> bool {
        let snapshot = cycle.class <= CycleClass::GNonadjacent;
        match self {
            Self::ReadUncommitted => cycle.is(CycleClass::G0, Closing::Data),
            Self::ReadCommitted | Self::ReadAtomic | Self::Causal => {
                cycle.is(CycleClass::G1c, Closing::Data)
            }
            Self::RepeatableRead => cycle.closing == Closing::Data && !cycle.predicate,
            Self::SnapshotIsolation => snapshot && cycle.closing == Closing::Data,
            Self::Serializable => cycle.closing == Closing::Data,
            Self::StrongSessionSnapshotIsolation => snapshot && cycle.closing <= Closing::Session,
            Self::StrongSnapshotIsolation => snapshot,
            Self::StrongSessionSerializable => cycle.closing <= Closing::Session,
            Self::StrictSerializable => true,
            Self::MonotonicReads
            | Self::MonotonicWrites
            | Self::ReadYourWrites
            | Self::WritesFollowReads => false,
        }
    }
}

impl fmt::Display for Level {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// Cycles of dependencies, from the worst.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum CycleClass {
    /// Only ww: writes of two transactions in opposite orders.
    G0,
    /// ww and wr, at least one wr.
    G1c,
    GSingle,
    /// Two rw or more, none next to another.
    GNonadjacent,
    /// Two rw next to each other (write skew).
    G2,
}

/// What closes a cycle that data alone do not close.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Closing {
    /// Nothing else: only what transactions read and wrote.
    Data,
    Session,
    /// One transaction ended before another began.
    RealTime,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Cycle {
    pub class: CycleClass,
    /// By what else it needs.
    pub closing: Closing,
    /// Whether one of its rw is through a predicate.
    pub predicate: bool,
}

impl Cycle {
    fn is(self, class: CycleClass, closing: Closing) -> bool {
        self.class <= class && self.closing <= closing
    }
}

/// What a history shows that some level forbids.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Anomaly {
    /// G1a: a committed transaction read a value of one that did not commit.
    AbortedRead,
    /// G1b: a committed transaction read a value that its writer then changed.
    IntermediateRead,
    /// A committed transaction read a value that no transaction wrote.
    UnwrittenValue,
    /// A transaction read what it wrote only afterwards (Elle's future-read; a violation of EXT in Cerone, Bernardi &
    /// Gotsman).
    FutureRead,
    /// A list does not have a transaction's appends in the order in which it made them, or lacks an earlier one.
    ReorderedAppends,
    /// A list has an element twice.
    DuplicateElement,
    /// Two reads of a list, neither a beginning of the other.
    IncompatibleOrder,
    /// A transaction did not see its own write.
    Internal,
    /// A transaction read a key twice and found two versions, none its own.
    NonRepeatableRead,
    /// A transaction saw one write of another and missed an earlier or simultaneous one.
    FracturedRead,
    /// A transaction read the rows of a predicate twice, and found one of them only once.
    Phantom,
    /// A transaction saw one write of another and missed a row that the same one had inserted.
    FracturedRows,
    /// Two transactions read the same version of a key and both wrote the key.
    LostUpdate,
    /// An acknowledged write is not in its key when that is read after all of its writes.
    LostWrite,
    /// Two readers saw the writes of two transactions in opposite orders.
    LongFork,
    /// Later in a session, an older version.
    NonMonotonicRead,
    /// A session's writes took effect in another order.
    NonMonotonicWrite,
    /// A session's later transaction did not see its write.
    MissedOwnWrite,
    /// A session's write took effect before what the session had read.
    WriteBeforeRead,
    /// No order of commits explains what was read at this level (registers).
    CommitOrder(Level),
    /// No order of commits explains what was read at causal, and a session's own order closes the circle.
    SessionOrder,
    Cycle(Cycle),
}

impl Anomaly {
    /// The name in texts and JSON: Elle's where it has one.
    pub const fn name(self) -> &'static str {
        use Closing::{Data, RealTime, Session};
        use CycleClass::{G0, G1c, G2, GNonadjacent, GSingle};
        match self {
            Self::AbortedRead => "G1a",
            Self::IntermediateRead => "G1b",
            Self::UnwrittenValue => "unwritten-value",
            Self::FutureRead => "future-read",
            Self::ReorderedAppends => "reordered-appends",
            Self::DuplicateElement => "duplicate-elements",
            Self::IncompatibleOrder => "incompatible-order",
            Self::Internal => "internal",
            Self::NonRepeatableRead => "non-repeatable-read",
            Self::FracturedRead => "fractured-read",
            Self::Phantom => "phantom",
            Self::FracturedRows => "fractured-rows",
            Self::LostUpdate => "lost-update",
            Self::LostWrite => "lost-write",
            Self::LongFork => "long-fork",
            Self::NonMonotonicRead => "non-monotonic-read",
            Self::NonMonotonicWrite => "non-monotonic-write",
            Self::MissedOwnWrite => "missed-own-write",
            Self::WriteBeforeRead => "write-before-read",
            Self::CommitOrder(Level::ReadCommitted) => "no-read-committed-order",
            Self::CommitOrder(Level::ReadAtomic) => "no-read-atomic-order",
            Self::CommitOrder(_) => "no-causal-order",
            Self::SessionOrder => "no-causal-order-process",
            Self::Cycle(cycle) => match (cycle.class, cycle.closing, cycle.predicate) {
                (G0, Data, _) => "G0",
                (G0, Session, _) => "G0-process",
                (G0, RealTime, _) => "G0-realtime",
                (G1c, Data, _) => "G1c",
                (G1c, Session, _) => "G1c-process",
                (G1c, RealTime, _) => "G1c-realtime",
                (GSingle, Data, false) => "G-single-item",
                (GSingle, Session, false) => "G-single-item-process",
                (GSingle, RealTime, false) => "G-single-item-realtime",
                (GSingle, Data, true) => "G-single",
                (GSingle, Session, true) => "G-single-process",
                (GSingle, RealTime, true) => "G-single-realtime",
                (GNonadjacent, Data, false) => "G-nonadjacent-item",
                (GNonadjacent, Session, false) => "G-nonadjacent-item-process",
                (GNonadjacent, RealTime, false) => "G-nonadjacent-item-realtime",
                (GNonadjacent, Data, true) => "G-nonadjacent",
                (GNonadjacent, Session, true) => "G-nonadjacent-process",
                (GNonadjacent, RealTime, true) => "G-nonadjacent-realtime",
                (G2, Data, false) => "G2-item",
                (G2, Session, false) => "G2-item-process",
                (G2, RealTime, false) => "G2-item-realtime",
                (G2, Data, true) => "G2",
                (G2, Session, true) => "G2-process",
                (G2, RealTime, true) => "G2-realtime",
            },
        }
    }

    /// What it is, in one phrase.
    pub const fn meaning(self) -> &'static str {
        use CycleClass::{G0, G1c, G2, GNonadjacent, GSingle};
        match self {
            Self::AbortedRead => "read a value of a transaction that did not commit",
            Self::IntermediateRead => "read a value that its writer then changed",
            Self::UnwrittenValue => "read a value that no transaction wrote",
            Self::FutureRead => "read what it wrote only afterwards",
            Self::ReorderedAppends => "a list has a transaction's appends in another order",
            Self::DuplicateElement => "a list has an element twice",
            Self::IncompatibleOrder => "two reads of a list, neither a beginning of the other",
            Self::Internal => "did not see its own write",
            Self::NonRepeatableRead => "read a key twice and found two versions",
            Self::FracturedRead => "saw one write of a transaction and missed another",
            Self::Phantom => "read the rows of a predicate twice and found other rows",
            Self::FracturedRows => "saw one write of a transaction and missed a row of it",
            Self::LostUpdate => "lost update: two read the same version and both wrote",
            Self::LostWrite => {
                "an acknowledged write is not there when its key is read after all of its writes"
            }
            Self::LongFork => "two readers saw two writes in opposite orders",
            Self::NonMonotonicRead => "a session read an older version than before",
            Self::NonMonotonicWrite => "a session's writes took effect in another order",
            Self::MissedOwnWrite => "a session did not see its own earlier write",
            Self::WriteBeforeRead => "a session's write took effect before what it had read",
            Self::CommitOrder(_) => "no order of commits explains what was read",
            Self::SessionOrder => "no order of commits and of a session explains what was read",
            Self::Cycle(cycle) => match (cycle.class, cycle.closing) {
                (G0, _) => "write cycle",
                (G1c, _) => "circular information flow",
                (GSingle, Closing::Data) => "read skew",
                (GSingle, Closing::Session) => "stale read within a session",
                (GSingle, Closing::RealTime) => "stale read",
                (GNonadjacent, _) => "no snapshot explains what was read",
                (G2, _) if cycle.predicate => "write skew through a predicate",
                (G2, _) => "write skew",
            },
        }
    }
}

impl fmt::Display for Anomaly {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}
