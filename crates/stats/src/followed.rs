//! Whether changes of level are more than what a series makes whose figures follow each other: each is near the one
//! before, as the machine's state outlasts a trial. Figures in random order, beside which [`super::change_points`]
//! judges, do not.
//!
//! The series' own correlation is that of an autoregression of order 1, and a level is an intercept of it: changes count
//! when they leave less of the sum of squares than as many best changes leave in 95 % of series that the
//! autoregression without them makes of normal noise: a test by likelihood ratio with a parametric bootstrap (relatives
//! of it are compared by Shi, Gallagher, Lund & Killick 2022, "A comparison of single and multiple changepoint
//! techniques for time series data", CSDA 170). Not of its own residuals: one of these is the step itself. Correlation
//! and levels are fitted together: a level that is not fitted looks like correlation.

use crate::change_points::ChangeOptions;
use crate::rng::Rng;

/// A level has so many figures.
const LEVEL_MIN: usize = 2;
/// Beyond it a series of the usual length does not differ from one that drifts freely.
const CORRELATION_MAX: f64 = 0.95;

/// An autoregression with a level for each part.
struct Fit {
    /// Parts of the figures that have one before them, from the second on: from, to.
    parts: Vec<(usize, usize)>,
    /// The figures before, less their mean in the part.
    before: Vec<f64>,
    before_squares: f64,
    correlation: f64,
    residuals: Vec<f64>,
    squares: f64,
}

impl Fit {
    /// With changes at these places, in their order.
    fn of(series: &[f64], places: &[usize]) -> Self {
        let count = series.len() - 1;
        let cuts = places.iter().map(|place| place - 1);
        let mut ends: Vec<usize> = std::iter::once(0).chain(cuts).chain([count]).collect();
        ends.dedup();
        let parts: Vec<(usize, usize)> = ends.windows(2).map(|pair| (pair[0], pair[1])).collect();
        let centred = |figures: &[f64]| -> Vec<f64> {
            let of_part = |&(from, to): &(usize, usize)| {
                let part = &figures[from..to];
                let mean = part.iter().sum::<f64>() / part.len() as f64;
                part.iter().map(move |figure| figure - mean)
            };
            parts.iter().flat_map(of_part).collect()
        };
        let (before, own) = (centred(&series[..count]), centred(&series[1..]));
        let before_squares: f64 = before.iter().map(|figure| figure * figure).sum();
        let products: f64 = before.iter().zip(&own).map(|(a, b)| a * b).sum();
        let correlation = if before_squares > 0.0 {
            products / before_squares
        } else {
            0.0
        };
        let residuals = own.iter().zip(&before);
        let residuals: Vec<f64> = residuals
            .map(|(own, before)| own - correlation * before)
            .collect();
        Self {
            squares: residuals.iter().map(|residual| residual * residual).sum(),
            parts,
            before,
            before_squares,
            correlation,
            residuals,
        }
    }

    /// Without most of what an estimate from few figures is too low by (Kendall 1954).
    fn unbiased(&self) -> f64 {
        let bias = (1.0 + 3.0 * self.correlation) / self.residuals.len() as f64;
        (self.correlation + bias).clamp(0.0, CORRELATION_MAX)
    }

    /// The one more change that leaves least of the squares, and how much that is.
    fn best_change(&self) -> Option<(usize, f64)> {
        let mut best: Option<(usize, f64)> = None;
        for &(from, to) in &self.parts {
            let (mut residuals, mut before) = (0.0, 0.0);
            for at in (from + LEVEL_MIN..to).rev() {
                residuals += self.residuals[at];
                before += self.before[at];
                let (after, all) = ((to - at) as f64, (to - from) as f64);
                if to - at < LEVEL_MIN {
                    continue;
                }
                // What the autoregression does not take of it already.
                let own = after * (all - after) / all - before * before / self.before_squares;
                let less = residuals * residuals / own;
                if own > f64::EPSILON * all && best.is_none_or(|(_, most)| less > most) {
                    best = Some((at + 1, less));
                }
            }
        }
        best.map(|(place, less)| (place, (self.squares - less).max(0.0)))
    }
}

/// The share of the squares that so many best changes leave, each found beside those before.
fn left(series: &[f64], places: &[usize], count: usize) -> f64 {
    let mut places = places.to_vec();
    let mut fit = Fit::of(series, &places);
    let all = fit.squares;
    let mut left = all;
    for number in 0..count {
        let Some((place, squares)) = fit.best_change() else {
            break;
        };
        left = squares;
        if number + 1 < count {
            places.push(place);
            places.sort_unstable();
            fit = Fit::of(series, &places);
        }
    }
    if all > 0.0 { left / all } else { 1.0 }
}

/// How rare it is that so many more changes leave so little in series like this one, which has changes at these
/// places and a correlation of its own.
pub(crate) fn rareness(
    series: &[f64],
    places: &[usize],
    count: usize,
    options: &ChangeOptions,
    rng: &mut Rng,
) -> f64 {
    let seen = left(series, places, count) * (1.0 + 1e-12);
    let fit = Fit::of(series, places);
    let correlation = fit.unbiased();
    let deviation = (fit.squares / fit.residuals.len() as f64).sqrt();
    let levels = levels(series, places);
    let mut as_little = 0;
    let mut drawn = vec![0.0; series.len()];
    for _ in 0..options.permutations {
        let mut state = deviation * rng.normal() / (1.0 - correlation * correlation).sqrt();
        for (figure, level) in drawn.iter_mut().zip(&levels) {
            *figure = level + state;
            state = correlation * state + deviation * rng.normal();
        }
        if left(&drawn, places, count) <= seen {
            as_little += 1;
        }
    }
    f64::from(as_little + 1) / (options.permutations + 1) as f64
}

/// The mean of its part for each figure.
fn levels(series: &[f64], places: &[usize]) -> Vec<f64> {
    let mut levels = Vec::with_capacity(series.len());
    let mut from = 0;
    for &to in places.iter().chain([&series.len()]) {
        let mean = series[from..to].iter().sum::<f64>() / (to - from) as f64;
        levels.resize(to, mean);
        from = to;
    }
    levels
}

/// The correlation from one figure to the next, as if the level never changed.
pub(crate) fn correlation(series: &[f64]) -> f64 {
    Fit::of(series, &[]).unbiased()
}

/// Of changes at these places those that count beside the others; the weakest goes first.
pub(crate) fn pruned(
    series: &[f64],
    mut places: Vec<usize>,
    options: &ChangeOptions,
    rng: &mut Rng,
) -> Vec<usize> {
    let without = |places: &[usize], at: usize| -> Vec<usize> {
        let others = places.iter().enumerate().filter(|(other, _)| *other != at);
        others.map(|(_, place)| *place).collect()
    };
    while places.len() > 1 {
        let squares = |at: usize| Fit::of(series, &without(&places, at)).squares;
        let all = (0..places.len()).map(|at| (at, squares(at)));
        let Some((weakest, _)) = all.min_by(|a, b| a.1.total_cmp(&b.1)) else {
            break;
        };
        let others = without(&places, weakest);
        if rareness(series, &others, 1, options, rng) <= options.size {
            break;
        }
        places = others;
    }
    places
}

#[cfg(test)]
mod tests {
    use super::*;

    /// By the normal equations of two levels and the figure before, without any of the sums above.
    fn squares_by_definition(series: &[f64], place: usize) -> f64 {
        let rows: Vec<([f64; 3], f64)> = (1..series.len())
            .map(|t| {
                let is_after = f64::from(u8::from(t >= place));
                ([1.0, series[t - 1], is_after], series[t])
            })
            .collect();
        let mut equations = [[0.0; 4]; 3];
        for (row, own) in &rows {
            for (equation, a) in equations.iter_mut().zip(row) {
                for (cell, b) in equation.iter_mut().zip(row.iter().chain([own])) {
                    *cell += a * b;
                }
            }
        }
        for pivot in 0..3 {
            let by = equations[pivot];
            for (at, equation) in equations.iter_mut().enumerate() {
                if at != pivot {
                    let times = equation[pivot] / by[pivot];
                    equation
                        .iter_mut()
                        .zip(by)
                        .for_each(|(cell, by)| *cell -= times * by);
                }
            }
        }
        let found: Vec<f64> = (0..3)
            .map(|at| equations[at][3] / equations[at][at])
            .collect();
        let residual = |(row, own): &([f64; 3], f64)| {
            own - row.iter().zip(&found).map(|(a, b)| a * b).sum::<f64>()
        };
        rows.iter().map(|row| residual(row).powi(2)).sum()
    }

    fn drawn(count: usize, seed: u64) -> Vec<f64> {
        let mut rng = Rng::new(seed);
        (0..count).map(|_| 100.0 + rng.normal()).collect()
    }

    #[test]
    fn the_best_change_is_that_of_the_least_squares() {
        let mut series = drawn(20, 5);
        series[12..].iter_mut().for_each(|figure| *figure += 2.0);
        let all = (1 + LEVEL_MIN..series.len() - LEVEL_MIN + 1)
            .map(|place| (place, squares_by_definition(&series, place)));
        let (place, least) = all.min_by(|a, b| a.1.total_cmp(&b.1)).unwrap();
        let (found, squares) = Fit::of(&series, &[]).best_change().unwrap();
        assert_eq!(found, place);
        assert!((squares - least).abs() < 1e-9, "{squares} {least}");
        assert!((Fit::of(&series, &[place]).squares - least).abs() < 1e-9);
    }

    #[test]
    fn a_level_that_is_fitted_is_no_correlation() {
        let mut series = drawn(60, 3);
        series[30..].iter_mut().for_each(|figure| *figure += 4.0);
        assert!(correlation(&series) > 0.7);
        assert!(Fit::of(&series, &[30]).unbiased() < 0.2);
    }

    #[test]
    fn what_adds_nothing_to_the_other_changes_is_pruned() {
        let mut series = drawn(60, 7);
        series[20..].iter_mut().for_each(|figure| *figure += 5.0);
        let options = ChangeOptions {
            permutations: 199,
            ..ChangeOptions::default()
        };
        let places = pruned(&series, vec![20, 40], &options, &mut Rng::new(1));
        assert_eq!(places, [20]);
        series[40..].iter_mut().for_each(|figure| *figure += 5.0);
        let places = pruned(&series, vec![20, 40], &options, &mut Rng::new(1));
        assert_eq!(places, [20, 40]);
    }
}
