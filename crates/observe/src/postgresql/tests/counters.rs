//! Each figure beside the server's own view, read before and after it.

use std::collections::BTreeSet;

use pgdyno_server::Server;
use pgdyno_session::Session;

use super::{Database, number, on_each_version, until};
use crate::postgresql::counters::Counters;
use crate::postgresql::figures;
use crate::testing::{Bench, Figures};
use pgdyno_model::observed::{Batch, Kind};

on_each_version!(each_figure_is_the_servers_own);

/// A figure in the words of the manual: name, label, versions, query; whether the work below makes
/// it grow.
type Known = (
    &'static str,
    &'static str,
    std::ops::RangeInclusive<u32>,
    String,
    bool,
);

fn known() -> Vec<Known> {
    let mut known: Vec<Known> = Vec::new();
    let database = |column: &str| {
        format!("SELECT {column} FROM pg_stat_database WHERE datname = current_database()")
    };
    for (name, column, grows) in [
        ("pg.transactions.committed", "xact_commit", true),
        ("pg.transactions.rolled_back", "xact_rollback", true),
        ("pg.blocks.hit", "blks_hit", true),
        // What is in shared buffers already is not read, and that is the server's affair.
        ("pg.blocks.read", "blks_read", false),
        ("pg.rows.returned", "tup_returned", true),
        ("pg.rows.fetched", "tup_fetched", true),
        ("pg.rows.inserted", "tup_inserted", true),
        ("pg.rows.updated", "tup_updated", true),
        ("pg.rows.deleted", "tup_deleted", true),
        ("pg.temp.files", "temp_files", true),
        ("pg.temp.bytes", "temp_bytes", true),
        ("pg.deadlocks", "deadlocks", false),
        ("pg.conflicts", "conflicts", false),
        ("pg.blocks.read_time", "blk_read_time", false),
        ("pg.blocks.write_time", "blk_write_time", false),
    ] {
        known.push((name, "", 13..=18, database(column), grows));
    }
    for (name, column) in [
        ("pg.time.active", "active_time"),
        ("pg.time.idle_in_transaction", "idle_in_transaction_time"),
    ] {
        known.push((name, "", 14..=18, database(column), true));
    }
    let of = |view: &str, column: &str| format!("SELECT {column} FROM {view}");
    for (name, old, new, grows) in [
        (
            "pg.checkpoints.requested",
            "checkpoints_req",
            "num_requested",
            true,
        ),
        (
            "pg.checkpoints.timed",
            "checkpoints_timed",
            "num_timed",
            false,
        ),
        (
            "pg.checkpoints.buffers",
            "buffers_checkpoint",
            "buffers_written",
            true,
        ),
        (
            "pg.checkpoints.write_time",
            "checkpoint_write_time",
            "write_time",
            false,
        ),
        (
            "pg.checkpoints.sync_time",
            "checkpoint_sync_time",
            "sync_time",
            false,
        ),
    ] {
        known.push((name, "", 13..=16, of("pg_stat_bgwriter", old), grows));
        known.push((name, "", 17..=18, of("pg_stat_checkpointer", new), grows));
    }
    known.push((
        "pg.checkpoints.done",
        "",
        18..=18,
        of("pg_stat_checkpointer", "num_done"),
        true,
    ));
    for (name, column) in [
        ("pg.bgwriter.buffers", "buffers_clean"),
        ("pg.bgwriter.stopped", "maxwritten_clean"),
        ("pg.buffers.allocated", "buffers_alloc"),
    ] {
        let grows = name == "pg.buffers.allocated";
        known.push((name, "", 13..=18, of("pg_stat_bgwriter", column), grows));
    }
    let backends = "pg_stat_io WHERE object = 'relation' \
        AND backend_type <> 'checkpointer' AND backend_type <> 'background writer'";
    known.extend([
        (
            "pg.backends.buffers",
            "",
            13..=16,
            of("pg_stat_bgwriter", "buffers_backend"),
            true,
        ),
        (
            "pg.backends.buffers",
            "",
            17..=17,
            of(backends, "sum(writes) + sum(extends)"),
            true,
        ),
        (
            "pg.backends.buffers",
            "",
            18..=18,
            of(backends, "(sum(write_bytes) + sum(extend_bytes)) / 8192"),
            true,
        ),
        (
            "pg.backends.fsyncs",
            "",
            13..=16,
            of("pg_stat_bgwriter", "buffers_backend_fsync"),
            false,
        ),
        (
            "pg.backends.fsyncs",
            "",
            17..=18,
            of(backends, "sum(fsyncs)"),
            false,
        ),
    ]);
    for (name, column, grows) in [
        ("pg.wal.bytes", "wal_bytes", true),
        ("pg.wal.records", "wal_records", true),
        ("pg.wal.full_pages", "wal_fpi", true),
        ("pg.wal.buffers_full", "wal_buffers_full", false),
    ] {
        known.push((name, "", 14..=18, of("pg_stat_wal", column), grows));
    }
    let wal_io = "pg_stat_io WHERE object = 'wal' AND context = 'normal'";
    for (name, old, new, grows) in [
        ("pg.wal.writes", "wal_write", "sum(writes)", true),
        // The test's server does not sync.
        ("pg.wal.syncs", "wal_sync", "sum(fsyncs)", false),
        (
            "pg.wal.write_time",
            "wal_write_time",
            "sum(write_time)",
            true,
        ),
        (
            "pg.wal.sync_time",
            "wal_sync_time",
            "sum(fsync_time)",
            false,
        ),
    ] {
        known.push((name, "", 14..=17, of("pg_stat_wal", old), grows));
        known.push((name, "", 18..=18, of(wal_io, new), grows));
    }
    let position = "SELECT pg_current_wal_insert_lsn() - '0/0'".to_owned();
    known.push(("pg.wal.position", "", 13..=18, position, true));
    let client = "pg_stat_io WHERE backend_type = 'client backend' AND object = 'relation'";
    for (name, since, column, grows) in [
        ("pg.io.reads", 16, "sum(reads)", false),
        ("pg.io.read_time", 16, "sum(read_time)", false),
        ("pg.io.writes", 16, "sum(writes)", false),
        ("pg.io.write_time", 16, "sum(write_time)", false),
        ("pg.io.hits", 16, "sum(hits)", true),
        ("pg.io.evictions", 16, "sum(evictions)", false),
        ("pg.io.fsyncs", 16, "sum(fsyncs)", false),
        ("pg.io.fsync_time", 16, "sum(fsync_time)", false),
        ("pg.io.read_bytes", 18, "sum(read_bytes)", false),
        ("pg.io.write_bytes", 18, "sum(write_bytes)", false),
        ("pg.io.extend_bytes", 18, "sum(extend_bytes)", true),
    ] {
        known.push((
            name,
            "client backend relation",
            since..=18,
            of(client, column),
            grows,
        ));
    }
    for (name, column, grows) in [
        ("pg.io.read_bytes", "sum(reads) * 8192", false),
        ("pg.io.write_bytes", "sum(writes) * 8192", false),
        ("pg.io.extend_bytes", "sum(extends) * 8192", true),
    ] {
        known.push((
            name,
            "client backend relation",
            16..=17,
            of(client, column),
            grows,
        ));
    }
    let table = "pg_statio_user_tables JOIN pg_stat_user_tables USING (relid) \
        WHERE pg_stat_user_tables.relname = 'worked'";
    for (name, column, grows) in [
        ("pg.table.blocks_hit", "heap_blks_hit", true),
        ("pg.table.blocks_read", "heap_blks_read", false),
        ("pg.table.sequential_scans", "seq_scan", true),
        ("pg.table.updated", "n_tup_upd", true),
        ("pg.table.hot_updated", "n_tup_hot_upd", true),
    ] {
        known.push((name, "worked", 13..=18, of(table, column), grows));
    }
    let index = "pg_statio_user_indexes WHERE indexrelname = 'worked_pkey'";
    for (name, column, grows) in [
        ("pg.index.blocks_hit", "idx_blks_hit", true),
        ("pg.index.blocks_read", "idx_blks_read", false),
    ] {
        known.push((name, "worked_pkey", 13..=18, of(index, column), grows));
    }
    known
}

/// What the server says of each.
fn read(session: &mut Session, known: &[&Known]) -> Vec<f64> {
    known
        .iter()
        .map(|(_, _, _, sql, _)| number(session, sql))
        .collect()
}

const WORK: &str = "INSERT INTO worked SELECT g, g FROM generate_series(1001, 9000) g; \
    UPDATE worked SET y = y + 1 WHERE x < 300; \
    DELETE FROM worked WHERE x BETWEEN 400 AND 500; \
    SELECT count(*) FROM worked; \
    SET enable_seqscan = off; \
    SELECT sum(y) FROM worked WHERE x BETWEEN 600 AND 700; \
    SET work_mem = '64kB'; \
    SELECT count(*) FROM (SELECT g FROM generate_series(1, 30000) g ORDER BY -g) s; \
    BEGIN; \
    SELECT pg_sleep(0.05); \
    ROLLBACK; \
    CREATE TABLE fresh AS SELECT g FROM generate_series(1, 10000) g; \
    CHECKPOINT";

fn each_figure_is_the_servers_own(server: &Server, major: u32) {
    let database = Database::new(server, "counters", false);
    database.run(
        "ALTER DATABASE counters SET track_io_timing = on; \
         CREATE TABLE worked (x int PRIMARY KEY, y int) WITH (fillfactor = 50); \
         INSERT INTO worked SELECT g, g FROM generate_series(1, 1000) g; \
         CHECKPOINT",
    );
    if major >= 14 {
        database.run("ALTER DATABASE counters SET track_wal_io_timing = on");
    }
    let known = known();
    let known: Vec<&Known> = known.iter().filter(|k| k.2.contains(&major)).collect();
    let mut control = database.session();
    let mut bench = Bench::new(Counters::new(database.place()));
    let outer_before = read(&mut control, &known);
    bench.begin().unwrap();
    let inner_before = read(&mut control, &known);
    database.run(WORK);
    // What sessions did is counted a moment after they have ended.
    until(&format!("the work is counted on {major}"), || {
        let now = read(&mut control, &known);
        let grows = (0..known.len()).filter(|i| known[*i].4);
        let waits = grows.filter(|i| now[*i] <= inner_before[*i]);
        let waiting: Vec<_> = waits.map(|i| known[i].0).collect();
        println!("not yet: {waiting:?}");
        waiting.is_empty()
    });
    let inner_after = read(&mut control, &known);
    bench.read().unwrap();
    let (result, batch) = bench.end();
    result.unwrap();
    let outer_after = read(&mut control, &known);
    for (i, (name, label, _, sql, grows)) in known.iter().enumerate() {
        let grown = batch.grown(name, label);
        let least = inner_after[i] - inner_before[i];
        let most = outer_after[i] - outer_before[i];
        // Times are fractions.
        let is_within = (least - 0.001..=most + 0.001).contains(&grown);
        assert!(
            is_within,
            "{name} {label} on {major}: {grown}, {sql}: {least} to {most}"
        );
        assert!(grown > 0.0 || !grows, "{name} {label} did not grow");
    }
    everything_is_compared(&batch, &known, major);
    let sessions = batch.values("pg.sessions", "");
    assert!(sessions[0] >= 2.0, "{sessions:?}");
    assert!(batch.values("pg.table.dead_rows", "worked").len() == 3);
    assert_eq!(batch.gaps, [], "all is seen");
}

/// No figure of this version is left out above.
fn everything_is_compared(batch: &Batch, known: &[&Known], major: u32) {
    let counters = batch.series.iter().filter(|new| new.kind == Kind::Counter);
    let reported: BTreeSet<&str> = counters.map(|new| &*new.series.name).collect();
    let compared: BTreeSet<&str> = known.iter().map(|(name, ..)| *name).collect();
    assert_eq!(reported, compared, "on {major}");
    let all = figures::ALL.iter().copied().flatten();
    let of_this = all.filter(|figure| figure.of(major).is_some());
    let gauges = 2;
    assert_eq!(of_this.count(), reported.len() + gauges);
}
