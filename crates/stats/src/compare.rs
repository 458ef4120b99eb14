//! B beside A: how far apart, how sure, and a verdict.

use std::fmt;

use crate::bootstrap::Bootstrap;
use crate::interval::Interval;
use crate::ranks::{self, Shift};
use crate::sample::{Sample, Summary};
use crate::words::{percent, signed_percent};

/// Fewer repeats a side are not compared: with four, a test at 5 % finds only complete separation.
pub const MIN_REPEATS_TO_COMPARE: usize = 5;

/// How to compare.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct CompareOptions {
    /// Confidence of the intervals; 1 - level is the size of the test.
    pub level: f64,
    /// Whether repeat i of A and repeat i of B were run one after the other and are compared as
    /// a pair, so that a drift that both shared cancels out.
    pub paired: bool,
    /// For the intervals of each side's own median.
    pub bootstrap: Bootstrap,
}

impl Default for CompareOptions {
    fn default() -> Self {
        Self {
            level: 0.95,
            paired: false,
            bootstrap: Bootstrap::default(),
        }
    }
}

/// Why nothing could be compared.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum CompareError {
    /// Pairs were asked for and the sides have different numbers of repeats.
    Unpaired {
        /// Repeats of A.
        a: usize,
        /// Repeats of B.
        b: usize,
    },
    /// The level is not at least 0.5 and below 1.
    Level(f64),
}

impl fmt::Display for CompareError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unpaired { a, b } => write!(
                f,
                "A has {a} repeats and B has {b}: they make no pairs; compare them unpaired"
            ),
            Self::Level(level) => write!(
                f,
                "a confidence level of {level} is not valid: use at least 0.5 and less than 1"
            ),
        }
    }
}

impl std::error::Error for CompareError {}

/// Where B lies as seen from A. Whether that is better depends on the figure.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Direction {
    /// B's figures are higher.
    Higher,
    /// B's figures are lower.
    Lower,
}

/// What the repeats allow to say.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    /// Too few for a test of this size.
    NotEnoughRepeats {
        /// Repeats of A.
        a: usize,
        /// Repeats of B.
        b: usize,
        /// Repeats needed a side.
        need: usize,
    },
    /// What there is of a difference may be chance. It is no proof that there is none: the interval
    /// says how large one could have stayed unseen.
    NoSignificantDifference,
    /// A and B differ.
    Different {
        /// Where B lies.
        direction: Direction,
    },
}

/// An estimate with its interval, which is absent where there are not enough repeats.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Effect {
    /// The best guess.
    pub estimate: f64,
    /// What else the repeats are compatible with.
    pub interval: Option<Interval>,
}

/// B beside A.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Comparison {
    /// A alone.
    pub a: Summary,
    /// B alone.
    pub b: Summary,
    /// Whether repeats were compared in pairs.
    pub paired: bool,
    /// B divided by A: the Hodges-Lehmann shift of the logarithms. `None` where a figure is not
    /// positive.
    pub ratio: Option<Effect>,
    /// B minus A in the unit of the figures: their Hodges-Lehmann shift.
    pub difference: Effect,
    /// Two-sided p-value; `None` without enough repeats.
    pub p: Option<f64>,
    /// What may be said.
    pub verdict: Verdict,
}

/// Compares B with A.
///
/// The test is Wilcoxon-Mann-Whitney's, for pairs Wilcoxon's signed-rank test on the logarithms
/// (on the figures where one is not positive), both exact at these sizes: they are right whatever
/// the distribution, with five repeats as with fifty, and a wild repeat counts only by its rank.
///
/// The ratio is the Hodges-Lehmann estimate on the logarithms, the median of all ratios of a figure
/// of B to one of A. Its interval comes from the same test, so that interval and verdict agree,
/// which an interval of the ratio of medians would not; at the normal its efficiency is 0.955 and
/// the median's 0.637 (Hodges & Lehmann 1963). On the logarithms because what slows a database down
/// multiplies.
pub fn compare(
    a: &Sample,
    b: &Sample,
    options: &CompareOptions,
) -> Result<Comparison, CompareError> {
    let CompareOptions {
        level,
        paired,
        bootstrap,
    } = options;
    let (level, paired) = (*level, *paired);
    if !(0.5..1.0).contains(&level) {
        return Err(CompareError::Level(level));
    }
    let (count_a, count_b) = (a.values().len(), b.values().len());
    if paired && count_a != count_b {
        return Err(CompareError::Unpaired {
            a: count_a,
            b: count_b,
        });
    }
    let positive = a.sorted()[0] > 0.0 && b.sorted()[0] > 0.0;
    let logs = positive.then(|| (logarithms(a.values()), logarithms(b.values())));
    let plain = shift(a.values(), b.values(), paired, level);
    let log = logs.as_ref().map(|(a, b)| shift(a, b, paired, level));

    let need = repeats_needed(count_a, count_b, paired, level);
    let (p, verdict) = if let Some(need) = need {
        (
            None,
            Verdict::NotEnoughRepeats {
                a: count_a,
                b: count_b,
                need,
            },
        )
    } else {
        let (test_a, test_b) = match &logs {
            Some((a, b)) => (&a[..], &b[..]),
            None => (a.values(), b.values()),
        };
        let p = if paired {
            ranks::signed_rank_p(&differences(test_a, test_b))
        } else {
            ranks::rank_sum_p(test_a, test_b)
        };
        (Some(p), verdict(p, log.unwrap_or(plain), level))
    };
    let interval = |shift: Shift, none: f64, of: fn(f64) -> f64| Effect {
        estimate: of(shift.estimate),
        interval: match verdict {
            Verdict::NotEnoughRepeats { .. } => None,
            Verdict::Different { .. } => Some(Interval {
                low: of(shift.low),
                high: of(shift.high),
                level,
            }),
            // Among ties test and interval can disagree by a hair: the wider statement is made.
            Verdict::NoSignificantDifference => Some(Interval {
                low: of(shift.low).min(none),
                high: of(shift.high).max(none),
                level,
            }),
        },
    };
    Ok(Comparison {
        a: a.summary(bootstrap),
        b: b.summary(bootstrap),
        paired,
        ratio: log.map(|shift| interval(shift, 1.0, f64::exp)),
        difference: interval(plain, 0.0, |difference| difference),
        p,
        verdict,
    })
}

fn logarithms(values: &[f64]) -> Vec<f64> {
    values.iter().map(|v| v.ln()).collect()
}

fn differences(a: &[f64], b: &[f64]) -> Vec<f64> {
    a.iter().zip(b).map(|(a, b)| b - a).collect()
}

fn shift(a: &[f64], b: &[f64], paired: bool, level: f64) -> Shift {
    if paired {
        ranks::signed_rank_shift(&differences(a, b), level)
    } else {
        ranks::rank_sum_shift(a, b, level)
    }
}

/// How many repeats a side it takes, where there are not enough.
fn repeats_needed(a: usize, b: usize, paired: bool, level: f64) -> Option<usize> {
    let least_p = |a, b| match paired {
        true => ranks::least_signed_rank_p(a),
        false => ranks::least_rank_sum_p(a, b),
    };
    // 1 - 0.95 is a little more than 0.05, and 2 / 2^n meets no such level exactly.
    let size = 1.0 - level;
    if a.min(b) >= MIN_REPEATS_TO_COMPARE && least_p(a, b) <= size {
        return None;
    }
    (MIN_REPEATS_TO_COMPARE..).find(|&n| least_p(n, n) <= size)
}

fn verdict(p: f64, shift: Shift, level: f64) -> Verdict {
    let direction = if shift.low > 0.0 {
        Direction::Higher
    } else if shift.high < 0.0 {
        Direction::Lower
    } else {
        return Verdict::NoSignificantDifference;
    };
    if p <= 1.0 - level {
        Verdict::Different { direction }
    } else {
        Verdict::NoSignificantDifference
    }
}

impl Comparison {
    /// B's change as a share of A: 0.05 for 5 % more. `None` where a figure is not positive.
    pub fn change(&self) -> Option<f64> {
        self.ratio.map(|ratio| ratio.estimate - 1.0)
    }
}

/// In words: "B is 9.8 % lower than A (95 % interval -13 % to -6.1 %)".
impl fmt::Display for Comparison {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.verdict {
            Verdict::NotEnoughRepeats { a, b, need } => {
                return write!(
                    f,
                    "not enough repeats: A has {a}, B has {b}, each needs {need}"
                );
            }
            Verdict::NoSignificantDifference => write!(f, "no significant difference")?,
            Verdict::Different { direction } => {
                write!(f, "B is ")?;
                match self.change() {
                    Some(change) => write!(f, "{} ", percent(change))?,
                    None => write!(f, "{} ", self.difference.estimate.abs())?,
                }
                match direction {
                    Direction::Higher => write!(f, "higher than A")?,
                    Direction::Lower => write!(f, "lower than A")?,
                }
            }
        }
        if let Some(Effect {
            interval: Some(interval),
            ..
        }) = self.ratio
        {
            let [low, high] = [interval.low, interval.high].map(|r| signed_percent(r - 1.0));
            write!(f, " ({} interval {low} to {high})", percent(interval.level))?;
        } else if let Some(interval) = self.difference.interval {
            let Interval { low, high, level } = interval;
            write!(f, " ({} interval {low:+} to {high:+})", percent(level))?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const A: [f64; 6] = [100.0, 102.0, 98.0, 101.0, 99.0, 100.5];

    fn options(paired: bool) -> CompareOptions {
        CompareOptions {
            paired,
            bootstrap: Bootstrap {
                resamples: 200,
                ..Bootstrap::default()
            },
            ..CompareOptions::default()
        }
    }

    fn compared(a: &[f64], b: &[f64], paired: bool) -> Comparison {
        compare(
            &Sample::new(a).unwrap(),
            &Sample::new(b).unwrap(),
            &options(paired),
        )
        .unwrap()
    }

    #[test]
    fn a_clear_difference_is_said_with_its_size_and_direction() {
        let c = compared(&A, &A.map(|v| v * 0.9), false);
        assert_eq!(
            c.verdict,
            Verdict::Different {
                direction: Direction::Lower
            }
        );
        assert!((c.change().unwrap() + 0.1).abs() < 0.01);
        assert!(
            c.to_string()
                .starts_with("B is 10 % lower than A (95 % interval -1"),
            "{c}"
        );
        let back = compared(&A.map(|v| v * 0.9), &A, false);
        assert_eq!(
            back.verdict,
            Verdict::Different {
                direction: Direction::Higher
            }
        );
        let product = back.ratio.unwrap().estimate * c.ratio.unwrap().estimate;
        assert!(
            (product - 1.0).abs() < 1e-9,
            "A to B and B to A tell the same: {product}"
        );
    }

    #[test]
    fn the_same_figures_do_not_differ() {
        let c = compared(&A, &A, false);
        assert_eq!(
            (c.verdict, c.p),
            (Verdict::NoSignificantDifference, Some(1.0))
        );
        assert!(c.ratio.unwrap().interval.unwrap().contains(1.0));
        assert!(
            c.to_string()
                .starts_with("no significant difference (95 % interval -"),
            "{c}"
        );
        let c = compared(&[7.0; 6], &[7.0; 6], true);
        assert_eq!(c.verdict, Verdict::NoSignificantDifference);
    }

    #[test]
    fn fewer_than_five_a_side_are_not_judged() {
        let c = compared(&A[..4], &[1.0; 6], false);
        assert_eq!(
            c.verdict,
            Verdict::NotEnoughRepeats {
                a: 4,
                b: 6,
                need: 5
            }
        );
        assert_eq!((c.p, c.difference.interval), (None, None));
        assert_eq!(
            c.to_string(),
            "not enough repeats: A has 4, B has 6, each needs 5"
        );
        let five = compared(&A[..5], &[1.0; 5], false);
        assert!(matches!(five.verdict, Verdict::Different { .. }));
    }

    #[test]
    fn five_pairs_cannot_reach_five_percent_and_six_can() {
        let c = compared(&A[..5], &[1.0, 2.0, 3.0, 4.0, 5.0], true);
        assert_eq!(
            c.verdict,
            Verdict::NotEnoughRepeats {
                a: 5,
                b: 5,
                need: 6
            }
        );
        let c = compared(&A, &[1.0, 2.0, 3.0, 4.0, 5.0, 6.0], true);
        assert_eq!(
            c.verdict,
            Verdict::Different {
                direction: Direction::Lower
            }
        );
    }

    #[test]
    fn pairs_see_through_a_drift_that_both_shared() {
        let a = [100.0, 120.0, 145.0, 170.0, 200.0, 240.0, 290.0];
        let b = [104.0, 126.0, 150.0, 178.0, 209.0, 251.0, 302.0];
        assert_eq!(
            compared(&a, &b, false).verdict,
            Verdict::NoSignificantDifference
        );
        let paired = compared(&a, &b, true);
        assert_eq!(
            paired.verdict,
            Verdict::Different {
                direction: Direction::Higher
            }
        );
        assert!((paired.change().unwrap() - 0.045).abs() < 0.01);
    }

    #[test]
    fn figures_that_are_not_positive_have_a_difference_and_no_ratio() {
        let c = compared(
            &[0.0, 0.0, 1.0, 0.0, 0.0],
            &[9.0, 8.0, 7.0, 9.0, 8.0],
            false,
        );
        assert_eq!(c.ratio, None);
        assert_eq!(c.difference.estimate, 8.0);
        assert!(
            c.to_string()
                .starts_with("B is 8 higher than A (95 % interval +7 to +9"),
            "{c}"
        );
    }

    #[test]
    fn what_cannot_be_compared_says_why() {
        let (a, b) = (Sample::new(&A).unwrap(), Sample::new(&A[..5]).unwrap());
        let error = compare(&a, &b, &options(true)).unwrap_err();
        assert_eq!(error, CompareError::Unpaired { a: 6, b: 5 });
        assert!(error.to_string().contains("compare them unpaired"));
        for level in [1.0, 0.2, f64::NAN] {
            let options = CompareOptions {
                level,
                ..options(false)
            };
            let error = compare(&a, &b, &options).unwrap_err();
            assert!(error.to_string().contains("at least 0.5"), "{error}");
        }
    }

    #[test]
    fn a_stricter_level_needs_more_repeats() {
        let strict = CompareOptions {
            level: 0.999,
            ..options(false)
        };
        let (a, b) = (Sample::new(&A).unwrap(), Sample::new(&[1.0; 6]).unwrap());
        let c = compare(&a, &b, &strict).unwrap();
        assert_eq!(
            c.verdict,
            Verdict::NotEnoughRepeats {
                a: 6,
                b: 6,
                need: 7
            }
        );
    }
}
