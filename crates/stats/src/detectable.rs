//! The smallest change that a comparison could have detected: what so many repeats with this noise
//! find in four of five cases.

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
pub(crate) fn in_deviations(a: usize, b: usize, paired: bool, level: f64) -> f64 {
    if a + b > SIMULATED_MAX {
        return of_many(a, b, paired, level);
    }
    let mut rng = Rng::new(17);
    let mut draw = |n: usize| -> Vec<f64> { (0..n).map(|_| rng.normal()).collect() };
    let trim = if paired {
        ranks::signed_rank_trim(a, level)
    } else {
        ranks::rank_sum_trim(a, b, level)
    };
    let mut shifts: Vec<f64> = (0..DRAWS)
        .map(|_| {
            let differences = if paired {
                select::walsh_averages(&draw(a))
            } else {
                select::differences(&draw(a), &draw(b))
            };
            -ranks::shift(&differences, trim).low
        })
        .collect();
    shifts.sort_unstable_by(f64::total_cmp);
    shifts[(DRAWS as f64 * POWER) as usize]
}

/// The same where the estimate is normal: its standard error is that of a mean, less efficient by
/// 3 / π (Hodges & Lehmann 1963).
fn of_many(a: usize, b: usize, paired: bool, level: f64) -> f64 {
    let (a, b) = (a as f64, b as f64);
    let variance = if paired { 1.0 / a } else { 1.0 / a + 1.0 / b };
    let error = (variance * std::f64::consts::PI / 3.0).sqrt();
    let ends = [(1.0 - level) / 2.0, 1.0 - POWER].map(normal::z_of_upper_tail);
    error * ends.iter().sum::<f64>()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn more_repeats_see_smaller_changes_and_stricter_levels_larger_ones() {
        let six = in_deviations(6, 6, false, 0.95);
        let ten = in_deviations(10, 10, false, 0.95);
        // A t test of ten a side has 1.32 (Cohen 1988, table 2.4.1).
        assert!((1.2..1.5).contains(&ten) && six > 1.2 * ten, "{six} {ten}");
        assert!(in_deviations(10, 10, false, 0.99) > ten);
        assert!(in_deviations(10, 10, true, 0.95) < ten);
    }
    #[test]
    fn simulation_and_approximation_agree_where_they_meet() {
        for (a, b, paired) in [(100, 100, false), (40, 160, false), (200, 0, true)] {
            let simulated = in_deviations(a, b, paired, 0.95);
            let approximate = of_many(a, b, paired, 0.95);
            let apart = (simulated / approximate - 1.0).abs();
            assert!(apart < 0.06, "{a} {b}: {simulated} {approximate}");
        }
        let of_thousands = in_deviations(5_000, 5_000, false, 0.95);
        assert!((0.05..0.06).contains(&of_thousands), "{of_thousands}");
    }
}
