//! YugabyteDB's cluster. Every fact rests on documentation and articles: nothing here was run on a
//! real server.

use super::{Cluster, IsolationQuery, View};

/// The facts of YugabyteDB.
pub const YUGABYTEDB: Cluster = Cluster {
    // Documented (smart drivers): an address that is empty is none.
    nodes: &[
        "SELECT NULL, host || ':' || port, cloud || '.' || region || '.' || zone, NULL, \
        NULL FROM yb_servers() ORDER BY host, port",
    ],
    // Assumed.
    without_nodes: "yb_servers() gives no answer",
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
            what: "where tablets lie (yb_local_tablets)",
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

/// Documented (isolation levels).
const READ_COMMITTED: &str = "it runs as REPEATABLE READ unless the servers' flag \
    yb_enable_read_committed_isolation is on, which this version does not show in SQL";
