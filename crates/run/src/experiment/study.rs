//! What a kind of experiment does besides running its trials: what it asks of the server around each
//! of them, and which trials follow from those that are over.

use serde_json::Value;

use super::notebook::StoredExperiment;
use super::schedule::Slot;
use crate::prepare::Prepared;
use pgdyno_model::event::PlannedTrial;
use pgdyno_spec::Failure;

pub trait Study {
    /// A trial is prepared and begins when this returns.
    ///
    /// # Errors
    /// The trial cannot be run.
    fn before(&mut self, _trial: &PlannedTrial, _prepared: &Prepared) -> Result<(), Failure> {
        Ok(())
    }

    /// The same trial has run: a kind of event and what is to be kept with the trial.
    ///
    /// # Errors
    /// No other trial may follow.
    fn after(&mut self) -> Result<Option<(&'static str, Value)>, Failure> {
        Ok(None)
    }

    /// All trials so far are complete: those that come next, if any.
    ///
    /// # Errors
    /// The notebook cannot be read.
    fn more(&mut self, _kept: &StoredExperiment<'_>) -> Result<Vec<Slot>, Failure> {
        Ok(Vec::new())
    }

    /// Whether [`Study::more`] may give any.
    fn goes_on(&self) -> bool {
        false
    }

    /// Whether a trial's tables are refused rather than loaded again when pgdyno has loaded them with
    /// other parameters.
    fn keeps_tables(&self) -> bool {
        false
    }
}

#[derive(Debug, Clone, Copy)]
pub struct TrialsAlone;

impl Study for TrialsAlone {}
