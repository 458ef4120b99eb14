//! What happened within one second (or what was left of it) on one thread, or on all of them.

use std::collections::BTreeMap;

use super::stalls::{GAPS_MAX, Gap};
use super::{ClientTime, Counts, Failure, Lags, Latencies, Units, Work};

/// One script's part of an [`Interval`].
#[derive(Clone, Debug, Default)]
pub struct ScriptInterval {
    /// Transactions by how they ended.
    pub counts: Counts,
    /// From the start of a committed transaction's first try to its end.
    pub service: Latencies,
    /// From the start of the try that was committed to its end; only where there may be several.
    pub attempt: Option<Latencies>,
    /// From the *scheduled* start of a committed transaction to its end; with a rate only.
    pub response: Option<Latencies>,
    /// How late transactions started; with a rate only.
    pub lag: Option<Latencies>,
    pub work: Work,
    /// Work units, by the operations of [`super::Recording::operations`]; fewer when there are none
    /// of the last ones.
    pub units: Vec<Units>,
    /// Tries that ended with an error or with their connection, whatever became of their
    /// transaction; not those that the end of the run broke off. Of a trial from the notebook there
    /// are none.
    pub failed: FailedTries,
    /// Transactions that found no row where they must ([`super::Failure::RowMissing`]); in the same
    /// way.
    pub missing: FailedTries,
    /// Tries that failed and were followed by another of the same transaction, by why; in the same
    /// way.
    pub retried_after: BTreeMap<Failure, u64>,
}

/// How long tries took that came to nothing.
#[derive(Clone, Debug, Default)]
pub struct FailedTries {
    /// From the start of the try to its end.
    pub service: Latencies,
    /// From the *scheduled* start of its transaction to its end; with a rate only.
    pub response: Option<Latencies>,
}

/// One thread's part of an [`Interval`], whatever it did for which script.
#[derive(Clone, Debug, Default)]
pub struct LoopLags {
    pub thread: usize,
    /// How long what was due waited for it.
    pub lags: Lags,
}

/// Everything of one stretch of time, by script.
#[derive(Clone, Debug, Default)]
pub struct Interval {
    pub length_ns: u64,
    /// When it began, in nanoseconds since clients began to work.
    pub start_ns: u64,
    /// Whether it belongs to the warm-up.
    pub warmup: bool,
    /// Whether it lies after the asked duration: transactions end, none begins.
    pub drain: bool,
    /// Of one thread, those that ended in it; the collector takes them.
    pub gaps: Vec<Gap>,
    /// In the order of the scripts.
    pub scripts: Vec<ScriptInterval>,
    pub time: ClientTime,
    /// By thread, in no order; those that had begun.
    pub loops: Vec<LoopLags>,
}

impl Interval {
    pub fn for_scripts(count: usize, with_rate: bool, with_retries: bool) -> Self {
        let failed = FailedTries {
            response: with_rate.then(Latencies::default),
            ..FailedTries::default()
        };
        let script = ScriptInterval {
            failed: failed.clone(),
            missing: failed,
            attempt: with_retries.then(Latencies::default),
            response: with_rate.then(Latencies::default),
            lag: with_rate.then(Latencies::default),
            ..ScriptInterval::default()
        };
        Self {
            scripts: vec![script; count],
            loops: vec![LoopLags::default()],
            gaps: Vec::with_capacity(GAPS_MAX),
            ..Self::default()
        }
    }

    /// When it began, in seconds since clients began to work.
    pub fn start_s(&self) -> f64 {
        self.start_ns as f64 / 1e9
    }

    pub fn length_s(&self) -> f64 {
        self.length_ns as f64 / 1e9
    }

    pub fn all(&self) -> ScriptInterval {
        let mut all = ScriptInterval::default();
        self.scripts.iter().for_each(|script| all.merge(script));
        all
    }

    /// Adds what happened in the same stretch of time elsewhere.
    pub fn merge(&mut self, other: &Self) {
        for (mine, theirs) in self.scripts.iter_mut().zip(&other.scripts) {
            mine.merge(theirs);
        }
        self.time.merge(&other.time);
        self.loops.extend_from_slice(&other.loops);
    }

    /// Forgets everything and keeps the memory.
    pub fn clear(&mut self) {
        self.time = ClientTime::default();
        self.gaps.clear();
        self.loops.truncate(1);
        self.loops.iter_mut().for_each(|one| one.lags.clear());
        for script in &mut self.scripts {
            script.counts = Counts::default();
            script.service.clear();
            script.attempt.iter_mut().for_each(Latencies::clear);
            script.response.iter_mut().for_each(Latencies::clear);
            script.lag.iter_mut().for_each(Latencies::clear);
            script.work = Work::default();
            script.units.iter_mut().for_each(Units::clear);
            script.failed.clear();
            script.missing.clear();
            script.retried_after.clear();
        }
    }
}

impl ScriptInterval {
    pub fn merge(&mut self, other: &Self) {
        self.counts.merge(&other.counts);
        self.service.merge(&other.service);
        merge_optional(&mut self.attempt, other.attempt.as_ref());
        merge_optional(&mut self.response, other.response.as_ref());
        merge_optional(&mut self.lag, other.lag.as_ref());
        self.work.merge(&other.work);
        for (operation, theirs) in other.units.iter().enumerate() {
            self.units(operation).merge(theirs);
        }
        self.failed.merge(&other.failed);
        self.missing.merge(&other.missing);
        Failure::merge_counts(&mut self.retried_after, &other.retried_after);
    }

    /// Books a committed transaction that took so long, and so long in the try that was committed.
    #[inline]
    pub fn record_commit(&mut self, service_us: u64, attempt_us: u64, statements: u32) {
        self.service.record(service_us);
        if let Some(attempt) = &mut self.attempt {
            attempt.record(attempt_us);
        }
        self.work.kept_us += attempt_us;
        self.work.kept_statements += u64::from(statements);
    }

    /// The units of this operation.
    pub fn units(&mut self, operation: usize) -> &mut Units {
        if self.units.len() <= operation {
            self.units.resize_with(operation + 1, Units::default);
        }
        &mut self.units[operation]
    }
}

impl FailedTries {
    pub fn record(&mut self, service_us: u64, response_us: u64) {
        self.service.record(service_us);
        if let Some(response) = &mut self.response {
            response.record(response_us);
        }
    }

    pub fn merge(&mut self, other: &Self) {
        self.service.merge(&other.service);
        merge_optional(&mut self.response, other.response.as_ref());
    }

    fn clear(&mut self) {
        self.service.clear();
        self.response.iter_mut().for_each(Latencies::clear);
    }
}

fn merge_optional(mine: &mut Option<Latencies>, theirs: Option<&Latencies>) {
    if let Some(theirs) = theirs {
        mine.get_or_insert_default().merge(theirs);
    }
}
