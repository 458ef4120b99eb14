//! The largest tables and indexes of the database, each by its name.

use crate::postgresql::figure::{At, Figure, View, rows};
use pgdyno_model::observed::Row;

/// The functions under pg_stat_user_tables and pg_statio_user_tables (stable since 9): the views join
/// all tables with all their indexes before they leave any out.
static TABLES: View = View {
    name: "pg_statio_user_tables",
    from: "{tables}",
    label: "label",
};

static INDEXES: View = View {
    name: "pg_statio_user_indexes",
    from: "{indexes}",
    label: "label",
};

const fn table(sql: &'static str) -> At {
    At::since(0, &TABLES, sql)
}

pub const FIGURES: &[Figure] = &[
    Figure::counter(
        "pg.table.blocks_hit",
        "1/s",
        "pg_statio_user_tables.heap_blks_hit",
        "blocks of the table found in shared buffers, for the 20 largest tables",
        [table("pg_stat_get_blocks_hit(oid)")],
    ),
    Figure::counter(
        "pg.table.blocks_read",
        "1/s",
        "pg_statio_user_tables.heap_blks_read",
        "blocks of the table not found there",
        [table(
            "pg_stat_get_blocks_fetched(oid) - pg_stat_get_blocks_hit(oid)",
        )],
    ),
    Figure::counter(
        "pg.table.sequential_scans",
        "1/s",
        "pg_stat_user_tables.seq_scan",
        "sequential scans begun on the table",
        [table("pg_stat_get_numscans(oid)")],
    ),
    Figure::counter(
        "pg.table.updated",
        "1/s",
        "pg_stat_user_tables.n_tup_upd",
        "rows of the table updated",
        [table("pg_stat_get_tuples_updated(oid)")],
    ),
    Figure::counter(
        "pg.table.hot_updated",
        "1/s",
        "pg_stat_user_tables.n_tup_hot_upd",
        "of these without a new index entry (heap only)",
        [table("pg_stat_get_tuples_hot_updated(oid)")],
    ),
    Figure::gauge(
        "pg.table.dead_rows",
        "rows",
        "pg_stat_user_tables.n_dead_tup",
        "rows of the table that await vacuum, as the server estimates",
        [table("pg_stat_get_dead_tuples(oid)")],
    ),
    Figure::counter(
        "pg.index.blocks_hit",
        "1/s",
        "pg_statio_user_indexes.idx_blks_hit",
        "blocks of the index found in shared buffers, for the 20 largest indexes",
        [At::since(0, &INDEXES, "pg_stat_get_blocks_hit(oid)")],
    ),
    Figure::counter(
        "pg.index.blocks_read",
        "1/s",
        "pg_statio_user_indexes.idx_blks_read",
        "blocks of the index not found there",
        [At::since(
            0,
            &INDEXES,
            "pg_stat_get_blocks_fetched(oid) - pg_stat_get_blocks_hit(oid)",
        )],
    ),
];

pub const ROWS: &[Row] = &rows::<{ FIGURES.len() }>(FIGURES);
