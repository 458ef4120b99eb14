//! How stale reads were where a standby answered them: stamps written through the primary, and what reads
//! showed of them (docs/standbys.md).

use serde::{Deserialize, Serialize};

use crate::Fact;

/// What the probe saw in the measured time.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct Staleness {
    /// A stamp was to be written this often, in microseconds.
    pub interval_us: u64,
    /// Sessions that write by turns, each its own row.
    pub sessions: u32,
    /// Stamps whose COMMIT was answered.
    pub written: u64,
    /// Stamps that were not, or without an answer.
    pub not_written: u64,
    /// How long their COMMIT took.
    pub write: Lags,
    /// Where stamps were read; the first is the endpoint that they were written through: a control, which
    /// is never stale.
    pub endpoints: Vec<StaleEndpoint>,
    /// The same of the clients' own sessions, where their scripts write and read stamps (`--client-stamps`).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(test, ts(optional))]
    pub clients: Option<ClientStaleness>,
}

/// What the clients' own transactions showed: each client is a session with a stamp of its own.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct ClientStaleness {
    /// Clients that could write one.
    pub sessions: u32,
    /// Transactions with a stamp that were acknowledged, over the whole trial.
    pub written: u64,
    /// Where stamps were read, by the role of the script; of scripts without a role it is the control.
    pub endpoints: Vec<StaleEndpoint>,
}

/// Times of one kind in microseconds. A percentile is `null` with fewer than ten values beyond it.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct Lags {
    pub count: u64,
    pub p50_us: Option<u64>,
    pub p99_us: Option<u64>,
    /// The longest; `null` without any.
    pub max_us: Option<u64>,
}

/// The reads of one server.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct StaleEndpoint {
    /// The role of the endpoint; `null`: the control.
    pub role: Option<String>,
    pub name: String,
    pub reads: u64,
    /// Reads before the first stamp was seen there: they count in none of the figures.
    pub before_first: u64,
    pub failed: u64,
    /// Why the last of them did.
    pub error: Option<String>,
    /// Reads that did not show all stamps which were acknowledged before they began.
    pub stale: u64,
    /// At the beginning of each read, how long ago the oldest acknowledged stamp that it did not show was
    /// acknowledged; 0 of a read that showed all.
    pub staleness: Lags,
    /// Its distribution: buckets that have reads, the shortest first.
    #[serde(default)]
    pub histogram: Vec<StaleBucket>,
    /// Sessions and reads before which a stamp of the session was acknowledged: what `own_unseen` is of.
    #[serde(default)]
    pub after_write: u64,
    /// How often a session read something older than what it had written itself: sessions and reads.
    pub own_unseen: u64,
    pub own_unseen_worst: Option<OwnUnseen>,
    /// Sessions and reads before which the session had read a stamp: what `went_back` is of.
    #[serde(default)]
    pub after_read: u64,
    /// How often a session read something older than what it had read before: at any endpoint of the role, a
    /// client at any endpoint.
    pub went_back: u64,
    pub went_back_worst: Option<WentBack>,
    /// The same by session; not of clients.
    pub by_session: Vec<SessionReads>,
    /// What the server says of its replay.
    pub replay: Fact<Replay>,
    pub seconds: Vec<StaleSecond>,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct StaleBucket {
    /// The longest staleness that belongs here, in microseconds: 0 for reads that were not stale, 100 and
    /// then ten to a decade.
    pub upto_us: u64,
    pub reads: u64,
}

/// One session at one server.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct SessionReads {
    pub session: u32,
    /// Reads without its own last acknowledged stamp.
    pub own_unseen: u64,
    /// Reads that showed less than one before.
    pub went_back: u64,
}

/// A session did not read what it had written. Times in microseconds since clients began to work.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct OwnUnseen {
    pub session: u32,
    /// Its oldest stamp that the read did not show.
    pub stamp: u64,
    pub written_us: u64,
    pub read_us: u64,
    /// The stamp that it showed.
    pub shown: u64,
}

/// A session read less than before. Times in microseconds since clients began to work.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct WentBack {
    pub session: u32,
    /// The stamp that it had read.
    pub stamp: u64,
    pub at: String,
    /// When that read had ended.
    pub seen_us: u64,
    /// When the later read began.
    pub read_us: u64,
    /// The stamp that it showed.
    pub shown: u64,
}

/// Replay as the standby tells it, sampled beside the reads.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct Replay {
    /// By position: how long ago the oldest stamp was acknowledged whose WAL position the standby had not
    /// replayed; 0 if it had replayed all. By pgdyno's clock alone.
    pub by_position: Lags,
    /// By timestamp: the standby's time less that of the last transaction that it replayed. Of two hosts'
    /// clocks, where they are two.
    pub by_timestamp: Lags,
}

/// The reads of a second.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct StaleSecond {
    /// Which, since clients began to work.
    pub at_s: u64,
    /// Reads that began in it.
    pub reads: u64,
    pub stale: u64,
    /// The median of the staleness, in microseconds; `null` with fewer than ten reads beyond it.
    #[serde(default)]
    pub p50_us: Option<u64>,
    /// The 99th percentile, in the same way.
    #[serde(default)]
    pub p99_us: Option<u64>,
    /// The longest staleness, in microseconds.
    pub max_us: u64,
    /// The longest time that the replay was behind by position ([`Replay::by_position`]); `null` if it was not
    /// sampled.
    #[serde(default)]
    pub replay_us: Option<u64>,
}

impl Staleness {
    /// Whether the control was never stale: else the probe itself is wrong.
    pub fn is_sound(&self) -> bool {
        let clients = self.clients.iter().flat_map(|clients| &clients.endpoints);
        let mut controls =
            { self.endpoints.iter().chain(clients) }.filter(|one| one.role.is_none());
        controls.all(|one| one.stale == 0 && one.own_unseen == 0 && one.went_back == 0)
    }
}
