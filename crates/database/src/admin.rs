//! Short questions to the server on an administrative session.

use pgdyno_session::{Error, Session};

/// The rows that `sql`, one statement, returns.
pub fn rows(session: &mut Session, sql: &str) -> Result<Vec<Vec<Option<String>>>, Error> {
    Ok(session.query(sql)?.rows)
}

/// The first value of the first row; `None` when there is no row or it is NULL.
pub fn value(session: &mut Session, sql: &str) -> Result<Option<String>, Error> {
    let first = rows(session, sql)?.into_iter().next();
    Ok(first.and_then(|row| row.into_iter().next()).flatten())
}

/// Runs `sql` for its effect.
pub fn run(session: &mut Session, sql: &str) -> Result<(), Error> {
    session.simple_query(sql).map(drop)
}
