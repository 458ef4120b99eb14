//! The seconds of a trial, read again, and what they come to.

use pgdyno_model::notebook::{Kind, LastSecond, SecondLatencies, is_whole};
use std::collections::BTreeMap;

use super::{Store, client_time, packed, units};
use crate::db::{self, Db, Row, params};
use pgdyno_measurement::{Counts, Failure as Reason, Latencies, Phase, ScriptSecond, Second, Work};
use pgdyno_spec::Failure;

impl Store {
    /// Every second of a trial, warm-up included, in order.
    ///
    /// # Errors
    /// The store cannot be read.
    #[allow(dead_code, reason = "only tests ask for seconds without the rest")]
    pub fn seconds(&self, number: i64) -> Result<Vec<Second>, Failure> {
        read(&self.db, number).map_err(self.failed("cannot read"))
    }

    /// The latencies of a trial's measured time: those of one script, by its place, or of all.
    ///
    /// # Errors
    /// The store cannot be read.
    pub fn latencies(
        &self,
        number: i64,
        script: Option<usize>,
        kind: Kind,
    ) -> Result<Latencies, Failure> {
        let columns = columns(kind);
        let sql = format!(
            "SELECT {columns} FROM second \
             WHERE trial = ?1 AND NOT warmup AND script = coalesce(?2, script)"
        );
        let merge = || {
            let mut all = Latencies::default();
            self.db.each(&sql, params![number, script], |row| {
                all.merge(&packed::read_latencies(row, 0)?);
                Ok(())
            })?;
            Ok(all)
        };
        merge().map_err(self.failed("cannot read"))
    }

    /// The same of all scripts, second by second. Of a second nothing else is read.
    ///
    /// # Errors
    /// The store cannot be read.
    pub fn latencies_by_second(
        &self,
        number: i64,
        kind: Kind,
    ) -> Result<Vec<SecondLatencies>, Failure> {
        let columns = columns(kind);
        let sql = format!(
            "SELECT start_us, length_us, drain, {columns} FROM second WHERE trial = ? AND NOT warmup \
             ORDER BY start_us, script"
        );
        let read = || {
            let mut seconds: Vec<SecondLatencies> = Vec::new();
            self.db.each(&sql, [number], |row| {
                let start_us = row.get(0)?;
                let latencies = packed::read_latencies(row, 3)?;
                match seconds.last_mut().filter(|last| last.start_us == start_us) {
                    Some(last) => last.latencies.merge(&latencies),
                    None => seconds.push(SecondLatencies {
                        start_us,
                        is_whole: is_whole(row.get(1)?, row.get(2)?),
                        latencies,
                    }),
                }
                Ok(())
            })?;
            Ok(seconds)
        };
        read().map_err(self.failed("cannot read"))
    }
}

/// The columns of one kind of latencies.
fn columns(kind: Kind) -> String {
    let name = match kind {
        Kind::Service => "service",
        Kind::Response => "response",
        Kind::Lag => "lag",
    };
    format!("{name}_sum_us, {name}_sum_squares_us2, {name}_max_us, {name}_histogram")
}

/// Every second of a trial, in order.
///
/// # Errors
/// The store cannot be read.
pub fn read(connection: &Db, number: i64) -> db::Result<Vec<Second>> {
    read_after(connection, number, None)
}

/// Those after one that was read before.
///
/// # Errors
/// The store cannot be read.
pub fn read_after(
    connection: &Db,
    number: i64,
    last: Option<LastSecond>,
) -> db::Result<Vec<Second>> {
    // Nothing else has a second of these numbers.
    let from_us = last.map_or(0, |last| last.start_us as i64);
    let mut failures = failures(connection, number, from_us)?;
    let select = connection.prepare(
        "SELECT start_us, script, length_us, warmup, committed, skipped, unknown, late, retries, \
         retried, service_sum_us, service_sum_squares_us2, service_max_us, service_histogram, \
         response_sum_us, response_sum_squares_us2, response_max_us, response_histogram, \
         lag_sum_us, lag_sum_squares_us2, lag_max_us, lag_histogram, \
         attempt_sum_us, attempt_sum_squares_us2, attempt_max_us, attempt_histogram, \
         given_up, cut_off, kept_us, kept_statements, lost_tries, lost_us, lost_statements, backoff_us, \
         server_retries, drain \
         FROM second LEFT JOIN work USING (trial, start_us, warmup, script) \
         WHERE trial = ? AND start_us >= ? ORDER BY start_us, warmup DESC, script",
    );
    let mut seconds: Vec<Second> = Vec::new();
    let mut units = units::read(connection, number, from_us)?;
    let mut times = client_time::read(connection, number, from_us)?;
    select.each(params![number, from_us], |row| {
        let (start_us, warmup) = (row.get(0)?, row.get(3)?);
        let is_known = |last: LastSecond| last.start_us == start_us && (last.warmup <= warmup);
        if last.is_some_and(is_known) {
            return Ok(());
        }
        let failed = failures.remove(&(start_us, warmup, row.get(1)?));
        let mut script = script(row, failed.unwrap_or_default())?;
        let units = units.remove(&(start_us, warmup, row.get(1)?));
        script.units = units.unwrap_or_default();
        let same = |last: &&mut Second| last.start_us == start_us && last.warmup == warmup;
        match seconds.last_mut().filter(same) {
            Some(last) => last.scripts.push(script),
            None => seconds.push(Second {
                start_us,
                length_us: row.get(2)?,
                warmup,
                time: times.remove(&(start_us, warmup)).unwrap_or_default(),
                drain: row.get(35)?,
                scripts: vec![script],
            }),
        }
        Ok(())
    })?;
    Ok(seconds)
}

type Failures = BTreeMap<Reason, u64>;

/// By start, whether that is warm-up, and script.
fn failures(
    connection: &Db,
    number: i64,
    from_us: i64,
) -> db::Result<BTreeMap<(u64, bool, u64), Failures>> {
    let select = connection.prepare(
        "SELECT start_us, warmup, script, class, transactions FROM failure \
         WHERE trial = ? AND start_us >= ?",
    );
    let mut failures: BTreeMap<_, Failures> = BTreeMap::new();
    select.each(params![number, from_us], |row| {
        let class = Reason::from_code(&row.get::<String>(3)?);
        let second = (row.get(0)?, row.get(1)?, row.get(2)?);
        let of = failures.entry(second).or_default();
        *of.entry(class).or_default() += row.get::<u64>(4)?;
        Ok(())
    })?;
    Ok(failures)
}

fn script(row: &Row<'_>, failed: Failures) -> db::Result<ScriptSecond> {
    Ok(ScriptSecond {
        counts: Counts {
            committed: row.get(4)?,
            failed,
            skipped: row.get(5)?,
            unknown: row.get(6)?,
            late: row.get(7)?,
            retries: row.get(8)?,
            retried: row.get(9)?,
        },
        service: packed::read(row, 10)?.unwrap_or_else(|| Latencies::default().pack()),
        response: packed::read(row, 14)?,
        lag: packed::read(row, 18)?,
        attempt: packed::read(row, 22)?,
        work: work(row, 26)?,
        units: Vec::new(),
    })
}

/// From column `first` on; nothing in trials of older versions.
fn work(row: &Row<'_>, first: usize) -> db::Result<Work> {
    let number = |at: usize| {
        let number: Option<u64> = row.get(first + at)?;
        Ok::<_, db::Error>(number.unwrap_or_default())
    };
    Ok(Work {
        given_up: number(0)?,
        cut_off: number(1)?,
        kept_us: number(2)?,
        kept_statements: number(3)?,
        lost_tries: number(4)?,
        lost_us: number(5)?,
        lost_statements: number(6)?,
        backoff_us: number(7)?,
        server_retries: number(8)?,
    })
}

/// What the seconds of a trial come to: those of the warm-up, or the others.
///
/// # Errors
/// The store cannot be read.
pub fn phase(connection: &Db, number: i64, warmup: bool) -> db::Result<Phase> {
    Ok(sum(&read(connection, number)?, warmup))
}

/// The same of seconds that were read.
pub fn sum(seconds: &[Second], warmup: bool) -> Phase {
    let mut phase = Phase::default();
    let of_phase = seconds.iter().filter(|second| second.warmup == warmup);
    of_phase.for_each(|second| phase.add_second(second));
    phase
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::begin::example;
    use crate::writer::write_second;
    use pgdyno_measurement::ClientTime;

    #[test]
    fn latencies_by_second_are_all_latencies_of_the_measured_time() {
        let dir = tempfile::tempdir().unwrap();
        let store = Store::open(&dir.path().join("s")).unwrap();
        let writer = store.begin(&example()).unwrap();
        let number = writer.number();
        let script = |us: u64| {
            let mut service = Latencies::default();
            service.record(us);
            ScriptSecond {
                counts: Counts::default(),
                service: service.pack(),
                ..ScriptSecond::default()
            }
        };
        let seconds = [
            (0, 1_000_000, true, 9),
            (1_000_000, 1_000_000, false, 10),
            // The end of the measured time.
            (2_000_000, 400_000, false, 1000),
        ];
        for (start_us, length_us, warmup, us) in seconds {
            let second = Second {
                start_us,
                length_us,
                warmup,
                time: ClientTime::default(),
                drain: false,
                scripts: vec![script(us), script(us + 5)],
            };
            write_second(&store.db, number, &second).unwrap();
        }
        let found = store.latencies_by_second(number, Kind::Service).unwrap();
        let starts = found
            .iter()
            .map(|second| (second.start_us, second.is_whole));
        assert_eq!(
            starts.collect::<Vec<_>>(),
            [(1_000_000, true), (2_000_000, false)]
        );
        assert_eq!(found[0].latencies.count(), 2);
        let mut all = Latencies::default();
        found.iter().for_each(|second| all.merge(&second.latencies));
        assert_eq!(all, store.latencies(number, None, Kind::Service).unwrap());
        assert_eq!(all.sum_us(), 10 + 15 + 1000 + 1005);
        let none = store.latencies_by_second(number, Kind::Response).unwrap();
        assert!(none.iter().all(|second| second.latencies.count() == 0));
    }

    #[test]
    fn a_list_shows_what_trials_say() {
        let dir = tempfile::tempdir().unwrap();
        let store = Store::open(&dir.path().join("s")).unwrap();
        let writer = store.begin(&example()).unwrap();
        store.add_tag(writer.number(), "one").unwrap();
        writer.fail("enough").unwrap();
        let filter = pgdyno_model::notebook::Filter::default();
        let trials = store.trials(&filter).unwrap();
        let listed = store.listed(&filter).unwrap();
        let [(trial, listed)] = [(&trials[0], &listed[0])];
        assert_eq!((listed.number, &listed.uuid), (trial.number, &trial.uuid));
        assert_eq!((listed.state, &listed.tags), (trial.state, &trial.tags));
        assert_eq!(listed.clients, Some(trial.spec.clients()));
        assert_eq!(listed.failed, trial.failed);
    }
}
