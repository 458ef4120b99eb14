//! PostgreSQL.

use super::{
    AtStart, Dialect, Disturbances, Feature, Filling, Lack, TableFacts, Version, cluster, explain,
    metrics, probes, processes, promises, retries, server_views, storage,
};

const SESSION_LIMITS: &str = "\
WITH me AS (SELECT oid, rolsuper, rolconnlimit FROM pg_catalog.pg_roles WHERE rolname = session_user), \
there AS (SELECT usesysid, datid FROM pg_catalog.pg_stat_activity \
WHERE usesysid IS NOT NULL AND datid IS NOT NULL) \
SELECT 'max_connections', pg_catalog.current_setting('max_connections')::int \
- CASE WHEN rolsuper THEN 0 ELSE pg_catalog.current_setting('superuser_reserved_connections')::int \
+ coalesce(pg_catalog.current_setting('reserved_connections', true)::int, 0) END \
- (SELECT count(*) FROM there) FROM me \
UNION ALL SELECT 'CONNECTION LIMIT of the role', rolconnlimit \
- (SELECT count(*) FROM there WHERE usesysid = me.oid) FROM me WHERE rolconnlimit >= 0 AND NOT rolsuper \
UNION ALL SELECT 'CONNECTION LIMIT of the database', datconnlimit \
- (SELECT count(*) FROM there WHERE datid = d.oid) FROM pg_catalog.pg_database d, me \
WHERE datname = pg_catalog.current_database() AND datconnlimit >= 0 AND NOT rolsuper";

pub const POSTGRESQL: Dialect = Dialect {
    name: "postgresql",
    title: "PostgreSQL",
    // Measured: the tests run on 13 to 18.
    tried_until: Some(Version::new(18, 0)),
    counts_database: None,
    tables: TableFacts {
        transactional_ddl: true,
        has_fillfactor: true,
        keys_in_create: false,
        key_order: "",
        no_partitions: None,
        no_tablespaces: None,
        no_unlogged: None,
        integer_division: "/",
        foreign_keys_without_index_since: None,
        foreign_keys_validated_since: None,
        // COPY FREEZE is older, but only from 14 on it also marks the pages all-visible, which is
        // what spares the vacuum (release notes of 14); pgbench draws the line there too.
        copy_freeze_since: Some(Version::new(14, 0)),
        filling: Filling::Whole,
        load_settings: &[],
        splits_need: None,
    },
    find_tables: "SELECT t.name, obj_description(c.oid, 'pg_class'), a.attname \
        FROM unnest(ARRAY[{names}]) AS t(name) \
        JOIN pg_class c ON c.oid = to_regclass(t.name) \
        JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped \
        ORDER BY t.name, a.attnum",
    find_table: "SELECT to_regclass({literal})::text",
    // Documented: reltuples is an estimate, -1 (before 14: 0) before the first ANALYZE.
    table_shape: Some(
        "SELECT CASE WHEN c.reltuples > 0 THEN c.reltuples::bigint END, \
         (SELECT string_agg(concat( \
            CASE WHEN i.indisprimary THEN 'primary ' WHEN i.indisunique THEN 'unique ' END, \
            regexp_replace(pg_get_indexdef(i.indexrelid), '^.*? USING ', '')), '; ' \
            ORDER BY i.indisprimary DESC, pg_get_indexdef(i.indexrelid)) \
          FROM pg_index i WHERE i.indrelid = c.oid) \
         FROM pg_class c WHERE c.oid = to_regclass({literal})",
    ),
    after_load: &["VACUUM ANALYZE {table}"],
    after_settled_load: &["VACUUM (FREEZE, ANALYZE) {table}"],
    // Documented: ctid is the block's number and the row's place in it, from 1.
    rows_and_blocks: Some(
        "SELECT count(*) FILTER (WHERE ctid::text NOT LIKE '%,1)'), \
            pg_relation_size(to_regclass({literal})) / current_setting('block_size')::bigint \
         FROM {table}",
    ),
    try_lock: Some("SELECT pg_try_advisory_lock({key})"),
    unlock: Some("SELECT pg_advisory_unlock({key})"),
    takes_no_writes: "SELECT CASE WHEN pg_is_in_recovery() THEN 'the server is a standby' \
        WHEN current_setting('transaction_read_only') = 'on' THEN 'the session is read only' END",
    is_standby: Some("SELECT pg_is_in_recovery()"),
    system_identifier: Some("SELECT system_identifier FROM pg_catalog.pg_control_system()"),
    database_size: Some("SELECT pg_database_size(current_database())"),
    has_postgresqls_settings: true,
    changed_settings: "SELECT name, setting, unit FROM pg_settings \
        WHERE setting IS DISTINCT FROM boot_val AND source <> 'client' \
        AND category NOT LIKE 'File Locations%' ORDER BY name",
    has_grown: "SELECT pg_relation_size(to_regclass({literal})) > 0",
    truncate: "TRUNCATE {table}",
    vacuum: Some("VACUUM ANALYZE {table}"),
    // Documented: VACUUM, from 12 on.
    vacuum_unless_locked: Some("VACUUM (ANALYZE, SKIP_LOCKED) {table}"),
    // Without track_counts the counters stay at zero and say nothing.
    has_changed: Some(
        "SELECT n_dead_tup > 0 OR n_mod_since_analyze > 0 \
            OR current_setting('track_counts') = 'off' \
         FROM pg_stat_all_tables WHERE relid = to_regclass({literal})",
    ),
    // Documented: monitoring statistics, release notes of 15. Measured on 15: without it a session
    // that stays connected keeps the counts of its last second, mostly, to itself.
    flush_statistics: Some(("SELECT pg_stat_force_next_flush()", Version::new(15, 0))),
    checkpoint: Some("CHECKPOINT"),
    disturbances: Disturbances::All,
    settings_at_start: AtStart::Options,
    lock_timeout: Some("lock_timeout"),
    // Documented: milliseconds until what was sent by TCP must have arrived (since 12), seconds where
    // nothing is sent, and how often a session that executes something looks (since 14). The system's own
    // are a quarter of an hour, two hours, and never.
    gives_up_lost_clients: &[
        ("tcp_user_timeout", "20000"),
        ("tcp_keepalives_idle", "5"),
        ("tcp_keepalives_interval", "5"),
        ("tcp_keepalives_count", "3"),
        ("client_connection_check_interval", "5000"),
    ],
    // Documented: system information functions, pg_blocking_pids, from 9.6 on.
    waits_for: Some(
        "SELECT 'a lock' || coalesce(' on ' || (SELECT relation::regclass FROM pg_locks \
                WHERE pid = {pid} AND NOT granted AND relation IS NOT NULL LIMIT 1), '') \
            || ' held by pid ' || array_to_string(holders, ', ') \
         FROM pg_blocking_pids({pid}) AS holders WHERE cardinality(holders) > 0",
    ),
    session_limits: Some(SESSION_LIMITS),
    lacks: &[
        // Documented: release notes of 11, CREATE PROCEDURE and transaction control in it.
        Lack {
            feature: Feature::Procedures,
            until: Some(Version::new(11, 0)),
            why: "procedures came with PostgreSQL 11",
        },
        // Documented: release notes of 9.1.
        Lack {
            feature: Feature::WritingWith,
            until: Some(Version::new(9, 1)),
            why: "it came with PostgreSQL 9.1",
        },
    ],
    cluster: cluster::POSTGRESQL,
    probes: probes::POSTGRESQL,
    server_views: server_views::POSTGRESQL,
    retries: retries::POSTGRESQL,
    storage: storage::POSTGRESQL,
    explain: explain::POSTGRESQL,
    processes: processes::POSTGRESQL,
    metrics: metrics::POSTGRESQL,
    // Documented: each of them says where.
    promises: promises::POSTGRESQL,
};
