//! What a figure is called, and how to interpret it.

use std::borrow::Cow;

use serde::Serialize;

/// A figure over time: what is read, of which part, in which unit.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Series {
    /// What it is: `pg.wal.bytes`, `host.cpu.user`. Begins with the name of the group of its
    /// instrument (`pg`, `host`, …).
    pub name: Cow<'static, str>,
    /// Of which part: `node 1`, `vda`, `LWLock:WALWrite`; empty where there is but one.
    pub label: String,
    /// As it is shown, so for counters that of the rate: `bytes/s`, `1/s`, `sessions`, `µs`, `%`;
    /// empty for a mere number.
    pub unit: Cow<'static, str>,
}

impl Series {
    /// That of the one part there is.
    pub const fn new(name: &'static str, unit: &'static str) -> Self {
        Self {
            name: Cow::Borrowed(name),
            label: String::new(),
            unit: Cow::Borrowed(unit),
        }
    }

    /// The same of this part.
    pub fn of(&self, label: impl Into<String>) -> Self {
        Self {
            label: label.into(),
            ..self.clone()
        }
    }
}

/// How the readings of a series are to be taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
#[cfg_attr(test, derive(ts_rs::TS), ts(rename = "SeriesKind"))]
pub enum Kind {
    /// As it is at that moment. Totals are none.
    Gauge,
    /// As [`Kind::Gauge`]; a reading of the instrument that does not speak of it means 0. For wait
    /// events and other parts that come and go.
    Sparse,
    /// Grows; shown as what it grows by a second, with its readings before and after as totals.
    Counter,
    /// Read before and after only.
    BeforeAfter,
}

impl Kind {
    /// As the notebook has it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Gauge => "gauge",
            Self::Sparse => "sparse",
            Self::Counter => "counter",
            Self::BeforeAfter => "before_after",
        }
    }

    pub fn from_name(name: &str) -> Option<Self> {
        [Self::Gauge, Self::Sparse, Self::Counter, Self::BeforeAfter]
            .into_iter()
            .find(|kind| kind.name() == name)
    }
}

/// A series as it is listed in docs/instruments.md: every series that an instrument gives is made
/// from one of these, so that the list is complete.
#[derive(Debug, Clone, Copy)]
pub struct Row {
    pub name: &'static str,
    pub unit: &'static str,
    pub kind: Kind,
    /// Where it is from, with versions: `pg_stat_wal.wal_bytes (14+)`.
    pub source: &'static str,
    /// What it means, and what its label is, in a clause.
    pub what: &'static str,
}

/// A chapter of the list.
#[derive(Debug, Clone, Copy)]
pub struct Chapter {
    /// What it is about, as its heading says.
    pub title: &'static str,
    pub rows: &'static [Row],
}

/// The row of a series by its name; `None` of one that is not listed, such as those of `--scrape`.
pub type Rows = fn(&str) -> Option<&'static Row>;

impl Row {
    /// Its series, of the one part there is.
    pub const fn series(&self) -> Series {
        Series::new(self.name, self.unit)
    }

    /// Its series of this part.
    pub fn of(&self, label: impl Into<String>) -> Series {
        self.series().of(label)
    }
}
