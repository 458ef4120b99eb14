//! Others that share a pool: each is on a session of the server at the same time, so that all are seen.

use std::collections::BTreeSet;
use std::thread;

use pgdyno_session::Session;

use crate::support::{Database, connect, rows};

/// The advisory lock that strangers wait for: `direct` has it until all of them do.
const BARRIER: u32 = 52;

/// One for each session of the pool.
pub struct Strangers<'a> {
    sessions: Vec<Session>,
    direct: &'a Database,
}

/// What strangers find on all sessions.
#[derive(Debug, PartialEq)]
pub struct Seen {
    /// All settings: one that differs among sessions is there several times.
    settings: BTreeSet<String>,
    /// What belongs to a session and outlives its transaction: statements, locks, tables, listening.
    pub left_behind: Vec<String>,
}

impl<'a> Strangers<'a> {
    /// At a pool of so many sessions, whose server `direct` reaches without it.
    pub fn at(url: &str, pool: usize, direct: &'a Database) -> Self {
        // PgBouncer leaves the last client's name to those that have none.
        let url = format!("{url}&application_name=stranger");
        let sessions = (0..pool).map(|_| connect(&url)).collect();
        Self { sessions, direct }
    }

    /// What there is on all sessions: one statement each, which waits until all of them are there. Poolers in
    /// statement mode take it, too.
    pub fn look(self) -> Seen {
        let count = self.sessions.len();
        let look = format!(
            "WITH held AS MATERIALIZED (SELECT pg_advisory_xact_lock_shared({BARRIER})) \
             SELECT 'process ' || pg_backend_pid() FROM held \
             UNION ALL SELECT name || ' = ' || coalesce(setting, '') FROM pg_settings \
             UNION ALL SELECT 'left: statement ' || name FROM pg_prepared_statements \
             UNION ALL SELECT 'left: cursor ' || name FROM pg_cursors WHERE is_holdable \
             UNION ALL SELECT 'left: listens to ' || c FROM pg_listening_channels() AS c \
             UNION ALL SELECT 'left: lock ' || objid FROM pg_locks WHERE locktype = 'advisory' AND objid <> {BARRIER} \
             UNION ALL SELECT 'left: table ' || relname FROM pg_class \
                 WHERE relpersistence = 't' AND relnamespace = pg_my_temp_schema()"
        );
        let mut holding = connect(&self.direct.url);
        let lock = format!("BEGIN; SELECT pg_advisory_xact_lock({BARRIER})");
        holding.simple_query(&lock).expect("it is free");
        let all_wait = format!(
            "SELECT 1 FROM pg_locks WHERE locktype = 'advisory' AND objid = {BARRIER} AND NOT granted \
             HAVING count(*) = {count}"
        );
        let answers: Vec<Vec<String>> = thread::scope(|scope| {
            let asked = self.sessions.into_iter().map(|mut session| {
                let look = &look;
                scope.spawn(move || rows(&mut session, look))
            });
            let asked: Vec<_> = asked.collect();
            self.direct.wait_for(&all_wait);
            holding.simple_query("COMMIT").expect("it ends");
            let answers = asked.into_iter().map(|thread| thread.join().expect("rows"));
            answers.collect()
        });
        // All of them see a lock.
        let all: BTreeSet<String> = answers.into_iter().flatten().collect();
        let (processes, rest): (Vec<String>, Vec<String>) =
            all.into_iter().partition(|row| row.starts_with("process "));
        assert_eq!(processes.len(), count, "one each");
        let (left_behind, settings): (Vec<String>, Vec<String>) =
            rest.into_iter().partition(|row| row.starts_with("left: "));
        Seen {
            settings: settings.into_iter().collect(),
            left_behind,
        }
    }
}

impl Seen {
    /// What only one of two looks has, and what is left behind.
    pub fn differences(&self, after: &Seen) -> Vec<String> {
        let settings = self.settings.symmetric_difference(&after.settings);
        settings.chain(&after.left_behind).cloned().collect()
    }
}
