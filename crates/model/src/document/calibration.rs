//! A calibration: what `pgdyno calibrate --json` prints (`docs/calibrate.md`).

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::Facts;
use crate::Fact;

/// Times of the simplest work beside what is expected of good infrastructure.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct Calibration {
    /// Grows when a field changes its meaning or goes.
    pub format: u32,
    pub calibration: String,
    pub uuid: String,
    /// When it was begun, UTC.
    pub created: String,
    pub target: String,
    /// The server's product and version, for people.
    pub server: String,
    /// What is known about the server.
    pub facts: Facts,
    /// What was chosen of the workload's parameters, `NAME=VALUE` each.
    pub params: Vec<String>,
    /// What the workload's clients started with.
    pub variables: BTreeMap<String, String>,
    /// Of reads and updates together; `null`: not known.
    pub baseline: Option<Baseline>,
    /// Those that were measured, in their order.
    pub lines: Vec<CalibrationLine>,
    pub sync: Sync,
    /// What this host can do without a database, where it is the yardstick.
    pub host: Fact<HostSpeed>,
    /// More clients; `null`: only one was tried.
    pub concurrency: Option<Concurrency>,
}

/// Whether read and update are as expected or better.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
#[serde(rename_all = "kebab-case")]
pub enum Baseline {
    Met,
    Missed,
}

#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct CalibrationLine {
    pub line: What,
    /// Its number in the notebook.
    pub trial: i64,
    /// Where that was measured which follows; `null`: there is one endpoint, or it was measured at the
    /// first only.
    pub endpoint: Option<String>,
    /// Each of several endpoints: the line is that of the slowest.
    pub endpoints: Vec<LineAt>,
    pub count: u64,
    pub min_us: Option<u64>,
    pub p50_us: Option<u64>,
    pub p95_us: Option<u64>,
    pub p99_us: Option<u64>,
    pub max_us: u64,
    pub mean_us: f64,
    pub expected: Range,
    /// Where the expectation is from.
    pub yardstick: Yardstick,
    /// What came of the expectation.
    pub verdict: LineVerdict,
    /// The median without that of the round trip; `null` for the round trip itself.
    pub without_round_trip_us: Option<f64>,
    /// Whether that is within the expectation.
    pub without_round_trip_within: Option<bool>,
    /// What the mean consists of, by `client_us`, `network_us`, `sync_us`, `commit_us`, `server_us`,
    /// `tail_us`; empty when the round trip is not known.
    pub parts: BTreeMap<String, f64>,
    pub cause: Option<Cause>,
    /// Why the figure is doubtful.
    pub doubts: Vec<String>,
    pub server_side: Fact<Grown>,
}

/// What a line came to at one of several endpoints.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct LineAt {
    pub name: String,
    pub count: u64,
    pub p50_us: Option<u64>,
    pub mean_us: f64,
    /// What came of the expectation.
    pub verdict: LineVerdict,
}

/// What a line is of.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
#[cfg_attr(test, ts(rename = "LineOf"))]
#[serde(rename_all = "kebab-case")]
pub enum What {
    RoundTrip,
    /// One row changed and durable.
    Commit,
    Read,
    Update,
}

impl What {
    /// Its name, as `--expect` has it.
    pub fn name(self) -> &'static str {
        match self {
            Self::RoundTrip => "round-trip",
            Self::Commit => "commit",
            Self::Read => "read",
            Self::Update => "update",
        }
    }
}

/// What came of an expectation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
#[serde(rename_all = "kebab-case")]
pub enum LineVerdict {
    /// The mean lies in the range.
    Met,
    Better,
    Missed,
}

impl LineVerdict {
    pub fn name(self) -> &'static str {
        match self {
            Self::Met => "met",
            Self::Better => "better",
            Self::Missed => "missed",
        }
    }
}

/// Between which times a mean is to lie.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct Range {
    /// Below it is better than expected.
    pub low_us: f64,
    /// Above it the expectation is missed.
    pub high_us: f64,
}

/// Where an expectation is from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
#[serde(rename_all = "kebab-case")]
pub enum Yardstick {
    Asked,
    /// What the host itself can do, and what the product adds to it.
    Host,
    /// The article's figures for good infrastructure (`docs/calibrate.md`).
    Article,
}

/// What the host of client and server can do without a database: medians in microseconds.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct HostSpeed {
    /// A message to another thread and back, the way that the server is reached.
    pub round_trip_us: f64,
    /// The way: `a Unix socket`, `the loopback`.
    pub way: String,
    /// A block written to the file system of the server's log and synced.
    pub sync_us: Fact<f64>,
    /// What the product may take for a read by primary key beside the round trip.
    pub work_us: f64,
}

/// A part of a line's time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
#[serde(rename_all = "kebab-case")]
pub enum Part {
    Client,
    /// The rest of the round trip.
    Network,
    /// Waiting until a change is durable.
    Sync,
    /// The whole commit, where the wait for the disk cannot be measured separately.
    Commit,
    /// What remains of the median: the server at work.
    Server,
    /// By what the mean exceeds the median: the slowest transactions.
    Tail,
}

impl Part {
    pub fn name(self) -> &'static str {
        match self {
            Self::Client => "client",
            Self::Network => "network",
            Self::Sync => "sync",
            Self::Commit => "commit",
            Self::Server => "server",
            Self::Tail => "tail",
        }
    }
}

/// The likely cause of a missed expectation.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct Cause {
    pub part: Part,
    /// What that means for the line.
    pub sentence: String,
    pub evidence: Vec<String>,
}

/// What is known of the sync of a commit.
#[derive(Debug, Clone, PartialEq, Default, Serialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct Sync {
    /// The median of a commit that waits less that of one that does not.
    pub difference_us: Option<f64>,
    /// By the server's own clock, for each sync.
    pub server_us: Option<f64>,
    /// In words, with what is not known and why.
    pub sentences: Vec<String>,
}

/// How much the server's counters have grown during a trial, its warm-up included.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct Grown {
    /// Where the counters are from, for people.
    pub source: String,
    /// Whether the trial's sessions had their syncs timed.
    pub timed: bool,
    pub counted: BTreeMap<String, u64>,
}

impl Grown {
    /// A counter's growth; `None` where the server does not count it.
    pub fn get(&self, name: &str) -> Option<u64> {
        self.counted.get(name).copied()
    }
}

#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct Concurrency {
    /// Numbers of clients, from one on.
    pub steps: Vec<Step>,
    /// The share by which throughput must exceed the best so far to have grown.
    pub least_growth: f64,
    pub throughput_stops: Option<Saturation>,
    pub p99_bends: Option<Bend>,
    /// Why that is not known.
    pub p99_unknown: Option<String>,
}

/// What was measured at one number of clients.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct Step {
    pub trial: i64,
    pub clients: u32,
    pub goodput_per_s: f64,
    /// Of reads and updates together.
    pub p50_us: Option<u64>,
    /// Of reads and updates together; `None` with too few of them.
    pub p99_us: Option<u64>,
    pub failed: u64,
    /// Whether pgdyno's busiest thread was on a CPU, or waited for one, nearly all of the time.
    pub client_bound: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
#[serde(tag = "is", rename_all = "kebab-case")]
pub enum Saturation {
    /// At so many clients; more of them were tried and gave no more.
    At {
        /// The fewest that give all but the last bit.
        clients: u32,
        goodput_per_s: f64,
    },
    /// It still grew at the most clients that were tried.
    Beyond {
        /// The most that were tried.
        clients: u32,
        goodput_per_s: f64,
    },
}

#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
#[serde(tag = "is", rename_all = "kebab-case")]
pub enum Bend {
    /// Beyond so many clients p99 grows faster than throughput.
    At { clients: u32 },
    /// From the first client on.
    AtOrBelow { clients: u32 },
    /// Not up to the greatest throughput.
    NotSeen,
}

/// Systems side by side: what `pgdyno calibrate --compare --json` prints.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Calibrations {
    /// Grows when a field changes its meaning or goes.
    pub format: u32,
    pub systems: Vec<Calibration>,
    /// By line: a bar a system that has it.
    pub bars: BTreeMap<What, Vec<Bar>>,
}

/// A system among others at one line.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Bar {
    /// Its name, with the first characters of its UUID where another has the same.
    pub system: String,
    pub uuid: String,
    pub mean_us: f64,
    pub p99_us: Option<u64>,
    /// The median without that of the round trip.
    pub without_round_trip_us: Option<f64>,
    pub expected: Range,
    /// What came of the expectation.
    pub verdict: LineVerdict,
}
