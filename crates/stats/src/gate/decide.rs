//! What a gate says of a comparison that may still grow: passed, failed, or open.

use super::evaluate::{self, Outcome, Tested, beyond, measured};
use super::{Condition, Sense, Threshold};
use crate::compare::{Comparison, Direction};
use crate::interval::Interval;

/// One condition, which is met where what is required is shown, or what is bad.
///
/// It is decided when all of the interval lies on one side of the threshold. At the last look what is bad and is not
/// shown has not happened; but a change for the worse that is shown, with an estimate beyond the threshold, stays open.
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
    let open = |why: &str| tested(Outcome::CannotTell, format!("{why}: {words}"));
    if !is_last || is_level {
        return open("not decided");
    }
    let is_open = match sense {
        Sense::Required => true,
        Sense::Bad => evaluate::condition(condition, comparison).outcome == Outcome::Fails,
    };
    let worse = match sense {
        Sense::Required => other(side),
        Sense::Bad => side,
    };
    if !is_open {
        tested(not_met, words)
    } else if beyond(worse, worst(worse, interval), 0.0) {
        open("worse, but whether by as much is not known")
    } else {
        open("not decided")
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
        tested(gate, required, factor, noise, is_last).0
    }

    fn tested(
        gate: &str,
        required: bool,
        factor: f64,
        noise: f64,
        is_last: bool,
    ) -> (Outcome, String) {
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
        let (outcome, tested) = gate.unwrap().decide(|_| Some(&comparison), is_last);
        (outcome, tested[0].evidence.clone())
    }

    #[test]
    fn what_stays_open_says_whether_it_is_worse() {
        let words = |factor, noise| tested("goodput > -5%", true, factor, noise, true).1;
        let worse = words(0.95, 0.03);
        assert!(
            worse.starts_with("worse, but whether by as much is not known: B is"),
            "{worse}"
        );
        let open = words(1.0, 0.4);
        assert!(open.starts_with("not decided: no significant"), "{open}");
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
        // Worse for sure, and by 5 % perhaps: what is allowed is no failure.
        assert_eq!(required(0.95, 0.03, false), CannotTell);
        assert_eq!(required(0.95, 0.03, true), CannotTell);
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
        assert_eq!(
            bad(0.94, 0.04, true),
            CannotTell,
            "worse, not by 5 % for sure"
        );
        assert_eq!(bad(0.97, 0.04, true), Passes, "not by 5 % as it looks");
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
