//! How much repeats of each side spread within their blocks. Ranks alone take a side that spreads more for one that
//! lies elsewhere: five repeats that spread widely lie all above or all below five that hardly spread in one of 16
//! comparisons.

use crate::order::mean;
use crate::ranks::Stratum;
use crate::student::{two_sided_p, two_sided_t};

/// From this ratio of the standard deviations on the sides are not taken to spread alike.
const RATIO: f64 = 2.0;

pub(crate) struct Spread {
    /// From A to B, by least squares beside a level for each block.
    step: f64,
    variances: [f64; 2],
    /// Degrees of freedom of each.
    freedoms: [f64; 2],
    counts: [f64; 2],
}

/// Sides that do not spread alike: Welch's test (1947), which allows for it.
pub(crate) struct Unequal {
    step: f64,
    error: f64,
    freedom: usize,
}

impl Spread {
    pub fn of(strata: &[Stratum]) -> Self {
        let count = |of: &[f64]| of.len() as f64;
        let (mut weights, mut weighted) = (0.0, 0.0);
        for Stratum { a, b } in strata {
            let weight = count(a) * count(b) / (count(a) + count(b));
            weights += weight;
            weighted += weight * (mean(b) - mean(a));
        }
        let step = if weights > 0.0 {
            weighted / weights
        } else {
            0.0
        };
        let (mut squares, mut counts) = ([0.0; 2], [0.0; 2]);
        for Stratum { a, b } in strata {
            let sum = a.iter().sum::<f64>() + b.iter().map(|b| b - step).sum::<f64>();
            let level = sum / (count(a) + count(b));
            squares[0] += a.iter().map(|a| (a - level).powi(2)).sum::<f64>();
            squares[1] += b.iter().map(|b| (b - step - level).powi(2)).sum::<f64>();
            counts[0] += count(a);
            counts[1] += count(b);
        }
        // Each side gives its part of what levels and step take.
        let all = counts[0] + counts[1];
        let left = 1.0 - (strata.len() as f64 + 1.0) / all;
        let freedoms = counts.map(|of_side| (of_side * left).max(1.0));
        Self {
            step,
            variances: [0, 1].map(|side| squares[side] / freedoms[side]),
            freedoms,
            counts,
        }
    }

    /// Of both sides together.
    pub fn noise(&self) -> f64 {
        let [a, b] = self.freedoms;
        let squares = self.variances[0] * a + self.variances[1] * b;
        (squares / (a + b)).sqrt()
    }

    pub fn unequal(&self) -> Option<Unequal> {
        let [a, b] = self.variances;
        if a.max(b) <= RATIO * RATIO * a.min(b) {
            return None;
        }
        let parts = [0, 1].map(|side| self.variances[side] / self.counts[side]);
        let squares: f64 = parts.iter().sum();
        let of_side = |side: usize| parts[side] * parts[side] / self.freedoms[side];
        let freedom = squares * squares / (of_side(0) + of_side(1));
        Some(Unequal {
            step: self.step,
            error: squares.sqrt(),
            freedom: (freedom.round() as usize).max(1),
        })
    }
}

impl Unequal {
    pub fn p(&self) -> f64 {
        two_sided_p(self.step / self.error, self.freedom)
    }

    pub fn interval(&self, level: f64) -> [f64; 2] {
        let reach = two_sided_t(level, self.freedom) * self.error;
        [self.step - reach, self.step + reach]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn spread(a: &[f64], b: &[f64]) -> Spread {
        let [a, b] = [a, b].map(<[f64]>::to_vec);
        Spread::of(&[Stratum { a, b }])
    }

    #[test]
    fn sides_that_spread_alike_are_left_to_their_ranks() {
        let a = [1.0, 2.0, 3.0, 4.0, 5.0];
        let of = spread(&a, &a.map(|v| v + 10.0));
        assert!(of.unequal().is_none());
        assert!((of.noise() - 2.5_f64.sqrt()).abs() < 1e-9);
        assert!(spread(&[1.0; 5], &[1.0; 5]).unequal().is_none());
    }

    #[test]
    fn sides_that_do_not_are_held_to_welchs_test() {
        // t = 1.62 / 0.4913 = 3.297 with 4.17 degrees of freedom.
        let a = [10.1, 9.9, 10.0, 10.2, 9.8];
        let b = [11.0, 12.5, 10.4, 13.0, 11.2];
        let found = spread(&a, &b).unequal().unwrap();
        assert_eq!(found.freedom, 4);
        assert!((found.step - 1.62).abs() < 1e-9);
        let [low, high] = found.interval(1.0 - found.p());
        assert!(
            low.abs() < 1e-4 && (high - 3.24).abs() < 1e-4,
            "{low} {high}"
        );
    }

    #[test]
    fn levels_of_blocks_are_no_spread() {
        let block = |level: f64| Stratum {
            a: [1.0, 2.0, 4.0].map(|v| v + level).to_vec(),
            b: [2.0, 3.0, 5.0].map(|v| v + level).to_vec(),
        };
        let of = Spread::of(&[block(0.0), block(50.0)]);
        assert!(of.unequal().is_none());
        assert!((of.step - 1.0).abs() < 1e-9);
        // Within sides and blocks: 4 times 4.667, with 12 - 3 degrees of freedom.
        assert!(
            (of.noise() - (4.0 * 14.0 / 3.0 / 9.0_f64).sqrt()).abs() < 1e-9,
            "{}",
            of.noise()
        );
    }
}
