//! Trials from one store into another, known by their UUIDs: copying twice adds nothing.

use std::path::Path;

use super::{Store, texts};
use crate::bulk::Rows;
use crate::db::{self, Db, Optional, Value, params};
use crate::schema::ddl::{self, TABLES, Table};
use pgdyno_spec::{Exit, Failure};

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Copied {
    pub trials: usize,
    pub known: usize,
    /// Trials that are running, which are left out.
    pub running: usize,
}

impl Store {
    /// Copies trials, all of them when no number is given, into a new store at `to`.
    ///
    /// # Errors
    /// There is a file already; it cannot be written.
    pub fn export(&self, numbers: Option<&[i64]>, to: &Path) -> Result<Copied, Failure> {
        self.export_and(numbers, to, |_| Ok(()))
    }

    /// The same, with more tables for tools that read no more than rows.
    ///
    /// # Errors
    /// As [`Self::export`].
    pub fn export_with_tables(
        &self,
        numbers: Option<&[i64]>,
        to: &Path,
    ) -> Result<Copied, Failure> {
        self.export_and(numbers, to, Self::add_tables)
    }

    fn export_and(
        &self,
        numbers: Option<&[i64]>,
        to: &Path,
        more: impl Fn(&Self) -> Result<(), Failure>,
    ) -> Result<Copied, Failure> {
        if to.exists() {
            let text = format!("{} exists already", to.display());
            return Err(Failure::with(Exit::Usage, text)
                .hint("export writes a new file; import adds to an existing notebook"));
        }
        let copied = Self::open(to).and_then(|new| {
            let copied = new.copy_from(self, numbers)?;
            more(&new).map(|()| copied)
        });
        if copied.is_err() {
            // Half a notebook, made a moment ago, would be in the way of the next try.
            for end in ["", "-wal", "-shm", "-journal"] {
                let mut file = to.as_os_str().to_owned();
                file.push(end);
                let _ = std::fs::remove_file(file);
            }
        }
        copied
    }

    /// Makes it one file whose bytes depend on nothing but what is in it, and closes it.
    ///
    /// # Errors
    /// It cannot be written, or is no file.
    pub fn seal(self) -> Result<(), Failure> {
        let sealed = self
            .db
            .execute_batch("PRAGMA journal_mode = DELETE; VACUUM");
        sealed.map_err(self.failed("cannot write to"))
    }

    /// Adds the trials of another store that this one does not have.
    ///
    /// # Errors
    /// There is no store; this one cannot be written.
    pub fn import(&self, from: &Path) -> Result<Copied, Failure> {
        self.check_version()?;
        let other = Self::existing(from)?;
        if other.is_same(self) {
            let text = format!("{} is the store itself", from.display());
            return Err(Failure::with(Exit::Usage, text));
        }
        self.copy_from(&other, None)
    }

    /// Adds trials of another store, all of them when no number is given.
    ///
    /// # Errors
    /// The other cannot be read; this one cannot be written.
    pub fn copy_from(&self, other: &Self, numbers: Option<&[i64]>) -> Result<Copied, Failure> {
        self.check_version()?;
        let all = trials(&other.db).map_err(other.failed("cannot copy from"))?;
        let numbers = numbers.map(|numbers| with_parts(&other.db, numbers));
        let numbers = numbers.transpose().map_err(other.failed("cannot read"))?;
        let mut copied = Copied::default();
        for (number, uuid, state) in all {
            if numbers
                .as_ref()
                .is_some_and(|numbers| !numbers.contains(&number))
            {
                continue;
            }
            let known = self.has(&uuid).map_err(self.failed("cannot read"))?;
            if known {
                copied.known += 1;
            } else if state == "running" {
                copied.running += 1;
            } else {
                texts::check(&other.db, number).map_err(other.failed("cannot copy from"))?;
                let done = self.db.transaction(|db| copy_trial(&other.db, db, number));
                done.map_err(self.failed("cannot copy into"))?;
                copied.trials += 1;
            }
        }
        Ok(copied)
    }

    fn has(&self, uuid: &str) -> db::Result<bool> {
        let sql = "SELECT number FROM trial_begun WHERE uuid = ?";
        let found = self.db.query_row(sql, [uuid], |row| row.get::<i64>(0));
        Ok(found.optional()?.is_some())
    }
}

fn trials(db: &Db) -> db::Result<Vec<(i64, String, String)>> {
    db.prepare("SELECT number, uuid, state FROM trial ORDER BY number")
        .query_map([0; 0], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)))
}

/// These trials, and what each generator measured of one of them.
fn with_parts(db: &Db, numbers: &[i64]) -> db::Result<Vec<i64>> {
    let mut all = numbers.to_vec();
    let sql = "SELECT part.trial FROM part JOIN part whole ON whole.meeting = part.meeting \
               WHERE whole.trial = ? AND whole.generator = -1 AND part.generator >= 0";
    let parts = db.prepare(sql);
    for number in numbers {
        all.extend(parts.query_map([*number], |row| row.get::<i64>(0))?);
    }
    Ok(all)
}

/// With its experiment and all that belongs to it.
fn copy_trial(from: &Db, to: &Db, theirs: i64) -> db::Result<()> {
    let begun = ddl::of("trial_begun");
    let mut row = Vec::new();
    read(from, begun, "number", theirs, &mut |values| {
        row = values;
        Ok(())
    })?;
    // Numbers are each store's own.
    let mut names = Vec::new();
    let mut values = Vec::new();
    for (column, value) in begun.columns.iter().zip(row) {
        let value = match (column.name, value) {
            ("number", _) => continue,
            // This notebook's pgdyno did not run it.
            ("host_name", _) => Value::Null,
            ("experiment", Value::Integer(experiment)) => {
                Value::Integer(copy_experiment(from, to, experiment)?)
            }
            (_, value) => value,
        };
        names.push(column.name);
        values.push(value);
    }
    let sql = format!(
        "INSERT INTO trial_begun ({}) VALUES ({}) RETURNING number",
        names.join(", "),
        vec!["?"; names.len()].join(", ")
    );
    let ours: i64 = to.query_row(&sql, values, |row| row.get(0))?;
    for table in TABLES.iter().filter(|table| table.is_part()) {
        let place = table
            .columns
            .iter()
            .position(|column| column.name == "trial");
        let mut rows = Rows::into_table(to, table);
        read(from, table, "trial", theirs, &mut |mut values| {
            if let Some(place) = place {
                values[place] = Value::Integer(ours);
            }
            rows.add(values)
        })?;
        rows.send()?;
    }
    Ok(())
}

/// Its number there, where it may be already.
fn copy_experiment(from: &Db, to: &Db, theirs: i64) -> db::Result<i64> {
    let table = ddl::of("experiment");
    let mut row = Vec::new();
    read(from, table, "number", theirs, &mut |values| {
        row = values;
        Ok(())
    })?;
    // All but its number, which is the first.
    let names: Vec<&str> = table.columns.iter().skip(1).map(|c| c.name).collect();
    let values: Vec<Value> = row.into_iter().skip(1).collect();
    let uuid = values.first().cloned().unwrap_or(Value::Null);
    let sql = format!(
        "INSERT INTO experiment ({}) VALUES ({}) ON CONFLICT (uuid) DO NOTHING",
        names.join(", "),
        vec!["?"; names.len()].join(", ")
    );
    to.execute(&sql, values)?;
    let sql = "SELECT number FROM experiment WHERE uuid = ?";
    to.query_row(sql, params![uuid], |row| row.get(0))
}

/// The rows of a table whose column `of` has this number.
fn read(
    db: &Db,
    table: &Table,
    of: &str,
    number: i64,
    take: &mut dyn FnMut(Vec<Value>) -> db::Result<()>,
) -> db::Result<()> {
    let sql = format!(
        "SELECT {} FROM {} WHERE {of} = ?",
        table.names(),
        table.name
    );
    db.each(&sql, [number], |row| {
        let values: db::Result<_> = (0..table.columns.len()).map(|at| row.value(at)).collect();
        take(values?)
    })
}
