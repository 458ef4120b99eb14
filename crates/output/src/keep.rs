//! Keeping a run of a command: the store is opened before anything begins, so that one that cannot be
//! used costs no measurement. What goes wrong with it afterwards costs no result: it is told last, with
//! the place of a file that has the result instead.

use std::path::Path;

use pgdyno_model::notebook::TrialHeader;
use pgdyno_model::{Failure, Outcome};
use pgdyno_store::{Store, TrialWriter, place};

/// A run that is kept, or not.
pub struct Keep {
    store: Option<Store>,
    writer: Option<TrialWriter>,
}

impl Keep {
    /// Not asked for.
    pub fn nothing() -> Self {
        Self {
            store: None,
            writer: None,
        }
    }

    /// In the store at this path, or where the environment says.
    ///
    /// # Errors
    /// It cannot be opened or written.
    pub fn open(path: Option<&Path>) -> Result<Self, Failure> {
        let store = place::path(path).and_then(|path| Store::open(&path));
        let store = store.and_then(|store| store.check_writable().map(|()| store));
        Ok(Self {
            store: Some(store?),
            writer: None,
        })
    }

    /// The run is about to begin.
    ///
    /// # Errors
    /// The store cannot be written.
    pub fn begin(mut self, header: &TrialHeader) -> Result<Self, Failure> {
        if let Some(store) = &self.store {
            self.writer = Some(store.begin(header)?);
        }
        Ok(self)
    }

    /// What watches the run for the store.
    pub fn observer(&mut self) -> &mut Option<TrialWriter> {
        &mut self.writer
    }

    /// It is over; gives the trial's number when it is kept.
    ///
    /// # Errors
    /// It is not kept: [`crate::rescued`] says where its result is, when all else is told.
    pub fn finish(self, outcome: &Outcome) -> Result<Option<i64>, Failure> {
        let Some(writer) = self.writer else {
            return Ok(None);
        };
        let number = writer.number();
        writer.finish(outcome)?;
        Ok(Some(number))
    }

    /// It came to nothing, because of this.
    pub fn end_with(self, failure: &Failure) {
        if let Some(writer) = self.writer {
            warn_of(writer.end_with(failure));
        }
    }

    /// It came to nothing, for this reason.
    pub fn fail(self, reason: &str) {
        if let Some(writer) = self.writer {
            warn_of(writer.fail(reason));
        }
    }

    /// Somebody stopped it before it came to anything.
    pub fn abort(self, reason: &str) {
        if let Some(writer) = self.writer {
            warn_of(writer.abort(reason));
        }
    }
}

/// There is no result to lose: why the run came to nothing is told anyway.
fn warn_of(result: Result<(), Failure>) {
    if let Err(failure) = result {
        crate::remark!("pgdyno: warning: this run is not kept: {}", failure.message);
    }
}
