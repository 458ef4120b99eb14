//! pg_stat_io (16+): what each kind of process reads, writes and syncs, of relations, temporary
//! tables and (18+) the log.

use super::READ_TIMES;
use crate::postgresql::figure::{At, Figure, View, rows};
use pgdyno_model::observed::Row;

/// Contexts (normal, vacuum, bulkread …) together. What a kind of process cannot do is NULL and is
/// left out. Times of the log stay at zero without track_wal_io_timing, and `wal.rs` has them.
static IO: View = View {
    name: "pg_stat_io",
    from: "pg_stat_io GROUP BY 1",
    label: "CASE WHEN backend_type IN ('client backend', 'autovacuum worker', 'checkpointer', \
        'background writer', 'walwriter') THEN backend_type ELSE 'others' END || ' ' || object",
};

/// The same without kinds, for figures that say by FILTER what they are of: reading it once makes all of its
/// rows, so that these share it.
pub(super) static IO_WHOLE: View = View {
    name: "pg_stat_io",
    from: "pg_stat_io",
    label: "''",
};

pub const FIGURES: &[Figure] = &[
    Figure::counter(
        "pg.io.reads",
        "1/s",
        "pg_stat_io.reads (16+)",
        "operations that read",
        [At::since(16, &IO, "sum(reads)")],
    ),
    Figure::counter(
        "pg.io.read_bytes",
        "bytes/s",
        "pg_stat_io.read_bytes (18+), reads * op_bytes (16, 17)",
        "read from the kernel's cache or the disk",
        [
            At::between(16, 18, &IO, "sum(reads * op_bytes)"),
            At::since(18, &IO, "sum(read_bytes)"),
        ],
    ),
    Figure::counter(
        "pg.io.read_time",
        "ms/s",
        "pg_stat_io.read_time (16+, track_io_timing)",
        "time in reading",
        [At::since(16, &IO, "sum(read_time) FILTER (WHERE object <> 'wal')").needing(READ_TIMES)],
    ),
    Figure::counter(
        "pg.io.writes",
        "1/s",
        "pg_stat_io.writes (16+)",
        "operations that write",
        [At::since(16, &IO, "sum(writes)")],
    ),
    Figure::counter(
        "pg.io.write_bytes",
        "bytes/s",
        "pg_stat_io.write_bytes (18+), writes * op_bytes (16, 17)",
        "handed to the kernel",
        [
            At::between(16, 18, &IO, "sum(writes * op_bytes)"),
            At::since(18, &IO, "sum(write_bytes)"),
        ],
    ),
    Figure::counter(
        "pg.io.write_time",
        "ms/s",
        "pg_stat_io.write_time (16+, track_io_timing)",
        "time in writing",
        [
            At::since(16, &IO, "sum(write_time) FILTER (WHERE object <> 'wal')")
                .needing(READ_TIMES),
        ],
    ),
    Figure::counter(
        "pg.io.extend_bytes",
        "bytes/s",
        "pg_stat_io.extend_bytes (18+), extends * op_bytes (16, 17)",
        "by which relations grew",
        [
            At::between(16, 18, &IO, "sum(extends * op_bytes)"),
            At::since(18, &IO, "sum(extend_bytes)"),
        ],
    ),
    Figure::counter(
        "pg.io.hits",
        "1/s",
        "pg_stat_io.hits (16+)",
        "blocks found in shared buffers",
        [At::since(16, &IO, "sum(hits)")],
    ),
    Figure::counter(
        "pg.io.evictions",
        "1/s",
        "pg_stat_io.evictions (16+)",
        "blocks thrown out of shared or local buffers to make room",
        [At::since(16, &IO, "sum(evictions)")],
    ),
    Figure::counter(
        "pg.io.fsyncs",
        "1/s",
        "pg_stat_io.fsyncs (16+)",
        "syncs of files",
        [At::since(16, &IO, "sum(fsyncs)")],
    ),
    Figure::counter(
        "pg.io.fsync_time",
        "ms/s",
        "pg_stat_io.fsync_time (16+, track_io_timing)",
        "time in syncing files",
        [
            At::since(16, &IO, "sum(fsync_time) FILTER (WHERE object <> 'wal')")
                .needing(READ_TIMES),
        ],
    ),
];

pub const ROWS: &[Row] = &rows::<{ FIGURES.len() }>(FIGURES);
