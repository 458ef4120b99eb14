//! The one that prepares is killed while all fill tables, or after that: another goes on where it was.

use std::thread;

use pgdyno_platform::child::Signal;

use crate::child::Running;
use crate::generators::crew::Crew;
use crate::generators::filled::{
    Held, TPCB, interrupted, is_tpcb, preparing, start, wait_until_loaded,
};

/// Both wait for the silence of the dead one, at the same time.
#[test]
fn another_goes_on_with_the_load_of_one_that_was_killed() {
    thread::scope(|scope| {
        scope.spawn(while_it_filled);
        scope.spawn(while_it_created_keys);
    });
}

fn while_it_filled() {
    let crew = Crew::in_file("dead_loader");
    let mut all = start(&crew, TPCB, 3, 3);
    let held = Held::of(&crew);
    held.wait_for(&crew, 3);
    let killed = all[preparing(&crew)].take().unwrap();
    killed.signal(Signal::Kill);
    drop(killed);
    held.let_go();
    // Long before it is missed the others have filled the tables.
    crew.target
        .wait_for("SELECT 1 FROM pgbench_accounts HAVING count(*) = 200000");
    let begun = "SELECT count(*) FROM word WHERE what = 'preparing'";
    assert_eq!(crew.value(begun), "1");
    wait_until_loaded(&crew, "pgbench_accounts");
    assert_eq!(crew.value(begun), "2");
    is_tpcb(&crew);
    interrupted(all);
}

/// The server executes something for the dead one, and keeps the lock of its load, until it looks whether
/// another generator waits for it.
fn while_it_created_keys() {
    let crew = Crew::on_server("dead_keys");
    let mut all = start(&crew, "load tpcb --param scale=2", 2, 2);
    crew.target
        .wait_for("SELECT 1 WHERE to_regclass('pgbench_accounts') IS NOT NULL");
    // Rows go in, keys wait.
    let held = Held::by(&crew, "LOCK TABLE pgbench_accounts IN ACCESS SHARE MODE");
    let waits = "SELECT pid FROM pg_stat_activity WHERE datname = current_database() \
                 AND wait_event_type = 'Lock' AND query LIKE 'alter table%'";
    crew.target.wait_for(waits);
    let pid = crew.target.value(waits);
    let killed = all[preparing(&crew)].take().unwrap();
    killed.signal(Signal::Kill);
    drop(killed);
    crew.target.wait_for(&format!("{waits} AND pid <> {pid}"));
    held.let_go();
    for ran in all.into_iter().flatten().map(Running::ended) {
        ran.expect(0, &["tpcb is loaded"]);
    }
    is_tpcb(&crew);
}
