//! Times in which one client got no commit: what it has had since its last one, and the longest of them.

use std::cmp::Ordering;
use std::collections::BinaryHeap;

use pgdyno_measurement::{ClientStall, Failure, GAP_MIN, Outcome};
use pgdyno_platform::clock::{Nanos, micros};

/// What a client has had since its last commit.
#[derive(Debug, Default)]
pub(crate) struct Without {
    committed: Nanos,
    /// When that was scheduled which it wanted first, where it came to nothing.
    wanted: Option<Nanos>,
    failed: Vec<(Failure, u64)>,
    unknown: u64,
}

impl Without {
    /// The client begins to work.
    pub(crate) fn begin(&mut self, at: Nanos) {
        self.committed = at;
    }

    /// A transaction that was scheduled then has ended without a commit.
    pub(crate) fn lost(&mut self, scheduled: Nanos, outcome: Outcome) {
        self.wants(scheduled);
        let failure = match outcome {
            Outcome::Unknown => return self.unknown += 1,
            // What the end of the run cut off did not fail by itself.
            Outcome::Failed(Failure::Interrupted) | Outcome::Committed | Outcome::Skipped => return,
            Outcome::Failed(failure) => failure,
        };
        match self.failed.iter_mut().find(|(class, _)| *class == failure) {
            Some((_, count)) => *count += 1,
            None => self.failed.push((failure, 1)),
        }
    }

    /// It wants to commit something since then: 0 where nothing is scheduled and it wants to all the time.
    pub(crate) fn wants(&mut self, scheduled: Nanos) {
        self.wanted.get_or_insert(scheduled);
    }

    /// Whether anything that it wanted came to nothing.
    #[inline]
    pub(crate) fn has_lost(&self) -> bool {
        self.wanted.is_some()
    }

    /// When it committed last, or began: since when it waits, where it wants to commit all the time.
    #[inline]
    pub(crate) fn committed(&self) -> Nanos {
        self.committed
    }

    pub(crate) fn since(&self) -> Option<Nanos> {
        self.wanted.map(|wanted| wanted.max(self.committed))
    }

    #[inline]
    pub(crate) fn over(&mut self, at: Nanos) {
        self.committed = at;
        if self.wanted.take().is_some() {
            self.failed.clear();
            self.unknown = 0;
        }
    }
}

/// One that is kept; the shortest is the greatest, so that a heap gives it away first.
#[derive(Debug, PartialEq, Eq)]
struct Shortest(ClientStall);

impl Ord for Shortest {
    fn cmp(&self, other: &Self) -> Ordering {
        other.0.length_us.cmp(&self.0.length_us)
    }
}

impl PartialOrd for Shortest {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

/// The longest so far. What is shorter than all of them costs one comparison.
#[derive(Debug)]
pub(crate) struct Longest {
    kept: BinaryHeap<Shortest>,
    limit: usize,
    /// No shorter one is kept.
    floor: Nanos,
}

impl Longest {
    /// With memory for so many.
    pub(crate) fn with_limit(limit: usize) -> Self {
        Self {
            kept: BinaryHeap::with_capacity(limit),
            limit,
            floor: GAP_MIN,
        }
    }

    /// Whether it is one of the longest so far.
    #[inline]
    pub(crate) fn takes(&self, length: Nanos) -> bool {
        length >= self.floor
    }

    /// Keeps one that is, instead of the shortest.
    #[cold]
    pub(crate) fn keep(
        &mut self,
        (client, without): (usize, &Without),
        (start_us, length): (u64, Nanos),
        is_over: bool,
    ) {
        if self.kept.len() == self.limit {
            self.kept.pop();
        }
        self.kept.push(Shortest(ClientStall {
            client,
            start_us,
            length_us: micros(length),
            is_over,
            failed: without.failed.clone(),
            unknown: without.unknown,
        }));
        if self.kept.len() == self.limit
            && let Some(Shortest(shortest)) = self.kept.peek()
        {
            self.floor = shortest.length_us * 1000 + 1;
        }
    }

    /// Those of the warm-up are forgotten.
    pub(crate) fn clear(&mut self) {
        self.kept.clear();
        self.floor = GAP_MIN;
    }

    pub(crate) fn finish(self) -> Vec<ClientStall> {
        self.kept.into_iter().map(|Shortest(one)| one).collect()
    }
}

#[cfg(test)]
mod tests {
    use pgdyno_measurement::{CLIENT_STALLS_MAX, order_client_stalls};

    use super::*;

    #[test]
    fn the_longest_are_kept_with_what_went_wrong() {
        let (mut longest, mut without) =
            (Longest::with_limit(CLIENT_STALLS_MAX), Without::default());
        assert!(!longest.takes(GAP_MIN - 1));
        without.begin(5);
        without.lost(3, Outcome::Failed(Failure::DEADLOCK));
        without.lost(9, Outcome::Failed(Failure::DEADLOCK));
        without.lost(9, Outcome::Unknown);
        // What was scheduled while another was under way waits from the end of that on.
        assert_eq!(without.since(), Some(5));
        longest.keep((7, &without), (1, 40 * GAP_MIN), true);
        without.over(50);
        assert_eq!(without.since(), None);
        without.wants(60);
        assert_eq!(without.since(), Some(60));
        for length in 1..=20 {
            if longest.takes(length * GAP_MIN) {
                longest.keep((1, &without), (0, length * GAP_MIN), false);
            }
        }
        assert!(!longest.takes(12 * GAP_MIN));
        let mut kept = longest.finish();
        order_client_stalls(&mut kept, CLIENT_STALLS_MAX);
        let lengths: Vec<u64> = kept.iter().map(|one| one.length_us / 100_000).collect();
        assert_eq!(lengths, [40, 20, 19, 18, 17, 16, 15, 14, 13, 12]);
        let first = ClientStall {
            client: 7,
            start_us: 1,
            length_us: 4_000_000,
            is_over: true,
            failed: vec![(Failure::DEADLOCK, 2)],
            unknown: 1,
        };
        assert_eq!(kept[0], first);
        assert!(kept[1].failed.is_empty() && kept[1].unknown == 0);
    }
}
