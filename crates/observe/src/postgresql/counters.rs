//! The server's own counters, once a second, all in one request: one snapshot of them, and one round
//! trip. Never reset: what grows is taken as the difference.

use std::collections::BTreeMap;

use pgdyno_session::{Error, Outcome, quote_literal};

use super::figure::{At, Figure, View};
use super::figures;
use super::place::{self, Connection, Line, MARK, Place};
use crate::{Instrument, Readings};
use pgdyno_model::observed::{Gap, Kind};

/// So many tables and so many indexes are read one by one.
const RELATIONS_MAX: usize = 20;

const ALREADY_PREPARED: &str = "42P05";

pub struct Counters {
    line: Line<Ready>,
}

/// What a session is asked.
struct Ready {
    queries: Vec<Query>,
    /// What this server or role does not have, by part; reported with each reading.
    gaps: BTreeMap<&'static str, Gap>,
    /// How many tables and indexes there are of which some are left out.
    left_out: Option<(usize, usize)>,
}

/// A view with the figures that are read from it.
struct Query {
    view: &'static View,
    figures: Vec<&'static Figure>,
    sql: String,
}

impl Counters {
    pub fn new(place: Place) -> Self {
        Self {
            line: Line::to(place),
        }
    }
}

impl Instrument for Counters {
    fn name(&self) -> &str {
        "pg.counters"
    }

    fn source(&self) -> String {
        self.line.place().source("the cumulative statistics views")
    }

    fn begin(&mut self, out: &mut Readings) -> Result<(), Gap> {
        self.read(out)?;
        if let Some((tables, indexes)) = self.line.ready().and_then(|ready| ready.left_out) {
            out.fact(
                "relations_not_shown",
                format!("the {RELATIONS_MAX} largest of {tables} tables and {indexes} indexes are"),
            );
        }
        Ok(())
    }

    fn end(&mut self, out: &mut Readings) -> Result<(), Gap> {
        let result = self.read(out);
        self.line.tell_cost(out);
        result
    }

    fn read(&mut self, out: &mut Readings) -> Result<(), Gap> {
        let place = self.line.place().clone();
        self.line.ask(prepare, |connection, ready| {
            let outcomes = ask(connection, &mut ready.queries, &mut ready.gaps)?;
            for (query, outcome) in ready.queries.iter().zip(outcomes) {
                for row in outcome.rows {
                    tell(query, row, &place, out);
                }
            }
            for (part, gap) in &ready.gaps {
                out.gap(place.label(part), gap.clone());
            }
            Ok(())
        })
    }
}

/// Asks all in one; when that fails, one by one, and those that fail not again.
fn ask(
    connection: &mut Connection,
    queries: &mut Vec<Query>,
    gaps: &mut BTreeMap<&'static str, Gap>,
) -> Result<Vec<Outcome>, Error> {
    let is_planned = connection.is_own();
    let all: Vec<String> = queries.iter().map(|q| q.text(is_planned)).collect();
    match connection.query(&all.join("; ")) {
        Err(Error::Server(_)) if !connection.is_lost() => {}
        // Without queries there is the one answer to none.
        Ok(_) if queries.is_empty() => return Ok(Vec::new()),
        other => return other,
    }
    let mut outcomes = Vec::new();
    let mut lost = None;
    let grant = connection.grant_monitor();
    queries.retain(|query| {
        if lost.is_some() {
            return true;
        }
        match connection.query(&query.text(is_planned)) {
            Ok(outcome) => outcomes.extend(outcome),
            Err(error) if connection.is_lost() => lost = Some(error),
            Err(error) => {
                gaps.insert(query.view.name, place::gap(&error, &grant));
                return false;
            }
        }
        true
    });
    match lost {
        Some(error) => Err(error),
        None => Ok(outcomes),
    }
}

impl Query {
    /// What asks it, planned before or not.
    fn text(&self, is_planned: bool) -> String {
        if is_planned {
            format!("EXECUTE {}", statement(self.view))
        } else {
            self.sql.clone()
        }
    }

    fn prepare(&self) -> String {
        format!("PREPARE {} AS {}", statement(self.view), self.sql)
    }
}

/// The name of its prepared statement; views of one name differ in what they take of it.
fn statement(view: &View) -> String {
    let address: *const View = view;
    format!("pgdyno_{:x}", address as usize)
}

/// Has the server plan the queries, once.
fn prepare(connection: &mut Connection) -> Result<Ready, Error> {
    let mut gaps = BTreeMap::new();
    let off = settings_off(connection)?;
    for (setting, what) in [
        ("track_io_timing", "times of reads and writes"),
        ("track_wal_io_timing", "times of the log's writes and syncs"),
    ] {
        if off.contains(&setting.to_owned()) {
            let database = pgdyno_session::quote_ident(&connection.database);
            let gap = Gap::because(format!("{what} are not collected: {setting} is off"))
                .remedy(format!("ALTER DATABASE {database} SET {setting} = on"));
            gaps.insert(setting, gap);
        }
    }
    if off.contains(&"track_counts".to_owned()) {
        let gap = Gap::because("nothing of rows and blocks is counted: track_counts is off")
            .remedy("ALTER SYSTEM SET track_counts = on");
        gaps.insert("track_counts", gap);
    }
    let relations = Relations::find(connection)?;
    let mut queries = Vec::new();
    for (view, figures) in by_view(connection.major, &off) {
        let Some(from) = relations.put_into(view.from) else {
            continue;
        };
        let expressions: Vec<String> = figures
            .iter()
            .map(|(_, at)| format!("({})::float8", at.sql))
            .collect();
        let sql = format!(
            "SELECT {MARK} {}, {} FROM {from}",
            view.label,
            expressions.join(", ")
        );
        queries.push(Query {
            view,
            figures: figures.into_iter().map(|(figure, _)| figure).collect(),
            sql,
        });
    }
    if !connection.is_own() {
        // Nothing can be prepared: each is planned when it is asked, and left out once it fails.
        return Ok(Ready {
            queries,
            gaps,
            left_out: relations.left_out,
        });
    }
    // One round trip where all are taken; else those before the first that is refused are there already.
    let all: Vec<String> = queries.iter().map(Query::prepare).collect();
    let is_done = match connection.query(&all.join("; ")) {
        Err(error) if connection.is_lost() => return Err(error),
        result => result.is_ok(),
    };
    let mut prepared = Vec::new();
    let grant = connection.grant_monitor();
    for query in queries {
        let result = if is_done {
            Ok(Vec::new())
        } else {
            connection.query(&query.prepare())
        };
        match result {
            Ok(_) => prepared.push(query),
            Err(error) if connection.is_lost() => return Err(error),
            Err(error) if error.sqlstate() == Some(ALREADY_PREPARED) => prepared.push(query),
            Err(error) => {
                gaps.insert(query.view.name, place::gap(&error, &grant));
            }
        }
    }
    Ok(Ready {
        queries: prepared,
        gaps,
        left_out: relations.left_out,
    })
}

/// Those of the settings that figures need and that are off in this session.
fn settings_off(connection: &mut Connection) -> Result<Vec<String>, Error> {
    // One by one: the view has all settings made into rows.
    let sql = "SELECT name \
        FROM unnest(ARRAY['track_io_timing', 'track_wal_io_timing', 'track_counts']) AS name \
        WHERE current_setting(name, true) = 'off'";
    let rows = connection.rows(sql)?;
    Ok(rows.into_iter().flatten().flatten().collect())
}

type Columns = Vec<(&'static Figure, At)>;

/// The figures that this version has, by view.
fn by_view(major: u32, off: &[String]) -> Vec<(&'static View, Columns)> {
    let mut views: Vec<(&'static View, Columns)> = Vec::new();
    for figure in figures::ALL.iter().copied().flatten() {
        let Some(at) = figure.of(major) else { continue };
        if at
            .needs
            .is_some_and(|needed| off.iter().any(|o| o == needed))
        {
            continue;
        }
        match views
            .iter_mut()
            .find(|(view, _)| std::ptr::eq(*view, at.view))
        {
            Some((_, columns)) => columns.push((figure, at)),
            None => views.push((at.view, vec![(figure, at)])),
        }
    }
    views
}

/// The relations that are read one by one, as tables of SQL.
struct Relations {
    tables: Option<String>,
    indexes: Option<String>,
    left_out: Option<(usize, usize)>,
}

impl Relations {
    /// The largest of the user's own.
    fn find(connection: &mut Connection) -> Result<Self, Error> {
        let (tables, all_tables) = largest(connection, "'r', 'm'")?;
        let (indexes, all_indexes) = largest(connection, "'i'")?;
        let are_left_out = all_tables.max(all_indexes) > RELATIONS_MAX;
        Ok(Self {
            tables,
            indexes,
            left_out: are_left_out.then_some((all_tables, all_indexes)),
        })
    }

    /// `None` when there are none of those that it speaks of.
    fn put_into(&self, from: &str) -> Option<String> {
        match from {
            "{tables}" => self.tables.clone(),
            "{indexes}" => self.indexes.clone(),
            from => Some(from.to_owned()),
        }
    }
}

/// The largest relations of these kinds, and how many there are.
fn largest(connection: &mut Connection, kinds: &str) -> Result<(Option<String>, usize), Error> {
    let sql = format!(
        "SELECT c.oid, CASE n.nspname WHEN 'public' THEN '' ELSE n.nspname || '.' END \
            || c.relname, count(*) OVER () \
         FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace \
         WHERE c.relkind IN ({kinds}) AND n.nspname NOT IN ('pg_catalog', 'information_schema') \
         AND n.nspname NOT LIKE 'pg\\_toast%' AND c.relpersistence <> 't' \
         ORDER BY c.relpages DESC, c.oid LIMIT {RELATIONS_MAX}"
    );
    let mut all = 0;
    let mut values = Vec::new();
    for row in connection.rows(&sql)? {
        if let [Some(oid), Some(label), Some(count)] = row.as_slice() {
            all = count.parse().unwrap_or(0);
            values.push(format!("({oid}::oid, {})", quote_literal(label)));
        }
    }
    let table = format!("(VALUES {}) AS relation(oid, label)", values.join(", "));
    Ok(((!values.is_empty()).then_some(table), all))
}

/// Tells the figures of one row; what the server does not know is NULL.
fn tell(query: &Query, row: Vec<Option<String>>, place: &Place, out: &mut Readings) {
    let mut row = row.into_iter();
    let label = place.label(&row.next().flatten().unwrap_or_default());
    for (figure, value) in query.figures.iter().zip(row) {
        let value = value.and_then(|text| text.parse().ok());
        let Some(value) = value else { continue };
        let series = figure.row.of(label.clone());
        match figure.row.kind {
            Kind::Counter => out.counter(series, value),
            _ => out.gauge(series, value),
        }
    }
}
