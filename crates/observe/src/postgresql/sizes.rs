//! How large the database, its tables and indexes are, before and after; and what state vacuum has
//! left them in, for the notes.

use std::collections::BTreeMap;
use std::time::Duration;

use pgdyno_session::Error;

use super::notes::{self, Vacuumed};
use super::place::{self, Connection, Place};
use crate::{Instrument, Readings};
use pgdyno_model::observed::{Gap, Kind, Row};

const DATABASE: Row = Row {
    name: "pg.size.database",
    unit: "bytes",
    kind: Kind::BeforeAfter,
    source: "pg_database_size()",
    what: "all files of the database",
};
const TABLE: Row = Row {
    name: "pg.size.table",
    unit: "bytes",
    kind: Kind::BeforeAfter,
    source: "pg_table_size()",
    what: "the table with its TOAST table and maps, without indexes; the 20 largest",
};
const INDEX: Row = Row {
    name: "pg.size.index",
    unit: "bytes",
    kind: Kind::BeforeAfter,
    source: "pg_relation_size()",
    what: "the index; the 20 largest",
};

pub const ROWS: &[Row] = &[DATABASE, TABLE, INDEX];

/// By size as vacuum last knew it: asking each for its size is dear where there are thousands.
const RELATIONS: &str = "SELECT c.relkind, \
    CASE n.nspname WHEN 'public' THEN '' ELSE n.nspname || '.' END || c.relname, \
    CASE c.relkind WHEN 'i' THEN pg_relation_size(c.oid) ELSE pg_table_size(c.oid) END \
    FROM (SELECT *, row_number() OVER (PARTITION BY relkind ORDER BY relpages DESC, oid) AS place \
        FROM pg_class WHERE relkind IN ('r', 'm', 'i') AND relpersistence <> 't' \
        AND relnamespace NOT IN (SELECT oid FROM pg_namespace WHERE nspname LIKE 'pg\\_%' \
            OR nspname = 'information_schema')) AS c \
    JOIN pg_namespace n ON n.oid = c.relnamespace WHERE c.place <= 20";

/// Rows that await vacuum, rows that do not, whether it was ever analyzed, and what was done with it
/// so far.
const STATES: &str = "SELECT CASE n.nspname WHEN 'public' THEN '' ELSE n.nspname || '.' END || c.relname, \
    pg_stat_get_dead_tuples(c.oid), pg_stat_get_live_tuples(c.oid), c.reltuples <= 0 \
        AND pg_relation_size(c.oid) > 0, \
    pg_stat_get_numscans(c.oid) + pg_stat_get_tuples_inserted(c.oid) \
        + pg_stat_get_tuples_updated(c.oid) + pg_stat_get_tuples_deleted(c.oid) \
        + coalesce((SELECT sum(pg_stat_get_numscans(i.indexrelid)) FROM pg_index i \
            WHERE i.indrelid = c.oid), 0) \
    FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace \
    WHERE c.relkind IN ('r', 'm') AND n.nspname NOT LIKE 'pg\\_%' \
    AND n.nspname <> 'information_schema' AND c.relpersistence <> 't' \
    ORDER BY c.relpages DESC, c.oid LIMIT 200";

pub struct Sizes {
    place: Place,
    states: BTreeMap<String, State>,
}

/// What is known of a table.
#[derive(Debug, Clone)]
struct State {
    vacuumed: Vacuumed,
    /// Scans and changed rows so far.
    used: f64,
}

impl Sizes {
    pub fn new(place: Place) -> Self {
        Self {
            place,
            states: BTreeMap::new(),
        }
    }

    /// Reads the sizes, and gives the state of the tables.
    fn sizes(&self, out: &mut Readings) -> Result<BTreeMap<String, State>, Gap> {
        self.place.ask(|connection| {
            let read = read(connection, &self.place, out);
            read.map_err(|e| place::gap(&e, &connection.grant_monitor()))
        })
    }
}

fn read(
    connection: &mut Connection,
    place: &Place,
    out: &mut Readings,
) -> Result<BTreeMap<String, State>, Error> {
    let bytes = |text: Option<String>| text.and_then(|text| text.parse::<f64>().ok());
    let size = connection.value("SELECT pg_database_size(current_database())")?;
    if let Some(size) = bytes(size) {
        out.before_after(DATABASE.of(place.label("")), size);
    }
    for row in connection.rows(RELATIONS)? {
        let Ok([kind, Some(name), size]) = <[_; 3]>::try_from(row) else {
            continue;
        };
        let series = if kind.as_deref() == Some("i") {
            INDEX
        } else {
            TABLE
        };
        if let Some(size) = bytes(size) {
            out.before_after(series.of(place.label(&name)), size);
        }
    }
    let states = connection.rows(STATES)?.into_iter().filter_map(|row| {
        let [name, dead, live, never, used] = <[_; 5]>::try_from(row).ok()?;
        let vacuumed = Vacuumed {
            dead: bytes(dead)?,
            live: bytes(live)?,
            never_analyzed: never? == "t",
        };
        let used = bytes(used)?;
        Some((name?, State { vacuumed, used }))
    });
    Ok(states.collect())
}

impl Instrument for Sizes {
    fn name(&self) -> &str {
        "pg.sizes"
    }

    fn source(&self) -> String {
        self.place
            .source("pg_database_size(), pg_table_size(), pg_relation_size()")
    }

    /// It is read before and after only.
    fn interval(&self) -> Duration {
        Duration::from_secs(3600)
    }

    fn patience(&self) -> Duration {
        Duration::from_secs(4)
    }

    fn begin(&mut self, out: &mut Readings) -> Result<(), Gap> {
        self.states = self.sizes(out)?;
        Ok(())
    }

    fn read(&mut self, _out: &mut Readings) -> Result<(), Gap> {
        Ok(())
    }

    fn end(&mut self, out: &mut Readings) -> Result<(), Gap> {
        let after = self.sizes(out)?;
        let used = self.states.iter().filter(|(name, before)| {
            let now = after.get(*name);
            now.is_some_and(|now| now.used > before.used)
        });
        let used: Vec<(&str, Vacuumed)> = used
            .map(|(name, state)| (name.as_str(), state.vacuumed))
            .collect();
        if let Some(note) = notes::not_vacuumed(&used) {
            out.note(note);
        }
        Ok(())
    }
}
