//! The totals of a trial beside what its seconds and threads come to: for those who check what is kept.

use pgdyno_drive::record::Recording;

use crate::db::{self, Db, Optional, Value};
use crate::query::Cell;
use crate::schema::VERSION;
use crate::schema::ddl::{self, On};
use crate::{Store, end};
use pgdyno_model::{Failure, State};

/// A total of a trial.
#[derive(Debug, Clone, PartialEq)]
pub struct Total {
    /// The column of the table `trial_ended`.
    pub name: String,
    /// As it is kept.
    pub kept: Cell,
    /// What it comes to.
    pub recomputed: Cell,
}

impl Store {
    /// The totals of a trial, each as it is kept and as it comes to: `recording` is what was read of the trial.
    /// None of a trial that has not ended.
    ///
    /// # Errors
    /// The store cannot be read.
    pub fn totals(&self, number: i64, recording: &Recording) -> Result<Vec<Total>, Failure> {
        let read = || -> db::Result<Vec<Total>> {
            let sql = "SELECT state FROM trial_ended WHERE trial = ?";
            let state = self.db.query_row(sql, [number], |row| row.get(0));
            let Some(state): Option<String> = state.optional()? else {
                return Ok(Vec::new());
            };
            let mut columns = end::figures(&recording.measured);
            // Of one that was cut off, threads and intervals were never known.
            if matches!(
                State::from_name(&state),
                Some(State::Complete | State::Partial)
            ) {
                columns.extend(end::of_threads(recording));
                columns.extend(end::interval(recording));
            }
            let kept = kept(&self.db, number, &columns)?;
            let both = columns.into_iter().zip(kept);
            let totals = both.map(|((name, value), kept)| Total {
                name,
                kept: kept.into(),
                recomputed: value.into(),
            });
            Ok(totals.collect())
        };
        read().map_err(self.failed("cannot read"))
    }

    /// The tables and views of this file that are not as pgdyno makes them, by name: what a query finds there
    /// may be anything. Nothing is known of those of another version.
    ///
    /// # Errors
    /// The store cannot be read.
    pub fn foreign_tables(&self) -> Result<Vec<String>, Failure> {
        let Db::File(connection) = &self.db else {
            return Ok(Vec::new());
        };
        if self.version != VERSION {
            return Ok(Vec::new());
        }
        let read = || -> rusqlite::Result<Vec<String>> {
            let own = rusqlite::Connection::open_in_memory()?;
            own.execute_batch(&ddl::create(On::Sqlite).join(";\n"))?;
            let (own, found) = (schema(&own)?, schema(connection)?);
            let differs = own.iter().filter(|one| !found.contains(one));
            let more = found.iter().filter(|one| !own.contains(one));
            let mut names: Vec<String> =
                differs.chain(more).map(|(name, _)| name.clone()).collect();
            names.sort();
            names.dedup();
            Ok(names)
        };
        read().map_err(|e| self.failed("cannot read")(e.into()))
    }
}

/// Names and texts of what is there; what SQLite makes for itself is left out.
fn schema(connection: &rusqlite::Connection) -> rusqlite::Result<Vec<(String, String)>> {
    let sql = "SELECT name, coalesce(sql, '') FROM sqlite_schema WHERE name NOT LIKE 'sqlite\\_%' ESCAPE '\\'";
    let mut select = connection.prepare(sql)?;
    let rows = select.query_map([], |row| Ok((row.get(0)?, row.get(1)?)))?;
    rows.collect()
}

fn kept(db: &Db, number: i64, columns: &end::Columns) -> db::Result<Vec<Value>> {
    let names: Vec<&str> = columns.iter().map(|(name, _)| name.as_str()).collect();
    let sql = format!(
        "SELECT {} FROM trial_ended WHERE trial = ?",
        names.join(", ")
    );
    db.query_row(&sql, [number], |row| {
        (0..names.len()).map(|at| row.value(at)).collect()
    })
}
