//! The transactions of a thread that took longest.

use pgdyno_measurement::{SlowTransaction, WORST_COUNT};

/// The longest so far, in no order. What is shorter than all of them costs one comparison.
#[derive(Clone, Debug, Default)]
pub(crate) struct Worst {
    kept: [SlowTransaction; WORST_COUNT],
    floor_us: u64,
}

impl Worst {
    /// Whether it is one of the longest so far.
    #[inline]
    pub(crate) fn takes(&self, latency_us: u64) -> bool {
        latency_us > self.floor_us
    }

    /// Keeps one that is, instead of the shortest.
    #[cold]
    pub(crate) fn keep(&mut self, slow: SlowTransaction) {
        if let Some(shortest) = self.kept.iter_mut().min_by_key(|kept| kept.latency_us) {
            *shortest = slow;
        }
        self.floor_us = self
            .kept
            .iter()
            .map(|kept| kept.latency_us)
            .min()
            .unwrap_or(0);
    }

    pub(crate) fn finish(&self) -> impl Iterator<Item = SlowTransaction> {
        self.kept.into_iter().filter(|kept| kept.latency_us > 0)
    }
}

#[cfg(test)]
mod tests {
    use pgdyno_measurement::order_worst;

    use super::*;

    #[test]
    fn the_longest_of_all_are_kept_with_their_times() {
        let mut worst = Worst::default();
        for ended_us in 1..1000u64 {
            // A permutation: each latency once.
            let latency_us = ended_us * 7 % 1009;
            if worst.takes(latency_us) {
                worst.keep(SlowTransaction {
                    ended_us,
                    latency_us,
                    ..SlowTransaction::default()
                });
            }
        }
        let mut kept: Vec<_> = worst.finish().collect();
        kept.push(SlowTransaction::default());
        order_worst(&mut kept);
        let latencies: Vec<_> = kept.iter().map(|slow| slow.latency_us).collect();
        let mut expected: Vec<u64> = (1..1000).map(|at| at * 7 % 1009).collect();
        expected.sort_unstable_by(|a, b| b.cmp(a));
        assert_eq!(latencies, expected[..5]);
        assert!(
            kept.iter()
                .all(|slow| slow.ended_us * 7 % 1009 == slow.latency_us)
        );
        assert_eq!(Worst::default().finish().count(), 0);
    }
}
