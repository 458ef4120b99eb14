//! What a product tells about its cluster: nodes, copies, isolation in effect, and what else can be
//! seen of it. Queries and words; `cluster.rs` asks them.

mod cockroachdb;
mod postgresql;
mod yugabytedb;

pub use cockroachdb::COCKROACHDB;
pub use postgresql::POSTGRESQL;
pub use yugabytedb::YUGABYTEDB;

use super::Version;

/// The facts of one product.
#[derive(Debug, PartialEq, Eq)]
pub struct Cluster {
    /// Queries for the nodes of the cluster, tried in order until one is answered. Their columns:
    /// id, `host:port` for clients, locality, version, and whether it is alive (`t`, `f`); all but
    /// the address may be NULL. None where there is no cluster.
    pub nodes: &'static [&'static str],
    /// Why there is nothing to be found, where `nodes` is empty; else what to do when none of them
    /// is answered.
    pub without_nodes: &'static str,
    /// Query for the ids of the nodes that are draining; `None` where the product does not tell.
    pub draining: Option<&'static str>,
    /// The path at which a node's HTTP port lists the nodes, as JSON of CockroachDB's kind.
    pub nodes_over_http: Option<&'static str>,
    /// Query that tells which node this connection has reached.
    pub this_node: &'static str,
    /// Query whose answer tells this server, or with a cluster all of its nodes, from every other.
    pub identity: &'static str,
    /// Queries whose answer has the number of copies of the rows: the number behind this
    /// word. Tried in order.
    pub replication: &'static [(&'static str, &'static str)],
    /// Why `replication` may not be reported.
    pub without_replication: &'static str,
    /// Where the parts of tables are; `None` where tables have no parts on several nodes.
    pub placement: Option<PlacementQueries>,
    /// Query for the servers that receive this one's log: a row for each with its `application_name`, its
    /// host, its state, its `sync_state`, bytes of log and microseconds it is behind; all but the state may be
    /// NULL. `None` where there is no such thing.
    pub standbys: Option<&'static str>,
    /// Query for `host:port` of the server that this one receives its log from; no row without one.
    pub primary: Option<&'static str>,
    /// Query for the position in its log, in bytes, of a server that takes writes.
    pub wal_position: Option<&'static str>,
    /// Query for the position up to which a standby has replayed the log, in bytes, and how long ago the last
    /// transaction that it replayed was committed, in microseconds; no row where it is no standby.
    pub wal_replayed: Option<&'static str>,
    /// How sessions are made to read from the nearest replica, or why they cannot be.
    pub follower_reads: Result<FollowerReads, &'static str>,
    /// Queries for the isolation level of the transaction that they are asked in, tried in order.
    pub isolation: &'static [IsolationQuery],
    /// Levels that are not what they are called: what is asked for, what it is.
    pub isolation_is: &'static [(&'static str, &'static str)],
    /// What may be observed, if the role and the server's configuration let it.
    pub views: &'static [View],
    /// What is different here from what a user of PostgreSQL expects of a benchmark, in sentences.
    pub differs: &'static [&'static str],
}

/// How sessions read from the nearest replica, a little stale.
#[derive(Debug, PartialEq, Eq)]
pub struct FollowerReads {
    /// Settings of a session: names and values.
    pub settings: &'static [(&'static str, &'static str)],
    /// The first version that has them.
    pub since: Version,
    pub staleness: &'static str,
}

/// Queries for the parts (ranges, tablets) of a table.
#[derive(Debug, PartialEq, Eq)]
pub struct PlacementQueries {
    /// What the parts are called.
    pub parts: &'static str,
    /// Queries for the parts of a table, tried in order until one is answered: a row for each, with its
    /// id, the node of its leader (NULL: none now) and with commas between those of its replicas. `{table}`
    /// is the table's name, `{literal}` the same as a literal, `{most}` the most rows that are wanted.
    pub of_table: &'static [&'static str],
    /// What it takes when none is answered.
    pub without: &'static str,
    /// Query for the settings of a table's zone, in the last column of the first row.
    pub zone: Option<&'static str>,
    /// Query for the names of the tables that the session sees by their bare names, the first `{most}`.
    pub tables: &'static str,
}

/// A query for the isolation level in effect.
#[derive(Debug, PartialEq, Eq)]
pub struct IsolationQuery {
    pub sql: &'static str,
    /// Levels that its answer may not be believed, and why.
    pub hides: &'static [(&'static str, &'static str)],
}

/// Something that can be observed.
#[derive(Debug, PartialEq, Eq)]
pub struct View {
    pub what: &'static str,
    /// Query that fails or tells `f` when it cannot be observed.
    pub sql: &'static str,
    pub takes: &'static str,
}
