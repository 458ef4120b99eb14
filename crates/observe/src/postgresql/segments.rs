//! Switches of the log to its next segment, as events.

use pgdyno_session::Error;

use super::place::Connection;
use crate::Readings;

/// The segment that is written, and when this was; both NULL on a standby, which switches nothing.
const NOW: &str = "SELECT CASE WHEN NOT pg_is_in_recovery() THEN \
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
    /// Reads, and tells of switches since the last time.
    ///
    /// # Errors
    /// The server's or the connection's.
    pub fn read(&mut self, connection: &mut Connection, out: &mut Readings) -> Result<(), Error> {
        let row = connection
            .again("pgdyno_segment", NOW)?
            .pop()
            .unwrap_or_default();
        let mut row = row.into_iter();
        let number = row.next().flatten().and_then(|text| text.parse().ok());
        let (Some(number), Some(name)) = (number, row.next().flatten()) else {
            return Ok(());
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
        Ok(())
    }

    /// Switches since the first reading.
    pub fn count(&self) -> u64 {
        self.count
    }
}
