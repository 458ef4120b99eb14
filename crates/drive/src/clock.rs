//! Time as the engine counts it: nanoseconds on the monotonic clock since the run began.

use std::time::{Duration, Instant};

/// Nanoseconds since the clock's origin.
pub(crate) type Nanos = u64;

/// One origin for all threads of a run, so that their times compare.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Clock(Instant);

impl Clock {
    pub(crate) fn start() -> Self {
        Self(Instant::now())
    }

    pub(crate) fn now(self) -> Nanos {
        // 584 years fit.
        self.0.elapsed().as_nanos() as Nanos
    }
}

pub(crate) fn nanos(duration: Duration) -> Nanos {
    u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX)
}

/// Whole microseconds, rounded to the nearest.
pub(crate) fn micros(nanos: Nanos) -> u64 {
    (nanos + 500) / 1000
}
