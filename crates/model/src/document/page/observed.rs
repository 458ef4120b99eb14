//! What instruments saw, as the page draws it. Times are microseconds on the trial's clock.

use serde::Serialize;

use super::{SlowestStatement, digits};
use crate::observed::Kind;

#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct Instrument {
    pub name: String,
    /// What it read: `PostgreSQL, pg_stat_io`, `/proc of db1`.
    pub source: String,
    pub of: InstrumentOf,
    /// What it did not see.
    pub gaps: Vec<Gap>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
#[cfg_attr(test, derive(ts_rs::TS))]
pub enum InstrumentOf {
    Server,
    /// The machine that it is on.
    Host,
    Client,
    Other,
}

/// What an instrument did not see.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct Gap {
    /// Part that is missing; empty: all of the instrument.
    pub label: String,
    /// `null`: from the beginning. Both `null`: never read.
    pub from_us: Option<i64>,
    pub to_us: Option<i64>,
    pub reason: String,
    /// The one command that closes it.
    pub remedy: Option<String>,
    /// How many readings failed. No instrument counts them yet.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(test, ts(optional))]
    pub times: Option<u64>,
}

#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct Series {
    pub instrument: usize,
    pub name: String,
    /// Of which part: `node 1`, `vda`; empty where there is but one.
    pub label: String,
    /// `bytes/s`, `1/s`, `sessions`, `µs`, `bytes`, `%`, or empty.
    pub unit: String,
    /// How it is to be taken.
    pub kind: Kind,
    /// What it tells, in a clause, where the instrument says.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(test, ts(optional))]
    pub what: Option<String>,
    /// Index in `clocks_us`; missing: read before and after only.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(test, ts(optional))]
    pub clock: Option<usize>,
    /// Same length as the clock. `null`: no reading (a gap).
    #[serde(
        skip_serializing_if = "Option::is_none",
        serialize_with = "digits::list_if_any"
    )]
    #[cfg_attr(test, ts(optional, type = "Array<number | null>"))]
    pub value: Option<Vec<f64>>,
    #[cfg_attr(test, ts(optional = nullable))]
    pub before: Option<f64>,
    #[cfg_attr(test, ts(optional = nullable))]
    pub after: Option<f64>,
    /// How often it was found reset.
    #[cfg_attr(test, ts(optional = nullable))]
    pub resets: Option<u32>,
}

/// Average active sessions by what they waited for.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct Waits {
    pub clock: usize,
    /// The server's cores, where known: a dashed line.
    pub cores: Option<f64>,
    /// `sampled 10 × a second`.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(test, ts(optional))]
    pub how: Option<String>,
    pub events: Vec<WaitEvent>,
}

/// Sessions in one wait event.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct WaitEvent {
    /// Class `CPU` is working, without a wait.
    pub class: String,
    pub event: String,
    /// Same length as the clock.
    #[serde(serialize_with = "digits::list")]
    #[cfg_attr(test, ts(type = "Array<number | null>"))]
    pub sessions: Vec<f64>,
}

#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct Event {
    pub at_us: i64,
    /// For how long, where it has a length.
    #[cfg_attr(test, ts(optional = nullable))]
    pub length_us: Option<u64>,
    /// checkpoint, autovacuum, wal-switch, outage, reconnected, moved, returned, endpoint-down, endpoint-up, error, standby, …
    pub kind: String,
    pub text: String,
    /// The instrument that saw it.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(test, ts(optional))]
    pub source: Option<String>,
    /// For a checkpoint: start of its sync phase, after `at_us`. No instrument reports it yet.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(test, ts(optional))]
    pub sync_after_us: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(test, ts(optional))]
    pub sync_us: Option<u64>,
}

/// One of the longest transactions, with what happened around it.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct Worst {
    pub at_us: u64,
    /// From the scheduled start, with a rate.
    pub response_us: Option<u64>,
    /// How much of that it waited to begin. Not recorded yet.
    pub queued_us: Option<u64>,
    pub service_us: Option<u64>,
    /// How often it was tried. Not recorded yet.
    pub tries: Option<u64>,
    /// Its script, where there are several.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(test, ts(optional))]
    pub script: Option<String>,
    /// Where it ran. Not recorded yet.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(test, ts(optional))]
    pub endpoint: Option<String>,
    /// Its slowest statement. Not recorded yet.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(test, ts(optional))]
    pub slowest: Option<SlowestStatement>,
    pub around: String,
    pub events: Vec<usize>,
}
