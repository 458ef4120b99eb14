//! Events of a trial, in the order in which they are reported.

use crate::db::{self, Db, Optional, Sql, params};

/// Adds one.
///
/// # Errors
/// The store cannot be written.
pub fn tell(db: &Db, number: i64, at_us: impl Sql, kind: &str, text: &str) -> db::Result<()> {
    let sql = "INSERT INTO event (trial, event, at_us, kind, text) VALUES (?1, \
               (SELECT coalesce(max(event) + 1, 0) FROM event WHERE trial = ?1), ?2, ?3, ?4)";
    db.execute(sql, params![number, at_us, kind, text])
        .map(|_| ())
}

/// The text of the only one of a kind.
///
/// # Errors
/// The store cannot be read.
pub fn text_of(db: &Db, number: i64, kind: &str) -> db::Result<Option<String>> {
    let sql = "SELECT text FROM event WHERE trial = ? AND kind = ? ORDER BY event";
    db.query_row(sql, params![number, kind], |row| row.get(0))
        .optional()
}
