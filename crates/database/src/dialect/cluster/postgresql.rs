//! PostgreSQL, one server without a cluster. Facts are documented in its manual unless their comment
//! says otherwise.

use super::{Cluster, IsolationQuery, View};

pub const POSTGRESQL: Cluster = Cluster {
    nodes: &[],
    without_nodes: "PostgreSQL has no list of cluster nodes: give each server with --url",
    draining: None,
    nodes_over_http: None,
    // Documented: NULL over a Unix socket.
    this_node: "SELECT coalesce(host(inet_server_addr()) || ':' || inet_server_port(), \
        'Unix socket, port ' || current_setting('port'))",
    // Not the system identifier alone: a standby or a copy of the files has the same, and not every
    // role may ask for it. Whole microseconds: the form of a time is the session's.
    identity: "SELECT (extract(epoch FROM pg_postmaster_start_time()) * 1000000)::bigint \
        || ' ' || current_setting('port')",
    replication: &[],
    without_replication: "PostgreSQL keeps one copy of its rows; standbys are not counted",
    placement: None,
    // Documented (pg_stat_replication): rows are seen by all, their content by members of pg_read_all_stats.
    standbys: Some(
        "SELECT application_name, host(client_addr), coalesce(state, 'hidden from this role'), \
            sync_state, pg_wal_lsn_diff(CASE WHEN pg_is_in_recovery() \
            THEN pg_last_wal_receive_lsn() ELSE pg_current_wal_lsn() END, replay_lsn)::bigint, \
            (extract(epoch FROM replay_lag) * 1000000)::bigint \
            FROM pg_stat_replication ORDER BY application_name, client_addr, pid LIMIT 64",
    ),
    // Documented (pg_stat_wal_receiver, since 11).
    primary: Some("SELECT sender_host || ':' || sender_port FROM pg_stat_wal_receiver"),
    // Documented (System Administration Functions, since 10), and measured (docs/standbys.md).
    wal_position: Some("SELECT pg_wal_lsn_diff(pg_current_wal_lsn(), '0/0')::bigint"),
    // Documented (as above), and measured. Of a standby that was promoted there is nothing: its position stays
    // where it was.
    wal_replayed: Some(
        "SELECT pg_wal_lsn_diff(pg_last_wal_replay_lsn(), '0/0')::bigint, \
            (extract(epoch FROM clock_timestamp() - pg_last_xact_replay_timestamp()) * 1000000)::bigint \
            WHERE pg_is_in_recovery()",
    ),
    follower_reads: Err("PostgreSQL reads where clients are connected: give a standby with --url"),
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
};
