//! A trial that is still running, read from its notebook as it grows: each second once, whatever shows it.

use pgdyno_drive::Until;
use pgdyno_drive::record::Second;
use pgdyno_model::document::phases::measured_from_us;
use pgdyno_model::notebook::{LastSecond, Notebook};
use pgdyno_model::{Failure, Outcome, State, TrialSpec};

/// A running trial, as far as it has come.
pub struct Growing {
    number: i64,
    /// So far; what is known at the end only is empty.
    pub outcome: Outcome,
}

/// What came of looking again.
#[derive(Debug, Clone, PartialEq)]
pub enum Grown {
    /// So many seconds are new; what instruments saw and notes may be.
    By(usize),
    /// It has ended: its result is in the notebook.
    Over(State),
}

impl Growing {
    /// Reads all that there is.
    ///
    /// # Errors
    /// The notebook cannot be read.
    pub fn open(store: &dyn Notebook, number: i64) -> Result<Self, Failure> {
        let outcome = store.outcome(number)?;
        Ok(Self { number, outcome })
    }

    /// Reads what has come since.
    ///
    /// # Errors
    /// The notebook cannot be read. What was read before stays.
    pub fn advance(&mut self, store: &dyn Notebook) -> Result<Grown, Failure> {
        let outcome = &mut self.outcome;
        let news = store.news(self.number)?;
        if news.state != State::Running {
            return Ok(Grown::Over(news.state));
        }
        let last = LastSecond::of(&outcome.recording.seconds);
        let until_us = outcome.samples_until_us();
        let seconds = store.seconds_after(self.number, last)?;
        let observed = store.observed_after(self.number, until_us)?;
        let count = seconds.len();
        outcome.add_seconds(seconds);
        outcome.add_observed(until_us, observed);
        outcome.add_news(news);
        Ok(Grown::By(count))
    }
}

/// The end of the last second, in microseconds since clients began to work; none before the first.
pub fn now_us(seconds: &[Second]) -> Option<u64> {
    seconds.last().map(|last| last.start_us + last.length_us)
}

/// When what is measured began; none while clients warm up.
pub fn measuring_from_us(seconds: &[Second]) -> Option<u64> {
    let is_measuring = seconds.iter().any(|second| !second.warmup);
    is_measuring.then(|| measured_from_us(seconds))
}

/// When a trial will be over on the clock of its seconds; none where it ends by transactions. A warm-up may end
/// before its time: that is known once what is measured has begun.
pub fn planned_us(spec: &TrialSpec, measuring_from_us: Option<u64>) -> Option<u64> {
    let Until::Elapsed(measured) = spec.until() else {
        return None;
    };
    let warmup_us = || spec.warmup.longest().as_micros() as u64;
    Some(measuring_from_us.unwrap_or_else(warmup_us) + measured.as_micros() as u64)
}
