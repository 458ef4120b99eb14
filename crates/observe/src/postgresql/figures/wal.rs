//! The write-ahead log: what is put into it, and what is done to make it durable.

use super::WAL_TIMES;
use super::io::IO_WHOLE;
use crate::postgresql::figure::{At, Figure, View, rows};
use pgdyno_model::observed::Row;

static WAL: View = View {
    name: "pg_stat_wal",
    from: "pg_stat_wal",
    label: "''",
};

/// Documented (release notes of 18): pg_stat_wal has lost writes and syncs to pg_stat_io, which
/// counts new segments' files apart (context init).
macro_rules! of_wal {
    ($sum:literal) => {
        concat!(
            $sum,
            " FILTER (WHERE object = 'wal' AND context = 'normal')"
        )
    };
}

/// All versions. On a standby it is how far it has replayed.
static POSITION: View = View {
    name: "the log's position",
    from: "(SELECT CASE WHEN pg_is_in_recovery() THEN pg_last_wal_replay_lsn() \
        ELSE pg_current_wal_insert_lsn() END AS lsn) AS at",
    label: "''",
};

const fn moved(old: &'static str, new: &'static str) -> [At; 2] {
    [
        At::between(14, 18, &WAL, old),
        At::since(18, &IO_WHOLE, new),
    ]
}

pub const FIGURES: &[Figure] = &[
    Figure::counter(
        "pg.wal.position",
        "bytes/s",
        "pg_current_wal_insert_lsn(), on a standby pg_last_wal_replay_lsn()",
        "how far the log has come, the rest of segments that are left early included",
        [At::since(0, &POSITION, "pg_wal_lsn_diff(lsn, '0/0')")],
    ),
    Figure::counter(
        "pg.wal.bytes",
        "bytes/s",
        "pg_stat_wal.wal_bytes (14+)",
        "log written by sessions and others",
        [At::since(14, &WAL, "wal_bytes")],
    ),
    Figure::counter(
        "pg.wal.records",
        "1/s",
        "pg_stat_wal.wal_records (14+)",
        "records put into the log",
        [At::since(14, &WAL, "wal_records")],
    ),
    Figure::counter(
        "pg.wal.full_pages",
        "1/s",
        "pg_stat_wal.wal_fpi (14+)",
        "full-page images in the WAL, mostly of pages changed for the first time after a checkpoint",
        [At::since(14, &WAL, "wal_fpi")],
    ),
    Figure::counter(
        "pg.wal.buffers_full",
        "1/s",
        "pg_stat_wal.wal_buffers_full (14+)",
        "times that a session had to write the log because its buffers were full",
        [At::since(14, &WAL, "wal_buffers_full")],
    ),
    Figure::counter(
        "pg.wal.writes",
        "1/s",
        "pg_stat_wal.wal_write (14 to 17), pg_stat_io.writes of wal (18+)",
        "writes of the log",
        moved("wal_write", of_wal!("sum(writes)")),
    ),
    Figure::counter(
        "pg.wal.write_time",
        "ms/s",
        "pg_stat_wal.wal_write_time (14 to 17), pg_stat_io.write_time of wal (18+; \
         track_wal_io_timing)",
        "time in writing the log",
        [
            At::between(14, 18, &WAL, "wal_write_time").needing(WAL_TIMES),
            At::since(18, &IO_WHOLE, of_wal!("sum(write_time)")).needing(WAL_TIMES),
        ],
    ),
    Figure::counter(
        "pg.wal.syncs",
        "1/s",
        "pg_stat_wal.wal_sync (14 to 17), pg_stat_io.fsyncs of wal (18+)",
        "syncs of the log",
        moved("wal_sync", of_wal!("sum(fsyncs)")),
    ),
    Figure::counter(
        "pg.wal.sync_time",
        "ms/s",
        "pg_stat_wal.wal_sync_time (14 to 17), pg_stat_io.fsync_time of wal (18+; \
         track_wal_io_timing)",
        "time in syncing the log",
        [
            At::between(14, 18, &WAL, "wal_sync_time").needing(WAL_TIMES),
            At::since(18, &IO_WHOLE, of_wal!("sum(fsync_time)")).needing(WAL_TIMES),
        ],
    ),
];

pub const ROWS: &[Row] = &rows::<{ FIGURES.len() }>(FIGURES);
