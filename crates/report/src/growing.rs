//! A trial that is still running, read from its notebook as it grows: each second once, whatever shows it.

use std::time::Instant;

use pgdyno_measurement::Second;
use pgdyno_model::document::phases::measured_from_us;
use pgdyno_model::notebook::{LastSecond, Notebook};
use pgdyno_model::{Outcome, State};
use pgdyno_spec::{Failure, TrialSpec, Until};

use crate::together::Together;

/// Seconds come once a second, and are read more seldom where reading is dear: after so long without
/// any, a process is halted, or its host does not reach the notebook.
const SILENT_S: u64 = 15;

/// A running trial, as far as it has come.
pub struct Growing {
    of: Of,
    /// So far; what is known at the end only is empty.
    pub outcome: Outcome,
}

enum Of {
    /// One, or one of several by itself.
    One(i64),
    All(Box<Together>),
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
        let of = Of::One(number);
        Ok(Self { of, outcome })
    }

    /// The same of all generators of a trial, of which this is a part.
    ///
    /// # Errors
    /// The notebook cannot be read; it is no part.
    pub fn together(store: &dyn Notebook, part: i64) -> Result<Self, Failure> {
        let (together, outcome) = Together::open(store, part)?;
        let of = Of::All(Box::new(together));
        Ok(Self { of, outcome })
    }

    /// Reads what has come since.
    ///
    /// # Errors
    /// The notebook cannot be read. What was read before stays.
    pub fn advance(&mut self, store: &dyn Notebook) -> Result<Grown, Failure> {
        let outcome = &mut self.outcome;
        let number = match &mut self.of {
            Of::One(number) => *number,
            Of::All(together) => return together.advance(store, outcome),
        };
        let news = store.news(number)?;
        if news.state != State::Running {
            return Ok(Grown::Over(news.state));
        }
        let last = LastSecond::of(&outcome.recording.seconds);
        let until_us = outcome.samples_until_us();
        let seconds = store.seconds_after(number, last)?;
        let observed = store.observed_after(number, until_us)?;
        let count = seconds.len();
        outcome.add_seconds(seconds);
        outcome.add_observed(until_us, observed);
        outcome.add_news(news);
        Ok(Grown::By(count))
    }
}

/// Whether something still comes from a running trial.
#[derive(Debug)]
pub struct Silence {
    now_us: Option<u64>,
    since: Instant,
}

impl Silence {
    pub fn new(at: Instant) -> Self {
        Self {
            now_us: None,
            since: at,
        }
    }

    /// Looked at again, when its last second ended at `now_us`: for how many seconds nothing has come
    /// that should have, in steps of five. `None`: for less than 15 s, or it works no more or not yet.
    pub fn after(
        &mut self,
        now_us: Option<u64>,
        planned_us: Option<u64>,
        at: Instant,
    ) -> Option<u64> {
        if self.now_us != now_us {
            *self = Self { now_us, since: at };
        }
        let is_due = now_us.is_some_and(|now| planned_us.is_none_or(|planned| now < planned));
        let silent_s = at.saturating_duration_since(self.since).as_secs();
        (is_due && silent_s >= SILENT_S).then_some(silent_s / 5 * 5)
    }
}

/// The end of the last second, in microseconds since clients began to work; none before the first.
pub fn now_us(seconds: &[Second]) -> Option<u64> {
    seconds.last().map(Second::end_us)
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

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    #[test]
    fn a_trial_is_silent_when_nothing_comes_that_should() {
        let began = Instant::now();
        let after = |s| began + Duration::from_secs(s);
        let (second, end) = (Some(1_000_000), Some(60_000_000));
        let mut silence = Silence::new(began);
        assert_eq!(silence.after(None, end, after(100)), None, "not yet");
        assert_eq!(silence.after(second, end, after(101)), None);
        assert_eq!(silence.after(second, end, after(115)), None);
        assert_eq!(silence.after(second, end, after(116)), Some(15));
        assert_eq!(silence.after(second, None, after(129)), Some(25));
        let next = Some(2_000_000);
        assert_eq!(silence.after(next, end, after(130)), None, "it goes on");
        assert_eq!(silence.after(next, next, after(200)), None, "it is done");
    }
}
