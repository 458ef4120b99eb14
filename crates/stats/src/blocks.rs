//! Percentiles within one trial, whose transactions depend on one another: a slow one stands in the
//! same queue as its neighbours. How much that is, blocks of the trial say.
//!
//! Not for several repeats: those are a [`crate::Sample`].

use crate::percentile::MIN_BEYOND;
use crate::student::two_sided_t;

/// Blocks from which the spread between them can be seen.
pub const MIN_BLOCKS: usize = 5;
/// Blocks up to which no neighbours are put together.
const BLOCKS: usize = 30;
/// Neighbouring blocks are never taken to be more alike than this.
const ALIKE_MAX: f64 = 0.8;
/// The confidence of the intervals.
const LEVEL: f64 = 0.95;
/// Of the normal distribution at this level.
const Z: f64 = 1.959_964;

/// One block of a trial, such as a second.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Block {
    /// Transactions that ended in it.
    pub count: u64,
    /// Those of them above the trial's percentile.
    pub beyond: u64,
}

/// What blocks say about a percentile of the whole.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Dependence {
    /// So many independent transactions would show the percentile as surely; at most their number.
    pub effective: f64,
    /// The shares of all transactions (0 to 1) at which the ends of the percentile's 95 % interval
    /// lie.
    pub shares: (f64, f64),
}

impl Dependence {
    /// Of the percentile `percent` (0 to 100), from blocks in the order of time; `None` with fewer
    /// than [`MIN_BLOCKS`], or without transactions.
    ///
    /// The share of transactions beyond the percentile is a ratio of sums over blocks; its variance
    /// comes from the blocks' residuals (batch means: Law & Kelton 2000, 9.5.3; for quantiles Seila
    /// 1982), times (1 + r) / (1 - r) where neighbouring blocks are still alike, r being their
    /// autocorrelation, from ten blocks on. The effective number is that of a binomial with this
    /// variance, and the interval Wilson's (1927) with that number, less a factor (z / t)² for a
    /// variance from few blocks (Korn & Graubard 1998).
    pub fn of(percent: f64, blocks: &[Block]) -> Option<Self> {
        let size = blocks.len().div_ceil(BLOCKS);
        if blocks.len() < MIN_BLOCKS || !(percent > 0.0 && percent < 100.0) {
            return None;
        }
        // A rest that makes no whole block goes into the last one.
        let whole = blocks.len() / size;
        let merged = (0..whole).map(|i| {
            let end = if i + 1 == whole {
                blocks.len()
            } else {
                (i + 1) * size
            };
            blocks[i * size..end]
                .iter()
                .fold(Block::default(), |all, block| Block {
                    count: all.count + block.count,
                    beyond: all.beyond + block.beyond,
                })
        });
        let merged: Vec<Block> = merged.collect();
        let count: f64 = merged.iter().map(|block| block.count as f64).sum();
        let beyond: f64 = merged.iter().map(|block| block.beyond as f64).sum();
        if count == 0.0 {
            return None;
        }
        let share = beyond / count;
        let residuals: Vec<f64> = merged
            .iter()
            .map(|block| block.beyond as f64 - share * block.count as f64)
            .collect();
        let n = residuals.len() as f64;
        let squares: f64 = residuals.iter().map(|e| e * e).sum();
        let variance = n / (n - 1.0) * squares / (count * count) * alike(&residuals, squares);
        let p = percent / 100.0;
        let effective = (share * (1.0 - share) / variance).min(count);
        // Nothing beyond: equal latencies, which no block contradicts.
        let effective = if effective.is_finite() {
            effective
        } else {
            count
        };
        let t = two_sided_t(LEVEL, residuals.len() - 1);
        let size = effective * (Z / t).powi(2);
        let middle = (p + Z * Z / (2.0 * size)) / (1.0 + Z * Z / size);
        let half =
            Z / (1.0 + Z * Z / size) * (p * (1.0 - p) / size + Z * Z / (4.0 * size * size)).sqrt();
        Some(Self {
            effective,
            shares: (middle - half, middle + half),
        })
    }

    /// Whether ten effective transactions lie beyond the percentile.
    pub fn supports(&self, percent: f64) -> bool {
        self.effective * (1.0 - percent / 100.0) >= MIN_BEYOND as f64 - 1e-6
    }
}

/// By how much more a sum varies because neighbours are alike: 1 where they are not.
fn alike(residuals: &[f64], squares: f64) -> f64 {
    let n = residuals.len();
    if n < 10 || squares == 0.0 {
        return 1.0;
    }
    let products: f64 = residuals.windows(2).map(|pair| pair[0] * pair[1]).sum();
    // Residuals that sum to zero are a little too unlike (Marriott & Pope 1954).
    let r = (products / squares + 1.0 / n as f64).clamp(0.0, ALIKE_MAX);
    (1.0 + r) / (1.0 - r)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn blocks(beyond: &[u64]) -> Vec<Block> {
        let of = |beyond: &u64| Block {
            count: 1_000,
            beyond: *beyond,
        };
        beyond.iter().map(of).collect()
    }

    #[test]
    fn blocks_that_are_alike_leave_every_transaction_its_weight() {
        let even = Dependence::of(99.0, &blocks(&[10; 20])).unwrap();
        assert_eq!(even.effective, 20_000.0);
        assert!(even.supports(99.0) && even.supports(99.9));
        assert!(even.shares.0 < 0.99 && 0.99 < even.shares.1);
        assert!(even.shares.0 > 0.987 && even.shares.1 < 0.993, "{even:?}");
    }

    #[test]
    fn slow_transactions_that_come_together_count_as_few() {
        let mut together = [0; 20];
        together[7] = 200;
        let dependence = Dependence::of(99.0, &blocks(&together)).unwrap();
        assert!(dependence.effective < 110.0, "{dependence:?}");
        assert!(!dependence.supports(99.0));
        // Spread over two neighbours they are hardly more.
        together[8] = 200;
        assert!(
            !Dependence::of(99.0, &blocks(&together))
                .unwrap()
                .supports(99.0)
        );
    }

    #[test]
    fn without_blocks_or_transactions_nothing_is_said() {
        assert_eq!(Dependence::of(99.0, &blocks(&[10; 4])), None);
        assert_eq!(Dependence::of(99.0, &[Block::default(); 20]), None);
        for percent in [0.0, 100.0, f64::NAN] {
            assert_eq!(Dependence::of(percent, &blocks(&[10; 20])), None);
        }
        // Equal latencies: none is beyond.
        let equal = Dependence::of(50.0, &blocks(&[0; 20])).unwrap();
        assert_eq!(equal.effective, 20_000.0);
    }
}
