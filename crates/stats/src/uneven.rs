//! What a trend does not see: seconds with a hole, a rhythm, another level for a while.

use std::f64::consts::TAU;

use crate::order;

/// A second is a hole below this share of the median …
const HOLE: f64 = 0.5;
/// … and so many robust standard deviations below it. Noise does not reach that far.
const HOLE_DEVIATIONS: f64 = 5.0;
/// Of the median: seconds that are all alike have no deviation.
const DEVIATION_MIN: f64 = 0.02;
/// What makes the median absolute deviation of normal figures their standard deviation.
const MAD_TO_DEVIATION: f64 = 1.4826;

/// A rhythm goes up and down by this share of the mean.
const SWING_MIN: f64 = 0.2;
/// It is so much of the variance. In noise whose neighbours are alike no single period is.
const RHYTHM_SHARE_MIN: f64 = 0.5;
/// It is this unlikely to be chance, if seconds are independent.
const RHYTHM_SIGNIFICANCE: f64 = 0.001;
/// It comes at least so often: less is a step.
const CYCLES_MIN: usize = 3;

/// A level differs by this share.
const LEVEL_CHANGE_MIN: f64 = 0.1;
/// And by so many standard errors. Where it begins and ends was chosen to make it differ: see the
/// simulation in the tests.
const LEVEL_ERRORS: f64 = 7.0;
/// It lasts at least so many seconds (or means of seconds, in long trials), and so does the rest.
const LEVEL_MIN: usize = 3;
/// Longer series are averaged to at most so many figures before levels are looked for.
const LEVELS_MAX: usize = 120;

/// How a series without a trend is not steady.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Uneven {
    /// So many seconds lie below half of the median.
    Holes { count: usize, lowest: f64 },
    /// It goes up and down: the period in seconds, and from top to bottom as a share of the mean.
    Alternates { period: f64, swing: f64 },
    /// Another level in these seconds, from 0, the end not included.
    Level {
        from: usize,
        to: usize,
        inside: f64,
        outside: f64,
    },
}

/// The first of these that is found. `series` is finite and has at least ten figures.
pub(crate) fn uneven(series: &[f64]) -> Option<Uneven> {
    holes(series)
        .or_else(|| alternates(series))
        .or_else(|| level(series))
}

fn holes(series: &[f64]) -> Option<Uneven> {
    let median = order::median(&order::sorted(series));
    let away: Vec<f64> = series.iter().map(|y| (y - median).abs()).collect();
    let deviation = MAD_TO_DEVIATION * order::median(&order::sorted(&away));
    let deviation = deviation.max(DEVIATION_MIN * median.abs());
    let low = (HOLE * median).min(median - HOLE_DEVIATIONS * deviation);
    let below = series.iter().copied().filter(|y| *y < low);
    let lowest = below.clone().fold(f64::INFINITY, f64::min);
    match below.count() {
        0 => None,
        count => Some(Uneven::Holes { count, lowest }),
    }
}

/// The strongest period, by Fisher's test (1929, "Tests of significance in harmonic analysis"): its
/// share g of the m ordinates of the periodogram has P(g > x) of at most m (1 - x)^(m - 1).
fn alternates(series: &[f64]) -> Option<Uneven> {
    let (n, mean) = (series.len() as f64, order::mean(series));
    let mut total = 0.0;
    let mut strongest = (0.0, 0);
    let frequencies = CYCLES_MIN..=series.len() / 2;
    for cycles in frequencies.clone() {
        let power = power(series, mean, cycles);
        total += power;
        if power > strongest.0 {
            strongest = (power, cycles);
        }
    }
    // What has fewer cycles is variance too.
    let variance: f64 = series.iter().map(|y| (y - mean).powi(2)).sum();
    let (power, cycles) = strongest;
    if total <= 0.0 || mean <= 0.0 {
        return None;
    }
    let m = frequencies.count() as f64;
    let chance = m * (1.0 - power / total).max(0.0).powf(m - 1.0);
    // A wave's squares are half of its amplitude's; those of up and down by seconds are all of it.
    let is_fastest = 2 * cycles == series.len();
    let amplitude = (if is_fastest { 1.0 } else { 2.0 } * power / n).sqrt();
    let swing = 2.0 * amplitude / mean;
    let is_one =
        power >= RHYTHM_SHARE_MIN * variance && chance < RHYTHM_SIGNIFICANCE && swing >= SWING_MIN;
    is_one.then_some(Uneven::Alternates {
        period: n / cycles as f64,
        swing,
    })
}

/// The part of the sum of squares that a wave of so many cycles explains.
fn power(series: &[f64], mean: f64, cycles: usize) -> f64 {
    let n = series.len();
    let (mut real, mut imaginary) = (0.0, 0.0);
    // The angle goes on by rotation: a sine for each figure would take a second for two hours.
    let step = TAU * cycles as f64 / n as f64;
    let (rotate_sin, rotate_cos) = step.sin_cos();
    let (mut sin, mut cos) = (0.0_f64, 1.0_f64);
    for y in series {
        real += (y - mean) * cos;
        imaginary += (y - mean) * sin;
        (sin, cos) = (
            sin * rotate_cos + cos * rotate_sin,
            cos * rotate_cos - sin * rotate_sin,
        );
    }
    let is_fastest = 2 * cycles == n;
    let scale = if is_fastest { 1.0 } else { 2.0 } / n as f64;
    (real * real + imaginary * imaginary) * scale
}

/// The stretch whose mean differs most from that of the rest (circular binary segmentation: Olshen,
/// Venkatraman, Lucito & Wingler 2004), in standard errors that allow for neighbours that are alike.
fn level(series: &[f64]) -> Option<Uneven> {
    let size = series.len().div_ceil(LEVELS_MAX);
    let means: Vec<f64> = series.chunks_exact(size).map(order::mean).collect();
    let n = means.len();
    let mut sums = vec![0.0];
    sums.extend(means.iter().scan(0.0, |sum, y| {
        *sum += y;
        Some(*sum)
    }));
    let sides = |from: usize, to: usize| {
        let (inside, k) = (sums[to] - sums[from], (to - from) as f64);
        (inside / k, (sums[n] - inside) / (n as f64 - k))
    };
    let mut best = (0.0, 0, 0);
    for from in 0..n {
        for to in from + LEVEL_MIN..=n {
            let k = (to - from) as f64;
            if n - (to - from) < LEVEL_MIN {
                break;
            }
            let (inside, outside) = sides(from, to);
            // The sum of squares that the two levels explain.
            let explained = (inside - outside).powi(2) * k * (n as f64 - k) / n as f64;
            if explained > best.0 {
                best = (explained, from, to);
            }
        }
    }
    let (_, from, to) = best;
    if to == 0 {
        return None;
    }
    let (inside, outside) = sides(from, to);
    let rest: Vec<f64> = means
        .iter()
        .enumerate()
        .map(|(at, y)| {
            y - if (from..to).contains(&at) {
                inside
            } else {
                outside
            }
        })
        .collect();
    let change = (inside - outside).abs();
    let is_one = change >= LEVEL_CHANGE_MIN * outside.abs().max(inside.abs())
        && change > LEVEL_ERRORS * error(&rest, (to - from) as f64);
    is_one.then_some(Uneven::Level {
        from: from * size,
        to: to * size,
        inside,
        outside,
    })
}

/// The standard error of the difference of two means, of `k` figures and of the others, from what is
/// left of all when both are taken away.
fn error(rest: &[f64], k: f64) -> f64 {
    let n = rest.len() as f64;
    let squares: f64 = rest.iter().map(|y| y * y).sum();
    if squares == 0.0 {
        return 0.0;
    }
    let products: f64 = rest.windows(2).map(|pair| pair[0] * pair[1]).sum();
    // Freed of its bias at small n, for a mean and a step that were taken away (Marriott & Pope 1954).
    let alike = ((products / squares + 2.0 / n) / (1.0 - 5.0 / n).max(0.5)).clamp(0.0, 0.9);
    let inflation = (1.0 + alike) / (1.0 - alike);
    let variance = squares / (n - 2.0) * inflation;
    (variance * (1.0 / k + 1.0 / (n - k))).sqrt()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rng::Rng;

    /// Committed transactions of each second of a Poisson process (its normal approximation, from
    /// hundreds a second on).
    fn poisson(rng: &mut Rng, per_s: f64) -> f64 {
        (per_s + per_s.sqrt() * rng.normal()).max(0.0).round()
    }

    fn noisy(seed: u64, n: usize, noise: f64, level: impl Fn(usize) -> f64) -> Vec<f64> {
        let mut rng = Rng::new(seed);
        (0..n)
            .map(|i| level(i) * (1.0 + noise * rng.normal()))
            .collect()
    }

    #[test]
    fn a_steady_poisson_process_is_hardly_ever_uneven() {
        for (n, per_s) in [(10, 100.0), (30, 1_000.0), (60, 200.0), (300, 5_000.0)] {
            let mut rng = Rng::new(5);
            let mut found = 0;
            for _ in 0..1_000 {
                let series: Vec<f64> = (0..n).map(|_| poisson(&mut rng, per_s)).collect();
                found += usize::from(uneven(&series).is_some());
            }
            println!("{n} s of {per_s}/s: {found} of 1000");
            assert!(found <= 10, "{n} s of {per_s}/s: {found} of 1000");
        }
    }

    #[test]
    fn neighbours_that_are_alike_are_seldom_taken_for_a_rhythm_or_a_level() {
        for n in [10, 20, 60, 300] {
            for (noise, alike) in [(0.05, 0.5_f64), (0.2, 0.0), (0.2, 0.5), (0.2, 0.7)] {
                let mut rng = Rng::new(6);
                let mut kinds = [0; 3];
                for _ in 0..1_000 {
                    let mut y = rng.normal();
                    let mut next = || {
                        y = alike * y + (1.0 - alike * alike).sqrt() * rng.normal();
                        1000.0 * (1.0 + noise * y)
                    };
                    let series: Vec<f64> = (0..n).map(|_| next()).collect();
                    match uneven(&series) {
                        Some(Uneven::Holes { .. }) => kinds[0] += 1,
                        Some(Uneven::Alternates { .. }) => kinds[1] += 1,
                        Some(Uneven::Level { .. }) => kinds[2] += 1,
                        None => {}
                    }
                }
                let found: usize = kinds.iter().sum();
                println!("{n} s, noise {noise}, autocorrelation {alike}: {kinds:?} of 1000");
                assert!(found <= 50, "{n} s, {noise}, {alike}: {kinds:?} of 1000");
            }
        }
    }

    #[test]
    fn one_second_without_service_in_five_is_found() {
        for n in [10, 20, 60, 300] {
            for seed in 0..100 {
                let series = noisy(seed, n, 0.05, |i| if i % 5 == 3 { 20.0 } else { 1000.0 });
                let found = uneven(&series);
                let holes = n / 5;
                assert!(
                    matches!(found, Some(Uneven::Holes { count, .. }) if count == holes),
                    "{n} s: {found:?}"
                );
            }
        }
        // A single one, too.
        let once = noisy(1, 60, 0.05, |i| if i == 30 { 0.0 } else { 1000.0 });
        let found = Some(Uneven::Holes {
            count: 1,
            lowest: 0.0,
        });
        assert_eq!(uneven(&once), found);
    }

    #[test]
    fn what_goes_up_and_down_is_found_with_its_period() {
        for (n, half, low) in [
            (20, 1, 700.0),
            (30, 3, 700.0),
            (60, 5, 600.0),
            (300, 2, 700.0),
        ] {
            let mut hits = 0;
            for seed in 0..100 {
                let level = |i: usize| {
                    if (i / half).is_multiple_of(2) {
                        1000.0
                    } else {
                        low
                    }
                };
                let found = uneven(&noisy(seed, n, 0.05, level));
                let Some(Uneven::Alternates { period, swing }) = found else {
                    continue;
                };
                assert!((period - 2.0 * half as f64).abs() < 0.5, "{period}");
                assert!(swing > 0.25, "{swing}");
                hits += 1;
            }
            assert!(hits >= 95, "{n} s, {half} s: {hits} of 100");
        }
    }

    #[test]
    fn another_level_for_a_while_is_found_where_it_is() {
        for (n, from, to) in [(20, 8, 13), (30, 10, 20), (60, 25, 40), (300, 100, 200)] {
            let mut hits = 0;
            for seed in 0..100 {
                let level = |i: usize| {
                    if (from..to).contains(&i) {
                        750.0
                    } else {
                        1000.0
                    }
                };
                let found = uneven(&noisy(seed, n, 0.03, level));
                let Some(Uneven::Level {
                    from: begin,
                    to: end,
                    inside,
                    outside,
                }) = found
                else {
                    continue;
                };
                // Of a circle: which part is the stretch and which the rest is the same.
                assert!(
                    begin.abs_diff(from) <= 5 && end.abs_diff(to) <= 5,
                    "{found:?}"
                );
                assert!(
                    (700.0..800.0).contains(&inside) && outside > 950.0,
                    "{found:?}"
                );
                hits += 1;
            }
            assert!(hits >= 95, "{n} s: {hits} of 100");
        }
    }

    #[test]
    fn seconds_that_are_all_alike_are_even() {
        assert_eq!(uneven(&[0.0; 10]), None);
        assert_eq!(uneven(&[7.0; 100]), None);
    }
}
