//! What the companions of a trial found, by name as JSON: rows of the table of instruments' findings, without an
//! instrument.

use pgdyno_model::Findings;
use serde_json::Value;

use crate::db::{self, Db, Optional, params};

/// In the place of an instrument's number.
const NO_INSTRUMENT: i64 = -1;

/// Notebooks made before have these as events of the trial.
const EVENTS: [&str; 8] = [
    "accounting",
    "checks",
    "disturbed",
    "figures",
    "isolation",
    "key_skew",
    "staleness",
    "warmup-ended",
];
/// And these as columns, which the view of trials has.
pub const COLUMNS: [&str; 3] = ["server_counters", "cluster_after", "truth"];

/// Keeps them.
///
/// # Errors
/// The store cannot be written.
pub fn write(db: &Db, number: i64, findings: &Findings) -> db::Result<()> {
    let insert = db.prepare("INSERT INTO finding VALUES (?, ?, ?, ?, 0)");
    for (name, value) in findings.iter() {
        insert.execute(params![number, NO_INSTRUMENT, name, value.to_string()])?;
    }
    Ok(())
}

/// Reads them.
///
/// # Errors
/// The store cannot be read.
pub fn read(db: &Db, number: i64) -> db::Result<Findings> {
    let mut findings = Findings::default();
    let mut add = |name: &str, text: &str| {
        if let Ok(value) = serde_json::from_str::<Value>(text) {
            findings.insert(name.to_owned(), value);
        }
    };
    let columns = COLUMNS.join(", ");
    let sql = format!("SELECT {columns} FROM trial_ended WHERE trial = ?");
    let texts = db.query_row(&sql, [number], |row| {
        (0..COLUMNS.len())
            .map(|at| row.get::<Option<String>>(at))
            .collect::<db::Result<Vec<_>>>()
    });
    let texts = texts.optional()?.unwrap_or_default();
    for (name, text) in COLUMNS.into_iter().zip(texts) {
        add(name, &text.unwrap_or_default());
    }
    let kinds = EVENTS.map(|kind| format!("'{kind}'")).join(", ");
    let events = format!(
        "SELECT replace(kind, '-', '_'), text FROM event \
         WHERE trial = ? AND source IS NULL AND kind IN ({kinds})"
    );
    let rows = "SELECT name, value FROM finding WHERE trial = ? AND instrument = -1";
    for sql in [&*events, rows] {
        db.prepare(sql).each([number], |row| {
            add(&row.get::<String>(0)?, &row.get::<String>(1)?);
            Ok(())
        })?;
    }
    Ok(findings)
}

#[cfg(test)]
mod tests {
    use pgdyno_model::Fact;
    use pgdyno_model::document::{EndedBy, Figure, Truth, WarmupEnd};
    use serde_json::json;

    use super::*;
    use crate::{Store, example, happening};

    fn ended(store: &Store) -> i64 {
        let writer = store.begin(&example()).unwrap();
        let number = writer.number();
        writer.fail("over").unwrap();
        number
    }

    #[test]
    fn findings_are_read_as_they_were_written() {
        let dir = tempfile::tempdir().unwrap();
        let store = Store::open(&dir.path().join("s")).unwrap();
        let number = ended(&store);
        let mut findings = Findings::default();
        findings.put(&Fact::<Truth>::Unknown("it's gone".to_owned()));
        findings.insert("of-another-version".to_owned(), json!({ "us": u64::MAX }));
        write(&store.db, number, &findings).unwrap();
        let outcome = store.outcome(number).unwrap();
        assert_eq!(outcome.findings, findings);
        assert_eq!(outcome.observed.facts, []);
    }

    #[test]
    fn findings_of_notebooks_made_before_are_events_and_columns() {
        let dir = tempfile::tempdir().unwrap();
        let store = Store::open(&dir.path().join("s")).unwrap();
        let number = ended(&store);
        let truth = Fact::Known(Truth::default());
        let sql = "UPDATE trial_ended SET truth = ? WHERE trial = ?";
        let values = params![json!(truth).to_string(), number];
        store.db.execute(sql, values).unwrap();
        let warmup = WarmupEnd {
            by: EndedBy::Steady,
            figure: Figure::Throughput,
            change: None,
        };
        for (kind, text) in [
            ("warmup-ended", json!(warmup).to_string()),
            ("checks", "[]".to_owned()),
            ("error", "{}".to_owned()),
        ] {
            happening::tell(&store.db, number, 0, kind, &text).unwrap();
        }
        let sql = "INSERT INTO event (trial, event, at_us, kind, text, source) \
                   VALUES (?, 100, 0, 'staleness', '{}', 'an instrument')";
        store.db.execute(sql, [number]).unwrap();
        let findings = store.outcome(number).unwrap().findings;
        let names: Vec<&str> = findings.iter().map(|(name, _)| name).collect();
        assert_eq!(names, ["checks", "truth", "warmup_ended"]);
        assert_eq!(findings.get(), Some(truth));
        assert_eq!(findings.get(), Some(warmup));
    }
}
