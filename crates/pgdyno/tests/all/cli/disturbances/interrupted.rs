//! Disturbances that Ctrl-C or kill -9 interrupts: the server is afterwards as it was.

use std::time::{Duration, Instant};

use pgdyno_platform::child::Signal;

use super::Place;
use crate::child::Running;
use crate::support::{connect, pgdyno, ran, rows};

impl Place {
    /// Begins it, and presses Ctrl-C when `begun` tells true on the server.
    pub(super) fn is_interrupted(&self, command: &str, begun: &str) {
        let before = self.snapshot();
        let running = Running::start(&mut self.trial(command, "10m"));
        let mut session = connect(&self.url);
        let end = Instant::now() + Duration::from_secs(60);
        while rows(&mut session, begun) != ["t"] {
            assert!(Instant::now() < end, "{command} does not begin");
            std::thread::sleep(Duration::from_millis(5));
        }
        running.signal(Signal::Interrupt);
        running.ended().expect(130, &[]);
        drop(session);
        assert_eq!(self.snapshot(), before, "{command}");
    }
}

#[test]
#[ignore = "make test-long PART=disturbances"]
fn each_that_ctrl_c_interrupts_leaves_nothing() {
    let place = Place::new();
    let active = |query: &str| {
        format!(
            "SELECT count(*) > 0 FROM pg_stat_activity WHERE query LIKE '{query}%' AND pid <> pg_backend_pid()"
        )
    };
    let locked = "SELECT count(*) > 0 FROM pg_locks WHERE mode = 'AccessExclusiveLock' AND granted";
    for (command, begun) in [
        ("pgdyno:idle-lock for=5m lock=table", locked.to_owned()),
        (
            "pgdyno:long-transaction for=5m",
            active("BEGIN ISOLATION LEVEL REPEATABLE READ"),
        ),
        (
            "pgdyno:create-index",
            "SELECT to_regclass('pgdyno_disturbance') IS NOT NULL".to_owned(),
        ),
        (
            "pgdyno:create-index-concurrently",
            active("CREATE INDEX CONCURRENTLY"),
        ),
        ("pgdyno:alter-table-rewrite", active("ALTER TABLE")),
        ("pgdyno:vacuum-full", active("VACUUM FULL")),
        (
            "pgdyno:base-backup rate=32",
            "SELECT count(*) > 0 FROM pg_stat_replication WHERE state = 'backup'".to_owned(),
        ),
        (
            "pgdyno:connection-storm for=5m",
            "SELECT count(*) > 15 FROM pg_stat_activity WHERE backend_type = 'client backend'"
                .to_owned(),
        ),
        (
            "pgdyno:drop-statistics",
            "SELECT count(*) = 0 FROM pg_statistic WHERE starelid = 'pgbench_accounts'::regclass"
                .to_owned(),
        ),
    ] {
        println!("Ctrl-C: {command}");
        place.is_interrupted(command, &begun);
    }
}

#[test]
#[ignore = "make test-long PART=disturbances"]
fn a_hanging_server_goes_on_when_pgdyno_is_killed() {
    let place = Place::new();
    let before = place.snapshot();
    for signal in [Signal::Interrupt, Signal::Kill] {
        let running = Running::start(&mut place.trial("pgdyno:sigstop for=5m", "10m"));
        let stat = format!("/proc/{}/stat", place.server.pid());
        let end = Instant::now() + Duration::from_secs(60);
        while !std::fs::read_to_string(&stat).unwrap().contains(") T ") {
            assert!(Instant::now() < end, "it is not stopped");
            std::thread::sleep(Duration::from_millis(5));
        }
        running.signal(signal);
        running.ended();
        assert_eq!(place.snapshot(), before, "{signal:?}");
    }
}

#[test]
#[ignore = "make test-long PART=disturbances"]
fn what_a_killed_pgdyno_left_is_undone_by_restore() {
    let place = Place::new();
    let before = place.snapshot();
    let running = Running::start(&mut place.trial("pgdyno:create-index", "10m"));
    let mut session = connect(&place.url);
    let end = Instant::now() + Duration::from_secs(60);
    while rows(
        &mut session,
        "SELECT to_regclass('pgdyno_disturbance') IS NOT NULL",
    ) != ["t"]
    {
        assert!(Instant::now() < end, "there is no index");
        std::thread::sleep(Duration::from_millis(5));
    }
    running.signal(Signal::Kill);
    running.ended();
    drop(session);
    ran(pgdyno(&["restore"]).envs(pgdyno_testkit::own_cache(&place.cache())))
        .expect(0, &["undone by DROP INDEX"]);
    assert_eq!(place.snapshot(), before);
}
