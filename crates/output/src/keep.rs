//! Keeping a run of a command. Nothing that goes wrong with the store is worth a
//! measurement: a warning says so, and the run goes on.

use std::path::Path;

use pgdyno_model::notebook::TrialHeader;
use pgdyno_model::{Failure, Outcome};
use pgdyno_store::{Store, TrialWriter, place};

/// A run that is kept, or not.
pub struct Keep(Option<TrialWriter>);

impl Keep {
    /// In the store at this path, or where the environment says; `None`: not asked for.
    pub fn begin(store: Option<Option<&Path>>, header: impl FnOnce() -> TrialHeader) -> Self {
        Self(store.and_then(|path| {
            told(
                place::path(path)
                    .and_then(|path| Store::open(&path))
                    .and_then(|store| store.begin(&header())),
            )
        }))
    }

    /// What watches the run for the store.
    pub fn observer(&mut self) -> &mut Option<TrialWriter> {
        &mut self.0
    }

    /// It is over; gives the trial's number when it is kept.
    pub fn finish(self, outcome: &Outcome) -> Option<i64> {
        let writer = self.0?;
        let number = writer.number();
        told(writer.finish(outcome)).map(|()| number)
    }

    /// It came to nothing, because of this.
    pub fn end_with(self, failure: &Failure) {
        if let Some(writer) = self.0 {
            told(writer.end_with(failure));
        }
    }

    /// It came to nothing, for this reason.
    pub fn fail(self, reason: &str) {
        if let Some(writer) = self.0 {
            told(writer.fail(reason));
        }
    }

    /// Somebody stopped it before it came to anything.
    pub fn abort(self, reason: &str) {
        if let Some(writer) = self.0 {
            told(writer.abort(reason));
        }
    }
}

fn told<T>(result: Result<T, Failure>) -> Option<T> {
    let failure = match result {
        Ok(value) => return Some(value),
        Err(failure) => failure,
    };
    crate::remark!("pgdyno: warning: this run is not kept: {}", failure.message);
    for detail in &failure.details {
        crate::remark!("pgdyno: detail: {detail}");
    }
    for hint in &failure.hints {
        crate::remark!("pgdyno: hint: {hint}");
    }
    None
}
