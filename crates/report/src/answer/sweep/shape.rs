//! What a sweep varies: workloads, which are never held against each other; categories, which are; and
//! numbers, along which there is a curve.

use std::collections::BTreeMap;

use pgdyno_model::document::page::AxisKind;
use pgdyno_model::document::points::PointResult;
use pgdyno_spec::experiment::{POINT_NAME, words};
use serde_json::Value;

use crate::points::{TARGET, Targets};

/// What an axis of these values is.
pub fn kind<'a>(path: &str, values: impl IntoIterator<Item = &'a Value>) -> AxisKind {
    let is_number = |value: &Value| number(value).is_some();
    match path {
        "workload" => AxisKind::Workload,
        path if path.starts_with("settings.") || path == POINT_NAME => AxisKind::Category,
        _ if values.into_iter().all(is_number) => AxisKind::Number,
        _ => AxisKind::Category,
    }
}

/// A number, or a share such as `70%`.
pub fn number(value: &Value) -> Option<f64> {
    let share = || value.as_str()?.strip_suffix('%')?.trim().parse().ok();
    value.as_f64().or_else(share)
}

/// The points of one workload.
pub struct Group<'a> {
    pub workload: String,
    /// Its place among all, from 0.
    index: usize,
    pub points: Vec<usize>,
    /// What its points differ in, with the values that there are.
    pub varied: Vec<(String, AxisKind)>,
    all: &'a [PointResult],
}

/// A value for each of some parameters.
pub type Place = Vec<(String, Value)>;

/// The points of each workload, in their order.
pub fn groups(points: &[PointResult]) -> Vec<Group<'_>> {
    let mut groups: Vec<Group<'_>> = Vec::new();
    for (index, point) in points.iter().enumerate() {
        match groups
            .iter_mut()
            .find(|group| group.workload == point.workload)
        {
            Some(group) => group.points.push(index),
            None => groups.push(Group {
                workload: point.workload.clone(),
                index: 0,
                points: vec![index],
                varied: Vec::new(),
                all: points,
            }),
        }
    }
    for (index, group) in groups.iter_mut().enumerate() {
        group.index = index;
        let of = group.points.iter().map(|index| &points[*index].varied);
        let mut values: BTreeMap<&String, Vec<&Value>> = BTreeMap::new();
        for (path, value) in of.flatten().filter(|(path, _)| *path != "workload") {
            let known = values.entry(path).or_default();
            if !known.contains(&value) {
                known.push(value);
            }
        }
        let differing = values.into_iter().filter(|(_, values)| values.len() > 1);
        let kinds = differing.map(|(path, values)| (path.clone(), kind(path, values)));
        group.varied = kinds.collect();
    }
    groups
}

impl Group<'_> {
    /// The id of its section on the page.
    pub fn section(&self) -> String {
        format!("workload-{}", self.index + 1)
    }

    /// What is held against each other: targets where there are several, else all categories.
    pub fn contested(&self) -> Vec<String> {
        let categories = self
            .varied
            .iter()
            .filter(|(_, kind)| *kind == AxisKind::Category);
        let categories: Vec<String> = categories.map(|(path, _)| path.clone()).collect();
        if categories.iter().any(|path| path == TARGET) {
            vec![TARGET.to_owned()]
        } else {
            categories
        }
    }

    /// The number that runs to the right: clients, else a rate, else whichever there is.
    pub fn along(&self) -> Option<&str> {
        let numbers = self
            .varied
            .iter()
            .filter(|(_, kind)| *kind == AxisKind::Number);
        let mut numbers: Vec<&str> = numbers.map(|(path, _)| path.as_str()).collect();
        numbers.sort_by_key(|path| match *path {
            "clients" => 0,
            "rate" => 1,
            _ => 2,
        });
        numbers.first().copied()
    }

    /// The values of a point for those of its parameters that `of` picks.
    pub fn place(&self, point: usize, of: impl Fn(&str) -> bool) -> Place {
        let varied = self.varied.iter().filter(|(path, _)| of(path));
        let values = varied.filter_map(|(path, _)| {
            let value = self.all[point].varied.get(path)?;
            Some((path.clone(), value.clone()))
        });
        values.collect()
    }
}

/// `scale 10, 8 clients`: numbers that say how large something is first, clients and rates last.
pub fn place_words(place: &[(String, Value)], targets: &Targets) -> String {
    let mut place: Vec<&(String, Value)> = place.iter().collect();
    place.sort_by_key(|(path, _)| matches!(path.as_str(), "clients" | "rate"));
    let words = place.iter().map(|(path, value)| match path.as_str() {
        TARGET => targets.name(value),
        _ => words::named(path, value),
    });
    words.collect::<Vec<_>>().join(", ")
}

/// A side of a contest: the value alone where it speaks for itself.
pub fn side_words(side: &[(String, Value)], targets: &Targets) -> String {
    let words = side.iter().map(|(path, value)| match path.as_str() {
        TARGET => targets.name(value),
        "query_mode" | "mix" => words::value(value),
        _ => words::named(path, value),
    });
    words.collect::<Vec<_>>().join(", ")
}

/// `a`, `a and b`, `a, b and c`.
pub fn and(names: &[String]) -> String {
    match names {
        [] => String::new(),
        [one] => one.clone(),
        [others @ .., last] => format!("{} and {last}", others.join(", ")),
    }
}
