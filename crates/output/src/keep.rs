//! Keeping a run of a command. The store is opened before the run, so that an unusable store costs no
//! measurement. If it fails after the run, the error comes last and names a file that has the result.

use std::path::Path;

use pgdyno_model::notebook::TrialHeader;
use pgdyno_model::{Failure, Outcome};
use pgdyno_run::prepare::Prepared;
use pgdyno_store::{Store, TrialWriter, place};

/// A run that is kept, or not.
pub struct Keep {
    store: Option<Store>,
    writer: Option<TrialWriter>,
}

impl Keep {
    /// In the store at this path, or where the environment says; `None`: not asked for.
    ///
    /// # Errors
    /// The store cannot be opened or written.
    pub fn open(store: Option<Option<&Path>>) -> Result<Self, Failure> {
        let open = |path| {
            let store = Store::open(&place::path(path)?)?;
            store.check_writable()?;
            Ok(store)
        };
        Ok(Self {
            store: store.map(open).transpose()?,
            writer: None,
        })
    }

    /// The run of what was prepared is about to begin.
    ///
    /// # Errors
    /// The store cannot be written.
    pub fn begin(
        mut self,
        prepared: &mut Prepared,
        header: impl FnOnce(&Prepared) -> TrialHeader,
    ) -> Result<Self, Failure> {
        if let Some(store) = &self.store {
            prepared.is_kept_in(store);
            self.writer = Some(store.begin(&header(prepared))?);
        }
        Ok(self)
    }

    /// What watches the run for the store.
    pub fn observer(&mut self) -> &mut Option<TrialWriter> {
        &mut self.writer
    }

    /// It is over; gives the trial's number when it is kept, and says when its rows wait.
    ///
    /// # Errors
    /// It is not kept: [`crate::rescued`] writes its result elsewhere, after everything else is printed.
    pub fn finish(self, outcome: &Outcome) -> Result<Option<i64>, Failure> {
        let Some(writer) = self.writer else {
            return Ok(None);
        };
        let number = writer.number();
        let ended = writer.finish(outcome)?;
        if let Some(why) = ended.without_history {
            crate::remark!(
                "pgdyno: the history is not kept with trial {number}: {}",
                why.message
            );
        }
        if let Some(why) = ended.waits {
            let message = &why.message;
            crate::remark!("pgdyno: trial {number} waits on this host: {message}");
            crate::remark!("pgdyno: send it when the notebook is back: pgdyno store push");
        }
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

/// A warning is enough: there is no result to lose, and the failure itself is printed anyway.
fn warn_of(result: Result<(), Failure>) {
    if let Err(failure) = result {
        crate::remark!("pgdyno: warning: this run is not kept: {}", failure.message);
    }
}
