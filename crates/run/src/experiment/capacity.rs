//! `[capacity]`: how much load a system takes while p99 keeps a limit. The rates of the experiment
//! are the rungs of a ladder; between the last that keeps the limit and the first that breaks it,
//! more are put in. How the figures come out of it: `docs/statistics.md`.

use std::collections::BTreeMap;

use pgdyno_stats::{Curve, CurveError, LoadPoint, count_needed};

use super::plan::Plan;
use super::point::{Point, Rate};
use super::schedule::Slot;
use pgdyno_model::event::Role;
use pgdyno_model::experiment::Capacity;
use pgdyno_model::notebook::TrialRow;
use pgdyno_model::{Failure, text};

/// The percentile that keeps the limit or not.
const PERCENTILE: f64 = 99.0;
/// Fewer rates make no curve.
const RATES_MIN: usize = 3;
/// Into so many parts the step is cut in which the limit is broken.
const PARTS: u32 = 3;

/// Trials that differ in nothing but their rate.
pub struct Ladder<'a> {
    /// The point without its rate.
    pub point: Point,
    /// By rate, the lowest first.
    pub loads: Vec<Load<'a>>,
}

/// The repeats at one rate.
pub struct Load<'a> {
    /// Transactions a second that were to start.
    pub rate_per_s: f64,
    /// Complete, and not excluded.
    pub trials: Vec<&'a TrialRow>,
}

impl Load<'_> {
    /// p99 of each repeat, in microseconds.
    ///
    /// # Errors
    /// A repeat has too few transactions for it.
    pub fn p99_us(&self) -> Result<Vec<f64>, String> {
        let latencies = self.trials.iter().map(|trial| trial.response.p99_us);
        let latencies: Option<Vec<f64>> = latencies.map(|us| us.map(|us| us as f64)).collect();
        latencies.ok_or_else(|| {
            format!(
                "at {}/s too few transactions for p99, which needs {}: use a longer duration",
                text::rate(self.rate_per_s),
                text::count(count_needed(PERCENTILE).unwrap_or(0)),
            )
        })
    }
}

impl Ladder<'_> {
    /// p99 against load, of the rates that have it, and what the others lack.
    ///
    /// # Errors
    /// No rate has it.
    pub fn curve(&self) -> (Result<Curve, CurveError>, Vec<String>) {
        let (mut points, mut gaps) = (Vec::new(), Vec::new());
        for load in &self.loads {
            match load.p99_us() {
                Ok(latencies) => points.push(LoadPoint {
                    load: load.rate_per_s,
                    latencies,
                }),
                Err(gap) => gaps.push(gap),
            }
        }
        (Curve::new(&points), gaps)
    }
}

/// The ladders of these points with what the trials came to, in the points' order.
pub fn ladders<'a>(
    points: impl IntoIterator<Item = &'a Point>,
    trials: &'a [TrialRow],
) -> Vec<Ladder<'a>> {
    let mut ladders: Vec<Ladder<'_>> = Vec::new();
    for point in points {
        let point = point.without_rate();
        if ladders.iter().any(|ladder| ladder.point == point) {
            continue;
        }
        let bare_point = point.to_json();
        // By what the point says, not by the rate: shares of a maximum are not round.
        let mut loads: BTreeMap<String, Load<'_>> = BTreeMap::new();
        for trial in trials {
            let Some((rate_per_s, rated)) = trial.spec.rate.zip(trial.point.as_ref()) else {
                continue;
            };
            let mut bare = rated.clone();
            if let Some(values) = bare.as_object_mut() {
                values.remove("rate");
            }
            if bare == bare_point {
                let load = loads.entry(rated.to_string()).or_insert_with(|| Load {
                    rate_per_s,
                    trials: Vec::new(),
                });
                load.trials.push(trial);
            }
        }
        let mut loads: Vec<Load<'_>> = loads.into_values().collect();
        loads.sort_by(|a, b| a.rate_per_s.total_cmp(&b.rate_per_s));
        ladders.push(Ladder { point, loads });
    }
    ladders
}

/// What cannot be found out with these rates.
///
/// # Errors
/// A point without a rate, a ladder with too few of them.
pub fn check(plan: &Plan) -> Result<(), Failure> {
    let mut rungs: BTreeMap<String, usize> = BTreeMap::new();
    for planned in &plan.points {
        let is_open = planned.point.rate() != Rate::Max;
        *rungs.entry(planned.point.without_rate().key()).or_default() += usize::from(is_open);
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

/// Trials to be added when all of the plan's are complete: rates between the last that keeps the
/// limit and the first that breaks it. They follow from the plan's own trials alone, so that a
/// sweep that is resumed adds the same.
pub fn between(plan: &Plan, capacity: Capacity, trials: &[TrialRow]) -> Vec<Slot> {
    let planned: Vec<String> = plan.points.iter().map(|p| p.point.key()).collect();
    let of_plan = trials.iter().filter(|trial| {
        let point = trial.point.as_ref().map(ToString::to_string);
        point.is_some_and(|point| planned.contains(&point))
    });
    let of_plan: Vec<TrialRow> = of_plan.cloned().collect();
    let mut slots = Vec::new();
    for ladder in ladders(plan.points.iter().map(|p| &p.point), &of_plan) {
        let (Ok(curve), _) = ladder.curve() else {
            continue;
        };
        let Some((low, high)) = curve.bracket(capacity.slo_us()) else {
            continue;
        };
        let index = plan
            .points
            .iter()
            .position(|p| p.point.without_rate() == ladder.point);
        let Some(index) = index else { continue };
        let rates = (1..PARTS).map(|part| {
            let share = f64::from(part) / f64::from(PARTS);
            tidy(low + share * (high - low))
        });
        let rates: Vec<f64> = rates.filter(|rate| low < *rate && *rate < high).collect();
        for repeat in 1..=plan.experiment.repeats {
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
            ("[capacity]", "e:2:1: capacity: slo is missing"),
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
