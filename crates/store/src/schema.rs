//! Making the tables, and knowing those of another build.

use std::path::Path;

use rusqlite::{Connection, TransactionBehavior};

use super::{place, trouble};
use pgdyno_model::Failure;

/// The tables. Before the first package they change without leading from one version to the next.
pub const SCHEMA: &str = include_str!("schema.sql");

/// The version that this pgdyno reads and writes (`PRAGMA user_version`).
pub const VERSION: usize = 1;

/// Makes the tables of an empty file.
///
/// # Errors
/// The store is of another build of pgdyno, or cannot be written.
pub fn set_up(connection: &mut Connection, path: &Path) -> Result<(), Failure> {
    let failed = |e: rusqlite::Error| trouble(path, "cannot open", &e);
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
            transaction.execute_batch(SCHEMA).map_err(failed)?;
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
        let place = path.display();
        let text =
            format!("the store {place} is of a newer pgdyno (version {found} of its tables)");
        return Err(Failure::new(text)
            .detail(format!("this pgdyno knows version {VERSION}"))
            .hint("use the newer pgdyno, or name another file with --store or PGDYNO_STORE"));
    }
    // Several pgdynos read while one writes.
    let journal = connection
        .pragma_update_and_check(None, "journal_mode", "wal", |row| row.get::<_, String>(0));
    journal.map(|_| ()).map_err(failed)
}

/// Whether no one else's tables are there.
fn is_empty(connection: &Connection) -> rusqlite::Result<bool> {
    let tables = "SELECT count(*) FROM sqlite_schema";
    let tables: u64 = connection.query_row(tables, [], |row| row.get(0))?;
    Ok(tables == 0)
}

fn version(connection: &Connection) -> rusqlite::Result<usize> {
    connection.pragma_query_value(None, "user_version", |row| row.get(0))
}
