//! What `pgbench -i` says while it fills a table: when a line is due, and its text. It prints
//! nothing itself.

const LINE_ROWS: u64 = 100_000;
/// Rows between two looks at the clock when quiet: the last rows of a table are only reported when
/// their number is a multiple of it.
const QUIET_ROWS: u64 = 100;
/// Seconds between two lines when quiet.
const QUIET_INTERVAL_S: f64 = 5.0;

/// The lines about one table.
#[derive(Debug)]
pub struct Progress<'a> {
    table: &'a str,
    rows_total: u64,
    quiet: bool,
    /// On a terminal every line overwrites the one before.
    terminal: bool,
    /// Bytes of the last line, without what follows to overwrite the one before.
    line_bytes: usize,
    /// When quiet, how many intervals must have passed before the next line.
    intervals: f64,
}

impl<'a> Progress<'a> {
    pub fn new(table: &'a str, rows_total: u64, quiet: bool, terminal: bool) -> Progress<'a> {
        Progress {
            table,
            rows_total,
            quiet,
            terminal,
            line_bytes: 0,
            intervals: 1.0,
        }
    }

    /// What to say when so many rows, more than none, have been sent in so many seconds. It must
    /// be asked at every multiple of 100,000 rows and at the last one; between those it may be.
    pub fn at(&mut self, rows: u64, elapsed_s: f64) -> Option<String> {
        let due = if self.quiet {
            rows.is_multiple_of(QUIET_ROWS)
                && (rows == self.rows_total || elapsed_s >= self.intervals * QUIET_INTERVAL_S)
        } else {
            rows.is_multiple_of(LINE_ROWS)
        };
        if !due {
            return None;
        }
        self.intervals = (elapsed_s / QUIET_INTERVAL_S).ceil();
        let Progress {
            table, rows_total, ..
        } = self;
        let remaining_s = (*rows_total as f64 - rows as f64) * elapsed_s / rows as f64;
        let mut line = format!(
            "{rows} of {rows_total} tuples ({}%) of {table} done (elapsed {elapsed_s:.2} s, \
             remaining {remaining_s:.2} s)",
            // In 128 bits: a hundred times the rows of the highest scale does not fit in 64.
            u128::from(rows) * 100 / u128::from(*rows_total).max(1)
        );
        let before = std::mem::replace(&mut self.line_bytes, line.len());
        line.extend(std::iter::repeat_n(
            ' ',
            before.saturating_sub(self.line_bytes),
        ));
        line.push(if self.terminal { '\r' } else { '\n' });
        Some(line)
    }

    /// What takes the last line off the terminal.
    pub fn clear(&self) -> Option<String> {
        (self.terminal && self.line_bytes > 0).then(|| format!("{:1$}\r", "", self.line_bytes))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn progress_is_printed_every_hundred_thousand_rows() {
        let mut progress = Progress::new("pgbench_accounts", 300_000, false, false);
        assert_eq!(progress.at(99_900, 9.0), None);
        assert_eq!(
            progress.at(100_000, 12.3456).as_deref(),
            Some(
                "100000 of 300000 tuples (33%) of pgbench_accounts done (elapsed 12.35 s, \
                 remaining 24.69 s)\n"
            )
        );
        assert_eq!(progress.clear(), None);
        let mut small = Progress::new("pgbench_tellers", 100, false, true);
        assert_eq!(small.at(100, 9.0), None);
        assert_eq!(small.clear(), None);
    }

    #[test]
    fn a_shorter_line_overwrites_a_longer_one_on_a_terminal() {
        let mut progress = Progress::new("t", 300_000, false, true);
        let long = progress.at(100_000, 100.0).unwrap();
        let short = progress.at(200_000, 100.0).unwrap();
        assert!(long.ends_with("remaining 200.00 s)\r"), "{long:?}");
        assert!(short.ends_with("remaining 50.00 s) \r"), "{short:?}");
        assert_eq!(long.len(), short.len());
        let blanks = " ".repeat(short.len() - 2);
        assert_eq!(progress.clear(), Some(format!("{blanks}\r")));
    }

    #[test]
    fn quiet_tells_the_end_and_every_five_seconds() {
        let mut progress = Progress::new("t", 1_000_000, true, false);
        assert_eq!(progress.at(100_000, 4.9), None);
        assert!(progress.at(200_000, 5.1).is_some());
        assert_eq!(progress.at(300_000, 9.9), None);
        // A line that comes late does not bring the next one forward.
        assert!(progress.at(400_000, 21.0).is_some());
        assert_eq!(progress.at(500_000, 24.9), None);
        assert!(progress.at(600_000, 25.0).is_some());
        assert!(progress.at(1_000_000, 25.1).is_some());
        // The end of a table that is no multiple of 100 rows is not reported.
        let mut odd = Progress::new("t", 10, true, false);
        assert_eq!(odd.at(10, 60.0), None);
    }
}
