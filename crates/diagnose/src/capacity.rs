//! How much load a system takes: p99 against load, from the trials of an experiment with a ladder of
//! rates. How the figures come out of it: `docs/statistics.md`.
//!
//! Not for: which rates are tried (`crates/run/src/experiment/capacity.rs`).

use std::collections::BTreeMap;

use pgdyno_model::notebook::{Kind, Notebook, TrialRow};
use pgdyno_model::stamp;
use pgdyno_spec::{
    Failure,
    experiment::{Capacity, point::Point},
    text,
};
use pgdyno_stats::search::{Asked, Step};
use pgdyno_stats::{Block, Curve, CurveError, LoadPoint, OverLimit, count_needed};

/// The percentile that keeps the limit or not.
const PERCENTILE: f64 = 99.0;
/// A server that does less than this share of what is due falls behind.
const KEPT_UP: f64 = 0.95;

/// The first steps are at least so long: shorter ones have too few seconds to tell how their
/// transactions depend on one another.
const STEP_S_MIN: f64 = 10.0;

/// By trial its measured seconds, with the transactions over the limit.
pub type SecondsOver = BTreeMap<i64, Vec<Block>>;

/// Of those of these trials that may be steps of a search.
///
/// # Errors
/// The notebook cannot be read.
pub fn seconds_over(
    notebook: &dyn Notebook,
    trials: &[TrialRow],
    asked: Capacity,
) -> Result<SecondsOver, Failure> {
    let limit_us = asked.slo_us();
    let mut all = SecondsOver::new();
    let steps = trials.iter().filter(|trial| trial.point.is_some());
    for trial in steps.filter(|trial| constant(trial).is_some()) {
        let mut blocks: Vec<Block> = Vec::new();
        for second in notebook.latencies_by_second(trial.number, Kind::Response)? {
            let buckets = second.latencies.histogram().buckets();
            let over = buckets.filter(|it| (it.lowest_us + it.highest_us) as f64 > 2.0 * limit_us);
            let block = Block {
                count: second.latencies.count(),
                beyond: over.map(|bucket| bucket.count).sum(),
            };
            match blocks.last_mut() {
                // What ends after the asked time was due before it.
                Some(last) if !second.is_whole => {
                    last.count += block.count;
                    last.beyond += block.beyond;
                }
                _ => blocks.push(block),
            }
        }
        all.insert(trial.number, blocks);
    }
    Ok(all)
}

/// Trials that differ in nothing but their rate and length.
pub struct Ladder<'a> {
    /// The point without its rate and length.
    pub point: Point,
    seconds: &'a SecondsOver,
    /// By rate, the lowest first.
    pub loads: Vec<Load<'a>>,
}

/// The repeats at one rate.
pub struct Load<'a> {
    /// Transactions a second that were to start.
    pub rate_per_s: f64,
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

    /// What is to be found out here.
    pub fn asked(&self, capacity: Capacity) -> Asked {
        let specs = || self.trials().map(|trial| &trial.spec);
        let shortest = specs().filter_map(|spec| spec.duration).min();
        let beside = specs().map(|spec| spec.warmup.longest()).max();
        let rates = self.loads.iter().map(|load| load.rate_per_s);
        Asked {
            limit: capacity.slo_us(),
            width: capacity.width,
            time_s: capacity.time.as_secs_f64(),
            step_s: shortest
                .map_or(0.0, |time| time.as_secs_f64())
                .max(STEP_S_MIN),
            beside_s: beside.map_or(0.0, |time| time.as_secs_f64()),
            first_rate: rates.fold(f64::NAN, f64::min),
        }
    }

    /// The trials as steps of a search, in the order in which they were begun.
    pub fn steps(&self) -> Vec<Step> {
        let numbered = self.numbered_steps().into_iter();
        numbered.map(|(_, step)| step).collect()
    }

    /// The same with the trials' numbers in the notebook.
    pub fn numbered_steps(&self) -> Vec<(i64, Step)> {
        let mut trials: Vec<&TrialRow> = self.trials().collect();
        trials.sort_by(|a, b| (&a.started, a.number).cmp(&(&b.started, b.number)));
        let began = trials.first().and_then(|trial| stamp::read(&trial.started));
        let steps = trials.into_iter().map(|trial| {
            let started = stamp::read(&trial.started);
            let since = |stamp: Option<std::time::SystemTime>| {
                let since = stamp?.duration_since(began?).ok();
                since.map(|since| since.as_secs_f64())
            };
            let ended = since(trial.ended.as_deref().and_then(stamp::read));
            let (from, to) = (since(started).unwrap_or(0.0), ended.unwrap_or(0.0));
            let seconds = self
                .seconds
                .get(&trial.number)
                .map_or(&[][..], Vec::as_slice);
            let took_s = (from, to.max(from));
            (trial.number, step(trial, seconds, took_s))
        });
        steps.collect()
    }

    fn trials(&self) -> impl Iterator<Item = &TrialRow> {
        self.loads
            .iter()
            .flat_map(|load| load.trials.iter().copied())
    }
}

/// The rate of a trial, where it does not move: one that does is no step of a search.
fn constant(trial: &TrialRow) -> Option<f64> {
    trial.spec.rate.as_ref()?.constant()
}

/// A trial as a step of a search.
fn step(trial: &TrialRow, blocks: &[Block], (from_s, to_s): (f64, f64)) -> Step {
    let rate = constant(trial).unwrap_or(f64::NAN);
    let seconds = trial.elapsed_us.unwrap_or(0) as f64 / 1e6;
    let done = trial.committed.unwrap_or(0) + trial.failed.unwrap_or(0);
    let due = rate * seconds;
    // Transactions come at random: three standard errors are no falling behind.
    let by_chance = 3.0 * due.sqrt();
    let falls_behind = (done as f64) < KEPT_UP * due - by_chance;
    let not_begun = (due - by_chance - done as f64).max(0.0);
    // One that ends by itself is over when there is no trend any more.
    let warmup_s = trial.spec.warmup.longest().as_secs_f64();
    let p99 = trial.response.p99_us.map_or(f64::NAN, |us| us as f64);
    let high = trial
        .response_p99_high_us
        .map_or(f64::INFINITY, |us| us as f64);
    let (latency, between) = if falls_behind {
        (f64::INFINITY, (f64::INFINITY, f64::INFINITY))
    } else {
        (p99, (trial.response_p99_low_us.unwrap_or(0) as f64, high))
    };
    Step {
        rate,
        seconds,
        at_s: to_s - (seconds / 2.0).min(to_s - from_s),
        took_s: to_s - from_s,
        latency,
        between,
        over: OverLimit::of(blocks, warmup_s).with_not_begun(not_begun),
    }
}

/// The ladders of these points with what the trials came to, in the points' order.
pub fn ladders<'a>(
    points: impl IntoIterator<Item = &'a Point>,
    trials: &'a [TrialRow],
    seconds: &'a SecondsOver,
) -> Vec<Ladder<'a>> {
    let mut ladders: Vec<Ladder<'_>> = Vec::new();
    for point in points {
        let point = point.without_rate_and_duration();
        if ladders.iter().any(|ladder| ladder.point == point) {
            continue;
        }
        let bare_point = point.to_json();
        // By what the point says, not by the rate: shares of a maximum are not round.
        let mut loads: BTreeMap<String, Load<'_>> = BTreeMap::new();
        for trial in trials {
            let Some((rate_per_s, rated)) = constant(trial).zip(trial.point.as_ref()) else {
                continue;
            };
            let (mut bare, mut by_rate) = (rated.clone(), rated.clone());
            if let Some(values) = bare.as_object_mut() {
                values.remove("rate");
                values.remove("duration");
            }
            if bare == bare_point {
                if let Some(values) = by_rate.as_object_mut() {
                    values.remove("duration");
                }
                let load = loads.entry(by_rate.to_string()).or_insert_with(|| Load {
                    rate_per_s,
                    trials: Vec::new(),
                });
                load.trials.push(trial);
            }
        }
        let mut loads: Vec<Load<'_>> = loads.into_values().collect();
        loads.sort_by(|a, b| a.rate_per_s.total_cmp(&b.rate_per_s));
        ladders.push(Ladder {
            point,
            seconds,
            loads,
        });
    }
    ladders
}
