//! Tests conditions against comparisons.

use std::fmt;

use super::{Condition, Threshold};
use crate::compare::{Comparison, Direction, Effect, MIN_REPEATS_TO_COMPARE, Verdict};
use crate::interval::Interval;

/// What comes of a gate or of a condition.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outcome {
    /// Nothing bad was shown; of what is required: it was shown.
    Passes,
    /// Something bad was shown; of what is required: it was not shown.
    Fails,
    /// Not enough repeats, time explains as much as the change, or the figure was not measured.
    CannotTell,
}

/// A condition with what was found.
#[derive(Debug, Clone, PartialEq)]
pub struct Tested {
    pub condition: Condition,
    pub outcome: Outcome,
    pub evidence: String,
}

/// "p99 > +5%: fails: B is 12 % higher than A (95 % interval +8.1 % to +16 %)".
impl fmt::Display for Tested {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let outcome = match self.outcome {
            Outcome::Passes => "passes",
            Outcome::Fails => "fails",
            Outcome::CannotTell => "cannot tell",
        };
        write!(f, "{}: {outcome}: {}", self.condition, self.evidence)
    }
}

/// Three-valued logic (Kleene 1952): what is not known matters only where it could change the
/// answer.
pub(super) fn any_of(
    groups: &[Vec<Condition>],
    test: impl Fn(&Condition) -> Tested,
) -> (Outcome, Vec<Tested>) {
    let mut tested = Vec::new();
    let mut whole = Outcome::Passes;
    for group in groups {
        let first = tested.len();
        tested.extend(group.iter().map(&test));
        let outcomes = || tested[first..].iter().map(|t: &Tested| t.outcome);
        let met = if outcomes().any(|outcome| outcome == Outcome::Passes) {
            Outcome::Passes
        } else if outcomes().any(|outcome| outcome == Outcome::CannotTell) {
            Outcome::CannotTell
        } else {
            Outcome::Fails
        };
        whole = match (whole, met) {
            (Outcome::Fails, _) | (_, Outcome::Fails) => Outcome::Fails,
            (Outcome::CannotTell, _) | (_, Outcome::CannotTell) => Outcome::CannotTell,
            _ => Outcome::Passes,
        };
    }
    (whole, tested)
}

/// A change is met when A and B differ significantly in the bad direction and the estimate lies
/// beyond the threshold; a level when B's median does. Both need enough repeats.
pub(super) fn condition(condition: &Condition, comparison: Option<&Comparison>) -> Tested {
    let tested = |outcome, evidence| Tested {
        condition: condition.clone(),
        outcome,
        evidence,
    };
    let Some(comparison) = comparison else {
        let evidence = format!("{} was not measured on both sides", condition.figure);
        return tested(Outcome::CannotTell, evidence);
    };
    let (estimate, threshold) = match condition.threshold {
        Threshold::Level(level) => {
            let b = &comparison.b;
            let evidence = format!(
                "B's median is {} over {} repeats",
                condition.unit.words(b.median),
                b.n
            );
            if b.n < MIN_REPEATS_TO_COMPARE {
                let evidence = format!("{evidence}, {MIN_REPEATS_TO_COMPARE} are needed");
                return tested(Outcome::CannotTell, evidence);
            }
            return tested(met(beyond(condition.side, b.median, level)), evidence);
        }
        Threshold::Change(_) | Threshold::Relative(_) => match effect(condition, comparison) {
            Ok((effect, threshold)) => (effect.estimate, threshold),
            Err(why) => return tested(Outcome::CannotTell, why),
        },
    };
    let outcome = match comparison.verdict {
        Verdict::NotEnoughRepeats { .. } | Verdict::TimeExplains | Verdict::NotByTurns => {
            Outcome::CannotTell
        }
        Verdict::NoSignificantDifference => Outcome::Passes,
        Verdict::Different { direction } => {
            met(direction == condition.side && beyond(condition.side, estimate, threshold))
        }
    };
    let evidence = match condition.threshold {
        Threshold::Change(_) if comparison.p.is_some() => {
            let side = if estimate < 0.0 { "lower" } else { "higher" };
            format!(
                "{comparison}; {} {side}",
                condition.unit.words(estimate.abs())
            )
        }
        _ => comparison.to_string(),
    };
    tested(outcome, evidence)
}

/// The change that a condition is about, with its threshold; or why there is none.
pub(super) fn effect(
    condition: &Condition,
    comparison: &Comparison,
) -> Result<(Effect, f64), String> {
    if !comparison.verdict.can_tell() {
        let words = comparison.to_string();
        return Err(words.trim_start_matches("cannot tell: ").to_owned());
    }
    let (effect, threshold) = match condition.threshold {
        Threshold::Change(change) => (comparison.difference, change),
        Threshold::Relative(share) => {
            let as_share = |effect: Effect| Effect {
                estimate: effect.estimate - 1.0,
                interval: Interval {
                    low: effect.interval.low - 1.0,
                    high: effect.interval.high - 1.0,
                    ..effect.interval
                },
            };
            (comparison.ratio.map(as_share), share)
        }
        Threshold::Level(_) => (None, 0.0),
    };
    let effect =
        effect.ok_or_else(|| "a figure is 0 or less, so there is no relative change".to_owned())?;
    Ok((effect, threshold))
}

/// What is required: it passes only when each is shown.
pub(super) fn all_of(
    conditions: &[Condition],
    test: impl Fn(&Condition) -> Tested,
) -> (Outcome, Vec<Tested>) {
    let tested: Vec<Tested> = conditions.iter().map(test).collect();
    let any = |outcome| tested.iter().any(|t| t.outcome == outcome);
    let whole = if any(Outcome::Fails) {
        Outcome::Fails
    } else if any(Outcome::CannotTell) {
        Outcome::CannotTell
    } else {
        Outcome::Passes
    };
    (whole, tested)
}

/// What a condition is about: the interval of the change, or of B's own median, the threshold in the same unit, and
/// both in words; else why undecided.
pub(super) fn measured(
    condition: &Condition,
    comparison: Option<&Comparison>,
) -> Result<(Interval, f64, String), String> {
    let comparison =
        comparison.ok_or_else(|| format!("{} was not measured on both sides", condition.figure))?;
    let Threshold::Level(level) = condition.threshold else {
        let (effect, threshold) = effect(condition, comparison)?;
        return Ok((effect.interval, threshold, comparison.to_string()));
    };
    let b = &comparison.b;
    let interval = b.interval.ok_or_else(|| {
        let needed = crate::MIN_REPEATS_FOR_INTERVAL;
        format!("{} repeats, {needed} needed", b.n)
    })?;
    let [low, high] = [interval.low, interval.high].map(|v| condition.unit.words(v));
    Ok((interval, level, format!("B's median is {low} to {high}")))
}

/// Shown when all of the interval lies on the good side of the threshold: of the change, or of B's
/// own median.
pub(super) fn requirement(condition: &Condition, comparison: Option<&Comparison>) -> Tested {
    let tested = |outcome, evidence| Tested {
        condition: condition.clone(),
        outcome,
        evidence,
    };
    let (interval, threshold, words) = match measured(condition, comparison) {
        Ok(measured) => measured,
        Err(why) => return tested(Outcome::CannotTell, why),
    };
    let worst = match condition.side {
        Direction::Higher => interval.low,
        Direction::Lower => interval.high,
    };
    if beyond(condition.side, worst, threshold) {
        tested(Outcome::Passes, words)
    } else {
        tested(Outcome::Fails, format!("not shown: {words}"))
    }
}

pub(super) fn beyond(side: Direction, value: f64, threshold: f64) -> bool {
    match side {
        Direction::Higher => value > threshold,
        Direction::Lower => value < threshold,
    }
}

fn met(met: bool) -> Outcome {
    if met { Outcome::Fails } else { Outcome::Passes }
}

#[cfg(test)]
mod tests {
    use super::super::{Figure, Gate, Unit};
    use super::*;
    use crate::{CompareOptions, Sample, compare};

    const FIGURES: [Figure<'_>; 3] = [
        Figure {
            name: "p99",
            unit: Unit::TimeUs,
        },
        Figure {
            name: "goodput",
            unit: Unit::PerSecond,
        },
        Figure {
            name: "failed",
            unit: Unit::Number,
        },
    ];

    fn comparison(factor: f64, repeats: usize) -> Comparison {
        let a: Vec<f64> = (0..repeats).map(|i| 1_000.0 + i as f64).collect();
        let b: Vec<f64> = a.iter().map(|v| v * factor).collect();
        let sample = |v: &[f64]| Sample::new(v).unwrap();
        compare(&sample(&a), &sample(&b), &CompareOptions::default()).unwrap()
    }

    /// p99 8 % higher, goodput 2 % lower, failed with too few repeats.
    fn evaluate(text: &str) -> (Outcome, Vec<Tested>) {
        let (p99, goodput, failed) = (comparison(1.08, 6), comparison(0.98, 6), comparison(3.0, 3));
        Gate::parse(text, &FIGURES)
            .unwrap()
            .evaluate(|name| match name {
                "p99" => Some(&p99),
                "goodput" => Some(&goodput),
                _ => Some(&failed),
            })
    }

    #[test]
    fn a_gate_fails_for_what_is_beyond_it_and_only_for_that() {
        use Outcome::{CannotTell, Fails, Passes};
        for (text, expected) in [
            ("p99 > +5%", Fails),
            ("p99 > +10%", Passes),
            ("p99 < -5%", Passes),
            ("p99 > +50us", Fails),
            ("p99 > +0.1ms", Passes),
            ("p99 > 1ms", Fails),
            ("p99 > 2ms", Passes),
            ("goodput < -1%", Fails),
            ("goodput < -3%", Passes),
            ("goodput < 900/s", Passes),
            ("failed > +5%", CannotTell),
            ("failed > 5", CannotTell),
            ("p99 > +5%, failed > 5", Fails),
            ("p99 > +10%, failed > 5", CannotTell),
            ("p99 > +5% and failed > 5", CannotTell),
            ("p99 > +10% and failed > 5", Passes),
            ("p99 > +5% and goodput < -3%", Passes),
            ("p99 > +5% and goodput < -1%", Fails),
        ] {
            assert_eq!(evaluate(text).0, expected, "{text}");
        }
    }

    #[test]
    fn each_condition_has_its_evidence() {
        let (_, tested) = evaluate("p99 > +5%, failed > 5, p99 > +1ms, goodput < 900");
        let reported: Vec<String> = tested.iter().map(ToString::to_string).collect();
        assert!(
            reported[0].starts_with("p99 > +5%: fails: B is 8.0 % higher than A (95 %"),
            "{reported:?}"
        );
        assert_eq!(
            reported[1],
            "failed > 5: cannot tell: B's median is 3003 over 3 repeats, 5 are needed"
        );
    }

    #[test]
    fn what_is_required_passes_only_when_the_interval_shows_it() {
        use Outcome::{CannotTell, Fails, Passes};
        let (same, lower, few) = (comparison(1.0, 6), comparison(0.97, 6), comparison(1.0, 3));
        let wide: Vec<f64> = [800.0, 1_300.0, 900.0, 1_250.0, 1_000.0, 1_100.0].to_vec();
        let wide = Sample::new(&wide).unwrap();
        let unsure = compare(&wide, &wide, &CompareOptions::default()).unwrap();
        for (text, of, expected) in [
            ("goodput > -5%", &same, Passes),
            ("goodput > -5%", &lower, Passes),
            ("goodput > -2%", &lower, Fails),
            ("goodput > -5%", &unsure, Fails),
            ("goodput > -5%", &few, CannotTell),
            ("goodput > +5%", &same, Fails),
            ("p99 < +5%, goodput > -5%", &same, Passes),
            ("p99 < +5% and goodput > -2%", &lower, Fails),
            ("goodput > -50", &lower, Passes),
            ("goodput > 900", &lower, Passes),
            ("goodput > 2000", &lower, Fails),
            ("goodput > 900", &few, CannotTell),
        ] {
            let gate = Gate::parse_required(text, &FIGURES).unwrap();
            let (outcome, tested) = gate.evaluate(|_| Some(of));
            assert_eq!(outcome, expected, "{text}: {tested:?}");
        }
        let gate = Gate::parse_required("goodput > -5%", &FIGURES).unwrap();
        let (_, tested) = gate.evaluate(|_| Some(&unsure));
        assert!(
            tested[0].evidence.starts_with("not shown: no significant"),
            "{tested:?}"
        );
        let (_, tested) = gate.evaluate(|_| Some(&few));
        assert_eq!(
            tested[0].to_string(),
            "goodput > -5%: cannot tell: 3 repeats, 5 needed"
        );
        assert_eq!(gate.evaluate(|_| None).0, CannotTell);
    }

    #[test]
    fn a_large_change_that_may_be_chance_passes() {
        let sample = |v: &[f64]| Sample::new(v).unwrap();
        let a = sample(&[100.0, 150.0, 90.0, 130.0, 105.0]);
        let b = sample(&[160.0, 95.0, 170.0, 120.0, 135.0]);
        let compared = compare(&a, &b, &CompareOptions::default()).unwrap();
        assert!(compared.change().unwrap() > 0.05);
        let gate = Gate::parse("p99 > +5%", &FIGURES).unwrap();
        assert_eq!(gate.evaluate(|_| Some(&compared)).0, Outcome::Passes);
    }

    #[test]
    fn a_figure_without_a_value_or_a_share_is_undecided() {
        let gate = Gate::parse("p99 > +5%", &FIGURES).unwrap();
        let (outcome, tested) = gate.evaluate(|_| None);
        assert_eq!(outcome, Outcome::CannotTell);
        assert_eq!(tested[0].evidence, "p99 was not measured on both sides");
        let zero = Sample::new(&[0.0; 5]).unwrap();
        let compared = compare(&zero, &zero, &CompareOptions::default()).unwrap();
        let (outcome, tested) = gate.evaluate(|_| Some(&compared));
        assert_eq!(outcome, Outcome::CannotTell);
        assert!(tested[0].evidence.contains("no relative change"));
    }
}
