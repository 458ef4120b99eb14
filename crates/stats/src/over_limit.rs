//! How many transactions of a step take longer than a limit. Unlike a percentile, which one slow second in a hundred
//! makes and most steps do not see, this share has no bias: steps add up.

use crate::blocks::{Block, variance_beyond};

/// A step begins with an empty queue. So much of it at least, warm-up included, is left out.
const SETTLING: f64 = 0.1;

/// What the seconds of a step say of a limit.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct OverLimit {
    /// Transactions that were measured.
    pub count: f64,
    /// Those of them that took longer than the limit.
    pub over: f64,
    /// The variance of `over`, from the spread between the seconds; `None`: too few of them.
    pub variance: Option<f64>,
}

impl OverLimit {
    /// Of the step's seconds in their order, `beyond` being the transactions over the limit; after a warm-up of so
    /// many seconds.
    pub fn of(seconds: &[Block], warmup_s: f64) -> Self {
        let settling = (SETTLING * seconds.len() as f64).ceil() - warmup_s;
        let first = (settling.ceil().max(0.0) as usize).min(seconds.len() / 2);
        let measured = &seconds[first..];
        let sum = |of: fn(&Block) -> u64| measured.iter().map(of).sum::<u64>() as f64;
        Self {
            count: sum(|second| second.count),
            over: sum(|second| second.beyond),
            variance: variance_beyond(measured),
        }
    }

    /// With transactions that were due and did not begin: they waited longer than any limit.
    pub fn with_not_begun(self, transactions: f64) -> Self {
        Self {
            count: self.count + transactions,
            over: self.over + transactions,
            ..self
        }
    }

    /// The share over the limit; not a number without transactions.
    pub fn share(&self) -> f64 {
        self.over / self.count
    }

    /// How many independent transactions would show the share as surely; all of them where its variance is not known
    /// or nothing is over the limit.
    pub fn effective(&self) -> f64 {
        let share = self.share();
        match self.variance {
            Some(variance) if variance > 0.0 => {
                (self.count * self.count * share * (1.0 - share) / variance).min(self.count)
            }
            _ => self.count,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn seconds(beyond: &[u64]) -> Vec<Block> {
        let of = |beyond: &u64| Block {
            count: 100,
            beyond: *beyond,
        };
        beyond.iter().map(of).collect()
    }

    #[test]
    fn a_step_without_a_warm_up_begins_when_its_queue_has_filled() {
        let mut filling = vec![0, 0];
        filling.extend([5; 38]);
        let of = |warmup_s| OverLimit::of(&seconds(&filling), warmup_s).share();
        assert_eq!(of(0.0), 0.05);
        assert!(
            of(3.0) < 0.05 && of(4.0) < of(3.0),
            "{} {}",
            of(3.0),
            of(4.0)
        );
        // A warm-up that is longer takes nothing.
        assert_eq!(OverLimit::of(&seconds(&filling), 60.0).count, 4_000.0);
        assert_eq!(OverLimit::of(&[], 0.0), OverLimit::default());
    }

    #[test]
    fn slow_seconds_count_as_few_transactions() {
        let mut burst = vec![0; 20];
        burst[9] = 100;
        let of = |beyond: &[u64]| OverLimit::of(&seconds(beyond), 2.0);
        assert!(
            (15.0..30.0).contains(&of(&burst).effective()),
            "{:?}",
            of(&burst)
        );
        assert_eq!(of(&[5; 20]).effective(), 2_000.0);
        // Of few seconds it is not known.
        assert_eq!(of(&[0, 100, 0]).effective(), 300.0);
    }

    #[test]
    fn what_did_not_begin_is_over_the_limit() {
        let all = OverLimit::of(&seconds(&[0; 20]), 2.0).with_not_begun(500.0);
        assert_eq!((all.count, all.over, all.share()), (2_500.0, 500.0, 0.2));
    }
}
