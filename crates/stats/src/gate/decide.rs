//! What a gate says of a comparison that may still grow: passed, failed, or open.

use super::evaluate::{self, Outcome, Tested, beyond, measured};
use super::{Condition, Sense, Threshold};
use crate::compare::{Comparison, Direction};
use crate::interval::Interval;

/// One condition, which is met where what is required is shown, or what is bad.
///
/// It is decided when all of the interval lies on one side of the threshold. At the last look there is one answer
/// more: a change for the worse is shown (all of the interval is on that side of "same"), and one beyond the threshold
/// is not excluded. That fails what is required; of what is bad it is for the estimate to say on which side it lies,
/// and what is not shown has not happened.
pub(super) fn condition(
    condition: &Condition,
    sense: Sense,
    comparison: Option<&Comparison>,
    is_last: bool,
) -> Tested {
    let tested = |outcome, evidence| Tested {
        condition: condition.clone(),
        outcome,
        evidence,
    };
    let is_level = matches!(condition.threshold, Threshold::Level(_));
    if is_level && comparison.is_some() && !is_last {
        // B alone: nothing that would be looked at again and again.
        let why = "a level is judged at the end";
        return tested(Outcome::CannotTell, why.to_owned());
    }
    let (interval, threshold, words) = match measured(condition, comparison) {
        Ok(measured) => measured,
        Err(why) => return tested(Outcome::CannotTell, why),
    };
    let side = condition.side;
    let (met, not_met) = match sense {
        Sense::Required => (Outcome::Passes, Outcome::Fails),
        Sense::Bad => (Outcome::Fails, Outcome::Passes),
    };
    if beyond(side, worst(side, interval), threshold) {
        return tested(met, words);
    }
    if !beyond(side, worst(other(side), interval), threshold) {
        return tested(not_met, words);
    }
    match sense {
        Sense::Required if is_last && !is_level && is_worse(side, interval) => {
            let evidence = format!("{words}: worse, and more than this is not excluded");
            tested(Outcome::Fails, evidence)
        }
        Sense::Bad if is_last && !is_level => evaluate::condition(condition, comparison),
        _ => tested(Outcome::CannotTell, format!("not decided: {words}")),
    }
}

/// The end of the interval that is least for what is to be on this side.
fn worst(side: Direction, interval: Interval) -> f64 {
    match side {
        Direction::Higher => interval.low,
        Direction::Lower => interval.high,
    }
}

fn other(side: Direction) -> Direction {
    match side {
        Direction::Higher => Direction::Lower,
        Direction::Lower => Direction::Higher,
    }
}

/// Whether all of it lies opposite to where it is to be.
fn is_worse(side: Direction, interval: Interval) -> bool {
    match side {
        Direction::Higher => interval.high < 0.0,
        Direction::Lower => interval.low > 0.0,
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Figure, Gate, Outcome, Unit};
    use crate::{CompareOptions, Sample, compare};

    const FIGURES: [Figure<'_>; 1] = [Figure {
        name: "goodput",
        unit: Unit::PerSecond,
    }];

    /// Twelve pairs whose ratio is `factor`, give or take `noise`.
    fn decided(gate: &str, required: bool, factor: f64, noise: f64, is_last: bool) -> Outcome {
        let a: Vec<f64> = (0..12).map(|i| 1000.0 + f64::from(i)).collect();
        let b = a.iter().enumerate().map(|(i, a)| {
            let step = i as f64 - 5.5;
            a * factor * (1.0 + noise * step / 5.5)
        });
        let b: Vec<f64> = b.collect();
        let sample = |values: &[f64]| Sample::new(values).unwrap();
        let options = CompareOptions {
            paired: true,
            ..CompareOptions::default()
        };
        let comparison = compare(&sample(&a), &sample(&b), &options).unwrap();
        let gate = if required {
            Gate::parse_required(gate, &FIGURES)
        } else {
            Gate::parse(gate, &FIGURES)
        };
        gate.unwrap().decide(|_| Some(&comparison), is_last).0
    }

    #[test]
    fn what_is_required_is_shown_excluded_or_open() {
        use Outcome::{CannotTell, Fails, Passes};
        let required =
            |factor, noise, is_last| decided("goodput > -5%", true, factor, noise, is_last);
        for is_last in [false, true] {
            assert_eq!(required(1.0, 0.01, is_last), Passes);
            assert_eq!(required(0.98, 0.01, is_last), Passes, "2 % are allowed");
            assert_eq!(required(0.9, 0.01, is_last), Fails);
            assert_eq!(required(1.0, 0.4, is_last), CannotTell);
        }
        // At the threshold: worse for sure, and by 5 % perhaps.
        assert_eq!(required(0.95, 0.03, false), CannotTell);
        assert_eq!(required(0.95, 0.03, true), Fails);
    }

    #[test]
    fn what_is_bad_fails_when_it_is_shown() {
        use Outcome::{CannotTell, Fails, Passes};
        let bad = |factor, noise, is_last| decided("goodput < -5%", false, factor, noise, is_last);
        for is_last in [false, true] {
            assert_eq!(bad(1.0, 0.01, is_last), Passes);
            assert_eq!(bad(0.9, 0.01, is_last), Fails);
        }
        assert_eq!(bad(1.0, 0.4, false), CannotTell);
        assert_eq!(bad(1.0, 0.4, true), Passes, "as pgdyno compare has it");
        assert_eq!(bad(0.94, 0.04, false), CannotTell);
        assert_eq!(bad(0.94, 0.04, true), Fails);
    }

    #[test]
    fn a_level_is_judged_once() {
        use Outcome::{CannotTell, Fails, Passes};
        let level = |text: &str, is_last| decided(text, true, 1.0, 0.01, is_last);
        assert_eq!(level("goodput > 500/s", false), CannotTell);
        assert_eq!(level("goodput > 500/s", true), Passes);
        assert_eq!(level("goodput > 5000/s", true), Fails);
    }
}
