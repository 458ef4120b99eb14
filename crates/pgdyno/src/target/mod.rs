//! The target: where the database is, and what it is.

pub mod admin;
pub mod contention;
pub mod counters;
pub mod dialect;
pub mod facts;
pub mod open;
pub mod own;
pub mod trouble;
