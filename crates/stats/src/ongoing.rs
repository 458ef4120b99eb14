//! A gate on two sides that are measured in blocks until it is decided or the time is over: `pgdyno ci`.
//!
//! A block has two repeats of each side, in an order or at places that are the other way round the second time
//! (A B B A or B A A B, as it is drawn; at once on two halves of a machine, which then change). What they share cancels out of the block's
//! contrast, the mean of both differences of logarithms; contrasts of blocks are compared as pairs are.

use crate::bootstrap::Bootstrap;
use crate::compare::{CompareError, CompareOptions, Comparison, Row, compare_all, repeats_needed};
use crate::family::Family;
use crate::gate::{Condition, Gate, Outcome, Tested, Threshold};
use crate::sample::Sample;
use crate::sequential::Looks;

/// When a look is due, as shares of the time budget.
const LOOKS_AT: [f64; 5] = [0.3, 0.5, 0.7, 0.85, 1.0];

/// All looks at all figures together err in at most 5 of 100 cases.
const SIZE: f64 = 0.05;

/// A trial in which nothing was done is the worst there is: so many times worse than each in which something was.
const WORST: f64 = 1e6;

/// A figure of both sides: two repeats of each for every block. Of a trial in which nothing was done a rate is 0 and a
/// time infinite.
#[derive(Debug, Clone, PartialEq)]
pub struct OfBlocks {
    pub figure: String,
    pub a: Vec<[f64; 2]>,
    pub b: Vec<[f64; 2]>,
}

#[derive(Debug, Clone)]
pub struct Look {
    /// The share of the time budget that was over.
    pub share: f64,
    pub blocks: usize,
    /// The level of all intervals of this look together.
    pub level: f64,
    pub outcome: Outcome,
    /// Its conditions with their evidence.
    pub tested: Vec<Tested>,
    /// What its figures came to, in the order in which they were given.
    pub comparisons: Vec<(String, Comparison)>,
}

#[derive(Debug, Clone)]
pub struct Ongoing {
    gate: Gate,
    looks: Looks,
    /// Looks that were due so far.
    due: usize,
    /// The level of the last one.
    level: Option<f64>,
}

impl Ongoing {
    /// Nothing has been measured yet.
    pub fn new(gate: Gate) -> Self {
        Self {
            gate,
            looks: Looks::within(SIZE),
            due: 0,
            level: None,
        }
    }

    pub fn gate(&self) -> &Gate {
        &self.gate
    }

    /// Whether it is time for a look when this share of the budget is over.
    pub fn is_due(&self, share: f64) -> bool {
        LOOKS_AT.get(self.due).is_some_and(|at| share >= *at)
    }

    /// Looks at all blocks so far; at a share of 1 it is the last time. `None` when it is too early for any answer.
    ///
    /// # Errors
    /// Sides that do not have the same blocks.
    pub fn look(&mut self, figures: &[OfBlocks], share: f64) -> Result<Option<Look>, CompareError> {
        self.due = LOOKS_AT
            .iter()
            .filter(|at| share >= **at)
            .count()
            .max(self.due);
        let blocks = figures.iter().map(|figure| figure.a.len()).min();
        let blocks = blocks.unwrap_or(0);
        let mut looks = self.looks.clone();
        if let Some(level) = looks.level(blocks, share) {
            // A look that could show nothing is not worth its share of the errors.
            if share < 1.0 && blocks < repeats_needed(figures.len(), true, level) {
                return Ok(None);
            }
            (self.looks, self.level) = (looks, Some(level));
        }
        // Without new blocks an interval is what it was. Where no figure was measured there is none at any level.
        let level = match self.level {
            Some(level) => level,
            None if share >= 1.0 && figures.is_empty() => 1.0 - SIZE,
            None => return Ok(None),
        };
        let comparisons = self.compared(figures, level)?;
        let of = |name: &str| {
            let found = comparisons.iter().find(|(figure, _)| figure == name);
            found.map(|(_, comparison)| comparison)
        };
        let (outcome, mut tested) = self.gate.decide(of, share >= 1.0);
        say_idle(&mut tested, figures);
        Ok(Some(Look {
            share,
            blocks,
            level,
            outcome,
            tested,
            comparisons,
        }))
    }

    /// Its state when it is cut short at this share of the budget: intervals of these blocks alone, which no
    /// other look has a part in, and no verdict. `None` without a block.
    ///
    /// # Errors
    /// As [`Ongoing::look`].
    pub fn interim(&self, figures: &[OfBlocks], share: f64) -> Result<Option<Look>, CompareError> {
        let blocks = figures.iter().map(|figure| figure.a.len()).min();
        let Some(blocks) = blocks.filter(|blocks| *blocks > 0) else {
            return Ok(None);
        };
        let level = 1.0 - SIZE;
        let comparisons = self.compared(figures, level)?;
        let tested = self.gate.conditions().map(|condition| {
            let mut of_it = comparisons.iter();
            let found = of_it.find(|(figure, _)| *figure == condition.figure);
            Tested {
                condition: condition.clone(),
                outcome: Outcome::CannotTell,
                evidence: match found {
                    Some((_, comparison)) => format!("so far {comparison}"),
                    None => format!("{} was not measured", condition.figure),
                },
            }
        });
        let mut tested: Vec<Tested> = tested.collect();
        say_idle(&mut tested, figures);
        Ok(Some(Look {
            share,
            blocks,
            level,
            outcome: Outcome::CannotTell,
            tested,
            comparisons,
        }))
    }

    /// So many blocks in all would tell, if changes and noise stay as this look shows them: an interval shrinks with
    /// the root of their number until it ends at the threshold. `None` where there is no interval, or no condition
    /// on a change in per cent.
    pub fn blocks_needed(&self, look: &Look) -> Option<f64> {
        let of_condition = |condition: &Condition| {
            let Threshold::Relative(threshold) = condition.threshold else {
                return None;
            };
            let mut of_it = look.comparisons.iter();
            let (_, found) = of_it.find(|(figure, _)| *figure == condition.figure)?;
            let ratio = found.ratio?;
            let half = 0.5 * (ratio.interval.high / ratio.interval.low).ln();
            let distance = (ratio.estimate / (1.0 + threshold)).ln().abs();
            let needed = look.blocks as f64 * (half / distance).powi(2);
            needed.is_finite().then_some(needed)
        };
        let needed = self.gate.conditions().filter_map(of_condition);
        needed.reduce(f64::max)
    }

    /// The figures at this level.
    fn compared(
        &self,
        figures: &[OfBlocks],
        level: f64,
    ) -> Result<Vec<(String, Comparison)>, CompareError> {
        let samples: Vec<(&str, Sample, Sample)> = figures.iter().filter_map(samples).collect();
        let rows = samples.iter().map(|(_, a, b)| Row {
            a,
            b,
            starts: None,
            drawn: None,
            family: Family::Primary,
        });
        let rows: Vec<Row<'_>> = rows.collect();
        // Only levels ask for a side's own interval.
        let mut conditions = self.gate.conditions();
        let has_level = conditions.any(|one| matches!(one.threshold, Threshold::Level(_)));
        let resamples = if has_level {
            Bootstrap::default().resamples
        } else {
            1
        };
        let options = CompareOptions {
            level,
            paired: true,
            // Blocks take turns by themselves.
            needs_turns: false,
            bootstrap: Bootstrap {
                resamples,
                ..Bootstrap::default()
            },
        };
        let found = compare_all(&rows, &options)?;
        let names = samples.iter().map(|(name, ..)| (*name).to_owned());
        Ok(names.zip(found).collect())
    }
}

/// Says of each condition in how many trials nothing was done.
fn say_idle(tested: &mut [Tested], figures: &[OfBlocks]) {
    for one in tested {
        let mut of_it = figures.iter();
        let figure = of_it.find(|figure| figure.figure == one.condition.figure);
        let Some(figure) = figure else { continue };
        let idle = |side: &[[f64; 2]]| side.iter().flatten().filter(|v| !is_measured(**v)).count();
        let (a, b) = (idle(&figure.a), idle(&figure.b));
        if a + b > 0 {
            one.evidence += &format!("; trials that did nothing, the worst of all: A {a}, B {b}");
        }
    }
}

fn is_measured(value: f64) -> bool {
    value > 0.0 && value.is_finite()
}

/// A figure for each block: the geometric mean of its repeats, whose ratio is the block's contrast. `None` where no
/// trial has one.
fn samples(figure: &OfBlocks) -> Option<(&str, Sample, Sample)> {
    let all = figure.a.iter().chain(&figure.b).flatten();
    let measured: Vec<f64> = all.copied().filter(|value| is_measured(*value)).collect();
    let least = measured.iter().copied().reduce(f64::min)?;
    let greatest = measured.iter().copied().reduce(f64::max)?;
    let or_worst = |value: f64| {
        if value <= 0.0 {
            least / WORST
        } else if value.is_finite() {
            value
        } else {
            greatest * WORST
        }
    };
    let side = |blocks: &[[f64; 2]]| {
        let of_block = |[first, second]: &[f64; 2]| (or_worst(*first) * or_worst(*second)).sqrt();
        let values: Vec<f64> = blocks.iter().map(of_block).collect();
        Sample::new(&values).ok()
    };
    Some((&figure.figure, side(&figure.a)?, side(&figure.b)?))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::gate::{Figure, Unit};
    use crate::rng::Rng;

    fn gate() -> Gate {
        let figures = [Figure {
            name: "goodput",
            unit: Unit::PerSecond,
        }];
        Gate::parse_required("goodput > -5%", &figures).unwrap()
    }

    fn blocks(count: usize, factor: f64, noise: f64, rng: &mut Rng) -> OfBlocks {
        let mut side = |factor: f64| -> Vec<[f64; 2]> {
            let mut one = || 1000.0 * factor * (noise * rng.normal()).exp();
            (0..count).map(|_| [one(), one()]).collect()
        };
        OfBlocks {
            figure: "goodput".to_owned(),
            a: side(1.0),
            b: side(factor),
        }
    }

    /// Measures until it is decided: the answer and the share of the budget that it took.
    fn measured(factor: f64, noise: f64, rng: &mut Rng) -> (Outcome, f64) {
        let all = blocks(40, factor, noise, rng);
        let mut ongoing = Ongoing::new(gate());
        for count in 1..=40 {
            let share = count as f64 / 40.0;
            if !ongoing.is_due(share) {
                continue;
            }
            let so_far = OfBlocks {
                a: all.a[..count].to_vec(),
                b: all.b[..count].to_vec(),
                ..all.clone()
            };
            let look = ongoing.look(&[so_far], share).unwrap();
            match look.map(|look| look.outcome) {
                Some(Outcome::CannotTell) | None => {}
                Some(outcome) => return (outcome, share),
            }
        }
        (Outcome::CannotTell, 1.0)
    }

    #[test]
    fn it_ends_when_it_is_decided_and_cannot_tell_where_noise_is_too_large() {
        let mut rng = Rng::new(5);
        let (outcome, share) = measured(1.0, 0.01, &mut rng);
        assert_eq!(outcome, Outcome::Passes);
        assert!(share <= 0.5, "{share}");
        let (outcome, share) = measured(0.85, 0.01, &mut rng);
        assert_eq!(outcome, Outcome::Fails);
        assert!(share <= 0.5, "{share}");
        let (outcome, share) = measured(1.0, 0.5, &mut rng);
        assert_eq!((outcome, share), (Outcome::CannotTell, 1.0));
    }

    /// Of the same beside the same at most 5 of 100 fail, with noise that hardly ever lets the gate pass; and
    /// intervals that hold together hold less often than that.
    #[test]
    fn looking_again_makes_no_more_false_alarms() {
        let mut rng = Rng::new(11);
        let mut count = |noise: f64| {
            let outcomes = (0..400).map(|_| measured(1.0, noise, &mut rng).0);
            { outcomes }
                .filter(|outcome| *outcome == Outcome::Fails)
                .count()
        };
        for noise in [0.05, 0.2] {
            let fails = count(noise);
            assert!(fails <= 20, "{fails} of 400 at {noise}");
        }
    }

    #[test]
    fn too_few_blocks_are_no_answer() {
        let mut rng = Rng::new(1);
        let few = blocks(4, 0.5, 0.001, &mut rng);
        let mut ongoing = Ongoing::new(gate());
        let look = ongoing
            .look(std::slice::from_ref(&few), 1.0)
            .unwrap()
            .unwrap();
        assert_eq!(look.outcome, Outcome::CannotTell);
        assert!(
            look.tested[0].evidence.contains("4 repeats"),
            "{:?}",
            look.tested
        );
    }

    #[test]
    fn cut_short_it_shows_an_interval_and_how_many_blocks_would_tell() {
        let mut rng = Rng::new(3);
        let ongoing = Ongoing::new(gate());
        assert!(ongoing.interim(&[], 0.1).unwrap().is_none());
        let all = blocks(400, 0.98, 0.05, &mut rng);
        let first = |count: usize| OfBlocks {
            a: all.a[..count].to_vec(),
            b: all.b[..count].to_vec(),
            ..all.clone()
        };
        let interim = ongoing.interim(&[first(12)], 0.2).unwrap().unwrap();
        assert_eq!(interim.outcome, Outcome::CannotTell);
        let ratio = interim.comparisons[0].1.ratio.unwrap();
        assert!((ratio.interval.level - 0.95).abs() < 0.01, "{ratio:?}");
        assert!(interim.tested[0].evidence.starts_with("so far "));
        // With as many blocks as it says the gate is decided, give or take the change of another sample.
        let needed = ongoing.blocks_needed(&interim).unwrap();
        assert!((12.0..400.0).contains(&needed), "{needed}");
        let enough = (4.0 * needed).min(400.0) as usize;
        let mut later = Ongoing::new(gate());
        let look = later.look(&[first(enough)], 1.0).unwrap().unwrap();
        assert_eq!(look.outcome, Outcome::Passes, "{needed}: {look:?}");
        // Too few for an interval: what is known is the figures.
        let few = ongoing.interim(&[first(2)], 0.1).unwrap().unwrap();
        assert_eq!(ongoing.blocks_needed(&few), None);
        assert!(few.tested[0].evidence.contains("2 repeats"), "{few:?}");
    }

    #[test]
    fn a_look_that_could_show_nothing_costs_nothing() {
        let mut rng = Rng::new(2);
        let few = blocks(6, 0.5, 0.001, &mut rng);
        let mut ongoing = Ongoing::new(gate());
        let so_far = OfBlocks {
            a: few.a[..3].to_vec(),
            b: few.b[..3].to_vec(),
            ..few.clone()
        };
        assert!(ongoing.is_due(0.5));
        assert!(ongoing.look(&[so_far], 0.5).unwrap().is_none());
        assert!(!ongoing.is_due(0.5));
        // All of the 5 % are left for the last look, so that six blocks are enough.
        let look = ongoing.look(&[few], 1.0).unwrap().unwrap();
        assert!((look.level - 0.95).abs() < 1e-4, "{}", look.level);
        assert_eq!(look.outcome, Outcome::Fails);
    }

    #[test]
    fn a_figure_that_was_not_measured_is_no_answer() {
        let mut ongoing = Ongoing::new(gate());
        assert!(ongoing.look(&[], 0.5).unwrap().is_none());
        let look = ongoing.look(&[], 1.0).unwrap().unwrap();
        assert_eq!(look.outcome, Outcome::CannotTell);
        assert!(look.tested[0].evidence.contains("not measured"), "{look:?}");
    }

    #[test]
    fn a_trial_that_did_nothing_is_the_worst_and_is_judged() {
        let mut rng = Rng::new(4);
        let judged = |all: &OfBlocks| {
            let mut ongoing = Ongoing::new(gate());
            ongoing
                .look(std::slice::from_ref(all), 1.0)
                .unwrap()
                .unwrap()
        };
        // One of forty is an outlier like others, and is said.
        let mut once = blocks(20, 1.0, 0.01, &mut rng);
        once.b[7][1] = 0.0;
        let look = judged(&once);
        assert_eq!(look.outcome, Outcome::Passes, "{look:?}");
        let evidence = &look.tested[0].evidence;
        assert!(
            evidence.ends_with("did nothing, the worst of all: A 0, B 1"),
            "{evidence}"
        );
        // Half of them, or all, are a loss.
        for every in [1, 2] {
            let mut often = blocks(20, 1.0, 0.01, &mut rng);
            let of_b = often.b.iter_mut().step_by(every);
            of_b.for_each(|block| block[0] = 0.0);
            let look = judged(&often);
            let want = if every == 1 {
                Outcome::Fails
            } else {
                Outcome::CannotTell
            };
            assert_eq!(look.outcome, want, "{every}: {look:?}");
        }
        // Times of such a trial are infinite.
        let figures = [Figure {
            name: "p99",
            unit: Unit::TimeUs,
        }];
        let gate = Gate::parse_required("p99 < +5%", &figures).unwrap();
        let mut slow = blocks(20, 1.0, 0.01, &mut rng);
        slow.figure = "p99".to_owned();
        slow.b.iter_mut().for_each(|block| block[1] = f64::INFINITY);
        let look = Ongoing::new(gate).look(&[slow], 1.0).unwrap().unwrap();
        assert_eq!(look.outcome, Outcome::Fails);
        // Nothing at all on both sides shows nothing.
        let mut none = blocks(20, 1.0, 0.01, &mut rng);
        none.a
            .iter_mut()
            .chain(&mut none.b)
            .for_each(|block| *block = [0.0; 2]);
        let look = judged(&none);
        assert_eq!(look.outcome, Outcome::CannotTell);
        assert!(look.tested[0].evidence.contains("not measured"), "{look:?}");
    }
}
