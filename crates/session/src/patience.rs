//! How long a session waits for its server, and what ends the wait: an interrupt, or a server that
//! stays silent. A statement that is given up is cancelled on the server.

use std::os::fd::BorrowedFd;
use std::sync::Arc;
use std::time::{Duration, Instant};

use pgdyno_platform::interrupt::Interrupts;
use pgdyno_wire::Candidate;

use crate::error::Error;

/// How long an interrupted statement may take to end on the server; after that the session is given
/// up. Statements that clean up after an interrupt may take as long each.
pub(crate) const GRACE: Duration = Duration::from_secs(1);
/// So soon a server that hangs answers no new connection.
pub(crate) const SIGN_OF_LIFE_MAX: Duration = Duration::from_secs(2);
/// A statement that takes longer is slow: the user learns what it waits for.
pub(crate) const SLOW: Duration = Duration::from_secs(2);
/// How often a session looks for a further interrupt once there has been one: the descriptor of the
/// first stays readable.
const LOOK_INTERVAL: Duration = Duration::from_millis(20);
/// So much of a statement is shown.
const SHOWN_CHARS: usize = 100;

/// How a session waits. By default without an end.
#[derive(Clone, Default)]
pub struct Patience {
    /// Interrupts end a wait: the first cancels the statement, a second gives up the session.
    pub interrupts: Option<&'static Interrupts>,
    /// How long the server may stay silent when it owes the answer to a query. Statements that change
    /// or maintain something have no such limit.
    pub silence_limit: Option<Duration>,
    /// After so long a silence in answer to any statement a new connection is tried, again and again: when
    /// the server does not answer that either, it hangs, and the session is given up.
    pub hang_limit: Option<Duration>,
    /// Called for statements that take longer than 2 s.
    pub watcher: Option<Arc<dyn Watcher>>,
    /// Called, at an interrupt, with whether the server took the request to cancel the statement.
    pub on_cancel: Option<fn(&Result<(), Error>)>,
}

/// A statement that takes long.
#[derive(Debug, Clone)]
pub struct Slow {
    /// The way to its server.
    pub candidate: Candidate,
    /// The server process that executes it.
    pub backend_pid: i32,
    /// The statement's beginning, on one line.
    pub statement: String,
    /// Whether it may take its time, as one that changes or maintains something.
    pub is_work: bool,
}

/// Finds out what slow statements wait for.
pub trait Watcher: Send + Sync {
    /// Begins to look, without keeping the caller waiting. Dropping what it returns ends that.
    fn watch(&self, slow: Slow) -> Box<dyn Watching>;
}

/// A look at a slow statement, as long as the statement lasts.
pub trait Watching: Send {
    /// What it waits for, as far as is known.
    fn waits_for(&self) -> Option<String>;
}

/// Interrupts beyond those that had come when it was made.
#[derive(Clone, Copy, Default)]
pub(crate) struct Brake {
    interrupts: Option<&'static Interrupts>,
    seen: u32,
}

impl Brake {
    pub(crate) fn new(interrupts: Option<&'static Interrupts>) -> Brake {
        let seen = interrupts.map_or(0, |i| i.count());
        Brake { interrupts, seen }
    }

    /// How many interrupts there have been in all.
    pub(crate) fn count(&self) -> u32 {
        self.interrupts.map_or(0, |i| i.count())
    }

    /// The exit code of the last interrupt if any came since.
    pub(crate) fn pulled(&self) -> Option<u8> {
        let interrupts = self.interrupts?;
        (interrupts.count() > self.seen).then(|| interrupts.exit_code().unwrap_or(130))
    }

    /// What a poll is to watch besides, and when it must look again, at the latest.
    pub(crate) fn watch(&self) -> (Option<BorrowedFd<'static>>, Option<Instant>) {
        match self.interrupts {
            None => (None, None),
            Some(interrupts) if interrupts.count() == 0 => (Some(interrupts.fd()), None),
            Some(_) => (None, Some(Instant::now() + LOOK_INTERVAL)),
        }
    }
}

/// The statement that a session waits for.
pub(crate) struct Statement {
    /// Its beginning, on one line.
    pub shown: String,
    pub begun: Instant,
    /// Whether it may take its time.
    pub is_work: bool,
    pub watching: Option<Box<dyn Watching>>,
    pub ending: Option<Ending>,
}

/// A statement that was interrupted.
#[derive(Clone, Copy)]
pub(crate) struct Ending {
    /// How many interrupts there had been.
    pub count: u32,
    /// It must have ended by then.
    pub until: Instant,
}

impl Statement {
    pub(crate) fn new(sql: &str, is_unhurried: bool) -> Statement {
        // Rows of an INSERT need not be looked through.
        let beginning: String = sql.chars().take(4 * SHOWN_CHARS).collect();
        let words: Vec<&str> = beginning.split_whitespace().collect();
        let line = words.join(" ");
        let mut shown: String = line.chars().take(SHOWN_CHARS).collect();
        if shown.len() < line.len() {
            shown.push('…');
        }
        Statement {
            is_work: is_unhurried || !is_query(&shown),
            shown,
            begun: Instant::now(),
            watching: None,
            ending: None,
        }
    }
}

/// Whether an answer is due at once: it is a query, or something about the session alone.
fn is_query(sql: &str) -> bool {
    const FIRST_WORDS: [&str; 12] = [
        "SELECT", "SHOW", "WITH", "VALUES", "TABLE", "EXPLAIN", "SET", "RESET", "BEGIN", "START",
        "ROLLBACK", "DISCARD",
    ];
    let word = sql.split(|c: char| !c.is_ascii_alphabetic()).next();
    word.is_some_and(|word| FIRST_WORDS.iter().any(|q| q.eq_ignore_ascii_case(word)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn queries_and_work_are_distinguished() {
        for query in [
            "SELECT 1",
            "show x",
            "BEGIN; SELECT 1",
            "  with a AS ()",
            "SET a = 1",
        ] {
            assert!(!Statement::new(query, false).is_work, "{query}");
            assert!(Statement::new(query, true).is_work, "{query}");
        }
        for work in [
            "ALTER TABLE t ADD c int",
            "COPY t FROM STDIN",
            "VACUUM ANALYZE t",
            "analyze",
            "CHECKPOINT",
            "INSERT INTO t SELECT 1",
            "COMMIT",
            "",
        ] {
            assert!(Statement::new(work, false).is_work, "{work}");
        }
    }

    #[test]
    fn a_statement_is_shown_on_one_line_and_not_to_its_end() {
        assert_eq!(Statement::new("SELECT\n  1", false).shown, "SELECT 1");
        let long = format!("SELECT '{}'", "é".repeat(5_000));
        let shown = Statement::new(&long, false).shown;
        assert_eq!(shown.chars().count(), SHOWN_CHARS + 1);
        assert!(shown.ends_with('…'));
    }
}
