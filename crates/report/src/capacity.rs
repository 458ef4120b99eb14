//! How much load a system takes, as a document: latency against load, the highest load that keeps the
//! limit, and where the curve bends.

mod text;

pub use text::text;

use pgdyno_stats::Bootstrap;
use pgdyno_stats::search;

use pgdyno_diagnose::capacity::{Ladder, ladders};
use pgdyno_model::document::capacity::{self, Capacity, Estimate};
use pgdyno_model::experiment;
use pgdyno_model::experiment::point::Point;
use pgdyno_model::notebook::TrialRow;

/// From the complete trials of an experiment: its points as they were planned, what varies in them,
/// and what was asked.
pub fn document<'a>(
    points: impl IntoIterator<Item = &'a Point>,
    varied: &[String],
    asked: experiment::Capacity,
    trials: &'a [TrialRow],
) -> Capacity {
    let varied: Vec<&str> = varied.iter().map(String::as_str).collect();
    let varied: Vec<&str> = varied.into_iter().filter(|name| *name != "rate").collect();
    let ladders = ladders(points, trials).into_iter();
    Capacity {
        slo_us: asked.slo_us(),
        width: asked.width,
        time_s: asked.time.as_secs_f64(),
        ladders: ladders
            .map(|found| ladder(&found, &varied, asked))
            .collect(),
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
        capacity: Estimate::of_search(&answer),
        search: capacity::Search {
            steps: steps.len() as u64,
            took_s: steps.iter().map(|step| step.took_s).sum(),
            is_narrow: answer.half_width().is_some_and(|half| half <= asked.width),
            line_steps: line.map_or(0, |line| line.steps as u64),
            drift: drift.map(|line| line.drift),
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
