//! An experiment's page: its points on a grid of what varies, every trial in run order, and the pages
//! of its trials within the same file.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::blocks::Defined;
use super::trial;
use super::{add, common, environment, words};
use crate::diagnose::{self, diagnose};
use crate::plan::calibrate;
use crate::plan::trial::Outcome;
use crate::report::calibration;
use crate::report::documents;
use crate::report::points::{self, Summary};
use crate::store::{ExperimentRow, Filter, Store, TrialRow};
use pgdyno_model::document::{Trial, Verdict};
use pgdyno_model::{Failure, State, text as figures};

/// Pages of trials are put into the file up to so many bytes of documents together: it has to be
/// mailed and opened.
const PAGES_BYTES_MAX: usize = 24 << 20;

/// The document of an experiment, from the store; `with_trials` puts the pages of its trials into it.
///
/// # Errors
/// The store cannot be read.
pub fn experiment(store: &Store, row: &ExperimentRow, with_trials: bool) -> Result<Value, Failure> {
    let mut all = store.trials(&Filter {
        experiment: Some(row.uuid.clone()),
        ..Filter::default()
    })?;
    all.sort_by_key(|trial| trial.number);
    of(store, row, all, with_trials)
}

/// The document of trials that no experiment holds together: those with the same workload and the
/// same parameters are repeats of each other.
///
/// # Errors
/// The store cannot be read.
pub fn set(
    store: &Store,
    name: &str,
    mut all: Vec<TrialRow>,
    with_trials: bool,
) -> Result<Value, Failure> {
    all.sort_by_key(|trial| trial.number);
    let mut repeats: BTreeMap<String, u32> = BTreeMap::new();
    for trial in &mut all {
        let alone = json!({
            "clients": trial.spec.clients(),
            "rate": trial.spec.rate,
            "mix": trial.spec.mix,
        });
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
    of(store, &row, all, with_trials)
}

fn of(
    store: &Store,
    row: &ExperimentRow,
    all: Vec<TrialRow>,
    with_trials: bool,
) -> Result<Value, Failure> {
    let summary = points::of_trials(store, row.clone(), all.clone())?;
    let mut judged = BTreeMap::new();
    let mut sizes = BTreeMap::new();
    let mut first = None;
    let mut pages = with_trials.then(Pages::default);
    for trial in &all {
        let outcome = store.outcome(trial.number)?;
        if let Some(pages) = &mut pages {
            pages.add(store, &outcome, trial)?;
        }
        let verdict = diagnose(&outcome);
        if let Some(verdict) = verdict {
            judged.insert(trial.number, verdict);
        }
        if let Some(bytes) = outcome.facts.database_size_bytes.seen() {
            sizes.insert(trial.number, *bytes);
        }
        first.get_or_insert((outcome, trial));
    }
    let axes = Axes::of(&summary);
    let points = summary.to_json()["points"].take();
    let points: Vec<Value> = points.as_array().cloned().unwrap_or_default();
    let points = points
        .into_iter()
        .map(|point| on_grid(point, &axes, &judged));
    let points: Vec<Value> = points.collect();
    let best = best(&points);
    let calibrated = calibrate::read::of_experiment(store, row)?;
    let defined = Defined::of(row);
    let mut document = common(
        "experiment",
        &title(row, &summary, &axes),
        facts(row, first.as_ref(), &all),
        first.as_ref().map_or("", |(_, trial)| &trial.command),
    );
    let fields = json!({
        "eyebrow": match row.uuid.as_str() {
            "" => "a set of trials".to_owned(),
            uuid => format!("experiment {}", uuid.chars().take(8).collect::<String>()),
        },
        "name": row.name,
        "uuid": row.uuid,
        "definition": pretty(&row.definition),
        "verdict": says(&points, best),
        "environment": first.as_ref().map(|(outcome, trial)| {
            let Trial { run, observed, .. } = documents::trial(outcome);
            environment::lines(&run, &observed.unwrap_or_default(), trial)
        }),
        "axes": axes.to_json(&summary, &sizes),
        "trials": trials(&all, &points, &judged),
        "best": best,
        "took_s": took_s(&all),
        "measured_s": all.iter().filter_map(|trial| trial.elapsed_us).sum::<u64>() as f64 / 1e6,
        "zones": zones(first.as_ref(), &axes),
        "slo_us": defined.slo_us,
        "slob": defined.slob(store, &all)?,
        "retries_lab": defined.retries_lab(store, &all)?,
        "capacity": defined.capacity(&all),
        "calibrations": calibrated.map(|c| vec![calibration::json(&c)]),
    });
    add(&mut document, fields);
    document["points"] = json!(points);
    if let Some(pages) = pages {
        document["pages"] = Value::Array(pages.documents);
    }
    Ok(document)
}

/// What varies, with its values in their order.
struct Axes(Vec<(String, Vec<Value>)>);

impl Axes {
    fn of(summary: &Summary) -> Self {
        let mut axes: Vec<(String, Vec<Value>)> = Vec::new();
        for point in &summary.points {
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
        for (_, values) in &mut axes {
            if values.iter().all(Value::is_number) {
                values.sort_by(|a, b| {
                    let number = |value: &Value| value.as_f64().unwrap_or(0.0);
                    number(a).total_cmp(&number(b))
                });
            }
        }
        // What fills the database stands first, clients last: rows and columns of the map.
        axes.sort_by_key(|(path, _)| u8::from(path == "clients") + u8::from(path == "rate"));
        Self(axes)
    }

    /// Where a point stands: the number of its value on each axis.
    fn at(&self, varied: &Value) -> Vec<usize> {
        let at = self.0.iter().map(|(path, values)| {
            let value = &varied[path];
            values.iter().position(|known| known == value).unwrap_or(0)
        });
        at.collect()
    }

    fn to_json(&self, summary: &Summary, sizes: &BTreeMap<i64, u64>) -> Value {
        let axes = self.0.iter().map(|(path, values)| {
            let mut axis = json!({
                "name": path,
                "title": path.rsplit('.').next(),
                "values": values.iter().map(text).collect::<Vec<_>>(),
                "numbers": values.iter().map(Value::as_f64).collect::<Option<Vec<f64>>>(),
            });
            if path == "params.scale" || path == "scale" {
                let size = |value: &Value| {
                    let mut of = summary.points.iter();
                    of.find_map(|point| {
                        let is_it = point.varied.get(path) == Some(value);
                        let mut trials = point.trials.iter().filter(|_| is_it);
                        trials.find_map(|trial| sizes.get(&trial.number).copied())
                    })
                };
                axis["sizes_bytes"] = values.iter().map(size).collect();
            }
            axis
        });
        axes.collect()
    }
}

fn text(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}

fn on_grid(mut point: Value, axes: &Axes, judged: &BTreeMap<i64, Verdict>) -> Value {
    point["at"] = json!(axes.at(&point["varied"]));
    let committed = point["committed"]
        .as_f64()
        .filter(|committed| *committed > 0.0);
    let retries = point["retries"].as_f64().zip(committed);
    point["retries_per_commit"] = json!(retries.map(|(retries, committed)| retries / committed));
    let numbers: Vec<i64> = point["trials"]
        .as_array()
        .into_iter()
        .flatten()
        .filter_map(|trial| trial["trial"].as_i64())
        .collect();
    let mut limits: BTreeMap<&str, u64> = BTreeMap::new();
    for verdict in numbers.iter().filter_map(|number| judged.get(number)) {
        *limits.entry(&verdict.limit).or_default() += 1;
    }
    // Of equally many the first by name, so that a report is always the same.
    let most = limits.iter().rev().max_by_key(|(_, agree)| **agree);
    point["limit"] = json!(most.map(|(code, agree)| json!({
        "code": code,
        "name": diagnose::name(code),
        "agree": agree,
        "of": limits.values().sum::<u64>(),
    })));
    point
}

/// The point with the highest median goodput.
fn best(points: &[Value]) -> Option<usize> {
    let goodput = |point: &Value| point["figures"]["goodput"]["over_repeats"]["median"].as_f64();
    let of = points.iter().enumerate();
    let of = of.filter_map(|(at, point)| Some((at, goodput(point)?)));
    of.max_by(|a, b| a.1.total_cmp(&b.1)).map(|(at, _)| at)
}

/// The sentence of the whole: where it was fastest, and what limited it there.
fn says(points: &[Value], best: Option<usize>) -> Value {
    let Some(point) = best.map(|at| &points[at]) else {
        return Value::Null;
    };
    let goodput = &point["figures"]["goodput"]["over_repeats"];
    let median = goodput["median"].as_f64().unwrap_or(0.0);
    let limit = point["limit"]["code"].as_str().unwrap_or("not-known");
    let title = point["title"].as_str().unwrap_or_default();
    let mut evidence = vec![json!({
        "figure": format!("{}/s", figures::rate(median)),
        "sentence": format!("committed at {title}, the median of {} repeats", point["repeats"]),
        "link": { "text": "All points", "section": "points" },
    })];
    if let Some(p99_us) = point["figures"]["p99"]["together_us"].as_u64() {
        evidence.push(json!({
            "figure": format!("{} ms", figures::ms(p99_us)),
            "sentence": "p99 there, over the transactions of all repeats",
            "link": { "text": "Latency", "section": "curve-p99" },
        }));
    }
    if let (Some(agree), Some(of)) = (
        point["limit"]["agree"].as_u64(),
        point["limit"]["of"].as_u64(),
    ) {
        let name = point["limit"]["name"].as_str().unwrap_or_default();
        evidence.push(json!({
            "figure": format!("{agree} of {of}"),
            "sentence": format!("repeats there were limited by: {name}"),
            "link": { "text": "What limited it", "section": "map" },
        }));
    }
    json!({
        "limit": limit,
        "label": "What this experiment says",
        "sentence": format!("It was fastest at {title}: {} transactions a second", figures::rate(median)),
        "evidence": evidence,
    })
}

fn trials(all: &[TrialRow], points: &[Value], judged: &BTreeMap<i64, Verdict>) -> Vec<Value> {
    let point_of = |number: i64| {
        points.iter().position(|point| {
            let of = ["trials", "left_out"]
                .into_iter()
                .flat_map(|list| point[list].as_array().into_iter().flatten());
            let mut numbers = of.filter_map(|trial| trial["trial"].as_i64());
            numbers.any(|known| known == number)
        })
    };
    let told = all.iter().filter_map(|trial| {
        let point = point_of(trial.number)?;
        let latency = match trial.spec.rate {
            Some(_) => &trial.response,
            None => &trial.service,
        };
        let verdict = judged.get(&trial.number);
        Some(json!({
            "trial": trial.number,
            "uuid": trial.uuid,
            "point": point,
            "repeat": trial.repeat,
            "state": trial.state,
            "counts": trial.state == State::Complete && trial.excluded.is_none(),
            "goodput_per_s": trial.goodput_per_s,
            "p50_us": latency.p50_us,
            "p99_us": latency.p99_us,
            "limit": verdict.map(|verdict| json!({
                "code": verdict.limit,
                "name": diagnose::name(&verdict.limit),
            })),
            "flag": trial.excluded.as_ref().map(|why| format!("excluded: {why}"))
                .or_else(|| trial.reason.clone()),
            "started": trial.started,
        }))
    });
    told.collect()
}

/// The pages of all trials that have figures, as far as they fit.
#[derive(Default)]
struct Pages {
    documents: Vec<Value>,
    bytes: usize,
}

impl Pages {
    fn add(&mut self, store: &Store, outcome: &Outcome, row: &TrialRow) -> Result<(), Failure> {
        if row.elapsed_us.is_none() || self.bytes > PAGES_BYTES_MAX {
            return Ok(());
        }
        let page = json!(trial::of_outcome(store, outcome, row)?);
        self.bytes += page.to_string().len();
        if self.bytes <= PAGES_BYTES_MAX {
            self.documents.push(page);
        }
        Ok(())
    }
}

fn title(row: &ExperimentRow, summary: &Summary, axes: &Axes) -> String {
    let mut workloads: Vec<&str> = summary.points.iter().map(|p| p.workload.as_str()).collect();
    workloads.sort_unstable();
    workloads.dedup();
    let grid = axes.0.iter().map(|(path, values)| {
        let name = path.rsplit('.').next().unwrap_or_default();
        format!(
            "{} of {name}",
            figures::plural(values.len() as u64, "value")
        )
    });
    let grid: Vec<String> = grid.collect();
    let mut title = format!("{}: {}", row.name, workloads.join(", "));
    if !grid.is_empty() {
        title += &format!(", {}", grid.join(" × "));
    }
    title
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
        .filter_map(|t| crate::store::read_stamp(&t.started))
        .min()?;
    let ended = all
        .iter()
        .filter_map(|t| crate::store::read_stamp(t.ended.as_deref()?))
        .max()?;
    ended
        .duration_since(begun)
        .ok()
        .map(|took| took.as_secs_f64())
}

/// Where on the axis of sizes memory ends.
fn zones(first: Option<&(Outcome, &TrialRow)>, axes: &Axes) -> Value {
    let axis = axes.0.iter().find(|(path, _)| path.ends_with("scale"));
    let Some(((outcome, _), (path, _))) = first.zip(axis) else {
        return Value::Null;
    };
    let is_here = outcome.facts.same_host.seen().is_some_and(|here| *here);
    json!({
        "axis": path,
        "shared_buffers_bytes": outcome.facts.shared_buffers_bytes.seen(),
        "memory_bytes": outcome.host.memory_bytes.filter(|_| is_here),
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
