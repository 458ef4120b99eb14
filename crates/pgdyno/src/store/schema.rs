//! Making the tables, and bringing those of an older pgdyno up to date.

use std::path::Path;

use rusqlite::{Connection, TransactionBehavior};

use super::{place, trouble};
use pgdyno_model::Failure;

/// What leads from each version to the next, in order; the first makes an empty file a store.
/// Never change one that was released: append.
const MIGRATIONS: &[&str] = &[
    include_str!("schema.sql"),
    include_str!("retries.sql"),
    include_str!("endpoints.sql"),
    include_str!("observed.sql"),
    include_str!("units.sql"),
    include_str!("lags.sql"),
];

/// The version that this pgdyno reads and writes (`PRAGMA user_version`).
pub const VERSION: usize = MIGRATIONS.len();

/// Brings the tables up to date.
///
/// # Errors
/// The store is of a newer pgdyno, or cannot be written.
pub fn migrate(connection: &mut Connection, path: &Path) -> Result<(), Failure> {
    let failed = |e: rusqlite::Error| trouble(path, "cannot open", &e);
    if version(connection).map_err(failed)? < VERSION {
        // The tables are made with the rollback journal: the file then has its header, by which it
        // is known to be a store, before anything else happens to it.
        let transaction = connection
            .transaction_with_behavior(TransactionBehavior::Exclusive)
            .map_err(failed)?;
        // Another pgdyno may have done it in the meantime.
        let from = version(&transaction).map_err(failed)?;
        if !is_own_or_empty(&transaction).map_err(failed)? {
            return Err(place::no_store(path));
        }
        for migration in MIGRATIONS.iter().skip(from) {
            transaction.execute_batch(migration).map_err(failed)?;
        }
        let marks = format!(
            "PRAGMA application_id = {}; PRAGMA user_version = {};",
            place::APPLICATION_ID,
            VERSION.max(from)
        );
        transaction.execute_batch(&marks).map_err(failed)?;
        transaction.commit().map_err(failed)?;
    }
    let found = version(connection).map_err(failed)?;
    if found > VERSION {
        let place = path.display();
        let text =
            format!("the store {place} is of a newer pgdyno (version {found} of its tables)");
        return Err(Failure::new(text)
            .detail(format!("this pgdyno knows versions up to {VERSION}"))
            .hint("use the newer pgdyno, or name another file with --store or PGDYNO_STORE"));
    }
    // Several pgdynos read while one writes.
    let journal = connection
        .pragma_update_and_check(None, "journal_mode", "wal", |row| row.get::<_, String>(0));
    journal.map(|_| ()).map_err(failed)
}

/// Whether nobody else's tables are there.
fn is_own_or_empty(connection: &Connection) -> rusqlite::Result<bool> {
    let id: i32 = connection.pragma_query_value(None, "application_id", |row| row.get(0))?;
    let tables = "SELECT count(*) FROM sqlite_schema";
    let tables: u64 = connection.query_row(tables, [], |row| row.get(0))?;
    Ok(id == place::APPLICATION_ID || tables == 0)
}

fn version(connection: &Connection) -> rusqlite::Result<usize> {
    connection.pragma_query_value(None, "user_version", |row| row.get(0))
}
