//! What the history of a trial shows: anomalies, the levels that they break, and what cannot be said
//! (docs/isolation.md).

use serde::{Deserialize, Serialize};

use crate::Fact;

/// The check of a trial's history.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct IsolationCheck {
    /// The isolation level in effect, as the server reported it inside a transaction that began as
    /// the workload's do.
    pub in_effect: Fact<String>,
    /// What the product promises at that level.
    pub promise: Fact<IsolationPromise>,
    /// Where scripts of a role went, if some did not go where the others wrote:
    /// `reads at db2:5432 (a standby)`.
    #[serde(default)]
    pub reads: Option<String>,
    /// Tries of transactions in the history.
    pub recorded: u64,
    /// Of them, those that took effect.
    pub committed: u64,
    /// Of them, those that did not.
    pub aborted: u64,
    /// Of them, those of which that is not known, and no read shows it.
    pub unknown: u64,
    pub dependencies: u64,
    /// Pairs of transactions that ran at the same time, of which one overwrote what the other read or
    /// wrote.
    pub conflicting_pairs: u64,
    /// Appends and inserts that were acknowledged.
    #[serde(default)]
    pub acknowledged_writes: u64,
    /// Of them, those whose key was read after all of its writes had ended: a lost one would be missed.
    #[serde(default)]
    pub writes_read_at_end: u64,
    /// Whether rows are read by predicates.
    pub has_predicates: bool,
    /// What is missing of the history, or was not looked for; `null`: all of it was checked.
    pub not_whole: Option<String>,
    /// Every level and session guarantee, from the weakest.
    pub levels: Vec<IsolationKept>,
    pub found: Vec<IsolationFound>,
    /// What a reader must know to believe it.
    pub notes: Vec<String>,
    pub took_ms: u64,
}

/// What a product says of a level of its own.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct IsolationPromise {
    /// The level of Adya and others that it promises: `snapshot isolation`.
    pub level: String,
    /// What it documents as possible, in words.
    pub allows: String,
    pub source: String,
    /// Anomalies that the level forbids and that are documented as possible all the same in this trial.
    #[serde(default)]
    pub except: Vec<String>,
}

/// Whether a level was kept.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct IsolationKept {
    /// Its name, such as `serializable`.
    pub level: String,
    /// `true`: nothing was seen that it forbids; `false`: it is broken; `null`: not known.
    pub kept: Option<bool>,
    /// The anomalies that break it.
    pub by: Vec<String>,
    /// Why it is not known.
    pub unknown: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct IsolationFound {
    /// Its name, such as `G2-item`.
    pub anomaly: String,
    /// What happened, in a phrase.
    pub meaning: String,
    pub count: u64,
    /// Whether there may be more.
    pub at_least: bool,
    /// Whether what the product promises forbids it; `null`: it is not known what it promises.
    pub forbidden: Option<bool>,
    pub example: IsolationExample,
}

/// An occurrence of an anomaly, to be reported and drawn.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct IsolationExample {
    /// Its transactions, in the order of its cycle, where it is one.
    pub transactions: Vec<IsolationTransaction>,
    /// The steps of its cycle; none if it is no cycle.
    pub links: Vec<IsolationLink>,
    /// What happened, a sentence each.
    pub story: Vec<String>,
    /// A history of these transactions and of the reads that prove their order, in JSON lines;
    /// `null`: it would be too long.
    pub replay: Option<String>,
    /// Whether that history, checked by itself, shows the anomaly again.
    pub found_again: Option<bool>,
}

/// A transaction of an example.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct IsolationTransaction {
    /// `T3`: by its place in the history.
    pub name: String,
    /// The process that ran it: the client, unless that lost a connection before.
    pub client: i64,
    /// When it began, in microseconds since the first of the example did; `null`: not recorded.
    pub began_us: Option<f64>,
    /// When its end was known.
    pub ended_us: Option<f64>,
    pub end: String,
    /// What it did, in order.
    pub operations: Vec<IsolationOperation>,
}

/// A step of a transaction.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct IsolationOperation {
    /// `append 3 to 7`, `read 7 = [1 3]`.
    pub did: String,
    pub key: String,
    pub writes: bool,
    /// The statement as the script has it; `null`: not known.
    pub statement: Option<String>,
}

/// Why one transaction of an example comes before another.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct IsolationLink {
    /// Index in the example's transactions.
    pub from: usize,
    /// The same: it comes later.
    pub to: usize,
    /// `ww`, `wr`, `rw`, `rw predicate`, `session`, `real time`, `commit order`.
    pub kind: String,
    /// The key, where it is about one.
    pub key: Option<String>,
    pub why: String,
}

impl IsolationCheck {
    /// Whether it shows what the level in effect forbids.
    pub fn is_broken(&self) -> bool {
        self.found.iter().any(|found| found.forbidden == Some(true))
    }
}
