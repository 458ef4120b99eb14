//! Trials as tables in Parquet files, for pandas, DuckDB and the like (docs/parquet.md). Which columns there are
//! is in [`schema`]; reading the notebook and opening files is the caller's.

mod rows;
pub mod schema;
mod table;

use std::io::Write;

use pgdyno_model::notebook::TrialRow;
use pgdyno_model::{Failure, Outcome};
use schema::TableName;
use table::Table;

/// The version of the tables' columns. Columns may be added to a version; one that is renamed, removed or changes
/// its meaning makes a new one.
pub const FORMAT: u32 = 1;

/// Files of which each has the rows of one table.
pub struct Files<W: Write + Send> {
    trials: Table<W>,
    seconds: Table<W>,
    histograms: Table<W>,
    series: Table<W>,
}

impl<W: Write + Send> Files<W> {
    /// Tables without rows, in the files that `open` gives.
    ///
    /// # Errors
    /// A file cannot be opened or written.
    pub fn new(mut open: impl FnMut(TableName) -> Result<W, Failure>) -> Result<Self, Failure> {
        let mut table = |name: TableName| Table::new(name, open(name)?);
        Ok(Self {
            trials: table(TableName::Trials)?,
            seconds: table(TableName::Seconds)?,
            histograms: table(TableName::Histograms)?,
            series: table(TableName::Series)?,
        })
    }

    /// Adds a trial with all that was measured of it; `None`: there are totals only.
    ///
    /// # Errors
    /// A file cannot be written.
    pub fn add(&mut self, trial: &TrialRow, outcome: Option<&Outcome>) -> Result<(), Failure> {
        self.trials.push(rows::trial(trial)?)?;
        let Some(outcome) = outcome else {
            return Ok(());
        };
        for second in &outcome.recording.seconds {
            self.seconds.push(rows::second(trial.number, second))?;
        }
        rows::histograms(trial.number, &outcome.recording, |row| {
            self.histograms.push(row)
        })?;
        rows::series(trial.number, &outcome.observed, |row| self.series.push(row))
    }

    /// Writes what is left, and gives the number of rows of each table.
    ///
    /// # Errors
    /// A file cannot be written.
    pub fn finish(self) -> Result<Vec<(TableName, u64)>, Failure> {
        let all = [self.trials, self.seconds, self.histograms, self.series];
        all.into_iter().map(Table::finish).collect()
    }
}

#[cfg(test)]
mod tests;
