//! Wait events that are made on purpose.

use std::time::Duration;
use std::{iter, thread};

use pgdyno_server::Server;

use super::{Database, number, on_each_version, session, until};
use crate::postgresql::waits::Waits;
use crate::testing::{Bench, Figures};

on_each_version!(a_wait_is_seen_with_its_share);

fn a_wait_is_seen_with_its_share(server: &Server, _major: u32) {
    let database = Database::new(server, "waits", false);
    let mut holder = database.session();
    holder.simple_query("SELECT pg_advisory_lock(7)").unwrap();
    // Three sessions wait for one lock, one for its time: while this is so, three to one.
    let statements = iter::repeat_n("SELECT pg_advisory_lock(7)", 3).chain(["SELECT pg_sleep(60)"]);
    let ours = statements.map(|sql| (database.session(), sql));
    // Two have another name.
    let others = session(&format!("{}&application_name=other", database.url));
    let other = session(&format!("{}&application_name=other", database.url));
    let others = [
        (others, "SELECT pg_sleep(60)"),
        (other, "SELECT pg_sleep(60)"),
    ];
    let mut waiting = Vec::new();
    let mut handles = Vec::new();
    for (mut session, sql) in ours.chain(others) {
        handles.push(session.cancel_handle());
        waiting.push(thread::spawn(move || {
            let cancelled = session.simple_query(sql).expect_err("it is cancelled");
            assert_eq!(cancelled.sqlstate(), Some("57014"));
        }));
    }
    let sql = "SELECT count(*) FROM pg_stat_activity WHERE datname = 'waits' \
               AND wait_event IN ('advisory', 'PgSleep')";
    until("all wait", || number(&mut holder, sql) == 6.0);
    // Two of the four are more than the trial has clients.
    let mut bench = Bench::new(Waits::new(database.place(), 2));
    bench.begin().unwrap();
    for _ in 0..30 {
        thread::sleep(Duration::from_millis(100));
        bench.read().unwrap();
    }
    let (result, batch) = bench.end();
    result.unwrap();
    for handle in handles {
        handle.cancel().unwrap();
    }
    for thread in waiting {
        thread.join().unwrap();
    }
    let facts = batch.facts.iter().find(|(_, name, _)| name == "waits");
    let (_, _, waits) = facts.expect("a fact of waits");
    let share = |event: &str| waits["shares"][event].as_f64().unwrap_or(0.0);
    let (locks, sleeps) = (share("Lock:advisory"), share("Timeout:PgSleep"));
    assert_eq!((locks, sleeps), (0.75, 0.25), "{waits}");
    // Whole seconds, and the rest.
    let advisory = batch.values("pg.waits", "Lock:advisory");
    assert!(advisory.len() >= 3, "{advisory:?}");
    assert!(
        advisory.iter().all(|sessions| *sessions == 3.0),
        "{advisory:?}"
    );
    // Tests beside this one have sessions, too.
    let others = batch.values("pg.waits.others", "Timeout:PgSleep");
    assert!(others.iter().all(|sessions| *sessions >= 2.0), "{others:?}");
    let others = batch.values("pg.sessions.others_active", "");
    assert!(others.iter().all(|sessions| *sessions >= 4.0), "{others:?}");
    let codes: Vec<_> = batch.notes.iter().map(|note| &*note.code).collect();
    assert_eq!(codes, ["other-sessions-active"]);
}
