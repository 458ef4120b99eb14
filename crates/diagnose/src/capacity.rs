//! How much load a system takes: p99 against load, from the trials of an experiment with a ladder of
//! rates. How the figures come out of it: `docs/statistics.md`.
//!
//! Not for: which rates are tried (`crates/run/src/experiment/capacity.rs`).

use std::collections::BTreeMap;

use pgdyno_model::experiment::point::Point;
use pgdyno_model::notebook::TrialRow;
use pgdyno_model::text;
use pgdyno_stats::{Curve, CurveError, LoadPoint, count_needed};

/// The percentile that keeps the limit or not.
const PERCENTILE: f64 = 99.0;

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
