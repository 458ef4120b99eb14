//! How much load a system takes, as a document: latency against load, the highest load that keeps the
//! limit, and where the curve bends.

mod answer;
mod text;

pub use text::text;

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use pgdyno_stats::Bootstrap;
use pgdyno_stats::search;

use crate::lab::{Lab, Trials};
use pgdyno_diagnose::capacity::{Ladder, SecondsOver, ladders, seconds_over};
use pgdyno_model::State;
use pgdyno_model::document::answer::Answer;
use pgdyno_model::document::capacity::{self, Capacity, Estimate, EstimateIs};
use pgdyno_model::document::points::PointResult;
use pgdyno_model::notebook::TrialRow;
use pgdyno_spec::experiment;
use pgdyno_spec::experiment::point::Point;
use pgdyno_spec::{Failure, text as figures};
use serde_json::Value;

/// Of an experiment that asked for a capacity; `measured` are its points.
///
/// # Errors
/// The store cannot be read.
pub fn of_experiment(
    of: &Trials<'_>,
    measured: &[PointResult],
) -> Result<Option<Capacity>, Failure> {
    let definition = of.definition();
    let points = definition["points"]
        .as_array()
        .map_or(&[][..], Vec::as_slice);
    let points: Option<Vec<Point>> = points.iter().map(Point::from_json).collect();
    let asked = serde_json::from_value(definition["capacity"].clone()).ok();
    let Some((asked, points)) = asked.zip(points) else {
        return Ok(None);
    };
    let counts = |row: &&TrialRow| row.state == State::Complete && row.excluded.is_none();
    // The newest first, as the sweep has them.
    let trials: Vec<TrialRow> = of.all.iter().rev().filter(counts).cloned().collect();
    let varied = Point::varied(&points);
    let seconds = seconds_over(of.store, &trials, asked)?;
    let mut found = document(&points, &varied, asked, &trials, &seconds);
    take_percentiles(&mut found, measured);
    Ok(Some(found))
}

/// What a search for a capacity found.
pub struct Searched {
    found: Capacity,
    points: Vec<PointResult>,
    judged: Option<BTreeMap<i64, String>>,
}

/// The search among these; `None`: there was none. `judged` are the codes of what limited its trials, by their
/// numbers, where they are known.
pub fn search(
    found: Option<&Capacity>,
    points: &[PointResult],
    judged: Option<&BTreeMap<i64, String>>,
) -> Option<Searched> {
    let found = found.filter(|found| found.ladders.iter().any(|ladder| ladder.search.steps > 0))?;
    Some(Searched {
        found: found.clone(),
        points: points.to_vec(),
        judged: judged.cloned(),
    })
}

impl Lab for Searched {
    fn facts(&self) -> Option<(&'static str, Value)> {
        None
    }

    fn title(&self, workload: &str) -> String {
        let limit = Duration::from_secs_f64(self.found.slo_us.max(0.0) / 1e6);
        format!("{workload}: capacity with p99 ≤ {}", figures::asked(limit))
    }

    fn answer(&self) -> Option<Answer> {
        let mut answer = answer::answer(&self.found, self.judged.as_ref())?;
        crate::answer::serious(&self.points, &mut answer);
        Some(answer)
    }
}

/// From the complete trials of an experiment and their seconds: its points as they were planned, what varies in them,
/// and what was asked.
pub fn document<'a>(
    points: impl IntoIterator<Item = &'a Point>,
    varied: &[String],
    asked: experiment::Capacity,
    trials: &'a [TrialRow],
    seconds: &'a SecondsOver,
) -> Capacity {
    let varied: Vec<&str> = varied.iter().map(String::as_str).collect();
    let varied: Vec<&str> = varied.into_iter().filter(|name| *name != "rate").collect();
    let ladders = ladders(points, trials, seconds).into_iter();
    Capacity {
        slo_us: asked.slo_us(),
        width: asked.width,
        time_s: asked.time.as_secs_f64(),
        ladders: ladders
            .map(|found| ladder(&found, &varied, asked))
            .collect(),
    }
}

/// Gives each load the percentiles that its point has: one rate has one p99 wherever it is shown.
pub fn take_percentiles(found: &mut Capacity, points: &[PointResult]) {
    let numbers = |point: &PointResult| point.trials.iter().map(|of| of.trial).collect();
    let by_trials: BTreeMap<BTreeSet<i64>, &PointResult> =
        points.iter().map(|point| (numbers(point), point)).collect();
    let loads = found.ladders.iter_mut().flat_map(|it| &mut it.loads);
    for load in loads {
        let own: BTreeSet<i64> = load.trials.iter().copied().collect();
        let Some(point) = by_trials.get(&own) else {
            continue;
        };
        let of = |name: &str| point.figures.get(name);
        let together = |name: &str| of(name)?.together_us.flatten();
        load.p50_together_us = together("p50");
        load.p99_together_us = together("p99");
        load.p99_interval = of("p99").and_then(|figure| figure.interval);
    }
}

fn ladder(ladder: &Ladder<'_>, varied: &[&str], asked: experiment::Capacity) -> capacity::Ladder {
    let bootstrap = Bootstrap::default();
    let (curve, gaps) = ladder.curve();
    let loads = ladder.loads.iter().map(|load| {
        let trials = load.trials.iter();
        capacity::Load {
            rate_per_s: load.rate_per_s,
            trials: trials.clone().map(|t| t.number).collect(),
            goodput_per_s: trials.clone().map(|t| t.goodput_per_s).collect(),
            response_p50_us: trials.clone().map(|t| t.response.p50_us).collect(),
            response_p99_us: trials.clone().map(|t| t.response.p99_us).collect(),
            p50_together_us: None,
            p99_together_us: None,
            p99_interval: None,
            failed: trials.map(|t| t.failed).collect(),
        }
    });
    let found = curve.as_ref().ok();
    let numbered = ladder.numbered_steps();
    let steps: Vec<search::Step> = numbered.iter().map(|(_, step)| *step).collect();
    let asked = ladder.asked(asked);
    let answer = search::answer(&asked, &steps);
    let line = answer.line;
    let drift = line.filter(|line| line.is_drift_significant);
    capacity::Ladder {
        title: ladder.point.label(varied),
        point: ladder.point.to_json(),
        loads: loads.collect(),
        capacity: stated(&answer, &steps, asked.limit),
        search: capacity::Search {
            steps: steps.len() as u64,
            took_s: steps.iter().map(|step| step.took_s).sum(),
            is_narrow: answer.half_width().is_some_and(|half| half <= asked.width),
            line_steps: line.map_or(0, |line| line.steps as u64),
            drift: drift.map(|line| line.drift),
            contradiction: answer.contradiction.map(Into::into),
        },
        steps: numbered
            .iter()
            .map(|(trial, step)| capacity::SearchStep::new(*trial, step, asked.limit))
            .collect(),
        knee: found.map(|curve| curve.knee(&bootstrap).into()),
        gaps,
        no_curve: curve.err().map(|why| why.to_string()),
    }
}

/// What a search has found. Without a line, and without a step that is surely within the limit, there is no capacity
/// between its steps, only that it lies below those that are surely over it.
fn stated(answer: &search::Answer, steps: &[search::Step], limit: f64) -> Option<Estimate> {
    let at_side = |side| steps.iter().filter(move |step| step.side(limit) == side);
    let found = Estimate::of_search(answer)?;
    if found.is != EstimateIs::At
        || answer.line.is_some()
        || at_side(search::Side::Within).next().is_some()
    {
        return Some(found);
    }
    let over = at_side(search::Side::Over).map(|step| step.rate);
    let lowest = over.min_by(f64::total_cmp)?;
    Some(Estimate::beside(EstimateIs::Below, lowest))
}

#[cfg(test)]
mod tests {
    use super::*;
    use pgdyno_stats::OverLimit;

    #[test]
    fn no_capacity_is_stated_between_steps_of_which_none_is_surely_within_the_limit() {
        let step = |rate: f64, between: (f64, f64)| search::Step {
            rate,
            seconds: 10.0,
            at_s: rate,
            took_s: 11.0,
            latency: (between.0 + between.1) / 2.0,
            between,
            over: OverLimit::default(),
        };
        let asked = search::Asked {
            limit: 20.0,
            width: 0.05,
            time_s: 60.0,
            step_s: 10.0,
            beside_s: 1.0,
            first_rate: 300.0,
        };
        let found = |steps: &[search::Step]| {
            let found = stated(&search::answer(&asked, steps), steps, asked.limit);
            found.map(|found| found.is)
        };
        let (over, unsure) = (step(566.0, (30.0, 40.0)), step(300.0, (15.0, 24.0)));
        assert_eq!(found(&[unsure, over]), Some(EstimateIs::Below));
        let unsure_too = step(400.0, (18.0, 30.0));
        assert_eq!(found(&[unsure, unsure_too]), None);
        let within = step(150.0, (10.0, 15.0));
        assert_eq!(found(&[within, unsure, over]), Some(EstimateIs::At));
        // That it is below what is surely over it is known.
        assert_eq!(found(&[over, over]), Some(EstimateIs::Below));
    }
}
