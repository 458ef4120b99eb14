//! Trials from one store into another, known by their UUIDs: copying twice adds nothing.

use std::path::Path;

use rusqlite::{Connection, Transaction, TransactionBehavior, params};

use super::{Store, trouble};
use pgdyno_model::{Exit, Failure};

/// What came of copying.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Copied {
    /// Trials that are new.
    pub trials: usize,
    /// Trials that were there.
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
        if to.exists() {
            let text = format!("{} exists already", to.display());
            return Err(Failure::with(Exit::Usage, text)
                .hint("export writes a new file; import adds to an existing notebook"));
        }
        let mut new = Self::open(to)?;
        let copied = new.copy_from(&self.path, numbers);
        if copied.is_err() {
            drop(new);
            // What was made a moment ago and holds nothing.
            let _ = std::fs::remove_file(to);
        }
        copied
    }

    /// Adds the trials of another store that this one does not have.
    ///
    /// # Errors
    /// The file is no store; this one cannot be written.
    pub fn import(&mut self, from: &Path) -> Result<Copied, Failure> {
        let same = |path: &Path| std::fs::canonicalize(path).ok();
        if same(from).is_some() && same(from) == same(&self.path) {
            let text = format!("{} is the store itself", from.display());
            return Err(Failure::with(Exit::Usage, text));
        }
        // Brings its tables up to date, or refuses those of a newer pgdyno. It stays open, so that it
        // is taken for the same file below.
        let _other = Self::existing(from)?;
        self.copy_from(from, None)
    }

    fn copy_from(&mut self, from: &Path, numbers: Option<&[i64]>) -> Result<Copied, Failure> {
        let failed = |e: rusqlite::Error| trouble(from, "cannot copy from", &e);
        // Attached by its plain name: one that begins with "file:" would be read as a URI.
        let name = std::path::absolute(from).unwrap_or_else(|_| from.to_owned());
        let name = name.to_string_lossy().into_owned();
        self.connection
            .execute("ATTACH ? AS other", [name])
            .map_err(failed)?;
        let copied = copy(&mut self.connection, numbers);
        let detached = self.connection.execute_batch("DETACH other");
        let copied = copied.map_err(failed)?;
        detached.map_err(failed)?;
        Ok(copied)
    }
}

fn copy(connection: &mut Connection, numbers: Option<&[i64]>) -> rusqlite::Result<Copied> {
    let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
    let mut copied = Copied::default();
    let mut select =
        transaction.prepare("SELECT number, uuid, state FROM other.trial ORDER BY number")?;
    let all = select.query_map([], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)))?;
    let all: Vec<(i64, String, String)> = all.collect::<rusqlite::Result<_>>()?;
    drop(select);
    for (number, uuid, state) in all {
        if numbers.is_some_and(|numbers| !numbers.contains(&number)) {
            continue;
        }
        let sql = "SELECT EXISTS (SELECT 1 FROM main.trial WHERE uuid = ?)";
        if transaction.query_row(sql, [&uuid], |row| row.get(0))? {
            copied.known += 1;
        } else if state == "running" {
            copied.running += 1;
        } else {
            copy_trial(&transaction, number)?;
            copied.trials += 1;
        }
    }
    transaction.commit()?;
    Ok(copied)
}

fn copy_trial(transaction: &Transaction<'_>, theirs: i64) -> rusqlite::Result<()> {
    transaction.execute(
        "INSERT INTO main.experiment (uuid, name, created, definition, host) \
         SELECT uuid, name, created, definition, host FROM other.experiment \
         WHERE number = (SELECT experiment FROM other.trial WHERE number = ?) \
         AND uuid NOT IN (SELECT uuid FROM main.experiment)",
        [theirs],
    )?;
    let columns = columns(transaction, "trial")?;
    let columns: Vec<&str> = columns
        .iter()
        .map(String::as_str)
        .filter(|name| !["number", "experiment"].contains(name))
        .collect();
    let columns = columns.join(", ");
    transaction.execute(
        &format!(
            "INSERT INTO main.trial ({columns}, experiment) SELECT {columns}, \
             (SELECT mine.number FROM main.experiment mine JOIN other.experiment theirs \
             USING (uuid) WHERE theirs.number = t.experiment) \
             FROM other.trial t WHERE t.number = ?"
        ),
        [theirs],
    )?;
    let mine = transaction.last_insert_rowid();
    for table in parts(transaction)? {
        let columns = self::columns(transaction, &table)?;
        let others: Vec<&str> = columns
            .iter()
            .map(String::as_str)
            .filter(|name| *name != "trial")
            .collect();
        let others = others.join(", ");
        let sql = format!(
            "INSERT INTO main.{table} (trial, {others}) \
             SELECT ?, {others} FROM other.{table} WHERE trial = ?"
        );
        transaction.execute(&sql, params![mine, theirs])?;
    }
    Ok(())
}

/// The tables whose rows belong to a trial: those with a column `trial`.
fn parts(connection: &Connection) -> rusqlite::Result<Vec<String>> {
    let sql = "SELECT t.name FROM main.sqlite_schema t JOIN pragma_table_info(t.name, 'main') c \
               WHERE t.type = 'table' AND c.name = 'trial' ORDER BY t.name";
    let mut select = connection.prepare_cached(sql)?;
    select.query_map([], |row| row.get(0))?.collect()
}

/// The names of a table's columns, in order, without those that are made of others.
pub(super) fn columns(connection: &Connection, table: &str) -> rusqlite::Result<Vec<String>> {
    let sql = "SELECT name FROM pragma_table_info(?, 'main') ORDER BY cid";
    let mut select = connection.prepare_cached(sql)?;
    select.query_map([table], |row| row.get(0))?.collect()
}
