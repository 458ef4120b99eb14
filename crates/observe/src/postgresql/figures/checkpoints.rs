//! Checkpoints, and who writes dirty pages: checkpointer, background writer or sessions themselves.

use super::io::IO_WHOLE;
use crate::postgresql::figure::{At, Figure, View, rows};
use pgdyno_model::observed::Row;

/// Up to 16 with the checkpointer's figures too.
static BGWRITER: View = View {
    name: "pg_stat_bgwriter",
    from: "pg_stat_bgwriter",
    label: "''",
};

/// Documented (release notes of 17): what was the checkpointer's in pg_stat_bgwriter, with other
/// names; on a standby restartpoints count apart.
static CHECKPOINTER: View = View {
    name: "pg_stat_checkpointer",
    from: "pg_stat_checkpointer",
    label: "''",
};

/// What pg_stat_bgwriter had as buffers_backend until 17 dropped it for pg_stat_io: all processes but
/// checkpointer and background writer. Nothing counted is zero.
macro_rules! of_backends {
    ($sum:literal) => {
        concat!(
            "coalesce(",
            $sum,
            " FILTER (WHERE object = 'relation' \
              AND backend_type NOT IN ('checkpointer', 'background writer')), 0)"
        )
    };
}

const fn moved(old: &'static str, new: &'static str) -> [At; 2] {
    [
        At::between(0, 17, &BGWRITER, old),
        At::since(17, &CHECKPOINTER, new),
    ]
}

pub const FIGURES: &[Figure] = &[
    Figure::counter(
        "pg.checkpoints.timed",
        "1/s",
        "pg_stat_bgwriter.checkpoints_timed (to 16), pg_stat_checkpointer.num_timed (17+)",
        "checkpoints due by checkpoint_timeout, restartpoints included; to 17 also those left out \
         because nothing was written",
        moved("checkpoints_timed", "num_timed + restartpoints_timed"),
    ),
    Figure::counter(
        "pg.checkpoints.requested",
        "1/s",
        "pg_stat_bgwriter.checkpoints_req (to 16), pg_stat_checkpointer.num_requested (17+)",
        "requested checkpoints: by CHECKPOINT, or because of max_wal_size",
        moved("checkpoints_req", "num_requested + restartpoints_req"),
    ),
    Figure::counter(
        "pg.checkpoints.done",
        "1/s",
        "pg_stat_checkpointer.num_done (18+)",
        "checkpoints carried out",
        [At::since(
            18,
            &CHECKPOINTER,
            "num_done + restartpoints_done",
        )],
    ),
    Figure::counter(
        "pg.checkpoints.buffers",
        "1/s",
        "pg_stat_bgwriter.buffers_checkpoint (to 16), pg_stat_checkpointer.buffers_written (17+)",
        "buffers that checkpoints wrote",
        moved("buffers_checkpoint", "buffers_written"),
    ),
    Figure::counter(
        "pg.checkpoints.write_time",
        "ms/s",
        "pg_stat_bgwriter.checkpoint_write_time (to 16), pg_stat_checkpointer.write_time (17+)",
        "time in which checkpoints wrote, counted when one is over",
        moved("checkpoint_write_time", "write_time"),
    ),
    Figure::counter(
        "pg.checkpoints.sync_time",
        "ms/s",
        "pg_stat_bgwriter.checkpoint_sync_time (to 16), pg_stat_checkpointer.sync_time (17+)",
        "time in which checkpoints synced, counted when one is over",
        moved("checkpoint_sync_time", "sync_time"),
    ),
    Figure::counter(
        "pg.bgwriter.buffers",
        "1/s",
        "pg_stat_bgwriter.buffers_clean",
        "buffers that the background writer wrote",
        [At::since(0, &BGWRITER, "buffers_clean")],
    ),
    Figure::counter(
        "pg.bgwriter.stopped",
        "1/s",
        "pg_stat_bgwriter.maxwritten_clean",
        "rounds that the background writer broke off at bgwriter_lru_maxpages",
        [At::since(0, &BGWRITER, "maxwritten_clean")],
    ),
    Figure::counter(
        "pg.buffers.allocated",
        "1/s",
        "pg_stat_bgwriter.buffers_alloc",
        "buffers given to another block",
        [At::since(0, &BGWRITER, "buffers_alloc")],
    ),
    Figure::counter(
        "pg.backends.buffers",
        "1/s",
        "pg_stat_bgwriter.buffers_backend (to 16), pg_stat_io (17+): writes and extensions of \
         relations by all but checkpointer and background writer",
        "buffers that sessions had to write themselves",
        // op_bytes is gone in 18, where an operation may be of several blocks.
        [
            At::between(0, 17, &BGWRITER, "buffers_backend"),
            At::between(
                17,
                18,
                &IO_WHOLE,
                concat!(
                    of_backends!("sum(writes)"),
                    " + ",
                    of_backends!("sum(extends)")
                ),
            ),
            At::since(
                18,
                &IO_WHOLE,
                concat!(
                    "(",
                    of_backends!("sum(write_bytes)"),
                    " + ",
                    of_backends!("sum(extend_bytes)"),
                    ") / current_setting('block_size')::int"
                ),
            ),
        ],
    ),
    Figure::counter(
        "pg.backends.fsyncs",
        "1/s",
        "pg_stat_bgwriter.buffers_backend_fsync (to 16), pg_stat_io.fsyncs (17+)",
        "syncs that sessions had to do themselves, because the checkpointer's queue was full",
        [
            At::between(0, 17, &BGWRITER, "buffers_backend_fsync"),
            At::since(17, &IO_WHOLE, of_backends!("sum(fsyncs)")),
        ],
    ),
];

pub const ROWS: &[Row] = &rows::<{ FIGURES.len() }>(FIGURES);
