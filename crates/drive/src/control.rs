//! Steering a run from outside: stopping it (Ctrl-C, a time limit of the caller, a lost interest),
//! ending its warm-up.

use std::sync::atomic::{AtomicBool, AtomicU8, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use pgdyno_platform::io::Waker;

use pgdyno_platform::clock::Nanos;

/// How a run is to end.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Stop {
    No,
    /// No new transaction is started; those in flight may finish.
    Finish,
    /// Transactions in flight are given up.
    Now,
}

/// How one run is asked to end: cheap to clone, usable from any thread.
#[derive(Clone, Debug, Default)]
pub struct Control(Arc<Inner>);

#[derive(Debug, Default)]
struct Inner {
    stop: AtomicU8,
    /// The last second of the warm-up that some thread has left behind, times two; odd once the
    /// warm-up is to end with the second after it.
    warmup: AtomicU64,
    wakers: Mutex<Vec<Waker>>,
    silences: Mutex<Vec<Silence>>,
    /// How many of them there are.
    silences_count: AtomicUsize,
    /// Whether some client has said that it goes without TLS.
    said_without_tls: AtomicBool,
    /// What connections have met by now.
    servers: Mutex<Vec<Server>>,
}

/// What a server says of itself when a session begins.
#[derive(Debug, PartialEq, Eq)]
struct Server {
    place: usize,
    version: String,
    is_standby: Option<bool>,
}

impl std::fmt::Display for Server {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.version)?;
        match self.is_standby {
            Some(true) => f.write_str(", a standby"),
            Some(false) => f.write_str(", a primary"),
            None => Ok(()),
        }
    }
}

/// At most so many servers are distinguished; a load balancer has fewer behind it.
const SERVERS_MAX: usize = 1024;

/// A server that does not even answer a new connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Silence {
    pub(crate) place: usize,
    /// When it was asked, on the run's clock.
    pub(crate) asked: Nanos,
}

impl Control {
    /// No transaction is started any more; those in flight may finish.
    pub fn finish(&self) {
        self.raise(Stop::Finish);
    }

    /// Transactions in flight are given up: booked as unknown where a COMMIT was under way, else as
    /// interrupted.
    pub fn stop_now(&self) {
        self.raise(Stop::Now);
    }

    /// The warm-up has been long enough: it ends with the first second that no thread has left
    /// behind yet, the same one for all, and no later than [`crate::Drive::warmup`] says.
    pub fn end_warmup(&self) {
        // One number tells threads and caller the same: no thread can pass the end unseen.
        self.0.warmup.fetch_or(1, Ordering::Relaxed);
    }

    /// True once: at the first warning that sessions go without TLS.
    pub(crate) fn is_first_without_tls(&self) -> bool {
        !self.0.said_without_tls.swap(true, Ordering::Relaxed)
    }

    /// A connection to this place has met a server that says this of itself: what it is and what those before it were,
    /// where none of them was so. `is_first`: of those that a client begins with, which may be several behind a
    /// balancer.
    pub(crate) fn server_replaced(
        &self,
        place: usize,
        parameters: &[(String, String)],
        is_first: bool,
    ) -> Option<String> {
        let said = |name: &str| {
            let mut all = parameters.iter();
            all.find(|(n, _)| n == name)
                .map(|(_, value)| value.as_str())
        };
        let server = Server {
            place,
            // CockroachDB's own is the one that changes.
            version: said("crdb_version").or(said("server_version"))?.to_owned(),
            is_standby: said("in_hot_standby").map(|value| value == "on"),
        };
        let mut servers = self
            .0
            .servers
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        if servers.contains(&server) || servers.len() >= SERVERS_MAX {
            return None;
        }
        let before = servers.iter().filter(|known| known.place == place);
        let before: Vec<String> = before.map(Server::to_string).collect();
        let is_new = !is_first && !before.is_empty();
        let text = is_new.then(|| format!("{server}, after {}", before.join("; ")));
        servers.push(server);
        text
    }

    /// A thread has come to the end of this second of its warm-up (the first is 1): whether the
    /// warm-up ends with it. To be asked of each second in turn.
    pub(crate) fn is_warmup_over(&self, second: u64) -> bool {
        let warmup = &self.0.warmup;
        let passed = warmup.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |value| {
            let is_to_end = value & 1 == 1;
            (!is_to_end && value >> 1 < second).then_some(second << 1)
        });
        passed.is_err_and(|value| value & 1 == 1 && second > value >> 1)
    }

    /// Whether an early end was requested.
    pub fn is_stopping(&self) -> bool {
        self.stop() > Stop::No
    }

    fn raise(&self, stop: Stop) {
        self.0.stop.fetch_max(stop as u8, Ordering::Relaxed);
        self.wake();
    }

    fn wake(&self) {
        let wakers = self.0.wakers.lock();
        let wakers = wakers.unwrap_or_else(PoisonError::into_inner);
        wakers.iter().for_each(Waker::wake);
    }

    /// A server does not answer: those that wait for it need not wait on.
    pub(crate) fn is_silent(&self, silence: Silence) {
        let mut all = self.silences();
        all.push(silence);
        // Under the lock: who sees the number finds as many.
        self.0.silences_count.store(all.len(), Ordering::Relaxed);
        drop(all);
        self.wake();
    }

    /// Those that a thread has not seen, of which it knows so many. It is asked at each step.
    #[inline]
    pub(crate) fn silences_after(&self, seen: usize) -> Vec<Silence> {
        if self.0.silences_count.load(Ordering::Relaxed) > seen {
            self.silences()[seen..].to_vec()
        } else {
            Vec::new()
        }
    }

    fn silences(&self) -> MutexGuard<'_, Vec<Silence>> {
        let silences = self.0.silences.lock();
        silences.unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn stop(&self) -> Stop {
        match self.0.stop.load(Ordering::Relaxed) {
            0 => Stop::No,
            1 => Stop::Finish,
            _ => Stop::Now,
        }
    }

    pub(crate) fn wakes(&self, waker: Waker) {
        self.0
            .wakers
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .push(waker);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_server_is_another_when_it_says_what_none_before_it_said() {
        let control = Control::default();
        let meets = |place, version: &str, standby: &str, is_first| {
            let parameters = [("server_version", version), ("in_hot_standby", standby)];
            let parameters = parameters.map(|(name, value)| (name.to_owned(), value.to_owned()));
            control.server_replaced(place, &parameters, is_first)
        };
        // Several behind a balancer, when clients begin.
        assert_eq!(meets(0, "18.1", "off", true), None);
        assert_eq!(meets(0, "18.1", "on", true), None);
        for standby in ["on", "off"] {
            assert_eq!(meets(0, "18.1", standby, false), None);
        }
        // A place that is first seen later.
        assert_eq!(meets(1, "17.4", "off", false), None);
        assert_eq!(
            meets(1, "17.4", "on", false).unwrap(),
            "17.4, a standby, after 17.4, a primary"
        );
        let upgraded = meets(0, "18.2", "off", false).unwrap();
        assert_eq!(
            upgraded,
            "18.2, a primary, after 18.1, a primary; 18.1, a standby"
        );
        assert_eq!(meets(0, "18.2", "off", false), None);
        assert_eq!(control.server_replaced(0, &[], false), None);
    }

    #[test]
    fn the_warm_up_ends_for_every_thread_with_the_first_second_that_none_has_left_behind() {
        let control = Control::default();
        // A fast thread and a slow one.
        let fast = (1..=3).map(|second| control.is_warmup_over(second));
        assert_eq!(fast.collect::<Vec<_>>(), [false; 3]);
        assert!(!control.is_warmup_over(1));
        control.end_warmup();
        control.end_warmup();
        assert!(!control.is_warmup_over(2));
        assert!(!control.is_warmup_over(3));
        assert!(control.is_warmup_over(4));
        assert!(control.is_warmup_over(4));
    }

    #[test]
    fn threads_that_race_with_the_end_of_the_warm_up_agree_on_it() {
        for _ in 0..200 {
            let control = Control::default();
            let ends: Vec<u64> = std::thread::scope(|scope| {
                let end = || (1..).find(|second| control.is_warmup_over(*second));
                let threads = [scope.spawn(end), scope.spawn(end)];
                control.end_warmup();
                let joined = threads.map(|thread| thread.join().unwrap().unwrap());
                joined.to_vec()
            });
            assert_eq!(ends[0], ends[1]);
        }
    }
}
