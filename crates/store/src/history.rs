//! The history of a trial, where one was recorded: compressed into the store, and out of it.
//!
//! It is written by itself before the trial ends: if that fails, the trial is kept without it.
//! Not for: what a history says (`measurement`), its form in files (`isolation`).

use std::collections::BTreeMap;
use std::io::{Read, Write};

use flate2::Compression;
use flate2::read::ZlibDecoder;
use flate2::write::ZlibEncoder;
use pgdyno_measurement::{HistoryPart, RecordedHistory};
use pgdyno_model::{Note, Severity};
use pgdyno_spec::Failure;

use crate::Store;
use crate::db::{self, Db, Error, Value, params};
use crate::packed::whole;

/// A history of more bytes is not kept: some 400,000 transactions. Compressed it takes a third or less.
pub const BYTES_MAX: usize = 64 << 20;
/// The code of the note of a trial whose history is not kept.
pub const NOT_KEPT: &str = "history-not-kept";

impl Store {
    /// Keeps the history of a trial that has not ended.
    ///
    /// # Errors
    /// It is too large; the store cannot be written. Nothing of it is there then.
    pub(super) fn keep_history(
        &self,
        number: i64,
        history: &RecordedHistory,
    ) -> Result<(), Failure> {
        let bytes = history.bytes();
        if bytes > BYTES_MAX {
            return Err(Failure::new(format!(
                "it has {} MiB, and a notebook keeps at most {} MiB of a trial",
                bytes.div_ceil(1 << 20),
                BYTES_MAX >> 20
            )));
        }
        let written = self.db.transaction(|db| write(db, number, history));
        written.map_err(self.failed("cannot write to"))
    }

    /// The history of a trial, if it is kept.
    ///
    /// # Errors
    /// The store cannot be read, or what is there was not written by pgdyno.
    pub fn history(&self, number: i64) -> Result<Option<RecordedHistory>, Failure> {
        read(&self.db, number).map_err(self.failed("cannot read"))
    }
}

/// What a reader of the trial learns when its history is not kept.
pub fn not_kept(why: &Failure) -> Note {
    Note::new(
        NOT_KEPT,
        Severity::Notice,
        format!("the history is not stored with the trial: {}", why.message),
        "write it to a file (--history FILE), or record a shorter trial",
    )
}

/// Nothing of an attempt before remains.
fn write(db: &Db, number: i64, history: &RecordedHistory) -> db::Result<()> {
    let insert = db.prepare("INSERT INTO history VALUES (?, ?, ?, ?, ?) ON CONFLICT DO NOTHING");
    for (part, HistoryPart { chunks, cut_ns }) in history.parts().iter().enumerate() {
        let cut_ns = || cut_ns.map_or(Value::Null, whole);
        if chunks.is_empty() {
            // A history without transactions is one, too.
            insert.execute(params![number, part, 0_i64, cut_ns(), packed(&[])?])?;
        }
        for (chunk, bytes) in chunks.iter().enumerate() {
            insert.execute(params![number, part, chunk, cut_ns(), packed(bytes)?])?;
        }
    }
    Ok(())
}

fn read(db: &Db, number: i64) -> db::Result<Option<RecordedHistory>> {
    let mut parts: BTreeMap<usize, HistoryPart> = BTreeMap::new();
    let sql = "SELECT part, cut_ns, bytes FROM history WHERE trial = ? ORDER BY part, chunk";
    db.each(sql, [number], |row| {
        let part = parts.entry(row.get(0)?).or_default();
        part.cut_ns = row.get(1)?;
        let bytes = unpacked(&row.get::<Vec<u8>>(2)?)?;
        if !bytes.is_empty() {
            part.chunks.push(bytes.into());
        }
        Ok(())
    })?;
    let is_kept = !parts.is_empty();
    Ok(is_kept.then(|| RecordedHistory::of_parts(parts.into_values().collect())))
}

fn packed(bytes: &[u8]) -> db::Result<Value> {
    let mut to = ZlibEncoder::new(Vec::new(), Compression::fast());
    let packed = to.write_all(bytes).and_then(|()| to.finish());
    packed
        .map(Value::Blob)
        .map_err(|e| Error::Unreadable(e.to_string()))
}

fn unpacked(bytes: &[u8]) -> db::Result<Vec<u8>> {
    let mut found = Vec::new();
    // What comes from elsewhere does not fill the memory.
    let read = ZlibDecoder::new(bytes)
        .take(BYTES_MAX as u64 + 1)
        .read_to_end(&mut found);
    match read {
        Ok(length) if length <= BYTES_MAX => Ok(found),
        Ok(_) => Err(Error::Unreadable("a history that is too long".to_owned())),
        Err(e) => Err(Error::Unreadable(format!("a history: {e}"))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::begin::example;
    use crate::server_tests::{database, notebook};
    use pgdyno_model::Outcome;
    use pgdyno_testkit::postgres;

    /// As clients recorded it: what is in the bytes does not matter here.
    fn recorded(length: usize) -> RecordedHistory {
        let bytes: Box<[u8]> = (0..length).map(|at| (at % 251) as u8).collect();
        let part = |cut_ns, chunks| HistoryPart { chunks, cut_ns };
        RecordedHistory::of_parts(vec![
            part(Some(17), vec![bytes.clone(), bytes[..length / 2].into()]),
            part(None, Vec::new()),
            part(None, vec![bytes]),
        ])
    }

    /// Of a trial that has one.
    fn outcome(store: &Store, history: RecordedHistory) -> Outcome {
        store.begin(&example()).unwrap().fail("broke").unwrap();
        let mut outcome = store.outcome(1).unwrap();
        outcome.recording.history = Some(history);
        outcome
    }

    #[test]
    fn a_history_is_kept_with_its_trial_copied_with_it_and_removed_with_it() {
        let dir = tempfile::tempdir().unwrap();
        let store = Store::open(&dir.path().join("s")).unwrap();
        let outcome = outcome(&store, recorded(200_000));
        let ended = store.begin(&example()).unwrap().finish(&outcome).unwrap();
        assert!(ended.without_history.is_none());
        assert_eq!(store.history(2).unwrap(), outcome.recording.history);
        let bytes = store
            .query("SELECT sum(length(bytes)) FROM history")
            .unwrap();
        let bytes: usize = bytes.rows[0][0].text().parse().unwrap();
        assert!(bytes < 100_000, "{bytes}");

        let copy = dir.path().join("copy");
        store.export(None, &copy).unwrap();
        let copy = Store::existing(&copy).unwrap();
        assert_eq!(copy.history(2).unwrap(), outcome.recording.history);

        store.remove(2).unwrap();
        let left = store.query("SELECT count(*) FROM history").unwrap();
        assert_eq!(left.rows[0][0].text(), "0");
        assert_eq!(store.history(2).unwrap(), None);
    }

    #[test]
    fn a_team_has_it_too() {
        let dir = tempfile::tempdir().unwrap();
        let url = database(&postgres().address().url());
        let store = notebook(&url, dir.path());
        let outcome = outcome(&store, recorded(400_000));
        let ended = store.begin(&example()).unwrap().finish(&outcome).unwrap();
        assert!(ended.waits.is_none() && ended.without_history.is_none());
        assert_eq!(store.history(2).unwrap(), outcome.recording.history);
    }

    #[test]
    fn one_that_is_too_large_is_left_out_and_the_trial_says_so() {
        let dir = tempfile::tempdir().unwrap();
        let store = Store::open(&dir.path().join("s")).unwrap();
        let outcome = outcome(&store, recorded(BYTES_MAX / 2));
        let ended = store.begin(&example()).unwrap().finish(&outcome).unwrap();
        let why = ended.without_history.unwrap();
        assert_eq!(
            why.message,
            "it has 80 MiB, and a notebook keeps at most 64 MiB of a trial"
        );
        assert_eq!(store.history(2).unwrap(), None);
        let kept = store.outcome(2).unwrap();
        let note = kept
            .notes
            .iter()
            .find(|note| note.code == NOT_KEPT)
            .unwrap();
        assert!(note.sentence.ends_with(&why.message), "{}", note.sentence);
        assert!(note.remedy.contains("--history FILE"));
    }

    #[test]
    fn a_trial_whose_history_cannot_be_written_is_kept_without_it() {
        let dir = tempfile::tempdir().unwrap();
        let store = Store::open(&dir.path().join("s")).unwrap();
        let outcome = outcome(&store, recorded(100));
        let writer = store.begin(&example()).unwrap();
        store.db.execute_batch("DROP TABLE history").unwrap();
        let ended = writer.finish(&outcome).unwrap();
        let why = ended.without_history.unwrap().message;
        assert!(why.contains("cannot write to the store"), "{why}");
        let notes = store.outcome(2).unwrap().notes;
        assert!(notes.iter().any(|note| note.code == NOT_KEPT));
    }

    #[test]
    fn bytes_that_are_none_of_a_history_are_named() {
        let dir = tempfile::tempdir().unwrap();
        let store = Store::open(&dir.path().join("s")).unwrap();
        let outcome = outcome(&store, recorded(100));
        store.begin(&example()).unwrap().finish(&outcome).unwrap();
        store
            .db
            .execute("UPDATE history SET bytes = x'0102'", [0; 0])
            .unwrap();
        let why = store.history(2).unwrap_err().message;
        assert!(why.contains("cannot read the store"), "{why}");
        assert!(why.contains("a history:"), "{why}");
    }
}
