//! The target: where the database is, and what it is.

pub mod admin;
pub mod cluster;
pub mod counters;
pub mod dialect;
pub mod discover;
pub mod facts;
pub mod http;
mod leftovers;
pub mod locate;
pub mod open;
pub mod own;
pub mod pair;
mod password;
pub mod placement;
pub mod prepared;
pub mod reach;
pub mod replication;
mod rights;
mod roles;
pub mod room;
pub mod safe_settings;
pub mod scripts_role;
mod target;
pub mod trouble;
pub mod waiting;
pub mod words;
