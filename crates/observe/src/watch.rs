//! Runs instruments beside a trial: a thread each, started before the clients and ended after them.

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use pgdyno_platform::cpu_time;

use super::recorder::Recorder;
use super::{Instrument, Instruments, Readings};
use pgdyno_model::observed::{Batch, Gap};

/// The last reading of an instrument may take this long, whatever its patience.
const END_MAX: Duration = Duration::from_secs(2);
/// How often it checks whether the run is to stop before it has begun.
const LOOK_INTERVAL: Duration = Duration::from_millis(50);

/// Instruments at work. Dropped without [`Watch::end`], it leaves them to themselves.
pub struct Watch {
    shared: Arc<Shared>,
    inbox: Receiver<Report>,
    recorder: Recorder,
    instruments: Vec<State>,
    anchor: Option<Instant>,
    collecting_us: u64,
}

/// What is known of an instrument's thread.
struct State {
    patience: Duration,
    has_begun: bool,
    has_ended: bool,
}

impl State {
    /// How long it may take to read for the last time.
    fn patience_at_end(&self) -> Duration {
        self.patience.min(END_MAX)
    }
}

/// What a thread has to say.
enum Report {
    /// A reading, the first or a later one.
    Reading {
        instrument: usize,
        readings: Box<Readings>,
        result: Result<(), Gap>,
        at: Instant,
    },
    /// Nothing more comes of it.
    Ended { instrument: usize, cpu_us: u64 },
}

#[derive(Default)]
struct Shared {
    orders: Mutex<Orders>,
    changed: Condvar,
}

#[derive(Clone, Copy, Default)]
struct Orders {
    /// When clients began to work.
    anchor: Option<Instant>,
    stop: Option<Stop>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Stop {
    Finish,
    Abandon,
}

impl Watch {
    /// Starts them, and waits until each has read once, or has had its
    /// [patience](Instrument::patience), or the run is to stop.
    pub fn start(instruments: Instruments, is_stopping: &dyn Fn() -> bool) -> Self {
        let shared = Arc::<Shared>::default();
        let (reports, inbox) = channel();
        let mut watch = Self {
            recorder: Recorder::new(Instant::now()),
            shared,
            inbox,
            instruments: Vec::new(),
            anchor: None,
            collecting_us: 0,
        };
        for instrument in instruments {
            watch.spawn(instrument, &reports);
        }
        let began = Instant::now();
        while !is_stopping() {
            let soon = Instant::now() + LOOK_INTERVAL;
            watch.receive(|states| {
                let pending = states.iter().filter(|state| !state.has_begun);
                let until = pending.map(|state| began + state.patience).max();
                until.map(|until| until.min(soon))
            });
            let pending = watch.instruments.iter().filter(|state| !state.has_begun);
            let patience = pending.map(|state| state.patience).max();
            if patience.is_none_or(|patience| began.elapsed() >= patience) {
                break;
            }
        }
        watch
    }

    fn spawn(&mut self, instrument: Box<dyn Instrument>, reports: &Sender<Report>) {
        let name = instrument.name().to_owned();
        let number = self.recorder.instrument(name.clone(), instrument.source());
        self.instruments.push(State {
            patience: instrument.patience(),
            has_begun: false,
            has_ended: false,
        });
        let shared = Arc::clone(&self.shared);
        let reports = reports.clone();
        let spawned = thread::Builder::new()
            // The kernel keeps fifteen bytes.
            .name(name)
            .spawn(move || work(number, instrument, &shared, &reports));
        if let Err(e) = spawned {
            let gap = Gap::because(format!("there is no thread for it: {e}"));
            let now = Instant::now();
            self.recorder
                .reading(number, Readings::default(), Err(gap), now);
            self.instruments[number].has_begun = true;
            self.instruments[number].has_ended = true;
        }
    }

    /// Clients have begun to work: times count from here.
    pub fn begun(&mut self, at: Instant) {
        self.anchor = Some(at);
        self.shared.order(|orders| orders.anchor = Some(at));
    }

    /// What has come since the last time; empty before [`Watch::begun`]. Never waits.
    pub fn drain(&mut self) -> Batch {
        let began = cpu_time::thread();
        self.receive(|_| None);
        let batch = match self.anchor {
            Some(anchor) => self.recorder.take(anchor),
            None => Batch::default(),
        };
        self.collecting_us += spent_us(began);
        batch
    }

    /// Clients have gone: has all read for the last time, waits for them as long as their
    /// [patience](Instrument::patience) lasts, at most 2 s, and gives what has come since the last
    /// [`Watch::drain`], with the totals.
    pub fn end(&mut self) -> Batch {
        self.shared.order(|orders| orders.stop = Some(Stop::Finish));
        let began = Instant::now();
        self.receive(|states| {
            let pending = states.iter().filter(|state| !state.has_ended);
            pending.map(|state| began + state.patience_at_end()).max()
        });
        for (number, state) in self.instruments.iter().enumerate() {
            if state.has_ended {
                continue;
            }
            let gap = Gap::because(format!(
                "it had not answered {} s after the trial's end",
                state.patience_at_end().as_secs_f64()
            ));
            let now = Instant::now();
            self.recorder
                .reading(number, Readings::default(), Err(gap), now);
        }
        self.recorder.end();
        self.drain()
    }

    /// CPU time that it took to collect what instruments read, beside their own, in microseconds.
    pub fn collecting_us(&self) -> u64 {
        self.collecting_us
    }

    /// Takes what comes, until there is no time to wait for any more; it is reported again after each.
    fn receive(&mut self, until: impl Fn(&[State]) -> Option<Instant>) {
        loop {
            let wait =
                until(&self.instruments).map(|at| at.saturating_duration_since(Instant::now()));
            let report = match wait {
                Some(wait) => self.inbox.recv_timeout(wait),
                None => self.inbox.recv_timeout(Duration::ZERO),
            };
            match report {
                Ok(report) => self.take(report),
                Err(RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected) => return,
            }
        }
    }

    fn take(&mut self, report: Report) {
        match report {
            Report::Reading {
                instrument,
                readings,
                result,
                at,
            } => {
                self.instruments[instrument].has_begun = true;
                self.recorder.reading(instrument, *readings, result, at);
            }
            Report::Ended { instrument, cpu_us } => {
                self.instruments[instrument].has_begun = true;
                self.instruments[instrument].has_ended = true;
                self.recorder.cpu(instrument, cpu_us);
            }
        }
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        self.shared.order(|orders| {
            orders.stop.get_or_insert(Stop::Abandon);
        });
    }
}

impl Shared {
    fn orders(&self) -> MutexGuard<'_, Orders> {
        // A thread that panicked left nothing half done.
        self.orders.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn order(&self, change: impl FnOnce(&mut Orders)) {
        change(&mut self.orders());
        self.changed.notify_all();
    }

    /// Waits for the next reading; `Some` when there is to be none.
    fn wait(&self, begun: Instant, interval: Duration, last: Instant) -> Option<Stop> {
        let mut orders = self.orders();
        loop {
            if orders.stop.is_some() {
                return orders.stop;
            }
            let due = due(orders.anchor.unwrap_or(begun), interval, last);
            let wait = due.saturating_duration_since(Instant::now());
            if wait.is_zero() {
                return None;
            }
            let waited = self.changed.wait_timeout(orders, wait);
            (orders, _) = waited.unwrap_or_else(PoisonError::into_inner);
        }
    }
}

/// The first time after `last` that lies whole intervals after `anchor`; `anchor` itself when it
/// comes after `last`.
fn due(anchor: Instant, interval: Duration, last: Instant) -> Instant {
    let interval = interval.max(Duration::from_millis(1));
    let Some(past) = last.checked_duration_since(anchor) else {
        return anchor;
    };
    let past = past.as_nanos() / interval.as_nanos();
    anchor + interval * (past as u32).saturating_add(1)
}

/// The main function of an instrument's thread. It ends when the receiver is gone.
fn work(
    number: usize,
    mut instrument: Box<dyn Instrument>,
    shared: &Shared,
    reports: &Sender<Report>,
) {
    let began = cpu_time::thread();
    let read = |of: &mut dyn FnMut(&mut Readings) -> Result<(), Gap>| {
        let mut readings = Readings::default();
        let result = catch_unwind(AssertUnwindSafe(|| of(&mut readings)));
        let is_sound = result.is_ok();
        let result = result.unwrap_or_else(|panic| Err(broke(&*panic)));
        let is_read = result.is_ok();
        let sent = reports.send(Report::Reading {
            instrument: number,
            readings: Box::new(readings),
            result,
            at: Instant::now(),
        });
        (is_read, is_sound && sent.is_ok())
    };
    let (is_read, mut goes_on) = read(&mut |out| instrument.begin(out));
    goes_on &= is_read;
    let begun = Instant::now();
    let interval = instrument.interval();
    let mut last = begun;
    while goes_on {
        match shared.wait(begun, interval, last) {
            None => {
                last = Instant::now();
                (_, goes_on) = read(&mut |out| instrument.read(out));
            }
            Some(Stop::Finish) => {
                read(&mut |out| instrument.end(out));
                goes_on = false;
            }
            Some(Stop::Abandon) => goes_on = false,
        }
    }
    // It may have connections to close.
    drop(instrument);
    let _ = reports.send(Report::Ended {
        instrument: number,
        cpu_us: spent_us(began),
    });
}

fn broke(panic: &(dyn Any + Send)) -> Gap {
    let words = panic.downcast_ref::<String>().map(String::as_str);
    let words = words.or_else(|| panic.downcast_ref::<&str>().copied());
    Gap::because(format!(
        "the instrument broke, which is a mistake in pgdyno: {}",
        words.unwrap_or("it did not say why")
    ))
}

fn spent_us(since: cpu_time::CpuTime) -> u64 {
    let now = cpu_time::thread();
    (now - since).total_us()
}

#[cfg(test)]
mod tests {
    use super::*;
    use pgdyno_model::observed::Series;

    const STEPS: Series = Series::new("test.steps", "1/s");

    /// Does what it receives in each of its steps.
    struct Scripted<F> {
        step: F,
        steps: u32,
    }

    fn scripted<F>(step: F) -> Box<dyn Instrument>
    where
        F: FnMut(u32, &mut Readings) -> Result<(), Gap> + Send + 'static,
    {
        Box::new(Scripted { step, steps: 0 })
    }

    impl<F: FnMut(u32, &mut Readings) -> Result<(), Gap> + Send> Instrument for Scripted<F> {
        fn name(&self) -> &str {
            "test.scripted"
        }
        fn source(&self) -> String {
            "a test".to_owned()
        }
        fn interval(&self) -> Duration {
            Duration::from_millis(5)
        }
        fn patience(&self) -> Duration {
            Duration::from_millis(200)
        }
        fn begin(&mut self, out: &mut Readings) -> Result<(), Gap> {
            (self.step)(0, out)
        }
        fn read(&mut self, out: &mut Readings) -> Result<(), Gap> {
            self.steps += 1;
            (self.step)(self.steps, out)
        }
        fn end(&mut self, out: &mut Readings) -> Result<(), Gap> {
            (self.step)(u32::MAX, out)
        }
    }

    fn hang() {
        thread::sleep(Duration::from_secs(3600));
    }

    /// All batches from the start of clients to their end.
    fn watched(instrument: Box<dyn Instrument>, is_enough: impl Fn(&Batch) -> bool) -> Batch {
        let mut watch = Watch::start(vec![instrument], &|| false);
        watch.begun(Instant::now());
        let mut all = Batch::default();
        let began = Instant::now();
        while !is_enough(&all) && began.elapsed() < Duration::from_secs(60) {
            thread::sleep(Duration::from_millis(5));
            let batch = watch.drain();
            all.samples.extend(batch.samples);
            all.gaps.extend(batch.gaps);
        }
        let batch = watch.end();
        all.samples.extend(batch.samples);
        all.gaps.extend(batch.gaps);
        all.totals = batch.totals;
        all.cpu = batch.cpu;
        all
    }

    #[test]
    fn an_instrument_is_read_before_during_and_after() {
        let instrument = scripted(|step, out| {
            out.counter(STEPS, f64::from(step.min(1_000_000)));
            Ok(())
        });
        let all = watched(instrument, |all| all.samples.len() >= 3);
        let total = all.totals[0];
        assert_eq!((total.before, total.after), (0.0, 1_000_000.0));
        assert!(total.before_at_us < 0, "{total:?}");
        assert!(all.samples.is_sorted_by_key(|sample| sample.at_us));
        assert_eq!(all.gaps, []);
        assert_eq!(all.cpu.len(), 1, "its CPU time is known");
    }

    #[test]
    fn one_that_cannot_begin_is_a_gap_and_is_asked_nothing_more() {
        let instrument = scripted(|step, _| match step {
            0 => Err(Gap::because("no privilege").remedy("GRANT x")),
            _ => panic!("asked again"),
        });
        let all = watched(instrument, |all| !all.gaps.is_empty());
        assert_eq!(all.gaps.len(), 1);
        assert_eq!(all.gaps[0].gap.remedy.as_deref(), Some("GRANT x"));
    }

    #[test]
    fn one_that_breaks_is_a_gap() {
        let instrument = scripted(|step, _| match step {
            0 => Ok(()),
            _ => panic!("nonsense"),
        });
        let all = watched(instrument, |all| !all.gaps.is_empty());
        assert!(
            all.gaps[0].gap.reason.ends_with("nonsense"),
            "{:?}",
            all.gaps
        );
    }

    #[test]
    fn a_hanging_instrument_delays_no_other() {
        for hangs_at in [0, 1, u32::MAX] {
            let instrument = scripted(move |step, out| {
                if step == hangs_at {
                    hang();
                }
                out.gauge(STEPS, 1.0);
                Ok(())
            });
            let began = Instant::now();
            let mut watch = Watch::start(vec![instrument], &|| false);
            watch.begun(Instant::now());
            thread::sleep(Duration::from_millis(20));
            let batch = watch.end();
            // Far less than the hour that it would take; machines are slow at times.
            assert!(began.elapsed() < Duration::from_secs(60));
            let reasons: Vec<_> = batch.gaps.iter().map(|gap| &*gap.gap.reason).collect();
            assert_eq!(reasons, ["it had not answered 0.2 s after the trial's end"]);
            assert_eq!(batch.cpu, [], "{hangs_at}: what it used is unknown");
        }
    }

    #[test]
    fn a_run_that_is_to_stop_does_not_wait_for_instruments() {
        let instrument = scripted(|_, _| {
            hang();
            Ok(())
        });
        let watch = Watch::start(vec![instrument], &|| true);
        assert!(!watch.instruments[0].has_begun);
    }

    #[test]
    fn readings_stand_on_the_trials_clock() {
        let anchor = Instant::now();
        let after = |ms| anchor + Duration::from_millis(ms);
        let interval = Duration::from_millis(100);
        assert_eq!(due(after(50), interval, anchor), after(50));
        assert_eq!(due(anchor, interval, anchor), after(100));
        assert_eq!(due(anchor, interval, after(99)), after(100));
        // Those that were missed are left out.
        assert_eq!(due(anchor, interval, after(350)), after(400));
        assert!(due(anchor, Duration::ZERO, after(1)) > after(1));
    }
}
