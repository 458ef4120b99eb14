//! How the repeats of two sides are held against each other: all with all, those of a block within which their order
//! was drawn, or in pairs.

use crate::compare::MIN_REPEATS_TO_COMPARE;
use crate::drawn::{Drawn, blocks};
use crate::order::mean;
use crate::ranks::{self, Shift, Stratum};
use crate::spread::Spread;

/// Places of A's repeats and of B's that belong together.
type Places = [Vec<usize>; 2];

#[derive(Debug, Clone)]
pub(crate) enum Layout {
    /// Each of B with each of A in the same block: ranks.
    Apart(Vec<Places>),
    /// The mean of B's with the mean of A's: signed ranks.
    Pairs(Vec<Places>),
}

impl Layout {
    pub fn of(a: usize, b: usize, paired: bool, drawn: Option<&Drawn>) -> Self {
        let Some(drawn) = drawn else {
            return if paired {
                Self::Pairs(
                    (0..a.min(b))
                        .map(|place| [vec![place], vec![place]])
                        .collect(),
                )
            } else {
                Self::Apart(vec![[(0..a).collect(), (0..b).collect()]])
            };
        };
        let blocks = drawn.places().into_iter();
        if drawn.is_mirrored {
            let is_whole = |[a, b]: &Places| !a.is_empty() && a.len() == b.len();
            Self::Pairs(blocks.filter(is_whole).collect())
        } else {
            let is_of_both = |[a, b]: &Places| !a.is_empty() && !b.is_empty();
            Self::Apart(blocks.filter(is_of_both).collect())
        }
    }

    /// So many repeats of both sides that are to be run, in an order that is drawn.
    pub fn planned(repeats: usize, paired: bool) -> Self {
        let drawn = Drawn::of(repeats);
        Self::of(repeats, repeats, paired, (!paired).then_some(&drawn))
    }

    pub fn is_paired(&self) -> bool {
        matches!(self, Self::Pairs(_))
    }

    /// Two-sided p-value of these figures of both sides, which have no ties at infinity.
    pub fn p(&self, a: &[f64], b: &[f64]) -> f64 {
        match self {
            Self::Apart(_) => {
                let strata = self.strata(a, b);
                let unequal = Spread::of(&strata).unequal();
                let p = unequal.map_or(0.0, |spread| spread.p());
                ranks::stratified_p(&strata).max(p)
            }
            Self::Pairs(_) => ranks::signed_rank_p(&self.contrasts(a, b)),
        }
    }

    /// From A to B, with the interval that inverts the test.
    pub fn shift(&self, a: &[f64], b: &[f64], level: f64) -> Shift {
        match self {
            Self::Apart(_) => {
                let strata = self.strata(a, b);
                let shift = ranks::stratified_shift(&strata, level);
                let unequal = Spread::of(&strata).unequal();
                unequal.map_or(shift, |spread| {
                    let [low, high] = spread.interval(level);
                    Shift {
                        low: shift.low.min(low),
                        high: shift.high.max(high),
                        ..shift
                    }
                })
            }
            Self::Pairs(_) => ranks::signed_rank_shift(&self.contrasts(a, b), level),
        }
    }

    /// Standard deviation within sides and blocks, or between the contrasts of pairs.
    pub fn noise(&self, a: &[f64], b: &[f64]) -> f64 {
        match self {
            Self::Apart(_) => Spread::of(&self.strata(a, b)).noise(),
            Self::Pairs(_) => {
                let contrasts = self.contrasts(a, b);
                let middle = mean(&contrasts);
                let squares: f64 = contrasts.iter().map(|d| (d - middle).powi(2)).sum();
                (squares / (contrasts.len() as f64 - 1.0).max(1.0)).sqrt()
            }
        }
    }

    /// The least p-value that so many repeats can give.
    pub fn least_p(&self) -> f64 {
        match self {
            Self::Apart(_) => ranks::least_rank_sum_p(&self.sizes()),
            Self::Pairs(pairs) => ranks::least_signed_rank_p(pairs.len()),
        }
    }

    /// So many repeats a side that a test of this size can find a difference. Where the order was drawn, those that
    /// are added are a block of their own.
    pub fn need(&self, is_drawn: bool, size: f64) -> usize {
        let of = |repeats: usize| match self {
            Self::Pairs(pairs) => {
                let each = pairs.first().map_or(1, |[a, _]| a.len());
                ranks::least_signed_rank_p(repeats / each)
            }
            Self::Apart(_) if is_drawn => {
                let mut sizes = self.sizes();
                let there: usize = sizes.iter().map(|[a, b]| *a.min(b)).sum();
                sizes.push([repeats.saturating_sub(there); 2]);
                ranks::least_rank_sum_p(&sizes)
            }
            Self::Apart(_) => {
                let sizes: Vec<[usize; 2]> = blocks(repeats).iter().map(|n| [*n; 2]).collect();
                ranks::least_rank_sum_p(&sizes)
            }
        };
        let mut counts = MIN_REPEATS_TO_COMPARE..;
        counts.find(|&n| of(n) <= size).unwrap_or(usize::MAX)
    }

    /// Repeats of both sides, by block; of pairs one and one.
    pub fn sizes(&self) -> Vec<[usize; 2]> {
        match self {
            Self::Apart(blocks) => blocks.iter().map(|[a, b]| [a.len(), b.len()]).collect(),
            Self::Pairs(pairs) => vec![[1, 1]; pairs.len()],
        }
    }

    fn strata(&self, a: &[f64], b: &[f64]) -> Vec<Stratum> {
        let (Self::Apart(blocks) | Self::Pairs(blocks)) = self;
        let of = |side: &[f64], places: &[usize]| places.iter().map(|at| side[*at]).collect();
        let strata = blocks.iter().map(|[of_a, of_b]| Stratum {
            a: of(a, of_a),
            b: of(b, of_b),
        });
        strata.collect()
    }

    fn contrasts(&self, a: &[f64], b: &[f64]) -> Vec<f64> {
        let pairs = self.strata(a, b).into_iter();
        pairs.map(|of| mean(&of.b) - mean(&of.a)).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn drawn(a: &[u32], b: &[u32], is_mirrored: bool) -> Drawn {
        Drawn {
            a: a.to_vec(),
            b: b.to_vec(),
            is_mirrored,
        }
    }

    #[test]
    fn repeats_are_compared_within_their_block() {
        let of = Layout::of(6, 6, false, Some(&Drawn::of(6)));
        assert_eq!(of.sizes(), [[6, 6]]);
        let rounds = drawn(&[0, 1, 2, 3, 3], &[0, 1, 2, 3, 3], false);
        let of = Layout::of(5, 5, true, Some(&rounds));
        assert_eq!(of.sizes(), [[1, 1], [1, 1], [1, 1], [2, 2]]);
        assert!((of.least_p() - 2.0 / 48.0).abs() < 1e-9);
        // Two more are a block of their own: 2 / (48 * 6).
        assert_eq!(of.need(true, 0.05 / 3.0), 7);
        assert_eq!(Layout::of(3, 3, false, None).need(false, 0.05 / 3.0), 5);
        let one_sided = drawn(&[0, 1], &[0], false);
        assert_eq!(Layout::of(2, 1, false, Some(&one_sided)).sizes(), [[1, 1]]);
    }

    #[test]
    fn mirrored_blocks_are_pairs_of_means() {
        let blocks = drawn(&[0, 0, 1, 1, 2], &[0, 0, 1, 1], true);
        let of = Layout::of(5, 4, false, Some(&blocks));
        let found = of.contrasts(&[1.0, 3.0, 5.0, 5.0, 9.0], &[4.0, 4.0, 5.0, 6.0]);
        assert_eq!(found, [2.0, 0.5]);
        assert!(of.is_paired());
        assert_eq!(of.need(true, 0.05), 12, "six blocks");
        let plain = Layout::of(5, 5, true, None);
        assert_eq!((plain.sizes().len(), plain.need(false, 0.05)), (5, 6));
    }
}
