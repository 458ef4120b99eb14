//! What a product tells about its cluster: nodes, copies, isolation in effect, and what else can be
//! seen of it. Queries and words; `cluster.rs` asks them.

mod cockroachdb;
mod postgresql;
mod yugabytedb;

pub use cockroachdb::COCKROACHDB;
pub use postgresql::POSTGRESQL;
pub use yugabytedb::YUGABYTEDB;

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
    /// The path at which a node's HTTP port lists the nodes, as JSON of CockroachDB's kind.
    pub nodes_over_http: Option<&'static str>,
    /// Query that tells which node this connection has reached.
    pub this_node: &'static str,
    /// Query whose answer tells this server, or with a cluster all of its nodes, from every other.
    pub identity: &'static str,
    /// Queries in whose answer stands how many copies of the rows there are: the number behind this
    /// word. Tried in order.
    pub replication: &'static [(&'static str, &'static str)],
    /// Why `replication` may not be told.
    pub without_replication: &'static str,
    /// Queries for the isolation level of the transaction that they are asked in, tried in order.
    pub isolation: &'static [IsolationQuery],
    /// Levels that are not what they are called: what is asked for, what it is.
    pub isolation_is: &'static [(&'static str, &'static str)],
    /// What may be observed, if the role and the server's configuration let it.
    pub views: &'static [View],
    /// What is different here from what a user of PostgreSQL expects of a benchmark, in sentences.
    pub differs: &'static [&'static str],
}

/// A query for the isolation level in effect.
#[derive(Debug, PartialEq, Eq)]
pub struct IsolationQuery {
    /// The query.
    pub sql: &'static str,
    /// Levels that its answer may not be believed, and why.
    pub hides: &'static [(&'static str, &'static str)],
}

/// Something that can be observed.
#[derive(Debug, PartialEq, Eq)]
pub struct View {
    /// What, for people.
    pub what: &'static str,
    /// Query that fails or tells `f` when it cannot be observed.
    pub sql: &'static str,
    /// What it takes.
    pub takes: &'static str,
}
