//! The notebook: one SQLite file in which every trial is kept, second by second, with all that a
//! reader must know to believe it years later. Its tables are documented in `docs/store.md`.
//!
//! - [`Store::open`] opens it, and finds trials whose pgdyno has died.
//! - [`Store::begin`] gives a [`TrialWriter`], an observer of the trial.
//! - [`Store::trials`], [`Store::trial`], [`Store::latencies`], [`Store::seconds`],
//!   [`Store::outcome`] read.
//!
//! Not for: figures over several trials (plan), how anything looks (report).

mod accounting;
mod begin;
mod client_time;
pub mod columns;
mod end;
mod endpoints;
mod engine;
mod exchange;
mod foreign;
mod happened;
mod key_skew;
mod marks;
mod notebook;
mod observed;
mod outcome;
mod packed;
pub mod place;
mod query;
mod schema;
mod seconds;
mod stalls;
#[cfg(test)]
mod tests;
mod trials;
mod units;
mod warmup;
mod worst;
mod writer;

use std::path::{Path, PathBuf};
use std::time::Duration;

use rusqlite::{Connection, ErrorCode, OpenFlags};

pub use begin::example;
pub use exchange::Copied;
pub use foreign::{ForeignExperiment, ForeignStatement, ForeignTrial};
pub use query::Cell;
pub use writer::TrialWriter;

use pgdyno_model::Failure;
use place::{Found, Opening};

/// How long to wait for another pgdyno that writes: its transactions take milliseconds, at the
/// end of a trial perhaps as long as the disk needs to sync.
const BUSY_LIMIT: Duration = Duration::from_secs(30);

/// An open store.
pub struct Store {
    connection: Connection,
    path: PathBuf,
}

impl Store {
    /// Opens the store at this path, and makes one where there is nothing. Trials that are marked
    /// as running and whose process is gone become aborted.
    ///
    /// # Errors
    /// The file is no store, is of a newer pgdyno, or cannot be written.
    pub fn open(path: &Path) -> Result<Self, Failure> {
        let opening = Opening::begin();
        if opening.look(path)? == Found::Nothing {
            place::create(path)?;
        }
        Self::connect(opening, path, OpenFlags::SQLITE_OPEN_CREATE)
    }

    /// Opens a store that is there, for those who have nothing to put into it.
    ///
    /// # Errors
    /// As [`Store::open`], and when there is none.
    pub fn existing(path: &Path) -> Result<Self, Failure> {
        let opening = Opening::begin();
        match opening.look(path)? {
            Found::Store => Self::connect(opening, path, OpenFlags::empty()),
            Found::Nothing => {
                let text = format!("there is no store at {}", path.display());
                Err(Failure::new(text)
                    .hint("`pgdyno run` makes one; --store or PGDYNO_STORE names another file"))
            }
        }
    }

    fn connect(opening: Opening, path: &Path, create: OpenFlags) -> Result<Self, Failure> {
        let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX | create;
        let opened = Connection::open_with_flags(path, flags);
        let connection = opened.map_err(|e| trouble(path, "cannot open", &e))?;
        let mut store = Self {
            connection,
            path: path.to_owned(),
        };
        store.set_up()?;
        opening.opened(path);
        store.abort_the_dead()?;
        Ok(store)
    }

    fn set_up(&mut self) -> Result<(), Failure> {
        let failed = |e: &rusqlite::Error| trouble(&self.path, "cannot open", e);
        let connection = &mut self.connection;
        connection
            .busy_timeout(BUSY_LIMIT)
            .map_err(|e| failed(&e))?;
        // A store that came from elsewhere brings no functions to be run.
        let pragmas = "PRAGMA trusted_schema = OFF; PRAGMA foreign_keys = ON;";
        connection.execute_batch(pragmas).map_err(|e| failed(&e))?;
        schema::set_up(connection, &self.path)?;
        // The file is synced when trials end, and by nobody else: another trial may be running.
        let pragmas = "PRAGMA wal_autocheckpoint = 0; PRAGMA synchronous = NORMAL;";
        connection.execute_batch(pragmas).map_err(|e| failed(&e))
    }

    /// Checks that it can be written, by writing a page with the content that it already has.
    ///
    /// # Errors
    /// It is read-only, or its disk is full.
    pub fn check_writable(&self) -> Result<(), Failure> {
        let version = schema::VERSION;
        // No need to sync: the end of a trial does.
        let same = format!(
            "PRAGMA synchronous = OFF; BEGIN IMMEDIATE; PRAGMA user_version = {version}; COMMIT; \
             PRAGMA synchronous = NORMAL"
        );
        let written = self.connection.execute_batch(&same);
        written.map_err(self.failed("cannot write to"))
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// A failure of SQLite with the store's name.
    fn failed(&self, what: &str) -> impl Fn(rusqlite::Error) -> Failure + use<> {
        let (path, what) = (self.path.clone(), what.to_owned());
        move |e| trouble(&path, &what, &e)
    }
}

/// A failure of SQLite as the user sees it.
fn trouble(path: &Path, what: &str, error: &rusqlite::Error) -> Failure {
    let place = path.display();
    let failure = Failure::new(format!("{what} the store {place}: {error}"));
    match error.sqlite_error_code() {
        Some(ErrorCode::DatabaseBusy) => failure
            .detail("another process has been writing to it for half a minute")
            .hint("try again, or name another file with --store"),
        Some(ErrorCode::ReadOnly | ErrorCode::CannotOpen | ErrorCode::PermissionDenied) => failure
            .detail("its folder must be writable too: SQLite keeps its journal beside the file")
            .hint("name another file with --store or PGDYNO_STORE"),
        Some(ErrorCode::DiskFull) => {
            failure.hint("make room, or name a file on another disk with --store or PGDYNO_STORE")
        }
        Some(ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase) => failure
            .detail("the file is damaged")
            .hint("move it away, or recover what is in it: sqlite3 FILE .recover"),
        _ => failure,
    }
}
