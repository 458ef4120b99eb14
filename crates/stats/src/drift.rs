//! When repeats ran: whether the sides took turns, and whether time explains a difference as well as
//! the change does.
//!
//! Sides that ran one after the other differ by the change and by all that happened in between: a
//! machine that warms up, a disk that fills. Sides that ran by turns (A B B A) share it.

use std::fmt;

use crate::normal;
use crate::order::{mean, sorted};
use crate::words::{percent, signed_percent};

/// Sides take turns when place in time and side correlate by less than this; the turns A B A B … of
/// five repeats a side have 0.17, of three 0.29.
const BY_TURNS: f64 = 0.3;

/// When each repeat began, in seconds of one clock, in the order of the repeats.
#[derive(Debug, Clone, PartialEq)]
pub struct Starts {
    pub a: Vec<f64>,
    pub b: Vec<f64>,
}

impl Starts {
    /// Whether repeat i of A and repeat i of B ran one after the other, with none of another pair in
    /// between.
    pub fn are_pairs(&self) -> bool {
        if self.a.len() != self.b.len() {
            return false;
        }
        let side = |starts: &[f64], is_b: bool| -> Vec<(f64, bool, usize)> {
            let numbered = starts.iter().enumerate();
            numbered.map(|(i, &start)| (start, is_b, i)).collect()
        };
        let mut all = [side(&self.a, false), side(&self.b, true)].concat();
        all.sort_by(|one, other| one.0.total_cmp(&other.0));
        let mut turns = all.chunks(2);
        turns.all(|turn| matches!(turn, [one, other] if one.1 != other.1 && one.2 == other.2))
    }
}

/// What time has to do with a difference.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Drift {
    /// Whether the sides took turns.
    pub by_turns: bool,
    /// From the middle of A's starts to the middle of B's, in seconds.
    pub apart_s: f64,
    /// From the first repeat to the last, by the line that runs through both sides beside the change,
    /// as a share: -0.02 is 2 % less at the end.
    pub first_to_last: f64,
    /// Its interval, at the level of the figure's own.
    pub first_to_last_interval: [f64; 2],
    /// What that line foretells for B from A, as a share.
    pub foretold: f64,
    /// From A's first repeat to its last, by a line through A alone, as a share; `None` where A's
    /// repeats began at one moment.
    pub within_a: Option<f64>,
    pub within_b: Option<f64>,
    /// The figures at the first and at the last start, by one line through all repeats with no step
    /// between A and B (of logarithms: an exponential).
    pub line: [f64; 2],
    /// The standard deviation of the repeats around such lines beside a step.
    pub noise: f64,
    /// The share of the spread of all repeats that one line over time explains, with no step.
    pub time_explains: f64,
    /// The share that a step between A and B explains, with no line.
    pub change_explains: f64,
    /// Whether time explains as much as the change: the two cannot be separated.
    pub hides_change: bool,
}

impl fmt::Display for Drift {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let order = if self.by_turns {
            "the sides ran by turns"
        } else {
            "the sides did not run by turns"
        };
        let [time, change] = [self.time_explains, self.change_explains].map(percent);
        write!(
            f,
            "{order}; drift {} from the first repeat to the last; time explains {time} of the \
             spread, the change {change}",
            signed_percent(self.first_to_last)
        )
    }
}

/// What time has to do with the difference between A and B (figures, or their logarithms). `differ`
/// says whether a test found one, `level` is that test's. `None` without times that differ.
///
/// Sides that took turns are never withdrawn. Others are, when
/// - one line over time leaves no more of the spread than a step between A and B, or
/// - beside such a line the step is not significant any more (t test; its error is widened by
///   ((1 + r) / (1 - r))^½ with r the autocorrelation of the rest at lag 1, freed of its bias, so that
///   repeats that follow a wandering machine are not taken for independent ones), or
/// - no difference was found, but each side drifts by itself: a drift may have hidden it.
pub(crate) fn drift(
    a: &[f64],
    b: &[f64],
    starts: &Starts,
    differ: bool,
    level: f64,
) -> Option<Drift> {
    let count = a.len() + b.len();
    if starts.a.len() != a.len() || starts.b.len() != b.len() || count < 5 {
        return None;
    }
    let mut all: Vec<(f64, f64, f64)> = Vec::with_capacity(count);
    all.extend(starts.a.iter().zip(a).map(|(&at, &y)| (at, 0.0, y)));
    all.extend(starts.b.iter().zip(b).map(|(&at, &y)| (at, 1.0, y)));
    all.sort_by(|one, other| one.0.total_cmp(&other.0));
    let times = centred(all.iter().map(|row| row.0).collect());
    let places = centred((0..count).map(|place| place as f64).collect());
    let sides = centred(all.iter().map(|row| row.1).collect());
    let mean_of_all = mean(&all.iter().map(|row| row.2).collect::<Vec<f64>>());
    let figures = centred(all.iter().map(|row| row.2).collect());
    let total = dot(&figures, &figures);
    let (tt, gg, tg) = (
        dot(&times, &times),
        dot(&sides, &sides),
        dot(&times, &sides),
    );
    let determinant = tt * gg - tg * tg;
    if tt <= 0.0 || determinant <= 1e-12 * tt * gg {
        return None;
    }
    let by_turns = correlation(&places, &sides).abs() <= BY_TURNS;
    let (ty, gy) = (dot(&times, &figures), dot(&sides, &figures));
    // y = slope t + step g + rest, by least squares.
    let slope = (gg * ty - tg * gy) / determinant;
    let step = (tt * gy - tg * ty) / determinant;
    let rest: Vec<f64> = (0..count)
        .map(|i| figures[i] - slope * times[i] - step * sides[i])
        .collect();
    let share = |explained: f64| {
        if total > 0.0 {
            (explained / total).clamp(0.0, 1.0)
        } else {
            0.0
        }
    };
    let (time_explains, change_explains) = (share(ty * ty / tt), share(gy * gy / gg));
    let freedom = count as f64 - 3.0;
    let error = (dot(&rest, &rest) / freedom).sqrt() * widened(&rest);
    let critical = t_of_upper_tail((1.0 - level) / 2.0, freedom);
    let stands_out = |estimate: f64, of: f64| {
        estimate.abs() > critical * error * (of / determinant).sqrt() && estimate != 0.0
    };
    let hides_change = !by_turns
        && if differ {
            time_explains >= change_explains || !stands_out(step, tt)
        } else {
            stands_out(slope, gg)
        };
    let apart_s = middle(&starts.b) - middle(&starts.a);
    let span = times[count - 1] - times[0];
    let reach = critical * error * (gg / determinant).sqrt();
    let level_at = |at: f64| mean_of_all + ty / tt * at;
    Some(Drift {
        by_turns,
        apart_s,
        first_to_last: (slope * span).exp_m1(),
        first_to_last_interval: [slope - reach, slope + reach].map(|of| (of * span).exp_m1()),
        within_a: within(&starts.a, a),
        within_b: within(&starts.b, b),
        line: [level_at(times[0]), level_at(times[count - 1])],
        noise: (dot(&rest, &rest) / freedom).sqrt(),
        foretold: (slope * apart_s).exp_m1(),
        time_explains,
        change_explains,
        hides_change,
    })
}

/// From the first of these repeats to the last, by a line through them alone, as a share.
fn within(starts: &[f64], figures: &[f64]) -> Option<f64> {
    let (times, figures) = (centred(starts.to_vec()), centred(figures.to_vec()));
    let square = dot(&times, &times);
    let ends = sorted(starts);
    let span = ends.last()? - ends.first()?;
    (square > 0.0).then(|| (dot(&times, &figures) / square * span).exp_m1())
}

/// How much wider the error of a step is than that of independent repeats.
fn widened(rest: &[f64]) -> f64 {
    let (n, square) = (rest.len() as f64, dot(rest, rest));
    if square <= 0.0 {
        return 1.0;
    }
    let products = rest.windows(2).map(|pair| pair[0] * pair[1]).sum::<f64>();
    // The rest of a fit leans to the other side of 0 (Marriott & Pope 1954).
    let freed = (products / square + 3.0 / n) / (1.0 - 6.0 / n).max(0.5);
    let r = freed.clamp(0.0, 0.95);
    ((1.0 + r) / (1.0 - r)).sqrt()
}

fn centred(values: Vec<f64>) -> Vec<f64> {
    let middle = mean(&values);
    values.into_iter().map(|v| v - middle).collect()
}

fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

fn correlation(a: &[f64], b: &[f64]) -> f64 {
    dot(a, b) / (dot(a, a) * dot(b, b)).sqrt()
}

fn middle(starts: &[f64]) -> f64 {
    crate::order::median(&sorted(starts))
}

/// Student's t with this tail, by its expansion at the normal (Cornish & Fisher 1938; Abramowitz &
/// Stegun 1964, 26.7.5).
fn t_of_upper_tail(tail: f64, freedom: f64) -> f64 {
    let z = normal::z_of_upper_tail(tail);
    let g1 = (z.powi(3) + z) / 4.0;
    let g2 = (5.0 * z.powi(5) + 16.0 * z.powi(3) + 3.0 * z) / 96.0;
    let g3 = (3.0 * z.powi(7) + 19.0 * z.powi(5) + 17.0 * z.powi(3) - 15.0 * z) / 384.0;
    z + g1 / freedom + g2 / freedom.powi(2) + g3 / freedom.powi(3)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn one_after_the_other(n: usize) -> Starts {
        let minutes = |from: usize| (from..from + n).map(|i| 60.0 * i as f64).collect();
        Starts {
            a: minutes(0),
            b: minutes(n),
        }
    }

    /// A B B A …
    fn by_turns(n: usize) -> Starts {
        let at = |first: bool| {
            (0..n)
                .map(|i| 120.0 * i as f64 + if (i % 2 == 0) == first { 0.0 } else { 60.0 })
                .collect()
        };
        Starts {
            a: at(true),
            b: at(false),
        }
    }

    /// Neighbours that are not alike, of 1 %.
    fn noise(i: usize) -> f64 {
        [0.01, -0.008, 0.004, -0.01, 0.007, -0.003][i % 6]
    }

    fn on_a_line(starts: &[f64], step: f64) -> Vec<f64> {
        let noisy = starts.iter().enumerate();
        noisy
            .map(|(i, at)| 7.0 - 0.1 * at / 960.0 + step + noise(i))
            .collect()
    }

    #[test]
    fn students_t_is_that_of_the_tables() {
        for (tail, freedom, t) in [
            (0.025, 10.0, 2.228),
            (0.025, 17.0, 2.110),
            (0.005, 9.0, 3.250),
        ] {
            assert!((t_of_upper_tail(tail, freedom) - t).abs() < 0.01, "{t}");
        }
    }

    #[test]
    fn a_line_through_both_sides_hides_the_change_and_a_step_does_not() {
        let starts = one_after_the_other(8);
        let (a, b) = (on_a_line(&starts.a, 0.0), on_a_line(&starts.b, 0.0));
        let found = drift(&a, &b, &starts, true, 0.95).unwrap();
        assert!(found.hides_change && !found.by_turns, "{found:?}");
        assert!((found.foretold + 0.05).abs() < 0.02, "{found:?}");
        assert_eq!(found.apart_s, 480.0);
        let [first, last] = found.line;
        assert!(
            (first - 7.0).abs() < 0.02 && (last - 6.9).abs() < 0.02,
            "{found:?}"
        );
        // Seven of the fifteen minutes.
        for side in [found.within_a, found.within_b] {
            assert!((side.unwrap() + 0.045).abs() < 0.02, "{found:?}");
        }
        let [low, high] = found.first_to_last_interval;
        assert!(
            low < found.first_to_last && found.first_to_last < high,
            "{found:?}"
        );
        assert!((0.003..0.02).contains(&found.noise), "{found:?}");
        assert!(found.time_explains > 0.9, "{found:?}");
        let flat =
            |n: usize, step: f64| -> Vec<f64> { (0..n).map(|i| 7.0 + step + noise(i)).collect() };
        let found = drift(&flat(8, 0.0), &flat(8, -0.2), &starts, true, 0.95).unwrap();
        assert!(!found.hides_change, "{found:?}");
        assert!(found.change_explains > found.time_explains, "{found:?}");
        // Without a difference, a drift within the sides may hide one.
        let (a, b) = (on_a_line(&starts.a, 0.0), on_a_line(&starts.b, 0.05));
        assert!(drift(&a, &b, &starts, false, 0.95).unwrap().hides_change);
        assert!(
            !drift(&flat(8, 0.0), &flat(8, 0.0), &starts, false, 0.95)
                .unwrap()
                .hides_change
        );
    }

    #[test]
    fn sides_that_took_turns_share_the_drift() {
        let starts = by_turns(8);
        let (a, b) = (on_a_line(&starts.a, 0.0), on_a_line(&starts.b, -0.05));
        let found = drift(&a, &b, &starts, true, 0.95).unwrap();
        assert!(found.by_turns && !found.hides_change, "{found:?}");
        assert!(
            found
                .to_string()
                .starts_with("the sides ran by turns; drift -9"),
            "{found}"
        );
    }

    #[test]
    fn pairs_are_repeats_with_the_same_number_that_ran_one_after_the_other() {
        assert!(by_turns(5).are_pairs());
        assert!(!one_after_the_other(5).are_pairs());
        assert!(one_after_the_other(1).are_pairs());
        let swapped = Starts {
            a: vec![0.0, 3.0],
            b: vec![2.0, 1.0],
        };
        assert!(!swapped.are_pairs());
        let uneven = Starts {
            a: vec![0.0],
            b: vec![1.0, 2.0],
        };
        assert!(!uneven.are_pairs());
    }

    #[test]
    fn times_that_tell_nothing_give_no_drift() {
        let same = Starts {
            a: vec![0.0; 5],
            b: vec![0.0; 5],
        };
        assert_eq!(drift(&[1.0; 5], &[2.0; 5], &same, true, 0.95), None);
        let starts = one_after_the_other(5);
        assert_eq!(drift(&[1.0; 4], &[2.0; 5], &starts, true, 0.95), None);
    }
}
