//! What instruments read, packed: a row for each moment at which something was read, with all that was. A row
//! for each figure takes three times the room in a file and five times on a server, where a row has 24 bytes of its
//! own and an index.

use std::collections::BTreeMap;

use crate::db::{self, Db, Error, params};
use pgdyno_model::observed::Sample;

/// Series and figure, as JSON: what the view `sample` takes apart again.
type Read = BTreeMap<usize, serde_json::Number>;

/// Writes them. A moment that is there already stays as it is.
///
/// # Errors
/// The store cannot be written.
pub fn write(db: &Db, number: i64, samples: impl Iterator<Item = Sample>) -> db::Result<()> {
    let mut moments: BTreeMap<i64, Read> = BTreeMap::new();
    for sample in samples {
        if let Some(value) = number_of(sample.value) {
            let read = moments.entry(sample.at_us).or_default();
            read.insert(sample.series, value);
        }
    }
    let insert = db.prepare("INSERT INTO samples VALUES (?, ?, ?, ?) ON CONFLICT DO NOTHING");
    for (at_us, read) in moments {
        // Two instruments may have read in the same microsecond, but no series was read twice.
        let Some(first) = read.keys().next() else {
            continue;
        };
        let text = serde_json::to_string(&read).map_err(|e| Error::Unreadable(e.to_string()))?;
        insert.execute(params![number, at_us, first, text])?;
    }
    Ok(())
}

/// A figure as it is shortest; what is infinite or no number has no form in JSON, and is not kept.
fn number_of(value: f64) -> Option<serde_json::Number> {
    const WHOLE_MAX: f64 = 9e15;
    if value.fract() == 0.0 && value.abs() < WHOLE_MAX {
        Some((value as i64).into())
    } else {
        serde_json::Number::from_f64(value)
    }
}

/// Gives a trial's to `take`, in the order of time: those later than `after_us`.
///
/// # Errors
/// The store cannot be read.
pub fn each(
    db: &Db,
    number: i64,
    after_us: Option<i64>,
    mut take: impl FnMut(Sample),
) -> db::Result<()> {
    let sql = "SELECT at_us, figures FROM samples WHERE trial = ? AND at_us > ? \
               ORDER BY at_us, series";
    let after_us = after_us.unwrap_or(i64::MIN);
    db.each(sql, params![number, after_us], |row| {
        let at_us = row.get(0)?;
        let text: String = row.get(1)?;
        let read: BTreeMap<usize, f64> = serde_json::from_str(&text)
            .map_err(|e| Error::Unreadable(format!("what instruments read: {e}")))?;
        for (series, value) in read {
            take(Sample {
                series,
                at_us,
                value,
            });
        }
        Ok(())
    })
}
