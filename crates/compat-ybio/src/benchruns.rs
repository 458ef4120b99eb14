//! Table `benchruns` as ybio has it: a row for each run, inserted when it begins and completed when it
//! has ended, so that a run without an end was aborted. It is made when it is missing and never
//! dropped.

use std::time::Duration;

use pgdyno_database::{admin, trouble};
use pgdyno_session::{Error, Session, quote_literal};
use pgdyno_spec::Failure;

const CREATE: &str = "CREATE TABLE IF NOT EXISTS benchruns (job_id serial PRIMARY KEY, \
    start_time timestamp, end_time timestamp, num_batches int, num_rows bigint, pct_update int, \
    max_scratch bigint, prepared boolean, index_only boolean, tab_rows int, batch_size int, \
    table_name text, table_rows bigint, table_scratch bigint, comments text)";

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Run<'a> {
    pub pct_update: u64,
    pub prepared: bool,
    /// Whether only the index is read.
    pub index_only: bool,
    /// Keys that ranges are drawn from.
    pub tab_rows: u64,
    pub batch_size: u64,
    pub table: &'a str,
    /// Its rows and largest `scratch`, when they were counted.
    pub counted: Option<(u64, Option<i64>)>,
    pub comments: Option<&'a str>,
}

/// What a run came to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct End {
    pub batches: u64,
    pub rows: u64,
    pub elapsed: Duration,
    /// How long ago it ended.
    pub since: Duration,
}

impl Run<'_> {
    /// Inserts its row; gives its number.
    ///
    /// # Errors
    /// The server refuses, or `benchruns` is another table.
    pub fn begin(&self, session: &mut Session) -> Result<u64, Failure> {
        self.insert(session).map_err(|e| {
            trouble::server(&e, "could not write to benchruns")
                .hint("ybio's table of runs: it is created when it is missing")
        })
    }

    fn insert(&self, session: &mut Session) -> Result<u64, Error> {
        let null = || "NULL".to_owned();
        let (rows, scratch) = match self.counted {
            Some((rows, scratch)) => (
                rows.to_string(),
                scratch.map_or_else(null, |s| s.to_string()),
            ),
            None => (null(), null()),
        };
        let there = admin::value(session, "SELECT to_regclass('benchruns')::text")?;
        if there.is_none() {
            // Of several runs that begin together one creates it; an error of the others does not
            // matter, and one that does comes again below.
            let _ = admin::run(session, CREATE);
        }
        let sql = format!(
            "INSERT INTO benchruns (start_time, prepared, index_only, tab_rows, pct_update, \
             batch_size, table_name, table_rows, table_scratch, comments) VALUES \
             (clock_timestamp(), {}, {}, {}, {}, {}, {}, {rows}, {scratch}, {}) RETURNING job_id",
            self.prepared,
            self.index_only,
            self.tab_rows,
            self.pct_update,
            self.batch_size,
            quote_literal(self.table),
            self.comments.map_or_else(null, quote_literal),
        );
        let job = admin::value(session, &sql)?;
        Ok(job.and_then(|job| job.parse().ok()).unwrap_or(0))
    }
}

impl End {
    /// Completes the row of this number. Times are the server's.
    ///
    /// # Errors
    /// The server refuses.
    pub fn write(&self, session: &mut Session, job: u64) -> Result<(), Failure> {
        let since_us = self.since.as_micros();
        let sql = format!(
            "UPDATE benchruns SET \
             start_time = statement_timestamp() - interval '{} microseconds', \
             end_time = statement_timestamp() - interval '{since_us} microseconds', \
             num_rows = {}, num_batches = {}, max_scratch = coalesce(max_scratch, 0) \
             WHERE job_id = {job}",
            since_us + self.elapsed.as_micros(),
            self.rows,
            self.batches,
        );
        admin::run(session, &sql)
            .map_err(|e| trouble::server(&e, "could not write the run's end to benchruns"))
    }
}
