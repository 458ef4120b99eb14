//! The smallest change that a comparison could have detected: what so many repeats with this noise
//! find in four of five cases.

use crate::layout::Layout;
use crate::rng::Rng;
use crate::{normal, ranks, select};

/// How often a change of that size is found.
const POWER: f64 = 0.8;
/// Simulated comparisons of normal noise; the result moves by some 4 % of itself with the seed.
const DRAWS: usize = 400;
/// More repeats of both sides together are not simulated: there the normal approximation is nearer
/// than the simulation's own error.
const SIMULATED_MAX: usize = 200;

/// In standard deviations of the noise between repeats (of pairs: between their differences). For
/// each draw of two samples without a difference, the shift that would just have made them differ is
/// how far their interval reaches below 0; that of the draws' 80th percentile is found in 80 of 100.
pub(crate) fn in_deviations(layout: &Layout, level: f64) -> f64 {
    let (sizes, is_paired) = (layout.sizes(), layout.is_paired());
    if sizes.iter().flatten().sum::<usize>() > SIMULATED_MAX {
        return of_many(&sizes, is_paired, level);
    }
    let mut rng = Rng::new(17);
    let mut draw = |n: usize| -> Vec<f64> { (0..n).map(|_| rng.normal()).collect() };
    let trim = if is_paired {
        ranks::signed_rank_trim(sizes.len(), level)
    } else {
        ranks::rank_sum_trim(&sizes, level)
    };
    let mut shifts: Vec<f64> = (0..DRAWS)
        .map(|_| {
            let differences = if is_paired {
                select::walsh_averages(&draw(sizes.len()))
            } else {
                let sides: Vec<[Vec<f64>; 2]> =
                    sizes.iter().map(|sizes| sizes.map(&mut draw)).collect();
                let sides = sides.iter().map(|[a, b]| (a.as_slice(), b.as_slice()));
                select::differences(&sides.collect::<Vec<_>>())
            };
            -ranks::shift(&differences, trim).low
        })
        .collect();
    shifts.sort_unstable_by(f64::total_cmp);
    shifts[(DRAWS as f64 * POWER) as usize]
}

/// The same where the estimate is normal: its standard error is that of a mean, less efficient by
/// 3 / π (Hodges & Lehmann 1963), within small blocks of n by n / (n + 1) more (van Elteren 1960).
fn of_many(sizes: &[[usize; 2]], is_paired: bool, level: f64) -> f64 {
    let variance = if is_paired {
        1.0 / sizes.len() as f64
    } else {
        let weight = |[a, b]: [f64; 2]| (a * b / (a + b)) * (a + b) / (a + b + 1.0);
        let weights = sizes
            .iter()
            .map(|sizes| weight(sizes.map(|size| size as f64)));
        1.0 / weights.sum::<f64>()
    };
    let error = (variance * std::f64::consts::PI / 3.0).sqrt();
    let ends = [(1.0 - level) / 2.0, 1.0 - POWER].map(normal::z_of_upper_tail);
    error * ends.iter().sum::<f64>()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(a: usize, b: usize, paired: bool, level: f64) -> f64 {
        in_deviations(&Layout::of(a, b, paired, None), level)
    }

    #[test]
    fn more_repeats_see_smaller_changes_and_stricter_levels_larger_ones() {
        let six = of(6, 6, false, 0.95);
        let ten = of(10, 10, false, 0.95);
        // A t test of ten a side has 1.32 (Cohen 1988, table 2.4.1).
        assert!((1.2..1.5).contains(&ten) && six > 1.2 * ten, "{six} {ten}");
        assert!(of(10, 10, false, 0.99) > ten);
        assert!(of(10, 10, true, 0.95) < ten);
        // Blocks cost a little.
        let drawn = in_deviations(&Layout::planned(10, false), 0.95);
        assert!((1.0..1.2).contains(&(drawn / ten)), "{drawn} {ten}");
    }

    #[test]
    fn simulation_and_approximation_agree_where_they_meet() {
        let layouts = [
            Layout::of(100, 100, false, None),
            Layout::of(40, 160, false, None),
            Layout::of(100, 100, true, None),
            Layout::planned(100, false),
        ];
        for layout in layouts {
            let simulated = in_deviations(&layout, 0.95);
            let approximate = of_many(&layout.sizes(), layout.is_paired(), 0.95);
            let apart = (simulated / approximate - 1.0).abs();
            assert!(apart < 0.06, "{layout:?}: {simulated} {approximate}");
        }
        let of_thousands = of(5_000, 5_000, false, 0.95);
        assert!((0.05..0.06).contains(&of_thousands), "{of_thousands}");
    }
}
