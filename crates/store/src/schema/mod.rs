//! Making the tables of a file, and knowing those of another build.

pub mod ddl;
pub mod server;

use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};

use rusqlite::{Connection, ErrorCode, TransactionBehavior};

use super::{BUSY_LIMIT, place, trouble};
use ddl::On;
use pgdyno_spec::Failure;

/// The version that this pgdyno reads and writes (`PRAGMA user_version`, on a server the table `notebook`).
/// Before the first package tables change without leading from one version to the next.
pub const VERSION: i64 = 1;
/// Between two attempts at a file that another process has locked.
const BUSY_PAUSE: Duration = Duration::from_millis(10);

/// Makes the tables of an empty file. Gives the version of those that are there.
///
/// # Errors
/// The store is of another build of pgdyno, or cannot be written.
pub fn set_up(connection: &mut Connection, path: &Path, on: On) -> Result<i64, Failure> {
    let failed = |e: rusqlite::Error| trouble(path, "cannot open", &e.into());
    if version(connection).map_err(failed)? == 0 {
        // The tables are made with the rollback journal: the file then has its header, by which it
        // is known to be a store, before anything else happens to it.
        let transaction = connection
            .transaction_with_behavior(TransactionBehavior::Exclusive)
            .map_err(failed)?;
        // Another pgdyno may have done it in the meantime.
        if version(&transaction).map_err(failed)? == 0 {
            if !is_empty(&transaction).map_err(failed)? {
                return Err(place::no_store(path));
            }
            let tables = ddl::create(on).join(";\n");
            transaction.execute_batch(&tables).map_err(failed)?;
            let marks = format!(
                "PRAGMA application_id = {}; PRAGMA user_version = {VERSION};",
                place::APPLICATION_ID,
            );
            transaction.execute_batch(&marks).map_err(failed)?;
        }
        transaction.commit().map_err(failed)?;
    }
    let found = version(connection).map_err(failed)?;
    if found > VERSION {
        return Ok(found);
    }
    keep_a_journal_ahead(connection).map_err(failed)?;
    Ok(found)
}

/// Several pgdynos read while one writes.
///
/// SQLite first reads in which mode the file is and then locks it, and a reader that wants to write does not
/// wait for another one that does (`sqlite3BtreeBeginTrans` calls the busy handler only where no transaction is
/// open). So the wait of processes that open a new file at the same time is here.
fn keep_a_journal_ahead(connection: &Connection) -> rusqlite::Result<()> {
    let began = Instant::now();
    loop {
        let set = connection
            .pragma_update_and_check(None, "journal_mode", "wal", |row| row.get::<_, String>(0));
        let is_busy = |e: &rusqlite::Error| e.sqlite_error_code() == Some(ErrorCode::DatabaseBusy);
        match set {
            Err(e) if is_busy(&e) && began.elapsed() < BUSY_LIMIT => thread::sleep(BUSY_PAUSE),
            set => return set.map(drop),
        }
    }
}

/// Nothing is written into tables that are newer than this pgdyno.
pub fn too_new(place: &str, found: i64) -> Failure {
    let text = format!("the store {place} is of a newer pgdyno (version {found} of its tables)");
    Failure::new(text)
        .detail(format!(
            "this pgdyno knows version {VERSION}: it reads what it knows and writes nothing"
        ))
        .hint("use the newer pgdyno, or name another store with --store or PGDYNO_STORE")
}

/// Whether no foreign tables are there.
fn is_empty(connection: &Connection) -> rusqlite::Result<bool> {
    let tables = "SELECT count(*) FROM sqlite_schema";
    let tables: u64 = connection.query_row(tables, [], |row| row.get(0))?;
    Ok(tables == 0)
}

fn version(connection: &Connection) -> rusqlite::Result<i64> {
    connection.pragma_query_value(None, "user_version", |row| row.get(0))
}
