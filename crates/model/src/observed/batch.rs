//! What all instruments have read since the last time, on the clock of the trial's seconds:
//! microseconds since clients began to work, below zero before.

use super::{Gap, Kind, Series};
use crate::Note;
use serde::Serialize;

/// Some of what was read. Numbers of instruments and series are those of the trial.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Batch {
    /// Instruments that were not in a batch before.
    pub instruments: Vec<InstrumentRow>,
    /// Series that were not in a batch before.
    pub series: Vec<NewSeries>,
    /// Gauges as they were, counters as rates a second.
    pub samples: Vec<Sample>,
    /// Before and after; only in the last batch.
    pub totals: Vec<Total>,
    /// What was not observed; a gap is reported when it begins and, with the same number, when it
    /// ends.
    pub gaps: Vec<Span>,
    pub events: Vec<ObservedEvent>,
    /// What the server did by statement, with the instrument's number.
    pub statements: Vec<(usize, ServerStatement)>,
    /// Facts, with the instrument's number.
    pub facts: Vec<(usize, String, serde_json::Value)>,
    /// CPU time in microseconds of instruments that have ended, by their number.
    pub cpu: Vec<(usize, u64)>,
    pub notes: Vec<Note>,
}

#[derive(Debug, Clone, PartialEq)]
pub struct InstrumentRow {
    pub number: usize,
    /// Which it is, parts divided by dots, the general one first: `host.disk`, `pg.io`.
    pub name: String,
    /// What it reads, for people and without secrets: `pg_stat_io`, `/proc/diskstats`, a URL.
    pub source: String,
}

#[derive(Debug, Clone, PartialEq)]
pub struct NewSeries {
    pub number: usize,
    pub instrument: usize,
    pub series: Series,
    pub kind: Kind,
}

/// One figure. That of a counter is the rate from the reading before until this one.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Sample {
    /// The number of its series.
    pub series: usize,
    pub at_us: i64,
    /// In the unit of the series.
    pub value: f64,
}

/// A counter or size before and after the trial.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct Total {
    /// The number of its series, for the notebook.
    #[serde(skip)]
    pub series: usize,
    /// When the first reading was.
    pub before_at_us: i64,
    pub before: f64,
    /// When the last reading was.
    pub after_at_us: i64,
    /// What it was. For a counter that was reset: what it would be without.
    pub after: f64,
    /// How often a counter was found reset.
    pub resets: u32,
}

/// A gap, from when until when.
#[derive(Debug, Clone, PartialEq)]
pub struct Span {
    /// Its number in the trial.
    pub number: usize,
    /// The number of its instrument.
    pub instrument: usize,
    /// Which part; empty for all of it.
    pub label: String,
    /// Since when; `None` from the beginning.
    pub from_us: Option<i64>,
    /// Until when; `None` until the end.
    pub to_us: Option<i64>,
    pub gap: Gap,
}

#[derive(Debug, Clone, PartialEq)]
pub struct ObservedEvent {
    /// The number of the instrument that saw it.
    pub instrument: usize,
    pub at_us: i64,
    /// For how long, where it has a length.
    pub length_us: Option<u64>,
    pub kind: String,
    pub text: String,
}

/// What the server says it did for one statement during the trial.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ServerStatement {
    /// Its text as the server has it, constants left out.
    pub text: String,
    /// How often it was executed.
    pub calls: u64,
    /// Time in it, all executions together, in microseconds.
    pub time_us: f64,
    /// Rows it gave or changed.
    pub rows: Option<u64>,
    /// What else the server reports, by its own names (`shared_blks_read`, `wal_bytes`).
    pub details: Vec<(String, f64)>,
}

impl Batch {
    /// Moves all times by so many microseconds.
    pub fn shift(&mut self, by_us: i64) {
        let samples = self.samples.iter_mut().map(|sample| &mut sample.at_us);
        let events = self.events.iter_mut().map(|event| &mut event.at_us);
        let totals = self.totals.iter_mut();
        let totals = totals.flat_map(|total| [&mut total.before_at_us, &mut total.after_at_us]);
        let gaps = self.gaps.iter_mut();
        let gaps = gaps
            .flat_map(|gap| [&mut gap.from_us, &mut gap.to_us])
            .flatten();
        for time_us in samples.chain(events).chain(totals).chain(gaps) {
            *time_us += by_us;
        }
    }
}
