//! What instruments saw: into the store as it comes, and out of it.

use std::collections::{BTreeMap, HashMap};

use serde_json::Value;

use crate::db::{self, Db, Error, Row, params};
use crate::samples;
use pgdyno_model::observed::{
    Batch, Course, Gap, InstrumentRow, Kind, NewSeries, Observed, ObservedEvent, Series,
    ServerStatement, Span, Total,
};

/// Writes what has come.
///
/// # Errors
/// The store cannot be written.
pub fn write(connection: &Db, number: i64, batch: &Batch) -> db::Result<()> {
    for row in &batch.instruments {
        connection
            .prepare("INSERT INTO instrument VALUES (?, ?, ?, ?) ON CONFLICT DO NOTHING")
            .execute(params![number, row.number, row.name, row.source])?;
    }
    for (instrument, cpu_us) in &batch.cpu {
        connection
            .prepare("INSERT INTO instrument_cpu VALUES (?, ?, ?) ON CONFLICT DO NOTHING")
            .execute(params![number, instrument, cpu_us])?;
    }
    write_series(connection, number, batch)?;
    for span in &batch.gaps {
        connection
            .prepare("INSERT INTO gap VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING")
            .execute(params![
                number,
                span.number,
                span.instrument,
                span.label,
                span.from_us,
                span.to_us,
                span.gap.reason,
                span.gap.remedy,
                span.to_us.is_some()
            ])?;
    }
    for event in &batch.events {
        connection
            .prepare(
                "INSERT INTO event (trial, event, at_us, kind, text, length_us, source) \
                 VALUES (?1, (SELECT coalesce(max(event) + 1, 0) FROM event WHERE trial = ?1), \
                 ?2, ?3, ?4, ?5, \
                 (SELECT name FROM instrument WHERE trial = ?1 AND instrument = ?6))",
            )
            .execute(params![
                number,
                event.at_us,
                event.kind,
                event.text,
                event.length_us,
                event.instrument
            ])?;
    }
    for (instrument, name, value) in &batch.facts {
        connection
            .prepare(
                "INSERT INTO finding VALUES (?1, ?2, ?3, ?4, (SELECT coalesce(max(told) + 1, 0) \
                 FROM finding WHERE trial = ?1 AND instrument = ?2 AND name = ?3))",
            )
            .execute(params![number, instrument, name, value.to_string()])?;
    }
    write_statements(connection, number, &batch.statements)
}

fn write_series(connection: &Db, number: i64, batch: &Batch) -> db::Result<()> {
    for new in &batch.series {
        connection
            .prepare("INSERT INTO series VALUES (?, ?, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING")
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
    samples::write(connection, number, batch.samples.iter().copied())?;
    let insert =
        connection.prepare("INSERT INTO total VALUES (?, ?, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING");
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
    connection: &Db,
    number: i64,
    statements: &[(usize, ServerStatement)],
) -> db::Result<()> {
    let mut places: BTreeMap<usize, usize> = BTreeMap::new();
    for (instrument, statement) in statements {
        let place = places.entry(*instrument).or_default();
        let details: BTreeMap<&str, f64> = statement
            .details
            .iter()
            .map(|(name, value)| (name.as_str(), *value))
            .collect();
        connection
            .prepare(
                "INSERT INTO server_statement VALUES (?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING",
            )
            .execute(params![
                number,
                instrument,
                *place,
                statement.text,
                statement.calls,
                statement.time_us,
                statement.rows,
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
pub fn read(connection: &Db, number: i64) -> db::Result<Observed> {
    read_after(connection, number, None)
}

/// The same, with samples later than `after_us` only.
///
/// # Errors
/// The store cannot be read.
pub fn read_after(connection: &Db, number: i64, after_us: Option<i64>) -> db::Result<Observed> {
    let (instruments, instrument_cpu_us) = instruments(connection, number)?;
    let sql = "SELECT observers_cpu_us FROM trial WHERE number = ?";
    let cpu_us = connection.query_row(sql, [number], |row| row.get(0))?;
    let names: HashMap<&str, usize> = instruments
        .iter()
        .map(|row: &InstrumentRow| (row.name.as_str(), row.number))
        .collect();
    let events = all(
        connection,
        number,
        "SELECT at_us, length_us, kind, text, source FROM event \
         WHERE trial = ? AND source IS NOT NULL ORDER BY at_us, event",
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
        series: series(connection, number, after_us)?,
        gaps: all(
            connection,
            number,
            "SELECT gap, instrument, label, from_us, to_us, reason, remedy \
             FROM gap g WHERE trial = ? AND (is_over OR NOT EXISTS (SELECT 1 FROM gap o \
             WHERE o.trial = g.trial AND o.gap = g.gap AND o.is_over)) ORDER BY gap",
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
            "SELECT instrument, name, value FROM finding f WHERE trial = ? AND instrument >= 0 AND NOT EXISTS \
             (SELECT 1 FROM finding l WHERE l.trial = f.trial AND l.instrument = f.instrument \
             AND l.name = f.name AND l.told > f.told) ORDER BY instrument, name",
            |row| Ok((row.get(0)?, row.get(1)?, json::<Value>(row, 2)?)),
        )?,
        notes: Vec::new(),
        instruments,
        instrument_cpu_us,
        cpu_us,
    })
}

fn instruments(connection: &Db, number: i64) -> db::Result<(Vec<InstrumentRow>, Vec<Option<u64>>)> {
    let rows = all(
        connection,
        number,
        "SELECT i.instrument, name, source, cpu_us FROM instrument i LEFT JOIN instrument_cpu c \
         ON c.trial = i.trial AND c.instrument = i.instrument WHERE i.trial = ? \
         ORDER BY i.instrument",
        |row| {
            let instrument = InstrumentRow {
                number: row.get(0)?,
                name: row.get(1)?,
                source: row.get(2)?,
            };
            Ok((instrument, row.get::<Option<u64>>(3)?))
        },
    )?;
    Ok(rows.into_iter().unzip())
}

fn series(connection: &Db, number: i64, after_us: Option<i64>) -> db::Result<Vec<Course>> {
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
    samples::each(connection, number, after_us, |sample| {
        if let Some(place) = places.get(&sample.series) {
            series[*place].samples.push((sample.at_us, sample.value));
        }
    })?;
    Ok(series)
}

fn course(row: &Row<'_>) -> db::Result<Course> {
    let kind: String = row.get(5)?;
    let number = row.get(0)?;
    let total = match row.get::<Option<i64>>(6)? {
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
                name: row.get::<String>(2)?.into(),
                label: row.get(3)?,
                unit: row.get::<String>(4)?.into(),
            },
            // The column has no others.
            kind: Kind::from_name(&kind).unwrap_or(Kind::Gauge),
        },
        samples: Vec::new(),
        total,
    })
}

fn all<T>(
    connection: &Db,
    number: i64,
    sql: &str,
    read: impl FnMut(&Row<'_>) -> db::Result<T>,
) -> db::Result<Vec<T>> {
    connection.prepare(sql).query_map([number], read)
}

fn json<T: serde::de::DeserializeOwned>(row: &Row<'_>, column: usize) -> db::Result<T> {
    let text: String = row.get(column)?;
    serde_json::from_str(&text)
        .map_err(|e| Error::Unreadable(format!("what an instrument saw: {e}")))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Store;
    use crate::begin::example;
    use pgdyno_model::observed::Sample;
    use serde_json::json;

    fn series(number: usize, name: &'static str, label: &str, kind: Kind) -> NewSeries {
        NewSeries {
            number,
            instrument: 0,
            series: Series::new(name, "bytes/s").of(label),
            kind,
        }
    }

    fn batches() -> [Batch; 2] {
        let sample = |series, at_us, value| Sample {
            series,
            at_us,
            value,
        };
        let gap = |to_us| Span {
            number: 0,
            instrument: 1,
            label: "node 2".to_owned(),
            from_us: None,
            to_us,
            gap: Gap::because("refused").remedy("start it"),
        };
        let instrument = |number, name: &str| InstrumentRow {
            number,
            name: name.to_owned(),
            source: format!("the source of {name}"),
        };
        let first = Batch {
            instruments: vec![instrument(0, "pg.wal"), instrument(1, "scrape.node")],
            series: vec![
                series(0, "pg.wal.bytes", "", Kind::Counter),
                series(1, "pg.waits", "IO:WALSync", Kind::Sparse),
            ],
            samples: vec![sample(0, -5, 0.1), sample(1, 1_000_000, 1e300)],
            gaps: vec![gap(None)],
            facts: vec![(0, "rate".to_owned(), json!(10))],
            ..Batch::default()
        };
        let second = Batch {
            series: vec![series(2, "pg.size", "t", Kind::BeforeAfter)],
            samples: vec![sample(0, 2_000_000, 5.0)],
            totals: vec![Total {
                series: 2,
                before_at_us: -100,
                before: 1.0,
                after_at_us: 3_000_000,
                after: 9e15,
                resets: 2,
            }],
            gaps: vec![gap(Some(2_000_000))],
            events: vec![ObservedEvent {
                instrument: 0,
                at_us: -1,
                length_us: Some(7),
                kind: "outage".to_owned(),
                text: "not one of connections".to_owned(),
            }],
            statements: vec![(
                0,
                ServerStatement {
                    text: "SELECT $1".to_owned(),
                    calls: 3,
                    time_us: 4.5,
                    rows: None,
                    details: vec![("wal_bytes".to_owned(), 1.5)],
                },
            )],
            facts: vec![(0, "rate".to_owned(), json!({"per_s": [2, null]}))],
            cpu: vec![(0, 1234)],
            ..Batch::default()
        };
        [first, second]
    }

    #[test]
    fn what_was_seen_is_read_again_as_it_was() {
        let dir = tempfile::tempdir().unwrap();
        let store = Store::open(&dir.path().join("s")).unwrap();
        let writer = store.begin(&example()).unwrap();
        let number = writer.number();
        let mut seen = Observed::default();
        for batch in batches() {
            // As often as the store was locked.
            write(&store.db, number, &batch).unwrap();
            seen.add(batch);
        }
        writer.fail("over").unwrap();
        let read = read(&store.db, number).unwrap();
        assert_eq!(read, seen);
        assert_eq!(read.instrument_cpu_us, [Some(1234), None]);
        let outcome = store.outcome(number).unwrap();
        assert!(outcome.recording.events.is_empty(), "it is no connection's");
    }
}
