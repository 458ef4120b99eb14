//! What people add to trials: notes, tags, that they do not count; and removing them.

use super::Store;
use crate::db::{Optional, params};
use pgdyno_model::notebook::check_tag;
use pgdyno_spec::{Exit, Failure};

/// Of longer notes, which pgdyno does not write, no more is read.
const NOTE_CHARS_MAX: usize = 65_536;

impl Store {
    /// Sets the note of a trial, or takes it away.
    ///
    /// # Errors
    /// It is too long; the store cannot be written.
    pub fn set_note(&self, number: i64, note: Option<&str>) -> Result<(), Failure> {
        self.check_version()?;
        if let Some(note) = note.filter(|note| note.chars().count() > NOTE_CHARS_MAX) {
            let text = format!(
                "a note has at most {NOTE_CHARS_MAX} characters, and this one has {}",
                note.chars().count()
            );
            return Err(
                Failure::with(Exit::Usage, text).hint("keep the text in a file, and note its name")
            );
        }
        let sql = "UPDATE trial_begun SET note = ? WHERE number = ?";
        let written = self.db.execute(sql, params![note, number]);
        written.map(|_| ()).map_err(self.failed("cannot write to"))
    }

    /// Says why a trial does not count, or that it counts again.
    ///
    /// # Errors
    /// The store cannot be written.
    pub fn set_excluded(&self, number: i64, reason: Option<&str>) -> Result<(), Failure> {
        self.check_version()?;
        let sql = "UPDATE trial_begun SET excluded = ? WHERE number = ?";
        let written = self.db.execute(sql, params![reason, number]);
        written.map(|_| ()).map_err(self.failed("cannot write to"))
    }

    /// Gives a trial a tag; one that it has stays.
    ///
    /// # Errors
    /// The tag is none; the store cannot be written.
    pub fn add_tag(&self, number: i64, tag: &str) -> Result<(), Failure> {
        self.check_version()?;
        check_tag(tag)?;
        let sql = "INSERT INTO tag (tag, trial) VALUES (?, ?) ON CONFLICT DO NOTHING";
        let written = self.db.execute(sql, params![tag, number]);
        written.map(|_| ()).map_err(self.failed("cannot write to"))
    }

    /// Takes a tag away; whether the trial had it.
    ///
    /// # Errors
    /// The store cannot be written.
    pub fn remove_tag(&self, number: i64, tag: &str) -> Result<bool, Failure> {
        self.check_version()?;
        let sql = "DELETE FROM tag WHERE tag = ? AND trial = ?";
        let written = self.db.execute(sql, params![tag, number]);
        written
            .map(|count| count > 0)
            .map_err(self.failed("cannot write to"))
    }

    /// Removes a trial with all that belongs to it, and its experiment when it was the last one.
    ///
    /// # Errors
    /// It is running; the store cannot be written.
    pub fn remove(&self, number: i64) -> Result<(), Failure> {
        self.check_version()?;
        let failed = self.failed("cannot write to");
        let removed = self.db.transaction(|db| {
            // With what each of its generators measured.
            let sql = "DELETE FROM trial_begun WHERE number IN (SELECT part.trial FROM part \
                       JOIN part whole ON whole.meeting = part.meeting \
                       WHERE whole.trial = ? AND whole.generator = -1 AND part.generator >= 0)";
            db.execute(sql, [number])?;
            let sql = "DELETE FROM trial_begun WHERE number = ? \
                       AND EXISTS (SELECT 1 FROM trial_ended WHERE trial = number) \
                       RETURNING experiment";
            let experiment: Option<Option<i64>> =
                db.query_row(sql, [number], |row| row.get(0)).optional()?;
            let sql = "DELETE FROM experiment WHERE number = ?1 \
                       AND NOT EXISTS (SELECT 1 FROM trial_begun WHERE experiment = ?1)";
            db.execute(sql, [experiment.flatten()])?;
            Ok(experiment.is_some())
        });
        if removed.map_err(failed)? {
            return Ok(());
        }
        Err(Failure::new(format!("trial {number} is running"))
            .hint("end it first (Ctrl-C, or a signal to its pgdyno)"))
    }
}
