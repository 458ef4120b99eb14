//! What a check found: how often each anomaly occurred, and its smallest example.

use std::collections::BTreeMap;

use crate::level::Anomaly;

/// Why one transaction comes before another.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum LinkKind {
    /// The second overwrote what the first wrote.
    WriteWrite,
    /// The second read what the first wrote.
    WriteRead,
    /// The second overwrote what the first read.
    ReadWrite,
    /// The second inserted a row that the first would have read.
    ReadWritePredicate,
    /// A client ran the first, then the second.
    Session,
    /// The first had ended when the second began.
    RealTime,
    /// What a third transaction read demands it (levels of registers).
    CommitOrder,
}

impl LinkKind {
    /// The name in drawings and JSON.
    pub const fn name(self) -> &'static str {
        match self {
            Self::WriteWrite => "ww",
            Self::WriteRead => "wr",
            Self::ReadWrite => "rw",
            Self::ReadWritePredicate => "rw predicate",
            Self::Session => "session",
            Self::RealTime => "real time",
            Self::CommitOrder => "commit order",
        }
    }
}

/// One step of an example's cycle.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Link {
    /// An index of the history's transactions.
    pub from: u32,
    pub to: u32,
    pub kind: LinkKind,
    /// The key in question; nothing for orders by session or time.
    pub key: Option<u32>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Example {
    /// The transactions in it, as indexes of the history's.
    pub transactions: Vec<u32>,
    /// The steps of its cycle; none if it is no cycle.
    pub links: Vec<Link>,
    /// What happened: what each transaction did, then why that contradicts itself.
    pub story: Vec<String>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Occurrences {
    pub anomaly: Anomaly,
    /// How often. Cycles: as many as were found by the shortest way back from each of their edges.
    pub count: u64,
    /// Whether there may be more.
    pub at_least: bool,
    pub example: Example,
}

#[derive(Default)]
pub(crate) struct Finds {
    found: BTreeMap<Anomaly, Occurrences>,
}

impl Finds {
    /// Counts one; `example` is made if it is smaller than the one known.
    pub fn add(
        &mut self,
        anomaly: Anomaly,
        transactions: usize,
        example: impl FnOnce() -> Example,
    ) {
        match self.found.get_mut(&anomaly) {
            Some(found) => {
                found.count += 1;
                if transactions < found.example.transactions.len() {
                    found.example = example();
                }
            }
            None => {
                let found = Occurrences {
                    anomaly,
                    count: 1,
                    at_least: false,
                    example: example(),
                };
                self.found.insert(anomaly, found);
            }
        }
    }

    pub fn has(&self, is: impl Fn(Anomaly) -> bool) -> bool {
        self.found.keys().any(|&anomaly| is(anomaly))
    }

    /// The search for cycles did not look at all of them.
    pub fn at_least(&mut self) {
        for found in self.found.values_mut() {
            if matches!(found.anomaly, Anomaly::Cycle(_) | Anomaly::LongFork) {
                found.at_least = true;
            }
        }
    }

    pub fn into_vec(self) -> Vec<Occurrences> {
        self.found.into_values().collect()
    }
}
