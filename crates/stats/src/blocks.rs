//! Percentiles within one trial, whose transactions depend on one another: a slow one is in the
//! same queue as its neighbours. How much that is, blocks of the trial say.
//!
//! Not for several repeats: those are a [`crate::Sample`].

use crate::student::two_sided_t;

/// Blocks from which a percentile of a trial is judged.
const BLOCKS_MIN: usize = 10;
/// Blocks up to which no neighbours are put together.
const BLOCKS_MAX: usize = 60;
/// Neighbouring blocks are never taken to be more alike than this.
const ALIKE_MAX: f64 = 0.9;
/// The same three for the variance of one step of many.
const STEP_BLOCKS_MIN: usize = 5;
const STEP_BLOCKS_MAX: usize = 30;
const STEP_ALIKE_MAX: f64 = 0.8;
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

/// The variance of the number beyond of all these blocks, which are in the order of time: their residuals' (batch
/// means: Law & Kelton 2000, 9.5.3; for quantiles Seila 1982), times (1 + r) / (1 - r) where neighbouring blocks
/// are still alike, r being their autocorrelation, from ten blocks on. `None` with fewer than [`STEP_BLOCKS_MIN`], or
/// without transactions.
pub(crate) fn variance_beyond(blocks: &[Block]) -> Option<f64> {
    let spread = Spread::of(blocks, STEP_BLOCKS_MIN, STEP_BLOCKS_MAX)?;
    let n = spread.residuals.len();
    // Residuals that sum to zero are a little too unlike (Marriott & Pope 1954).
    let alike = if n < 10 || spread.squares == 0.0 {
        0.0
    } else {
        spread.neighbours() + 1.0 / n as f64
    };
    let alike = alike.clamp(0.0, STEP_ALIKE_MAX);
    Some(spread.variance() * (1.0 + alike) / (1.0 - alike))
}

impl Dependence {
    /// Of the percentile `percent` (0 to 100), from blocks in the order of time; `None` with fewer than
    /// [`BLOCKS_MIN`], or without transactions.
    ///
    /// The share of transactions beyond the percentile is a ratio of sums over blocks; its variance
    /// comes from the blocks' residuals, times (1 + r) / (1 - r), as in [`variance_beyond`]. The
    /// effective number is that of a binomial with this variance, and the interval Wilson's (1927) with
    /// that number, less a factor (z / t)² for a variance from few blocks (Korn & Graubard 1998).
    ///
    /// A trial that saw few bursts looks surer than it is, and of many such trials those would be
    /// shown. So the autocorrelation of blocks is taken one standard error above its estimate,
    /// corrected for its bias (Kendall 1954), and so is the variance between them; Student's t has
    /// the degrees of freedom of so many independent blocks, and the effective number is what the
    /// interval is computed with.
    pub fn of(percent: f64, blocks: &[Block]) -> Option<Self> {
        if !(percent > 0.0 && percent < 100.0) {
            return None;
        }
        let spread = Spread::of(blocks, BLOCKS_MIN, BLOCKS_MAX)?;
        let n = spread.residuals.len() as f64;
        let (alike, unsure) = if spread.squares == 0.0 {
            (0.0, 0.0)
        } else {
            let alike = (n * spread.neighbours() + 1.0) / (n - 4.0) + 1.0 / n.sqrt();
            (alike.clamp(0.0, ALIKE_MAX), spread.unsure())
        };
        let by_neighbours = (1.0 + alike) / (1.0 - alike);
        let freedom = (n / by_neighbours - 1.0).round().max(1.0) as usize;
        let effective = spread.effective(by_neighbours * (1.0 + unsure)) * fewer(freedom);
        Some(Self {
            effective,
            shares: wilson(percent, effective),
        })
    }
}

struct Spread {
    count: f64,
    /// The share of them beyond the percentile.
    share: f64,
    /// By block: transactions beyond it, less those that this share would make.
    residuals: Vec<f64>,
    /// The sum of the residuals' squares.
    squares: f64,
}

impl Spread {
    /// Of `at_least` blocks or more, neighbours put together until `at_most` are left.
    fn of(blocks: &[Block], at_least: usize, at_most: usize) -> Option<Self> {
        if blocks.len() < at_least {
            return None;
        }
        let size = blocks.len().div_ceil(at_most);
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
        Some(Self {
            count,
            share,
            squares: residuals.iter().map(|e| e * e).sum(),
            residuals,
        })
    }

    /// Of the number beyond, if neighbouring blocks were not alike.
    fn variance(&self) -> f64 {
        let n = self.residuals.len() as f64;
        n / (n - 1.0) * self.squares
    }

    /// So many independent transactions would vary as the blocks do, if the blocks' variance were
    /// so many times what it is.
    fn effective(&self, times: f64) -> f64 {
        let variance = self.variance() / (self.count * self.count) * times;
        let effective = self.share * (1.0 - self.share) / variance;
        // Nothing beyond: equal latencies, which no block contradicts.
        if effective.is_finite() {
            effective.min(self.count)
        } else {
            self.count
        }
    }

    /// The autocorrelation of neighbouring blocks, of which some differ.
    fn neighbours(&self) -> f64 {
        let products = self.residuals.windows(2).map(|pair| pair[0] * pair[1]);
        products.sum::<f64>() / self.squares
    }

    /// The relative standard error of the variance: how much the squares differ that it is the mean
    /// of.
    fn unsure(&self) -> f64 {
        let n = self.residuals.len() as f64;
        let fourths: f64 = self.residuals.iter().map(|e| e.powi(4)).sum();
        let spread = n * fourths / (self.squares * self.squares) - 1.0;
        (spread.max(0.0) / n).sqrt()
    }
}

/// What a variance of few degrees of freedom leaves of an effective number.
fn fewer(freedom: usize) -> f64 {
    (Z / two_sided_t(LEVEL, freedom)).powi(2)
}

/// The ends of Wilson's interval of a share that was found among so many.
fn wilson(percent: f64, size: f64) -> (f64, f64) {
    let p = percent / 100.0;
    let middle = (p + Z * Z / (2.0 * size)) / (1.0 + Z * Z / size);
    let half =
        Z / (1.0 + Z * Z / size) * (p * (1.0 - p) / size + Z * Z / (4.0 * size * size)).sqrt();
    (middle - half, middle + half)
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
        assert!((15_000.0..=20_000.0).contains(&even.effective), "{even:?}");
        assert!(even.shares.0 < 0.99 && 0.99 < even.shares.1);
        assert!(even.shares.0 > 0.987 && even.shares.1 < 0.993, "{even:?}");
    }

    #[test]
    fn slow_transactions_that_come_together_count_as_few() {
        let mut together = [0; 20];
        together[7] = 200;
        let dependence = Dependence::of(99.0, &blocks(&together)).unwrap();
        assert!(dependence.effective < 110.0, "{dependence:?}");
        // Spread over two neighbours they are hardly more.
        together[8] = 200;
        let spread = Dependence::of(99.0, &blocks(&together)).unwrap();
        assert!(spread.effective < 220.0, "{spread:?}");
    }

    #[test]
    fn the_variance_of_a_step_is_that_of_its_seconds_and_their_likeness() {
        assert_eq!(variance_beyond(&blocks(&[10; 20])), Some(0.0));
        // Bursts of 200 in 2 of 10 seconds: 10 / 9 of 2 * 160² + 8 * 40², without likeness.
        let mut bursts = [0; 10];
        (bursts[2], bursts[7]) = (200, 200);
        let variance = variance_beyond(&blocks(&bursts)).unwrap();
        assert!(
            (variance / (640_000.0 / 9.0) - 1.0).abs() < 1e-9,
            "{variance}"
        );
        // Side by side they are one burst of twice the size.
        (bursts[3], bursts[7]) = (200, 0);
        assert!(variance_beyond(&blocks(&bursts)).unwrap() > 1.5 * variance);
    }

    #[test]
    fn few_bursts_count_as_fewer_than_many() {
        // The same variance: one in six seconds has the slow ones, or each a little more or less.
        let few: Vec<u64> = (0..60).map(|i| if i % 6 == 0 { 60 } else { 0 }).collect();
        let mut rare = vec![8; 60];
        rare[30] = 128;
        let of = |beyond: &[u64]| Dependence::of(99.0, &blocks(beyond)).unwrap();
        let even = of(&[10; 60]).effective;
        assert!(even > 0.9 * 60_000.0, "{even}");
        assert!(of(&few).effective < even / 10.0, "{:?}", of(&few));
        let plain = |beyond: &[u64]| 600.0 / variance_beyond(&blocks(beyond)).unwrap();
        let left = |beyond: &[u64]| of(beyond).effective / plain(beyond);
        assert!(left(&rare) < left(&few), "{} {}", left(&rare), left(&few));
    }

    #[test]
    fn a_slow_half_counts_as_hardly_anything() {
        let halves: Vec<u64> = (0..60).map(|i| if i < 30 { 20 } else { 0 }).collect();
        let found = Dependence::of(99.0, &blocks(&halves)).unwrap();
        assert!(found.effective < 200.0, "{found:?}");
    }

    #[test]
    fn without_blocks_or_transactions_nothing_is_said() {
        assert_eq!(variance_beyond(&blocks(&[10; 4])), None);
        assert_eq!(variance_beyond(&[Block::default(); 20]), None);
        assert_eq!(Dependence::of(99.0, &blocks(&[10; 9])), None);
        assert_eq!(Dependence::of(99.0, &[Block::default(); 20]), None);
        for percent in [0.0, 100.0, f64::NAN] {
            assert_eq!(Dependence::of(percent, &blocks(&[10; 20])), None);
        }
        // Equal latencies: none is beyond.
        let equal = Dependence::of(50.0, &blocks(&[0; 20])).unwrap();
        assert!(
            (15_000.0..=20_000.0).contains(&equal.effective),
            "{equal:?}"
        );
    }
}
