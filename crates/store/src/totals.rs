//! The totals of a trial beside what its seconds and threads come to: for those who check what is kept.

use std::collections::BTreeSet;

use pgdyno_measurement::Recording;

use crate::db::{self, Db, Optional, Value};
use crate::query::Cell;
use crate::schema::VERSION;
use crate::schema::ddl::{self, On};
use crate::{Store, analysis, end};
use pgdyno_model::State;
use pgdyno_spec::Failure;

/// A total of a trial.
#[derive(Debug, Clone, PartialEq)]
pub struct Total {
    /// The column of the table `trial_ended`.
    pub name: String,
    pub kept: Cell,
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
            let kept = stored_row(&self.db, number, &columns)?;
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

    /// What this file has that is not as pgdyno makes it, by name: what a query finds there may be anything.
    /// Another version of pgdyno may have other tables, but no virtual ones, no triggers, and no views that this
    /// one does not know.
    ///
    /// # Errors
    /// The store cannot be read.
    pub fn foreign_tables(&self) -> Result<Vec<String>, Failure> {
        let Db::File(connection) = &self.db else {
            return Ok(Vec::new());
        };
        let read = || -> rusqlite::Result<Vec<String>> {
            let mut found = schema(connection)?;
            found.retain(|one| !one.is_for_analysis());
            let mut least: Option<BTreeSet<String>> = None;
            for own in [On::Sqlite, On::Waiting].map(own_schema) {
                let differs = own.difference(&found).filter(|_| self.version == VERSION);
                let more = found.difference(&own);
                let more = more.filter(|one| self.version == VERSION || !one.is_plain());
                let names: BTreeSet<String> =
                    differs.chain(more).map(|one| one.name.clone()).collect();
                if least.as_ref().is_none_or(|least| names.len() < least.len()) {
                    least = Some(names);
                }
            }
            Ok(least.unwrap_or_default().into_iter().collect())
        };
        read().map_err(|e| self.failed("cannot read")(e.into()))
    }
}

/// A table, view, index or trigger of a file.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Made {
    kind: String,
    name: String,
    /// The table that it is of.
    of: String,
    sql: String,
}

impl Made {
    /// What a statement makes: `CREATE TABLE name (`, `CREATE VIEW name AS`, `CREATE [UNIQUE] INDEX name ON table (`.
    fn by(sql: String) -> Made {
        let mut words = sql
            .split([' ', '(', '\n'])
            .filter(|word| !matches!(*word, "" | "CREATE" | "UNIQUE" | "ON"));
        let mut word = || words.next().unwrap_or_default().to_owned();
        let (kind, name) = (word().to_ascii_lowercase(), word());
        let of = match kind.as_str() {
            "index" => word(),
            _ => name.clone(),
        };
        Made {
            kind,
            name,
            of,
            sql,
        }
    }

    /// Whether it is a plain table that an export added.
    fn is_for_analysis(&self) -> bool {
        self.kind == "table" && self.is_plain() && analysis::NAMES.contains(&self.name.as_str())
    }

    /// Whether reading it does nothing else.
    fn is_plain(&self) -> bool {
        let is_virtual = self.sql.to_ascii_lowercase().contains("virtual");
        matches!(self.kind.as_str(), "table" | "index") && !is_virtual
    }
}

/// What pgdyno makes there. Each command asks: to have SQLite make it would take longer than all else that
/// opening a file does.
fn own_schema(on: On) -> BTreeSet<Made> {
    ddl::create(on).into_iter().map(Made::by).collect()
}

/// What is there, without what SQLite makes for itself: indexes of keys, which have no text, and statistics.
fn schema(connection: &rusqlite::Connection) -> rusqlite::Result<BTreeSet<Made>> {
    let sql = "SELECT type, name, tbl_name, coalesce(sql, '') FROM sqlite_schema \
               WHERE NOT (type = 'index' AND sql IS NULL) \
               AND NOT (type = 'table' AND name IN ('sqlite_stat1', 'sqlite_stat4', 'sqlite_sequence'))";
    let mut select = connection.prepare(sql)?;
    let rows = select.query_map([], |row| {
        Ok(Made {
            kind: row.get(0)?,
            name: row.get(1)?,
            of: row.get(2)?,
            sql: row.get(3)?,
        })
    })?;
    rows.collect()
}

fn stored_row(db: &Db, number: i64, columns: &end::Columns) -> db::Result<Vec<Value>> {
    let names: Vec<&str> = columns.iter().map(|(name, _)| name.as_str()).collect();
    let sql = format!(
        "SELECT {} FROM trial_ended WHERE trial = ?",
        names.join(", ")
    );
    db.query_row(&sql, [number], |row| {
        (0..names.len()).map(|at| row.value(at)).collect()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_expected_is_what_sqlite_makes() {
        for on in [On::Sqlite, On::Waiting] {
            let made = rusqlite::Connection::open_in_memory().unwrap();
            made.execute_batch(&ddl::create(on).join(";\n")).unwrap();
            assert_eq!(own_schema(on), schema(&made).unwrap());
        }
    }
}
