//! A trial that is over, as reports of several trials take it from the store.

use serde_json::Value;

use pgdyno_model::notebook::TrialRow;
use pgdyno_model::{Outcome, State};

/// A trial and what it came to.
pub struct Over<'a> {
    pub number: Option<i64>,
    /// What it was to measure, as records have it.
    pub point: Value,
    pub state: State,
    /// What was measured, if anything was.
    pub outcome: Option<&'a Outcome>,
    pub why: Option<String>,
}

impl<'a> Over<'a> {
    /// One from the store; `None` of one that belongs to no point, or that is excluded.
    pub fn stored(row: &TrialRow, outcome: &'a Outcome) -> Option<Self> {
        if row.repeat.is_none() || row.excluded.is_some() {
            return None;
        }
        let state = row.state;
        Some(Self {
            number: Some(row.number),
            point: row.point.clone()?,
            state,
            outcome: Some(outcome).filter(|_| state == State::Complete),
            why: row.reason.clone(),
        })
    }
}
