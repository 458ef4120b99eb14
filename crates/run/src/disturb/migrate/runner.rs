//! Runs the statements of a migration in its tool's transactions, and reads before each commit what it locked.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use pgdyno_migration::{Group, Proofs, Statement, actions, forms};
use pgdyno_model::document::{MigrationRun, MigrationStatement};
use pgdyno_session::{Error, Session, quote_literal};
use pgdyno_spec::text;

use super::watcher::{Watcher, is_number, locks_of};
use crate::disturb::own::Control;

/// PostgreSQL's `lock_not_available`.
const LOCK_NOT_AVAILABLE: &str = "55P03";
/// PostgreSQL's `query_canceled`.
const QUERY_CANCELED: &str = "57014";
/// Why a statement is not begun.
const OVER: &str = "the trial was over before";
/// The first pause before a transaction is tried again; it doubles up to the last one.
const PAUSE_FIRST: Duration = Duration::from_millis(100);
const PAUSE_LAST: Duration = Duration::from_secs(1);
/// Longer than `deadlock_timeout` by so much an ordinary autovacuum that is in the way has been cancelled.
const BEYOND_DEADLOCK_TIMEOUT: Duration = Duration::from_millis(200);
/// What the server says of rows (tablecmds.c, index.c), as far as these words.
const WORDS_OF_ROWS: [&str; 5] = [
    "rewriting table",
    "verifying table",
    "building index",
    "validating foreign key",
    "are sufficient to prove",
];

/// How transactions are tried again.
#[derive(Debug, Clone, Copy)]
pub struct Recipe {
    pub lock_timeout: Duration,
    pub tries: u64,
}

/// Why it ended early.
pub enum Stopped {
    /// What was refused, with its place; what is left of it, where that is known.
    Failed { why: String, left: String },
    /// The recipe's tries were used up, or the trial was over: its transaction is rolled back.
    GaveUp { why: String, left: String },
}

/// Gets the number of a transaction and its last statement; it is not committed when this fails.
pub type BeforeCommit<'a> = dyn FnMut(Option<&str>, &Statement) -> Result<(), String> + 'a;

pub struct Runner<'a> {
    pub session: Session,
    pub watcher: &'a Watcher,
    pub control: &'a Control,
    pub began: Instant,
    pub version: u32,
    pub recipe: Option<Recipe>,
    /// Called before each commit with the transaction's number; without one it is a statement in none.
    pub before_commit: &'a mut BeforeCommit<'a>,
    /// Statements that are committed.
    pub committed: usize,
    /// Names of relations that statements name, by their numbers: of what is dropped nothing else is left.
    pub named: BTreeMap<String, String>,
}

impl Runner<'_> {
    /// Runs all of it.
    ///
    /// # Errors
    /// Where and why it ended.
    pub fn run(&mut self, groups: &[Group], run: &mut MigrationRun) -> Result<(), Stopped> {
        for group in groups {
            if let Some(begin) = &group.begin {
                self.transaction(begin, &group.end, &group.statements, run)?;
                continue;
            }
            for statement in &group.statements {
                if statement.refuses_transactions() || self.is_of_session(statement) {
                    self.alone(statement, run)?;
                } else {
                    // What it would be without BEGIN; so its locks can be read.
                    self.transaction("BEGIN", "COMMIT", std::slice::from_ref(statement), run)?;
                }
            }
        }
        Ok(())
    }

    fn is_of_session(&self, statement: &Statement) -> bool {
        let actions = actions(
            &statement.text,
            self.version,
            &mut |_, _| None,
            &mut Proofs::default(),
        );
        actions
            .iter()
            .all(|action| action.form == Some(&forms::SESSION))
    }

    fn left(&self, all: &str) -> String {
        match self.committed {
            0 => format!("{all}: nothing of it is left"),
            1 => format!("{all}: 1 statement before it is committed"),
            many => format!("{all}: {many} statements before it are committed"),
        }
    }

    fn failed(&self, place: &str, error: &Error, left: &str) -> Stopped {
        Stopped::Failed {
            why: format!("{place}: {error}"),
            left: self.left(left),
        }
    }

    /// One transaction, tried again where the recipe says so.
    fn transaction(
        &mut self,
        begin: &str,
        end: &str,
        statements: &[Statement],
        run: &mut MigrationRun,
    ) -> Result<(), Stopped> {
        let place = statements
            .first()
            .map_or_else(String::new, Statement::place);
        let first = run.statements.len();
        let mut timeout = self.recipe.map(|recipe| recipe.lock_timeout);
        let (mut tries, mut pause) = (1, PAUSE_FIRST);
        loop {
            run.statements.truncate(first);
            run.lock_timeout_ms = timeout
                .map(|time| time.as_millis() as u64)
                .or(run.lock_timeout_ms);
            let result = self.once(begin, end, statements, timeout, run);
            let Err((place_of, error)) = result else {
                let held_until_us = self.at_us();
                for statement in &mut run.statements[first..] {
                    statement.held_until_us = held_until_us;
                }
                if let Some(last) = run.statements[first..].last_mut() {
                    last.waited_us += self.watcher.take_waited().as_micros() as u64;
                }
                if end == "COMMIT" {
                    self.committed += statements.len();
                }
                return Ok(());
            };
            // What is left of the transaction goes.
            let rolled_back = self.session.simple_query("ROLLBACK");
            let held_until_us = self.at_us();
            for statement in &mut run.statements[first..] {
                statement.held_until_us = held_until_us;
            }
            let no_lock = error.sqlstate() == Some(LOCK_NOT_AVAILABLE)
                || self.is_stopped_while_trying(&error, timeout, &run.statements[first..]);
            let Some(recipe) = self.recipe.filter(|_| no_lock && rolled_back.is_ok()) else {
                let left = if rolled_back.is_ok() {
                    "rolled back"
                } else {
                    "its session is lost"
                };
                return Err(self.failed(&place_of, &error, left));
            };
            if tries >= recipe.tries {
                return Err(self.gave_up(&place, tries));
            }
            if self.watcher.is_behind_autovacuum() {
                timeout = Some(self.beyond_deadlock_timeout().max(recipe.lock_timeout));
            }
            self.control.last(pause);
            if self.control.is_over() {
                return Err(self.gave_up(&place, tries));
            }
            (tries, pause) = (tries + 1, (pause * 2).min(PAUSE_LAST));
            run.retries += 1;
        }
    }

    /// Whether the end of the trial stopped a try that had not yet waited for as long as it may.
    fn is_stopped_while_trying(
        &self,
        error: &Error,
        timeout: Option<Duration>,
        statements: &[MigrationStatement],
    ) -> bool {
        let is_short = statements.last().zip(timeout).is_none_or(|(it, timeout)| {
            u128::from(it.ended_us - it.began_us) <= timeout.as_micros()
        });
        let is_of_end = match error {
            Error::Usage(why) => why == OVER,
            error => error.sqlstate() == Some(QUERY_CANCELED),
        };
        self.control.is_over() && is_of_end && is_short
    }

    fn gave_up(&self, place: &str, tries: u64) -> Stopped {
        let tries = match tries {
            1 => "1 try".to_owned(),
            tries => format!("{tries} tries"),
        };
        let took = text::time(self.at_us() as f64);
        let over = if self.control.is_over() {
            ": the trial was over"
        } else {
            ""
        };
        Stopped::GaveUp {
            why: format!("{place}: gave up after {tries}, {took}{over}"),
            left: self.left("rolled back"),
        }
    }

    /// An ordinary autovacuum is cancelled when another waits for longer than `deadlock_timeout`: with less than
    /// that, each try would fail.
    fn beyond_deadlock_timeout(&mut self) -> Duration {
        let sql = "SELECT setting FROM pg_settings WHERE name = 'deadlock_timeout'";
        let value = self.session.query_one_value(sql).ok().flatten();
        let ms = value.and_then(|ms| ms.parse().ok()).unwrap_or(1000);
        Duration::from_millis(ms) + BEYOND_DEADLOCK_TIMEOUT
    }

    fn once(
        &mut self,
        begin: &str,
        end: &str,
        statements: &[Statement],
        timeout: Option<Duration>,
        run: &mut MigrationRun,
    ) -> Result<(), (String, Error)> {
        let mut place = statements
            .first()
            .map_or_else(String::new, Statement::place);
        let tell = |place: &str| {
            let place = place.to_owned();
            move |error| (place, error)
        };
        self.session.simple_query(begin).map_err(tell(&place))?;
        if let Some(timeout) = timeout {
            let set = format!(
                "SET LOCAL lock_timeout = '{}ms'",
                timeout.as_millis().max(1)
            );
            self.session.simple_query(&set).map_err(tell(&place))?;
        }
        let mut before = Vec::new();
        for statement in statements {
            place = statement.place();
            let result = self.statement(statement, run);
            result.map_err(tell(&place))?;
            let pid = self.session.backend_pid();
            let locks = locks_of(&mut self.session, pid);
            let mut locks = locks.map_err(|why| (place.clone(), Error::Usage(why)))?;
            for lock in locks.iter_mut().filter(|lock| is_number(&lock.relation)) {
                if let Some(name) = self.named.get(&lock.relation) {
                    lock.relation.clone_from(name);
                }
            }
            locks.retain(|lock| !is_number(&lock.relation));
            if let Some(last) = run.statements.last_mut() {
                last.locks = locks
                    .iter()
                    .filter(|lock| !before.contains(*lock))
                    .cloned()
                    .collect();
                last.locks_are_whole = true;
            }
            before = locks;
        }
        // Without one the transaction has changed nothing.
        let number = self
            .session
            .query_one_value("SELECT pg_current_xact_id_if_assigned()::text");
        let number = number.map_err(tell(&place))?;
        if let Some((number, last)) = number.zip(statements.last()) {
            let noted = (self.before_commit)(Some(&number), last);
            noted.map_err(|why| (place.clone(), Error::Usage(why)))?;
        }
        self.session.simple_query(end).map_err(tell(&place))?;
        Ok(())
    }

    /// A statement that is in no transaction block.
    fn alone(&mut self, statement: &Statement, run: &mut MigrationRun) -> Result<(), Stopped> {
        if statement.refuses_transactions() {
            let noted = (self.before_commit)(None, statement);
            noted
                .map_err(|why| self.failed(&statement.place(), &Error::Usage(why), "not begun"))?;
        }
        self.watcher.reads_locks(true);
        let result = self.statement(statement, run);
        self.watcher.reads_locks(false);
        let held_until_us = self.at_us();
        if let Some(last) = run.statements.last_mut() {
            last.locks = self.watcher.take_locks();
            last.held_until_us = held_until_us;
        }
        let Err(error) = result else {
            self.committed += 1;
            return Ok(());
        };
        let invalid = self.invalid_indexes(statement);
        let left = if invalid.is_empty() {
            "failed".to_owned()
        } else {
            format!("failed, and left the invalid index {}", invalid.join(", "))
        };
        Err(self.failed(&statement.place(), &error, &left))
    }

    /// Indexes that CREATE INDEX CONCURRENTLY leaves when it fails.
    fn invalid_indexes(&mut self, statement: &Statement) -> Vec<String> {
        let names = self.names(statement);
        if names.is_empty() {
            return names;
        }
        let sql = format!(
            "SELECT indexrelid::regclass::text FROM pg_index WHERE NOT indisvalid AND indrelid = ANY (ARRAY[{}])",
            names.join(", ")
        );
        let rows = self
            .session
            .query(&sql)
            .map(|outcome| outcome.rows)
            .unwrap_or_default();
        rows.into_iter().flatten().flatten().collect()
    }

    /// The relations that a statement names, each as an expression that gives its number.
    fn names(&self, statement: &Statement) -> Vec<String> {
        let actions = actions(
            &statement.text,
            self.version,
            &mut |_, _| None,
            &mut Proofs::default(),
        );
        let mut names: Vec<String> = actions
            .iter()
            .flat_map(|action| &action.locks)
            .map(|lock| format!("to_regclass({})::oid", quote_literal(&lock.name)))
            .collect();
        names.sort();
        names.dedup();
        names
    }

    /// The file of each relation that the statement names, and of its indexes.
    fn files(&mut self, names: &[String]) -> Result<BTreeMap<String, (String, String)>, Error> {
        if names.is_empty() {
            return Ok(BTreeMap::new());
        }
        let names = names.join(", ");
        let sql = format!(
            "SELECT c.oid, c.oid::regclass::text, pg_relation_filenode(c.oid) FROM pg_class AS c \
             WHERE c.oid = ANY (ARRAY[{names}]) \
             OR c.oid IN (SELECT indexrelid FROM pg_index WHERE indrelid = ANY (ARRAY[{names}]))"
        );
        let rows = self.session.query(&sql)?.rows;
        let of = |row: Vec<Option<String>>| {
            let mut row = row.into_iter();
            let mut next = || row.next().flatten();
            Some((next()?, (next()?, next()?)))
        };
        Ok(rows.into_iter().filter_map(of).collect())
    }

    fn wal(&mut self) -> Option<u128> {
        let sql = "SELECT pg_wal_lsn_diff(pg_current_wal_insert_lsn(), '0/0')";
        self.session
            .query_one_value(sql)
            .ok()
            .flatten()?
            .parse()
            .ok()
    }

    fn statement(&mut self, statement: &Statement, run: &mut MigrationRun) -> Result<(), Error> {
        let names = self.names(statement);
        let files = self.files(&names)?;
        let named = files
            .iter()
            .map(|(oid, (name, _))| (oid.clone(), name.clone()));
        self.named.extend(named);
        let wal = self.wal();
        self.session.take_notices();
        self.watcher.take_waited();
        let mut kept = MigrationStatement {
            file: statement.file.clone(),
            line: statement.line as u64,
            statement: statement.text.clone(),
            began_us: self.at_us(),
            ..MigrationStatement::default()
        };
        let result = if self.control.is_over() {
            Err(Error::Usage(OVER.to_owned()))
        } else {
            self.session.simple_query(&statement.text)
        };
        kept.ended_us = self.at_us();
        kept.held_until_us = kept.ended_us;
        kept.waited_us = self.watcher.take_waited().as_micros() as u64;
        kept.says = self.said();
        let Err(error) = result else {
            let after = self.files(&names)?;
            kept.wal_bytes = wal.and_then(|wal| u64::try_from(self.wal()? - wal).ok());
            // TRUNCATE has a new file, and no rows in it.
            let is_truncate = statement
                .text
                .trim_start()
                .to_ascii_lowercase()
                .starts_with("truncate");
            let changed = after.iter().filter(|(oid, (_, file))| {
                files.get(*oid).is_some_and(|(_, before)| before != file) && !is_truncate
            });
            kept.rewritten = changed.map(|(_, (name, _))| name.clone()).collect();
            run.statements.push(kept);
            return Ok(());
        };
        kept.error = Some(error.to_string());
        run.statements.push(kept);
        Err(error)
    }

    /// What the server said: of rows by its messages for developers, and all that it says to users.
    fn said(&mut self) -> Vec<String> {
        let notices = self.session.take_notices();
        let is_of_rows = |text: &str| {
            // That of what is new has no rows.
            !text.contains("pg_toast") && WORDS_OF_ROWS.iter().any(|words| text.contains(words))
        };
        let notices = notices.iter().filter(|notice| {
            !notice.severity().starts_with("DEBUG") || is_of_rows(notice.message())
        });
        notices.map(|notice| notice.message().to_owned()).collect()
    }

    fn at_us(&self) -> u64 {
        self.began.elapsed().as_micros() as u64
    }
}
