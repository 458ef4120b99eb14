//! The cluster that a trial ran on: where the parts of its tables are, standbys, and how far away
//! endpoints are; before the trial and after.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::Node;
use crate::Fact;

/// Where the parts of some tables are.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct Placement {
    /// What the parts are called: `ranges`, `tablets`.
    pub parts: String,
    pub tables: BTreeMap<String, TablePlacement>,
}

/// Where the parts of a table are. A node is its id or, where nodes have none, its address.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct TablePlacement {
    /// How many parts it has.
    pub parts: u64,
    /// By node: of how many parts it is the leader (the lease holder).
    pub leaders: BTreeMap<String, u64>,
    /// By node: of how many parts it has a replica.
    pub replicas: BTreeMap<String, u64>,
    /// The settings of its zone, as the server has them; `null` where the product has no zones, or
    /// does not show them.
    pub zone: Option<String>,
}

/// The streaming replication of PostgreSQL, as one server sees it.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct Replication {
    /// Those that receive its log.
    pub standbys: Vec<Standby>,
    /// `host:port` of the server that it receives its log from, as a standby.
    pub primary: Option<String>,
}

/// A standby, as the server that it receives the log from sees it. `null`: not known (yet), or hidden from
/// the role.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct Standby {
    pub name: Option<String>,
    /// Where it connected from; without a port, `null` over a Unix socket.
    pub address: Option<String>,
    pub state: Option<String>,
    pub sync_state: Option<String>,
    /// Log that it has not replayed yet.
    pub lag_bytes: Option<u64>,
    /// How long after the server it replays, as measured last.
    pub lag_us: Option<u64>,
}

/// How long an idle session waits for the answer to a trivial query.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct RoundTrip {
    pub min_us: u64,
    pub median_us: u64,
    /// How many were measured, one after another.
    pub count: u32,
}

/// What a cluster was like after a trial.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ClusterAfter {
    pub nodes: Fact<Vec<Node>>,
    /// Where the parts of the workload's tables were.
    pub placement: Fact<Placement>,
    /// Standbys, and the server that they follow.
    pub replication: Fact<Replication>,
}

/// The cluster of a trial; only where there is more than one node.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct Cluster {
    /// What parts of tables are called: `ranges`, `tablets`; `null` where they are not known.
    pub parts: Option<String>,
    /// Its nodes, as the cluster lists them; for PostgreSQL endpoints and standbys.
    pub nodes: Vec<Member>,
    /// Where the parts of the workload's tables were.
    pub tables: Vec<Placed>,
    /// How many leaders moved at least: what nodes had less of after the trial, of all tables. `null`
    /// where one of both is not known.
    pub moved: Option<u64>,
    /// What is not known, each with its reason.
    pub unknown: Vec<String>,
}

/// A node of a trial's cluster.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct Member {
    /// Its number, or a standby's name.
    pub id: Option<String>,
    /// `host:port` for clients; of a standby only the host, where no endpoint is known to be it.
    pub address: String,
    pub locality: Option<String>,
    pub version: Option<String>,
    /// Its part: `leaders` (of parts of the workload's tables), `followers` (replicas alone), `gateway`
    /// (neither); `primary`, `standby`. `null`: not known.
    pub role: Option<String>,
    /// Whether it was alive before the trial.
    pub is_live: Option<bool>,
    /// Whether it was alive after the trial.
    pub is_live_after: Option<bool>,
    /// Whether it was draining before the trial.
    pub is_draining: Option<bool>,
    /// Whether it was draining after the trial.
    pub is_draining_after: Option<bool>,
    /// Of how many parts of the workload's tables it was the leader before.
    pub leaders: Option<u64>,
    /// The same after the trial.
    pub leaders_after: Option<u64>,
    /// Of how many parts it had a replica before.
    pub replicas: Option<u64>,
    /// The same after the trial.
    pub replicas_after: Option<u64>,
    /// The endpoint whose connection met it.
    pub endpoint: Option<String>,
    /// To it from here, before the trial.
    pub round_trip: Option<RoundTrip>,
    /// Of a standby: `streaming, async`.
    pub state: Option<String>,
    /// Of a standby: log that it had not replayed before the trial.
    pub lag_bytes: Option<u64>,
    /// The same after the trial.
    pub lag_bytes_after: Option<u64>,
}

/// A table, before the trial and after.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct Placed {
    pub table: String,
    pub before: Option<TablePlacement>,
    /// After; `null` where that is not known.
    pub after: Option<TablePlacement>,
}
