//! What the notebook has of trials and experiments, without seconds.

use serde::Serialize;

use crate::State;
use pgdyno_spec::{Exit, Failure, TrialSpec};

/// Which trials are wanted; all conditions must hold.
#[derive(Debug, Clone, Default)]
pub struct Filter {
    /// Of the experiment with this name, or whose UUID begins so.
    pub experiment: Option<String>,
    pub workload: Option<String>,
    pub tags: Vec<String>,
    pub state: Option<State>,
    /// Begun at this time or later (a stamp of the notebook: RFC 3339 in UTC, with microseconds).
    pub since: Option<String>,
    /// All of these words stand in the workload, target, note, tags or name of the experiment; a number or the
    /// beginning of a UUID is that trial's.
    pub words: Vec<String>,
    /// At most so many, the newest ones.
    pub limit: Option<u64>,
    /// Without so many, the newest ones, before these.
    pub skip: u64,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ExperimentRow {
    pub number: i64,
    pub uuid: String,
    pub name: String,
    /// When it was begun, UTC.
    pub created: String,
    pub definition: String,
}

/// Latencies of the measured time, in microseconds. A percentile with fewer than ten values beyond
/// it is `None`.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct Latency {
    pub mean_us: Option<f64>,
    pub p50_us: Option<u64>,
    pub p90_us: Option<u64>,
    pub p95_us: Option<u64>,
    pub p99_us: Option<u64>,
    pub p99_9_us: Option<u64>,
    pub max_us: Option<u64>,
}

/// A trial and its figures, without its seconds. The fields are the columns of `trial`
/// (docs/store.md).
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct TrialRow {
    pub number: i64,
    pub uuid: String,
    pub state: State,
    pub reason: Option<String>,
    pub started: String,
    pub ended: Option<String>,
    pub experiment: Option<i64>,
    pub experiment_name: Option<String>,
    pub position: Option<u32>,
    pub point: Option<serde_json::Value>,
    pub repeat: Option<u32>,
    /// Why it does not count.
    pub excluded: Option<String>,
    pub note: Option<String>,
    pub tags: Vec<String>,
    pub workload: String,
    pub pack_sha256: Option<String>,
    pub target: String,
    pub server_version: Option<String>,
    /// At which transactions really ran, where that is known.
    pub isolation_in_effect: Option<String>,
    pub pgdyno: String,
    pub command: String,
    #[serde(skip)]
    pub spec: TrialSpec,
    pub load_sha256: String,
    pub elapsed_us: Option<u64>,
    pub committed: Option<u64>,
    pub failed: Option<u64>,
    pub skipped: Option<u64>,
    pub unknown: Option<u64>,
    pub late: Option<u64>,
    pub retries: Option<u64>,
    pub retried: Option<u64>,
    pub goodput_per_s: Option<f64>,
    pub service: Latency,
    pub response: Latency,
    /// The 95 % interval of the response times' p99 from the trial's seconds; an upper end that is
    /// not known is `None`.
    pub response_p99_low_us: Option<u64>,
    pub response_p99_high_us: Option<u64>,
    /// So many independent transactions would show it as surely.
    pub response_p99_effective: Option<f64>,
    pub client_user_us: Option<u64>,
    pub client_system_us: Option<u64>,
}

/// What a list shows of a trial: with thousands of them nothing else is read.
#[derive(Debug, Clone, PartialEq)]
pub struct ListedTrial {
    pub number: i64,
    pub uuid: String,
    pub state: State,
    /// Why it is not complete.
    pub reason: Option<String>,
    pub started: String,
    pub target: String,
    pub note: Option<String>,
    pub experiment_name: Option<String>,
    /// Why it does not count.
    pub excluded: Option<String>,
    pub tags: Vec<String>,
    pub workload: String,
    pub clients: Option<u32>,
    pub failed: Option<u64>,
    pub goodput_per_s: Option<f64>,
    pub service_p50_us: Option<u64>,
    pub service_p99_us: Option<u64>,
    pub response_p50_us: Option<u64>,
    pub response_p99_us: Option<u64>,
}

impl ListedTrial {
    /// Its p50 and p99 in microseconds: of response times where there is a rate.
    pub fn p50_and_p99_us(&self) -> (Option<u64>, Option<u64>) {
        match self.response_p50_us {
            Some(_) => (self.response_p50_us, self.response_p99_us),
            None => (self.service_p50_us, self.service_p99_us),
        }
    }
}

/// Where a trial is in its experiment.
#[derive(Debug, Clone, PartialEq)]
pub struct PlacedTrial {
    pub number: i64,
    pub state: State,
    pub excluded: Option<String>,
    pub point: Option<serde_json::Value>,
    pub repeat: Option<u32>,
}

/// What [`TrialRow::pgdyno`] says of trials that pgbench-tools ran.
pub const PGBENCH_TOOLS: &str = "pgbench-tools";

impl TrialRow {
    /// Refuses a trial of another program, of which there are totals only, where more is needed.
    ///
    /// # Errors
    /// It is one.
    pub fn check_seconds(&self) -> Result<(), Failure> {
        if self.pgdyno != PGBENCH_TOOLS {
            return Ok(());
        }
        let text = format!(
            "trial {} comes from {PGBENCH_TOOLS}, which keeps totals and no seconds",
            self.number
        );
        let experiment = self.experiment_name.as_deref().unwrap_or_default();
        Err(Failure::with(Exit::Usage, text)
            .hint("pgdyno ls and pgdyno compare show its figures")
            .hint(format!(
                "so does its experiment: pgdyno show --experiment '{experiment}'"
            )))
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// From the first try's start to the end.
    Service,
    /// From the scheduled start to the end; with a rate only.
    Response,
    /// From the scheduled start to the start; with a rate only.
    Lag,
}
