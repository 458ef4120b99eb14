//! PostgreSQL.

use super::{Cluster, Dialect, IsolationQuery, Version, View};

/// PostgreSQL, all supported versions.
pub const POSTGRESQL: Dialect = Dialect {
    name: "postgresql",
    title: "PostgreSQL",
    // COPY FREEZE is older, but only from 14 on it also marks the pages all-visible, which is what
    // spares the vacuum (release notes of 14); pgbench draws the line there too.
    copy_freeze_since: Some(Version::new(14, 0)),
    after_load: &["VACUUM ANALYZE {table}"],
    try_lock: Some("SELECT pg_try_advisory_lock({key})"),
    unlock: Some("SELECT pg_advisory_unlock({key})"),
    takes_no_writes: "SELECT CASE WHEN pg_is_in_recovery() THEN 'the server is a standby' \
        WHEN current_setting('transaction_read_only') = 'on' THEN 'the session is read only' END",
    has_grown: "SELECT pg_relation_size(to_regclass({literal})) > 0",
    truncate: "TRUNCATE {table}",
    vacuum: Some("VACUUM ANALYZE {table}"),
    // Without track_counts the counters stay at zero and say nothing.
    has_changed: Some(
        "SELECT n_dead_tup > 0 OR n_mod_since_analyze > 0 \
            OR current_setting('track_counts') = 'off' \
         FROM pg_stat_all_tables WHERE relid = to_regclass({literal})",
    ),
    checkpoint: Some("CHECKPOINT"),
    lock_timeout: Some("SET lock_timeout = {ms}"),
    cluster: Cluster {
        nodes: &[],
        without_nodes: "PostgreSQL is one server and knows no list of nodes: name each server with \
            --url",
        nodes_over_http: None,
        // Documented: NULL over a Unix socket.
        this_node: "SELECT coalesce(host(inet_server_addr()) || ':' || inet_server_port(), \
            'Unix socket, port ' || current_setting('port'))",
        replication: &[],
        without_replication: "PostgreSQL keeps one copy of its rows; standbys are not counted",
        isolation: &[IsolationQuery {
            sql: "SHOW transaction_isolation",
            hides: &[],
        }],
        // Documented (SET TRANSACTION).
        isolation_is: &[("read uncommitted", "read committed")],
        views: &[
            View {
                what: "what other sessions do and wait for (pg_stat_activity)",
                sql: "SELECT pg_has_role(current_user, 'pg_read_all_stats', 'USAGE')",
                takes: "GRANT pg_read_all_stats (or pg_monitor) to the role",
            },
            View {
                what: "statements by their cost (pg_stat_statements)",
                sql: "SELECT count(*) >= 0 FROM (SELECT 1 FROM pg_stat_statements LIMIT 1) AS s",
                takes: "shared_preload_libraries = 'pg_stat_statements', a restart, and CREATE \
                    EXTENSION pg_stat_statements",
            },
            View {
                what: "reads and writes by kind (pg_stat_io)",
                sql: "SELECT count(*) >= 0 FROM (SELECT 1 FROM pg_stat_io LIMIT 1) AS s",
                takes: "PostgreSQL 16",
            },
            View {
                what: "how long reads and writes take (track_io_timing)",
                sql: "SELECT current_setting('track_io_timing')::bool",
                takes: "track_io_timing = on",
            },
            View {
                what: "WAL written (pg_stat_wal)",
                sql: "SELECT count(*) >= 0 FROM pg_stat_wal",
                takes: "PostgreSQL 14",
            },
            View {
                what: "what is in shared_buffers (pg_buffercache)",
                sql: "SELECT count(*) >= 0 FROM (SELECT 1 FROM pg_buffercache LIMIT 1) AS s",
                takes: "CREATE EXTENSION pg_buffercache, and GRANT pg_monitor to the role",
            },
        ],
        differs: &[],
    },
};
