//! The notebook as the runner and reports need it. The store implements it; others may.

mod ending;
mod headers;
mod news;
mod rendezvous;
mod rows;

use pgdyno_measurement::{Latencies, Second};

use crate::document::page::PartOf;
use crate::observed::Observed;
use crate::{Note, Observer, Outcome};
use pgdyno_spec::{Failure, TrialSpec};

pub use ending::{BROKEN_INVARIANT, state, verdict};
pub use headers::{ExperimentHeader, TrialHeader, check_tag};
pub use news::{LastSecond, News};
pub use rendezvous::{Meeting, Offer, Rendezvous, Whose, Word};
pub use rows::{
    ExperimentRow, Filter, Kind, Latency, ListedTrial, PGBENCH_TOOLS, PlacedTrial, TrialRow,
};

/// Where trials are kept, and read again. Every method fails where it cannot be read or written.
#[allow(clippy::missing_errors_doc, reason = "said once above")]
pub trait Notebook {
    /// What it is called in messages: a path.
    fn place(&self) -> String;

    /// The trials that are wanted, the newest first.
    fn trials(&self, filter: &Filter) -> Result<Vec<TrialRow>, Failure>;

    /// What a list shows of them.
    fn listed(&self, filter: &Filter) -> Result<Vec<ListedTrial>, Failure>;

    /// How many there are, without the limit.
    fn count(&self, filter: &Filter) -> Result<u64, Failure>;

    /// The newest experiments first, each with its trials and how many of them count: complete, not excluded.
    fn experiments(&self, limit: Option<u64>) -> Result<Vec<(ExperimentRow, u64, u64)>, Failure>;

    /// How many experiments there are.
    fn count_experiments(&self) -> Result<u64, Failure>;

    /// The trials of an experiment, by its number, in their order.
    fn placed(&self, experiment: i64) -> Result<Vec<PlacedTrial>, Failure>;

    /// The experiment with this name (the newest of several), or whose UUID begins so.
    fn experiment(&self, called: &str) -> Result<ExperimentRow, Failure>;

    /// The experiments with this name, the newest first.
    fn experiments_named(&self, name: &str) -> Result<Vec<ExperimentRow>, Failure>;

    /// These trials will be read soon, in this order: what is far away may be asked for several at once. Holds
    /// until it learns of others (or of none), and nothing may be written meanwhile.
    fn will_read(&self, _numbers: &[i64]) {}

    /// All that is kept of a trial.
    fn outcome(&self, number: i64) -> Result<Outcome, Failure>;

    /// The validity notes of a trial.
    fn notes(&self, number: i64) -> Result<Vec<Note>, Failure>;

    /// The texts of a trial's events of one kind, in their order.
    fn events(&self, number: i64, kind: &str) -> Result<Vec<String>, Failure>;

    /// How often something of this kind (`checkpoint`, `autovacuum`) was going on while the trial was
    /// measured; `None` when this instrument did not watch from beginning to end.
    fn happened(&self, number: i64, kind: &str, instrument: &str) -> Result<Option<u64>, Failure>;

    /// A trial's seconds, warm-up included.
    fn seconds(&self, number: i64) -> Result<Vec<Second>, Failure>;

    /// Those after one that was read before: of a trial that is running.
    fn seconds_after(&self, number: i64, last: Option<LastSecond>) -> Result<Vec<Second>, Failure>;

    /// Those that ended within so much time before the end of the last one.
    fn last_seconds(&self, number: i64, within_us: u64) -> Result<Vec<Second>, Failure>;

    /// What instruments saw, with samples later than this moment only (microseconds since clients began to work).
    fn observed_after(&self, number: i64, after_us: Option<i64>) -> Result<Observed, Failure>;

    /// How far a trial has come, and what may have changed of it beside these.
    fn news(&self, number: i64) -> Result<News, Failure>;

    /// Latencies of the measured time, of one script or all of them.
    fn latencies(
        &self,
        number: i64,
        script: Option<usize>,
        kind: Kind,
    ) -> Result<Latencies, Failure>;

    /// What its server answers to this query of one value; `None` when it is in a file, or the server
    /// answers.
    fn answer(&self, query: &str) -> Option<String>;

    /// The same second by second, of all scripts.
    fn latencies_by_second(&self, number: i64, kind: Kind)
    -> Result<Vec<SecondLatencies>, Failure>;

    /// Why a running trial cannot be stopped from here, and how else; `None`: its process is on this host and
    /// of this user.
    fn cannot_stop(&self, number: i64) -> Result<Option<String>, Failure>;

    /// Whether a trial that did not say that it ended was run by a process of this host that has.
    fn is_gone(&self, number: i64) -> Result<bool, Failure>;

    /// Which part of a trial of several generators a trial is; `None`: none.
    fn part_of(&self, number: i64) -> Result<Option<PartOf>, Failure>;

    /// What all generators together were asked for, of a trial that is a part; `None`: it is none.
    fn asked_of_all(&self, number: i64) -> Result<Option<TrialSpec>, Failure>;

    /// Puts an experiment into the notebook.
    fn begin_experiment(&self, header: &ExperimentHeader) -> Result<ExperimentRow, Failure>;

    /// Puts a trial into the notebook, and gives what keeps its seconds.
    fn begin(&self, header: &TrialHeader) -> Result<Box<dyn KeptTrial>, Failure>;
}

/// The latencies of a measured second, and nothing else of it.
#[derive(Debug)]
pub struct SecondLatencies {
    /// When it began, in microseconds since clients began to work.
    pub start_us: u64,
    /// Whether it counts for intervals ([`is_whole`]).
    pub is_whole: bool,
    pub latencies: Latencies,
}

/// A second that is shorter than this, at the end of a phase, is not whole.
const WHOLE_US_MIN: u64 = 900_000;

/// Whether a second of this length counts for intervals: shorter ones, and those after the asked duration
/// (`drain`), do not.
pub fn is_whole(length_us: u64, drain: bool) -> bool {
    !drain && length_us >= WHOLE_US_MIN
}

/// How a trial came into a notebook.
#[derive(Debug, Default)]
pub struct Ended {
    /// Why some of it still waits on this host for a notebook that is elsewhere.
    pub waits: Option<Failure>,
    /// Why its history is not there; the trial has a note of it.
    pub without_history: Option<Failure>,
}

/// A trial that is being kept: it observes the trial. Dropped without an end, it leaves the trial
/// aborted.
pub trait KeptTrial: Observer<Outcome> {
    /// The trial's number in its notebook.
    fn number(&self) -> i64;

    /// Something happened, `at_us` microseconds after clients began to work.
    fn keep_event(&mut self, kind: &'static str, at_us: u64, text: &str);

    /// A second that was recorded elsewhere.
    fn keep_second(&mut self, second: Second);

    /// The trial is over: the rest of it is kept.
    ///
    /// # Errors
    /// It cannot be. The trial then counts as aborted, with the seconds that were kept.
    fn finish(self: Box<Self>, outcome: &Outcome) -> Result<Ended, Failure>;

    /// The trial came to nothing, because of this.
    ///
    /// # Errors
    /// As [`KeptTrial::finish`].
    fn end_with(self: Box<Self>, failure: &Failure) -> Result<(), Failure>;
}
