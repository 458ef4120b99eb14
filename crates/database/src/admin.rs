//! Short questions to the server on an administrative session.

use std::collections::BTreeMap;

use pgdyno_model::Fact;
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

/// Counters by their names, as `sql` returns them: a name and a number a row. Rows with another shape
/// are left out.
pub fn counters(session: &mut Session, sql: &str) -> Fact<BTreeMap<String, u64>> {
    let rows = match rows(session, sql) {
        Ok(rows) => rows,
        Err(error) => return Fact::Unknown(error.to_string()),
    };
    let counted = rows.into_iter().filter_map(|row| {
        let mut row = row.into_iter().flatten();
        Some((row.next()?, row.next()?.parse().ok()?))
    });
    Fact::Known(counted.collect())
}

/// Runs `sql` for its effect.
pub fn run(session: &mut Session, sql: &str) -> Result<(), Error> {
    session.simple_query(sql).map(drop)
}
