//! Others that share a pool: each holds a session of the server at the same time, so that all are seen.

use std::collections::BTreeSet;

use pgdyno_session::Session;

use super::POOL;
use crate::support::{connect, rows};

/// One for each session of the pool.
pub struct Strangers {
    sessions: Vec<Session>,
}

impl Strangers {
    pub fn at(url: &str) -> Self {
        Self::of(url, POOL)
    }

    /// The same of a pool of so many.
    pub fn of(url: &str, pool: usize) -> Self {
        // PgBouncer leaves the last client's name to those that have none.
        let url = format!("{url}&application_name=stranger");
        let sessions = (0..pool).map(|_| connect(&url)).collect();
        Self { sessions }
    }

    /// What `query` gives on all sessions, of which each is asked once.
    fn ask(&mut self, query: &str) -> Vec<Vec<String>> {
        let hold = |session: &mut Session| {
            session.simple_query("BEGIN").expect("it begins");
            rows(session, "SELECT pg_backend_pid()").join("")
        };
        let pids: BTreeSet<String> = self.sessions.iter_mut().map(hold).collect();
        assert_eq!(pids.len(), self.sessions.len(), "one each");
        let answers = self.sessions.iter_mut().map(|session| rows(session, query));
        let answers = answers.collect();
        for session in &mut self.sessions {
            session.simple_query("ROLLBACK").expect("it ends");
        }
        answers
    }

    /// All settings as the sessions have them: one that differs among them is there several times.
    pub fn look(mut self) -> BTreeSet<String> {
        let settings = "SELECT name, setting FROM pg_settings ORDER BY name";
        self.ask(settings).into_iter().flatten().collect()
    }

    /// What belongs to a session and outlives its transaction: statements, locks, tables, listening.
    pub fn left_behind(mut self) -> Vec<String> {
        let left = "SELECT 'statement ' || name FROM pg_prepared_statements \
             UNION ALL SELECT 'cursor ' || name FROM pg_cursors WHERE is_holdable \
             UNION ALL SELECT 'listens to ' || c FROM pg_listening_channels() AS c \
             UNION ALL SELECT 'lock ' || objid FROM pg_locks WHERE locktype = 'advisory' \
             UNION ALL SELECT 'table ' || relname FROM pg_class \
                 WHERE relpersistence = 't' AND relnamespace = pg_my_temp_schema()";
        self.ask(left).concat()
    }
}

/// Of two looks, what only one has.
pub fn differences(before: &BTreeSet<String>, after: &BTreeSet<String>) -> Vec<String> {
    before.symmetric_difference(after).cloned().collect()
}
