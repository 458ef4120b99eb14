//! Old trials without their seconds: those of a phase become one, with sums and merged histograms, so
//! that every total and percentile stays what it was.

use std::collections::BTreeMap;

use pgdyno_measurement::{ScriptInterval, ScriptSecond, Second};

use super::{Store, client_time, happening, seconds, units, writer};
use crate::db::{self, Db, params};
use pgdyno_spec::Failure;

/// The kind of the event that says that it was done.
const KIND: &str = "thinned";

/// Tables with a row for each second.
const BY_SECOND: [&str; 6] = [
    "second",
    "failure",
    "work",
    "client_time",
    "unit",
    "samples",
];

impl Store {
    /// Thins the trials that ended before this time (a stamp of the notebook); gives their number.
    ///
    /// # Errors
    /// The store cannot be read or written.
    pub fn thin(&self, before: &str) -> Result<usize, Failure> {
        self.check_version()?;
        let sql = "SELECT trial FROM trial_ended e WHERE ended < ? \
                   AND NOT EXISTS (SELECT 1 FROM event v WHERE v.trial = e.trial AND kind = ?) \
                   ORDER BY trial";
        let old = self.db.prepare(sql);
        let old: db::Result<Vec<i64>> = old.query_map(params![before, KIND], |row| row.get(0));
        let old = old.map_err(self.failed("cannot read"))?;
        for number in &old {
            let thinned = self.db.transaction(|db| thin(db, *number));
            thinned.map_err(self.failed("cannot write to"))?;
        }
        Ok(old.len())
    }

    /// Gives the space of what was removed back to the disk. On a server, vacuum does.
    ///
    /// # Errors
    /// There is not enough room to write the file anew.
    pub fn shrink(&self) -> Result<(), Failure> {
        match self.path() {
            Some(_) => self
                .db
                .execute_batch("VACUUM; PRAGMA wal_checkpoint(TRUNCATE)")
                .map_err(self.failed("cannot shrink")),
            None => Ok(()),
        }
    }
}

fn thin(db: &Db, number: i64) -> db::Result<()> {
    let seconds = seconds::read(db, number)?;
    let merged = merged(&seconds);
    for table in BY_SECOND {
        let sql = format!("DELETE FROM {table} WHERE trial = ?");
        db.execute(&sql, [number])?;
    }
    for second in &merged {
        writer::write_second(db, number, second)?;
        client_time::write(db, number, second)?;
        units::write(db, number, second)?;
    }
    let text = format!("{} seconds", seconds.len());
    happening::tell(db, number, 0, KIND, &text)
}

/// One for the warm-up, one for the measured time, one for what came after the asked duration.
fn merged(seconds: &[Second]) -> Vec<Second> {
    let mut parts: BTreeMap<(bool, bool), Vec<Second>> = BTreeMap::new();
    for second in seconds {
        let part = parts.entry((!second.warmup, second.drain)).or_default();
        part.push(second.clone());
    }
    let one = |part: Vec<Second>| {
        let first = part.first()?;
        let (start_us, warmup, drain) = (first.start_us, first.warmup, first.drain);
        let phase = seconds::sum(&part, warmup);
        Some(Second {
            start_us,
            length_us: phase.elapsed_us,
            warmup,
            time: phase.time,
            drain,
            scripts: phase.scripts.iter().map(packed).collect(),
        })
    };
    parts.into_values().filter_map(one).collect()
}

fn packed(script: &ScriptInterval) -> ScriptSecond {
    ScriptSecond {
        counts: script.counts.clone(),
        service: script.service.pack(),
        attempt: script.attempt.as_ref().map(|latencies| latencies.pack()),
        response: script.response.as_ref().map(|latencies| latencies.pack()),
        lag: script.lag.as_ref().map(|latencies| latencies.pack()),
        work: script.work.clone(),
        units: script.units.iter().map(|units| units.pack()).collect(),
    }
}
