//! What instruments saw beside a trial. Times are microseconds since clients began to work.

use std::collections::BTreeMap;

use serde::Serialize;
use serde_json::Value;

use crate::observed::{Kind, Total, mean};

#[derive(Debug, Clone, Default, PartialEq, Serialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct Observed {
    /// What was read by, and what that cost.
    pub instruments: Vec<ObservedBy>,
    /// CPU time of all of them on pgdyno's side, collecting included; `null` when that of one is not
    /// known.
    pub cpu_us: Option<u64>,
    /// CPU time of the server's processes for sessions of instruments; `null` where these are not
    /// seen from here.
    pub server_cpu_us: Option<u64>,
    /// All readings. Times are microseconds since clients began to work.
    pub series: Vec<ObservedSeries>,
    /// What was not observed, and why.
    pub gaps: Vec<ObservedGap>,
    /// What happened, in its order.
    pub events: Vec<ObservedEvent>,
    /// What the server says it did, the most expensive first.
    pub statements: Vec<ObservedStatement>,
    /// By instrument: what else it found out.
    #[cfg_attr(test, ts(type = "Record<string, unknown>"))]
    pub facts: BTreeMap<String, BTreeMap<String, Value>>,
}

#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct ObservedBy {
    /// Its name, such as `pg.io`.
    pub name: String,
    pub source: String,
    /// CPU time on pgdyno's side; `null` when it did not end in time.
    pub cpu_us: Option<u64>,
}

/// A series with all that was read of it.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct ObservedSeries {
    pub instrument: String,
    pub name: String,
    /// Of which part, or empty.
    pub label: String,
    pub unit: String,
    /// `gauge`; `sparse`: a missing reading means 0; `counter`: rates per second; `before_after`.
    pub kind: Kind,
    /// Pairs of time and value.
    pub samples: Vec<(i64, f64)>,
    /// Of counters, and what is read before and after.
    pub total: Option<Total>,
}

#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct ObservedGap {
    pub instrument: String,
    /// Which part, or empty: all of it.
    pub label: String,
    /// `null`: from the beginning.
    pub from_us: Option<i64>,
    /// `null`: to the end.
    pub to_us: Option<i64>,
    pub reason: String,
    /// The command that would close it.
    pub remedy: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct ObservedEvent {
    pub instrument: String,
    pub at_us: i64,
    /// For how long, where it has a length.
    pub length_us: Option<u64>,
    pub kind: String,
    pub text: String,
}

/// What the server says it did for one statement.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct ObservedStatement {
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
    pub fn mean(&self, from_us: i64, to_us: i64, readings: usize) -> Option<f64> {
        mean(self.kind, &self.samples, (from_us, to_us), readings)
    }
}
