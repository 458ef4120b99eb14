//! What a trial's scripts did, by the names of YCSB's operations.

use std::collections::BTreeMap;

use pgdyno_measurement::{
    FailedTries, Failure, Interval, Latencies, LoggedTransaction, Outcome, Phase, Recording,
    ScriptInterval, Units,
};

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Kind {
    Read,
    Update,
    Insert,
    /// Reads rows in the order of keys.
    Scan,
    /// Reads a row, then updates it. The two are booked as well.
    ReadModifyWrite,
}

/// What YCSB calls the result of an operation, in the order that it prints them in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum OperationStatus {
    Ok,
    /// It waits for the others of its batch.
    Batched,
    /// There was no such row.
    NotFound,
    /// It did not change the one row that it should.
    UnexpectedState,
    /// The server refused it, or the connection broke.
    Error,
}

/// What became of the operations of a kind. An operation that is tried again is one more, as there.
#[derive(Debug, Clone, Default)]
pub struct YcsbOperation {
    pub latencies: Latencies,
    /// The same from the schedule on; with a rate only.
    pub response: Option<Latencies>,
    /// Those of a batch that only waited for the last one.
    pub batched: u64,
    pub failed: BTreeMap<OperationStatus, FailedTries>,
}

/// By kind, those that were done.
pub type Operations = BTreeMap<Kind, YcsbOperation>;

impl Kind {
    /// The kind of a script of the pack.
    pub fn of_script(name: &str) -> Option<Self> {
        Some(match name {
            "read" => Self::Read,
            "update" => Self::Update,
            "insert" | "insert-batch" => Self::Insert,
            "scan" => Self::Scan,
            "readmodifywrite" => Self::ReadModifyWrite,
            _ => return None,
        })
    }

    /// YCSB's status where a row is missing. (Facts: JdbcDBClient.)
    fn missing(self) -> OperationStatus {
        match self {
            Self::Update => OperationStatus::UnexpectedState,
            _ => OperationStatus::NotFound,
        }
    }

    /// YCSB's status of how an operation ended; `None` when it never did.
    pub fn status(self, outcome: Outcome) -> Option<OperationStatus> {
        match outcome {
            Outcome::Committed => Some(OperationStatus::Ok),
            Outcome::Failed(Failure::RowMissing) => Some(self.missing()),
            Outcome::Skipped | Outcome::Failed(Failure::Interrupted) => None,
            Outcome::Failed(_) | Outcome::Unknown => Some(OperationStatus::Error),
        }
    }
}

impl OperationStatus {
    pub fn name(self) -> &'static str {
        match self {
            Self::Ok => "OK",
            Self::Batched => "BATCHED_OK",
            Self::NotFound => "NOT_FOUND",
            Self::UnexpectedState => "UNEXPECTED_STATE",
            Self::Error => "ERROR",
        }
    }
}

impl YcsbOperation {
    fn add(&mut self, kind: Kind, script: &ScriptInterval) {
        match script.units.as_slice() {
            [] => {
                let last_tries = script.attempt.as_ref();
                self.latencies.merge(last_tries.unwrap_or(&script.service));
            }
            // A transaction is a batch of inserts, which are units.
            inserts => {
                for insert in inserts {
                    self.latencies.merge(&insert.latencies);
                }
                self.batched += done(script) - script.counts.total();
            }
        }
        if let Some(response) = &script.response {
            self.response.get_or_insert_default().merge(response);
        }
        self.fail(OperationStatus::Error, &script.failed);
        self.fail(kind.missing(), &script.missing);
    }

    fn fail(&mut self, status: OperationStatus, tries: &FailedTries) {
        if tries.service.count() > 0 {
            self.failed.entry(status).or_default().merge(tries);
        }
    }

    /// How many there are by status.
    pub fn returns(&self) -> BTreeMap<OperationStatus, u64> {
        let failed = self.failed.iter();
        let failed = failed.map(|(status, tries)| (*status, tries.service.count()));
        let well = self.latencies.count().saturating_sub(self.batched);
        let well = [
            (OperationStatus::Ok, well),
            (OperationStatus::Batched, self.batched),
        ];
        well.into_iter()
            .chain(failed)
            .filter(|(_, count)| *count > 0)
            .collect()
    }

    /// Those that did not go well.
    pub fn failed(&self) -> u64 {
        let failed = self.failed.values();
        failed.map(|tries| tries.service.count()).sum()
    }

    /// Those that found no row.
    pub fn missing(&self) -> u64 {
        let of = |status| self.failed.get(&status);
        let missing = [OperationStatus::UnexpectedState, OperationStatus::NotFound]
            .into_iter()
            .filter_map(of);
        missing.map(|tries| tries.service.count()).sum()
    }
}

/// Operations of a script that have ended: transactions, or the inserts of their batches.
pub fn done(script: &ScriptInterval) -> u64 {
    match script.units.as_slice() {
        [] => script.counts.total(),
        inserts => {
            let inserted: u64 = inserts.iter().map(Units::count).sum();
            inserted + script.counts.total() - script.counts.committed
        }
    }
}

/// Those that went well, a second.
pub fn per_s(measured: &Phase) -> f64 {
    let well =
        |script: &ScriptInterval| done(script) - (script.counts.total() - script.counts.committed);
    let well: u64 = measured.scripts.iter().map(well).sum();
    match measured.elapsed_us {
        0 => 0.0,
        elapsed_us => well as f64 * 1e6 / elapsed_us as f64,
    }
}

/// What a transaction of scripts of these kinds was, and how it ended; `None` when it never did.
pub fn ended(
    kinds: &[Option<Kind>],
    transaction: &LoggedTransaction,
) -> Option<(Kind, OperationStatus)> {
    let kind = kinds.get(transaction.script).copied().flatten()?;
    Some((kind, kind.status(transaction.outcome)?))
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
            let of = |latencies: &Latencies| FailedTries {
                service: latencies.clone(),
                response: None,
            };
            operation.fail(OperationStatus::Error, &of(&totals.failed));
            operation.fail(part.missing(), &of(&totals.missing));
        }
    }
    operations
}
