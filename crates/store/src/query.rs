//! Questions of the user's own, in SQL, on a connection that can change nothing.

use rusqlite::limits::Limit;
use rusqlite::types::{Value, ValueRef};
use rusqlite::{Connection, OpenFlags};
use serde_json::Number;

use std::path::Path;
use std::time::Duration;

use super::{BUSY_LIMIT, Store, trouble};
use crate::db::{self, Db, Row, Server};
use pgdyno_spec::{Exit, Failure};

/// How long a server may take for a query of the user's own.
const ANSWER_LIMIT: Duration = Duration::from_secs(600);

/// What came of a query.
#[derive(Debug, Clone, PartialEq)]
pub struct Answer {
    /// The names of the columns.
    pub columns: Vec<String>,
    pub rows: Vec<Vec<Cell>>,
}

/// A value, as SQLite has it.
#[derive(Debug, Clone, PartialEq)]
pub enum Cell {
    Null,
    Integer(i64),
    Real(f64),
    /// TEXT; what is no UTF-8 is replaced.
    Text(String),
    Blob(Vec<u8>),
}

impl Cell {
    /// As tables and CSV show it: nothing for NULL, hexadecimal for a blob.
    pub fn text(&self) -> String {
        match self {
            Self::Null => String::new(),
            Self::Integer(number) => number.to_string(),
            Self::Real(number) => number.to_string(),
            Self::Text(text) => text.clone(),
            Self::Blob(bytes) => bytes.iter().map(|byte| format!("{byte:02x}")).collect(),
        }
    }

    /// As JSON shows it; a number that JSON does not have is `null`.
    pub fn json(&self) -> serde_json::Value {
        use serde_json::Value;
        match self {
            Self::Null => Value::Null,
            Self::Integer(number) => Value::from(*number),
            Self::Real(number) => Number::from_f64(*number).map_or(Value::Null, Value::Number),
            Self::Text(_) | Self::Blob(_) => Value::String(self.text()),
        }
    }
}

impl From<ValueRef<'_>> for Cell {
    fn from(value: ValueRef<'_>) -> Self {
        match value {
            ValueRef::Null => Self::Null,
            ValueRef::Integer(number) => Self::Integer(number),
            ValueRef::Real(number) => Self::Real(number),
            ValueRef::Text(text) => Self::Text(String::from_utf8_lossy(text).into_owned()),
            ValueRef::Blob(bytes) => Self::Blob(bytes.to_vec()),
        }
    }
}

impl From<Value> for Cell {
    fn from(value: Value) -> Self {
        match value {
            Value::Null => Self::Null,
            Value::Integer(number) => Self::Integer(number),
            Value::Real(number) => Self::Real(number),
            Value::Text(text) => Self::Text(text),
            Value::Blob(bytes) => Self::Blob(bytes),
        }
    }
}

impl Store {
    /// Answers one query.
    ///
    /// # Errors
    /// It is no query, or one that would change something.
    pub fn query(&self, sql: &str) -> Result<Answer, Failure> {
        match self.path() {
            Some(path) => of_file(path, sql),
            None => self.of_server(sql),
        }
    }

    /// What its server answers to a query of one value; `None` for a file, and for whatever is no answer.
    pub(super) fn answer_of_server(&self, query: &str) -> Option<String> {
        match &self.db {
            Db::File(_) => None,
            Db::Server(_) => {
                let answer = self.db.query_row(query, [0; 0], |row| row.get(0));
                answer.ok().flatten()
            }
        }
    }

    /// In a session of its own that can only read.
    fn of_server(&self, sql: &str) -> Result<Answer, Failure> {
        let Db::Server(server) = &self.db else {
            return Err(refused(&"there is no server", TABLES_OF_SERVER));
        };
        let server = Server::connect(server.info().clone(), true, ANSWER_LIMIT);
        let server = server.map_err(self.failed("cannot open"))?;
        let (mut columns, mut rows) = (Vec::new(), Vec::new());
        let mut read = |row: &Row<'_>| {
            if columns.is_empty() {
                columns = row.names();
            }
            let cells: db::Result<Vec<Value>> =
                (0..columns.len()).map(|at| row.value(at)).collect();
            rows.push(cells?.into_iter().map(Cell::from).collect());
            Ok(())
        };
        let answered = server.each(sql, &[], &mut read);
        answered.map_err(|e| refused(&e, TABLES_OF_SERVER))?;
        Ok(Answer { columns, rows })
    }
}

fn of_file(path: &Path, sql: &str) -> Result<Answer, Failure> {
    let opening = |e: rusqlite::Error| trouble(path, "cannot open", &e.into());
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let connection = Connection::open_with_flags(path, flags).map_err(opening)?;
    connection.busy_timeout(BUSY_LIMIT).map_err(opening)?;
    // No other file is opened either.
    connection
        .set_limit(Limit::SQLITE_LIMIT_ATTACHED, 0)
        .map_err(opening)?;
    let pragmas = "PRAGMA trusted_schema = OFF; PRAGMA query_only = ON;";
    connection.execute_batch(pragmas).map_err(opening)?;
    answer(&connection, sql)
}

/// Queries that list the tables.
const TABLES_OF_FILE: &str = "SELECT sql FROM sqlite_schema";
const TABLES_OF_SERVER: &str = "SELECT tablename FROM pg_tables WHERE schemaname = 'public'";

fn refused(why: &dyn std::fmt::Display, tables: &str) -> Failure {
    Failure::with(Exit::Usage, format!("the query cannot be answered: {why}")).hint(format!(
        "tables and columns are described in pgdyno help store; a list of them: pgdyno sql \"{tables}\""
    ))
}

fn answer(connection: &Connection, sql: &str) -> Result<Answer, Failure> {
    let refused = |e: rusqlite::Error| refused(&e, TABLES_OF_FILE);
    let mut select = connection.prepare(sql).map_err(refused)?;
    if !select.readonly() || select.column_count() == 0 {
        return Err(Failure::with(
            Exit::Usage,
            "only queries are answered: nothing is changed by SQL",
        )
        .hint("pgdyno note, tag, exclude and rm change what is stored"));
    }
    let columns: Vec<String> = select.column_names().map(Into::into).collect();
    let mut rows = Vec::new();
    let mut found = select.query([]).map_err(refused)?;
    while let Some(row) = found.next().map_err(refused)? {
        let cell = |index| row.get_ref(index).map(Cell::from);
        let cells: rusqlite::Result<Vec<Cell>> = (0..columns.len()).map(cell).collect();
        rows.push(cells.map_err(refused)?);
    }
    Ok(Answer { columns, rows })
}
