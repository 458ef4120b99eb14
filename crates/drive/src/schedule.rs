//! When transactions ought to start under a rate: a Poisson process a thread, drawn as pgbench
//! draws it (`getPoissonRand` over `throttle_delay`), so that arrivals do not depend on how fast
//! the server answers.

use pgdyno_script::Prng;

use crate::clock::Nanos;

/// One thread's series of scheduled starts, shared by its clients.
#[derive(Debug)]
pub(crate) struct Schedule {
    /// The mean distance of two starts on this thread, in microseconds.
    delay_us: f64,
    random: Prng,
    last: Nanos,
}

impl Schedule {
    /// `rate` is in transactions a second over all `threads`.
    pub(crate) fn new(rate: f64, threads: usize, random: Prng) -> Self {
        Self {
            delay_us: 1e6 / rate * threads as f64,
            random,
            last: 0,
        }
    }

    pub(crate) fn begin(&mut self, now: Nanos) {
        self.last = now;
    }

    /// The start of the next transaction.
    pub(crate) fn next(&mut self) -> Nanos {
        self.last += self.random.poisson(self.delay_us) as u64 * 1000;
        self.last
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn starts(seed: u64, count: usize) -> Vec<Nanos> {
        let mut schedule = Schedule::new(1000.0, 2, Prng::seed(seed));
        schedule.begin(5_000_000);
        (0..count).map(|_| schedule.next()).collect()
    }

    #[test]
    fn the_same_seed_gives_the_same_starts() {
        assert_eq!(starts(1, 100), starts(1, 100));
        assert_ne!(starts(1, 100), starts(2, 100));
    }

    #[test]
    fn starts_of_a_thread_come_at_its_share_of_the_rate() {
        let starts = starts(3, 10_000);
        assert!(starts.is_sorted() && starts[0] >= 5_000_000);
        // The mean distance is 2 ms, and 10 000 of them have a standard deviation of 1 %.
        let mean_ns = (starts[9_999] - 5_000_000) as f64 / 10_000.0;
        assert!((1.9e6..2.1e6).contains(&mean_ns), "{mean_ns}");
    }
}
