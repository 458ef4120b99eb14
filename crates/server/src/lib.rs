//! A PostgreSQL server of pgdyno's own: found or fetched, started, and never left behind.
//!
//! ```no_run
//! use pgdyno_server::{Options, Server};
//!
//! let mut server = Server::start(&Options::default(), &mut |step| eprintln!("{step}"))?;
//! println!("psql '{}'", server.address().url());
//! server.stop()?;
//! # Ok::<(), pgdyno_server::Error>(())
//! ```
//!
//! It speaks no SQL, but to make a standby ([`Standby`]) and to move WAL: whether a server is ready it reads from the
//! server's own status file. ([`instant`] is no PostgreSQL.) How it goes about its work:
//!
//! - [`Installation`]: which binaries. Those named, else those found, else a pinned PostgreSQL
//!   that is fetched once, checked and kept in the cache.
//! - [`Account`]: as whom. PostgreSQL refuses to run as root, so root starts it as another user.
//! - [`Server`]: one that lives as long as the value and this process do, however the process
//!   ends. [`kept`]: one that stays until it is asked to stop.
//! - [`Standby`]: a second server that streams from a running one, and can be promoted when that is
//!   killed.
//! - Instances: each has a directory of its own with a lock file that pgdyno *and all processes
//!   of the server* hold. Free means dead, and what is dead is swept at the next start.

mod account;
mod address;
mod archive;
mod cache;
mod config;
mod download;
mod error;
mod identity;
mod initdb;
mod installation;
mod instance;
pub mod instant;
pub mod kept;
mod maven;
mod postmaster;
mod server;
mod setting;
mod standby;
mod step;
mod template;
mod wal;

pub use account::Account;
pub use address::{Address, Listen};
pub use cache::Cache;
pub use error::{Error, Result};
pub use installation::{Installation, Origin, Version};
pub use server::{Options, Server};
pub use setting::Setting;
pub use standby::Standby;
pub use step::Step;
