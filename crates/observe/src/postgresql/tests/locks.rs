//! A lock that is waited for on purpose.

use std::thread;
use std::time::{Duration, Instant};

use pgdyno_server::Server;

use super::{Database, number, on_each_version, until};
use crate::postgresql::locks::Locks;
use crate::testing::{Bench, Figures};

on_each_version!(a_lock_waited_for_names_the_waiter_and_the_blocker);

fn a_lock_waited_for_names_the_waiter_and_the_blocker(server: &Server, major: u32) {
    let database = Database::new(server, "locks", false);
    database.run("CREATE TABLE fought AS SELECT 1 AS x");
    let begun = Instant::now();
    let mut bench = Bench::new(Locks::new(database.place()));
    bench.begin().unwrap();
    let mut holder = database.session();
    holder
        .simple_query("SET application_name = 'holder'; BEGIN; UPDATE fought SET x = 2")
        .unwrap();
    let mut waiter = database.session();
    let (blocker_pid, waiter_pid) = (holder.backend_pid(), waiter.backend_pid());
    waiter
        .simple_query("SET application_name = 'waiter'")
        .unwrap();
    let before_us = begun.elapsed().as_micros() as i64;
    let waiting = thread::spawn(move || {
        waiter.simple_query("UPDATE fought SET x = 3").unwrap();
    });
    let mut control = database.session();
    let sql = format!("SELECT count(*) FROM pg_locks WHERE pid = {waiter_pid} AND NOT granted");
    until("it waits", || number(&mut control, &sql) == 1.0);
    let seen_us = begun.elapsed().as_micros() as i64;
    for _ in 0..3 {
        bench.read().unwrap();
        thread::sleep(Duration::from_millis(300));
    }
    holder.simple_query("COMMIT").unwrap();
    waiting.join().unwrap();
    let (result, batch) = bench.end();
    result.unwrap();
    let over_us = begun.elapsed().as_micros() as i64;
    let reported = format!(
        "{waiter_pid} (waiter) waits for ShareLock of transactionid on fought, held by \
         {blocker_pid} (holder, idle in transaction)"
    );
    let event = batch.events.iter().find(|event| event.text == reported);
    let event = event.unwrap_or_else(|| panic!("no {reported} in {:?}", batch.events));
    assert_eq!(event.kind, "lock wait");
    // 13 does not tell since when: it is since it was first seen.
    let slack_us = 100_000;
    let latest = if major >= 14 { seen_us } else { over_us };
    assert!(
        (before_us - slack_us..=latest + slack_us).contains(&event.at_us),
        "{event:?}, begun between {before_us} and {latest}"
    );
    let ends_us = event.at_us + event.length_us.expect("it is over") as i64;
    assert!(
        (seen_us..=over_us + slack_us).contains(&ends_us),
        "{event:?}, {seen_us}, {over_us}"
    );
    let waiting = batch.values("pg.locks.waiting", "transactionid");
    assert!(
        waiting.iter().all(|sessions| *sessions >= 1.0) && waiting.len() >= 3,
        "{waiting:?}"
    );
}
