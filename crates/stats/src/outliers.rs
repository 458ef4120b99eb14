//! Repeats that lie far from the others. They are flagged, never dropped: what disturbed one may
//! be what the user needs to know.

use crate::order;

/// From this score on (its absolute value) a repeat is flagged, as Iglewicz & Hoaglin recommend.
pub const OUTLIER_SCORE: f64 = 3.5;

/// Fewer repeats say nothing about which of them is the odd one.
const MIN_REPEATS: usize = 5;

#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Outlier {
    /// Its place in the sample, from 0.
    pub index: usize,
    pub value: f64,
    /// Its modified z-score: negative below the median.
    pub score: f64,
}

/// The modified z-score, 0.6745 (x - median) / MAD, of Iglewicz & Hoaglin 1993, "How to detect and
/// handle outliers", chapter 3: median and median absolute deviation stay what they are though
/// nearly half of the figures are wild, where mean and standard deviation are drawn towards the
/// outlier and hide it (with n = 10 no z-score can exceed (n - 1) / sqrt(n) = 2.85).
///
/// The MAD is freed of its bias at small n by Croux & Rousseeuw's factors (1992, "Time-efficient
/// algorithms for two highly robust estimators of scale"). In normal noise one repeat or more is
/// still flagged in 15 of 100 samples of five, 9 of ten, 8 of twenty: to look at, not to accuse.
///
/// When more than half of the figures are equal the MAD is 0; then the mean absolute deviation
/// takes its place, with 0.7979 (its ratio to the standard deviation of a normal distribution) for
/// 0.6745, as IBM's SPSS documents it. When that is 0 too there is nothing to flag.
pub(crate) fn outliers(values: &[f64], sorted: &[f64]) -> Vec<Outlier> {
    if values.len() < MIN_REPEATS {
        return Vec::new();
    }
    let median = order::median(sorted);
    let deviations: Vec<f64> = values.iter().map(|v| (v - median).abs()).collect();
    let mad = order::median(&order::sorted(&deviations));
    let unit = if mad > 0.0 {
        small_sample_factor(values.len()) * mad / 0.6745
    } else {
        order::mean(&deviations) / 0.7979
    };
    if unit <= 0.0 {
        return Vec::new();
    }
    let scores = values.iter().map(|v| (v - median) / unit);
    scores
        .enumerate()
        .filter(|(_, score)| score.abs() > OUTLIER_SCORE)
        .map(|(index, score)| Outlier {
            index,
            value: values[index],
            score,
        })
        .collect()
}

/// Of five figures or more.
fn small_sample_factor(n: usize) -> f64 {
    match n {
        ..=5 => 1.206,
        6 => 1.200,
        7 => 1.140,
        8 => 1.129,
        9 => 1.107,
        _ => n as f64 / (n as f64 - 0.8),
    }
}

#[cfg(test)]
mod tests {
    use crate::Sample;

    fn flagged(values: &[f64]) -> Vec<usize> {
        Sample::new(values)
            .unwrap()
            .outliers()
            .iter()
            .map(|o| o.index)
            .collect()
    }

    #[test]
    fn the_odd_repeat_is_flagged_with_its_place_and_side() {
        let sample = Sample::new(&[100.0, 101.0, 40.0, 99.0, 100.5, 98.5]).unwrap();
        let outliers = sample.outliers();
        assert_eq!(outliers.len(), 1);
        assert_eq!((outliers[0].index, outliers[0].value), (2, 40.0));
        assert!(outliers[0].score < -3.5);
    }

    #[test]
    fn normal_noise_is_flagged_as_seldom_as_is_said() {
        let mut rng = crate::rng::Rng::new(4);
        for (n, said) in [(5, 0.16), (10, 0.10), (20, 0.08)] {
            let hits = (0..4_000).filter(|_| {
                let values: Vec<f64> = (0..n).map(|_| rng.normal()).collect();
                !flagged(&values).is_empty()
            });
            let share = hits.count() as f64 / 4_000.0;
            println!("outliers: flagged in {share} of points of {n} repeats");
            assert!((share - said).abs() < 0.02, "{n}: {share}");
        }
    }

    #[test]
    fn two_outliers_do_not_hide_one_another() {
        assert_eq!(flagged(&[10.0, 10.1, 9.9, 50.0, 10.2, 9.8, 52.0]), [3, 6]);
    }

    #[test]
    fn ordinary_spread_is_not_flagged() {
        assert!(flagged(&[10.0, 12.0, 9.0, 11.0, 8.0, 10.5]).is_empty());
    }

    #[test]
    fn equal_figures_are_no_reason_to_flag_a_small_step_nor_to_divide_by_zero() {
        assert!(flagged(&[5.0; 8]).is_empty());
        assert!(flagged(&[5.0, 5.0, 5.0, 5.1, 4.9]).is_empty());
        assert_eq!(flagged(&[5.0, 5.0, 5.0, 5.0, 5.0, 5.0, 9.0]), [6]);
    }

    #[test]
    fn four_repeats_do_not_tell_which_is_odd() {
        assert!(flagged(&[10.0, 10.0, 10.1, 900.0]).is_empty());
    }
}
