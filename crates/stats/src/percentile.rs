//! When a percentile of a merged histogram may be shown.
//!
//! Percentiles are never averaged, neither over seconds nor over repeats' transactions: histograms
//! are merged and the percentile is read from the whole, or each repeat's percentile is one figure
//! of a [`crate::Sample`].

/// Values that must lie beyond a percentile. With k beyond it their number has a relative standard
/// error of about 1 / sqrt(k) (Poisson): with ten a third, with one all of it.
pub const MIN_BEYOND: u64 = 10;

/// How many values a histogram needs before its percentile may be shown: 1,000 for 99. `None` for
/// what is no percentile below 100.
pub fn count_needed(percent: f64) -> Option<u64> {
    if !(0.0..100.0).contains(&percent) {
        return None;
    }
    // A tolerance for quotients such as 10 / (1 - 0.99), which floating point puts above 1,000.
    Some((MIN_BEYOND as f64 / (1.0 - percent / 100.0) - 1e-6).ceil() as u64)
}

/// Whether a histogram of `count` values may show this percentile.
pub fn is_supported(percent: f64, count: u64) -> bool {
    count_needed(percent).is_some_and(|needed| count >= needed)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ten_values_lie_beyond_a_percentile_that_is_shown() {
        assert_eq!(count_needed(50.0), Some(20));
        assert_eq!(count_needed(99.0), Some(1_000));
        assert_eq!(count_needed(99.9), Some(10_000));
        assert!(is_supported(99.0, 1_000));
        assert!(!is_supported(99.0, 999));
        assert!(!is_supported(0.0, 9));
    }

    #[test]
    fn what_is_no_percentile_is_never_supported() {
        for percent in [100.0, -1.0, f64::NAN, f64::INFINITY] {
            assert_eq!(count_needed(percent), None);
            assert!(!is_supported(percent, u64::MAX));
        }
    }
}
