//! What products do about transactions that are to be tried again: which errors say so, how a client
//! may answer them, and what the server counts itself. A file of facts a product, as in the rest of
//! the dialect.

mod cockroachdb;
mod postgresql;
mod yugabytedb;

use pgdyno_spec::ErrorRule;

use super::Version;

pub use cockroachdb::COCKROACHDB;
pub use postgresql::POSTGRESQL;
pub use yugabytedb::YUGABYTEDB;

/// The savepoint that makes a transaction restart where it is: the one name that there is.
pub const RESTART_SAVEPOINT: &str = "cockroach_restart";

/// The facts of one product.
#[derive(Debug, PartialEq, Eq)]
pub struct Retries {
    /// What its errors mean; the first that fits counts.
    pub errors: &'static [ErrorRule],
    /// Whether [`RESTART_SAVEPOINT`] works, or why it does not.
    pub savepoint: Result<(), &'static str>,
    /// What the server counts itself, or why that cannot be asked.
    pub counters: Result<Counters, &'static str>,
    /// How it is made to fail transactions on purpose, or why it cannot be.
    pub inject: Result<Inject, &'static str>,
}

/// Counters of the server's that only grow.
#[derive(Debug, PartialEq, Eq)]
pub struct Counters {
    /// Query of names and values.
    pub query: &'static str,
    /// Where they are from, for people.
    pub source: &'static str,
    /// What those that begin with this count is what clients retry for; empty when none of them is.
    pub restarts: &'static str,
}

/// A way to have transactions fail.
#[derive(Debug, PartialEq, Eq)]
pub struct Inject {
    /// The setting of a session, which is to be `true`.
    pub setting: &'static str,
    /// The first version that has it.
    pub since: Version,
}
