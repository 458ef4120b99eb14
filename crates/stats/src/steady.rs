//! Whether a trial was in its steady state, from a figure of each of its seconds.

use std::fmt;

use crate::order;
use crate::trend::{self, Seconds};
use crate::uneven::{Uneven, uneven};
use crate::words::percent;

/// Shorter series are not judged.
pub const MIN_SECONDS: usize = 10;

/// Smaller changes are not worth a word, however sure: other repeats differ by as much.
const MIN_CHANGE: f64 = 0.05;

/// A trend must be this unlikely to be chance. Not 5 %: every trial is tested.
const SIGNIFICANCE: f64 = 0.01;

/// A head must lie this many standard errors from the rest. Its end was chosen to make it differ,
/// so that the usual two would find heads everywhere.
const HEAD_ERRORS: f64 = 5.0;

/// Means of the first and the last quarter of a series.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Quarters {
    /// Mean of the first quarter.
    pub first: f64,
    /// Mean of the last quarter.
    pub last: f64,
}

impl Quarters {
    fn of(series: &[f64]) -> Self {
        let quarter = (series.len() / 4).max(1);
        Self {
            first: order::mean(&series[..quarter]),
            last: order::mean(&series[series.len() - quarter..]),
        }
    }

    /// From the first to the last, as a share of the first; 0 where the first is 0.
    pub fn change(&self) -> f64 {
        if self.first == 0.0 {
            0.0
        } else {
            (self.last - self.first) / self.first.abs()
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Steadiness {
    TooShort {
        seconds: usize,
    },
    /// A second has no figure: nothing is said.
    Incomplete {
        second: usize,
    },
    /// Nothing worth a word was found.
    Steady {
        quarters: Quarters,
        p: f64,
    },
    /// The head differs from the rest, which is steady.
    WarmUp {
        /// The first steady second, from 0: so many are the head.
        steady_from: usize,
        head: f64,
        rest: f64,
    },
    /// It goes up or down to its end.
    Drifts {
        quarters: Quarters,
        p: f64,
    },
    /// Single seconds lie below half of the median.
    Holes {
        count: usize,
        seconds: usize,
        lowest: f64,
    },
    /// It goes up and down.
    Alternates {
        /// From one top to the next, in seconds.
        period_s: f64,
        /// From top to bottom, as a share of the mean.
        swing: f64,
    },
    /// For a while it was on another level.
    Level {
        /// The first second of it, from 0.
        from: usize,
        /// The first one after it.
        to: usize,
        inside: f64,
        outside: f64,
    },
}

/// Judges a figure of each whole second, in order: throughput, or a latency.
///
/// The head is cut by MSER-5 (White 1997, "An effective truncation heuristic for bias reduction in
/// simulation output"; White, Cobb & Spratt 2000), MSER on single seconds below 50. It counts as
/// a warm-up when it differs from the rest by 5 % and by five standard errors. The whole, or what
/// follows the head, drifts when Mann and Kendall's test with Yue & Wang's correction finds
/// a trend at 1 % and first and last quarter differ by 5 %. Where neither is found, holes, a rhythm and
/// other levels are looked for.
pub fn steadiness(series: &[f64]) -> Steadiness {
    if let Some(second) = series.iter().position(|y| !y.is_finite()) {
        return Steadiness::Incomplete { second };
    }
    if series.len() < MIN_SECONDS {
        return Steadiness::TooShort {
            seconds: series.len(),
        };
    }
    let quarters = Quarters::of(series);
    let whole = trend::trend(series, Seconds::Dependent);
    let drifts = whole.p < SIGNIFICANCE && quarters.change().abs() >= MIN_CHANGE;
    let cut = mser(series);
    if cut > 0 && head_differs(series, cut) {
        let rest = &series[cut..];
        let trend = trend::trend(rest, Seconds::Dependent);
        // A straight drift goes on behind any cut, with a share of its change, and of its evidence.
        let share = rest.len() as f64 / series.len() as f64;
        let change = Quarters::of(rest).change().abs();
        let significance = if drifts { 0.1 } else { SIGNIFICANCE };
        if !(trend.p < significance && change >= MIN_CHANGE * share) {
            return Steadiness::WarmUp {
                steady_from: cut,
                head: order::mean(&series[..cut]),
                rest: order::mean(rest),
            };
        }
        return Steadiness::Drifts {
            quarters,
            p: trend.p.min(whole.p),
        };
    }
    let p = whole.p;
    match uneven(series) {
        _ if drifts => Steadiness::Drifts { quarters, p },
        None => Steadiness::Steady { quarters, p },
        Some(Uneven::Holes { count, lowest }) => Steadiness::Holes {
            count,
            seconds: series.len(),
            lowest,
        },
        Some(Uneven::Alternates { period, swing }) => Steadiness::Alternates {
            period_s: period,
            swing,
        },
        Some(Uneven::Level {
            from,
            to,
            inside,
            outside,
        }) => Steadiness::Level {
            from,
            to,
            inside,
            outside,
        },
    }
}

/// The second at which to cut so that the mean of the rest is known best: where the squared
/// deviations of the rest, divided by the square of their number, are least. At most half is cut:
/// later minima come from the few seconds left (White, Cobb & Spratt 2000). Of the cuts that chance
/// cannot tell from the best one the first is taken, as in Breiman et al.'s one-standard-error rule
/// ("Classification and regression trees", 1984, 3.4.3): else a short head hides in a long one.
fn mser(series: &[f64]) -> usize {
    let batch = if series.len() >= 50 { 5 } else { 1 };
    let means: Vec<f64> = series.chunks_exact(batch).map(order::mean).collect();
    let (mut n, mut mean, mut squares) = (0.0, 0.0, 0.0);
    let mut errors = vec![0.0; means.len()];
    // From the end to the front, with Welford's update (1962).
    for (cut, y) in means.iter().enumerate().rev() {
        n += 1.0;
        let step = y - mean;
        mean += step / n;
        squares += step * (y - mean);
        errors[cut] = squares / (n * n);
    }
    let allowed = &errors[..=means.len() / 2];
    let least = allowed.iter().copied().fold(f64::INFINITY, f64::min);
    // The relative standard error of a variance of n independent normal figures is sqrt(2 / n).
    let left = |cut: usize| (means.len() - cut) as f64;
    let best = allowed.iter().position(|&e| e == least).unwrap_or(0);
    let good_enough = least * (1.0 + (2.0 / left(best)).sqrt());
    allowed.iter().position(|&e| e <= good_enough).unwrap_or(0) * batch
}

/// Whether the seconds before `cut` lie far from those after it.
fn head_differs(series: &[f64], cut: usize) -> bool {
    let (head, rest) = (order::mean(&series[..cut]), &series[cut..]);
    let mean = order::mean(rest);
    let deviations: Vec<f64> = rest.iter().map(|y| y - mean).collect();
    let n = rest.len() as f64;
    let variance = deviations.iter().map(|d| d * d).sum::<f64>() / (n - 1.0);
    let products = deviations
        .windows(2)
        .map(|pair| pair[0] * pair[1])
        .sum::<f64>()
        / (n - 1.0);
    let alike = if variance > 0.0 {
        (products / variance).clamp(0.0, 0.9)
    } else {
        0.0
    };
    // The standard error of a mean of autocorrelated seconds (Law 2015, "Simulation modeling
    // and analysis", 4.4), taken as autoregressive of order one.
    let inflation = (1.0 + alike) / (1.0 - alike);
    let error = (variance * inflation * (1.0 / cut as f64 + 1.0 / n)).sqrt();
    let step = (head - mean).abs();
    step >= MIN_CHANGE * mean.abs() && step > HEAD_ERRORS * error
}

impl Steadiness {
    /// In words, of a figure by its name: "throughput fell by 12 % from the first to the last
    /// quarter".
    pub fn sentence(&self, figure: &str) -> String {
        match self {
            Self::TooShort { seconds } => format!(
                "{seconds} s are too short to judge whether {figure} was steady: {MIN_SECONDS} s \
                 are needed"
            ),
            Self::Incomplete { second } => {
                format!(
                    "steadiness of {figure} is not known: second {} has no value",
                    second + 1
                )
            }
            Self::Steady { .. } => format!("{figure} was steady"),
            Self::WarmUp {
                steady_from,
                head,
                rest,
            } => {
                let far = far(*head, *rest);
                format!("{figure} was {far} the rest during the first {steady_from} s")
            }
            Self::Holes {
                count,
                seconds,
                lowest,
            } => {
                let were = if *count == 1 { "was" } else { "were" };
                let least = if *lowest == 0.0 { ", down to 0" } else { "" };
                format!(
                    "{figure} had holes: {count} of {seconds} s {were} below half of the median\
                     {least}"
                )
            }
            Self::Alternates { period_s, swing } => format!(
                "{figure} went up and down by {} about every {period_s:.1} s",
                percent(*swing)
            ),
            Self::Level {
                from,
                to,
                inside,
                outside,
            } => format!(
                "{figure} was {} the rest from second {} to {to}",
                far(*inside, *outside),
                from + 1
            ),
            Self::Drifts { quarters, .. } => {
                let change = quarters.change();
                if change.abs() < MIN_CHANGE {
                    return format!("{figure} did not settle");
                }
                let verb = if change < 0.0 { "fell" } else { "rose" };
                format!(
                    "{figure} {verb} by {} from the first to the last quarter",
                    percent(change)
                )
            }
        }
    }
}

/// "40 % below", of a mean beside that of the rest.
fn far(mean: f64, rest: f64) -> String {
    let side = if mean < rest { "below" } else { "above" };
    if rest == 0.0 {
        format!("far {side}")
    } else {
        format!("{} {side}", percent((mean - rest) / rest))
    }
}

/// The sentence with "it" for the figure's name.
impl fmt::Display for Steadiness {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.sentence("it"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rng::Rng;

    /// Seconds of a server: `level` of each with noise whose neighbours are alike.
    fn seconds(
        seed: u64,
        n: usize,
        noise: f64,
        alike: f64,
        level: impl Fn(f64) -> f64,
    ) -> Vec<f64> {
        let mut rng = Rng::new(seed);
        let mut y = rng.normal();
        let mut next = |i: usize| {
            y = alike * y + (1.0 - alike * alike).sqrt() * rng.normal();
            level(i as f64) * (1.0 + noise * y)
        };
        (0..n).map(&mut next).collect()
    }

    fn share(
        n: usize,
        noise: f64,
        alike: f64,
        level: fn(f64) -> f64,
        is: fn(&Steadiness) -> bool,
    ) -> f64 {
        let hits = (0..400).filter(|&seed| is(&steadiness(&seconds(seed, n, noise, alike, level))));
        hits.count() as f64 / 400.0
    }

    fn is_steady(s: &Steadiness) -> bool {
        matches!(s, Steadiness::Steady { .. })
    }

    #[test]
    fn steady_noise_is_seldom_taken_for_anything_else() {
        for n in [10, 30, 60, 300] {
            for alike in [0.0, 0.5] {
                let steady = share(n, 0.05, alike, |_| 1000.0, is_steady);
                println!("steady at {n} s, autocorrelation {alike}: {steady}");
                assert!(steady >= 0.93, "{n} s, {alike}: {steady}");
            }
        }
    }

    #[test]
    fn a_slow_start_is_found_with_its_length() {
        for (n, from) in [(30, 4..=7), (60, 5..=10), (300, 5..=10)] {
            let series = seconds(3, n, 0.03, 0.2, |i| if i < 5.0 { 600.0 } else { 1000.0 });
            let Steadiness::WarmUp {
                steady_from,
                head,
                rest,
            } = steadiness(&series)
            else {
                panic!("{n} s: {:?}", steadiness(&series));
            };
            assert!(from.contains(&steady_from), "{n} s: {steady_from}");
            assert!(head < 850.0 && rest > 950.0);
        }
    }

    #[test]
    fn a_cache_that_fills_during_the_first_third_is_a_warm_up() {
        let found = share(
            90,
            0.03,
            0.3,
            |i| 1000.0 * (1.0 - 0.6 * (-i / 8.0).exp()),
            |s| {
                matches!(
                    s,
                    Steadiness::WarmUp {
                        steady_from: 5..=45,
                        ..
                    }
                )
            },
        );
        assert!(found >= 0.9, "{found}");
    }

    #[test]
    fn a_fall_to_the_end_is_a_drift_and_is_put_in_words() {
        let found = share(
            60,
            0.03,
            0.3,
            |i| 1000.0 * (1.0 - 0.2 * i / 60.0),
            |s| matches!(s, Steadiness::Drifts { .. }),
        );
        assert!(found >= 0.9, "{found}");
        let series: Vec<f64> = (0..80)
            .map(|i| {
                if i < 20 {
                    1000.0
                } else if i < 40 {
                    960.0
                } else if i < 60 {
                    920.0
                } else {
                    880.0
                }
            })
            .collect();
        let sentence = steadiness(&series).sentence("throughput");
        assert_eq!(
            sentence,
            "throughput fell by 12 % from the first to the last quarter"
        );
    }

    #[test]
    fn a_steady_trial_a_short_one_and_one_with_a_gap_say_so() {
        assert!(is_steady(&steadiness(&[100.0; 12])));
        assert_eq!(
            steadiness(&[100.0; 12]).sentence("throughput"),
            "throughput was steady"
        );
        assert!(is_steady(&steadiness(&[0.0; 12])));
        assert_eq!(steadiness(&[1.0; 9]), Steadiness::TooShort { seconds: 9 });
        assert!(steadiness(&[]).to_string().starts_with("0 s are too short"));
        let mut gap = [5.0; 20];
        gap[3] = f64::NAN;
        assert_eq!(steadiness(&gap), Steadiness::Incomplete { second: 3 });
        assert!(
            steadiness(&gap)
                .to_string()
                .starts_with("steadiness of it is not known: second 4 has no value")
        );
    }

    #[test]
    fn a_poisson_process_is_called_steady_in_95_of_100_trials() {
        for (n, per_s) in [(10, 50.0), (30, 1_000.0), (60, 200.0), (300, 5_000.0)] {
            let noise = 1.0 / f64::sqrt(per_s);
            let mut rng = Rng::new(9);
            let mut steady = 0;
            for _ in 0..1_000 {
                let series: Vec<f64> = (0..n)
                    .map(|_| (per_s * (1.0 + noise * rng.normal())).round())
                    .collect();
                steady += usize::from(is_steady(&steadiness(&series)));
            }
            println!("steady at {n} s of {per_s}/s: {steady} of 1000");
            assert!(steady >= 950, "{n} s of {per_s}/s: {steady}");
        }
    }

    #[test]
    fn holes_a_rhythm_and_a_level_are_not_steady_and_are_put_in_words() {
        let sentence = |n: usize, level: &dyn Fn(usize) -> f64| {
            let series: Vec<f64> = (0..n).map(level).collect();
            steadiness(&series).sentence("throughput")
        };
        assert_eq!(
            sentence(20, &|i| if i % 5 == 2 { 0.0 } else { 1000.0 }),
            "throughput had holes: 4 of 20 s were below half of the median, down to 0"
        );
        assert_eq!(
            sentence(20, &|i| if i == 12 { 1.0 } else { 1000.0 }),
            "throughput had holes: 1 of 20 s was below half of the median"
        );
        assert_eq!(
            sentence(20, &|i| if i % 2 == 0 { 1200.0 } else { 800.0 }),
            "throughput went up and down by 40 % about every 2.0 s"
        );
        assert_eq!(
            sentence(30, &|i| if (12..18).contains(&i) { 750.0 } else { 1000.0 }),
            "throughput was 25 % below the rest from second 13 to 18"
        );
    }

    #[test]
    fn a_warm_up_is_put_in_words() {
        let warm = Steadiness::WarmUp {
            steady_from: 7,
            head: 600.0,
            rest: 1000.0,
        };
        let sentence = warm.sentence("throughput");
        assert_eq!(
            sentence,
            "throughput was 40 % below the rest during the first 7 s"
        );
    }
}
