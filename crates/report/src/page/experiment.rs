//! An experiment's page: its points on a grid of what varies, every trial in run order, and the pages
//! of its trials within the same file.

use pgdyno_model::notebook::{ExperimentRow, Notebook, TrialRow};
use std::borrow::Cow;
use std::collections::{BTreeMap, HashMap};

use serde_json::{Map, Value};

use super::{begin, environment, trial, words};
use crate::answer::sweep::{self, Planned, Sweep};
use crate::lab::{self, Lab, Trials};
use crate::points::{Given, Targets};
use crate::table::one_line;
use crate::{capacity, documents, points};
use pgdyno_diagnose::{self, diagnose};
use pgdyno_model::document::Trial;
use pgdyno_model::document::capacity::Capacity;
use pgdyno_model::document::page::{
    Axis, ExperimentPage, Missing, Point, PointLimit, TargetRow, TrialLimit, TrialPage, TrialRef,
    Zones,
};
use pgdyno_model::document::points::{PointResult, Points};
use pgdyno_model::document::repeats::Summary;
use pgdyno_model::observed::Rows;
use pgdyno_model::{Note, Outcome, Progress, Severity, State};
use pgdyno_spec::{Failure, experiment::words as names, text as figures};

/// Pages of trials are put into the file up to so many bytes of documents together: it has to be
/// mailed and opened.
const PAGES_BYTES_MAX: usize = 24 << 20;
/// Of more trials no page is put into the file: those of the first few would fill it.
const PAGED_TRIALS_MAX: usize = 500;

/// The document of an experiment, from the store; `with_trials` puts the pages of its
/// trials into it, whose series are as these rows say.
///
/// # Errors
/// The store cannot be read.
pub fn experiment(
    store: &dyn Notebook,
    row: &ExperimentRow,
    with_trials: Option<Rows>,
    progress: &mut dyn Progress,
) -> Result<ExperimentPage, Failure> {
    of(Trials::of(store, row)?, with_trials, progress)
}

/// The document of trials that no experiment holds together: those with the same workload and the
/// same parameters are repeats of each other.
///
/// # Errors
/// The store cannot be read.
pub fn set(
    store: &dyn Notebook,
    name: &str,
    mut all: Vec<TrialRow>,
    with_trials: Option<Rows>,
    progress: &mut dyn Progress,
) -> Result<ExperimentPage, Failure> {
    all.sort_by_key(|trial| trial.number);
    let mut repeats: BTreeMap<String, u32> = BTreeMap::new();
    for trial in &mut all {
        let alone = [
            (
                "clients",
                match trial.spec.moving_clients() {
                    Some(clients) => clients.to_string().into(),
                    None => trial.spec.clients().into(),
                },
            ),
            (
                "rate",
                trial
                    .spec
                    .rate
                    .as_ref()
                    .map_or(Value::Null, |rate| match rate.constant() {
                        Some(per_s) => per_s.into(),
                        None => rate.to_string().into(),
                    }),
            ),
            ("mix", Value::from(trial.spec.mix.clone())),
        ];
        let alone = alone.map(|(name, value)| (name.to_owned(), value));
        let alone = Value::Object(Map::from_iter(alone));
        let point = trial.point.get_or_insert(alone);
        let repeat = repeats.entry(format!("{} {point}", trial.workload));
        let repeat = repeat.or_default();
        *repeat += 1;
        trial.repeat = Some(*repeat);
    }
    let row = ExperimentRow {
        number: 0,
        uuid: String::new(),
        name: name.to_owned(),
        created: all
            .first()
            .map_or_else(String::new, |trial| trial.started.clone()),
        definition: String::new(),
    };
    let trials = Trials {
        store,
        experiment: &row,
        all,
    };
    of(trials, with_trials, progress)
}

/// The trials that figures are made from.
fn counted(all: &[TrialRow]) -> Vec<TrialRow> {
    let counts = |trial: &&TrialRow| trial.state == State::Complete && trial.excluded.is_none();
    all.iter().filter(counts).cloned().collect()
}

fn of(
    trials: Trials<'_>,
    with_trials: Option<Rows>,
    progress: &mut dyn Progress,
) -> Result<ExperimentPage, Failure> {
    let numbers: Vec<i64> = trials.all.iter().map(|trial| trial.number).collect();
    trials.store.will_read(&numbers);
    let page = read(&trials, with_trials, progress);
    trials.store.will_read(&[]);
    page
}

fn read(
    from: &Trials<'_>,
    with_trials: Option<Rows>,
    progress: &mut dyn Progress,
) -> Result<ExperimentPage, Failure> {
    let Trials {
        store,
        experiment: row,
        all,
    } = from;
    let found = points::of_trials(*store, row, all.clone())?;
    let mut judged = Judged::new();
    let mut sizes = BTreeMap::new();
    let mut first = None;
    let are_few = all.len() <= PAGED_TRIALS_MAX;
    let mut pages = with_trials
        .filter(|_| are_few)
        .map(|rows| (rows, Pages::default()));
    for (at, trial) in all.iter().enumerate() {
        progress.trials_read(at, all.len());
        let outcome = store.outcome(trial.number)?;
        if let Some((rows, pages)) = &mut pages {
            pages.add(*store, &outcome, trial, *rows)?;
        }
        let verdict = diagnose(&outcome).map(|(_, verdict)| verdict);
        if let Some(verdict) = verdict {
            judged.insert(trial.number, verdict.limit);
        }
        if let Some(bytes) = outcome.facts.database_size_bytes.known() {
            sizes.insert(trial.number, *bytes);
        }
        first.get_or_insert((outcome, trial));
    }
    let first = first.as_ref();
    let planned = Planned::of(row);
    let axes = Axes::of(&found.points, &planned.values());
    let capacity = capacity::of_experiment(from, &found.points)?;
    let slo_us = from.definition()["capacity_slo_us"].as_f64();
    let search = capacity::search(capacity.as_ref(), &found.points, Some(&judged));
    let lab = lab::of(from, search)?;
    let mut common = begin(
        title(row, &found, &axes, capacity.as_ref()),
        facts(row, first, all),
        first.map_or("", |(_, trial)| &trial.command),
    );
    let same_isolation = points::same_isolation(&found.points);
    let documents = axes.documents(&found.points, &sizes, &Targets::of(all));
    let points = found.points.into_iter();
    let points: Vec<Point> = points.map(|point| on_grid(point, &axes, &judged)).collect();
    let best = best(&points);
    common.eyebrow = Some(match row.uuid.as_str() {
        "" => "a set of trials".to_owned(),
        _ => format!("experiment {}", one_line(&row.name)),
    });
    common.notes = crate::notes::of(*store, &counted(all))?
        .into_iter()
        .map(Into::into)
        .collect();
    let (paged, with_figures) = pages.as_ref().map_or((0, all.len()), |(_, pages)| {
        (pages.documents.len(), pages.with_figures)
    });
    common
        .notes
        .extend(same_isolation.into_iter().map(Into::into));
    if with_trials.is_some() && paged < with_figures {
        common.notes.push(without_pages(paged, with_figures).into());
    }
    let results: Vec<PointResult> = points.iter().map(|point| point.result.clone()).collect();
    let lab = lab.as_deref();
    let answer = lab.and_then(Lab::answer);
    if let Some(lab) = lab {
        common.title = lab.title(&workloads(&points));
        // Its name is the command's own by default.
        if let Some(eyebrow) = common.eyebrow.as_mut().filter(|_| !row.name.is_empty()) {
            *eyebrow += &format!(", {}", row.name);
        }
    }
    let targets = Targets::of(all);
    let answer = match answer {
        None => {
            let mut limit_of = |result: &PointResult| Ok(limit(result, &judged));
            Sweep::new(&results, all, &planned, &targets).answer(&mut limit_of)?
        }
        answer => answer,
    };
    let environment = first.map(|(outcome, trial)| {
        let Trial { run, observed, .. } = documents::trial(outcome);
        environment::lines(&run, &observed.unwrap_or_default(), trial)
    });
    Ok(ExperimentPage {
        kind: "experiment",
        common,
        answer,
        name: row.name.clone(),
        uuid: row.uuid.clone(),
        definition: pretty(&row.definition),
        environment: environment.unwrap_or_default(),
        slo_us,
        trials: trials(all, &points, &judged),
        missing: missing(&planned, all, &results, &targets, &axes),
        so_far: planned
            .progress(all)
            .filter(|of| of.done < of.of)
            .map(|of| [of.done, of.of]),
        drift: sweep::drift(&results, all),
        targets: target_rows(*store, &targets, all)?,
        axes: documents,
        points,
        best,
        took_s: took_s(all),
        measured_s: all.iter().filter_map(|trial| trial.elapsed_us).sum::<u64>() as f64 / 1e6,
        zones: zones(first, &axes),
        capacity,
        sections: lab.map(Lab::sections),
        has_points: lab.is_none_or(Lab::has_points),
        has_repeats: lab.is_none_or(Lab::has_repeats),
        facts: lab.and_then(Lab::facts).into_iter().collect(),
        pages: pages.map(|(_, pages)| pages.documents),
    })
}

/// The code of what limited each trial that has a diagnosis, by its number.
type Judged = BTreeMap<i64, String>;

/// What varies, with its values in their order.
struct Axes(Vec<(String, Vec<Value>)>);

impl Axes {
    /// Those of the points, with the values of points that were planned.
    fn of(points: &[PointResult], planned: &[BTreeMap<String, Value>]) -> Self {
        let mut axes: Vec<(String, Vec<Value>)> = Vec::new();
        for point in points {
            for (path, value) in &point.varied {
                let known = axes.iter().position(|(known, _)| known == path);
                let at = known.unwrap_or_else(|| {
                    axes.push((path.clone(), Vec::new()));
                    axes.len() - 1
                });
                if !axes[at].1.contains(value) {
                    axes[at].1.push(value.clone());
                }
            }
        }
        let given = Given::of(planned);
        for (path, values) in &mut axes {
            for value in planned.iter().filter_map(|point| point.get(path)) {
                if !values.contains(value) {
                    values.push(value.clone());
                }
            }
            values.sort_by(|a, b| given.order(path, a, b));
        }
        // What fills the database comes first, clients last: rows and columns of the map.
        axes.sort_by_key(|(path, _)| u8::from(path == "clients") + u8::from(path == "rate"));
        Self(axes)
    }

    /// The place of a point that was not measured; `None` where it has a value that no other has.
    fn place(&self, values: &BTreeMap<String, Value>) -> Option<Vec<usize>> {
        let places = self.0.iter().map(|(path, known)| {
            let value = values.get(path)?;
            known.iter().position(|of| of == value)
        });
        places.collect()
    }

    /// The place of a point: the number of its value on each axis.
    fn at(&self, varied: &BTreeMap<String, Value>) -> Vec<usize> {
        let at = self.0.iter().map(|(path, values)| {
            let value = varied.get(path);
            let mut places = values.iter();
            places.position(|known| Some(known) == value).unwrap_or(0)
        });
        at.collect()
    }

    /// `sizes` are those of the database, by the trial's number.
    fn documents(
        &self,
        points: &[PointResult],
        sizes: &BTreeMap<i64, u64>,
        targets: &Targets,
    ) -> Vec<Axis> {
        let axes = self.0.iter().map(|(path, values)| {
            let size = |value: &Value| {
                let mut of = points.iter();
                of.find_map(|point| {
                    let is_it = point.varied.get(path) == Some(value);
                    let mut trials = point.trials.iter().filter(|_| is_it);
                    trials.find_map(|trial| sizes.get(&trial.trial).copied())
                })
            };
            let has_sizes = path == "params.scale" || path == "scale";
            Axis {
                name: path.clone(),
                title: names::name(path),
                kind: sweep::kind(path, values),
                values: values
                    .iter()
                    .map(|value| in_words(path, value, targets))
                    .collect(),
                numbers: values.iter().map(sweep::number).collect(),
                sizes_bytes: has_sizes.then(|| values.iter().map(size).collect()),
            }
        });
        axes.collect()
    }
}

/// A value alone: beside the name of its axis.
fn in_words(path: &str, value: &Value, targets: &Targets) -> String {
    match path {
        points::TARGET => targets.name(value),
        _ => names::value(value),
    }
}

fn on_grid(result: PointResult, axes: &Axes, judged: &Judged) -> Point {
    let committed = Some(result.committed).filter(|committed| *committed > 0);
    Point {
        at: axes.at(&result.varied),
        retries_per_commit: committed.map(|committed| result.retries as f64 / committed as f64),
        limit: limit(&result, judged),
        result,
    }
}

/// What limited most repeats of a point.
fn limit(result: &PointResult, judged: &Judged) -> Option<PointLimit> {
    let most = most(result.trials.iter().filter_map(|t| judged.get(&t.trial)));
    most.map(|(code, agree, of)| PointLimit {
        code: code.to_owned(),
        name: pgdyno_diagnose::name(code).to_owned(),
        agree,
        of,
    })
}

/// The same of a point alone, from the store.
///
/// # Errors
/// The store cannot be read.
pub fn limit_in(store: &dyn Notebook, result: &PointResult) -> Result<Option<PointLimit>, Failure> {
    let mut judged = Judged::new();
    for repeat in &result.trials {
        if let Some((_, verdict)) = diagnose(&store.outcome(repeat.trial)?) {
            judged.insert(repeat.trial, verdict.limit);
        }
    }
    Ok(limit(result, &judged))
}

/// Points that have no figures: none of their trials counts, or none was begun.
fn missing(
    planned: &Planned,
    all: &[TrialRow],
    points: &[PointResult],
    targets: &Targets,
    axes: &Axes,
) -> Vec<Missing> {
    let failed = points.iter().filter(|point| point.repeats == 0);
    let failed = failed.map(|point| Missing {
        title: point.title.clone(),
        at: Some(axes.at(&point.varied)),
        why: match point.left_out.first() {
            Some(first) => first.why.clone(),
            None => "no trial counts".to_owned(),
        },
    });
    let waiting = planned.waiting(all).into_iter().map(|point| Missing {
        title: planned.title(point, points, targets),
        at: axes.place(&points::nested(point)),
        why: "not measured yet".to_owned(),
    });
    failed.chain(waiting).collect()
}

/// Several targets, each with what its newest trial knows of it.
fn target_rows(
    store: &dyn Notebook,
    targets: &Targets,
    all: &[TrialRow],
) -> Result<Vec<TargetRow>, Failure> {
    let mut rows = Vec::new();
    if targets.all().count() < 2 {
        return Ok(rows);
    }
    for (address, name) in targets.all() {
        let is_of = |trial: &&TrialRow| {
            let of = trial
                .point
                .as_ref()
                .and_then(|point| point.get(points::TARGET));
            of.and_then(Value::as_str) == Some(address)
        };
        let of: Vec<TrialRow> = all.iter().filter(is_of).cloned().collect();
        let counted = counted(&of);
        let newest = counted.last().or(of.last());
        let outcome = newest
            .map(|trial| store.outcome(trial.number))
            .transpose()?;
        rows.push(TargetRow {
            name: name.to_owned(),
            product: outcome
                .as_ref()
                .and_then(|outcome| words::server(&outcome.facts)),
            address: points::address(address),
            isolation: points::isolation_in_effect(&counted),
            round_trip_us: outcome.as_ref().and_then(round_trip),
        });
    }
    Ok(rows)
}

/// p50 of the way to the first endpoint and back, on an idle session.
fn round_trip(outcome: &Outcome) -> Option<u64> {
    let first = outcome.facts.reached.first()?;
    first.round_trip.known().map(|of| of.median_us)
}

/// The limit that most trials had, how many had it, and of how many.
fn most<'a>(codes: impl Iterator<Item = &'a String>) -> Option<(&'a str, u64, u64)> {
    let mut limits: BTreeMap<&str, u64> = BTreeMap::new();
    for code in codes {
        *limits.entry(code).or_default() += 1;
    }
    let of = limits.values().sum();
    // Of equally many the first by name, so that a report is always the same.
    let most = limits.iter().rev().max_by_key(|(_, agree)| **agree)?;
    Some((most.0, *most.1, of))
}

fn goodput(point: &Point) -> Option<&Summary> {
    let figure = point.result.figures.get("goodput")?;
    Some(&figure.over_repeats.as_ref()?.over)
}

/// The point with the highest median goodput.
fn best(points: &[Point]) -> Option<usize> {
    let of = points.iter().enumerate();
    let of = of.filter_map(|(at, point)| Some((at, goodput(point)?.median)));
    of.max_by(|a, b| a.1.total_cmp(&b.1)).map(|(at, _)| at)
}

fn trials(all: &[TrialRow], points: &[Point], judged: &Judged) -> Vec<TrialRef> {
    let mut point_of: HashMap<i64, usize> = HashMap::new();
    for (at, point) in points.iter().enumerate() {
        let counted = point.result.trials.iter().map(|trial| trial.trial);
        let left_out = point.result.left_out.iter().map(|trial| trial.trial);
        point_of.extend(counted.chain(left_out).map(|number| (number, at)));
    }
    let reported = all.iter().filter_map(|trial| {
        let point = *point_of.get(&trial.number)?;
        let latency = match &trial.spec.rate {
            Some(_) => &trial.response,
            None => &trial.service,
        };
        let excluded = trial.excluded.as_ref();
        Some(TrialRef {
            trial: trial.number,
            uuid: trial.uuid.clone(),
            point,
            repeat: trial.repeat,
            state: trial.state.name().to_owned(),
            counts: trial.state == State::Complete && trial.excluded.is_none(),
            goodput_per_s: trial.goodput_per_s,
            p50_us: latency.p50_us,
            p99_us: latency.p99_us,
            limit: judged.get(&trial.number).map(|code| TrialLimit {
                code: code.clone(),
                name: pgdyno_diagnose::name(code).to_owned(),
            }),
            flag: excluded
                .map(|why| format!("excluded: {why}"))
                .or_else(|| trial.reason.clone()),
            started: trial.started.clone(),
        })
    });
    reported.collect()
}

/// The pages of all trials that have figures, as far as they fit.
#[derive(Default)]
struct Pages {
    documents: Vec<TrialPage>,
    bytes: usize,
    with_figures: usize,
}

/// What a reader must know who misses pages of trials.
fn without_pages(paged: usize, of: usize) -> Note {
    let sentence = match paged {
        0 => format!("the pages of its {of} trials are left out: the file would be too large"),
        _ => format!(
            "the pages of {paged} of {of} trials are in this file: it would be too large with all"
        ),
    };
    Note {
        code: Cow::Borrowed("pages-left-out"),
        severity: Severity::Notice,
        sentence,
        remedy: "write all, each to a file: pgdyno report NAME --folder DIR".to_owned(),
    }
}

impl Pages {
    fn add(
        &mut self,
        store: &dyn Notebook,
        outcome: &Outcome,
        row: &TrialRow,
        rows: Rows,
    ) -> Result<(), Failure> {
        if row.elapsed_us.is_none() {
            return Ok(());
        }
        self.with_figures += 1;
        if self.bytes > PAGES_BYTES_MAX {
            return Ok(());
        }
        let page = trial::of_outcome(store, outcome, row, rows)?;
        self.bytes += serde_json::to_string(&page).map_or(0, |page| page.len());
        if self.bytes <= PAGES_BYTES_MAX {
            self.documents.push(page);
        }
        Ok(())
    }
}

fn title(row: &ExperimentRow, found: &Points, axes: &Axes, capacity: Option<&Capacity>) -> String {
    let mut workloads: Vec<&str> = found.points.iter().map(|p| p.workload.as_str()).collect();
    workloads.sort_unstable();
    workloads.dedup();
    // Rates and lengths of a search are its own choice.
    let searched = capacity.and_then(searched);
    let chosen = ["rate", "duration"];
    let axes = axes.0.iter();
    let axes = axes.filter(|(path, _)| searched.is_none() || !chosen.contains(&path.as_str()));
    let axes = axes.filter(|(path, _)| path != "workload");
    let axes = axes.map(|(path, values)| (path.as_str(), values.len()));
    let mut title = format!("{}: {}", row.name, sweep::matrix(&workloads, axes));
    if let Some((low, high)) = searched {
        let (low, high) = (figures::rate(low), figures::rate(high));
        title += &format!(", a capacity search from {low} to {high}/s");
    }
    title
}

fn workloads(points: &[Point]) -> String {
    let mut workloads: Vec<&str> = points.iter().map(|p| p.result.workload.as_str()).collect();
    workloads.sort_unstable();
    workloads.dedup();
    workloads.join(", ")
}

/// The lowest and the highest rate of all steps; `None` without steps.
fn searched(found: &Capacity) -> Option<(f64, f64)> {
    let steps = found.ladders.iter().flat_map(|ladder| &ladder.steps);
    let rates = steps.map(|step| step.rate_per_s);
    rates.fold(None, |ends, rate| {
        let (low, high) = ends.unwrap_or((rate, rate));
        Some((low.min(rate), high.max(rate)))
    })
}

fn facts(
    row: &ExperimentRow,
    first: Option<&(Outcome, &TrialRow)>,
    all: &[TrialRow],
) -> Vec<String> {
    let mut facts: Vec<String> = first
        .and_then(|(outcome, _)| words::server(&outcome.facts))
        .into_iter()
        .collect();
    facts.push(figures::plural(all.len() as u64, "trial"));
    facts.push(format!(
        "begun {}",
        row.created
            .replace('T', " ")
            .split('.')
            .next()
            .unwrap_or_default()
    ));
    facts
}

/// From the first trial's beginning to the last one's end.
fn took_s(all: &[TrialRow]) -> Option<f64> {
    let begun = all
        .iter()
        .filter_map(|t| pgdyno_model::stamp::read(&t.started))
        .min()?;
    let ended = all
        .iter()
        .filter_map(|t| pgdyno_model::stamp::read(t.ended.as_deref()?))
        .max()?;
    ended
        .duration_since(begun)
        .ok()
        .map(|took| took.as_secs_f64())
}

/// Where on the axis of sizes memory ends.
fn zones(first: Option<&(Outcome, &TrialRow)>, axes: &Axes) -> Option<Zones> {
    let (path, _) = axes.0.iter().find(|(path, _)| path.ends_with("scale"))?;
    let (outcome, _) = first?;
    let is_here = outcome.facts.same_host.known().is_some_and(|here| *here);
    Some(Zones {
        axis: path.clone(),
        shared_buffers_bytes: outcome.facts.shared_buffers_bytes.known().copied(),
        memory_bytes: outcome.host.memory_bytes.filter(|_| is_here),
    })
}

/// As a file where it is one.
fn pretty(definition: &str) -> String {
    let Ok(value) = serde_json::from_str::<Value>(definition) else {
        return definition.to_owned();
    };
    match value["definition"]["toml"].as_str() {
        Some(text) => text.to_owned(),
        None => format!("{value:#}"),
    }
}
