//! Evidence: trials as one file that a third person can check and repeat.
//!
//! - [`export`] makes a bundle: the notebook of these trials, what was run, and what was shown of them.
//! - [`bundle`] is the file's form, described for others in `docs/bundle.md`.
//! - [`verify`] recomputes every shown figure of a bundle, a notebook or a report's page.
//! - [`workloads`] finds what was run, and lays it out to be run again.
//!
//! Not for: running anything, printing anything (the binary does).

pub mod bundle;
mod export;
mod shown;
pub mod verify;
pub mod workloads;

pub use export::{Exported, experiments_of, export, set, trials_of};
pub use shown::compared;
