//! Whether the database has what it acknowledged: each transaction left a receipt, a row written in it,
//! and after the trial the database was asked for them (docs/failover.md).

use serde::{Deserialize, Serialize};

use crate::Fact;

/// What the receipts say. Numbers are transactions, warm-up included.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct Truth {
    /// The tables that have them.
    pub tables: Vec<String>,
    /// Whose COMMIT the server has answered, with a receipt written before.
    pub acknowledged: u64,
    /// Of these, those without their receipt: lost writes.
    pub lost: u64,
    pub lost_first: Vec<LostWrite>,
    /// Of which clients do not know whether they were committed.
    pub in_doubt: u64,
    /// Of these, those that were.
    pub in_doubt_landed: u64,
    pub in_doubt_first: Vec<InDoubt>,
    /// Of which clients know that they were rolled back.
    pub failed: u64,
    /// Of these, those that were committed all the same.
    pub failed_landed: u64,
    /// That committed without a receipt: their script rolled back, or did not come to it.
    pub without_receipt: u64,
    /// Receipts that are there more than once.
    pub twice: u64,
    /// Of clients with too many errors, each of which was noted up to a limit: nothing is said of them.
    pub not_followed: u64,
    /// What the tables of a workload that keeps sums gained; `null` where there are none.
    pub sums: Option<Fact<Sums>>,
    /// How long the database was read, in milliseconds.
    pub read_ms: u64,
}

/// An acknowledged transaction that the database does not have.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct LostWrite {
    pub client: usize,
    /// Which of its transactions, from 1.
    pub number: u64,
    /// By when it had been acknowledged, in microseconds since clients began to work.
    pub by_us: u64,
    /// How much earlier that may have been: times are kept about once a second.
    pub within_us: u64,
}

/// A transaction of which its client did not know whether it was committed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct InDoubt {
    pub client: usize,
    /// Which of its transactions, from 1.
    pub number: u64,
    /// When the client gave it up, in microseconds since clients began to work; of several one after
    /// another the first.
    pub at_us: u64,
    pub landed: bool,
}

/// What a trial added to the balances of pgbench's tables: the same to all that its scripts change, if
/// transactions are atomic.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct Sums {
    /// The tables, and by how much their sum has grown.
    pub grown: Vec<(String, i64)>,
}

impl Sums {
    pub fn agree(&self) -> bool {
        self.grown.windows(2).all(|pair| pair[0].1 == pair[1].1)
    }
}

impl Truth {
    /// So many lost writes are listed, and as many in doubt.
    pub const LISTED_MAX: usize = 20;

    /// Whether everything is as it should be, as far as it was followed.
    pub fn is_whole(&self) -> bool {
        let sums = self.sums.as_ref().and_then(Fact::known);
        self.lost == 0 && self.twice == 0 && sums.is_none_or(Sums::agree)
    }
}
