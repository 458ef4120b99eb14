//! What instruments saw: into the store as it comes, and out of it.

use std::collections::{BTreeMap, HashMap};

use rusqlite::types::Type;
use rusqlite::{Connection, Error, Row, params};
use serde_json::Value;

use super::packed::whole;
use crate::observe::{
    Batch, Course, Gap, InstrumentRow, Kind, NewSeries, Observed, ObservedEvent, Series,
    ServerStatement, Span, Total,
};

/// Writes what has come.
///
/// # Errors
/// The store cannot be written.
pub fn write(connection: &Connection, number: i64, batch: &Batch) -> rusqlite::Result<()> {
    for row in &batch.instruments {
        connection
            .prepare_cached("INSERT OR REPLACE INTO instrument VALUES (?, ?, ?, ?, NULL)")?
            .execute(params![number, row.number, row.name, row.source])?;
    }
    for (instrument, cpu_us) in &batch.cpu {
        connection
            .prepare_cached("UPDATE instrument SET cpu_us = ? WHERE trial = ? AND instrument = ?")?
            .execute(params![whole(*cpu_us), number, instrument])?;
    }
    write_series(connection, number, batch)?;
    for span in &batch.gaps {
        connection
            .prepare_cached("INSERT OR REPLACE INTO gap VALUES (?, ?, ?, ?, ?, ?, ?, ?)")?
            .execute(params![
                number,
                span.number,
                span.instrument,
                span.label,
                span.from_us,
                span.to_us,
                span.gap.reason,
                span.gap.remedy
            ])?;
    }
    for event in &batch.events {
        connection
            .prepare_cached(
                "INSERT INTO event (trial, at_us, kind, text, length_us, source) \
                 VALUES (?1, ?2, ?3, ?4, ?5, \
                 (SELECT name FROM instrument WHERE trial = ?1 AND instrument = ?6))",
            )?
            .execute(params![
                number,
                event.at_us,
                event.kind,
                event.text,
                event.length_us.map(whole),
                event.instrument
            ])?;
    }
    for (instrument, name, value) in &batch.facts {
        connection
            .prepare_cached("INSERT OR REPLACE INTO finding VALUES (?, ?, ?, ?)")?
            .execute(params![number, instrument, name, value.to_string()])?;
    }
    write_statements(connection, number, &batch.statements)
}

fn write_series(connection: &Connection, number: i64, batch: &Batch) -> rusqlite::Result<()> {
    for new in &batch.series {
        connection
            .prepare_cached("INSERT OR REPLACE INTO series VALUES (?, ?, ?, ?, ?, ?, ?)")?
            .execute(params![
                number,
                new.number,
                new.instrument,
                new.series.name,
                new.series.label,
                new.series.unit,
                new.kind.name()
            ])?;
    }
    let mut insert =
        connection.prepare_cached("INSERT OR REPLACE INTO sample VALUES (?, ?, ?, ?)")?;
    for sample in &batch.samples {
        insert.execute(params![number, sample.at_us, sample.series, sample.value])?;
    }
    let mut insert =
        connection.prepare_cached("INSERT OR REPLACE INTO total VALUES (?, ?, ?, ?, ?, ?, ?)")?;
    for total in &batch.totals {
        insert.execute(params![
            number,
            total.series,
            total.before_at_us,
            total.before,
            total.after_at_us,
            total.after,
            total.resets
        ])?;
    }
    Ok(())
}

fn write_statements(
    connection: &Connection,
    number: i64,
    statements: &[(usize, ServerStatement)],
) -> rusqlite::Result<()> {
    let mut places: BTreeMap<usize, usize> = BTreeMap::new();
    for (instrument, statement) in statements {
        let place = places.entry(*instrument).or_default();
        let details: BTreeMap<&str, f64> = statement
            .details
            .iter()
            .map(|(name, value)| (name.as_str(), *value))
            .collect();
        connection
            .prepare_cached(
                "INSERT OR REPLACE INTO server_statement VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
            )?
            .execute(params![
                number,
                instrument,
                *place,
                statement.text,
                whole(statement.calls),
                statement.time_us,
                statement.rows.map(whole),
                serde_json::json!(details).to_string()
            ])?;
        *place += 1;
    }
    Ok(())
}

/// All that was seen of a trial. Its notes are among those of the trial.
///
/// # Errors
/// The store cannot be read.
pub fn read(connection: &Connection, number: i64) -> rusqlite::Result<Observed> {
    let (instruments, cpu_us) = instruments(connection, number)?;
    let names: HashMap<&str, usize> = instruments
        .iter()
        .map(|row: &InstrumentRow| (row.name.as_str(), row.number))
        .collect();
    let events = all(
        connection,
        number,
        "SELECT at_us, length_us, kind, text, source FROM event \
         WHERE trial = ? AND source IS NOT NULL ORDER BY at_us, rowid",
        |row| {
            let source: String = row.get(4)?;
            Ok(ObservedEvent {
                instrument: names.get(source.as_str()).copied().unwrap_or(usize::MAX),
                at_us: row.get(0)?,
                length_us: row.get(1)?,
                kind: row.get(2)?,
                text: row.get(3)?,
            })
        },
    )?;
    Ok(Observed {
        events,
        series: series(connection, number)?,
        gaps: all(
            connection,
            number,
            "SELECT gap, instrument, label, from_us, to_us, reason, remedy \
             FROM gap WHERE trial = ? ORDER BY gap",
            |row| {
                Ok(Span {
                    number: row.get(0)?,
                    instrument: row.get(1)?,
                    label: row.get(2)?,
                    from_us: row.get(3)?,
                    to_us: row.get(4)?,
                    gap: Gap {
                        reason: row.get(5)?,
                        remedy: row.get(6)?,
                    },
                })
            },
        )?,
        statements: all(
            connection,
            number,
            "SELECT instrument, text, calls, time_us, rows, details \
             FROM server_statement WHERE trial = ? ORDER BY instrument, place",
            |row| {
                let details: BTreeMap<String, f64> = json(row, 5)?;
                let statement = ServerStatement {
                    text: row.get(1)?,
                    calls: row.get(2)?,
                    time_us: row.get(3)?,
                    rows: row.get(4)?,
                    details: details.into_iter().collect(),
                };
                Ok((row.get(0)?, statement))
            },
        )?,
        facts: all(
            connection,
            number,
            "SELECT instrument, name, value FROM finding WHERE trial = ? ORDER BY instrument, name",
            |row| Ok((row.get(0)?, row.get(1)?, json::<Value>(row, 2)?)),
        )?,
        notes: Vec::new(),
        instruments,
        cpu_us,
    })
}

fn instruments(
    connection: &Connection,
    number: i64,
) -> rusqlite::Result<(Vec<InstrumentRow>, Vec<Option<u64>>)> {
    let rows = all(
        connection,
        number,
        "SELECT instrument, name, source, cpu_us FROM instrument WHERE trial = ? \
         ORDER BY instrument",
        |row| {
            let instrument = InstrumentRow {
                number: row.get(0)?,
                name: row.get(1)?,
                source: row.get(2)?,
            };
            Ok((instrument, row.get::<_, Option<u64>>(3)?))
        },
    )?;
    Ok(rows.into_iter().unzip())
}

fn series(connection: &Connection, number: i64) -> rusqlite::Result<Vec<Course>> {
    let mut series = all(
        connection,
        number,
        "SELECT s.series, instrument, name, label, unit, kind, \
         before_at_us, before, after_at_us, after, resets \
         FROM series s LEFT JOIN total t ON t.trial = s.trial AND t.series = s.series \
         WHERE s.trial = ? ORDER BY s.series",
        course,
    )?;
    let places: HashMap<usize, usize> = series
        .iter()
        .enumerate()
        .map(|(place, course)| (course.of.number, place))
        .collect();
    let sql = "SELECT series, at_us, value FROM sample WHERE trial = ? ORDER BY at_us";
    let mut select = connection.prepare(sql)?;
    let mut rows = select.query([number])?;
    while let Some(row) = rows.next()? {
        if let Some(place) = places.get(&row.get(0)?) {
            series[*place].samples.push((row.get(1)?, row.get(2)?));
        }
    }
    Ok(series)
}

fn course(row: &Row<'_>) -> rusqlite::Result<Course> {
    let kind: String = row.get(5)?;
    let number = row.get(0)?;
    let total = match row.get::<_, Option<i64>>(6)? {
        None => None,
        Some(before_at_us) => Some(Total {
            series: number,
            before_at_us,
            before: row.get(7)?,
            after_at_us: row.get(8)?,
            after: row.get(9)?,
            resets: row.get(10)?,
        }),
    };
    Ok(Course {
        of: NewSeries {
            number,
            instrument: row.get(1)?,
            series: Series {
                name: row.get::<_, String>(2)?.into(),
                label: row.get(3)?,
                unit: row.get::<_, String>(4)?.into(),
            },
            // The column has no others.
            kind: Kind::from_name(&kind).unwrap_or(Kind::Gauge),
        },
        samples: Vec::new(),
        total,
    })
}

fn all<T>(
    connection: &Connection,
    number: i64,
    sql: &str,
    read: impl FnMut(&Row<'_>) -> rusqlite::Result<T>,
) -> rusqlite::Result<Vec<T>> {
    let mut select = connection.prepare(sql)?;
    select.query_map([number], read)?.collect()
}

fn json<T: serde::de::DeserializeOwned>(row: &Row<'_>, column: usize) -> rusqlite::Result<T> {
    let text: String = row.get(column)?;
    serde_json::from_str(&text)
        .map_err(|e| Error::FromSqlConversionFailure(column, Type::Text, Box::new(e)))
}
