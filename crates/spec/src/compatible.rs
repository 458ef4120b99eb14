//! What the compatible commands ask of the engine and native ones do not.

use std::num::NonZeroU64;

use serde::{Deserialize, Serialize};

/// Set by a command that translates another tool's options; never typed.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
pub struct Compatible {
    /// The share of transactions that are logged one by one (pgbench's `--log`), 0 to 1.
    pub log_share: Option<f64>,
    /// Time every command, also those that only compute (pgbench's `-r`).
    pub times_every_command: bool,
    /// Print every step (pgbench's `--debug`).
    pub debug: bool,
    /// Each client ends after so many transactions even if the duration is not over (cockroach's
    /// `--max-ops` beside `--duration`).
    pub transactions_per_client_max: Option<u64>,
    /// So many clients, the first ones, do one transaction more: a total that clients do not divide
    /// (YCSB's `operationcount`).
    pub one_more_transaction: Option<u32>,
    /// Only committed transactions count for these: one that failed is followed by another (sysbench's
    /// `--events`).
    pub counts_committed: bool,
    /// Clients draw the random numbers of sysbench's threads.
    pub sysbench_draws: Option<SysbenchDraws>,
    /// Parameters that are given count, whatever the tables say of themselves (YCSB looks at no table).
    pub trusts_params: bool,
    /// Transactions of a client share blocks (JDBC without autocommit).
    pub commits: Option<Commits>,
}

/// What happens in sysbench before a thread's first event, as far as random numbers go.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
pub struct SysbenchDraws {
    /// Threads without events (reports, schedule) that take their random numbers before the first one with.
    pub threads_before: u32,
    /// Numbers that a thread has drawn by then.
    pub drawn: u32,
}

#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
pub struct Commits {
    /// The number of the script that writes, among those of the trial.
    pub script: usize,
    /// After so many transactions of it.
    pub every: NonZeroU64,
}

impl Compatible {
    /// Whether it is a native trial.
    pub(super) fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}
