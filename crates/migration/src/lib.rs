//! Files of migrations as the tools of their users run them, and what PostgreSQL's manual says of their
//! statements: locks, rewrites, scans, and forms that hold clients up for less time.
//!
//! Not for: running them (`run/disturb/migrate`).

pub mod explain;
pub mod file;
pub mod forms;
mod markers;
pub mod online;
pub mod products;
mod psql;
mod statement;
mod tokens;

pub use explain::{Explained, explain};
pub use file::{Group, Migration, Statement, Tool, read};
pub use products::Product;
pub use statement::{Action, Known, Locked, Proofs, actions};

/// The major versions of PostgreSQL that the table of locks is about.
pub const VERSIONS: std::ops::RangeInclusive<u32> = 13..=18;
