//! `[capacity]`: how much load a system takes while p99 keeps a limit. The rates of the experiment
//! are the rungs of a ladder; between the last that keeps the limit and the first that breaks it,
//! more are put in. How the figures come out of it: `docs/statistics.md`.

use std::collections::BTreeMap;

use super::schedule::Slot;
use pgdyno_diagnose::capacity::ladders;
use pgdyno_model::Failure;
use pgdyno_model::event::Role;
use pgdyno_model::experiment::Capacity;
use pgdyno_model::experiment::point::{Point, Rate};
use pgdyno_model::notebook::TrialRow;

/// Fewer rates make no curve.
const RATES_MIN: usize = 3;
/// Into so many parts the step is cut in which the limit is broken.
const PARTS: u32 = 3;

/// What cannot be found out with these rates.
///
/// # Errors
/// A point without a rate, a ladder with too few of them.
pub fn check(points: &[Point]) -> Result<(), Failure> {
    let mut rungs: BTreeMap<String, usize> = BTreeMap::new();
    for point in points {
        let is_open = point.rate() != Rate::Max;
        *rungs.entry(point.without_rate().key()).or_default() += usize::from(is_open);
    }
    if rungs.values().all(|rates| *rates >= RATES_MIN) {
        return Ok(());
    }
    Err(Failure::new(format!(
        "a capacity needs at least {RATES_MIN} rates for each point"
    ))
    .hint("in [matrix]: rate = [\"20%\", \"40%\", \"60%\", \"80%\", \"100%\"]")
    .hint("for an example run pgdyno sweep --preset capacity --print"))
}

/// Trials to be added when all of a plan's points are complete: rates between the last that keeps
/// the limit and the first that breaks it. They follow from the plan's own trials alone, so that a
/// sweep that is resumed adds the same.
pub fn between(
    points: &[&Point],
    repeats: u32,
    capacity: Capacity,
    trials: &[TrialRow],
) -> Vec<Slot> {
    let planned: Vec<String> = points.iter().map(|point| point.key()).collect();
    let of_plan = trials.iter().filter(|trial| {
        let point = trial.point.as_ref().map(ToString::to_string);
        point.is_some_and(|point| planned.contains(&point))
    });
    let of_plan: Vec<TrialRow> = of_plan.cloned().collect();
    let mut slots = Vec::new();
    for ladder in ladders(points.iter().copied(), &of_plan) {
        let (Ok(curve), _) = ladder.curve() else {
            continue;
        };
        let Some((low, high)) = curve.bracket(capacity.slo_us()) else {
            continue;
        };
        let index = points
            .iter()
            .position(|point| point.without_rate() == ladder.point);
        let Some(index) = index else { continue };
        let rates = (1..PARTS).map(|part| {
            let share = f64::from(part) / f64::from(PARTS);
            tidy(low + share * (high - low))
        });
        let rates: Vec<f64> = rates.filter(|rate| low < *rate && *rate < high).collect();
        for repeat in 1..=repeats {
            slots.extend(rates.iter().map(|rate| Slot {
                index,
                point: ladder.point.at_rate(*rate),
                role: Role::Point,
                repeat,
            }));
        }
    }
    slots
}

/// Three digits are enough for a rate.
fn tidy(rate: f64) -> f64 {
    let unit = 10f64.powf(rate.log10().floor() - 2.0);
    // Through text: 0.1 steps are to be written as they are read.
    let rounded = (rate / unit).round() * unit;
    format!("{rounded:.3}").parse().unwrap_or(rounded)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::experiment::plan::Plan;
    use crate::experiment::reader;
    use crate::experiment::toml_text::Source;
    use pgdyno_model::spec::TargetSpec;
    use std::path::Path;

    #[test]
    fn a_ladder_has_three_rungs_or_more() {
        let plan = |rates: &str| {
            let text =
                format!("workload = 'tpcb'\nclients = [1, 2]\n{rates}\ncapacity.slo = '5ms'\n");
            let source = Source {
                name: "e",
                text: &text,
            };
            let e = reader::read(source, "e", Path::new("")).unwrap();
            Plan::new(e, &TargetSpec::default(), 1).map(|plan| plan.slots.len())
        };
        // Of each two rates a maximum, and the rates themselves.
        assert_eq!(plan("rate = ['50%', '80%', 100]").unwrap(), 8);
        for few in ["", "rate = [1, 2]", "rate = ['max', '50%', 100]"] {
            let e = plan(few).unwrap_err().to_string();
            assert!(e.contains("at least 3 rates"), "{few}: {e}");
        }
    }

    #[test]
    fn what_is_wrong_in_its_section_is_said_with_its_place() {
        for (section, want) in [
            ("[capacity]", "e:2:1: capacity: missing field `slo`"),
            ("capacity.slo = 'soon'", "slo: "),
            ("capacity.sol = '5ms'", "there are: slo"),
            ("capacity = 5", "capacity"),
        ] {
            let text = format!("workload = 'tpcb'\n{section}\n");
            let source = Source {
                name: "e",
                text: &text,
            };
            let e = reader::read(source, "e", Path::new("")).unwrap_err();
            let e = format!("{e}");
            assert!(e.contains(want), "{section}: {e}");
        }
    }

    #[test]
    fn rates_have_three_digits() {
        for (rate, want) in [
            (1833.33, 1830.0),
            (27.18, 27.2),
            (98_765.4, 98_800.0),
            (0.5, 0.5),
        ] {
            assert_eq!(tidy(rate), want);
        }
    }
}
