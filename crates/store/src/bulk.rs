//! Many rows at once.

use crate::db::{self, Db, Value};
use crate::schema::ddl::Table;

/// Parameters of one statement: a server takes 65,535.
const PARAMS_MAX: usize = 30_000;
const BYTES_MAX: usize = 1 << 20;

/// Rows on their way into a table, sent when there are enough of them.
pub struct Rows<'a> {
    db: &'a Db,
    table: &'a Table,
    rows: Vec<Vec<Value>>,
    bytes: usize,
}

impl<'a> Rows<'a> {
    /// For this table; values come in the order of its columns. What is there already stays.
    pub fn into_table(db: &'a Db, table: &'a Table) -> Self {
        Self {
            db,
            table,
            rows: Vec::new(),
            bytes: 0,
        }
    }

    /// One more.
    ///
    /// # Errors
    /// The store cannot be written.
    pub fn add(&mut self, row: Vec<Value>) -> db::Result<()> {
        self.bytes += row.iter().map(bytes).sum::<usize>();
        self.rows.push(row);
        let params = (self.rows.len() + 1) * self.table.columns.len();
        if params > PARAMS_MAX || self.bytes > BYTES_MAX {
            return self.send();
        }
        Ok(())
    }

    /// Sends those that are left.
    ///
    /// # Errors
    /// The store cannot be written.
    pub fn send(&mut self) -> db::Result<()> {
        self.bytes = 0;
        let (table, width) = (self.table.name, self.table.columns.len());
        let row = format!("({})", vec!["?"; width].join(", "));
        let into = format!("INSERT INTO {table} ({}) VALUES ", self.table.names());
        let rows = std::mem::take(&mut self.rows);
        if self.db.file().is_some() {
            let sql = format!("{into}{row} ON CONFLICT DO NOTHING");
            for values in rows {
                self.db.execute(&sql, values)?;
            }
        } else if !rows.is_empty() {
            // A round trip for all of them.
            let places = vec![row; rows.len()].join(", ");
            let values: Vec<Value> = rows.into_iter().flatten().collect();
            let sql = format!("{into}{places} ON CONFLICT DO NOTHING");
            self.db.execute(&sql, values)?;
        }
        Ok(())
    }
}

/// About so many go over the wire.
fn bytes(value: &Value) -> usize {
    match value {
        Value::Null => 4,
        Value::Integer(_) | Value::Real(_) => 16,
        Value::Text(text) => text.len(),
        Value::Blob(bytes) => 2 * bytes.len(),
    }
}
