//! Writing a trial while it runs. The collector hands each second over and goes on at once; a
//! thread of the writer's own commits it, so that a slow disk or another pgdyno's transaction keeps
//! no client waiting. What could not be committed is tried again with the next second.

use pgdyno_model::stamp::stamp;
use std::path::Path;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::{self, JoinHandle};
use std::time::{Instant, SystemTime};

use pgdyno_measurement::{Event, Interval, Level, Message, Second};
use pgdyno_platform::reserve::Reserve;

use super::{Store, client_time, end, happening, history, observed, packed, units};
use crate::courier::Courier;
use crate::db::{self, Db, Value, params};
use pgdyno_model::notebook::Ended;
use pgdyno_model::observed::Batch;
use pgdyno_model::{Observer, Outcome, State};
use pgdyno_spec::{Exit, Failure};

/// So many events of a trial are kept: a thousand clients that lose their server all say the same.
const EVENTS_MAX: usize = 1000;
/// So much of the disk is kept for the end of a trial: the result of a thousand statements takes 0.6 MB,
/// a second 20 kB.
const RESERVE_BYTES: u64 = 4 << 20;

/// What the thread is to write.
enum Job {
    Begun(SystemTime),
    Second(Box<Second>),
    Observed(Box<Batch>),
    Event {
        at_us: u64,
        kind: &'static str,
        text: String,
    },
}

/// An observer that writes one trial. Dropped without an end, it leaves the trial aborted.
pub struct TrialWriter {
    number: i64,
    jobs: Option<Sender<Job>>,
    thread: Option<JoinHandle<Desk>>,
    begun: Option<Instant>,
    events: usize,
    /// Takes the rows to a server.
    courier: Option<Courier>,
}

/// What the thread works with.
struct Desk {
    store: Store,
    number: i64,
    pending: Vec<Job>,
    /// Room for the end when a disk fills up meanwhile; none where the disk has or gives none.
    reserve: Option<Reserve>,
}

impl TrialWriter {
    pub(super) fn start(
        store: Store,
        number: i64,
        courier: Option<Courier>,
    ) -> Result<Self, Failure> {
        let (jobs, inbox) = channel();
        let folder = store
            .path()
            .and_then(Path::parent)
            .unwrap_or(Path::new("."));
        let desk = Desk {
            reserve: Reserve::of(folder, RESERVE_BYTES).ok(),
            store,
            number,
            pending: Vec::new(),
        };
        let thread = thread::Builder::new()
            .name("store".to_owned())
            .spawn(move || desk.work(inbox))
            .map_err(|e| Failure::no_thread("for the store", &e))?;
        Ok(Self {
            number,
            jobs: Some(jobs),
            thread: Some(thread),
            begun: None,
            events: 0,
            courier,
        })
    }

    /// The trial's number in this store.
    pub fn number(&self) -> i64 {
        self.number
    }

    /// Something happened, `at_us` microseconds after clients began to work.
    pub fn keep_event(&mut self, kind: &'static str, at_us: u64, text: &str) {
        self.events += 1;
        if self.events <= EVENTS_MAX {
            let text = text.to_owned();
            self.send(Job::Event { at_us, kind, text });
        }
    }

    /// A second that was recorded elsewhere.
    pub fn keep_second(&mut self, second: Second) {
        self.send(Job::Second(Box::new(second)));
    }

    fn send(&self, job: Job) {
        if let Some(jobs) = &self.jobs {
            // Without the thread it is not written; the end says so.
            let _ = jobs.send(job);
        }
    }

    /// The trial is over: the rest of it is written, and the store synced to disk.
    ///
    /// # Errors
    /// The store cannot be written. The trial then counts as aborted, with the seconds that were
    /// written. Or its file was removed, replaced or cut short meanwhile.
    pub fn finish(mut self, outcome: &Outcome) -> Result<Ended, Failure> {
        let mut desk = self.close()?;
        // Not in the room that is kept for the end: the result comes first.
        let history = outcome.recording.history.as_ref();
        let kept = history.map(|history| desk.store.keep_history(desk.number, history));
        let without_history = kept.and_then(Result::err);
        let written = desk.with_room(|desk| {
            desk.flush(true)?;
            let also = without_history.as_ref().map(history::not_kept);
            desk.store.end(desk.number, outcome, also)?;
            desk.store.is_found_by_name(desk.number)
        });
        written.inspect_err(|failure| {
            // A reason takes less space than a result. If there is not even space for it, the next
            // pgdyno finds a trial whose process is gone.
            let reason = format!("its result could not be kept: {}", failure.message);
            let _ = desk.store.end_early(desk.number, State::Aborted, &reason);
        })?;
        let courier = self.courier.take();
        Ok(Ended {
            waits: courier.and_then(|courier| courier.finish().err()),
            without_history,
        })
    }

    /// The trial came to nothing, because of this.
    ///
    /// # Errors
    /// As [`TrialWriter::finish`].
    pub fn end_with(self, failure: &Failure) -> Result<(), Failure> {
        match failure.exit {
            Exit::Interrupted(_) => self.abort(&failure.message),
            _ => self.fail(&failure.message),
        }
    }

    /// The trial could not be run, or not to its end.
    ///
    /// # Errors
    /// As [`TrialWriter::finish`].
    pub fn fail(self, reason: &str) -> Result<(), Failure> {
        self.give_up(State::Failed, reason)
    }

    /// The trial was interrupted before it had results.
    ///
    /// # Errors
    /// As [`TrialWriter::finish`].
    pub fn abort(self, reason: &str) -> Result<(), Failure> {
        self.give_up(State::Aborted, reason)
    }

    fn give_up(mut self, state: State, reason: &str) -> Result<(), Failure> {
        let written = self.close()?.with_room(|desk| {
            desk.flush(true)?;
            desk.store.end_early(desk.number, state, reason)
        });
        if let Some(courier) = self.courier.take() {
            // What has not arrived waits.
            let _ = courier.finish();
        }
        written
    }

    /// Lets the thread write what it has and gives what it worked with.
    fn close(&mut self) -> Result<Desk, Failure> {
        self.jobs = None;
        let thread = self.thread.take();
        let desk = thread.and_then(|thread| thread.join().ok());
        desk.ok_or_else(|| Failure::new("the thread that writes to the store broke"))
    }
}

impl Drop for TrialWriter {
    fn drop(&mut self) {
        if self.thread.is_some()
            && let Ok(mut desk) = self.close()
        {
            // The best that can be done; a store that cannot be written keeps it as running, and
            // the next pgdyno finds that it is not.
            let _ = desk.flush(true);
            let reason = "pgdyno gave the trial up";
            let _ = desk.store.end_early(desk.number, State::Aborted, reason);
        }
    }
}

impl Desk {
    fn work(mut self, inbox: Receiver<Job>) -> Self {
        for job in inbox {
            // Each commit writes whole pages: what instruments saw goes with the next second.
            let waits = matches!(job, Job::Observed(_));
            self.pending.push(job);
            if !waits {
                // Tried again with the next second, and at the end, which reports it.
                let _ = self.flush(false);
            }
        }
        self
    }

    /// Does it, a second time in the room that was kept for it.
    fn with_room(
        &mut self,
        work: impl Fn(&mut Self) -> Result<(), Failure>,
    ) -> Result<(), Failure> {
        let first = work(self);
        if first.is_err() && self.reserve.take().is_some() {
            return work(self);
        }
        first
    }

    fn flush(&mut self, has_time: bool) -> Result<(), Failure> {
        if self.pending.is_empty() {
            return Ok(());
        }
        let failed = self.store.failed("cannot write to");
        let written = self
            .store
            .db
            .transaction(|db| write(db, self.number, &self.pending));
        match written {
            Ok(()) => self.pending.clear(),
            Err(e) if has_time => return Err(failed(e)),
            Err(_) => {}
        }
        Ok(())
    }
}

fn write(db: &Db, number: i64, jobs: &[Job]) -> db::Result<()> {
    for job in jobs {
        match job {
            Job::Begun(time) => happening::tell(db, number, 0, end::BEGAN, &stamp(*time))?,
            Job::Event { at_us, kind, text } => happening::tell(db, number, *at_us, kind, text)?,
            Job::Second(second) => {
                write_second(db, number, second)?;
                client_time::write(db, number, second)?;
                units::write(db, number, second)?;
            }
            Job::Observed(batch) => observed::write(db, number, batch)?,
        }
    }
    Ok(())
}

/// The rows of a second that are its scripts'.
pub(super) fn write_second(connection: &Db, number: i64, second: &Second) -> db::Result<()> {
    // One for each column of the table.
    let places = vec!["?"; 25].join(", ");
    let insert = format!("INSERT INTO second VALUES ({places})");
    let insert = connection.prepare(&insert);
    let spend = format!("INSERT INTO work VALUES ({})", ["?"; 17].join(", "));
    let spend = connection.prepare(&spend);
    let fail = connection.prepare("INSERT INTO failure VALUES (?, ?, ?, ?, ?, ?)");
    for (index, script) in second.scripts.iter().enumerate() {
        let counts = &script.counts;
        let mut row = vec![
            Value::Integer(number),
            packed::whole(second.start_us),
            Value::Integer(second.warmup.into()),
            Value::Integer(index as i64),
            packed::whole(second.length_us),
        ];
        let counted = [
            counts.committed,
            counts.failed_total(),
            counts.skipped,
            counts.unknown,
            counts.late,
            counts.retries,
            counts.retried,
        ];
        row.extend(counted.map(packed::whole));
        row.extend(packed::columns(Some(&script.service)));
        row.extend(packed::columns(script.response.as_ref()));
        row.extend(packed::columns(script.lag.as_ref()));
        row.push(Value::Integer(second.drain.into()));
        // The same place.
        let mut spent = row[..4].to_vec();
        insert.execute(row)?;
        let work = &script.work;
        let numbers = [
            work.given_up,
            work.cut_off,
            work.kept_us,
            work.kept_statements,
            work.lost_tries,
            work.lost_us,
            work.lost_statements,
            work.backoff_us,
            work.server_retries,
        ];
        spent.extend(numbers.map(packed::whole));
        spent.extend(packed::columns(script.attempt.as_ref()));
        spend.execute(spent)?;
        for (failure, times) in &counts.failed {
            let (start_us, times) = (packed::whole(second.start_us), packed::whole(*times));
            fail.execute(params![
                number,
                start_us,
                second.warmup,
                index,
                failure.code(),
                times
            ])?;
        }
    }
    Ok(())
}

impl<O> Observer<O> for TrialWriter {
    fn begun(&mut self, started: SystemTime) {
        self.begun = Some(Instant::now());
        self.send(Job::Begun(started));
    }

    fn second(&mut self, interval: &Interval) {
        self.send(Job::Second(Box::new(Second::from(interval))));
    }

    fn observed(&mut self, batch: &Batch) {
        self.send(Job::Observed(Box::new(batch.clone())));
    }

    fn message(&mut self, message: &Message) {
        if message.level == Level::Error {
            let at = self.begun.map(|begun| begun.elapsed());
            let at_us = at.unwrap_or_default().as_micros() as u64;
            self.keep_event("error", at_us, &message.text);
        }
    }

    fn event(&mut self, event: &Event) {
        self.keep_event(event.kind.word(), event.at_us, &event.text);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::begin::example;
    use pgdyno_measurement::{
        ClientTime, Counts, Failure as Reason, Latencies, PackedUnits, ScriptSecond, Work,
    };
    use pgdyno_model::notebook::{Filter, Kind};

    fn second(start_us: u64, warmup: bool, latencies_us: &[u64]) -> Job {
        let mut service = Latencies::default();
        latencies_us.iter().for_each(|us| service.record(*us));
        let counts = Counts {
            committed: latencies_us.len() as u64,
            failed: [(Reason::DEADLOCK, 2), (Reason::ConnectionLost, 1)].into(),
            retries: 5,
            retried: 3,
            ..Counts::default()
        };
        let script = ScriptSecond {
            counts,
            service: service.pack(),
            attempt: Some(service.pack()),
            response: None,
            lag: None,
            work: Work {
                lost_tries: 8,
                lost_us: 100,
                ..Work::default()
            },
            units: vec![PackedUnits {
                rows: 255,
                latencies: service.pack(),
            }],
        };
        Job::Second(Box::new(Second {
            start_us,
            length_us: 1_000_000,
            warmup,
            time: ClientTime::from_numbers(std::array::from_fn(|at| start_us + at as u64)),
            drain: false,
            scripts: vec![script],
        }))
    }

    #[test]
    fn percentiles_of_a_trial_come_from_merged_histograms() {
        let dir = tempfile::tempdir().unwrap();
        let store = Store::open(&dir.path().join("s")).unwrap();
        let writer = store.begin(&example()).unwrap();
        // A quick second and a slow one: the mean of their medians would be 5050.
        writer.send(second(0, true, &[1; 500]));
        writer.send(second(0, false, &[100; 1000]));
        writer.send(second(1_000_000, false, &[10_000; 100]));
        let number = writer.number();
        writer.fail("broke").unwrap();
        let all = store.latencies(number, Some(0), Kind::Service).unwrap();
        assert_eq!((all.count(), all.percentile_us(50.0)), (1100, Some(100)));
        assert_eq!(all.sum_us(), 1000 * 100 + 100 * 10_000);
        let none = store.latencies(number, Some(1), Kind::Service).unwrap();
        assert_eq!(none.count(), 0);
        let none = store.latencies(number, None, Kind::Response).unwrap();
        assert_eq!(none.count(), 0);
        let trial = store.trial(&number.to_string()).unwrap();
        assert_eq!(
            (trial.state, trial.reason.as_deref()),
            (State::Failed, Some("broke"))
        );
        assert_eq!((trial.committed, trial.failed), (Some(1100), Some(6)));
        assert_eq!(trial.elapsed_us, Some(2_000_000));
        assert_eq!(trial.service.p50_us, Some(100));
        let seconds = store.seconds(number).unwrap();
        let starts: Vec<_> = seconds.iter().map(|s| (s.start_us, s.warmup)).collect();
        assert_eq!(starts, [(0, true), (0, false), (1_000_000, false)]);
        let counts = &seconds[2].scripts[0].counts;
        assert_eq!(counts.failed[&Reason::DEADLOCK], 2);
        assert_eq!(counts.failed[&Reason::ConnectionLost], 1);
    }

    #[test]
    fn an_old_trial_keeps_its_totals_and_percentiles_without_its_seconds() {
        let dir = tempfile::tempdir().unwrap();
        let store = Store::open(&dir.path().join("s")).unwrap();
        let writer = store.begin(&example()).unwrap();
        let number = writer.number();
        writer.send(second(0, true, &[1; 500]));
        writer.send(second(0, false, &[100; 1000]));
        writer.send(second(1_000_000, false, &[10_000; 100]));
        writer.send(second(2_000_000, false, &[20_000; 7]));
        writer.fail("broke").unwrap();
        let totals = || {
            let recording = store.outcome(number).unwrap().recording;
            let of = |phase: &pgdyno_measurement::Phase| {
                let all = phase.all();
                let percentiles = [50.0, 99.0].map(|p| all.service.percentile_us(p));
                (
                    phase.elapsed_us,
                    all.counts,
                    all.work,
                    percentiles,
                    phase.time,
                )
            };
            let units = recording.measured.all().units.len();
            (
                of(&recording.measured),
                recording.warmup.as_ref().map(of),
                units,
            )
        };
        let before = totals();
        let shown = store.trial("1").unwrap();
        assert_eq!(store.thin("2000"), Ok(0), "none is so old");
        assert_eq!(store.seconds(number).unwrap().len(), 4);
        assert_eq!(store.thin("9999"), Ok(1));
        assert_eq!(store.thin("9999"), Ok(0), "once is enough");
        store.shrink().unwrap();
        assert_eq!(store.seconds(number).unwrap().len(), 2);
        assert_eq!(totals(), before);
        assert_eq!(store.trial("1").unwrap(), shown);
    }

    #[test]
    fn little_is_synced_while_a_trial_runs_and_everything_at_its_end() {
        let dir = tempfile::tempdir().unwrap();
        let store = Store::open(&dir.path().join("s")).unwrap();
        let mut writer = store.begin(&example()).unwrap();
        let mut desk = writer.close().unwrap();
        let synchronous = |desk: &Desk| -> i64 {
            let connection = desk.store.db.file().unwrap();
            connection
                .pragma_query_value(None, "synchronous", |row| row.get(0))
                .unwrap()
        };
        let checkpoints = |desk: &Desk| -> i64 {
            let connection = desk.store.db.file().unwrap();
            connection
                .pragma_query_value(None, "wal_autocheckpoint", |row| row.get(0))
                .unwrap()
        };
        // 1 is NORMAL, 2 is FULL.
        let rare = i64::from(crate::begin::JOURNAL_PAGES);
        assert_eq!((synchronous(&desk), checkpoints(&desk)), (1, rare));
        desk.store.end_early(1, State::Failed, "broke").unwrap();
        assert_eq!(synchronous(&desk), 2);
    }

    #[test]
    fn a_second_that_finds_the_store_locked_is_written_with_the_next() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("s");
        let store = Store::open(&path).unwrap();
        let mut writer = store.begin(&example()).unwrap();
        let mut desk = writer.close().unwrap();
        let connection = desk.store.db.file().unwrap();
        connection.busy_timeout(std::time::Duration::ZERO).unwrap();
        let other = Store::open(&path).unwrap();
        other.db.execute_batch("BEGIN IMMEDIATE").unwrap();
        desk.pending.push(second(0, false, &[1; 20]));
        desk.flush(false).unwrap();
        assert_eq!(desk.pending.len(), 1);
        let e = desk.flush(true).unwrap_err().to_string();
        assert!(e.contains("cannot write to the store"), "{e}");
        other.db.execute_batch("ROLLBACK").unwrap();
        desk.pending.push(second(1_000_000, false, &[1; 20]));
        desk.flush(true).unwrap();
        assert_eq!(store.seconds(1).unwrap().len(), 2);
    }

    #[test]
    fn a_trial_that_is_given_up_without_a_word_is_aborted() {
        let dir = tempfile::tempdir().unwrap();
        let store = Store::open(&dir.path().join("s")).unwrap();
        drop(store.begin(&example()).unwrap());
        let writer = store.begin(&example()).unwrap();
        writer.abort("enough").unwrap();
        let trials = store.trials(&Filter::default()).unwrap();
        let ends: Vec<_> = trials
            .iter()
            .map(|t| (t.state, t.reason.as_deref()))
            .collect();
        let given_up = Some("pgdyno gave the trial up");
        assert_eq!(
            ends,
            [(State::Aborted, Some("enough")), (State::Aborted, given_up)]
        );
    }

    #[test]
    fn so_many_events_are_kept_and_no_more() {
        let dir = tempfile::tempdir().unwrap();
        let store = Store::open(&dir.path().join("s")).unwrap();
        let mut writer = store.begin(&example()).unwrap();
        for at_us in 0..EVENTS_MAX as u64 + 10 {
            writer.keep_event("error", at_us, "lost");
        }
        writer.fail("lost").unwrap();
        let answer = store
            .query("SELECT count(*), max(at_us) FROM event")
            .unwrap();
        let cells: Vec<_> = answer.rows[0].iter().map(|cell| cell.text()).collect();
        assert_eq!(cells, ["1000", "999"]);
    }
}
