//! YugabyteDB's cluster. Every fact rests on documentation and articles: nothing here was run on a
//! real server.

use super::{Cluster, FollowerReads, IsolationQuery, PlacementQueries, View};
use crate::dialect::Version;

pub const YUGABYTEDB: Cluster = Cluster {
    // Documented (smart drivers): an address that is empty is none.
    nodes: &[
        "SELECT NULL, host || ':' || port, cloud || '.' || region || '.' || zone, NULL, \
        NULL FROM yb_servers() ORDER BY host, port",
    ],
    // Assumed.
    without_nodes: "yb_servers() gives no answer",
    // Assumed: no documentation of a state like it in SQL was found.
    draining: None,
    // Assumed: no page of its HTTP ports is of this kind.
    nodes_over_http: None,
    // Inherited from PostgreSQL.
    this_node: "SELECT coalesce(host(inet_server_addr()) || ':' || inet_server_port(), \
        'Unix socket, port ' || current_setting('port'))",
    // Documented (yb_servers): the UUIDs of all nodes.
    identity: "SELECT string_agg(uuid::text, ' ' ORDER BY uuid) FROM yb_servers()",
    // Documented (yb-admin): the only place that tells.
    replication: &[],
    // Documented (yb-admin).
    without_replication: "YugabyteDB does not show it in SQL: yb-admin get_universe_config, or \
        the HTTP port of a master",
    placement: Some(PlacementQueries {
        // Documented (yb_tablet_metadata).
        parts: "tablets",
        // Documented (yb_tablet_metadata, 2025.2): leader and replicas as `host:port`, the cluster over.
        // yb_local_tablets (2024.1) has the tablets of one node and no leader.
        of_table: &[
            "SELECT tablet_id, leader, array_to_string(replicas, ',') FROM yb_tablet_metadata \
            WHERE oid = to_regclass({literal})::oid AND db_name = current_database() LIMIT {most}",
        ],
        // Documented (yb_tablet_metadata, 2025.2).
        without: "yb_tablet_metadata takes YugabyteDB 2025.2",
        // Assumed: tablespaces place rows; no statement shows it by table.
        zone: None,
        // Inherited from PostgreSQL.
        tables: "SELECT tablename FROM pg_catalog.pg_tables WHERE schemaname = current_schema() \
            ORDER BY tablename LIMIT {most}",
    }),
    // Assumed: replicas are of tablets, not of servers.
    standbys: None,
    // Assumed: as above.
    primary: None,
    // Assumed: as above.
    wal_position: None,
    // Assumed: as above.
    wal_replayed: None,
    // Documented (follower reads): reads of a read-only transaction with yb_read_from_followers.
    follower_reads: Ok(FollowerReads {
        settings: &[
            ("yb_read_from_followers", "on"),
            ("default_transaction_read_only", "on"),
        ],
        // Assumed: every release that pgdyno may meet.
        since: Version::new(2, 0),
        // Documented (yb_follower_read_staleness_ms).
        staleness: "30 s unless yb_follower_read_staleness_ms says otherwise",
    }),
    isolation: &[
        // Documented (isolation levels): what the transaction really runs with.
        IsolationQuery {
            sql: "SELECT yb_get_effective_transaction_isolation_level()",
            hides: &[],
        },
        // Documented: the same in releases before the function, deprecated since.
        IsolationQuery {
            sql: "SHOW yb_effective_transaction_isolation_level",
            hides: &[],
        },
        IsolationQuery {
            sql: "SHOW transaction_isolation",
            hides: &[
                ("read committed", READ_COMMITTED),
                ("read uncommitted", READ_COMMITTED),
            ],
        },
    ],
    // Documented (isolation levels).
    isolation_is: &[("read uncommitted", "read committed")],
    views: &[
        View {
            what: "what sessions waited for (yb_active_session_history)",
            sql: "SELECT count(*) >= 0 FROM (SELECT 1 FROM yb_active_session_history LIMIT 1) \
                AS s",
            takes: "YugabyteDB 2024.2",
        },
        View {
            what: "statements by their cost (pg_stat_statements)",
            sql: "SELECT count(*) >= 0 FROM (SELECT 1 FROM pg_stat_statements LIMIT 1) AS s",
            takes: "CREATE EXTENSION pg_stat_statements",
        },
        View {
            what: "leaders and replicas of tablets (yb_tablet_metadata)",
            sql: "SELECT count(*) >= 0 FROM (SELECT 1 FROM yb_tablet_metadata LIMIT 1) AS s",
            takes: "YugabyteDB 2025.2",
        },
        View {
            what: "where tablets are (yb_local_tablets)",
            sql: "SELECT count(*) >= 0 FROM (SELECT 1 FROM yb_local_tablets LIMIT 1) AS s",
            takes: "YugabyteDB 2024.2",
        },
    ],
    differs: &[
        "conflicts end a transaction with SQLSTATE 40001 or 40P01: retry it",
        "a list of nodes is used only when it is given (several --url, or --discover): the \
            server does not spread connections",
    ],
};

const READ_COMMITTED: &str = "it runs as REPEATABLE READ unless the servers' flag \
    yb_enable_read_committed_isolation is on, which this version does not show in SQL";
