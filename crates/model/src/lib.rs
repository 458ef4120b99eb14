//! What a trial is and what came of it, as plain typed data without I/O.
//!
//! The command line, the experiment file, the notebook, `--json` and the report's page all speak
//! these types; the page's TypeScript is generated from them.
//!
//! - `exit`: how pgdyno ends, and the one form of its errors.
//! - `experiment`: a matrix of trials.
//! - `spec`: what a trial is.
//! - `fact`, `note`: what is known, what is not and why, and what a reader must know.
//! - `observed`: what instruments saw beside a trial.
//! - `event`, `observer`: what the runner says while trials run, and to whom.
//! - `text`: quantities as people read them.
//! - `document`: what came of a trial, an experiment or a comparison, as it is shown.
//!
//! Not here: finding anything out, running anything, keeping or printing it.

pub mod client_bound;
pub mod defaults;
pub mod document;
pub mod event;
pub mod exit;
pub mod experiment;
mod fact;
#[cfg(test)]
mod json_reference;
pub mod note;
pub mod notebook;
pub mod observed;
mod observer;
mod outcome;
pub mod pooler;
pub mod progress;
pub mod spec;
pub mod stamp;
mod state;
pub mod suggest;
pub mod text;
#[cfg(test)]
mod typescript;

pub use exit::{Exit, Failure};
pub use experiment::Experiment;
pub use fact::Fact;
pub use note::{Note, NoteOfTrials, Severity};
pub use observer::{Observer, Observers};
pub use outcome::Outcome;
pub use progress::Progress;
pub use spec::{Isolation, TrialSpec};
pub use state::State;
