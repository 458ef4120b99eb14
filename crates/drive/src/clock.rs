//! Time as the engine counts it: nanoseconds on the monotonic clock since the run began.

use std::time::Duration;

use pgdyno_platform::clock::{Nanos, monotonic_ns};

/// One origin for all threads of a run, so that their times compare.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Clock {
    origin_ns: u64,
}

impl Clock {
    pub(crate) fn start() -> Self {
        Self {
            origin_ns: monotonic_ns(),
        }
    }

    #[cfg(test)]
    pub(crate) fn with_origin(origin_ns: u64) -> Self {
        Self { origin_ns }
    }

    #[inline]
    pub(crate) fn now(self) -> Nanos {
        self.since(monotonic_ns())
    }

    /// A time on the monotonic clock as the engine counts it.
    #[inline]
    pub(crate) fn since(self, monotonic_ns: u64) -> Nanos {
        monotonic_ns - self.origin_ns
    }

    /// A time on the monotonic clock, as [`pgdyno_platform::io::Io::wait`] takes it.
    pub(crate) fn monotonic_ns(self, at: Nanos) -> u64 {
        at.saturating_add(self.origin_ns)
    }
}

pub(crate) fn nanos(duration: Duration) -> Nanos {
    u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX)
}
