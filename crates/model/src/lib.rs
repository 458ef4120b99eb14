//! What came of a trial, as plain typed data without I/O.
//!
//! The notebook, `--json` and the report's page all speak these types; the page's TypeScript is generated
//! from them.
//!
//! - `fact`, `note`: what is known, what is not and why, and what a reader must know.
//! - `observed`: what instruments saw beside a trial.
//! - `event`, `observer`: what the runner says while trials run, and to whom.
//! - `document`: what came of a trial, an experiment or a comparison, as it is shown.
//!
//! Not here: finding anything out, running anything, keeping or printing it.

pub mod client_bound;
pub mod document;
pub mod event;
mod fact;
pub mod findings;
#[cfg(test)]
mod json_reference;
pub mod note;
pub mod notebook;
pub mod observed;
mod observer;
mod outcome;
pub mod pooler;
pub mod progress;
pub mod stamp;
mod state;
#[cfg(test)]
mod typescript;

pub use fact::Fact;
pub use findings::{Finding, Findings};
pub use note::{Note, NoteOfTrials, Severity};
pub use observer::{Observer, Observers};
pub use outcome::Outcome;
pub use progress::Progress;
pub use state::State;
