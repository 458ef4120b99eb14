//! The points of an experiment: what each came to over its repeats, in the terminal and as JSON.
//! How each figure is computed: `docs/statistics.md`.
//!
//! The unit is the repeat. Percentiles are those of all repeats' transactions together (their
//! histograms merged), never averages. What does not count is left out and named, outliers count
//! and are named.

mod json;
#[cfg(test)]
mod tests;
mod text;
mod uneven;
mod varied;

use std::collections::BTreeMap;

use pgdyno_drive::record::Latencies;
use pgdyno_stats::{Outlier, Sample};
use serde_json::Value;

use super::comparison::{METRICS, Metric};
use super::table::one_line;
use crate::store::{ExperimentRow, Filter, Kind, Store, TrialRow};
use pgdyno_model::Failure;
use pgdyno_model::Note;
use pgdyno_model::State;

/// What an experiment came to.
pub struct Summary {
    /// Which.
    pub experiment: ExperimentRow,
    /// By what varies.
    pub points: Vec<Point>,
    /// Trials that found the maximum for others' rates: no points of their own.
    pub maxima: Vec<i64>,
}

/// A point: the repeats of one workload with the same values for all that varies.
pub struct Point {
    /// What varies, for people.
    pub title: String,
    /// What varies: values by path (`params.scale`).
    pub varied: BTreeMap<String, Value>,
    /// The workload's name.
    pub workload: String,
    /// The trials that count, in the order in which they were run.
    pub trials: Vec<TrialRow>,
    /// What is noted of those that were not steady, by their place in `trials`.
    pub unsteady: Vec<(usize, Note)>,
    /// What is noted of the repeats together: what happened in some and not in others.
    pub uneven: Vec<Note>,
    /// Those that do not count, with the reason.
    pub left_out: Vec<(TrialRow, String)>,
    /// Which latencies the percentiles are of: response times under a rate, else service times.
    pub kind: Kind,
    /// Of all trials that count, together.
    latencies: Latencies,
}

/// The summary of an experiment.
///
/// # Errors
/// The store cannot be read.
pub fn of_experiment(store: &Store, experiment: ExperimentRow) -> Result<Summary, Failure> {
    let mut trials = store.trials(&Filter {
        experiment: Some(experiment.uuid.clone()),
        ..Filter::default()
    })?;
    trials.sort_by_key(|trial| trial.number);
    of_trials(store, experiment, trials)
}

/// The same of these trials, in the order in which they were run.
///
/// # Errors
/// The store cannot be read.
pub fn of_trials(
    store: &Store,
    experiment: ExperimentRow,
    trials: Vec<TrialRow>,
) -> Result<Summary, Failure> {
    let (trials, maxima): (Vec<_>, Vec<_>) =
        trials.into_iter().partition(|trial| trial.repeat.is_some());
    let varied = varied::paths(&trials);
    let mut points: BTreeMap<Key, Vec<TrialRow>> = BTreeMap::new();
    for trial in trials {
        points.entry(Key::of(&trial)).or_default().push(trial);
    }
    let points = points.into_values();
    let points = points.map(|trials| Point::read(store, trials, &varied));
    let mut points: Vec<Point> = points.collect::<Result<_, _>>()?;
    points.sort_by(varied::order);
    Ok(Summary {
        experiment,
        points,
        maxima: maxima.iter().map(|trial| trial.number).collect(),
    })
}

/// What makes trials repeats of each other. The pack's content too: a figure over different
/// workloads means nothing.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
struct Key {
    workload: String,
    point: String,
    pack_sha256: Option<String>,
}

impl Key {
    fn of(trial: &TrialRow) -> Self {
        Self {
            workload: trial.workload.clone(),
            point: trial.point.as_ref().map_or(String::new(), Value::to_string),
            pack_sha256: trial.pack_sha256.clone(),
        }
    }
}

impl Point {
    /// `trials` are all of one point, at least one.
    fn read(store: &Store, trials: Vec<TrialRow>, varied: &[String]) -> Result<Self, Failure> {
        let first = &trials[0];
        let workload = first.workload.clone();
        let values = varied::values(first);
        let varied: Vec<(&String, &Value)> = varied
            .iter()
            .filter_map(|path| Some((path, values.get(path)?)))
            .collect();
        let title = varied::title(&workload, &varied);
        let varied = varied.into_iter().map(|(p, v)| (p.clone(), v.clone()));
        let varied = varied.collect();
        let kind = match first.spec.rate {
            Some(_) => Kind::Response,
            None => Kind::Service,
        };
        let (mut counted, mut left_out) = (Vec::new(), Vec::new());
        for trial in trials {
            match why_not(&trial) {
                Some(why) => left_out.push((trial, why)),
                None => counted.push(trial),
            }
        }
        let mut latencies = Latencies::default();
        let mut unsteady = Vec::new();
        for (index, trial) in counted.iter().enumerate() {
            let notes = store.notes(trial.number)?.into_iter();
            let notes = notes.filter(Note::is_of_steadiness);
            unsteady.extend(notes.map(|note| (index, note)));
            latencies.merge(&store.latencies(trial.number, None, kind)?);
        }
        Ok(Self {
            title,
            varied,
            workload,
            uneven: uneven::notes(store, &counted)?,
            trials: counted,
            unsteady,
            left_out,
            kind,
            latencies,
        })
    }

    /// Each repeat's figure; `None` where one does not have it.
    fn sample(&self, metric: &Metric) -> Option<Sample> {
        let values: Option<Vec<f64>> = self.trials.iter().map(|t| metric.of(t)).collect();
        Sample::new(&values?).ok()
    }

    fn total(&self, of: fn(&TrialRow) -> Option<u64>) -> u64 {
        self.trials.iter().filter_map(of).sum()
    }

    /// Of all repeats together; `None` where too few transactions lie beyond it.
    fn percentile_us(&self, name: &str) -> Option<u64> {
        let percent: f64 = name.strip_prefix('p')?.parse().ok()?;
        self.latencies.percentile_us(percent)
    }

    /// The repeats that lie far from the others, by figure.
    fn outliers(&self) -> Vec<(&'static Metric, Outlier)> {
        let of = |metric: &'static Metric| {
            let outliers = self.sample(metric).map(|sample| sample.outliers());
            let outliers = outliers.unwrap_or_default().into_iter();
            outliers.map(move |outlier| (metric, outlier))
        };
        METRICS.iter().flat_map(of).collect()
    }
}

/// Why a trial does not count.
fn why_not(trial: &TrialRow) -> Option<String> {
    if let Some(reason) = &trial.excluded {
        return Some(format!("excluded: {}", one_line(reason)));
    }
    if trial.state == State::Complete {
        return None;
    }
    let reason = trial.reason.as_deref().map(one_line);
    Some(match reason {
        Some(reason) => format!("{}: {reason}", trial.state),
        None => trial.state.to_string(),
    })
}
