//! What instruments saw beside a trial. Times are microseconds since clients began to work.

use std::collections::BTreeMap;

use serde::Serialize;
use serde_json::Value;

/// All of it.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct Observed {
    /// The instruments.
    pub instruments: Vec<ObservedBy>,
    /// CPU time of all of them on pgdyno's side, collecting included; `null` when that of one is not
    /// known.
    pub cpu_us: Option<u64>,
    /// CPU time of the server's processes for sessions of instruments; `null` where these are not
    /// seen from here.
    pub server_cpu_us: Option<u64>,
    /// What was read.
    pub series: Vec<ObservedSeries>,
    /// What was not seen.
    pub gaps: Vec<ObservedGap>,
    /// What happened, in its order.
    pub events: Vec<ObservedEvent>,
    /// What the server says it did, the most expensive first.
    pub statements: Vec<ObservedStatement>,
    /// By instrument: what else it found out.
    pub facts: BTreeMap<String, BTreeMap<String, Value>>,
}

/// An instrument.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ObservedBy {
    /// Its name, such as `pg.io`.
    pub name: String,
    /// What it read.
    pub source: String,
    /// CPU time on pgdyno's side; `null` when it did not end in time.
    pub cpu_us: Option<u64>,
}

/// How to interpret the readings of a series.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
#[cfg_attr(test, derive(ts_rs::TS))]
pub enum SeriesKind {
    /// As it is at that moment.
    Gauge,
    /// The same; a reading that does not speak of it means 0.
    Sparse,
    /// Grows: the rate since the reading before.
    Counter,
    /// Read before and after only.
    BeforeAfter,
}

/// A series with all that was read of it.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ObservedSeries {
    /// The instrument's name.
    pub instrument: String,
    /// What it is.
    pub name: String,
    /// Of which part, or empty.
    pub label: String,
    /// Its unit.
    pub unit: String,
    /// How to interpret it.
    pub kind: SeriesKind,
    /// When and what, in its order.
    pub samples: Vec<(i64, f64)>,
    /// Before and after.
    pub total: Option<SeriesTotal>,
}

/// A series before and after.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct SeriesTotal {
    /// When the first reading was.
    pub before_at_us: i64,
    /// What it was.
    pub before: f64,
    /// When the last reading was.
    pub after_at_us: i64,
    /// What it was; of a counter that was reset, what it would be without.
    pub after: f64,
    /// How often a counter was found reset.
    pub resets: u32,
}

/// What was not seen.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ObservedGap {
    /// The instrument's name.
    pub instrument: String,
    /// Which part, or empty: all of it.
    pub label: String,
    /// `null`: from the beginning.
    pub from_us: Option<i64>,
    /// `null`: to the end.
    pub to_us: Option<i64>,
    /// Why.
    pub reason: String,
    /// The command that would close it.
    pub remedy: Option<String>,
}

/// Something that happened.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ObservedEvent {
    /// The instrument's name.
    pub instrument: String,
    /// When it began.
    pub at_us: i64,
    /// For how long, where it has a length.
    pub length_us: Option<u64>,
    /// `checkpoint`, `autovacuum`.
    pub kind: String,
    /// For people.
    pub text: String,
}

/// What the server says it did for one statement.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ObservedStatement {
    /// The instrument's name.
    pub instrument: String,
    /// As the server has it.
    pub text: String,
    /// How often it was executed.
    pub calls: u64,
    /// Time in all executions together.
    pub time_us: f64,
    /// Rows it gave or changed.
    pub rows: Option<u64>,
    /// What else the server reports, by its own names.
    pub details: BTreeMap<String, f64>,
}

impl Observed {
    /// The series of this name, one for each of its labels.
    pub fn all<'a>(&'a self, name: &'a str) -> impl Iterator<Item = &'a ObservedSeries> {
        self.series.iter().filter(move |series| series.name == name)
    }

    /// The fact of this name, whichever instrument gave it.
    pub fn fact(&self, name: &str) -> Option<&Value> {
        self.facts.values().find_map(|of| of.get(name))
    }
}

impl ObservedSeries {
    /// The mean of what was read within these times; of a series that is [sparse](SeriesKind::Sparse)
    /// over so many readings. `None` without any.
    pub fn mean(&self, from_us: i64, to_us: i64, readings: usize) -> Option<f64> {
        let within = self.samples.iter();
        let within = within.filter(|(at_us, _)| (from_us..to_us).contains(at_us));
        let (sum, count) = within.fold((0.0, 0), |(sum, n), (_, value)| (sum + value, n + 1));
        let count = match self.kind {
            SeriesKind::Sparse => readings.max(count),
            _ => count,
        };
        (count > 0).then(|| sum / count as f64)
    }
}
