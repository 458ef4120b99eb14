//! The points of an experiment: what each came to over its repeats, as a document and in the terminal.
//! How each figure is computed: `docs/statistics.md`.
//!
//! The unit is the repeat. Percentiles are those of all repeats' transactions together (their
//! histograms merged), never averages. What does not count is left out and named, outliers count
//! and are named.

mod isolation;
mod targets;
#[cfg(test)]
mod tests;
mod text;
mod uneven;
pub(crate) mod varied;

pub use isolation::{in_effect as isolation_in_effect, same as same_isolation};
pub use targets::{TARGET, Targets, address};
pub(crate) use varied::Given;
pub use varied::{nested, values};

use pgdyno_model::notebook::Notebook;
pub use text::text;

use std::collections::BTreeMap;

use pgdyno_stats::{Bootstrap, Sample};
use serde_json::Value;

use super::comparison::{METRICS, Metric};
use super::table::one_line;
use crate::answer::sweep::{Planned, Sweep};
use crate::lab::{self, Trials};
use crate::page::limit_in;
use pgdyno_model::document::points::{
    ExperimentName, LeftOut, Outlier, PointFigure, PointResult, Points, Unsteady,
};
use pgdyno_model::document::repeats::{LatencyKind, Repeat, Spread};
use pgdyno_model::document::{Interval, Intervals};
use pgdyno_model::notebook::{ExperimentRow, Kind, TrialRow};
use pgdyno_model::{Note, State};
use pgdyno_spec::Failure;

/// What an experiment came to.
///
/// # Errors
/// The store cannot be read.
pub fn of_experiment(store: &dyn Notebook, experiment: &ExperimentRow) -> Result<Points, Failure> {
    let trials = Trials::of(store, experiment)?;
    let numbers: Vec<i64> = trials.all.iter().map(|trial| trial.number).collect();
    store.will_read(&numbers);
    let points = answered(&trials);
    store.will_read(&[]);
    points
}

fn answered(trials: &Trials<'_>) -> Result<Points, Failure> {
    let (store, all) = (trials.store, &trials.all);
    let found = of_trials(store, trials.experiment, all.clone())?;
    let capacity = crate::capacity::of_experiment(trials, &found.points)?;
    let search = crate::capacity::search(capacity.as_ref(), &found.points, None);
    let lab = lab::of(trials, search)?;
    let answer = match lab.and_then(|lab| lab.answer()) {
        answer @ Some(_) => answer,
        None => {
            let (planned, targets) = (Planned::of(trials.experiment), Targets::of(all));
            let mut limit_of = |point: &PointResult| limit_in(store, point);
            Sweep::new(&found.points, all, &planned, &targets).answer(&mut limit_of)?
        }
    };
    Ok(Points {
        answer,
        capacity,
        ..found
    })
}

/// The same of these trials, without an answer, in the order in which they were run.
///
/// # Errors
/// The store cannot be read.
pub fn of_trials(
    store: &dyn Notebook,
    experiment: &ExperimentRow,
    trials: Vec<TrialRow>,
) -> Result<Points, Failure> {
    let (trials, maxima): (Vec<_>, Vec<_>) =
        trials.into_iter().partition(|trial| trial.repeat.is_some());
    let varied = varied::paths(&trials);
    let targets = Targets::of(trials.iter());
    // A trial that never began does not know its pack's content: it belongs to those that do.
    let mut packs: BTreeMap<Key, Option<String>> = BTreeMap::new();
    for trial in trials.iter().filter(|trial| trial.pack_sha256.is_some()) {
        let pack_sha256 = trial.pack_sha256.clone();
        packs.entry(Key::of(trial, None)).or_insert(pack_sha256);
    }
    let mut points: BTreeMap<Key, Vec<TrialRow>> = BTreeMap::new();
    for trial in trials {
        let known = packs
            .get(&Key::of(&trial, None))
            .filter(|_| trial.state != State::Complete);
        let known = known.cloned().flatten();
        let pack_sha256 = trial.pack_sha256.clone().or(known);
        points
            .entry(Key::of(&trial, pack_sha256))
            .or_default()
            .push(trial);
    }
    let points = points.into_values();
    let points = points.map(|trials| point(store, trials, &varied, &targets));
    let mut points: Vec<PointResult> = points.collect::<Result<_, _>>()?;
    let given = Given::of(&Planned::of(experiment).values());
    points.sort_by(|a, b| given.order_of_points(a, b));
    isolation::mark(&mut points);
    Ok(Points {
        experiment: ExperimentName {
            number: experiment.number,
            uuid: experiment.uuid.clone(),
            name: experiment.name.clone(),
            kind: lab::kind(experiment),
            created: experiment.created.clone(),
        },
        answer: None,
        points,
        maxima: maxima.iter().map(|trial| trial.number).collect(),
        capacity: None,
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
    fn of(trial: &TrialRow, pack_sha256: Option<String>) -> Self {
        Self {
            workload: trial.workload.clone(),
            point: trial.point.as_ref().map_or(String::new(), Value::to_string),
            pack_sha256,
        }
    }
}

/// What the trials of one point came to, at least one of them.
fn point(
    store: &dyn Notebook,
    trials: Vec<TrialRow>,
    varied: &[String],
    targets: &Targets,
) -> Result<PointResult, Failure> {
    let first = &trials[0];
    let workload = first.workload.clone();
    let point = first.point.clone();
    let values = varied::values(first);
    let varied: Vec<(&String, &Value)> = varied
        .iter()
        .filter_map(|path| Some((path, values.get(path)?)))
        .collect();
    let title = varied::title(&workload, &varied, targets);
    let varied = varied.into_iter().map(|(p, v)| (p.clone(), v.clone()));
    let varied = varied.collect();
    let (kind, latency) = match &first.spec.rate {
        Some(_) => (Kind::Response, LatencyKind::Response),
        None => (Kind::Service, LatencyKind::Service),
    };
    let (mut counted, mut left_out) = (Vec::new(), Vec::new());
    for trial in trials {
        match why_not(&trial) {
            Some(why) => left_out.push(LeftOut {
                trial: trial.number,
                repeat: trial.repeat,
                why,
            }),
            None => counted.push(trial),
        }
    }
    let mut latencies = pgdyno_measurement::Latencies::default();
    let mut unsteady = Vec::new();
    let mut notes = crate::notes::of(store, &counted)?;
    notes.retain(|of| !of.note.is_of_steadiness());
    for trial in &counted {
        let notes = store.notes(trial.number)?.into_iter();
        let notes = notes.filter(Note::is_of_steadiness);
        unsteady.extend(notes.map(|note| Unsteady {
            trial: trial.number,
            repeat: trial.repeat,
            code: note.code.into_owned(),
            sentence: note.sentence,
        }));
        latencies.merge(&store.latencies(trial.number, None, kind)?);
    }
    let intervals = intervals(store, &counted, &latencies, kind)?;
    let total = |of: fn(&TrialRow) -> Option<u64>| counted.iter().filter_map(of).sum();
    Ok(PointResult {
        title,
        varied,
        workload,
        point,
        isolation_in_effect: isolation::in_effect(&counted),
        repeats: counted.len(),
        left_out,
        latency,
        figures: METRICS
            .iter()
            .map(|metric| {
                let name = metric.figure.name.to_owned();
                (name, figure(metric, &counted, &latencies, &intervals))
            })
            .collect(),
        committed: total(|trial| trial.committed),
        failed: total(|trial| trial.failed),
        retries: total(|trial| trial.retries),
        outliers: METRICS
            .iter()
            .flat_map(|metric| outliers(metric, &counted))
            .collect(),
        unsteady,
        uneven: uneven::notes(store, &counted)?,
        notes,
        trials: counted
            .iter()
            .map(|trial| Repeat {
                trial: trial.number,
                repeat: trial.repeat,
            })
            .collect(),
    })
}

/// Each repeat's figure; `None` where one does not have it.
fn sample(metric: &Metric, trials: &[TrialRow]) -> Option<Sample> {
    let values: Option<Vec<f64>> = trials.iter().map(|trial| metric.of(trial)).collect();
    Sample::new(&values?).ok()
}

/// `latencies` are those of all trials together.
fn figure(
    metric: &Metric,
    trials: &[TrialRow],
    latencies: &pgdyno_measurement::Latencies,
    intervals: &[Interval],
) -> PointFigure {
    let over_repeats = sample(metric, trials).map(|sample| Spread {
        over: (&sample.summary(&Bootstrap::default())).into(),
        values: sample.values().iter().copied().map(Some).collect(),
    });
    let percent = metric.percent();
    let interval = |percent: f64| intervals.iter().find(|it| it.percentile == percent);
    PointFigure {
        over_repeats,
        together_us: percent.map(|percent| latencies.percentile_us(percent)),
        interval: percent.and_then(interval).copied(),
    }
}

/// The intervals of the percentiles of these trials' transactions together: `all` are their latencies of this kind.
///
/// # Errors
/// The store cannot be read.
pub(crate) fn intervals<'a>(
    store: &dyn Notebook,
    trials: impl IntoIterator<Item = &'a TrialRow>,
    all: &pgdyno_measurement::Latencies,
    kind: Kind,
) -> Result<Vec<Interval>, Failure> {
    let mut intervals = Intervals::of_all(all);
    for trial in trials {
        for second in store.latencies_by_second(trial.number, kind)? {
            if second.is_whole {
                intervals.add(&second.latencies);
            }
        }
    }
    Ok(intervals.sorted())
}

/// The repeats that lie far from the others in a figure.
fn outliers(metric: &Metric, trials: &[TrialRow]) -> Vec<Outlier> {
    let outliers = sample(metric, trials).map(|sample| sample.outliers());
    let outliers = outliers.unwrap_or_default().into_iter();
    let outliers = outliers.map(|outlier| Outlier {
        figure: metric.figure.name.to_owned(),
        trial: trials[outlier.index].number,
        repeat: trials[outlier.index].repeat,
        value: outlier.value,
        modified_z_score: outlier.score,
    });
    outliers.collect()
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
