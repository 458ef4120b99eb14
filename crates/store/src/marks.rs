//! What people add to trials: notes, tags, that they do not count; and removing them.

use pgdyno_model::notebook::check_tag;
use rusqlite::{OptionalExtension, params};

use super::Store;
use pgdyno_model::Failure;

impl Store {
    /// Sets the note of a trial, or takes it away.
    ///
    /// # Errors
    /// The store cannot be written.
    pub fn set_note(&self, number: i64, note: Option<&str>) -> Result<(), Failure> {
        let sql = "UPDATE trial SET note = ? WHERE number = ?";
        let written = self.connection.execute(sql, params![note, number]);
        written.map(|_| ()).map_err(self.failed("cannot write to"))
    }

    /// Says why a trial does not count, or that it counts again.
    ///
    /// # Errors
    /// The store cannot be written.
    pub fn set_excluded(&self, number: i64, reason: Option<&str>) -> Result<(), Failure> {
        let sql = "UPDATE trial SET excluded = ? WHERE number = ?";
        let written = self.connection.execute(sql, params![reason, number]);
        written.map(|_| ()).map_err(self.failed("cannot write to"))
    }

    /// Gives a trial a tag; one that it has stays.
    ///
    /// # Errors
    /// The tag is none; the store cannot be written.
    pub fn add_tag(&self, number: i64, tag: &str) -> Result<(), Failure> {
        check_tag(tag)?;
        let sql = "INSERT OR IGNORE INTO tag (tag, trial) VALUES (?, ?)";
        let written = self.connection.execute(sql, params![tag, number]);
        written.map(|_| ()).map_err(self.failed("cannot write to"))
    }

    /// Takes a tag away; whether the trial had it.
    ///
    /// # Errors
    /// The store cannot be written.
    pub fn remove_tag(&self, number: i64, tag: &str) -> Result<bool, Failure> {
        let sql = "DELETE FROM tag WHERE tag = ? AND trial = ?";
        let written = self.connection.execute(sql, params![tag, number]);
        written
            .map(|count| count > 0)
            .map_err(self.failed("cannot write to"))
    }

    /// Removes a trial with all that belongs to it, and its experiment when it was the last one.
    ///
    /// # Errors
    /// It is running; the store cannot be written.
    pub fn remove(&mut self, number: i64) -> Result<(), Failure> {
        let failed = self.failed("cannot write to");
        let mut remove = || {
            let transaction = self.connection.transaction()?;
            let sql = "DELETE FROM trial WHERE number = ? AND state <> 'running' \
                       RETURNING experiment";
            let experiment: Option<Option<i64>> = transaction
                .query_row(sql, [number], |row| row.get(0))
                .optional()?;
            let sql = "DELETE FROM experiment WHERE number = ?1 \
                       AND NOT EXISTS (SELECT 1 FROM trial WHERE experiment = ?1)";
            transaction.execute(sql, [experiment.flatten()])?;
            transaction.commit()?;
            Ok(experiment.is_some())
        };
        if remove().map_err(failed)? {
            return Ok(());
        }
        Err(Failure::new(format!("trial {number} is running"))
            .hint("end it first (Ctrl-C, or a signal to its pgdyno)"))
    }
}
