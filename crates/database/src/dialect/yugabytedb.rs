//! YugabyteDB's YSQL. Every fact rests on documentation and articles: nothing here was run on a real
//! server.

use super::{
    AtStart, Dialect, Filling, LoadSetting, TableFacts, Version, cluster, disturbances, explain,
    metrics, probes, processes, promises, retries, server_views, storage,
};

pub const YUGABYTEDB: Dialect = Dialect {
    name: "yugabytedb",
    title: "YugabyteDB",
    // Assumed: none was ever there to be asked.
    tried_until: None,
    // Inherited from PostgreSQL.
    counts_database: None,
    tables: TableFacts {
        // Documented (transactional DDL): each such statement is a transaction of its own, unless
        // ysql_yb_ddl_transaction_block_enabled is on.
        transactional_ddl: false,
        // Documented: "storage parameter fillfactor is unsupported, ignoring".
        has_fillfactor: false,
        // Documented: ADD PRIMARY KEY rewrites the table, and took two thirds of pgbench's whole
        // initialisation in an article on 2025.2; before, it was impossible.
        keys_in_create: true,
        // Documented: HASH is the default, unless yb_use_hash_splitting_by_default is off. Stated,
        // it is the same everywhere.
        key_order: " hash",
        // Inherited from PostgreSQL.
        no_partitions: None,
        // Documented (CREATE TABLESPACE): they place rows.
        no_tablespaces: None,
        // Documented (CREATE TABLE): taken and ignored.
        no_unlogged: Some("it takes UNLOGGED and ignores it"),
        // Inherited from PostgreSQL.
        integer_division: "/",
        // Inherited from PostgreSQL: none was ever needed.
        foreign_keys_without_index_since: None,
        // Assumed: as in PostgreSQL, an added key is validated.
        foreign_keys_validated_since: None,
        // Documented (2025.2): COPY FREEZE is ignored with a notice.
        copy_freeze_since: None,
        // Documented (COPY): ROWS_PER_TRANSACTION, 20,000 unless set since 2.14; inside BEGIN it is
        // ignored with a warning.
        filling: Filling::Committing { rows: 20_000 },
        load_settings: &[LoadSetting {
            name: "yb_disable_transactional_writes",
            value: "on",
            // Documented: a setting since 2.8.
            since: Version::new(2, 8),
            // Articles: that a transaction is all or nothing is what is given up for it.
            keeps_transactions: false,
            why: "rows are written once, without provisional records",
        }],
        // Documented (CREATE TABLE, SPLIT INTO and SPLIT AT): tablets are made with the table.
        splits_need: None,
    },
    // Inherited from PostgreSQL.
    find_tables: super::POSTGRESQL.find_tables,
    // Inherited from PostgreSQL.
    find_table: super::POSTGRESQL.find_table,
    // Inherited from PostgreSQL.
    table_shape: super::POSTGRESQL.table_shape,
    // Documented: VACUUM does nothing and says so; ANALYZE is what counts rows.
    after_load: &["ANALYZE {table}"],
    // Documented: as above.
    after_settled_load: &["ANALYZE {table}"],
    // Documented: rows are entries of a store of keys and values.
    rows_and_blocks: None,
    // Documented (advisory locks): there from 2025.1 on; before, asking is an error.
    try_lock: None,
    // Documented: as above.
    unlock: None,
    // Inherited from PostgreSQL.
    takes_no_writes: "SELECT CASE WHEN current_setting('transaction_read_only') = 'on' \
        THEN 'the session is read only' END",
    // Inherited from PostgreSQL; replication is none of PostgreSQL's, so the answer is no.
    is_standby: super::POSTGRESQL.is_standby,
    // Assumed: each node has one of its own, which is none of the cluster's.
    system_identifier: None,
    // pg_database_size knows nothing of what lies in DocDB.
    database_size: None,
    // Inherited from PostgreSQL.
    has_postgresqls_settings: true,
    // Inherited from PostgreSQL.
    changed_settings: super::POSTGRESQL.changed_settings,
    // pg_relation_size knows nothing of what lies in DocDB.
    has_grown: "SELECT EXISTS (SELECT 1 FROM {table})",
    // Documented: since 1.2.
    truncate: "TRUNCATE {table}",
    // Documented: VACUUM does nothing.
    vacuum: None,
    // Documented: VACUUM does nothing.
    vacuum_unless_locked: None,
    // Assumed: what counts changes is PostgreSQL's, and rows are in DocDB.
    has_changed: None,
    // Its counters are the nodes' metrics, not PostgreSQL's views.
    flush_statistics: None,
    // Documented: storage is not PostgreSQL's; what CHECKPOINT does is not said.
    checkpoint: None,
    // Assumed: what is done by signals and maintenance is PostgreSQL's own.
    disturbances: disturbances::YUGABYTEDB,
    // Inherited from PostgreSQL.
    settings_at_start: AtStart::Options,
    // Inherited from PostgreSQL.
    lock_timeout: Some("lock_timeout"),
    // Inherited from PostgreSQL.
    gives_up_lost_clients: super::POSTGRESQL.gives_up_lost_clients,
    // Its locks are the tablet servers'.
    waits_for: None,
    // Assumed: its limits and its pooler's are not asked for.
    session_limits: None,
    // PostgreSQL's own language layer, from 11.2 on; an article shows a procedure that retries on 2.1.
    lacks: &[],
    cluster: cluster::YUGABYTEDB,
    probes: probes::YUGABYTEDB,
    server_views: server_views::YUGABYTEDB,
    retries: retries::YUGABYTEDB,
    storage: storage::YUGABYTEDB,
    explain: explain::YUGABYTEDB,
    processes: processes::YUGABYTEDB,
    metrics: metrics::YUGABYTEDB,
    // Documented: each of them says where.
    promises: promises::YUGABYTEDB,
};
