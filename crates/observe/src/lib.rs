//! What the server, the cluster, the host and the client were doing while a trial ran.
//!
//! An [`Instrument`] reads one thing (a view of the server, a file of the kernel, an endpoint) on a
//! thread and connections of its own. [`Watch`] starts them before the clients and ends them after;
//! what they read goes, on the clock of the trial's seconds, into batches for the trial's observers
//! (`pgdyno_model::observed`). What an instrument may not or cannot see is a gap: never a failure,
//! never a wait.
//!
//! Not for: how a product tells something (`crates/database/src/dialect`), where readings are kept (store), what
//! they mean for a result (`crates/run/src/validity.rs`).

pub mod accounting;
mod buckets;
pub mod catalog;
mod choose;
pub mod cluster;
pub mod exposition;
pub mod host;
mod instrument;
mod options;
pub mod postgresql;
pub mod prometheus;
pub mod prometheus_export;
mod readings;
mod recorder;
pub mod scrape;
#[cfg(test)]
pub mod testing;
mod watch;

pub use choose::{Instruments, IsStopping, Scene, Unknown, check, choose};
pub use options::ObserveOptions;

pub use instrument::Instrument;
pub use readings::Readings;
pub use watch::Watch;
