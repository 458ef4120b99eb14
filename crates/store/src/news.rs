//! A running trial, read as it grows: each second once.

use pgdyno_measurement::Second;
use pgdyno_model::notebook::{LastSecond, News};
use pgdyno_model::observed::Observed;
use pgdyno_model::{Note, State};
use pgdyno_spec::Failure;

use super::{Store, endpoints, findings, observed, seconds};
use crate::db::{self, Error};

impl Store {
    /// The seconds after one that was read before.
    ///
    /// # Errors
    /// The store cannot be read.
    pub fn seconds_after(
        &self,
        number: i64,
        last: Option<LastSecond>,
    ) -> Result<Vec<Second>, Failure> {
        seconds::read_after(&self.db, number, last).map_err(self.failed("cannot read"))
    }

    /// The seconds that ended within so much time before the end of the last one.
    ///
    /// # Errors
    /// The store cannot be read.
    pub fn last_seconds(&self, number: i64, within_us: u64) -> Result<Vec<Second>, Failure> {
        let read = || {
            let sql = "SELECT max(start_us) FROM second WHERE trial = ?";
            let newest: Option<u64> = self.db.query_row(sql, [number], |row| row.get(0))?;
            let before = newest.and_then(|newest| newest.checked_sub(within_us));
            let last = before.map(|start_us| LastSecond {
                start_us,
                warmup: false,
            });
            seconds::read_after(&self.db, number, last)
        };
        read().map_err(self.failed("cannot read"))
    }

    /// What instruments saw, with samples later than `after_us` only.
    ///
    /// # Errors
    /// The store cannot be read.
    pub fn observed_after(&self, number: i64, after_us: Option<i64>) -> Result<Observed, Failure> {
        observed::read_after(&self.db, number, after_us).map_err(self.failed("cannot read"))
    }

    /// How far a trial has come, and what may have changed of it.
    ///
    /// # Errors
    /// The store cannot be read; it has no such trial any more.
    pub fn news(&self, number: i64) -> Result<News, Failure> {
        self.read_news(number).map_err(self.failed("cannot read"))
    }

    fn read_news(&self, number: i64) -> db::Result<News> {
        let sql = "SELECT state, notes FROM trial WHERE number = ?";
        let (state, notes) = self.db.query_row(sql, [number], |row| {
            Ok((row.get::<String>(0)?, row.get::<String>(1)?))
        })?;
        let unreadable = |what: &str| Error::Unreadable(format!("a trial's {what}"));
        let notes: Vec<Note> = serde_json::from_str(&notes).map_err(|_| unreadable("notes"))?;
        // Few seconds have any: those without are not looked at.
        let sql =
            "SELECT coalesce(sum(transactions), 0) FROM failure WHERE trial = ? AND NOT warmup";
        let failed = self.db.query_row(sql, [number], |row| row.get(0))?;
        let sql = "SELECT (SELECT start_us FROM second WHERE trial = ? AND NOT warmup \
                   ORDER BY start_us LIMIT 1)";
        let measured_from_us = self.db.query_row(sql, [number], |row| row.get(0))?;
        Ok(News {
            failed,
            measured_from_us,
            state: State::from_name(&state).ok_or_else(|| unreadable("state"))?,
            notes,
            findings: findings::read(&self.db, number)?,
            events: endpoints::events(&self.db, number)?,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::begin::example;
    use crate::{client_time, units, writer};
    use pgdyno_measurement::{ClientTime, Counts, Failure as Reason, Latencies, ScriptSecond};
    use pgdyno_model::notebook::Filter;
    use pgdyno_model::observed::{Batch, InstrumentRow, Kind, NewSeries, Sample, Series};

    fn second(start_us: u64, warmup: bool, failed: u64) -> Second {
        let mut service = Latencies::default();
        (0..20).for_each(|at| service.record(1000 + at * start_us / 1_000_000));
        let mut counts = Counts {
            committed: 20,
            ..Counts::default()
        };
        if failed > 0 {
            counts.failed.insert(Reason::DEADLOCK, failed);
        }
        Second {
            start_us,
            length_us: 1_000_000,
            warmup,
            time: ClientTime::default(),
            drain: false,
            scripts: vec![ScriptSecond {
                counts,
                service: service.pack(),
                ..ScriptSecond::default()
            }],
        }
    }

    fn keep(store: &Store, number: i64, second: &Second) {
        writer::write_second(&store.db, number, second).unwrap();
        client_time::write(&store.db, number, second).unwrap();
        units::write(&store.db, number, second).unwrap();
    }

    fn read(samples: &[(usize, i64)]) -> Batch {
        let sample = |&(series, at_us): &(usize, i64)| Sample {
            series,
            at_us,
            value: at_us as f64,
        };
        Batch {
            samples: samples.iter().map(sample).collect(),
            ..Batch::default()
        }
    }

    #[test]
    fn a_trial_that_grows_comes_to_what_is_read_of_it_at_once() {
        let dir = tempfile::tempdir().unwrap();
        let store = Store::open(&dir.path().join("s")).unwrap();
        let writer = store.begin(&example()).unwrap();
        let number = writer.number();
        let series = |number, name: &'static str| NewSeries {
            number,
            instrument: 0,
            series: Series::new(name, "1/s"),
            kind: Kind::Gauge,
        };
        let begun = Batch {
            instruments: vec![InstrumentRow {
                number: 0,
                name: "pg.wal".to_owned(),
                source: "it".to_owned(),
            }],
            series: vec![series(0, "a"), series(1, "b")],
            ..read(&[(0, 500_000)])
        };
        observed::write(&store.db, number, &begun).unwrap();
        // The warm-up's last second and the first that is measured begin together.
        let seconds = [
            second(0, true, 0),
            second(1_000_000, true, 1),
            second(1_000_000, false, 0),
            second(2_000_000, false, 3),
            second(3_000_000, false, 0),
        ];
        keep(&store, number, &seconds[0]);
        keep(&store, number, &seconds[1]);
        let mut growing = store.outcome(number).unwrap();
        assert_eq!(growing.recording.seconds, seconds[..2]);
        let mut counts = Vec::new();
        for (at, second) in seconds[2..].iter().enumerate() {
            keep(&store, number, second);
            let at_us = 20_000_000 * at as i64;
            // One of another instrument comes late.
            let batch = read(&[(0, 30_000_000 + at_us), (1, 22_000_000 + at_us)]);
            observed::write(&store.db, number, &batch).unwrap();
            let last = LastSecond::of(&growing.recording.seconds);
            let new = store.seconds_after(number, last).unwrap();
            counts.push(new.len());
            growing.add_seconds(new);
            let until_us = growing.samples_until_us();
            let observed = store.observed_after(number, until_us).unwrap();
            growing.add_observed(until_us, observed);
        }
        assert_eq!(counts, [1, 1, 1], "each second is read once");
        let whole = store.outcome(number).unwrap();
        assert_eq!(growing.recording.seconds, whole.recording.seconds);
        assert_eq!(growing.observed, whole.observed);
        let sums = |outcome: &pgdyno_model::Outcome| {
            let measured = outcome.recording.measured.all();
            let warmup = outcome
                .recording
                .warmup
                .as_ref()
                .map(|warmup| warmup.all().counts);
            (
                measured.counts,
                measured.service.percentile_us(50.0),
                warmup,
            )
        };
        assert_eq!(sums(&growing), sums(&whole));
        let news = store.news(number).unwrap();
        assert_eq!(news.state, State::Running);
        assert_eq!((news.failed, news.measured_from_us), (3, Some(1_000_000)));
        let last = store.last_seconds(number, 1_500_000).unwrap();
        assert_eq!(
            last,
            seconds[3..],
            "those that began within that time before the last one"
        );
        writer.abort("enough").unwrap();
        assert_eq!(store.news(number).unwrap().state, State::Aborted);
    }

    #[test]
    fn trials_are_found_by_words_in_what_people_know_them_by() {
        let dir = tempfile::tempdir().unwrap();
        let store = Store::open(&dir.path().join("s")).unwrap();
        let mut numbers = Vec::new();
        for (workload, tag) in [("tpcb", "nightly"), ("100%_mine", "wal-lz4")] {
            let header = pgdyno_model::notebook::TrialHeader {
                workload: workload.to_owned(),
                tags: vec![tag.to_owned()],
                ..example()
            };
            let writer = store.begin(&header).unwrap();
            numbers.push(writer.number());
            if workload == "tpcb" {
                writer.fail("no server").unwrap();
            } else {
                std::mem::forget(writer);
            }
        }
        let found = |words: &str| -> Vec<i64> {
            let filter = Filter {
                words: words.split(' ').map(str::to_owned).collect(),
                ..Filter::default()
            };
            let listed = store.listed(&filter).unwrap();
            assert_eq!(store.count(&filter).unwrap(), listed.len() as u64);
            listed.iter().map(|trial| trial.number).collect()
        };
        assert_eq!(found("NIGHT"), [numbers[0]]);
        assert_eq!(found("tpcb nightly"), [numbers[0]]);
        assert!(found("tpcb wal").is_empty());
        assert_eq!(
            found("100%_"),
            [numbers[1]],
            "pattern characters are meant literally"
        );
        assert!(found("%b").is_empty(), "here too");
        assert_eq!(found(&numbers[1].to_string()), [numbers[1]]);
        let uuid = store.trial(&numbers[0].to_string()).unwrap().uuid;
        assert_eq!(found(&uuid[..8]), [numbers[0]]);
        let running = Filter {
            state: Some(State::Running),
            ..Filter::default()
        };
        let running: Vec<i64> = store
            .trials(&running)
            .unwrap()
            .iter()
            .map(|trial| trial.number)
            .collect();
        assert_eq!(running, [numbers[1]]);
        let skipped = Filter {
            skip: 1,
            ..Filter::default()
        };
        let skipped: Vec<i64> = store
            .listed(&skipped)
            .unwrap()
            .iter()
            .map(|trial| trial.number)
            .collect();
        assert_eq!(skipped, [numbers[0]], "the newest is left out");
    }
}
