//! What `pgdyno sweep --json` prints: a line a trial when it is over, then the capacity; with
//! `--dry-run` the plan.

use serde::Serialize;
use serde_json::Value;

use super::WholeTrial;
use super::capacity::Capacity;

/// A trial of a sweep that is over.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct SweepTrial {
    pub experiment: String,
    pub role: &'static str,
    /// What it was to measure.
    pub point: Value,
    pub repeat: u32,
    pub state: &'static str,
    pub error: Option<String>,
    pub before: Value,
    /// What was measured, if anything was: the document of a trial.
    #[serde(flatten)]
    pub result: Option<WholeTrial>,
}

/// The last line, where it was asked for.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct SweepCapacity {
    /// How much load keeps the limit.
    pub capacity: Capacity,
}

/// What a sweep would do.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct SweepPlan {
    pub name: String,
    pub trials: Vec<PlannedTrial>,
    /// How long it will take.
    pub estimate_s: f64,
    pub repeats: u32,
    /// How many a side comparisons take.
    pub repeats_needed: RepeatsNeeded,
    /// The search for a capacity that these trials begin, where there is one.
    pub search: Option<PlannedSearch>,
}

/// A search for a capacity: how long it goes on is not known before.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct PlannedSearch {
    /// The limit of p99, in microseconds.
    pub slo_us: f64,
    /// How narrow the interval is to be: its half as a share of the capacity.
    pub width: f64,
    /// Steps of a ladder take no longer than this together.
    pub time_s: f64,
    /// Points that differ in something else than their rate: each is searched.
    pub ladders: usize,
}

/// Repeats a side that a comparison takes; below them it cannot tell.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct RepeatsNeeded {
    pub two_points: usize,
    /// Of all points with those of another sweep.
    pub all_points: usize,
}

impl RepeatsNeeded {
    /// For an experiment of so many points. The headline's figures (goodput, p50, p99) of all points
    /// are judged together, at 5 % for all of them.
    pub fn of(points: usize) -> Self {
        let of = |points: usize| {
            let figures = super::comparison::HEADLINE.len() * points;
            pgdyno_stats::repeats_needed(figures, false, 0.95)
        };
        Self {
            two_points: of(1),
            all_points: of(points),
        }
    }
}

/// A trial of the plan.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct PlannedTrial {
    pub role: &'static str,
    /// What it is to measure.
    pub point: Value,
    pub repeat: u32,
}
