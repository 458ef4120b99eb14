//! What pgio keeps of psql's answers when it creates its base table and its objects, in that form and
//! from what pgdyno does in their place: `pgio_base_table_load.out` and `pgio_objects_creation.out`.

use std::collections::BTreeSet;
use std::time::{Duration, Instant};

use pgdyno_database::admin;
use pgdyno_model::Progress;
use pgdyno_session::{Error, Session, quote_literal};

use super::PREFIX;
use super::lines::described;

/// pgio's table for audits, which it creates and never fills.
const AUDIT: &str = "pgio_audit_table";

/// Measures how long the base table takes, and passes everything on.
pub struct BaseTimed<'a> {
    pub inner: &'a mut dyn Progress,
    /// Since when the base table is being filled.
    pub since: Option<Instant>,
    pub took: Option<Duration>,
}

impl Progress for BaseTimed<'_> {
    fn is_quiet(&self) -> bool {
        self.inner.is_quiet()
    }

    fn warning(&mut self, text: &str) {
        self.inner.warning(text);
    }

    fn step(&mut self, text: &str) {
        self.inner.step(text);
    }

    fn table(&mut self, name: &str, rows_total: u64) {
        self.since = (name == base()).then(Instant::now);
        self.inner.table(name, rows_total);
    }

    fn rows(&mut self, rows: u64) {
        self.inner.rows(rows);
    }

    fn table_ends(&mut self) {
        if let Some(since) = self.since.take() {
            self.took = Some(since.elapsed());
        }
        self.inner.table_ends();
    }
}

/// The name of the base table.
fn base() -> String {
    format!("{PREFIX}_base")
}

/// Whether the base table is there.
pub fn has_base(session: &mut Session) -> bool {
    columns(session).is_ok_and(|columns| !columns.is_empty())
}

/// Its columns: name, type, collation, whether it is nullable, default.
fn columns(session: &mut Session) -> Result<Vec<Vec<String>>, Error> {
    let sql = format!(
        "SELECT a.attname, format_type(a.atttypid, a.atttypmod), '', \
         CASE WHEN a.attnotnull THEN 'not null' ELSE '' END, '' \
         FROM pg_attribute a JOIN pg_class c ON c.oid = a.attrelid \
         JOIN pg_namespace n ON n.oid = c.relnamespace AND n.nspname = current_schema() \
         WHERE c.relname = {} AND a.attnum > 0 AND NOT a.attisdropped ORDER BY a.attnum",
        quote_literal(&base())
    );
    let row = |row: Vec<Option<String>>| row.into_iter().map(Option::unwrap_or_default).collect();
    Ok(admin::rows(session, &sql)?.into_iter().map(row).collect())
}

/// The load of the base table: whether an older one was dropped, its rows, how long they took (not
/// to be known when they were loaded before), and the table.
pub fn base_load(session: &mut Session, was_there: bool, rows: u64, took: Duration) -> String {
    let base = base();
    let dropped = if was_there {
        "DROP TABLE".to_owned()
    } else {
        format!("ERROR:  table \"{base}\" does not exist")
    };
    let schema = admin::value(session, "SELECT current_schema()").ok();
    let title = format!("Table \"{}.{base}\"", schema.flatten().unwrap_or_default());
    let table = columns(session).map_or_else(
        |e| format!("{e}\n"),
        |columns| {
            let heads = ["Column", "Type", "Collation", "Nullable", "Default"];
            described(&title, &heads, &columns)
        },
    );
    format!(
        "{dropped}\nTiming is on.\nCOPY {rows}\nTime: {:.3} ms\n{table}",
        took.as_secs_f64() * 1000.0
    )
}

/// The procedures that run the work, as far as they are there.
pub fn procedures(session: &mut Session, tables: u64) -> BTreeSet<String> {
    let names = (1..=tables).map(|table| quote_literal(&format!("pgdyno_{PREFIX}{table}")));
    let names: Vec<String> = names.collect();
    let sql = format!(
        "SELECT p.proname FROM pg_proc p JOIN pg_namespace n ON n.oid = p.pronamespace \
         WHERE n.nspname = current_schema() AND p.proname IN ({})",
        names.join(", ")
    );
    // Without a catalog of procedures there are none.
    let rows = admin::rows(session, &sql).unwrap_or_default();
    rows.into_iter().flatten().flatten().collect()
}

/// Creates pgio's audit table where it is missing, and gives psql's answers to that and to so many
/// procedures that were created. What the server refuses is an answer, too: no run needs the table.
pub fn objects(session: &mut Session, procedures_created: usize) -> String {
    let mut text = "CREATE PROCEDURE\n".repeat(procedures_created);
    let columns: Vec<String> = (1..=10)
        .map(|number| format!("c{number} numeric"))
        .collect();
    let there = format!(
        "SELECT 1 FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace \
         WHERE n.nspname = current_schema() AND c.relname = {}",
        quote_literal(AUDIT)
    );
    let create = format!(
        "CREATE TABLE IF NOT EXISTS {AUDIT} ({})",
        columns.join(", ")
    );
    let created = admin::value(session, &there).and_then(|there| {
        admin::run(session, &create)?;
        Ok(there.is_some())
    });
    text += &match created {
        Ok(false) => "CREATE TABLE\n".to_owned(),
        Ok(true) => {
            format!("NOTICE:  relation \"{AUDIT}\" already exists, skipping\nCREATE TABLE\n")
        }
        Err(e) => {
            let why = e.server().map_or(e.to_string(), |e| e.message().to_owned());
            format!("ERROR:  {why}\n")
        }
    };
    text
}
