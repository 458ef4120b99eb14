//! The tables of a notebook on a server: made once by `pgdyno store init`, and checked by every process
//! who opens it.

use uuid::Uuid;

use super::{VERSION, ddl};
use crate::db::{Db, Error, Result};

/// What tells a notebook from others, and the version of its tables. Written last: a notebook without it
/// is not complete.
const NOTEBOOK: &str = "CREATE TABLE IF NOT EXISTS notebook (
    uuid TEXT PRIMARY KEY,
    version BIGINT NOT NULL,
    created TEXT NOT NULL
)";

/// A notebook on a server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Notebook {
    pub uuid: String,
    pub version: i64,
}

/// The notebook that is there; `None` where there is none.
///
/// # Errors
/// There is no way to the server, or it refuses.
pub fn find(db: &Db) -> Result<Option<Notebook>> {
    let mut found = None;
    let read = db.each(
        "SELECT uuid, version FROM notebook ORDER BY created, uuid LIMIT 1",
        [0; 0],
        |row| {
            found = Some(Notebook {
                uuid: row.get(0)?,
                version: row.get(1)?,
            });
            Ok(())
        },
    );
    match read {
        // undefined_table
        Err(Error::Server(e)) if e.sqlstate() == Some("42P01") => Ok(None),
        read => read.map(|()| found),
    }
}

/// Makes the tables that lack. Whether there was no notebook before.
///
/// # Errors
/// As [`find`].
pub fn init(db: &Db, created: &str) -> Result<bool> {
    if find(db)?.is_some() {
        return Ok(false);
    }
    db.execute_batch(NOTEBOOK)?;
    for statement in ddl::create(ddl::On::Server) {
        db.execute_batch(&statement)?;
    }
    let insert = "INSERT INTO notebook VALUES (?, ?, ?)";
    let row = crate::db::params![Uuid::new_v4().to_string(), VERSION, created];
    db.execute(insert, row)?;
    Ok(true)
}
