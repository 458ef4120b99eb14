//! CockroachDB's cluster. "Captured" facts come from a real server of February 2019
//! (v19.1.0-alpha.20190219); "documented" ones from CockroachDB's own documentation of the version
//! named.

use super::{Cluster, FollowerReads, IsolationQuery, PlacementQueries, View};
use crate::dialect::Version;

pub const COCKROACHDB: Cluster = Cluster {
    nodes: &[
        // Documented (crdb_internal, v20.1 and later): clients may have an address of their own.
        "SELECT node_id::STRING, advertise_sql_address, locality::STRING, build_tag, \
            CASE WHEN is_live THEN 't' ELSE 'f' END \
            FROM crdb_internal.gossip_nodes ORDER BY node_id",
        // Captured (19.1, probe and cluster-replication): one address for everything.
        "SELECT node_id::STRING, address, locality::STRING, build_tag, \
            CASE WHEN is_live THEN 't' ELSE 'f' END \
            FROM crdb_internal.gossip_nodes ORDER BY node_id",
    ],
    // Documented (crdb-internal, v25.4 and v26.1).
    without_nodes: "this role cannot read crdb_internal.gossip_nodes (from 26.1 on \
                    allow_unsafe_internals must be on): use a node's HTTP port, \
                    --discover=http://HOST:8080",
    // Captured (19.1). Documented (crdb_internal): all node liveness that this node heard of by gossip.
    draining: Some("SELECT node_id::STRING FROM crdb_internal.gossip_liveness WHERE draining"),
    // Captured (19.1, status-nodes-before.json).
    nodes_over_http: Some("/_status/nodes"),
    // Captured (19.1, psql-basic.txt); documented as the gateway of the session.
    this_node: "SHOW node_id",
    // Documented (functions and operators, system info functions).
    identity: "SELECT crdb_internal.cluster_id()::STRING",
    // Documented (SHOW ZONE CONFIGURATIONS); where the database has none of its own, that of
    // all ranges counts.
    replication: &[
        (
            "SHOW ZONE CONFIGURATION FOR DATABASE {database}",
            "num_replicas",
        ),
        ("SHOW ZONE CONFIGURATION FOR RANGE default", "num_replicas"),
    ],
    // Documented (SHOW ZONE CONFIGURATIONS).
    without_replication: "zone configurations may be seen by roles with the privilege \
        ZONECONFIG, or by admins",
    placement: Some(PlacementQueries {
        // Captured (19.1): what SHOW EXPERIMENTAL_RANGES and its successors call them.
        parts: "ranges",
        of_table: &[
            // Documented (SHOW RANGES, v23.2; on request v23.1): the lease holder is one of the details.
            "SELECT range_id::STRING, lease_holder::STRING, array_to_string(replicas, ',') \
                FROM [SHOW RANGES FROM TABLE {table} WITH DETAILS] LIMIT {most}",
            // Documented (SHOW RANGES, v20.1 to v22.2): the lease holder is always there.
            "SELECT range_id::STRING, lease_holder::STRING, array_to_string(replicas, ',') \
                FROM [SHOW RANGES FROM TABLE {table}] LIMIT {most}",
            // Captured (19.1): SHOW RANGES is a syntax error there.
            "SELECT range_id::STRING, lease_holder::STRING, array_to_string(replicas, ',') \
                FROM [SHOW EXPERIMENTAL_RANGES FROM TABLE {table}] LIMIT {most}",
        ],
        // Documented (SHOW RANGES, v22.1).
        without: "ranges may be seen by admins, from 22.1 on also with the privilege ZONECONFIG",
        // Captured (19.1): the zone's name and its settings, those of all ranges where it has none of its own.
        zone: Some("SHOW ZONE CONFIGURATION FOR TABLE {table}"),
        // Captured (19.1).
        tables: "SELECT tablename FROM pg_catalog.pg_tables WHERE schemaname = current_schema() \
            ORDER BY tablename LIMIT {most}",
    }),
    // Assumed: replicas are of ranges, not of servers.
    standbys: None,
    // Assumed: as above.
    primary: None,
    // Assumed: as above.
    wal_position: None,
    // Assumed: as above.
    wal_replayed: None,
    // Documented (session variables, follower reads): read-only transactions use
    // follower_read_timestamp() then. Captured (19.1): that setting is not known there, and a build without
    // the CCL part has no experimental_follower_read_timestamp(). Assumed: since 22.1.
    follower_reads: Ok(FollowerReads {
        settings: &[
            ("default_transaction_use_follower_reads", "on"),
            ("default_transaction_read_only", "on"),
        ],
        since: Version::new(22, 1),
        // Documented (follower reads, v20.1 and later).
        staleness: "about 4.8 s",
    }),
    // Captured (19.1): `serializable`. Documented (transactions, read-committed): a level that
    // is not enabled runs as SERIALIZABLE, and the transaction says so.
    isolation: &[IsolationQuery {
        sql: "SHOW transaction_isolation",
        hides: &[],
    }],
    // Assumed: levels are called what they are.
    isolation_is: &[],
    views: &[
        View {
            what: "nodes and their addresses (crdb_internal.gossip_nodes)",
            sql: "SELECT count(*) >= 0 FROM crdb_internal.gossip_nodes",
            takes: "allow_unsafe_internals = on from 26.1 on",
        },
        View {
            what: "the server's own counters, restarts among them (crdb_internal.node_metrics)",
            sql: "SELECT count(*) > 0 FROM crdb_internal.node_metrics",
            takes: "allow_unsafe_internals = on from 26.1 on, or a node's HTTP port: \
                /_status/vars",
        },
        View {
            what: "statements by their cost (crdb_internal.node_statement_statistics)",
            sql: "SELECT count(*) >= 0 FROM crdb_internal.node_statement_statistics",
            takes: "the role admin, or VIEWACTIVITY",
        },
        View {
            what: "who waited for whom (crdb_internal.transaction_contention_events)",
            sql: "SELECT count(*) >= 0 FROM (SELECT 1 FROM \
                crdb_internal.transaction_contention_events LIMIT 1) AS s",
            takes: "CockroachDB 22.1, and VIEWACTIVITY",
        },
    ],
    differs: &[
        "conflicts end a transaction with SQLSTATE 40001, often only at COMMIT: retry it",
        "PostgreSQL's settings on durability (fsync and its kind) mean nothing here and are \
            not judged",
    ],
};
