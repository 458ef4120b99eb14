//! Switches of the log to its next segment, as events.

use super::place::Rows;
use crate::Readings;

/// The segment that is written, and when this was; both NULL on a standby, which switches nothing.
pub const NOW: &str = "SELECT CASE WHEN NOT pg_is_in_recovery() THEN \
        div(pg_wal_lsn_diff(pg_current_wal_lsn(), '0/0'), \
            pg_size_bytes(current_setting('wal_segment_size'))) END, \
    CASE WHEN NOT pg_is_in_recovery() THEN pg_walfile_name(pg_current_wal_lsn()) END";

/// The segment of the last reading.
#[derive(Debug, Default)]
pub struct Segments {
    last: Option<u64>,
    count: u64,
}

impl Segments {
    /// Takes the answer to [`NOW`], and tells of switches since the last time.
    pub fn read(&mut self, mut rows: Rows, out: &mut Readings) {
        let mut row = rows.pop().unwrap_or_default().into_iter();
        let number = row.next().flatten().and_then(|text| text.parse().ok());
        let (Some(number), Some(name)) = (number, row.next().flatten()) else {
            return;
        };
        let before = self.last.replace(number).unwrap_or(number);
        let switches = number.saturating_sub(before);
        if switches > 0 {
            self.count += switches;
            let text = match switches {
                1 => name,
                n => format!("{n} switches, the last to {name}"),
            };
            // Since the last reading; the server does not report when.
            out.event("wal segment", std::time::Instant::now(), None, text);
        }
    }

    /// Switches since the first reading.
    pub fn count(&self) -> u64 {
        self.count
    }
}
