//! What tells the points of an experiment apart: names and order.

use std::cmp::Ordering;
use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use super::targets::{TARGET, Targets};
use crate::table::one_line;
use pgdyno_model::document::points::PointResult;
use pgdyno_model::experiment::{POINT_NAME, words};
use pgdyno_model::notebook::TrialRow;

/// The values of a point by path: those of the workload and the server as `params.NAME`,
/// `settings.NAME`.
pub fn values(trial: &TrialRow) -> BTreeMap<String, Value> {
    trial.point.as_ref().map(nested).unwrap_or_default()
}

/// The same of a point as records have it.
pub fn nested(point: &Value) -> BTreeMap<String, Value> {
    let mut values = BTreeMap::new();
    for (name, value) in point.as_object().into_iter().flatten() {
        match value.as_object() {
            Some(inner) => {
                let inner = inner.iter();
                values.extend(inner.map(|(of, value)| (format!("{name}.{of}"), value.clone())));
            }
            None => {
                values.insert(name.clone(), value.clone());
            }
        }
    }
    values
}

/// The paths that do not have the same value everywhere: workload and its parameters first. Points
/// with names are distinguished by these; more is only needed where several have one name.
pub fn paths(trials: &[TrialRow]) -> Vec<String> {
    let all: Vec<_> = trials.iter().map(values).collect();
    let are_named = all.iter().all(|values| values.contains_key(POINT_NAME));
    let mut groups: BTreeMap<String, Vec<&BTreeMap<String, Value>>> = BTreeMap::new();
    for values in &all {
        let name = values.get(POINT_NAME).filter(|_| are_named);
        let name = name.map_or_else(String::new, Value::to_string);
        groups.entry(name).or_default().push(values);
    }
    let mut varied: BTreeSet<String> = BTreeSet::new();
    if groups.len() > 1 {
        varied.insert(POINT_NAME.to_owned());
    }
    for group in groups.into_values() {
        let paths: BTreeSet<&String> = group.iter().flat_map(|values| values.keys()).collect();
        let differs = |path: &&String| {
            let mut of = group.iter().map(|values| values.get(*path));
            let first = of.next();
            of.any(|value| Some(value) != first)
        };
        varied.extend(paths.into_iter().filter(differs).cloned());
    }
    let mut varied: Vec<String> = varied.into_iter().collect();
    varied.sort_by_key(|path| group(path));
    varied
}

/// By what varies, numbers and shares by size.
pub fn order(a: &PointResult, b: &PointResult) -> Ordering {
    let of_a = a.varied.iter().map(place);
    let of_b = b.varied.iter().map(place);
    let mut differ = sorted(of_a).into_iter().zip(sorted(of_b)).map(|(a, b)| {
        let by_value = a.1.total_cmp(&b.1).then_with(|| a.2.cmp(&b.2));
        a.0.cmp(&b.0).then(by_value)
    });
    let by_values = differ.find(|order| order.is_ne());
    let by_values = by_values.unwrap_or_else(|| a.varied.len().cmp(&b.varied.len()));
    let first = |point: &PointResult| point.trials.first().map(|trial| trial.trial);
    a.workload
        .cmp(&b.workload)
        .then(by_values)
        .then_with(|| first(a).cmp(&first(b)))
}

/// Where a value stands among others: by its path, as a number, as text.
type Place = ((u8, String), f64, String);

fn place((path, value): (&String, &Value)) -> Place {
    let share = || value.as_str()?.strip_suffix('%')?.parse().ok();
    let number = value.as_f64().or_else(share).unwrap_or(f64::INFINITY);
    ((group(path), path.clone()), number, words::value(value))
}

fn sorted(places: impl Iterator<Item = Place>) -> Vec<Place> {
    let mut places: Vec<Place> = places.collect();
    places.sort_by(|a, b| a.0.cmp(&b.0));
    places
}

/// The workload and its parameters come first.
pub fn group(path: &str) -> u8 {
    match path {
        POINT_NAME | "workload" => 0,
        path if path.starts_with("params.") => 1,
        _ => 2,
    }
}

/// What a point is called: what varies, in words; `targets` are the short names of targets.
pub fn title(workload: &str, varied: &[(&String, &Value)], targets: &Targets) -> String {
    let shown = varied.iter().map(|(path, value)| match path.as_str() {
        "workload" => one_line(workload),
        TARGET => targets.name(value),
        _ => words::named(path, value),
    });
    let shown: Vec<String> = shown.collect();
    match shown.is_empty() {
        true => one_line(workload),
        false => shown.join(", "),
    }
}
