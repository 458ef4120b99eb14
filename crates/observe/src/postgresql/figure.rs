//! Figures and where each major version has them. Facts alone: `figures/` lists them, `counters.rs`
//! reads them.

use pgdyno_model::observed::{Kind, Row};

#[derive(Debug, Clone, Copy)]
pub struct Figure {
    pub row: Row,
    /// Its position; at most one place a version.
    at: [Option<At>; PLACES_MAX],
}

/// In so many places it is in one version or another.
const PLACES_MAX: usize = 3;

/// Where some versions have a figure.
#[derive(Debug, Clone, Copy)]
pub struct At {
    pub since: u32,
    /// The first major version that has it no more.
    pub until: u32,
    /// What it is read from.
    pub view: &'static View,
    pub sql: &'static str,
    /// A setting that must be on, or it stays at zero.
    pub needs: Option<&'static str>,
}

#[derive(Debug)]
pub struct View {
    pub name: &'static str,
    /// The text after FROM. `{tables}` and `{indexes}` are lists of relations, with the columns
    /// `oid` and `label`.
    pub from: &'static str,
    /// The expression for the part that a row is about; `''` when there is but one.
    pub label: &'static str,
}

const NEVER: u32 = u32::MAX;

impl At {
    pub const fn since(since: u32, view: &'static View, sql: &'static str) -> Self {
        Self::between(since, NEVER, view, sql)
    }

    /// From this version on, until that one has it no more.
    pub const fn between(since: u32, until: u32, view: &'static View, sql: &'static str) -> Self {
        Self {
            since,
            until,
            view,
            sql,
            needs: None,
        }
    }

    /// Only where this setting is on.
    pub const fn needing(self, setting: &'static str) -> Self {
        Self {
            needs: Some(setting),
            ..self
        }
    }
}

impl Figure {
    /// What grows, by the second.
    pub const fn counter<const N: usize>(
        name: &'static str,
        unit: &'static str,
        source: &'static str,
        what: &'static str,
        at: [At; N],
    ) -> Self {
        let row = Row {
            name,
            unit,
            kind: Kind::Counter,
            source,
            what,
        };
        Self { row, at: some(at) }
    }

    /// What is at some number.
    pub const fn gauge<const N: usize>(
        name: &'static str,
        unit: &'static str,
        source: &'static str,
        what: &'static str,
        at: [At; N],
    ) -> Self {
        let row = Row {
            name,
            unit,
            kind: Kind::Gauge,
            source,
            what,
        };
        Self { row, at: some(at) }
    }

    /// Where this version has it.
    pub fn of(&self, major: u32) -> Option<At> {
        let mut at = self.at.iter().flatten();
        at.find(|at| (at.since..at.until).contains(&major)).copied()
    }
}

const fn some<const N: usize>(at: [At; N]) -> [Option<At>; PLACES_MAX] {
    let mut all = [None; PLACES_MAX];
    let mut place = 0;
    while place < N {
        all[place] = Some(at[place]);
        place += 1;
    }
    all
}

/// The rows of figures, for the catalog.
pub const fn rows<const N: usize>(figures: &[Figure]) -> [Row; N] {
    let mut rows = [figures[0].row; N];
    let mut at = 1;
    while at < N {
        rows[at] = figures[at].row;
        at += 1;
    }
    rows
}
