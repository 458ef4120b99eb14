//! What a trial's scripts did, by the names of YCSB's operations.

use std::collections::BTreeMap;

use pgdyno_drive::record::{Failure, Interval, Latencies, Recording, ScriptInterval};

/// One of YCSB's operations.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Kind {
    /// Reads a row.
    Read,
    /// Updates a row.
    Update,
    /// Inserts a row.
    Insert,
    /// Reads rows in the order of keys.
    Scan,
    /// Reads a row, then updates it. The two are booked as well.
    ReadModifyWrite,
}

/// What became of the operations of a kind.
#[derive(Debug, Clone, Default)]
pub struct Operation {
    /// Those that went well.
    pub latencies: Latencies,
    /// The same from the schedule on; with a rate only.
    pub response: Option<Latencies>,
    /// By YCSB's status.
    pub returns: BTreeMap<&'static str, u64>,
}

/// YCSB's statuses of operations that found no row: of updates, of others.
const MISSING: [&str; 2] = ["UNEXPECTED_STATE", "NOT_FOUND"];

/// By kind, those that were done.
pub type Operations = BTreeMap<Kind, Operation>;

impl Kind {
    /// The kind of a script of the pack.
    pub fn of_script(name: &str) -> Option<Self> {
        Some(match name {
            "read" => Self::Read,
            "update" => Self::Update,
            "insert" => Self::Insert,
            "scan" => Self::Scan,
            "readmodifywrite" => Self::ReadModifyWrite,
            _ => return None,
        })
    }

    /// YCSB's status of a failure. (Facts: JdbcDBClient.)
    fn status(self, failure: Failure) -> &'static str {
        match (failure, self) {
            (Failure::RowMissing, Self::Update) => MISSING[0],
            (Failure::RowMissing, _) => MISSING[1],
            _ => "ERROR",
        }
    }
}

impl Operation {
    fn add(&mut self, kind: Kind, script: &ScriptInterval) {
        self.latencies.merge(&script.service);
        if let Some(response) = &script.response {
            self.response.get_or_insert_default().merge(response);
        }
        self.book("OK", script.counts.committed);
        self.book("ERROR", script.counts.unknown);
        for (failure, count) in &script.counts.failed {
            self.book(kind.status(*failure), *count);
        }
    }

    fn book(&mut self, status: &'static str, count: u64) {
        if count > 0 {
            *self.returns.entry(status).or_default() += count;
        }
    }

    /// Those that did not go well.
    pub fn failed(&self) -> u64 {
        let failed = self.returns.iter().filter(|(status, _)| **status != "OK");
        failed.map(|(_, count)| count).sum()
    }

    /// Those that found no row.
    pub fn missing(&self) -> u64 {
        MISSING.iter().filter_map(|it| self.returns.get(it)).sum()
    }
}

/// Of an interval, by these kinds of its scripts. The parts of a read-modify-write are known at the
/// end only; until then there are no reads and updates beside it, because some would be missing.
pub fn add_interval(operations: &mut Operations, kinds: &[Option<Kind>], interval: &Interval) {
    let has_parts = kinds.contains(&Some(Kind::ReadModifyWrite));
    let is_partial = |kind: &Kind| has_parts && matches!(kind, Kind::Read | Kind::Update);
    for (kind, script) in kinds.iter().zip(&interval.scripts) {
        if let Some(kind) = kind
            && script.counts.total() > 0
            && !is_partial(kind)
        {
            operations.entry(*kind).or_default().add(*kind, script);
        }
    }
}

/// Of a run.
pub fn of(recording: &Recording) -> Operations {
    let mut operations = Operations::new();
    let scripts = recording.scripts.iter().zip(&recording.measured.scripts);
    for ((record, script), totals) in scripts.zip(&recording.statements) {
        let Some(kind) = Kind::of_script(&record.name) else {
            continue;
        };
        if script.counts.total() == 0 {
            continue;
        }
        operations.entry(kind).or_default().add(kind, script);
        if kind != Kind::ReadModifyWrite {
            continue;
        }
        for (statement, totals) in record.statements.iter().zip(totals) {
            let part = match statement.text.split_whitespace().next() {
                Some("SELECT") => Kind::Read,
                Some("UPDATE") => Kind::Update,
                _ => continue,
            };
            let operation = operations.entry(part).or_default();
            operation.latencies.merge(&totals.latencies);
            operation.book("OK", totals.latencies.count());
            operation.book("ERROR", totals.failures + totals.aborts);
        }
    }
    operations
}
