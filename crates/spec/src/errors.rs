//! What follows errors that are not tried again, and lost connections.

use clap::Args;
use serde::{Deserialize, Serialize};

/// What a client does after an error that is not to be tried again.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum OnError {
    /// The client ends, as with pgbench.
    #[default]
    EndClient,
    /// The transaction has failed; the client goes on (pgbench 19's `--continue-on-error`).
    Continue,
}

/// What a client does when it has lost its connection, or gets none.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum OnConnectionLoss {
    /// The client ends, as with pgbench.
    #[default]
    EndClient,
    /// Its transaction is booked, and the client connects again until it succeeds or the run is
    /// over; the time without a connection is recorded as an outage.
    Reconnect,
}

/// What a client does when the last try of a transaction has failed with an error that might be tried
/// again.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum OnLastTry {
    /// The transaction has failed, and the client goes on with the next, as with pgbench.
    #[default]
    FailOnly,
    /// The client ends, as with ysql_bench.
    EndClient,
}

/// What a client does when a transaction or its connection is lost for good.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Args, Serialize, Deserialize)]
#[command(next_help_heading = "Errors and retries")]
#[serde(default)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
pub struct ErrorPolicy {
    /// Keep the client running after an error that is not retried; count the transaction as failed
    #[arg(long)]
    pub continue_on_error: bool,

    /// Print every error, including retried ones
    #[arg(long)]
    pub verbose_errors: bool,

    /// Reconnect when a connection is lost or cannot be made: to the same endpoint, else to the
    /// others in turn. With --retry a transaction whose connection was lost before its COMMIT was sent
    /// is tried again on the next one. Without --reconnect the client ends
    #[arg(long)]
    pub reconnect: bool,

    /// With --reconnect and several endpoints: a client that went to another endpoint stays there.
    /// Without it, it returns between two transactions once its own accepts connections again
    #[arg(long)]
    pub no_failback: bool,

    /// With --discover, and --reconnect or -C: clients also go to nodes that join the cluster during the
    /// trial. Of the n endpoints that there are then, the new one gets every nth client, each between two
    /// transactions. Without it endpoints are those of the start
    #[arg(long)]
    pub new_nodes: bool,

    /// Stop the run when a client ends early because of an error
    #[arg(long)]
    pub exit_on_abort: bool,

    /// A COMMIT that the server answers with ROLLBACK counts as committed: pgbench does not look.
    #[arg(skip)]
    pub trusts_commit: bool,

    /// Every error of the server may be tried again (YCSB's inserts).
    #[arg(skip)]
    pub retries_every_error: bool,

    /// A duplicate key may be tried again, as a serialization failure (sysbench).
    #[arg(skip)]
    pub retries_duplicates: bool,

    /// The client ends when the last try of a transaction has failed, as with ysql_bench.
    #[arg(skip)]
    pub ends_on_last_try: bool,

    /// What pgbench does not count is not counted: a transaction whose try fails when the time is
    /// over, and retries of a transaction that ends its client.
    #[arg(skip)]
    pub counts_as_pgbench: bool,
}

impl ErrorPolicy {
    /// What the engine does after an error that is not tried again.
    pub fn on_error(&self) -> OnError {
        if self.continue_on_error {
            OnError::Continue
        } else {
            OnError::EndClient
        }
    }

    /// What the engine does when a connection is lost, or cannot be made.
    pub fn on_connection_loss(&self) -> OnConnectionLoss {
        if self.reconnect {
            OnConnectionLoss::Reconnect
        } else {
            OnConnectionLoss::EndClient
        }
    }

    /// Whether a client that went to another endpoint returns to its own.
    pub fn fails_back(&self) -> bool {
        self.reconnect && !self.no_failback
    }

    /// What the engine does when the last try has failed.
    pub fn on_last_try(&self) -> OnLastTry {
        if self.ends_on_last_try {
            OnLastTry::EndClient
        } else {
            OnLastTry::FailOnly
        }
    }
}
