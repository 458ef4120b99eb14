//! What is known about the server and its cluster. What may not be seen is a gap with its reason and
//! never a failure.

use std::collections::BTreeMap;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use super::{Placement, Replication, RoundTrip};
use crate::Fact;

/// What is known about the server.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct Facts {
    /// The dialect that is spoken to it.
    pub dialect: String,
    /// Whether a dialect is written for this product; else PostgreSQL's is tried.
    pub dialect_known: bool,
    /// What workloads may need and this version does not have, as packs name it: `for-update`.
    pub lacks: Vec<String>,
    pub version: Fact<String>,
    /// Of the product itself, such as `18.1` or `22.2.0`.
    pub server_version: Fact<String>,
    pub server_version_num: Fact<u32>,
    pub fsync: Fact<bool>,
    /// Setting, as this session has it.
    pub synchronous_commit: Fact<String>,
    pub full_page_writes: Fact<bool>,
    /// Whether the server was built with assertions.
    pub debug_assertions: Fact<bool>,
    pub shared_buffers_bytes: Fact<u64>,
    pub max_connections: Fact<u32>,
    /// Setting, as this session has it.
    pub default_transaction_isolation: Fact<String>,
    /// Setting, as this session has it.
    pub read_only: Fact<bool>,
    /// Whether it is a standby (or still recovering).
    pub in_recovery: Fact<bool>,
    /// Size of the database that is measured.
    pub database_size_bytes: Fact<u64>,
    /// Where the data directory is on the server's host; for superusers and pg_read_all_settings.
    pub data_directory: Fact<PathBuf>,
    /// Whether pgdyno runs on the server's host.
    pub same_host: Fact<bool>,
    /// Whether the data directory lies in memory.
    pub data_in_memory: Fact<bool>,
    /// Settings that are not as the server's program has them, with their units.
    pub changed_settings: Fact<BTreeMap<String, String>>,
    /// The nodes of the cluster.
    pub nodes: Fact<Vec<Node>>,
    /// How many copies of the rows the cluster is to keep.
    pub replication_factor: Fact<u32>,
    /// The isolation level in effect in the workload's transactions, read back in one that begins
    /// as they do; several with commas between.
    pub isolation: Fact<String>,
    /// The tables that the workload reads or updates, by name, before the run.
    pub tables: Fact<BTreeMap<String, TableShape>>,
    /// Which node a connection to each endpoint met before the run.
    pub reached: Vec<Reached>,
    /// Where the ranges or tablets of the workload's tables were before the run.
    pub placement: Fact<Placement>,
    /// Standbys of this server before the run, or the server that it follows.
    pub replication: Fact<Replication>,
}

/// What a table is like.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct TableShape {
    /// About how many rows it has; `null` where the server has not counted.
    pub rows_estimate: Option<u64>,
    /// Its keys and indexes: `primary btree (aid)`; `null` without any.
    pub keys: Option<String>,
}

impl Default for Facts {
    fn default() -> Facts {
        Facts::unknown("not recorded")
    }
}

impl Facts {
    /// Nothing is known, for this reason.
    pub fn unknown(why: &str) -> Facts {
        fn gap<T>(why: &str) -> Fact<T> {
            Fact::Unknown(why.to_owned())
        }
        Facts {
            dialect: "postgresql".to_owned(),
            dialect_known: false,
            lacks: Vec::new(),
            version: gap(why),
            server_version: gap(why),
            server_version_num: gap(why),
            fsync: gap(why),
            synchronous_commit: gap(why),
            full_page_writes: gap(why),
            debug_assertions: gap(why),
            shared_buffers_bytes: gap(why),
            max_connections: gap(why),
            default_transaction_isolation: gap(why),
            read_only: gap(why),
            in_recovery: gap(why),
            database_size_bytes: gap(why),
            data_directory: gap(why),
            same_host: gap(why),
            data_in_memory: gap(why),
            changed_settings: gap(why),
            nodes: gap(why),
            replication_factor: gap(why),
            isolation: gap(why),
            tables: gap(why),
            reached: Vec::new(),
            placement: gap(why),
            replication: gap(why),
        }
    }
}

/// A node of a cluster, as the cluster reports it.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
#[cfg_attr(test, derive(ts_rs::TS), ts(rename = "ClusterNode"))]
pub struct Node {
    /// Its number, where nodes have one.
    pub id: Option<String>,
    pub address: String,
    pub locality: Option<String>,
    pub version: Option<String>,
    /// Whether it was alive when asked.
    pub is_live: Option<bool>,
    /// Whether it was draining: it hands its leaders over and takes no new connections.
    pub is_draining: Option<bool>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct Reached {
    pub endpoint: String,
    /// The node, as it calls itself.
    pub node: Fact<String>,
    /// Whether it is a standby; `null` where the product has none, or that is not known.
    #[serde(default)]
    pub is_standby: Option<bool>,
    /// How far away it is, on an idle session.
    #[serde(default)]
    pub round_trip: Fact<RoundTrip>,
    /// The product and its version, such as `PostgreSQL 18.1`.
    #[serde(default)]
    pub version: Fact<String>,
    /// The number that `initdb` gave the server's data; `null` where the product has none, or that is not known.
    #[serde(default)]
    pub system_identifier: Option<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
#[cfg_attr(test, derive(ts_rs::TS))]
pub enum TargetKind {
    Named,
    /// The one that `pgdyno server start` keeps.
    Kept,
    /// Started for this run; it ends with the trial.
    Own,
}
