//! Whether pgdyno itself ran: it may be stopped (SIGSTOP), frozen with its container, or paused with its virtual
//! machine, or its host may be suspended. A thread that has nothing else to do looks at the clock. What it
//! misses beyond the time that it waited for a CPU, no thread of pgdyno ran.
//!
//! Not for a thread that has no CPU because others have it (`record/probe.rs`), nor for what a client does.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use pgdyno_platform::clock::boottime_ns;
use pgdyno_platform::cpu_time::ThreadClock;

use crate::clock::{Clock, nanos};
use pgdyno_measurement::GeneratorStop;
use pgdyno_platform::clock::Nanos;

const LOOK: Duration = Duration::from_millis(20);
/// Shorter stops are not noted.
pub(crate) const STOP_MIN_NS: Nanos = 100_000_000;
/// Nor are these, where the scheduler does not say how long the thread waited for a CPU.
const STOP_MIN_UNSURE_NS: Nanos = 1_000_000_000;
const STOPS_MAX: usize = 1000;
/// A thread that was stopped too waits so often, a millisecond each, until the watchdog has looked.
const WAITS_MAX: u32 = 10;

/// No thread of pgdyno ran from the first moment to the second.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Stop {
    from: Nanos,
    until: Nanos,
    /// The host was suspended for so long, which the run's clock does not show.
    suspended_ns: Nanos,
}

/// What the watchdog saw when it looked.
#[derive(Clone, Copy, Debug)]
struct Look {
    at: Nanos,
    boottime_ns: u64,
    /// How long its thread has waited for a CPU so far; `None` where that is not counted.
    waited_ns: Option<u64>,
}

impl Look {
    /// What has stopped pgdyno between this look and the next.
    fn stop_until(self, now: Self) -> Option<Stop> {
        let passed = now.at.saturating_sub(self.at);
        let suspended_ns = now
            .boottime_ns
            .saturating_sub(self.boottime_ns)
            .saturating_sub(passed);
        let waited = now.waited_ns.zip(self.waited_ns);
        let waited = waited.map(|(now, before)| now.saturating_sub(before));
        let min = waited.map_or(STOP_MIN_UNSURE_NS, |_| STOP_MIN_NS);
        let until = now.at.saturating_sub(waited.unwrap_or(0)).max(self.at);
        let missed = (until - self.at).saturating_sub(nanos(LOOK));
        if missed < min && suspended_ns < STOP_MIN_NS {
            return None;
        }
        let missed = if missed < min { 0 } else { missed };
        Some(Stop {
            from: until - missed,
            until,
            suspended_ns: if suspended_ns < STOP_MIN_NS {
                0
            } else {
                suspended_ns
            },
        })
    }
}

/// The stops of a run.
#[derive(Debug)]
pub(crate) struct Watchdog {
    clock: Clock,
    stops: Mutex<Vec<Stop>>,
    looked: AtomicU64,
}

impl Watchdog {
    pub(crate) fn new(clock: Clock) -> Self {
        Self {
            clock,
            stops: Mutex::default(),
            looked: AtomicU64::new(clock.now()),
        }
    }

    /// Watches on the calling thread until the other end of `over` is gone.
    pub(crate) fn watch(&self, over: &Receiver<()>) {
        let scheduler = ThreadClock::of_this_thread();
        let look = || Look {
            at: self.clock.now(),
            boottime_ns: boottime_ns(),
            waited_ns: { scheduler.as_ref() }
                .and_then(ThreadClock::read)
                .map(|read| read.waited_ns),
        };
        let mut last = look();
        while over.recv_timeout(LOOK) == Err(RecvTimeoutError::Timeout) {
            let now = look();
            self.note(last.stop_until(now));
            self.looked.store(now.at, Ordering::Release);
            last = now;
        }
    }

    fn note(&self, stop: Option<Stop>) {
        let Some(stop) = stop else { return };
        let mut stops = self.stops.lock().unwrap_or_else(PoisonError::into_inner);
        if stops.len() < STOPS_MAX {
            stops.push(stop);
        }
    }

    /// The last stop within these moments, for a thread that has noticed nothing in so long.
    #[cold]
    pub(crate) fn stop_within(&self, from: Nanos, until: Nanos) -> Option<(Nanos, Nanos)> {
        let is_behind = || self.looked.load(Ordering::Acquire) + nanos(LOOK) + STOP_MIN_NS <= until;
        for _ in 0..WAITS_MAX {
            if !is_behind() {
                break;
            }
            // All threads go on at the same moment, in any order.
            thread::sleep(Duration::from_millis(1));
        }
        let stops = self.stops.lock().unwrap_or_else(PoisonError::into_inner);
        let within = stops
            .iter()
            .rev()
            .find(|stop| stop.from < stop.until && stop.from < until && stop.until > from);
        within.map(|stop| (stop.from.max(from), stop.until.min(until)))
    }

    /// All stops of a run that began then.
    pub(crate) fn stops(&self, begin: Nanos) -> Vec<GeneratorStop> {
        let stops = self.stops.lock().unwrap_or_else(PoisonError::into_inner);
        let us = |at: Nanos| at.saturating_sub(begin) / 1000;
        let of_run = stops.iter().filter(|stop| stop.until > begin);
        let of_run = of_run.map(|stop| GeneratorStop {
            start_us: us(stop.from),
            length_us: us(stop.until) - us(stop.from),
            suspended_us: stop.suspended_ns / 1000,
        });
        of_run.collect()
    }
}

/// The same for what is no run, such as a load: from its beginning to [`OwnStops::end`].
#[derive(Debug)]
pub struct OwnStops {
    watchdog: Arc<Watchdog>,
    over: Option<Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl OwnStops {
    /// Watches from now on. Without a thread for it, it sees nothing.
    pub fn begin() -> Self {
        let watchdog = Arc::new(Watchdog::new(Clock::start()));
        let (over, receiver) = channel();
        let own = Arc::clone(&watchdog);
        let thread = thread::Builder::new()
            .name("watchdog".to_owned())
            .spawn(move || own.watch(&receiver));
        Self {
            watchdog,
            over: Some(over),
            thread: thread.ok(),
        }
    }

    /// For how long pgdyno itself did not run since then, or its host was suspended; 0 below 100 ms at a time.
    pub fn end(mut self) -> Duration {
        self.stop();
        let stops = self.watchdog.stops(0);
        let us = stops.iter().map(|stop| stop.length_us + stop.suspended_us);
        Duration::from_micros(us.sum())
    }

    fn stop(&mut self) {
        self.over = None;
        if let Some(thread) = self.thread.take() {
            // It does not panic; if it did, there would be nothing to say.
            let _ = thread.join();
        }
    }
}

impl Drop for OwnStops {
    fn drop(&mut self) {
        self.stop();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: u64 = 1_000_000;

    fn look(at_ms: u64, waited_ms: Option<u64>) -> Look {
        Look {
            at: at_ms * MS,
            boottime_ns: at_ms * MS,
            waited_ns: waited_ms.map(|ms| ms * MS),
        }
    }

    #[test]
    fn what_is_missed_was_a_stop_unless_it_waited_for_a_cpu() {
        let first = look(1000, Some(7));
        assert_eq!(first.stop_until(look(1021, Some(8))), None);
        let stop = first.stop_until(look(4020, Some(7))).unwrap();
        assert_eq!((stop.from, stop.until), (1020 * MS, 4020 * MS));
        // Others had the CPUs.
        assert_eq!(first.stop_until(look(4020, Some(3000))), None);
        // It was stopped, and waited for one then.
        let stop = first.stop_until(look(4020, Some(1007))).unwrap();
        assert_eq!((stop.from, stop.until), (1020 * MS, 3020 * MS));
        // Without the scheduler's word it must have missed more.
        let first = look(1000, None);
        assert_eq!(first.stop_until(look(1900, None)), None);
        assert!(first.stop_until(look(2100, None)).is_some());
    }

    #[test]
    fn a_suspended_host_stops_the_clock_too() {
        let first = look(1000, Some(0));
        let mut second = look(1020, Some(0));
        second.boottime_ns += 5000 * MS;
        let stop = first.stop_until(second).unwrap();
        assert_eq!((stop.until - stop.from, stop.suspended_ns), (0, 5000 * MS));
    }

    #[test]
    fn a_thread_asks_for_the_stop_within_its_own_gap() {
        let watchdog = Watchdog::new(Clock::with_origin(0));
        watchdog.looked.store(u64::MAX / 2, Ordering::Release);
        watchdog.note(look(1000, Some(0)).stop_until(look(3020, Some(0))));
        assert_eq!(watchdog.stop_within(0, 1020 * MS), None);
        assert_eq!(watchdog.stop_within(3020 * MS, 5000 * MS), None);
        let within = watchdog.stop_within(2000 * MS, 5000 * MS);
        assert_eq!(within, Some((2000 * MS, 3020 * MS)));
        // A thread that sees the stop first waits for the watchdog, and not for ever.
        watchdog.looked.store(0, Ordering::Release);
        assert_eq!(watchdog.stop_within(4000 * MS, 5000 * MS), None);
        let stops = watchdog.stops(2000 * MS);
        assert_eq!((stops[0].start_us, stops[0].length_us), (0, 1_020_000));
        assert_eq!(watchdog.stops(4000 * MS), []);
    }
}
