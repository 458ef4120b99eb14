//! The smallest change that a comparison could have detected: what so many repeats with this noise
//! find in four of five cases.

use crate::ranks;
use crate::rng::Rng;

/// How often a change of that size is found.
const POWER: f64 = 0.8;
/// Simulated comparisons of normal noise; the result moves by some 4 % of itself with the seed.
const DRAWS: usize = 400;

/// In standard deviations of the noise between repeats (of pairs: between their differences). For
/// each draw of two samples without a difference, the shift that would just have made them differ is
/// how far their interval reaches below 0; that of the draws' 80th percentile is found in 80 of 100.
pub(crate) fn in_deviations(a: usize, b: usize, paired: bool, level: f64) -> f64 {
    let mut rng = Rng::new(17);
    let mut draw = |n: usize| -> Vec<f64> { (0..n).map(|_| rng.normal()).collect() };
    let trim = match paired {
        true => ranks::signed_rank_trim(a, level),
        false => ranks::rank_sum_trim(a, b, level),
    };
    let mut shifts: Vec<f64> = (0..DRAWS)
        .map(|_| {
            let differences = match paired {
                true => ranks::walsh_averages(&draw(a)),
                false => ranks::all_differences(&draw(a), &draw(b)),
            };
            -ranks::shift(&differences, trim).low
        })
        .collect();
    shifts.sort_unstable_by(f64::total_cmp);
    shifts[(DRAWS as f64 * POWER) as usize]
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
}
