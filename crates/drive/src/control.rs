//! Stopping a run from outside: Ctrl-C, a time limit of the caller, a lost interest.

use std::sync::atomic::{AtomicU8, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use pgdyno_platform::io::Waker;

/// How a run is to end.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Stop {
    /// Not yet.
    No,
    /// No new transaction is started; those in flight may finish.
    Finish,
    /// Transactions in flight are given up.
    Now,
}

/// The brake: cheap to clone, usable from any thread.
#[derive(Clone, Debug, Default)]
pub struct Control(Arc<Inner>);

#[derive(Debug, Default)]
struct Inner {
    stop: AtomicU8,
    wakers: Mutex<Vec<Waker>>,
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

    /// Whether somebody asked for an early end.
    pub fn is_stopping(&self) -> bool {
        self.stop() > Stop::No
    }

    fn raise(&self, stop: Stop) {
        self.0.stop.fetch_max(stop as u8, Ordering::Relaxed);
        for waker in self
            .0
            .wakers
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .iter()
        {
            waker.wake();
        }
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
