//! The notices of a load in ybio's form: once a second and at the end, where ybio writes one for each
//! batch.

use std::time::{Duration, Instant};

use pgdyno_model::Progress;
use pgdyno_output::remark;

/// The time between two of them.
const INTERVAL: Duration = Duration::from_secs(1);

pub struct Notices {
    is_quiet: bool,
    table: String,
    rows_total: u64,
    rows: u64,
    began: Instant,
    reported: Instant,
}

impl Notices {
    /// Nothing is reported before the table begins to be filled.
    pub fn new(is_quiet: bool) -> Self {
        let now = Instant::now();
        Self {
            is_quiet,
            table: String::new(),
            rows_total: 0,
            rows: 0,
            began: now,
            reported: now,
        }
    }

    fn tell(&mut self) {
        self.reported = Instant::now();
        if !self.is_quiet {
            remark!(
                "{}",
                line(
                    &self.table,
                    self.rows,
                    self.rows_total,
                    self.began.elapsed()
                )
            );
        }
    }
}

impl Progress for Notices {
    fn is_quiet(&self) -> bool {
        self.is_quiet
    }

    fn warning(&mut self, text: &str) {
        remark!("pgdyno: warning: {text}");
    }

    fn table(&mut self, name: &str, rows_total: u64) {
        name.clone_into(&mut self.table);
        (self.rows_total, self.rows) = (rows_total, 0);
        self.began = Instant::now();
        self.reported = self.began;
    }

    fn rows(&mut self, rows: u64) {
        self.rows = rows;
        if self.reported.elapsed() >= INTERVAL {
            self.tell();
        }
    }

    fn table_ends(&mut self) {
        if self.rows > 0 {
            self.tell();
        }
        self.rows = 0;
    }
}

fn line(table: &str, rows: u64, rows_total: u64, elapsed: Duration) -> String {
    let percent = 100.0 * rows as f64 / rows_total.max(1) as f64;
    let rate = rows as f64 / elapsed.as_secs_f64().max(0.001);
    format!(
        "NOTICE:  Table {table} Progress: {percent:7.2} % ({rows:12} rows) at {rate:7.0} rows/s"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_as_wide_as_ybios() {
        // Recorded from ybio.sql on PostgreSQL 15.
        assert_eq!(
            line("bench0001", 10_000, 10_000, Duration::from_millis(100)),
            "NOTICE:  Table bench0001 Progress:  100.00 % (       10000 rows) at  100000 rows/s"
        );
        assert_eq!(
            line("bench0001", 1000, 10_000, Duration::from_secs(1)),
            "NOTICE:  Table bench0001 Progress:   10.00 % (        1000 rows) at    1000 rows/s"
        );
    }
}
