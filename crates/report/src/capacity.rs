//! How much load a system takes, as a document: latency against load, the highest load that keeps the
//! limit, and where the curve bends.

mod text;

pub use text::text;

use pgdyno_stats::Bootstrap;

use pgdyno_diagnose::capacity::{Ladder, ladders};
use pgdyno_model::document::capacity::{self, Capacity};
use pgdyno_model::experiment::point::Point;
use pgdyno_model::notebook::TrialRow;

/// From the complete trials of an experiment: its points as they were planned, what varies in them,
/// and the limit in microseconds.
pub fn document<'a>(
    points: impl IntoIterator<Item = &'a Point>,
    varied: &[String],
    slo_us: f64,
    trials: &'a [TrialRow],
) -> Capacity {
    let varied: Vec<&str> = varied.iter().map(String::as_str).collect();
    let varied: Vec<&str> = varied.into_iter().filter(|name| *name != "rate").collect();
    let ladders = ladders(points, trials).into_iter();
    Capacity {
        slo_us,
        ladders: ladders
            .map(|found| ladder(&found, &varied, slo_us))
            .collect(),
    }
}

fn ladder(ladder: &Ladder<'_>, varied: &[&str], slo_us: f64) -> capacity::Ladder {
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
    capacity::Ladder {
        title: ladder.point.label(varied),
        point: ladder.point.to_json(),
        loads: loads.collect(),
        capacity: found.map(|curve| curve.capacity(slo_us, &bootstrap).into()),
        knee: found.map(|curve| curve.knee(&bootstrap).into()),
        gaps,
        no_curve: curve.err().map(|why| why.to_string()),
    }
}
