//! What follows a try that has failed: whether there is another, how, and after which pause.

use std::time::Duration;

use pgdyno_script::Prng;

use crate::clock::{Nanos, nanos};

/// How a transaction is tried again. (Whether at all, [`crate::Drive::max_tries`] says.)
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Retry {
    /// It is rolled back, and the whole script executed again with the same random values, as
    /// pgbench does.
    #[default]
    Restart,
    /// Its block is rolled back to a savepoint behind BEGIN and executed again from there, with the
    /// same random values: CockroachDB's protocol. The scripts must have been compiled for it (see
    /// [`crate::Drive::compile`]).
    Savepoint,
}

/// Exponential pauses before tries: before the *n*-th retry (from 1) the pause is
/// *p* = min(`cap`, `base` · 2^(n-1)), or what [`Jitter`] makes of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Backoff {
    pub base: Duration,
    pub cap: Duration,
    pub jitter: Jitter,
}

/// How chance changes a pause *p* (the names are those of M. Brooker, "Exponential Backoff And
/// Jitter", AWS Architecture Blog, 2015).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Jitter {
    None,
    /// Uniform between *p*/2 and *p*.
    Equal,
    /// Uniform between nothing and *p*.
    #[default]
    Full,
}

impl Jitter {
    pub const ALL: [Self; 3] = [Self::None, Self::Equal, Self::Full];

    pub fn name(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Equal => "equal",
            Self::Full => "full",
        }
    }
}

impl Backoff {
    /// The pause before a retry, counted from 1.
    pub(crate) fn pause(&self, retry: u32, random: &mut Prng) -> Nanos {
        let doublings = retry.saturating_sub(1);
        let factor = 1_u64.checked_shl(doublings).unwrap_or(u64::MAX);
        let pause = nanos(self.base).saturating_mul(factor).min(nanos(self.cap));
        match self.jitter {
            Jitter::None => pause,
            Jitter::Equal => pause / 2 + random.range_u64(0, pause - pause / 2),
            Jitter::Full => random.range_u64(0, pause),
        }
    }
}

/// Where a client's pauses come from: a generator of their own, so that the statements are the same
/// with and without pauses.
pub(crate) fn random_of_pauses(seed: i64, client: usize) -> Prng {
    /// Away from the seeds that are dealt for anything else.
    const MARK: u64 = 0x6261_636b_6f66_6621;
    Prng::seed((seed as u64 ^ MARK).wrapping_add(client as u64))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pauses(jitter: Jitter, retry: u32) -> Vec<Nanos> {
        let backoff = Backoff {
            base: Duration::from_millis(1),
            cap: Duration::from_millis(10),
            jitter,
        };
        let mut random = random_of_pauses(1, 0);
        (0..1000)
            .map(|_| backoff.pause(retry, &mut random))
            .collect()
    }

    #[test]
    fn pauses_double_up_to_the_cap() {
        for (retry, ms) in [(1, 1), (2, 2), (4, 8), (5, 10), (64, 10), (u32::MAX, 10)] {
            assert_eq!(pauses(Jitter::None, retry)[0], ms * 1_000_000, "{retry}");
        }
    }

    #[test]
    fn jitter_spreads_a_pause_over_all_or_half_of_itself() {
        for (jitter, least) in [(Jitter::Full, 0), (Jitter::Equal, 4_000_000)] {
            let pauses = pauses(jitter, 4);
            let (min, max) = (pauses.iter().min().unwrap(), pauses.iter().max().unwrap());
            let spread = 8_000_000 - least;
            assert!(
                (least..least + spread / 50).contains(min),
                "{jitter:?} {min}"
            );
            assert!(
                (8_000_000 - spread / 50..=8_000_000).contains(max),
                "{jitter:?} {max}"
            );
        }
    }

    #[test]
    fn clients_and_seeds_pause_differently() {
        let first = |seed, client| random_of_pauses(seed, client).next_u64();
        assert_eq!(first(1, 0), first(1, 0));
        assert_ne!(first(1, 0), first(1, 1));
        assert_ne!(first(1, 0), first(2, 0));
    }
}
