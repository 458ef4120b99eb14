//! The seam between the notebook and what keeps it: a file of SQLite, or a server that speaks
//! PostgreSQL's protocol. The notebook's SQL is what both understand; what they write differently is
//! translated in `dialect.rs`.
//!
//! Not for: what the tables are (schema), what is read from them.

mod ahead;
mod dialect;
mod error;
mod params;
mod row;
mod server;

use rusqlite::{Connection, params_from_iter};

pub use error::{Error, Optional, Result};
pub(crate) use params::params;
pub use params::{Params, Sql};
pub use row::{At, Row};
pub use rusqlite::types::Value;
pub use server::Server;

pub enum Db {
    File(Connection),
    Server(Box<Server>),
}

impl Db {
    /// A statement with its text; several executions share what preparing costs.
    pub fn prepare<'a>(&'a self, sql: &'a str) -> Statement<'a> {
        Statement { db: self, sql }
    }

    /// Gives every row to `read`, which must ask for nothing else meanwhile.
    ///
    /// # Errors
    /// It cannot be read.
    pub fn each(
        &self,
        sql: &str,
        params: impl Params,
        mut read: impl FnMut(&Row<'_>) -> Result<()>,
    ) -> Result<()> {
        let params = params.values();
        match self {
            Self::File(connection) => {
                let mut select = connection.prepare_cached(sql)?;
                let mut rows = select.query(params_from_iter(params))?;
                while let Some(row) = rows.next()? {
                    read(&Row::File(row))?;
                }
                Ok(())
            }
            Self::Server(server) => server.each(&dialect::numbered(sql), &params, &mut read),
        }
    }

    /// The only row, or the first.
    ///
    /// # Errors
    /// [`Error::NoRow`] when there is none.
    pub fn query_row<T>(
        &self,
        sql: &str,
        params: impl Params,
        read: impl FnOnce(&Row<'_>) -> Result<T>,
    ) -> Result<T> {
        let (mut first, mut read) = (None, Some(read));
        self.each(sql, params, |row| {
            if let Some(read) = read.take() {
                first = Some(read(row)?);
            }
            Ok(())
        })?;
        first.ok_or(Error::NoRow)
    }

    /// How many rows were changed.
    ///
    /// # Errors
    /// It cannot be written.
    pub fn execute(&self, sql: &str, params: impl Params) -> Result<u64> {
        let params = params.values();
        match self {
            Self::File(connection) => {
                let mut statement = connection.prepare_cached(sql)?;
                Ok(statement.execute(params_from_iter(params))? as u64)
            }
            Self::Server(server) => {
                server.each(&dialect::numbered(sql), &params, &mut |_| Ok(()))?;
                Ok(server.affected())
            }
        }
    }

    /// Several statements of this database's own, without parameters.
    ///
    /// # Errors
    /// One of them fails.
    pub fn execute_batch(&self, sql: &str) -> Result<()> {
        match self {
            Self::File(connection) => Ok(connection.execute_batch(sql)?),
            Self::Server(server) => server.batch(sql),
        }
    }

    /// All of it or nothing. Done again when a server asks for that, so it must bear it.
    ///
    /// # Errors
    /// It cannot be written; what `work` says.
    pub fn transaction<T>(&self, mut work: impl FnMut(&Self) -> Result<T>) -> Result<T> {
        match self {
            Self::File(connection) => {
                connection.execute_batch("BEGIN IMMEDIATE")?;
                let done = work(self).and_then(|done| {
                    connection.execute_batch("COMMIT")?;
                    Ok(done)
                });
                if done.is_err() && !connection.is_autocommit() {
                    let _ = connection.execute_batch("ROLLBACK");
                }
                done
            }
            Self::Server(server) => server.transaction(&mut || work(self)),
        }
    }

    /// Trials that will be read in this order, and nothing written meanwhile: a server is asked for several
    /// at once. None: each when it is read.
    pub fn will_read(&self, trials: &[i64]) {
        if let Self::Server(server) = self {
            server.will_read(trials);
        }
    }

    /// The file's connection, for what only files have.
    pub fn file(&self) -> Option<&Connection> {
        match self {
            Self::File(connection) => Some(connection),
            Self::Server(_) => None,
        }
    }
}

/// A statement that is to be executed.
#[derive(Clone, Copy)]
pub struct Statement<'a> {
    db: &'a Db,
    sql: &'a str,
}

impl Statement<'_> {
    /// See [`Db::execute`].
    ///
    /// # Errors
    /// It cannot be written.
    pub fn execute(&self, params: impl Params) -> Result<u64> {
        self.db.execute(self.sql, params)
    }

    /// What `read` makes of all rows.
    ///
    /// # Errors
    /// It cannot be read.
    pub fn query_map<T>(
        &self,
        params: impl Params,
        mut read: impl FnMut(&Row<'_>) -> Result<T>,
    ) -> Result<Vec<T>> {
        let mut all = Vec::new();
        self.db.each(self.sql, params, |row| {
            all.push(read(row)?);
            Ok(())
        })?;
        Ok(all)
    }

    /// See [`Db::each`].
    ///
    /// # Errors
    /// It cannot be read.
    pub fn each(
        &self,
        params: impl Params,
        read: impl FnMut(&Row<'_>) -> Result<()>,
    ) -> Result<()> {
        self.db.each(self.sql, params, read)
    }
}
