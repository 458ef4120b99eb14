//! CockroachDB. "Captured" facts come from a real server of February 2019
//! (v19.1.0-alpha.20190219); "documented" ones from CockroachDB's own documentation of the version
//! named.

use super::{
    AtStart, Dialect, Feature, Filling, Lack, LoadSetting, SplitSetting, TableFacts, Version,
    cluster, disturbances, explain, metrics, probes, processes, promises, retries, server_views,
    storage,
};

pub const COCKROACHDB: Dialect = Dialect {
    name: "cockroachdb",
    title: "CockroachDB",
    // Captured: v19.1.0-alpha.20190219.
    tried_until: Some(Version::new(19, 1)),
    // Captured: a session begins in a database that does not exist, and 19.1 answers questions about
    // its tables with an internal error.
    counts_database: Some(
        "SELECT count(*) FROM [SHOW DATABASES] WHERE database_name = current_database()",
    ),
    tables: TableFacts {
        // Captured: a name that was dropped in a transaction cannot be created again in it.
        // Documented (autocommit_before_ddl, v26.1): such a statement commits what came before it.
        transactional_ddl: false,
        // Captured: WITH (fillfactor=…) is a syntax error. Articles, 21.2 and 22.2: a notice that it
        // is ignored.
        has_fillfactor: false,
        // Captured: ADD PRIMARY KEY fails, as each table has a key from the start. Documented (ALTER
        // TABLE, v20.1): it rewrites the table, which takes as long as the load.
        keys_in_create: true,
        // Keys are ranges, in ascending order.
        key_order: "",
        // Documented (v26.2): partitions subdivide one table by PARTITION BY in its own definition;
        // CREATE TABLE … PARTITION OF, which pgbench sends, is a syntax error (captured).
        no_partitions: Some(
            "it has no CREATE TABLE … PARTITION OF; it splits every table into ranges",
        ),
        // Documented (PostgreSQL compatibility, v26.2): there is no such notion.
        no_tablespaces: Some("not supported; zone configurations place rows"),
        // Captured: a syntax error. Documented later: taken with a notice, and logged all the same.
        no_unlogged: Some("every table of it is logged and replicated"),
        // Captured: with `/`, a decimal comes out and step G fails. Documented (v26.2): so it is still.
        integer_division: "//",
        // Captured: "foreign key requires an existing index". Documented: not since 20.2.
        foreign_keys_without_index_since: Some(Version::new(20, 2)),
        // Captured (19.1: convalidated is false after ALTER TABLE); documented (release notes of 19.2).
        foreign_keys_validated_since: Some(Version::new(19, 2)),
        // Documented (COPY, v24.3): FREEZE is not supported.
        copy_freeze_since: None,
        // Measured: with 19.1 batches of 1,000 to 100,000 rows take the same time, as the server
        // itself commits every 100 rows outside a transaction (documented: before 22.2). Later it
        // commits at the end of each COPY, and large transactions are slow.
        filling: Filling::Batches { rows: 10_000 },
        load_settings: &[LoadSetting {
            name: "copy_transaction_quality_of_service",
            value: "regular",
            // Documented (session variables, v23.1): introduced with the default `background`.
            since: Version::new(23, 1),
            keeps_transactions: true,
            why: "COPY does not wait for other work",
        }],
        // Captured: "splits would be immediately discarded by merge queue; disable the merge queue first"
        // for each SPLIT AT, and its own `workload` does so and leaves it so. Documented (release notes of
        // 19.2): splits made by hand are not merged again.
        splits_need: Some(SplitSetting {
            name: "kv.range_merge.queue_enabled",
            value: "false",
            query: "SELECT value FROM [SHOW ALL CLUSTER SETTINGS] \
                WHERE variable = 'kv.range_merge.queue_enabled'",
            set: "SET CLUSTER SETTING kv.range_merge.queue_enabled = false",
            until: Version::new(19, 2),
            why: "before 19.2 the server merges what was split, or refuses to split",
        }),
    },
    // Captured: 19.1 knows no to_regclass; obj_description with two arguments gives nothing, and with
    // one it cannot be asked in a join. A table without a key has a hidden column for one.
    find_tables: "SELECT c.table_name, d.description, c.column_name \
        FROM information_schema.columns c \
        JOIN pg_namespace n ON n.nspname = c.table_schema \
        JOIN pg_class k ON k.relname = c.table_name AND k.relnamespace = n.oid \
        LEFT JOIN pg_description d ON d.objoid = k.oid AND d.objsubid = 0 \
        WHERE c.table_catalog = current_database() AND c.table_schema = current_schema() \
        AND c.table_name IN ({names}) AND c.is_hidden = 'NO' \
        ORDER BY c.table_name, c.ordinal_position",
    // Captured.
    find_table: "SELECT table_name FROM information_schema.tables \
        WHERE table_catalog = current_database() AND table_schema = current_schema() \
        AND table_name = {literal}",
    // Neither were its statistics captured in a form to be read, nor its indexes.
    table_shape: None,
    // Captured: neither VACUUM nor ANALYZE is known to 19.1. The server makes statistics by itself,
    // at a time of its own; made now, they do not come in the middle of a run.
    after_load: &["CREATE STATISTICS pgdyno FROM {table}"],
    // Captured: as above.
    after_settled_load: &["CREATE STATISTICS pgdyno FROM {table}"],
    // Documented: rows are entries of a store of keys and values.
    rows_and_blocks: None,
    // Captured: pg_try_advisory_lock answers true even if another session holds the lock, so it is none.
    try_lock: None,
    // Captured: as above.
    unlock: None,
    // Captured.
    takes_no_writes: "SELECT CASE default_transaction_read_only WHEN 'on' \
        THEN 'the session is read only' END FROM [SHOW default_transaction_read_only]",
    // There are none: every node takes writes.
    is_standby: None,
    // Assumed: it has no pg_control_system().
    system_identifier: None,
    // Captured: pg_database_size is no function of 19.1.
    database_size: None,
    // Captured: pg_settings has the variables of the session, and of PostgreSQL's only those that
    // clients ask for.
    has_postgresqls_settings: false,
    // Captured: what SET CLUSTER SETTING has ever set, for members of admin alone. What is secret is
    // not even asked for.
    changed_settings: "SELECT name, value, NULL FROM system.settings \
        WHERE name NOT IN ('version', 'cluster.secret', 'enterprise.license') ORDER BY name",
    // There are no files whose size could be asked.
    has_grown: "SELECT CASE WHEN EXISTS (SELECT 1 FROM {table}) THEN 't' ELSE 'f' END",
    // Captured.
    truncate: "TRUNCATE {table}",
    // Captured: a syntax error.
    vacuum: None,
    // Captured: a syntax error.
    vacuum_unless_locked: None,
    // Assumed: 19.1 has no view that counts changes of a table.
    has_changed: None,
    // Its counters are the nodes' metrics, not PostgreSQL's views.
    flush_statistics: None,
    // Captured: a syntax error.
    checkpoint: None,
    // Assumed: what is done by statements and signals is PostgreSQL's own.
    disturbances: disturbances::COCKROACHDB,
    // Captured: a setting's name is a start-up parameter; `options` is ignored by 19.1.
    settings_at_start: AtStart::Parameters,
    // Assumed: 19.1 has none; the session variables of v26.1 have one, which was never tried.
    lock_timeout: None,
    // No setting of sessions for it is documented.
    gives_up_lost_clients: &[],
    // Sessions have no processes.
    waits_for: None,
    // Assumed: its views do not say how many sessions it takes; clients are what limits them.
    session_limits: None,
    lacks: &[
        // Captured: "unimplemented at or near "update"" in 19.1. Documented (SELECT FOR UPDATE,
        // v20.1): new in 20.1.
        Lack {
            feature: Feature::ForUpdate,
            until: Some(Version::new(20, 1)),
            why: "it came with CockroachDB 20.1",
        },
        // Captured: "unimplemented at or near "where"" in 19.1. Documented (release notes): new in 19.2.
        Lack {
            feature: Feature::UpdateFrom,
            until: Some(Version::new(19, 2)),
            why: "it came with CockroachDB 19.2",
        },
        // Documented (SELECT FOR UPDATE): SKIP LOCKED is no longer among what is not supported from 22.2 on.
        Lack {
            feature: Feature::SkipLocked,
            until: Some(Version::new(22, 2)),
            why: "SKIP LOCKED came with CockroachDB 22.2",
        },
        // Captured: CREATE PROCEDURE is a syntax error in 19.1. Documented: new in 23.2.
        Lack {
            feature: Feature::Procedures,
            until: Some(Version::new(23, 2)),
            why: "procedures came with CockroachDB 23.2",
        },
        // Documented (known limitations of PL/pgSQL, v25.4; cockroachdb/cockroach issue 111446).
        Lack {
            feature: Feature::Procedures,
            until: None,
            why: "EXCEPTION catches no serialization failure there, so that only the client can \
                try again",
        },
    ],
    cluster: cluster::COCKROACHDB,
    probes: probes::COCKROACHDB,
    server_views: server_views::COCKROACHDB,
    retries: retries::COCKROACHDB,
    storage: storage::COCKROACHDB,
    explain: explain::COCKROACHDB,
    processes: processes::COCKROACHDB,
    metrics: metrics::COCKROACHDB,
    // Documented: each of them says where.
    promises: promises::COCKROACHDB,
};
