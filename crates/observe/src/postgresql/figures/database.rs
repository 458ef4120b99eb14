//! The session's database as a whole. Documented: "The Cumulative Statistics System".

use super::super::figure::{At, Figure, View, rows};
use super::READ_TIMES;
use pgdyno_model::observed::Row;

static DATABASE: View = View {
    name: "pg_stat_database",
    from: "pg_stat_database WHERE datname = current_database()",
    label: "''",
};

const fn all(sql: &'static str) -> At {
    At::since(0, &DATABASE, sql)
}

pub const FIGURES: &[Figure] = &[
    Figure::gauge(
        "pg.sessions",
        "sessions",
        "pg_stat_database.numbackends",
        "sessions with the database, observers' too",
        [all("numbackends")],
    ),
    Figure::counter(
        "pg.transactions.committed",
        "1/s",
        "pg_stat_database.xact_commit",
        "transactions committed, observers' too",
        [all("xact_commit")],
    ),
    Figure::counter(
        "pg.transactions.rolled_back",
        "1/s",
        "pg_stat_database.xact_rollback",
        "transactions rolled back",
        [all("xact_rollback")],
    ),
    Figure::counter(
        "pg.blocks.hit",
        "1/s",
        "pg_stat_database.blks_hit",
        "blocks found in shared buffers",
        [all("blks_hit")],
    ),
    Figure::counter(
        "pg.blocks.read",
        "1/s",
        "pg_stat_database.blks_read",
        "blocks not found there: read from the kernel's cache or the disk",
        [all("blks_read")],
    ),
    Figure::counter(
        "pg.blocks.read_time",
        "ms/s",
        "pg_stat_database.blk_read_time (track_io_timing)",
        "time in reading blocks, all sessions together",
        [all("blk_read_time").needing(READ_TIMES)],
    ),
    Figure::counter(
        "pg.blocks.write_time",
        "ms/s",
        "pg_stat_database.blk_write_time (track_io_timing)",
        "time in writing blocks, all sessions together",
        [all("blk_write_time").needing(READ_TIMES)],
    ),
    Figure::counter(
        "pg.rows.returned",
        "1/s",
        "pg_stat_database.tup_returned",
        "rows read by sequential scans and index entries by index scans",
        [all("tup_returned")],
    ),
    Figure::counter(
        "pg.rows.fetched",
        "1/s",
        "pg_stat_database.tup_fetched",
        "rows fetched by index scans",
        [all("tup_fetched")],
    ),
    Figure::counter(
        "pg.rows.inserted",
        "1/s",
        "pg_stat_database.tup_inserted",
        "rows inserted",
        [all("tup_inserted")],
    ),
    Figure::counter(
        "pg.rows.updated",
        "1/s",
        "pg_stat_database.tup_updated",
        "rows updated",
        [all("tup_updated")],
    ),
    Figure::counter(
        "pg.rows.deleted",
        "1/s",
        "pg_stat_database.tup_deleted",
        "rows deleted",
        [all("tup_deleted")],
    ),
    Figure::counter(
        "pg.temp.files",
        "1/s",
        "pg_stat_database.temp_files",
        "temporary files made by sorts and hashes",
        [all("temp_files")],
    ),
    Figure::counter(
        "pg.temp.bytes",
        "bytes/s",
        "pg_stat_database.temp_bytes",
        "written to them",
        [all("temp_bytes")],
    ),
    Figure::counter(
        "pg.deadlocks",
        "1/s",
        "pg_stat_database.deadlocks",
        "deadlocks found",
        [all("deadlocks")],
    ),
    Figure::counter(
        "pg.conflicts",
        "1/s",
        "pg_stat_database.conflicts",
        "queries cancelled on a standby by what it replays",
        [all("conflicts")],
    ),
    Figure::counter(
        "pg.time.active",
        "ms/s",
        "pg_stat_database.active_time (14+)",
        "time in statements, all sessions together",
        [At::since(14, &DATABASE, "active_time")],
    ),
    Figure::counter(
        "pg.time.idle_in_transaction",
        "ms/s",
        "pg_stat_database.idle_in_transaction_time (14+)",
        "time idle in a transaction, all sessions together",
        [At::since(14, &DATABASE, "idle_in_transaction_time")],
    ),
];

pub const ROWS: &[Row] = &rows::<{ FIGURES.len() }>(FIGURES);
