//! How much later bytes arrive: a fixed time, and jitter on top of it.

use std::time::Duration;

use pgdyno_stats::SplitMix64;

/// A delay in one direction. Bytes never overtake one another: like on TCP, what comes later waits
/// for what was sent before it.
#[derive(Debug, Clone, Default)]
pub struct Delay {
    fixed: Duration,
    jitter: Duration,
    draws: SplitMix64,
}

impl Delay {
    pub fn of(fixed: Duration) -> Delay {
        Delay {
            fixed,
            ..Delay::default()
        }
    }

    /// And at most so much more, uniformly distributed; the same seed gives the same draws.
    #[must_use]
    pub fn with_jitter(self, jitter: Duration, seed: u64) -> Delay {
        Delay {
            jitter,
            draws: SplitMix64(seed),
            ..self
        }
    }

    /// The one of a connection, with draws of its own.
    pub(super) fn for_connection(&self, number: u64) -> Delay {
        Delay {
            draws: SplitMix64(self.draws.0 ^ number.rotate_left(32)),
            ..self.clone()
        }
    }

    pub(super) fn is_zero(&self) -> bool {
        self.fixed.is_zero() && self.jitter.is_zero()
    }

    /// That of the next bytes.
    pub(super) fn draw(&mut self) -> Duration {
        if self.jitter.is_zero() {
            return self.fixed;
        }
        self.fixed + self.jitter.mul_f64(self.draws.share())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn jitter_is_on_top_of_the_fixed_delay_and_repeats_with_its_seed() {
        let (ms, draws) = (Duration::from_millis, 1000);
        let draw = |seed| {
            let mut delay = Delay::of(ms(5)).with_jitter(ms(2), seed);
            let drawn: Vec<Duration> = (0..draws).map(|_| delay.draw()).collect();
            drawn
        };
        let drawn = draw(1);
        assert!(drawn.iter().all(|d| (ms(5)..=ms(7)).contains(d)));
        let mean = drawn.iter().sum::<Duration>() / draws;
        assert!(
            mean.abs_diff(ms(6)) < Duration::from_micros(100),
            "{mean:?}"
        );
        assert_eq!(draw(1), drawn);
        assert_ne!(draw(2), drawn);
    }

    #[test]
    fn connections_have_draws_of_their_own() {
        let delay = Delay::default().with_jitter(Duration::from_millis(2), 1);
        let first = |number| delay.for_connection(number).draw();
        assert_eq!(first(1), first(1));
        assert_ne!(first(1), first(2));
    }
}
