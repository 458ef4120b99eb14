//! A migration in the middle of a load (`pgdyno lab migrate`): run in its tool's transactions, watched, and
//! undone after the trial.
//!
//! Not for: what its statements are, and their online forms (crate `migration`).

mod copy;
mod runner;
mod standbys;
mod watcher;

use std::path::Path;
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use pgdyno_database::dialect::Product;
use pgdyno_database::open::Target;
use pgdyno_migration::forms::Role;
use pgdyno_migration::{Group, Migration, Proofs, Statement, actions, online};
use pgdyno_model::document::{MigrationRun, TargetKind};
use pgdyno_session::{CancelHandle, Session, quote_literal};
use pgdyno_spec::{
    experiment::{migrate_lab::FORMS, migrate_lab::NAME, migrate_lab::decoded},
    text,
};

use self::runner::{Recipe, Runner, Stopped};
use self::standbys::Standbys;
use self::watcher::Watcher;
use super::catalogue::{self, Entry, Given, Key, Kind, Made, Scene};
use super::own::{Act, Control};
use crate::settings::Journal;

pub use self::copy::Copies;

/// How it is undone.
pub const UNDO: [&str; 4] = ["down", "copy", "command", "none"];
/// A tries' number for `lock-timeout` that comes to about 40 s.
const TRIES: &str = "40";
/// What its sessions call themselves.
const APPLICATION: &str = "pgdyno migrate";
const READER: &str = "pgdyno reader";
/// How long a request to cancel the reader may take.
const CANCEL_LIMIT: Duration = Duration::from_secs(1);

pub(super) static ENTRY: Entry = Entry {
    name: NAME,
    summary: "a migration's file, in its tool's transactions",
    keys: &[
        Key {
            name: "file",
            default: "",
            kind: Kind::Name,
            help: "the file; %20 in place of a space, %25 of %",
        },
        Key {
            name: "form",
            default: FORMS[0],
            kind: Kind::Words(&FORMS),
            help: "as the file has it, with lock_timeout and retries, or with online forms and both",
        },
        Key {
            name: "timeout",
            default: "50ms",
            kind: Kind::Time,
            help: "lock_timeout; longer where an ordinary autovacuum is in the way",
        },
        Key {
            name: "tries",
            default: TRIES,
            kind: Kind::Count,
            help: "tries of each transaction",
        },
        Key {
            name: "reader",
            default: "",
            kind: Kind::Time,
            help: "how long a transaction that has read its tables is in the way",
        },
        Key {
            name: "undo",
            default: UNDO[0],
            kind: Kind::Words(&UNDO),
            help: "by the file's down part, a copy of a private server's database, a command of the user's, or not",
        },
    ],
    needs: &[],
    risks: "what the file does",
    harms: false,
    undone: "as undo says, after the trial",
    lasts: None,
    make,
};

/// The statements of one of [`FORMS`]; `None`: the file has no online form.
///
/// # Errors
/// The server cannot be asked for its version.
pub fn groups(
    migration: &Migration,
    form: &str,
    session: &mut Session,
) -> Result<Option<Vec<Group>>, String> {
    if form != FORMS[2] {
        return Ok(Some(migration.up.clone()));
    }
    let version = version(session)?;
    Ok(online::migration(
        migration,
        version,
        &mut |table, column| column_type(session, table, column),
    ))
}

/// The major version of PostgreSQL.
///
/// # Errors
/// It is another product, or does not say.
pub fn version(session: &Session) -> Result<u32, String> {
    if let Some(product) = Product::reported(session) {
        return Err(format!(
            "migrations are run on PostgreSQL only, not on {}: what its documentation says of the statements: --explain",
            product.title()
        ));
    }
    let version = session.parameter("server_version").and_then(watcher::major);
    version.ok_or_else(|| "the server does not say its version".to_owned())
}

/// The type of a column, as `format_type` has it.
pub fn column_type(session: &mut Session, table: &str, column: &str) -> Option<String> {
    let column = match column
        .strip_prefix('"')
        .and_then(|name| name.strip_suffix('"'))
    {
        Some(quoted) => quoted.replace("\"\"", "\""),
        None => column.to_lowercase(),
    };
    let sql = format!(
        "SELECT format_type(atttypid, atttypmod) FROM pg_attribute WHERE attrelid = to_regclass({}) \
         AND attname = {} AND attnum > 0",
        quote_literal(table),
        quote_literal(&column)
    );
    let row = session.query(&sql).ok()?.rows.into_iter().next()?;
    row.into_iter().next().flatten()
}

struct Migrate {
    target: Target,
    migration: Migration,
    groups: Vec<Group>,
    form: String,
    version: u32,
    recipe: Option<Recipe>,
    reader: Option<Duration>,
    undo: String,
    /// Whether something of it may be committed.
    may_be_committed: bool,
    journal: Option<Journal>,
}

fn make(scene: &Scene<'_>, given: &Given) -> Made {
    let migration = pgdyno_migration::read(Path::new(&decoded(given.text("file"))))?;
    let mut session = catalogue::connect(scene.target)?;
    let form = given.text("form").to_owned();
    let groups = groups(&migration, &form, &mut session)?;
    let groups = groups.ok_or("no statement of it has an online form")?;
    let undo = given.text("undo").to_owned();
    if undo == UNDO[0] && migration.down.is_none() {
        return Err("the file has no down part, and no down file is beside it".to_owned());
    }
    if undo == UNDO[1] && scene.target.kind != TargetKind::Own {
        return Err("a database is copied on a private server only".to_owned());
    }
    let reader = given.time("reader");
    Ok(Box::new(Migrate {
        target: scene.target.clone(),
        version: version(&session)?,
        migration,
        groups,
        recipe: (form != FORMS[0]).then(|| Recipe {
            lock_timeout: given.time("timeout"),
            tries: given.count("tries"),
        }),
        form,
        reader: (!reader.is_zero()).then_some(reader),
        undo,
        may_be_committed: false,
        journal: None,
    }))
}

impl Migrate {
    /// What pgdyno does itself, after kill -9, for a server that goes on: `pgdyno restore` undoes what was
    /// committed, or says that it is to be undone by hand.
    fn write_down(&mut self, session: &mut Session) -> Result<(), String> {
        if self.target.kind == TargetKind::Own {
            return Ok(());
        }
        self.journal = Some(catalogue::journal(&self.target, session)?);
        Ok(())
    }
}

/// The statement that undoes a migration whose pgdyno was killed: where the transaction of this number was
/// committed, the down part; without one, or for a statement in no transaction, it is refused by name.
fn undo_of_killed(
    migration: &Migration,
    by_down: bool,
    number: Option<&str>,
    statement: &Statement,
) -> String {
    let file = migration.path.display();
    let place = statement.place();
    let down = migration
        .down
        .iter()
        .flatten()
        .flat_map(|group| &group.statements);
    let down: Vec<&Statement> = down.collect();
    let is_in_transaction = !down.is_empty() && !down.iter().any(|it| it.refuses_transactions());
    let texts: Vec<String> = down
        .iter()
        .map(|it| format!("EXECUTE {};", quote_literal(&it.text)))
        .collect();
    let by_hand = |what: &str| {
        let text = format!(
            "the migration {file} was interrupted, and {what}: check the database and undo it by hand"
        );
        format!("RAISE EXCEPTION USING MESSAGE = {};", quote_literal(&text))
    };
    let body = match number {
        Some(number) => {
            let undo = if by_down && is_in_transaction {
                texts.concat()
            } else {
                by_hand(&format!("what it did up to {place} is committed"))
            };
            // Documented (functions-info): of a transaction that is too old it is NULL.
            format!(
                "IF pg_xact_status({}::xid8) IS DISTINCT FROM 'aborted' THEN {undo} END IF;",
                quote_literal(number)
            )
        }
        None => by_hand(&format!(
            "whether {place}, which is in no transaction, is done is not known"
        )),
    };
    format!("DO {} ", quote_literal(&format!("BEGIN {body} END")))
}

impl Act for Migrate {
    fn run(&mut self, control: &Control) -> Result<(), String> {
        let mut session = named(catalogue::connect(&self.target)?, APPLICATION)?;
        session
            .simple_query("SET client_min_messages = debug1")
            .map_err(|e| e.to_string())?;
        let mut eye = catalogue::connect(&self.target.administration())?;
        eye = named(eye, APPLICATION)?;
        self.write_down(&mut session)?;
        let standbys = Standbys::start(
            &self.target,
            catalogue::connect(&self.target.administration())?,
        );
        let reader = self.reader.map(|time| self.read(time)).transpose()?;
        let began = Instant::now();
        let watcher = Watcher::start(eye, session.backend_pid(), began)?;
        control.cancels(Some(session.cancel_handle()));
        let mut run = MigrationRun {
            file: self.migration.path.display().to_string(),
            tool: self.migration.tool.words().to_owned(),
            form: self.form.clone(),
            ..MigrationRun::default()
        };
        let (journal, migration) = (&mut self.journal, &self.migration);
        let (may_be_committed, by_down) = (&mut self.may_be_committed, self.undo == UNDO[0]);
        let mut is_noted = false;
        let mut before_commit = |number: Option<&str>, statement: &Statement| {
            *may_be_committed = true;
            let Some(journal) = journal
                .as_mut()
                .filter(|_| !std::mem::replace(&mut is_noted, true))
            else {
                return Ok(());
            };
            let undo = undo_of_killed(migration, by_down, number, statement);
            journal.note_undo(&undo).map_err(|e| e.message)
        };
        let mut runner = Runner {
            session,
            watcher: &watcher,
            control,
            began,
            version: self.version,
            recipe: self.recipe,
            before_commit: &mut before_commit,
            committed: 0,
            named: std::collections::BTreeMap::new(),
        };
        let result = runner.run(&self.groups, &mut run);
        let committed = runner.committed;
        drop(runner);
        control.cancels(None);
        watcher.end(&mut run);
        drop(reader);
        let took = text::time(began.elapsed().as_micros() as f64).to_string();
        if let Some(standbys) = standbys {
            run.standbys = standbys.end(&|| control.is_over());
        }
        // What was rolled back needs no undo.
        self.may_be_committed &=
            committed > 0 || run.statements.iter().any(|it| !it.locks_are_whole);
        run.is_done = result.is_ok();
        let result = match result {
            Ok(()) => {
                control.say(format_args!("committed in {took}{}", waits(&run)));
                Ok(())
            }
            // That it does not get through is what was to be found out.
            Err(Stopped::GaveUp { why, left }) => {
                control.say(format_args!("{why}; {left}{}", waits(&run)));
                (run.error, run.left) = (Some(why), Some(left));
                Ok(())
            }
            Err(Stopped::Failed { why, left }) => {
                let text = format!("{why}; {left}");
                (run.error, run.left) = (Some(why), Some(left));
                Err(text)
            }
        };
        control.keep(run);
        result
    }

    fn undo(&mut self) -> Result<Option<String>, String> {
        let journal = self.journal.take();
        if self.may_be_committed && self.undo == UNDO[0] {
            // If it fails, it stays written down: pgdyno restore tries again, and says what is left.
            self.run_down()?;
        }
        journal
            .map_or(Ok(()), Journal::remove)
            .map_err(|e| e.message)?;
        let by_down = self.may_be_committed && self.undo == UNDO[0];
        Ok(by_down.then(|| format!("ran the down part of {}", self.migration.path.display())))
    }
}

impl Migrate {
    fn run_down(&self) -> Result<(), String> {
        let file = self.migration.path.display();
        let failed = |why: String| format!("the down part of {file}: {why}; undo it by hand");
        let session = catalogue::connect_again(&self.target).map_err(failed)?;
        let mut session = named(session, APPLICATION).map_err(failed)?;
        session.set_answer_timeout(Some(catalogue::UNDO_LIMIT * 10));
        for group in self.migration.down.iter().flatten() {
            let begin = group.begin.iter().map(String::as_str);
            let statements = group.statements.iter().map(|it| it.text.as_str());
            let end = group.begin.iter().map(|_| group.end.as_str());
            for statement in begin.chain(statements).chain(end) {
                session
                    .simple_query(statement)
                    .map_err(|e| failed(format!("{}: {e}", watcher::one_line(statement))))?;
            }
        }
        Ok(())
    }

    /// Begins to read the tables that the migration is about, and is in the way for so long.
    fn read(&self, time: Duration) -> Result<Reader, String> {
        let mut session = named(catalogue::connect(&self.target)?, READER)?;
        let mut tables: Vec<String> = Vec::new();
        for statement in self.migration.statements() {
            let actions = actions(
                &statement.text,
                self.version,
                &mut |_, _| None,
                &mut Proofs::default(),
            );
            for lock in actions.into_iter().flat_map(|action| action.locks) {
                let is_table =
                    !matches!(lock.role, Role::Index | Role::TableOfIndex | Role::Sequence);
                if is_table && !tables.contains(&lock.name) {
                    tables.push(lock.name);
                }
            }
        }
        session.simple_query("BEGIN").map_err(|e| e.to_string())?;
        let mut has_read = false;
        for table in tables {
            let is_there = format!("SELECT to_regclass({}) IS NOT NULL", quote_literal(&table));
            let is_there = session
                .query_one_value(&is_there)
                .map_err(|e| e.to_string())?;
            if is_there.as_deref() == Some("t") {
                let read = format!("SELECT 1 FROM {table} LIMIT 1");
                session.simple_query(&read).map_err(|e| e.to_string())?;
                has_read = true;
            }
        }
        if !has_read {
            return Err("there is no table that a reader could be in the way at".to_owned());
        }
        let cancel = session.cancel_handle();
        let thread = thread::Builder::new().name("disturb.reader".to_owned());
        let read = format!("SELECT pg_sleep({})", time.as_secs_f64());
        let thread = thread.spawn(move || {
            // Cancelled when the migration is over.
            let _ = session.simple_query(&read);
        });
        Ok(Reader {
            cancel,
            thread: thread.map(Some).map_err(|e| e.to_string())?,
        })
    }
}

/// A transaction that is in the way; ended when dropped.
struct Reader {
    cancel: CancelHandle,
    thread: Option<JoinHandle<()>>,
}

impl Drop for Reader {
    fn drop(&mut self) {
        if let Some(thread) = self.thread.take() {
            if !thread.is_finished() {
                let _ = self.cancel.cancel_within(CANCEL_LIMIT);
            }
            let _ = thread.join();
        }
    }
}

fn named(mut session: Session, name: &str) -> Result<Session, String> {
    let set = format!("SET application_name = {}", quote_literal(name));
    session.simple_query(&set).map_err(|e| e.to_string())?;
    Ok(session)
}

/// Whom it waited for and who waited behind it, for people.
fn waits(run: &MigrationRun) -> String {
    let mut words = String::new();
    if let Some(holder) = run.holder() {
        let time = text::time(run.waited_us() as f64);
        words.push_str(&format!("; it waited {time}, for {}", holder.words()));
    }
    if run.victims_total > 0 {
        words.push_str(&format!(
            "; {} waited behind it, {} at most at once, the longest {}",
            text::plural(run.victims_total, "session"),
            run.queue_max(),
            text::time(run.longest_wait_us() as f64)
        ));
    }
    words
}

#[cfg(test)]
mod tests;
