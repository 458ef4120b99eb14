//! Events that are brought about on purpose.

use std::thread;
use std::time::{Duration, Instant};

use pgdyno_server::Server;

use super::{Database, number, on_each_version, until};
use crate::postgresql::events::Events;
use crate::testing::Bench;
use pgdyno_model::observed::{Batch, ObservedEvent};

on_each_version!(events_have_their_time);

fn of<'a>(batch: &'a Batch, kind: &str, part: &str) -> Vec<&'a ObservedEvent> {
    let events = batch.events.iter();
    let of = events.filter(|event| event.kind == kind && event.text.contains(part));
    of.collect()
}

fn events_have_their_time(server: &Server, major: u32) {
    let database = Database::new(server, "happenings", false);
    database.run(
        "CREATE TABLE emptied (x int) WITH (autovacuum_enabled = off); \
         INSERT INTO emptied SELECT generate_series(1, 5000)",
    );
    let requested = if major < 17 {
        "SELECT checkpoints_req FROM pg_stat_bgwriter"
    } else {
        "SELECT num_requested FROM pg_stat_checkpointer"
    };
    let begun = Instant::now();
    let mut bench = Bench::new(Events::new(database.place()));
    bench.begin().unwrap();
    let mut session = database.session();
    // A second in which nothing is made to happen; the server reports times of checkpoints in seconds.
    thread::sleep(Duration::from_millis(1200));
    bench.read().unwrap();
    let requested_before = number(&mut session, requested);
    let before_us = begun.elapsed().as_micros() as i64;
    session.simple_query("CHECKPOINT").unwrap();
    let after_us = begun.elapsed().as_micros() as i64;
    session.simple_query("SELECT pg_switch_wal()").unwrap();
    bench.read().unwrap();
    session
        .simple_query("ALTER TABLE emptied SET (autovacuum_enabled = on)")
        .unwrap();
    let sql = "SELECT coalesce(max(autovacuum_count), 0) FROM pg_stat_user_tables \
               WHERE relname = 'emptied'";
    until("autovacuum came", || {
        bench.read().unwrap();
        number(&mut session, sql) > 0.0 && number(&mut session, requested) > requested_before
    });
    session
        .simple_query("ALTER TABLE emptied SET (autovacuum_enabled = off)")
        .unwrap();
    thread::sleep(Duration::from_millis(600));
    bench.read().unwrap();
    let (result, batch) = bench.end();
    result.unwrap();
    // Other tests make checkpoints on this server too: it is one of those.
    let checkpoints = of(&batch, "checkpoint", "requested");
    let is_it = |event: &&ObservedEvent| {
        let length_us = event.length_us.expect("it has a length") as i64;
        let (begins, ends) = (event.at_us, event.at_us + length_us);
        begins >= before_us - 2_000_000 && ends <= after_us + 2_000_000
    };
    assert!(
        checkpoints.iter().any(is_it),
        "between {before_us} and {after_us} on {major}: {checkpoints:?}"
    );
    let fact = |name: &str| {
        let mut facts = batch.facts.iter();
        let found = facts.find(|(_, known, _)| known == name);
        found.expect("reported").2.as_u64().expect("a number")
    };
    assert_eq!(
        fact("checkpoints"),
        of(&batch, "checkpoint", "").len() as u64
    );
    assert!(fact("wal_segment_switches") >= 1);
    assert!(!of(&batch, "wal segment", "").is_empty());
    let vacuums = of(&batch, "autovacuum", "public.emptied");
    assert!(fact("autovacuums") >= 1);
    let vacuumed = "SELECT extract(epoch FROM clock_timestamp() - last_autovacuum) \
                    FROM pg_stat_user_tables WHERE relname = 'emptied'";
    let ago_s = number(&mut session, vacuumed);
    let ended_s = begun.elapsed().as_secs_f64() - ago_s;
    let is_it = |event: &&ObservedEvent| {
        let ended_us = event.at_us + event.length_us.unwrap_or(0) as i64;
        (ended_us as f64 / 1e6 - ended_s).abs() < 1.0
            // Before 18 only that of a worker that was seen at work is known.
            && (major < 18 || event.length_us.is_some())
    };
    assert!(
        vacuums.iter().any(is_it),
        "at {ended_s} s on {major}: {:?}",
        batch.events
    );
    assert_eq!(batch.notes, [], "the clock does not jump");
}
