//! What depends on the operating system (Linux): CPU time, users, child processes,
//! file systems, copies of directories, temporary files, addresses, interrupts, the terminal, limits and facts about the host.
//!
//! The one crate with `unsafe` code; what it offers to the others is safe. It knows nothing
//! of PostgreSQL or of measuring.

#![allow(unsafe_code)]

pub mod address;
pub mod affinity;
pub mod calendar;
pub mod child;
pub mod clock;
pub mod cpu_time;
pub mod file_system;
pub mod host;
pub mod interrupt;
pub mod io;
pub mod limits;
pub mod memory;
pub mod output;
pub mod peer;
pub mod proc;
pub mod process;
pub mod reserve;
pub mod spool;
pub mod tcp_info;
pub mod terminal;
pub mod tree;
pub mod user;

pub use output::Output;
