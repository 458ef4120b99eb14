//! B beside A: how far apart, how sure, and a verdict. Several figures are compared together, so that
//! their number makes no false alarms.

use std::fmt;

use crate::bootstrap::Bootstrap;
use crate::detectable;
use crate::drawn::Drawn;
use crate::drift::{self, Drift, Starts, drift};
use crate::family::{Family, benjamini_hochberg, holm};
use crate::interval::Interval;
use crate::layout::Layout;
use crate::ranks::Shift;
use crate::sample::{Sample, Summary};
use crate::words::{percent, signed_percent};

/// Fewer repeats a side are not compared: with four, a test at 5 % finds only complete separation.
pub const MIN_REPEATS_TO_COMPARE: usize = 5;

#[derive(Debug, Clone, Copy, PartialEq)]
pub struct CompareOptions {
    /// Confidence of the primary figures together; 1 - level is the chance of a false alarm among
    /// all of them.
    pub level: f64,
    /// Whether repeat i of A and repeat i of B were run one after the other and are compared as
    /// a pair, so that a drift that both shared cancels out. Repeats whose order was drawn are compared within their
    /// blocks instead.
    pub paired: bool,
    /// Whether only sides that took turns are called different, where it is known when repeats
    /// began: what else changed in between may have made the difference.
    pub needs_turns: bool,
    /// For the intervals of each side's own median.
    pub bootstrap: Bootstrap,
}

impl Default for CompareOptions {
    fn default() -> Self {
        Self {
            level: 0.95,
            paired: false,
            needs_turns: false,
            bootstrap: Bootstrap::default(),
        }
    }
}

/// Why nothing could be compared.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum CompareError {
    /// Pairs were asked for and the sides have different numbers of repeats.
    Unpaired { a: usize, b: usize },
    /// Pairs were asked for and the repeats did not take turns.
    NotByTurns,
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
            Self::NotByTurns => write!(
                f,
                "the repeats of A and B did not run by turns (A B B A …): they make no pairs; \
                 compare them unpaired"
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
    Higher,
    Lower,
}

/// What the repeats allow to say.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    /// Cannot tell: too few for a test of this size.
    NotEnoughRepeats {
        a: usize,
        b: usize,
        need: usize,
    },
    /// Cannot tell: time explains as much as the change.
    TimeExplains,
    /// Cannot tell: the sides differ, but did not run by turns ([`CompareOptions::needs_turns`]).
    NotByTurns,
    /// What there is of a difference may be chance. It is no proof that there is none: the interval
    /// says how large one could have stayed unseen.
    NoSignificantDifference,
    Different {
        direction: Direction,
    },
}

impl Verdict {
    pub fn can_tell(self) -> bool {
        matches!(self, Self::NoSignificantDifference | Self::Different { .. })
    }
}

/// An estimate with its interval.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Effect {
    pub estimate: f64,
    /// What else the repeats are compatible with.
    pub interval: Interval,
}

/// A figure of both sides, to be compared together with others.
#[derive(Debug, Clone, Copy)]
pub struct Row<'a> {
    /// A, in the order of its repeats.
    pub a: &'a Sample,
    pub b: &'a Sample,
    /// When the repeats began, where that is known.
    pub starts: Option<&'a Starts>,
    /// How their order was drawn, where it was.
    pub drawn: Option<&'a Drawn>,
    /// Which figures it is judged with.
    pub family: Family,
}

#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Comparison {
    pub a: Summary,
    pub b: Summary,
    /// Whether repeats were compared in pairs.
    pub paired: bool,
    /// Whether their order was drawn, so that nothing that the machine did meanwhile makes a difference.
    pub is_drawn: bool,
    /// Which figures it was judged with.
    pub family: Family,
    /// B divided by A: the Hodges-Lehmann shift of the logarithms. `None` where a figure is not
    /// positive, and where there is no verdict: it could contradict the medians.
    pub ratio: Option<Effect>,
    /// B minus A in the unit of the figures: their Hodges-Lehmann shift; `None` without a verdict.
    pub difference: Option<Effect>,
    /// Two-sided p-value of this figure alone; `None` without a verdict.
    pub p: Option<f64>,
    /// The same among its family, to be held against 1 - level.
    pub adjusted_p: Option<f64>,
    /// What time has to do with it; `None` where times are not known.
    pub drift: Option<Drift>,
    pub verdict: Verdict,
    /// Whether the figures are positive, so that noise and drift are of their logarithms.
    is_log: bool,
    /// Standard deviation between repeats (of pairs: of their differences), of logarithms where
    /// figures are positive.
    noise: f64,
    /// The level of this row's own test.
    level: f64,
    /// Pairs that were compared; without them 0.
    pairs: usize,
}

/// How many repeats a side a family of this size needs: so many that complete separation is
/// significant at its strictest step, (1 - level) / size.
pub fn repeats_needed(size: usize, paired: bool, level: f64) -> usize {
    Layout::of(0, 0, paired, None).need(false, allowed((1.0 - level) / size.max(1) as f64))
}

/// Compares one figure of B with A's: a family of its own.
///
/// # Errors
/// As [`compare_all`].
pub fn compare(
    a: &Sample,
    b: &Sample,
    options: &CompareOptions,
) -> Result<Comparison, CompareError> {
    let row = Row {
        a,
        b,
        starts: None,
        drawn: None,
        family: Family::Primary,
    };
    let mut all = compare_all(&[row], options)?;
    Ok(all.remove(0))
}

/// Compares B with A in several figures.
///
/// The test is Wilcoxon-Mann-Whitney's, within the blocks of an order that was drawn (van Elteren 1960) and, where one
/// side spreads twice as much as the other, together with Welch's; for pairs Wilcoxon's signed-rank test on the logarithms
/// (on the figures where one is not positive), both exact at these sizes: they are right whatever
/// the distribution, with five repeats as with fifty, and a wild repeat counts only by its rank.
///
/// The ratio is the Hodges-Lehmann estimate on the logarithms, the median of all ratios of a figure
/// of B to one of A. Its interval comes from the same test, so that interval and verdict agree,
/// which an interval of the ratio of medians would not; at the normal its efficiency is 0.955 and
/// the median's 0.637 (Hodges & Lehmann 1963). On the logarithms because what slows a database down
/// multiplies.
///
/// Primary rows differ by Holm's procedure, and their intervals hold together (each at 1 - (1 -
/// level) / rows); one that Holm's procedure calls different ends at "same" where it would reach
/// beyond. Exploratory rows differ by Benjamini and Hochberg's, with the intervals that belong to
/// it (Benjamini & Yekutieli 2005).
///
/// # Errors
/// The level is not valid, or repeats that are to be paired make no pairs.
pub fn compare_all(
    rows: &[Row<'_>],
    options: &CompareOptions,
) -> Result<Vec<Comparison>, CompareError> {
    let CompareOptions { level, paired, .. } = *options;
    if !(0.5..1.0).contains(&level) {
        return Err(CompareError::Level(level));
    }
    for row in rows.iter().filter(|row| paired && drawn(row).is_none()) {
        let (a, b) = (row.a.values().len(), row.b.values().len());
        if a != b {
            return Err(CompareError::Unpaired { a, b });
        }
        if row.starts.is_some_and(|starts| !starts.are_pairs()) {
            return Err(CompareError::NotByTurns);
        }
    }
    let size = 1.0 - level;
    let of = |family: Family| rows.iter().filter(move |row| row.family == family);
    let primary = of(Family::Primary).count();
    // Without a primary row each exploratory one is tested by itself.
    let strictest = size / primary.max(1) as f64;
    let layout = |row: &Row<'_>| {
        let (a, b) = (row.a.values().len(), row.b.values().len());
        Layout::of(a, b, paired, drawn(row))
    };
    let layouts: Vec<Layout> = rows.iter().map(layout).collect();
    let p: Vec<Option<f64>> = rows
        .iter()
        .zip(&layouts)
        .map(|(row, layout)| {
            let least = row.a.values().len().min(row.b.values().len());
            let is_enough =
                least >= MIN_REPEATS_TO_COMPARE && is_within(layout.least_p(), strictest);
            let (a, b) = on_scale(row);
            is_enough.then(|| layout.p(&a, &b))
        })
        .collect();
    let mut adjusted = vec![None; rows.len()];
    let mut levels = vec![1.0 - size / primary.max(1) as f64; rows.len()];
    for family in [Family::Primary, Family::Exploratory] {
        let tested = (0..rows.len()).filter(|&i| rows[i].family == family);
        let tested: Vec<(usize, f64)> = tested.filter_map(|i| Some((i, p[i]?))).collect();
        let values: Vec<f64> = tested.iter().map(|(_, p)| *p).collect();
        let corrected = match family {
            Family::Primary => holm(&values),
            Family::Exploratory => benjamini_hochberg(&values),
        };
        let different = corrected.iter().filter(|p| is_within(**p, size)).count();
        for ((index, _), corrected) in tested.iter().zip(corrected) {
            adjusted[*index] = Some(corrected);
            if family == Family::Exploratory {
                let counted = different + usize::from(!is_within(corrected, size));
                levels[*index] = 1.0 - size * counted as f64 / values.len() as f64;
            }
        }
    }
    let judged = rows
        .iter()
        .zip(layouts)
        .enumerate()
        .map(|(i, (row, layout))| {
            let found = TestResult {
                p: p[i].zip(adjusted[i]),
                level: levels[i],
                size,
                strictest,
                layout,
            };
            judge(row, &found, options)
        });
    Ok(judged.collect())
}

/// How a row's order was drawn. All of one side before all of the other is no turn, whether drawn or not.
fn drawn<'a>(row: &Row<'a>) -> Option<&'a Drawn> {
    row.drawn
        .filter(|_| !row.starts.is_some_and(Starts::are_apart))
}

/// What the tests of a row's family say of it.
struct TestResult {
    /// Alone and in its family; `None` without enough repeats.
    p: Option<(f64, f64)>,
    level: f64,
    size: f64,
    /// That of the least p-value of its family.
    strictest: f64,
    layout: Layout,
}

fn judge(row: &Row<'_>, found: &TestResult, options: &CompareOptions) -> Comparison {
    let (a, b) = (row.a.values(), row.b.values());
    let (layout, level) = (&found.layout, found.level);
    let is_drawn = drawn(row).is_some();
    let (tested_a, tested_b) = on_scale(row);
    let mut comparison = Comparison {
        a: row.a.summary(&options.bootstrap),
        b: row.b.summary(&options.bootstrap),
        paired: layout.is_paired(),
        is_drawn,
        family: row.family,
        ratio: None,
        difference: None,
        p: None,
        adjusted_p: None,
        drift: None,
        verdict: Verdict::NotEnoughRepeats {
            a: a.len(),
            b: b.len(),
            need: layout.need(is_drawn, allowed(found.strictest)),
        },
        is_log: is_positive(row),
        noise: layout.noise(&tested_a, &tested_b),
        level,
        pairs: if layout.is_paired() {
            layout.sizes().len()
        } else {
            0
        },
    };
    let Some((p, adjusted)) = found.p else {
        return comparison;
    };
    let plain = layout.shift(a, b, level);
    let log = is_positive(row).then(|| layout.shift(&tested_a, &tested_b, level));
    // Among ties test and interval can disagree by a hair: both must find a difference.
    let is_significant = is_within(adjusted, found.size) && {
        let step = 1.0 - found.size * (p / adjusted).min(1.0);
        let at_step = layout.shift(&tested_a, &tested_b, step);
        at_step.low > 0.0 || at_step.high < 0.0
    };
    let verdict = verdict(is_significant, log.unwrap_or(plain));
    let differ = matches!(verdict, Verdict::Different { .. });
    let tested = drift::Tested {
        differ,
        level,
        is_drawn,
    };
    let drift = row
        .starts
        .and_then(|starts| drift(&tested_a, &tested_b, starts, &tested));
    comparison.drift = drift;
    if drift.is_some_and(|drift| drift.hides_change) {
        comparison.verdict = Verdict::TimeExplains;
        return comparison;
    }
    if options.needs_turns && differ && drift.is_some_and(|drift| !drift.by_turns) {
        comparison.verdict = Verdict::NotByTurns;
        return comparison;
    }
    let effect = |shift: Shift, none: f64, of: fn(f64) -> f64| {
        let (low, high) = (of(shift.low), of(shift.high));
        let (low, high) = match verdict {
            Verdict::Different {
                direction: Direction::Higher,
            } => (low.max(none), high),
            Verdict::Different {
                direction: Direction::Lower,
            } => (low, high.min(none)),
            // The wider of the two statements.
            _ => (low.min(none), high.max(none)),
        };
        Effect {
            estimate: of(shift.estimate),
            interval: Interval { low, high, level },
        }
    };
    comparison.ratio = log.map(|shift| effect(shift, 1.0, f64::exp));
    comparison.difference = Some(effect(plain, 0.0, |difference| difference));
    comparison.p = Some(p);
    comparison.adjusted_p = Some(adjusted);
    comparison.verdict = verdict;
    comparison
}

fn is_within(p: f64, size: f64) -> bool {
    p <= allowed(size)
}

/// A p-value may meet a size exactly, as 1 / 60 does of a third of 0.05: rounding must not matter.
fn allowed(size: f64) -> f64 {
    size * (1.0 + 1e-9)
}

fn is_positive(row: &Row<'_>) -> bool {
    row.a.sorted()[0] > 0.0 && row.b.sorted()[0] > 0.0
}

/// The logarithms, or the figures where one is not positive.
fn on_scale(row: &Row<'_>) -> (Vec<f64>, Vec<f64>) {
    let (a, b) = (row.a.values(), row.b.values());
    if is_positive(row) {
        (logarithms(a), logarithms(b))
    } else {
        (a.to_vec(), b.to_vec())
    }
}

fn logarithms(values: &[f64]) -> Vec<f64> {
    values.iter().map(|v| v.ln()).collect()
}

fn verdict(is_significant: bool, shift: Shift) -> Verdict {
    let direction = match shift.estimate {
        up if up > 0.0 => Direction::Higher,
        down if down < 0.0 => Direction::Lower,
        _ => return Verdict::NoSignificantDifference,
    };
    if is_significant {
        Verdict::Different { direction }
    } else {
        Verdict::NoSignificantDifference
    }
}

impl Comparison {
    /// B's change as a share of A: 0.05 for 5 % more. `None` where a figure is not positive, and
    /// without a verdict.
    pub fn change(&self) -> Option<f64> {
        self.ratio.map(|ratio| ratio.estimate - 1.0)
    }

    /// The change from A's median to B's, as a share: no estimate with an interval, only what was
    /// measured.
    pub fn change_of_medians(&self) -> Option<f64> {
        let (a, b) = (self.a.median, self.b.median);
        (a > 0.0 && b > 0.0).then(|| b / a - 1.0)
    }

    /// The smallest change, as a share of A, that so many repeats a side would show in 80 of 100 cases
    /// if they ran by turns: with the noise around the drift that there is, where times are known.
    /// `None` where a figure is not positive, or where fewer than three repeats say little of the noise.
    pub fn would_show(&self, repeats: usize) -> Option<f64> {
        let known = self.is_log && self.a.n.min(self.b.n) >= 3;
        let noise = self.drift.map_or(self.noise, |drift| drift.noise);
        known.then(|| {
            let layout = Layout::planned(repeats, false);
            (detectable::in_deviations(&layout, self.level) * noise).exp_m1()
        })
    }

    /// The figures at the first and the last start by one line over time through all repeats, with no
    /// step between A and B.
    pub fn line_over_time(&self) -> Option<[f64; 2]> {
        let line = self.drift?.line;
        Some(if self.is_log {
            line.map(f64::exp)
        } else {
            line
        })
    }

    /// The smallest change, as a share of A, that this test with so many repeats and this noise
    /// finds in 80 of 100 cases. `None` where a figure is not positive, or without enough repeats.
    pub fn smallest_change(&self) -> Option<f64> {
        let has_test = !matches!(self.verdict, Verdict::NotEnoughRepeats { .. });
        (has_test && self.a.min > 0.0 && self.b.min > 0.0).then(|| {
            let layout = if self.paired {
                Layout::of(self.pairs, self.pairs, true, None)
            } else if self.is_drawn && self.a.n == self.b.n {
                Layout::planned(self.a.n, false)
            } else {
                Layout::of(self.a.n, self.b.n, false, None)
            };
            (detectable::in_deviations(&layout, self.level) * self.noise).exp_m1()
        })
    }
}

/// A level with as many digits as it takes not to be 100 %.
fn level(share: f64) -> String {
    let with = |digits: usize| format!("{:.digits$}", 100.0 * share);
    let is_less = |text: &String| text.parse::<f64>().is_ok_and(|percent| percent < 100.0);
    let shown = (0..6).map(with).find(is_less);
    format!("{} %", shown.unwrap_or_else(|| with(6)))
}

/// In words: "B is 9.8 % lower than A (95 % interval -13 % to -6.1 %)".
impl fmt::Display for Comparison {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.verdict {
            Verdict::NotEnoughRepeats { a, b, need } if a == b => {
                let repeats = if a == 1 { "repeat a side" } else { "repeats" };
                return write!(f, "cannot tell: {a} {repeats}, {need} needed");
            }
            Verdict::NotEnoughRepeats { a, b, need } => {
                return write!(f, "cannot tell: A has {a} repeats, B {b}, {need} needed");
            }
            Verdict::TimeExplains => {
                write!(f, "cannot tell: time alone explains as much as the change")?;
                return match self.drift {
                    Some(drift) => write!(f, " ({drift})"),
                    None => Ok(()),
                };
            }
            Verdict::NotByTurns => {
                write!(f, "cannot tell: the sides differ, but did not run by turns")?;
                return match self.drift {
                    Some(drift) => write!(f, " (B began {:.0} s later)", drift.apart_s),
                    None => Ok(()),
                };
            }
            Verdict::NoSignificantDifference => write!(f, "no significant difference")?,
            Verdict::Different { direction } => {
                write!(f, "B is ")?;
                match (self.change(), self.difference) {
                    (Some(change), _) => write!(f, "{} ", percent(change))?,
                    (None, Some(by)) => write!(f, "{} ", by.estimate.abs())?,
                    (None, None) => {}
                }
                match direction {
                    Direction::Higher => write!(f, "higher than A")?,
                    Direction::Lower => write!(f, "lower than A")?,
                }
            }
        }
        let drift = self.drift.filter(|drift| !drift.by_turns);
        let part = drift.filter(|_| matches!(self.verdict, Verdict::Different { .. }));
        if let Some(Effect { interval, .. }) = self.ratio {
            let [low, high] = [interval.low, interval.high].map(|r| signed_percent(r - 1.0));
            write!(f, " ({} interval {low} to {high})", level(interval.level))?;
        } else if let Some(Effect { interval, .. }) = self.difference {
            let Interval { low, high, level } = interval;
            write!(f, " ({} interval {low:+} to {high:+})", percent(level))?;
        }
        if let Some(drift) = part.filter(|_| self.is_log) {
            let [low, high] = drift.foretold_interval.map(signed_percent);
            write!(f, ", of which drift may be {low} to {high}")?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_level_is_rounded_up_to_certainty() {
        let shown = [0.95, 0.9967, 0.99999].map(level);
        assert_eq!(shown, ["95 %", "99.7 %", "99.999 %"]);
    }

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
    fn sides_that_did_not_take_turns_are_not_called_different_where_that_is_asked_for() {
        let (a, b) = (A, A.map(|v| v * 0.8));
        let sample = |values: &[f64]| Sample::new(values).unwrap();
        let judged = |starts: &Starts, needs_turns: bool| {
            let row = Row {
                a: &sample(&a),
                b: &sample(&b),
                starts: Some(starts),
                drawn: None,
                family: Family::Primary,
            };
            let options = CompareOptions {
                needs_turns,
                ..options(false)
            };
            compare_all(&[row], &options).unwrap()[0]
        };
        let after = Starts {
            a: (0..6).map(f64::from).collect(),
            b: (6..12).map(f64::from).collect(),
        };
        let turns = Starts {
            a: (0..6).map(|i| 2.0 * f64::from(i)).collect(),
            b: (0..6).map(|i| 2.0 * f64::from(i) + 1.0).collect(),
        };
        let lower = Verdict::Different {
            direction: Direction::Lower,
        };
        assert_eq!(judged(&after, false).verdict, lower);
        assert_eq!(judged(&turns, true).verdict, lower);
        let found = judged(&after, true);
        assert_eq!(found.verdict, Verdict::NotByTurns);
        assert_eq!((found.ratio, found.p), (None, None), "no interval, no word");
        assert!(found.change_of_medians().is_some());
        assert_eq!(
            found.to_string(),
            "cannot tell: the sides differ, but did not run by turns (B began 6 s later)"
        );
    }

    #[test]
    fn what_repeats_by_turns_would_show_leaves_the_drift_out() {
        let falling = |from: f64| -> Vec<f64> {
            let noise = [0.1, -0.2, 0.05, 0.15, -0.1, 0.02];
            let numbered = noise.iter().enumerate();
            numbered.map(|(i, by)| from - i as f64 + by).collect()
        };
        let (a, b) = (falling(100.0), falling(94.0));
        let sample = |values: &[f64]| Sample::new(values).unwrap();
        let starts = Starts {
            a: (0..6).map(f64::from).collect(),
            b: (6..12).map(f64::from).collect(),
        };
        let row = Row {
            a: &sample(&a),
            b: &sample(&b),
            starts: Some(&starts),
            drawn: None,
            family: Family::Primary,
        };
        let found = compare_all(&[row], &options(false)).unwrap()[0];
        assert_eq!(found.verdict, Verdict::TimeExplains);
        let [six, twelve] = [6, 12].map(|n| found.would_show(n).unwrap());
        assert!(twelve < six && six < 0.01, "{six} {twelve}");
        assert!(found.smallest_change().unwrap() > 3.0 * six, "{found:?}");
        let [first, last] = found.line_over_time().unwrap();
        assert!((first - 100.0).abs() < 0.5 && (last - 89.0).abs() < 0.5);
        assert_eq!(compared(&[1.0], &[2.0], false).would_show(9), None);
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
        assert!(c.ratio.unwrap().interval.contains(1.0));
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
        assert_eq!((c.p, c.difference, c.change()), (None, None, None));
        assert_eq!(c.to_string(), "cannot tell: A has 4 repeats, B 6, 5 needed");
        let three = compared(&A[..3], &A[..3], false);
        assert_eq!(three.to_string(), "cannot tell: 3 repeats, 5 needed");
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
        assert_eq!(c.difference.unwrap().estimate, 8.0);
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

    fn family(rows: &[(&[f64], Family)], starts: Option<&Starts>) -> Vec<Comparison> {
        let a = Sample::new(&A).unwrap();
        let b: Vec<Sample> = rows.iter().map(|(b, _)| Sample::new(b).unwrap()).collect();
        let rows = rows.iter().zip(&b).map(|((_, family), b)| Row {
            a: &a,
            b,
            starts,
            drawn: None,
            family: *family,
        });
        compare_all(&rows.collect::<Vec<_>>(), &options(false)).unwrap()
    }

    #[test]
    fn a_figure_that_differs_alone_need_not_differ_among_others() {
        let higher = [100.7, 102.5, 101.3, 103.0, 101.7, 102.2];
        let alone = family(&[(&higher, Family::Primary)], None);
        assert!(alone[0].p.unwrap() <= 0.05, "{alone:?}");
        assert!(matches!(alone[0].verdict, Verdict::Different { .. }));
        let three = [(&higher[..], Family::Primary); 3];
        let among = family(
            &[three[0], (&A, Family::Primary), (&A, Family::Primary)],
            None,
        );
        assert_eq!(among[0].verdict, Verdict::NoSignificantDifference);
        assert!(among[0].adjusted_p.unwrap() > 0.05);
        assert!(among[0].ratio.unwrap().interval.contains(1.0));
        // What is exploratory takes nothing from what was to be decided.
        let beside = family(
            &[
                three[0],
                (&A, Family::Exploratory),
                (&A, Family::Exploratory),
            ],
            None,
        );
        assert_eq!(beside[0], alone[0]);
    }

    #[test]
    fn interval_and_verdict_never_contradict_each_other() {
        let mut rng = crate::rng::Rng::new(3);
        for _ in 0..300 {
            let mut draw = |n: usize, by: f64| -> Sample {
                let values: Vec<f64> = (0..n).map(|_| (0.05 * rng.normal() + by).exp()).collect();
                Sample::new(&values).unwrap()
            };
            let sides: Vec<(Sample, Sample)> = (0..6)
                .map(|i| (draw(7, 0.0), draw(7, 0.02 * f64::from(i))))
                .collect();
            let rows: Vec<Row<'_>> = sides
                .iter()
                .enumerate()
                .map(|(i, (a, b))| Row {
                    a,
                    b,
                    starts: None,
                    drawn: None,
                    family: match i % 2 {
                        0 => Family::Primary,
                        _ => Family::Exploratory,
                    },
                })
                .collect();
            for c in compare_all(&rows, &options(false)).unwrap() {
                let interval = c.ratio.unwrap().interval;
                let strictly_in = interval.low < 1.0 && interval.high > 1.0;
                let differ = matches!(c.verdict, Verdict::Different { .. });
                assert_eq!(differ, !strictly_in, "{c:?}");
            }
        }
    }

    #[test]
    fn the_repeats_needed_follow_from_the_size_of_the_family() {
        let needed = |size| repeats_needed(size, false, 0.95);
        assert_eq!([1, 3, 6, 7, 30].map(needed), [5, 5, 5, 6, 7]);
        assert_eq!(repeats_needed(1, true, 0.95), 6);
        assert_eq!(repeats_needed(3, true, 0.95), 7);
        let five = &A[..5];
        let a = Sample::new(five).unwrap();
        let row = Row {
            a: &a,
            b: &a,
            starts: None,
            drawn: None,
            family: Family::Primary,
        };
        let found = compare_all(&[row; 7], &options(false)).unwrap();
        assert_eq!(found[0].to_string(), "cannot tell: 5 repeats, 6 needed");
    }

    #[test]
    fn a_difference_that_time_explains_as_well_is_withdrawn() {
        let starts = Starts {
            a: (0..6).map(|i| 60.0 * f64::from(i)).collect(),
            b: (6..12).map(|i| 60.0 * f64::from(i)).collect(),
        };
        let noise = [0.1, -0.2, 0.05, 0.15, -0.1, 0.02];
        let line = |from: f64| -> Vec<f64> {
            let at = |i: usize| 100.0 - from - i as f64 + noise[i];
            (0..6).map(at).collect()
        };
        let (a, b) = (
            Sample::new(&line(0.0)).unwrap(),
            Sample::new(&line(6.0)).unwrap(),
        );
        let row = |starts| Row {
            a: &a,
            b: &b,
            starts,
            drawn: None,
            family: Family::Primary,
        };
        let compared = |starts| compare_all(&[row(starts)], &options(false)).unwrap()[0];
        assert!(matches!(compared(None).verdict, Verdict::Different { .. }));
        let withdrawn = compared(Some(&starts));
        assert_eq!(withdrawn.verdict, Verdict::TimeExplains);
        assert_eq!((withdrawn.change(), withdrawn.p), (None, None));
        assert!(withdrawn.change_of_medians().unwrap() < -0.05);
        let words = withdrawn.to_string();
        assert!(
            words.starts_with("cannot tell: time alone explains"),
            "{words}"
        );
        let pairs = CompareOptions {
            paired: true,
            ..options(false)
        };
        let error = compare_all(&[row(Some(&starts))], &pairs).unwrap_err();
        assert!(
            error.to_string().contains("did not run by turns"),
            "{error}"
        );
    }

    #[test]
    fn the_smallest_change_grows_with_the_noise() {
        let quiet = compared(&A, &A, false).smallest_change().unwrap();
        let noisy: Vec<f64> = A.iter().map(|v| 100.0 + 5.0 * (v - 100.0)).collect();
        let loud = compared(&noisy, &noisy, false).smallest_change().unwrap();
        assert!(
            (0.01..0.05).contains(&quiet) && loud > 4.0 * quiet,
            "{quiet} {loud}"
        );
        assert_eq!(compared(&A[..3], &A[..3], false).smallest_change(), None);
    }
}
