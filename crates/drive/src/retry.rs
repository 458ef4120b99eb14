//! Pauses between the tries of a transaction.

use pgdyno_platform::clock::Nanos;
use pgdyno_script::Prng;
use pgdyno_spec::{Backoff, Jitter};

use crate::clock::nanos;

/// The pause before a retry, counted from 1.
pub(crate) fn pause(backoff: &Backoff, retry: u32, random: &mut Prng) -> Nanos {
    let doublings = retry.saturating_sub(1);
    let factor = 1_u64.checked_shl(doublings).unwrap_or(u64::MAX);
    let pause = nanos(backoff.base).saturating_mul(factor);
    let pause = pause.min(nanos(backoff.cap));
    match backoff.jitter {
        Jitter::None => pause,
        Jitter::Equal => pause / 2 + random.range_u64(0, pause - pause / 2),
        Jitter::Full => random.range_u64(0, pause),
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
    use std::time::Duration;

    use super::*;

    fn pauses(jitter: Jitter, retry: u32) -> Vec<Nanos> {
        let backoff = Backoff {
            base: Duration::from_millis(1),
            cap: Duration::from_millis(10),
            jitter,
        };
        let mut random = random_of_pauses(1, 0);
        (0..1000)
            .map(|_| pause(&backoff, retry, &mut random))
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
