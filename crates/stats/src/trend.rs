//! Whether a series of seconds goes up or down.

use crate::{normal, order};

/// Longer series are averaged to at most so many batches first: pairs of seconds are compared, and
/// a two-hour trial would have 26 million.
const BATCHES_MAX: usize = 120;

#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Trend {
    /// Two-sided p-value of Mann and Kendall's test.
    pub p: f64,
    /// Change over the whole series, as Sen's slope times its length.
    pub change: f64,
}

/// What is supposed of seconds that follow each other.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Seconds {
    /// Nothing: neighbours may be alike (a checkpoint lasts several seconds), which looks like
    /// a trend to a test that does not know, so the variance is corrected.
    Dependent,
    /// They do not depend on one another. Sees trends sooner, and more of them than there are.
    Independent,
}

/// Mann and Kendall's test (Mann 1945; Kendall 1975), for dependent seconds with Yue & Wang's
/// correction, and Sen's slope (1968). Of at least four seconds.
pub(crate) fn trend(series: &[f64], seconds: Seconds) -> Trend {
    let length = series.len() as f64;
    let size = series.len().div_ceil(BATCHES_MAX);
    // What is left over at the end joins no batch: it would weigh as much as a whole one.
    let series: Vec<f64> = series.chunks_exact(size).map(order::mean).collect();
    let n = series.len();
    let mut slopes = Vec::with_capacity(n * (n - 1) / 2);
    let mut s = 0.0;
    for i in 0..n {
        for j in i + 1..n {
            let step = series[j] - series[i];
            s += if step == 0.0 { 0.0 } else { step.signum() };
            slopes.push(step / (j - i) as f64);
        }
    }
    let slope = order::median(&order::sorted(&slopes));
    let mut variance = untied_variance(n as f64) - tied_variance(&series);
    if seconds == Seconds::Dependent {
        variance *= correction(&series, slope);
    }
    // A step less than the distance of S to 0, for continuity.
    let z = if variance > 0.0 {
        (s.abs() - 1.0).max(0.0) / variance.sqrt()
    } else {
        0.0
    };
    Trend {
        p: normal::two_sided(z),
        change: slope / size as f64 * length,
    }
}

fn untied_variance(n: f64) -> f64 {
    n * (n - 1.0) * (2.0 * n + 5.0) / 18.0
}

fn tied_variance(series: &[f64]) -> f64 {
    let sorted = order::sorted(series);
    let groups = sorted
        .chunk_by(|a, b| a == b)
        .map(|group| untied_variance(group.len() as f64));
    groups.sum()
}

/// Yue & Wang's factor n / n*, 1 + 2 sum (1 - k / n) r^k, with r the autocorrelation at lag 1 of the
/// ranks of what remains when the slope is taken away, freed of its bias at small n (Marriott & Pope
/// 1954, "Bias in the estimation of autocorrelations"). Never below 1: seconds that alternate are no
/// reason to believe in a trend sooner.
fn correction(series: &[f64], slope: f64) -> f64 {
    let n = series.len() as f64;
    let rest: Vec<f64> = series
        .iter()
        .enumerate()
        .map(|(i, y)| y - slope * i as f64)
        .collect();
    let sorted = order::sorted(&rest);
    let rank = |y: &f64| {
        let below = sorted.partition_point(|v| v < y);
        let up_to = sorted.partition_point(|v| v <= y);
        (below + up_to) as f64
    };
    let ranks: Vec<f64> = rest.iter().map(rank).collect();
    let mean = order::mean(&ranks);
    let square: f64 = ranks.iter().map(|r| (r - mean).powi(2)).sum();
    if square <= 0.0 {
        return 1.0;
    }
    let products = ranks
        .windows(2)
        .map(|pair| (pair[0] - mean) * (pair[1] - mean));
    let measured = products.sum::<f64>() / square;
    let correlation = ((measured + 1.0 / n) / (1.0 - 4.0 / n).max(0.5)).clamp(0.0, 0.95);
    let lags = (1..series.len()).map(|k| (1.0 - k as f64 / n) * correlation.powf(k as f64));
    1.0 + 2.0 * lags.sum::<f64>()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rng::Rng;

    /// A series whose neighbours are alike: autoregressive of order one.
    fn alike(rng: &mut Rng, n: usize, correlation: f64) -> Vec<f64> {
        let mut y = rng.normal();
        let rest = (1.0 - correlation * correlation).sqrt();
        let mut next = || {
            y = correlation * y + rest * rng.normal();
            1000.0 + 50.0 * y
        };
        (0..n).map(|_| next()).collect()
    }

    #[test]
    fn a_rise_is_found_with_its_size() {
        let series: Vec<f64> = (0..60).map(|i| 1000.0 + 2.0 * f64::from(i)).collect();
        let trend = trend(&series, Seconds::Dependent);
        assert!(trend.p < 1e-6);
        assert!((trend.change - 120.0).abs() < 1e-6);
    }

    #[test]
    fn a_long_series_is_batched_and_its_change_is_the_same() {
        let series: Vec<f64> = (0..7_250).map(|i| 1000.0 - 0.01 * f64::from(i)).collect();
        let trend = trend(&series, Seconds::Dependent);
        assert!(trend.p < 1e-6);
        assert!((trend.change + 72.5).abs() < 0.1, "{}", trend.change);
    }

    #[test]
    fn a_constant_series_has_no_trend() {
        let flat = trend(&[5.0; 10], Seconds::Dependent);
        assert!(flat.p > 0.999 && flat.change == 0.0, "{flat:?}");
    }

    #[test]
    fn chance_is_rarely_taken_for_a_trend_and_likeness_of_neighbours_seldom() {
        let found = |correlation, seconds| {
            let mut rng = Rng::new(11);
            let hits = (0..1_000)
                .filter(|_| trend(&alike(&mut rng, 60, correlation), seconds).p < 0.01)
                .count();
            hits as f64 / 1_000.0
        };
        let none = found(0.0, Seconds::Independent);
        let (corrected, plain) = (
            found(0.5, Seconds::Dependent),
            found(0.5, Seconds::Independent),
        );
        println!("trends in noise at 1 %: {none}; alike {plain}, corrected {corrected}");
        assert!(none <= 0.02, "{none}");
        assert!(
            corrected <= 0.03 && corrected < plain / 1.8,
            "{corrected} of {plain}"
        );
    }
}
