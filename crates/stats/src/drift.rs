//! When repeats ran: whether the sides took turns, and whether time explains a difference as well as
//! the change does.
//!
//! Sides that ran one after the other differ by the change and by all that happened in between: a
//! machine that warms up, a disk that fills. Sides that ran by turns (A B B A) share it.

use std::fmt;

use crate::order::{mean, sorted};
use crate::student::two_sided_t;
use crate::words::{percent, signed_percent};

/// Sides take turns when place in time and side correlate by less than this; the turns A B A B … of
/// five repeats a side have 0.17, of three 0.29.
const BY_TURNS: f64 = 0.3;

/// A machine that wanders as far in a second as in any other (a random walk) moves the mean of a side from that of the
/// one before it by so many of the standard deviations that it has within a side: ((2 n² + 1) / (3 n))^½ of its steps
/// beside ((n + 1) / 6)^½.
const WANDERS: f64 = 1.95;
/// Degrees of freedom of that standard deviation: of a random walk most is in its slowest parts.
const WANDERS_FREEDOM: usize = 5;

/// When each repeat began, in seconds of one clock, in the order of the repeats.
#[derive(Debug, Clone, PartialEq)]
pub struct Starts {
    pub a: Vec<f64>,
    pub b: Vec<f64>,
}

impl Starts {
    /// Whether all of one side began before all of the other.
    pub fn are_apart(&self) -> bool {
        let first = |side: &[f64]| side.iter().copied().fold(f64::INFINITY, f64::min);
        let last = |side: &[f64]| side.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        last(&self.a) < first(&self.b) || last(&self.b) < first(&self.a)
    }

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
    /// Whether the sides took turns, or their order was drawn.
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
    /// Its interval, of repeats that do not depend on one another.
    pub foretold_interval: [f64; 2],
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

/// What a test found, and how.
pub(crate) struct Tested {
    pub differ: bool,
    pub level: f64,
    /// Whether the order of the repeats was drawn.
    pub is_drawn: bool,
}

/// What time has to do with the difference between A and B (figures, or their logarithms). `None` without times that
/// differ.
///
/// Sides that took turns are never withdrawn. Others are, when
/// - one line over time leaves no more of the spread than a step between A and B, or beside such a line the step is
///   not significant any more (t test; its error is widened by
///   ((1 + r) / (1 - r))^½ with r the autocorrelation of the rest at lag 1, freed of its bias, so that
///   repeats that follow a wandering machine are not taken for independent ones); but not a step beyond all that
///   the sides allow for, or
/// - no difference was found, but each side drifts by itself: a drift may have hidden it.
///
/// Beyond all is what is significant beside a line without that factor, which is hardly known from few repeats, and
/// more than a machine that wanders without a limit makes of the spread within the sides ([`WANDERS`]).
pub(crate) fn drift(a: &[f64], b: &[f64], starts: &Starts, tested: &Tested) -> Option<Drift> {
    let level = tested.level;
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
    let by_turns = tested.is_drawn || correlation(&places, &sides).abs() <= BY_TURNS;
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
    let noise = (dot(&rest, &rest) / freedom).sqrt();
    let error = noise * widened(&rest);
    let critical = two_sided_t(level, count - 3);
    // Of an estimate whose variance is `of` / determinant times that of the noise.
    let reach = |error: f64, of: f64| critical * error * (of / determinant).sqrt();
    let is_significant =
        |estimate: f64, error: f64, of: f64| estimate != 0.0 && estimate.abs() > reach(error, of);
    let is_beyond_all = || {
        let apart = (mean(b) - mean(a)).abs();
        is_significant(step, noise, tt) && apart > wandering(a, b, starts, level)
    };
    let hides_change = !by_turns
        && if tested.differ {
            (time_explains >= change_explains || !is_significant(step, error, tt))
                && !is_beyond_all()
        } else {
            is_significant(slope, error, gg)
        };
    let apart_s = middle(&starts.b) - middle(&starts.a);
    let span = times[count - 1] - times[0];
    let interval = |reach: f64, over: f64| {
        let ends = [slope - reach, slope + reach].map(|of| (of * over).exp_m1());
        [ends[0].min(ends[1]), ends[0].max(ends[1])]
    };
    let level_at = |at: f64| mean_of_all + ty / tt * at;
    Some(Drift {
        by_turns,
        apart_s,
        first_to_last: (slope * span).exp_m1(),
        first_to_last_interval: interval(reach(error, gg), span),
        within_a: within(&starts.a, a),
        within_b: within(&starts.b, b),
        line: [level_at(times[0]), level_at(times[count - 1])],
        noise,
        foretold_interval: interval(reach(noise, gg), apart_s),
        foretold: (slope * apart_s).exp_m1(),
        time_explains,
        change_explains,
        hides_change,
    })
}

/// How far apart a machine that wanders without a limit may move the means of the sides, by the spread within them.
fn wandering(a: &[f64], b: &[f64], starts: &Starts, level: f64) -> f64 {
    let squares = |side: &[f64]| {
        let side = centred(side.to_vec());
        dot(&side, &side)
    };
    let freedom = (a.len() + b.len()).saturating_sub(2).max(1) as f64;
    let spread = ((squares(a) + squares(b)) / freedom).sqrt();
    let ends = [&starts.a, &starts.b].map(|side| {
        let side = sorted(side);
        [side[0], side[side.len() - 1]]
    });
    let lengths = ends.map(|[first, last]| last - first);
    let each = (lengths[0] + lengths[1]) / freedom;
    let gap = (ends[1][0] - ends[0][1]).max(ends[0][0] - ends[1][1]) - each;
    // The means of two walks of this length with a gap between them.
    let length = 0.5 * (lengths[0] + lengths[1]) + each;
    let farther = (1.0 + 1.5 * gap.max(0.0) / length).sqrt();
    two_sided_t(level, WANDERS_FREEDOM) * WANDERS * spread * farther
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

    fn of(a: &[f64], b: &[f64], starts: &Starts, differ: bool) -> Option<Drift> {
        let tested = Tested {
            differ,
            level: 0.95,
            is_drawn: false,
        };
        drift(a, b, starts, &tested)
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
    fn a_line_through_both_sides_hides_the_change_and_a_step_does_not() {
        let starts = one_after_the_other(8);
        let (a, b) = (on_a_line(&starts.a, 0.0), on_a_line(&starts.b, 0.0));
        let found = of(&a, &b, &starts, true).unwrap();
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
        let found = of(&flat(8, 0.0), &flat(8, -0.2), &starts, true).unwrap();
        assert!(!found.hides_change, "{found:?}");
        assert!(found.change_explains > found.time_explains, "{found:?}");
        // Without a difference, a drift within the sides may hide one.
        let (a, b) = (on_a_line(&starts.a, 0.0), on_a_line(&starts.b, 0.05));
        assert!(of(&a, &b, &starts, false).unwrap().hides_change);
        assert!(
            !of(&flat(8, 0.0), &flat(8, 0.0), &starts, false)
                .unwrap()
                .hides_change
        );
    }

    #[test]
    fn a_step_beyond_all_that_the_sides_allow_for_is_a_difference() {
        let starts = one_after_the_other(5);
        let log = |values: [f64; 5]| values.map(f64::ln).to_vec();
        // A busy machine: neighbours are alike, and it slows down by a fifth.
        let a = log([360.0, 372.0, 330.0, 318.0, 290.0]);
        let b = log([50.0, 48.0, 46.0, 41.0, 40.0]);
        let found = of(&a, &b, &starts, true).unwrap();
        assert!(!found.hides_change, "{found:?}");
        assert!((-0.4..-0.1).contains(&found.foretold), "{found:?}");
        let [low, high] = found.foretold_interval;
        assert!(
            -0.8 < low && low < found.foretold && found.foretold < high,
            "{found:?}"
        );
        // A tenth of it is not beyond what such a machine does.
        let tenth: Vec<f64> = a.iter().zip(&b).map(|(a, b)| a + (b - a) / 10.0).collect();
        assert!(of(&a, &tenth, &starts, true).unwrap().hides_change);
        // A day later it may have wandered anywhere.
        let later = Starts {
            a: starts.a.clone(),
            b: starts.b.iter().map(|at| at + 86_400.0).collect(),
        };
        let allowed = [&starts, &later].map(|starts| wandering(&a, &b, starts, 0.95));
        assert!(allowed[1] > 10.0 * allowed[0], "{allowed:?}");
        assert!(of(&a, &b, &later, true).unwrap().hides_change);
    }

    #[test]
    fn an_order_that_was_drawn_is_turns_whatever_came_of_it() {
        // A A B A A B A B B B: place and side correlate by 0.59.
        let starts = Starts {
            a: vec![0.0, 1.0, 3.0, 4.0, 6.0],
            b: vec![2.0, 5.0, 7.0, 8.0, 9.0],
        };
        let (a, b) = (on_a_line(&starts.a, 0.0), on_a_line(&starts.b, 0.0));
        assert!(!of(&a, &b, &starts, true).unwrap().by_turns);
        let tested = Tested {
            differ: true,
            level: 0.95,
            is_drawn: true,
        };
        let found = drift(&a, &b, &starts, &tested).unwrap();
        assert!(found.by_turns && !found.hides_change);
        assert!(!starts.are_apart() && one_after_the_other(3).are_apart());
    }

    #[test]
    fn sides_that_took_turns_share_the_drift() {
        let starts = by_turns(8);
        let (a, b) = (on_a_line(&starts.a, 0.0), on_a_line(&starts.b, -0.05));
        let found = of(&a, &b, &starts, true).unwrap();
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
        assert_eq!(of(&[1.0; 5], &[2.0; 5], &same, true), None);
        let starts = one_after_the_other(5);
        assert_eq!(of(&[1.0; 4], &[2.0; 5], &starts, true), None);
    }
}
