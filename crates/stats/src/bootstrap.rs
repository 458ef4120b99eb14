//! Intervals of a median over repeats, by resampling them.

use crate::interval::Interval;
use crate::rng::Rng;
use crate::{normal, order};

/// Below this no 95 % interval of a median can be had without assuming a distribution: even the
/// whole range misses the median with probability 2 / 2^n (all repeats fall on one side of it):
/// 6.2 % with five repeats, 3.1 % with six (David & Nagaraja 2003, "Order Statistics", 7.1).
pub const MIN_REPEATS_FOR_INTERVAL: usize = 6;

/// More repeats are not resampled: the interval between two of the figures themselves, which needs no
/// distribution and no draws, is hardly wider there.
pub const RESAMPLED_REPEATS_MAX: usize = 200;

/// How intervals are drawn: a smoothed bootstrap, percentile method, kept within the range of the
/// repeats.
///
/// *Smoothed* (Efron 1979; Hall, DiCiccio & Romano 1989, "On smoothing and the bootstrap"): the
/// median of a plain resample can only be one of the few figures that were measured, or the middle
/// of two, and the interval jumps between them. Each drawn figure is moved by a normal deviate with
/// Silverman's bandwidth, 0.9 min(s, IQR / 1.34) n^(-1/5) (Silverman 1986, 3.31).
///
/// *Percentile* and not BCa: BCa's acceleration comes from the jackknife, which is inconsistent for
/// a median (Efron & Tibshirani 1993, 11.6 and 14.3).
///
/// *Within the range*: see [`MIN_REPEATS_FOR_INTERVAL`]; the range is wide enough for 95 %, and no
/// latency becomes negative.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Bootstrap {
    /// Confidence, between 0 and 1.
    pub level: f64,
    pub resamples: usize,
    /// Where the random numbers come from: the same seed gives the same interval.
    pub seed: u64,
}

impl Default for Bootstrap {
    fn default() -> Self {
        Self {
            level: 0.95,
            resamples: 4_000,
            seed: 1,
        }
    }
}

impl Bootstrap {
    /// Interval of the median of figures in ascending order.
    pub(crate) fn median_interval(&self, sorted: &[f64]) -> Option<Interval> {
        if sorted.len() < MIN_REPEATS_FOR_INTERVAL {
            return None;
        }
        if sorted.len() > RESAMPLED_REPEATS_MAX {
            return self.between_figures(sorted);
        }
        let mut medians = Resampler::new(sorted);
        self.interval(|rng| medians.median(rng))
    }

    /// From one figure to another of many: how many lie below the median is binomial (David & Nagaraja
    /// 2003, 7.1), with so many as good as normal.
    fn between_figures(&self, sorted: &[f64]) -> Option<Interval> {
        if !(self.level > 0.0 && self.level < 1.0) {
            return None;
        }
        let n = sorted.len() as f64;
        let z = normal::z_of_upper_tail((1.0 - self.level) / 2.0);
        let below = (n / 2.0 - z * n.sqrt() / 2.0 - 0.5).max(0.0) as usize;
        Some(Interval {
            low: sorted[below],
            high: sorted[sorted.len() - 1 - below],
            level: self.level,
        })
    }

    /// The middle `level` of what `statistic` gives over the resamples; `None` for a level that is
    /// none.
    pub(crate) fn interval(&self, mut statistic: impl FnMut(&mut Rng) -> f64) -> Option<Interval> {
        if !(self.level > 0.0 && self.level < 1.0) {
            return None;
        }
        let mut rng = Rng::new(self.seed);
        let drawn: Vec<f64> = (0..self.resamples.max(1))
            .map(|_| statistic(&mut rng))
            .collect();
        let drawn = order::sorted(&drawn);
        let tail = (1.0 - self.level) / 2.0;
        Some(Interval {
            low: order::quantile(&drawn, tail),
            high: order::quantile(&drawn, 1.0 - tail),
            level: self.level,
        })
    }
}

/// Draws medians of smoothed resamples.
pub(crate) struct Resampler<'a> {
    sorted: &'a [f64],
    bandwidth: f64,
    drawn: Vec<f64>,
}

impl<'a> Resampler<'a> {
    /// Of figures in ascending order. Where one is infinite nothing is smoothed.
    pub fn new(sorted: &'a [f64]) -> Self {
        Self {
            sorted,
            bandwidth: bandwidth(sorted),
            drawn: Vec::with_capacity(sorted.len()),
        }
    }

    pub fn median(&mut self, rng: &mut Rng) -> f64 {
        self.drawn.clear();
        for _ in 0..self.sorted.len() {
            let value = self.sorted[rng.below(self.sorted.len())];
            self.drawn.push(value + self.bandwidth * rng.normal());
        }
        self.drawn.sort_unstable_by(f64::total_cmp);
        order::median(&self.drawn).clamp(self.sorted[0], self.sorted[self.sorted.len() - 1])
    }
}

/// Silverman's rule of thumb; 0 where there is nothing to smooth.
fn bandwidth(sorted: &[f64]) -> f64 {
    let n = sorted.len() as f64;
    if n < 2.0 || !sorted[sorted.len() - 1].is_finite() {
        return 0.0;
    }
    let mean = order::mean(sorted);
    let deviation = (sorted.iter().map(|v| (v - mean).powi(2)).sum::<f64>() / (n - 1.0)).sqrt();
    let quartiles = (order::quantile(sorted, 0.75) - order::quantile(sorted, 0.25)) / 1.34;
    let spread = if quartiles > 0.0 {
        deviation.min(quartiles)
    } else {
        deviation
    };
    0.9 * spread * n.powf(-0.2)
}

#[cfg(test)]
mod tests {
    use super::*;

    const QUICK: Bootstrap = Bootstrap {
        level: 0.95,
        resamples: 400,
        seed: 3,
    };

    fn interval(values: &[f64]) -> Option<Interval> {
        QUICK.median_interval(&order::sorted(values))
    }

    #[test]
    fn six_repeats_have_an_interval_around_the_median_and_within_the_range() {
        let values = [10.0, 11.0, 12.0, 13.0, 14.0, 15.0];
        assert_eq!(interval(&values[..5]), None);
        let interval = interval(&values).unwrap();
        assert!(10.0 <= interval.low && interval.low < 12.0);
        assert!(13.0 < interval.high && interval.high <= 15.0);
    }

    #[test]
    fn an_interval_is_the_same_for_the_same_seed_and_scales_with_its_unit() {
        let values = [10.0, 11.0, 12.5, 13.0, 14.0, 15.0, 40.0];
        let ms = interval(&values).unwrap();
        assert_eq!(interval(&values), Some(ms));
        let us = interval(&values.map(|v| v * 1_000.0)).unwrap();
        assert!((us.low / ms.low - 1_000.0).abs() < 1e-6);
    }

    #[test]
    fn equal_figures_have_an_interval_without_width() {
        let interval = interval(&[7.0; 6]).unwrap();
        assert_eq!((interval.low, interval.high), (7.0, 7.0));
    }

    #[test]
    fn a_level_that_is_none_gives_no_interval() {
        for level in [0.0, 1.0, -1.0, f64::NAN] {
            let bootstrap = Bootstrap { level, ..QUICK };
            assert_eq!(
                bootstrap.median_interval(&[1.0, 2.0, 3.0, 4.0, 5.0, 6.0]),
                None
            );
        }
    }

    /// The share of 95 % intervals that hold the true median, over many samples of `draw`.
    fn coverage(n: usize, truth: f64, draw: impl Fn(&mut Rng) -> f64) -> f64 {
        let mut rng = Rng::new(n as u64);
        let held = (0..1_000).filter(|_| {
            let values: Vec<f64> = (0..n).map(|_| draw(&mut rng)).collect();
            let bootstrap = Bootstrap {
                resamples: 300,
                ..QUICK
            };
            bootstrap
                .median_interval(&order::sorted(&values))
                .unwrap()
                .contains(truth)
        });
        held.count() as f64 / 1_000.0
    }

    #[test]
    fn intervals_hold_the_median_about_as_often_as_they_claim() {
        for n in [6, 10, 20, RESAMPLED_REPEATS_MAX + 1] {
            let normal = coverage(n, 100.0, |rng| 100.0 + 10.0 * rng.normal());
            let skewed = coverage(n, 1.0, |rng| (0.5 * rng.normal()).exp());
            let tailed = coverage(n, 0.0, |rng| rng.normal() / rng.uniform().sqrt());
            let two = coverage(n, 1.0, |rng| {
                // Three repeats of four at about 1, the others at about 1.3.
                let slow = if rng.below(4) == 0 { 0.3 } else { 0.0 };
                1.0 + slow + 0.05 * rng.normal() - 0.02154
            });
            println!(
                "coverage at n = {n}: {normal} normal, {skewed} log-normal, {tailed} heavy tails, {two} mixed"
            );
            for share in [normal, skewed, tailed, two] {
                assert!((0.90..=0.99).contains(&share), "{n}: {share}");
            }
        }
    }
}
