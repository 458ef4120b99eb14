//! The notebook: every trial, second by second, with all that a reader must know to believe it years
//! later, in one SQLite file or, for a team, in the same tables on a server that speaks PostgreSQL's
//! protocol. Its tables are documented in `docs/store.md`.
//!
//! - [`Store::open`] opens it, and finds trials whose pgdyno has died.
//! - [`Store::begin`] gives a [`TrialWriter`], an observer of the trial. For a server its rows wait in a
//!   file of this host, and a thread takes them there.
//! - [`Store::trials`], [`Store::trial`], [`Store::latencies`], [`Store::seconds`],
//!   [`Store::outcome`] read.
//!
//! Not for: figures over several trials (plan), how anything looks (report).

mod analysis;
mod begin;
mod bulk;
mod client_time;
pub mod columns;
mod courier;
mod db;
mod end;
mod endpoints;
mod engine;
mod exchange;
mod findings;
mod foreign;
mod happened;
mod happening;
mod history;
mod marks;
mod meeting;
mod news;
mod notebook;
mod observed;
mod outcome;
mod packed;
mod part;
pub mod place;
mod query;
mod samples;
mod schema;
mod seconds;
#[cfg(test)]
mod server_tests;
#[cfg(test)]
mod size_tests;
mod slots;
mod stalls;
mod stopping;
#[cfg(test)]
mod tests;
mod texts;
mod thin;
mod totals;
mod trials;
mod units;
mod worst;
mod writer;

use std::path::{Path, PathBuf};
use std::time::Duration;

use rusqlite::limits::Limit;
use rusqlite::{Connection, ErrorCode, OpenFlags};

pub use begin::example;
pub use courier::Pushed;
pub use exchange::Copied;
pub use foreign::{ForeignExperiment, ForeignStatement, ForeignTrial};
pub use history::NOT_KEPT as HISTORY_NOT_KEPT;
pub use query::{Answer, Cell};
pub use totals::Total;
pub use writer::TrialWriter;

use db::{Db, Error, Server};
use pgdyno_model::pooler;
use pgdyno_platform::limits;
use pgdyno_spec::Failure;
use place::{Opening, PathContent};
use schema::ddl::On;
use schema::server::Notebook;

/// How long to wait for another pgdyno that writes: its transactions take milliseconds, at the
/// end of a trial perhaps as long as the disk needs to sync.
const BUSY_LIMIT: Duration = Duration::from_secs(30);

/// No value that pgdyno writes is longer: histories come in pieces of some 200 KiB.
const VALUE_BYTES_MAX: i32 = 32 << 20;

/// A function that is not there, not supported, or not for this user.
const NOT_REPORTED: [&str; 3] = ["42883", "0A000", "42501"];

pub struct Store {
    db: Db,
    place: Place,
    version: i64,
}

enum Place {
    File(PathBuf),
    Server(Remote),
}

/// A store on a server.
#[derive(Clone)]
struct Remote {
    shown: String,
    /// What tells it from others.
    notebook: Notebook,
    /// The file of this host in which rows wait for it.
    waiting: PathBuf,
    /// How long it is waited for before a trial.
    wait: Duration,
}

impl Store {
    /// Opens the store at this path, and makes one where there is nothing. Trials that are marked
    /// as running and whose process is gone become aborted. A path that is a connection string
    /// names a server, on which `pgdyno store init` has made the tables.
    ///
    /// # Errors
    /// What is there is no store, or cannot be opened.
    pub fn open(path: &Path) -> Result<Self, Failure> {
        match place::server(path) {
            Some(url) => Self::on_server(url),
            None => Self::file(path, On::Sqlite),
        }
    }

    /// Opens a store that is there, for those who have nothing to put into it.
    ///
    /// # Errors
    /// As [`Store::open`], and when there is none.
    pub fn existing(path: &Path) -> Result<Self, Failure> {
        let store = Self::unjudged(path)?;
        store.check_tables()?;
        Ok(store)
    }

    /// The same, whatever its tables are: for those who ask [`Store::foreign_tables`] before anything else.
    ///
    /// # Errors
    /// As [`Store::existing`], but for tables that are not pgdyno's.
    pub fn unjudged(path: &Path) -> Result<Self, Failure> {
        if let Some(url) = place::server(path) {
            return Self::on_server(url);
        }
        let opening = Opening::begin();
        match opening.look(path)? {
            PathContent::Store => {
                let (mut store, opening) = Self::connect(opening, path, OpenFlags::empty())?;
                store.set_up(path, On::Sqlite)?;
                opening.opened(path);
                // What is not pgdyno's is not read.
                if store.version == schema::VERSION && store.foreign_tables()?.is_empty() {
                    store.abort_the_dead()?;
                }
                Ok(store)
            }
            PathContent::Nothing => {
                let text = format!("there is no store at {}", path.display());
                Err(Failure::new(text)
                    .hint("`pgdyno run` makes one; --store or PGDYNO_STORE names another file"))
            }
        }
    }

    /// A file, made where there is none.
    fn file(path: &Path, on: On) -> Result<Self, Failure> {
        let opening = Opening::begin();
        if opening.look(path)? == PathContent::Nothing {
            place::create(path)?;
        }
        let (mut store, opening) = Self::connect(opening, path, OpenFlags::SQLITE_OPEN_CREATE)?;
        store.set_up(path, on)?;
        opening.opened(path);
        store.check_tables()?;
        if store.version == schema::VERSION {
            store.abort_the_dead()?;
        }
        Ok(store)
    }

    fn connect(
        opening: Opening,
        path: &Path,
        create: OpenFlags,
    ) -> Result<(Self, Opening), Failure> {
        let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX | create;
        let opened = Connection::open_with_flags(path, flags);
        let connection = opened.map_err(|e| trouble(path, "cannot open", &e.into()))?;
        let store = Self {
            db: Db::File(connection),
            place: Place::File(path.to_owned()),
            version: schema::VERSION,
        };
        Ok((store, opening))
    }

    /// Refuses a file whose tables are not pgdyno's, before anything is read from them: a view, a trigger or a
    /// virtual table may do anything, and take any time.
    fn check_tables(&self) -> Result<(), Failure> {
        let foreign = self.foreign_tables()?;
        let Some(first) = foreign.first() else {
            return Ok(());
        };
        let more = match foreign.len() - 1 {
            0 => String::new(),
            more => format!(", and {more} more"),
        };
        let place = self.place();
        Err(Failure::new(format!(
            "the tables of the store {place} are not pgdyno's: {first:?}{more}"
        ))
        .detail("nothing else of it was read")
        .hint("tables of your own belong into a file of their own, with the notebook attached (sqlite3 ATTACH)")
        .hint("or name another store with --store or PGDYNO_STORE"))
    }

    fn set_up(&mut self, path: &Path, on: On) -> Result<(), Failure> {
        let failed = |e: rusqlite::Error| trouble(path, "cannot open", &e.into());
        let Db::File(connection) = &mut self.db else {
            return Ok(());
        };
        connection.busy_timeout(BUSY_LIMIT).map_err(failed)?;
        connection
            .set_limit(Limit::SQLITE_LIMIT_LENGTH, VALUE_BYTES_MAX)
            .map_err(failed)?;
        // A store that came from elsewhere brings no functions to be run.
        let pragmas =
            "PRAGMA trusted_schema = OFF; PRAGMA cell_size_check = ON; PRAGMA foreign_keys = ON;";
        connection.execute_batch(pragmas).map_err(failed)?;
        self.version = schema::set_up(connection, path, on)?;
        // The file is synced when trials end, and by no other: another trial may be running.
        let pragmas = if self.version <= schema::VERSION {
            "PRAGMA wal_autocheckpoint = 0; PRAGMA synchronous = NORMAL;"
        } else {
            "PRAGMA query_only = ON;"
        };
        connection.execute_batch(pragmas).map_err(failed)
    }

    /// A server on which there is a notebook.
    fn on_server(url: &str) -> Result<Self, Failure> {
        let (db, shown) = connect(url)?;
        let found = schema::server::find(&db);
        let found = found.map_err(|e| trouble_at(&shown, "cannot open", &e))?;
        let notebook = found.ok_or_else(|| {
            Failure::new(format!("there is no notebook at {shown}"))
                .hint(format!("make one: pgdyno store init '{shown}'"))
                .hint("its user must be allowed to create tables there; others need not")
        })?;
        Ok(Self {
            db,
            version: notebook.version,
            place: Place::Server(Remote {
                waiting: place::waiting(&notebook.uuid)?,
                wait: place::wait()?,
                shown,
                notebook,
            }),
        })
    }

    /// Makes a notebook on a server. Whether there was none.
    ///
    /// # Errors
    /// The URL names no server; there is no way to it; it refuses.
    pub fn init(url: &Path) -> Result<(Self, bool), Failure> {
        let Some(url) = place::server(url) else {
            let text = format!("{} names no server", url.display());
            return Err(Failure::with(pgdyno_spec::Exit::Usage, text)
                .hint("a notebook in a file needs no init")
                .hint("a team's: pgdyno store init postgresql://me@host/notes"));
        };
        let (db, shown) = connect(url)?;
        if let Db::Server(server) = &db
            && !server.is_own()
        {
            // A pooler in statement mode takes the tables, and no trial.
            let has_transactions = db.transaction(|_| Ok(()));
            has_transactions.map_err(|e| trouble_at(&shown, "cannot make", &e))?;
        }
        let now = pgdyno_model::stamp::stamp(std::time::SystemTime::now());
        let made = schema::server::init(&db, &now);
        let made = made.map_err(|e| {
            let failure = trouble_at(&shown, "cannot make the tables of", &e);
            match sqlstate(&e) {
                "42501" => failure
                    .hint("the user must own the database or be allowed to create in its schema"),
                _ => failure,
            }
        })?;
        let store = Self::on_server(url).map_err(|failure| {
            if made {
                // Measured: pgpool-II 4.3 does not commit what it receives in the extended protocol without BEGIN.
                Failure::new(format!("{shown} took the notebook's tables and has none"))
                    .hint("a pooler did not commit them: name the server itself")
            } else {
                failure
            }
        })?;
        Ok((store, made))
    }

    /// Refuses to write what a newer pgdyno has made.
    fn check_version(&self) -> Result<(), Failure> {
        if self.version > schema::VERSION {
            Err(schema::too_new(&self.place(), self.version))
        } else {
            Ok(())
        }
    }

    /// Checks that it can be written: a file by writing a page with the content that it already has.
    ///
    /// # Errors
    /// It is read-only, of a newer pgdyno, or its disk is full.
    pub fn check_writable(&self) -> Result<(), Failure> {
        self.check_version()?;
        let version = schema::VERSION;
        if self.path().is_none() {
            return self.check_grants();
        }
        // No need to sync: the end of a trial does.
        let same = format!(
            "PRAGMA synchronous = OFF; BEGIN IMMEDIATE; PRAGMA user_version = {version}; COMMIT; \
             PRAGMA synchronous = NORMAL"
        );
        let written = self.db.execute_batch(&same);
        written.map_err(self.failed("cannot write to"))
    }

    /// Whether this user may add trials.
    fn check_grants(&self) -> Result<(), Failure> {
        // Where the server does not tell, the first row does.
        if self.may("INSERT")? != Some(false) {
            return Ok(());
        }
        let place = self.place();
        Err(
            Failure::new(format!("this user may not write to the store {place}"))
                .hint(
                    "its owner allows it: GRANT SELECT, INSERT ON ALL TABLES IN SCHEMA public TO …",
                )
                .hint("or name another store with --store or PGDYNO_STORE"),
        )
    }

    /// Where it is, for people.
    pub fn place(&self) -> String {
        match &self.place {
            Place::File(path) => path.display().to_string(),
            Place::Server(remote) => remote.shown.clone(),
        }
    }

    /// The file, when it is one.
    pub fn path(&self) -> Option<&Path> {
        match &self.place {
            Place::File(path) => Some(path),
            Place::Server(_) => None,
        }
    }

    /// Checks that a trial is in the file that others open by this store's path: the file that is open here may
    /// have been removed, replaced or cut short.
    ///
    /// # Errors
    /// It is not; says so.
    fn is_found_by_name(&self, number: i64) -> Result<(), Failure> {
        const UUID: &str = "SELECT uuid FROM trial WHERE number = ?1";
        let (Place::File(path), Db::File(own)) = (&self.place, &self.db) else {
            return Ok(());
        };
        let uuid = |of: &Connection| of.query_row(UUID, [number], |row| row.get::<_, String>(0));
        let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let named = Connection::open_with_flags(path, flags).and_then(|named| uuid(&named));
        match (named, uuid(own)) {
            (Ok(named), Ok(own)) if named == own => Ok(()),
            _ => {
                let path = path.display();
                let text =
                    format!("the notebook {path} was removed, replaced or damaged during the run");
                Err(Failure::new(text).hint("--store names another file"))
            }
        }
    }

    fn is_same(&self, other: &Self) -> bool {
        match (&self.place, &other.place) {
            (Place::File(a), Place::File(b)) => {
                let real = |path: &Path| std::fs::canonicalize(path).ok();
                real(a).is_some() && real(a) == real(b)
            }
            (Place::Server(a), Place::Server(b)) => a.notebook.uuid == b.notebook.uuid,
            _ => false,
        }
    }

    /// What this user may do with trials; `None` for each where the server does not tell.
    ///
    /// # Errors
    /// The store cannot be read.
    pub fn grants(&self) -> Result<Vec<(&'static str, Option<bool>)>, Failure> {
        if self.path().is_some() {
            return Ok(Vec::new());
        }
        let rights = ["SELECT", "INSERT", "UPDATE", "DELETE"];
        let ask = |right| Ok((right, self.may(right)?));
        rights.into_iter().map(ask).collect()
    }

    /// Whether this user has a right on the table of trials.
    fn may(&self, right: &str) -> Result<Option<bool>, Failure> {
        let sql = "SELECT has_table_privilege('trial_begun', ?)";
        match self.db.query_row(sql, [right], |row| row.get(0)) {
            // Not every server has the function, nor every user a right to it.
            Err(Error::Server(e))
                if e.sqlstate()
                    .is_some_and(|state| NOT_REPORTED.contains(&state)) =>
            {
                Ok(None)
            }
            asked => asked.map(Some).map_err(self.failed("cannot read")),
        }
    }

    /// A failure with the store's name.
    fn failed(&self, what: &str) -> impl Fn(Error) -> Failure + use<> {
        let (path, place) = (self.path().map(Path::to_owned), self.place());
        let what = what.to_owned();
        move |e| match &path {
            Some(path) => trouble(path, &what, &e),
            None => trouble_at(&place, &what, &e),
        }
    }
}

/// Connects to a server, by libpq's rules; gives also what it is called, without a password.
fn connect(url: &str) -> Result<(Db, String), Failure> {
    let given = pgdyno_session::Given {
        fallback_application_name: Some("pgdyno store".to_owned()),
        ..pgdyno_session::Given::target(url)
    };
    let info = pgdyno_session::resolve(&given, &pgdyno_session::Env::of_process());
    let info = info.map_err(|e| {
        Failure::new(format!("the store's URL cannot be used: {e}"))
            .hint("as psql has it: --store postgresql://me@host/notes, or --store service=notes")
    })?;
    let shown = place::shown(&info);
    let server = Server::connect(info, false, BUSY_LIMIT);
    let server = server.map_err(|e| trouble_at(&shown, "cannot open", &e))?;
    Ok((Db::Server(Box::new(server)), shown))
}

/// A failure of a server as the user sees it.
fn trouble_at(place: &str, what: &str, error: &Error) -> Failure {
    let text = error.to_string();
    let mut lines = text.lines().map(str::trim);
    let first = lines.next().unwrap_or_default();
    let failure = Failure::new(format!("{what} the store {place}: {first}"));
    let failure = lines.fold(failure, Failure::detail);
    let state = sqlstate(error);
    if text.contains(pooler::STATEMENT_MODE) {
        return failure.hint(
            "a notebook needs transactions: pool_mode=transaction, or name the server itself",
        );
    }
    if let Some(way_out) = pooler::way_out(state, &text) {
        return failure.hint(way_out);
    }
    match state {
        "42501" => failure.hint(
            "measuring needs SELECT and INSERT on its tables; notes, tags and exclusions of others' \
             trials also UPDATE and DELETE: pgdyno help store",
        ),
        "53100" => failure.hint("make room on the server that keeps the notebook"),
        _ => failure.hint("name another store with --store or PGDYNO_STORE: a file needs no server"),
    }
}

fn sqlstate(error: &Error) -> &str {
    match error {
        Error::Server(e) => e.sqlstate().unwrap_or_default(),
        _ => "",
    }
}

/// Whether SQLite calls a lack of memory an error of the disk.
fn has_no_memory(error: &Error) -> bool {
    use rusqlite::ffi::{SQLITE_IOERR_MMAP, SQLITE_IOERR_NOMEM, SQLITE_IOERR_SHMMAP};
    let known = [SQLITE_IOERR_MMAP, SQLITE_IOERR_NOMEM, SQLITE_IOERR_SHMMAP];
    let code = match error {
        Error::File(error) => error.sqlite_error().map(|error| error.extended_code),
        _ => None,
    };
    code.is_some_and(|code| known.contains(&code))
}

/// A failure of SQLite as the user sees it.
fn trouble(path: &Path, what: &str, error: &Error) -> Failure {
    let place = path.display();
    let failure = Failure::new(format!("{what} the store {place}: {error}"));
    let code = match error {
        Error::File(error) => error.sqlite_error_code(),
        _ => None,
    };
    match code {
        Some(ErrorCode::DatabaseBusy) => failure
            .detail("another process has been writing to it for half a minute")
            .hint("try again, or name another file with --store"),
        // SQLite does not say this reason; another file shows it.
        Some(ErrorCode::CannotOpen) if limits::are_all_files_open() => failure
            .detail("too many open files")
            .hint(limits::MORE_FILES),
        Some(ErrorCode::ReadOnly | ErrorCode::CannotOpen | ErrorCode::PermissionDenied) => failure
            .detail("its folder must be writable too: SQLite keeps its journal beside the file")
            .hint("name another file with --store or PGDYNO_STORE"),
        Some(ErrorCode::SystemIoFailure) if has_no_memory(error) => failure
            .detail("no memory for the index of its journal")
            .hint("raise the limit on memory (ulimit -v, a container's)"),
        Some(ErrorCode::DiskFull) => {
            failure.hint("make room, or name a file on another disk with --store or PGDYNO_STORE")
        }
        Some(ErrorCode::TooBig) => failure.detail(format!(
            "a value in it is longer than {} MiB: pgdyno wrote none like it",
            VALUE_BYTES_MAX >> 20
        )),
        Some(ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase) => failure
            .detail("the file is damaged")
            .hint("move it away, or recover what is in it: sqlite3 FILE .recover"),
        _ => failure,
    }
}
