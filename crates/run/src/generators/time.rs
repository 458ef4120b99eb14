//! Time and threads as generators use them: the host's, or simulated ones in tests (`simulation`).

use std::io;
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant, SystemTime};

/// Time and threads of one generator.
pub(super) trait Time: Send + Sync {
    fn now(&self) -> Instant;

    /// The wall clock, which may step.
    fn wall(&self) -> SystemTime;

    /// Lets so much time pass, or a little more.
    fn sleep(&self, length: Duration);

    /// Lets next to no time pass: for waits that may not end late.
    fn spin(&self);

    /// Does this on a thread of its own, for which nothing waits.
    fn spawn(&self, name: &str, work: Box<dyn FnOnce() + Send>) -> io::Result<()>;

    /// Since a moment of the monotonic clock.
    fn since(&self, moment: Instant) -> Duration {
        self.now().saturating_duration_since(moment)
    }
}

pub(super) struct OfHost;

impl OfHost {
    pub(super) fn shared() -> Arc<dyn Time> {
        Arc::new(Self)
    }
}

impl Time for OfHost {
    fn now(&self) -> Instant {
        Instant::now()
    }

    fn wall(&self) -> SystemTime {
        SystemTime::now()
    }

    fn sleep(&self, length: Duration) {
        thread::sleep(length);
    }

    fn spin(&self) {
        std::hint::spin_loop();
    }

    fn spawn(&self, name: &str, work: Box<dyn FnOnce() + Send>) -> io::Result<()> {
        let thread = thread::Builder::new().name(name.to_owned());
        thread.spawn(work).map(|_| ())
    }
}
