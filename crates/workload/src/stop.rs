//! Ctrl-C during a load: seen between rows, and carried to the server when it is busy with one
//! long statement.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;

use pgdyno_platform::interrupt::Interrupts;
use pgdyno_session::{CancelHandle, Error};

/// How often an idle watcher looks whether its load is over.
const LOOK_INTERVAL: Duration = Duration::from_millis(100);

/// Whether an interrupt has come since the load began.
#[derive(Debug, Clone, Copy)]
pub struct Stop {
    interrupts: Option<&'static Interrupts>,
    seen_before: u32,
}

impl Stop {
    /// Counts from now on; without interrupts it never asks.
    pub fn new(interrupts: Option<&'static Interrupts>) -> Stop {
        Stop {
            interrupts,
            seen_before: interrupts.map_or(0, |i| i.count()),
        }
    }

    /// Whether to stop.
    pub fn asked(&self) -> bool {
        self.interrupts
            .is_some_and(|i| i.count() > self.seen_before)
    }

    /// The exit code of the interrupt, when there was one.
    pub fn exit_code(&self) -> Option<u8> {
        self.interrupts
            .filter(|_| self.asked())
            .and_then(|i| i.exit_code())
    }
}

/// A thread that cancels the session's statement when an interrupt comes; ends when dropped.
#[derive(Debug)]
pub struct Canceller {
    over: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Canceller {
    /// Watches from now on. For each interrupt `tell` learns, in the watching thread, whether the
    /// server took the request.
    pub fn start(
        handle: CancelHandle,
        stop: Stop,
        mut tell: impl FnMut(&Result<(), Error>) + Send + 'static,
    ) -> Canceller {
        let over = Arc::new(AtomicBool::new(false));
        let is_over = over.clone();
        let thread = stop.interrupts.map(|interrupts| {
            std::thread::spawn(move || {
                let mut told = stop.seen_before;
                while !is_over.load(Ordering::Acquire) {
                    let count = interrupts.wait_beyond(stop.seen_before, LOOK_INTERVAL);
                    if stop.asked() && !is_over.load(Ordering::Acquire) {
                        // Again and again: between two statements there is nothing to cancel. A
                        // request that fails leaves the load to notice the interrupt by itself.
                        let result = handle.cancel();
                        if count > told {
                            told = count;
                            tell(&result);
                        }
                        std::thread::sleep(LOOK_INTERVAL);
                    }
                }
            })
        });
        Canceller { over, thread }
    }
}

impl Drop for Canceller {
    fn drop(&mut self) {
        self.over.store(true, Ordering::Release);
        if let Some(thread) = self.thread.take() {
            // It does not panic, and if it did, the load would be none the worse.
            let _ = thread.join();
        }
    }
}
