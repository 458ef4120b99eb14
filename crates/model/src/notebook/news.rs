//! What has come of a trial since it was last looked at, so that who watches it reads nothing twice.

use pgdyno_measurement::{Event, Second};

use crate::observed::Observed;
use crate::{Findings, Note, Outcome, State};

/// Samples of several instruments arrive in any order: so far behind the newest, all have.
const LATE_US: i64 = 15_000_000;

/// The second that was read last: when it began, in microseconds since clients began to work, and whether it
/// was of the warm-up. A warm-up may end, and what is measured begin, in the same microsecond.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct LastSecond {
    pub start_us: u64,
    /// Whether it was of the warm-up.
    pub warmup: bool,
}

impl LastSecond {
    /// Of seconds in their order.
    pub fn of(seconds: &[Second]) -> Option<Self> {
        seconds.last().map(|second| Self {
            start_us: second.start_us,
            warmup: second.warmup,
        })
    }
}

/// What may change of a trial while it runs, beside its seconds and what instruments see: little of it.
#[derive(Debug, Clone, PartialEq)]
pub struct News {
    /// How far it has come.
    pub state: State,
    /// Failed transactions of the measured time.
    pub failed: u64,
    /// When what is measured began, in microseconds since clients began to work; none while they warm up.
    pub measured_from_us: Option<u64>,
    pub notes: Vec<Note>,
    pub findings: Findings,
    /// What happened to connections, all of it, in order.
    pub events: Vec<Event>,
}

/// A running trial's outcome grows by these.
impl Outcome {
    /// The next seconds, in their order.
    pub fn add_seconds(&mut self, seconds: Vec<Second>) {
        let recording = &mut self.recording;
        for second in &seconds {
            match (second.warmup, &mut recording.warmup) {
                (true, Some(warmup)) => warmup.add_second(second),
                (true, none) => none.insert(Default::default()).add_second(second),
                (false, _) => recording.measured.add_second(second),
            }
        }
        recording.seconds.extend(seconds);
    }

    /// After this moment, in microseconds since clients began to work, samples may be missing still; none
    /// when there are none at all.
    pub fn samples_until_us(&self) -> Option<i64> {
        let series = self.observed.series.iter();
        let last = series.filter_map(|course| course.samples.last());
        last.map(|(at_us, _)| at_us - LATE_US).max()
    }

    /// What instruments saw, with samples after `after_us` only; those before it stay.
    pub fn add_observed(&mut self, after_us: Option<i64>, new: Observed) {
        let old = std::mem::replace(&mut self.observed, new);
        let Some(after_us) = after_us else {
            return;
        };
        for mut known in old.series {
            let mut series = self.observed.series.iter_mut();
            let grown = series.find(|course| course.of.number == known.of.number);
            if let Some(grown) = grown {
                let keeps = known
                    .samples
                    .partition_point(|(at_us, _)| *at_us <= after_us);
                known.samples.truncate(keeps);
                known.samples.append(&mut grown.samples);
                grown.samples = known.samples;
            }
        }
    }

    pub fn add_news(&mut self, news: News) {
        self.notes = news.notes;
        self.findings = news.findings;
        self.recording.events = news.events;
    }
}
