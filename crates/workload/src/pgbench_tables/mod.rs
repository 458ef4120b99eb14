//! pgbench's standard tables: the statements that make them and their rows. For the pgbench-compatible command,
//! which is to send what pgbench sends; the packs have tables of their own (`loader.rs`) with marks
//! that protect them.
//!
//! A [`Schema`] is everything about the tables as SQL, a [`Fill`] the rows of one of them. Nothing
//! here talks to a server, save the look
//! that tells pgbench's tables from others of these names. A product that wants its tables otherwise gets another set of texts where
//! [`Schema`] makes them; rows are the same everywhere.

mod rows;
mod schema;
mod stock;

pub use rows::Fill;
pub use schema::{PartitionMethod, Schema};
pub(crate) use stock::are_stock;

/// Rows of the branches table for each unit of scale.
pub const BRANCHES: u64 = 1;
/// Rows of the tellers table for each unit of scale.
pub const TELLERS: u64 = 10;
/// Rows of the accounts table for each unit of scale.
pub const ACCOUNTS: u64 = 100_000;

/// The tables as one program of pgbench's family has them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Tables {
    /// What their names begin with: `pgbench` of `pgbench_accounts`.
    pub prefix: &'static str,
    /// Primary keys are declared in CREATE TABLE, which leaves the step for them nothing to do.
    pub keys_in_create: bool,
    /// Rows after which the load of a table is committed; none: one transaction for all tables.
    pub batch_rows: Option<u64>,
}

impl Tables {
    pub const PGBENCH: Tables = Tables {
        prefix: "pgbench",
        keys_in_create: false,
        batch_rows: None,
    };
    pub const YSQL_BENCH: Tables = Tables {
        prefix: "ysql_bench",
        keys_in_create: true,
        batch_rows: Some(1024),
    };
}
