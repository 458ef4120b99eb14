//! What the server did for which statement: the growth of pg_stat_statements over the trial, the
//! most expensive first. Nothing is reset, and no text is read but of those that are reported.

use std::collections::{BTreeSet, HashMap};
use std::time::Duration;

use pgdyno_session::{Error, quote_ident};

use super::place::{self, Connection, MARK, Place};
use crate::{Instrument, Readings};
use pgdyno_model::observed::{Gap, ServerStatement};

/// So many statements are reported.
const REPORTED_MAX: usize = 20;
/// A longer text is cut.
const TEXT_MAX: usize = 10_000;

/// What is reported of a statement beside calls, time and rows, where the extension's version has it. By
/// the server's own names.
const DETAILS: [&str; 20] = [
    "total_plan_time",
    "plans",
    "shared_blks_hit",
    "shared_blks_read",
    "shared_blks_dirtied",
    "shared_blks_written",
    "local_blks_hit",
    "local_blks_read",
    "temp_blks_read",
    "temp_blks_written",
    // Until 1.10; then one each for shared, local and temporary blocks.
    "blk_read_time",
    "blk_write_time",
    "shared_blk_read_time",
    "shared_blk_write_time",
    "temp_blk_read_time",
    "temp_blk_write_time",
    "wal_records",
    "wal_fpi",
    "wal_bytes",
    "wal_buffers_full",
];

pub struct Statements {
    place: Place,
    before: Option<Snapshot>,
}

/// All counters at one moment.
struct Snapshot {
    of: Extension,
    /// By statement: role, whether top level, and its number; figures in the order of `of.columns`.
    counted: HashMap<Key, Vec<f64>>,
    /// Statements whose numbers the role may not see.
    hidden: usize,
    /// How often statements were thrown out to make room.
    evictions: Option<f64>,
}

type Key = [String; 3];

/// The extension as this database has it.
struct Extension {
    schema: String,
    /// Its columns that are read: calls, time and rows first.
    columns: Vec<String>,
    has_toplevel: bool,
    /// Whether it tells of evictions (1.9+).
    has_info: bool,
}

impl Statements {
    pub fn new(place: Place) -> Self {
        Self {
            place,
            before: None,
        }
    }

    fn conclude(
        &self,
        before: &Snapshot,
        connection: &mut Connection,
        out: &mut Readings,
    ) -> Result<(), Gap> {
        let after = snapshot(connection).map_err(|why| why.gap(connection))?;
        if before.of.columns != after.of.columns {
            return Err(Gap::because(
                "pg_stat_statements was altered during the trial",
            ));
        }
        let mut grown: Vec<(&Key, Vec<f64>)> = after
            .counted
            .iter()
            .filter_map(|(key, now)| Some((key, growth(before.counted.get(key), now)?)))
            .collect();
        grown.sort_by(|a, b| b.1[1].total_cmp(&a.1[1]));
        // More texts than are reported, as ours and those that are gone drop out.
        grown.truncate(REPORTED_MAX + 40);
        let numbers: BTreeSet<&str> = grown.iter().map(|(key, _)| key[2].as_str()).collect();
        let texts = texts(connection, &after.of, &numbers);
        let texts = texts.map_err(|e| place::gap(&e, &connection.grant_monitor()))?;
        let mut left = REPORTED_MAX;
        for (key, figures) in grown {
            let Some(text) = texts.get(key).filter(|text| !text.contains(MARK)) else {
                continue;
            };
            if left > 0 {
                out.statement(statement(text, &after.of, &figures));
                left -= 1;
            }
        }
        if let (Some(before), Some(now)) = (before.evictions, after.evictions)
            && now > before
        {
            out.fact("statements_evicted", now - before);
        }
        hidden(&after, connection, &self.place, out);
        Ok(())
    }
}

impl Instrument for Statements {
    fn name(&self) -> &str {
        "pg.statements"
    }

    fn source(&self) -> String {
        self.place.source("pg_stat_statements")
    }

    /// It is read before and after only.
    fn interval(&self) -> Duration {
        Duration::from_secs(3600)
    }

    fn patience(&self) -> Duration {
        Duration::from_secs(3)
    }

    fn begin(&mut self, out: &mut Readings) -> Result<(), Gap> {
        let place = &self.place;
        self.before = Some(place.ask(|connection| {
            let before = snapshot(connection).map_err(|why| why.gap(connection))?;
            hidden(&before, connection, place, out);
            Ok(before)
        })?);
        Ok(())
    }

    fn read(&mut self, _out: &mut Readings) -> Result<(), Gap> {
        Ok(())
    }

    fn end(&mut self, out: &mut Readings) -> Result<(), Gap> {
        match self.before.take() {
            Some(before) => self
                .place
                .ask(|connection| self.conclude(&before, connection, out)),
            None => Ok(()),
        }
    }
}

/// Why there is no snapshot.
enum Why {
    /// The extension is not in this database.
    NotCreated {
        is_loaded: Option<bool>,
        is_installed: bool,
    },
    /// The server or the connection.
    Failed(Error),
}

impl From<Error> for Why {
    fn from(error: Error) -> Self {
        Self::Failed(error)
    }
}

impl Why {
    fn gap(self, connection: &Connection) -> Gap {
        const LOAD: &str = "ALTER SYSTEM SET shared_preload_libraries = 'pg_stat_statements'";
        let database = &connection.database;
        match self {
            Self::NotCreated {
                is_installed: false,
                ..
            } => Gap::because(
                "pg_stat_statements is not installed with the server (package postgresql-contrib)",
            ),
            Self::NotCreated {
                is_loaded: Some(false),
                ..
            } => Gap::because(
                "the server does not load pg_stat_statements: add it to \
                 shared_preload_libraries, restart, and run CREATE EXTENSION pg_stat_statements",
            )
            .remedy(LOAD),
            Self::NotCreated { .. } => Gap::because(format!(
                "the extension pg_stat_statements is not in database {database}"
            ))
            .remedy("CREATE EXTENSION pg_stat_statements"),
            // object_not_in_prerequisite_state: "must be loaded via shared_preload_libraries".
            Self::Failed(error) if error.sqlstate() == Some("55000") => {
                Gap::because("the server does not load pg_stat_statements, which needs a restart")
                    .remedy(LOAD)
            }
            Self::Failed(error) => place::gap(&error, &connection.grant_monitor()),
        }
    }
}

fn find(connection: &mut Connection) -> Result<Extension, Why> {
    let sql = "SELECT n.nspname FROM pg_extension e JOIN pg_namespace n ON n.oid = e.extnamespace \
               WHERE e.extname = 'pg_stat_statements'";
    let Some(schema) = connection.value(sql)? else {
        let sql = "SELECT (SELECT setting LIKE '%pg_stat_statements%' FROM pg_settings \
                       WHERE name = 'shared_preload_libraries'), \
                   EXISTS (SELECT FROM pg_available_extensions WHERE name = 'pg_stat_statements')";
        let row = connection.rows(sql)?.pop().unwrap_or_default();
        let mut row = row.into_iter().map(|value| value.map(|text| text == "t"));
        return Err(Why::NotCreated {
            // Not every role may see it.
            is_loaded: row.next().flatten(),
            is_installed: row.next().flatten() != Some(false),
        });
    };
    let schema = quote_ident(&schema);
    let columns_of = |connection: &mut Connection, view: &str| -> Result<Vec<String>, Error> {
        let literal = pgdyno_session::quote_literal(&format!("{schema}.{view}"));
        let sql = format!(
            "SELECT attname FROM pg_attribute WHERE attrelid = to_regclass({literal}) AND attnum > 0"
        );
        Ok(connection
            .rows(&sql)?
            .into_iter()
            .flatten()
            .flatten()
            .collect())
    };
    let there = columns_of(connection, "pg_stat_statements")?;
    let has = |name: &str| there.iter().any(|column| column == name);
    // Until 1.7 planning was part of it, and it had this name.
    let time = if has("total_exec_time") {
        "total_exec_time"
    } else {
        "total_time"
    };
    let details = DETAILS.iter().copied().filter(|column| has(column));
    let columns = ["calls", time, "rows"].into_iter().chain(details);
    Ok(Extension {
        columns: columns.map(str::to_owned).collect(),
        has_toplevel: has("toplevel"),
        has_info: !columns_of(connection, "pg_stat_statements_info")?.is_empty(),
        schema,
    })
}

impl Extension {
    fn key(&self) -> &'static str {
        if self.has_toplevel {
            "userid::text, toplevel::text, queryid::text"
        } else {
            "userid::text, '', queryid::text"
        }
    }
}

fn snapshot(connection: &mut Connection) -> Result<Snapshot, Why> {
    let of = find(connection)?;
    let columns: Vec<String> = of.columns.iter().map(|c| format!("{c}::float8")).collect();
    let sql = format!(
        "SELECT {}, {} FROM {}.pg_stat_statements(false) \
         WHERE dbid = (SELECT oid FROM pg_database WHERE datname = current_database())",
        of.key(),
        columns.join(", "),
        of.schema
    );
    let mut counted = HashMap::new();
    let mut hidden = 0;
    for row in connection.rows(&sql)? {
        let mut row = row.into_iter();
        match (
            row.next().flatten(),
            row.next().flatten(),
            row.next().flatten(),
        ) {
            (Some(role), Some(top), Some(number)) => {
                let figures = row.map(|v| v.and_then(|v| v.parse().ok()).unwrap_or(0.0));
                counted.insert([role, top, number], figures.collect());
            }
            _ => hidden += 1,
        }
    }
    let evictions = if of.has_info {
        let sql = format!("SELECT dealloc FROM {}.pg_stat_statements_info", of.schema);
        connection.value(&sql)?.and_then(|text| text.parse().ok())
    } else {
        None
    };
    Ok(Snapshot {
        of,
        counted,
        hidden,
        evictions,
    })
}

/// By how much it has grown; `None` when it was not executed. One with fewer calls than before was
/// reset or thrown out, and started again.
fn growth(before: Option<&Vec<f64>>, now: &[f64]) -> Option<Vec<f64>> {
    let before = before.filter(|before| before[0] <= now[0]);
    let grown: Vec<f64> = match before {
        Some(before) => now.iter().zip(before).map(|(n, b)| n - b).collect(),
        None => now.to_vec(),
    };
    (grown[0] > 0.0).then_some(grown)
}

fn texts(
    connection: &mut Connection,
    of: &Extension,
    numbers: &BTreeSet<&str>,
) -> Result<HashMap<Key, String>, Error> {
    if numbers.is_empty() {
        return Ok(HashMap::new());
    }
    let numbers: Vec<&str> = numbers.iter().copied().collect();
    let sql = format!(
        "SELECT {}, left(query, {TEXT_MAX}) FROM {}.pg_stat_statements \
         WHERE dbid = (SELECT oid FROM pg_database WHERE datname = current_database()) \
         AND queryid IN ({})",
        of.key(),
        of.schema,
        numbers.join(", ")
    );
    let rows = connection.rows(&sql)?.into_iter();
    Ok(rows
        .filter_map(|row| {
            let [role, top, number, text] = <[_; 4]>::try_from(row).ok()?;
            Some(([role?, top?, number?], text?))
        })
        .collect())
}

fn statement(text: &str, of: &Extension, figures: &[f64]) -> ServerStatement {
    let details = of.columns.iter().zip(figures).skip(3);
    let details = details.filter(|(_, value)| **value > 0.0);
    ServerStatement {
        text: text.to_owned(),
        calls: figures[0] as u64,
        time_us: figures[1] * 1e3,
        rows: Some(figures[2] as u64),
        details: details
            .map(|(name, value)| (name.clone(), *value))
            .collect(),
    }
}

fn hidden(snapshot: &Snapshot, connection: &Connection, place: &Place, out: &mut Readings) {
    if snapshot.hidden > 0
        && let Some(gap) = connection.blind_to_others("statements")
    {
        out.gap(place.label("other roles"), gap);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_reset_counts_from_there_and_what_was_not_executed_is_left_out() {
        let before = vec![10.0, 100.0, 10.0];
        assert_eq!(
            growth(Some(&before), &[12.0, 130.0, 12.0]),
            Some(vec![2.0, 30.0, 2.0])
        );
        assert_eq!(growth(Some(&before), &before), None);
        let anew = vec![3.0, 7.0, 3.0];
        assert_eq!(growth(Some(&before), &anew), Some(anew.clone()));
        assert_eq!(growth(None, &anew), Some(anew));
    }
}
