//! Looking at a comparison while it grows, without more false alarms for it: at which level the interval of each
//! look is to be taken, so that all of them together hold at one level. What is decided then and whether that ends
//! the measuring is free (Jennison & Turnbull 1989, repeated confidence intervals).
//!
//! The size is spent as O'Brien and Fleming's boundaries spend it: hardly any at first, most at the end (Lan & DeMets
//! 1983), by the share of the time budget that is over, which does not depend on what was measured (Lan & DeMets
//! 1989). What is left for each look follows from the path of a Brownian motion that has not crossed a boundary
//! before, integrated numerically (Armitage, McPherson & Rowe 1969). Statistics of pairs that are summed up, rank
//! statistics among them, have such paths but for their first few pairs (Jennison & Turnbull 2000, 11).

use crate::normal::{two_sided, upper_tail, z_of_upper_tail};

/// So many points on each side of 0 carry the density of the path.
const HALF_GRID: i32 = 200;

#[derive(Debug, Clone)]
pub struct Looks {
    size: f64,
    spent: f64,
    /// Pairs at the last look, and where the path can be that has not crossed a boundary: places, evenly spaced, and
    /// the probability at each.
    path: Option<(f64, Vec<(f64, f64)>)>,
}

impl Looks {
    /// All looks together err in at most this share of cases, 0.05 or another above 0 and below 1.
    pub fn within(size: f64) -> Self {
        Self {
            size,
            spent: 0.0,
            path: None,
        }
    }

    /// The level of the intervals at a look with so many pairs (more than at the one before) when this share of the
    /// budget is over, 1 at the last look. `None` where nothing is to be spent yet.
    pub fn level(&mut self, pairs: usize, share: f64) -> Option<f64> {
        let pairs = pairs as f64;
        let to_spend = spending(self.size, share) - self.spent;
        // Below it the normal distribution's error counts.
        let last = self.path.as_ref().map_or(0.0, |(pairs, _)| *pairs);
        if to_spend < 5e-6 || pairs <= last {
            return None;
        }
        let (before, points) = match &self.path {
            None => (0.0, vec![(0.0, 1.0)]),
            Some((before, points)) => (*before, points.clone()),
        };
        let step = (pairs - before).sqrt();
        let beyond = |boundary: f64| -> f64 {
            let tails = |(place, weight): &(f64, f64)| {
                weight
                    * (upper_tail((boundary - place) / step)
                        + upper_tail((boundary + place) / step))
            };
            points.iter().map(tails).sum()
        };
        let (mut low, mut high) = (0.0, 10.0 * pairs.sqrt());
        for _ in 0..50 {
            let middle = 0.5 * (low + high);
            if beyond(middle) > to_spend {
                low = middle
            } else {
                high = middle
            }
        }
        self.spent += to_spend;
        self.path = Some((pairs, moved(&points, step, high)));
        Some(1.0 - two_sided(high / pairs.sqrt()))
    }
}

/// How much of the size is spent when this share of the budget is over: O'Brien and Fleming's by Lan and DeMets, half of
/// it on each side.
fn spending(size: f64, share: f64) -> f64 {
    match share.clamp(0.0, 1.0) {
        0.0 => 0.0,
        share => 2.0 * two_sided(z_of_upper_tail(size / 4.0) / share.sqrt()),
    }
}

/// Where the path is a step later, within the boundary.
fn moved(points: &[(f64, f64)], step: f64, boundary: f64) -> Vec<(f64, f64)> {
    let width = boundary / f64::from(HALF_GRID);
    let places = (-HALF_GRID..=HALF_GRID).map(|i| f64::from(i) * width);
    places
        .map(|place| {
            let density = |(from, weight): &(f64, f64)| {
                let z = (place - from) / step;
                weight * (-0.5 * z * z).exp()
            };
            let density: f64 = points.iter().map(density).sum();
            // Half a cell at the ends.
            let cell = if place.abs() < boundary - 0.5 * width {
                width
            } else {
                0.5 * width
            };
            let scale = step * std::f64::consts::TAU.sqrt();
            (place, density * cell / scale)
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The boundaries of the looks, as z.
    fn boundaries(shares: &[f64]) -> Vec<f64> {
        let mut looks = Looks::within(0.05);
        let level = |share: &f64| looks.level((share * 1000.0) as usize, *share).unwrap();
        let levels: Vec<f64> = shares.iter().map(level).collect();
        levels
            .iter()
            .map(|l| z_of_upper_tail((1.0 - l) / 2.0))
            .collect()
    }

    #[test]
    fn boundaries_are_those_of_the_books() {
        // Lan & DeMets' spending function of O'Brien and Fleming, equal looks, 0.05 two-sided: Jennison & Turnbull
        // 2000, and R's ldbounds.
        for (shares, want) in [
            (&[0.5, 1.0][..], &[2.963, 1.969][..]),
            (&[0.25, 0.5, 0.75, 1.0], &[4.333, 2.963, 2.359, 2.014]),
        ] {
            let found = boundaries(shares);
            for (found, want) in found.iter().zip(want) {
                assert!((found - want).abs() < 0.005, "{found} for {want}");
            }
        }
        assert!(
            (boundaries(&[1.0])[0] - 1.960).abs() < 0.001,
            "one look is a test like any other"
        );
    }

    #[test]
    fn nothing_is_spent_twice_or_too_early() {
        let mut looks = Looks::within(0.05);
        assert_eq!(looks.level(10, 0.05), None, "next to nothing");
        assert_eq!(looks.level(0, 0.5), None, "nothing to look at");
        assert!(looks.level(50, 0.5).is_some());
        assert_eq!(looks.level(50, 0.5), None);
        assert_eq!(looks.level(50, 0.9), None, "no new pair");
        assert!(looks.level(100, 1.0).is_some());
        assert_eq!(looks.level(110, 1.0), None, "all is spent");
    }
}
