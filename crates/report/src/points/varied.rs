//! What tells the points of an experiment apart: names and order.

use std::cmp::Ordering;
use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use super::targets::{TARGET, Targets};
use crate::table::one_line;
use pgdyno_model::document::points::PointResult;
use pgdyno_model::notebook::TrialRow;
use pgdyno_spec::experiment::{POINT_NAME, words};

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

/// The values of an experiment in the order in which its file or command line has them, by path.
#[derive(Debug, Default)]
pub struct Given(BTreeMap<String, Vec<Value>>);

impl Given {
    /// Those of the points that were planned, in their order.
    pub fn of(planned: &[BTreeMap<String, Value>]) -> Self {
        let mut given: BTreeMap<String, Vec<Value>> = BTreeMap::new();
        for (path, value) in planned.iter().flatten() {
            let values = given.entry(path.clone()).or_default();
            if !values.contains(value) {
                values.push(value.clone());
            }
        }
        Self(given)
    }

    /// Which of two values of a path comes first: quantities by size, behind them others as they were given.
    pub fn order(&self, path: &str, a: &Value, b: &Value) -> Ordering {
        let size = |value| quantity(value).unwrap_or(f64::INFINITY);
        let place = |value| {
            let mut given = self.0.get(path).into_iter().flatten();
            given.position(|of| of == value).unwrap_or(usize::MAX)
        };
        size(a)
            .total_cmp(&size(b))
            .then_with(|| place(a).cmp(&place(b)))
            .then_with(|| words::value(a).cmp(&words::value(b)))
    }

    /// Which of two points comes first: by workload, then by what varies.
    pub fn order_of_points(&self, a: &PointResult, b: &PointResult) -> Ordering {
        let workload = |point: &PointResult| Value::from(point.workload.clone());
        let mut differ = sorted(&a.varied).into_iter().zip(sorted(&b.varied));
        let by_values = differ.find_map(|((path_a, a), (path_b, b))| {
            let of_path = (group(path_a), path_a).cmp(&(group(path_b), path_b));
            let order = of_path.then_with(|| self.order(path_a, a, b));
            order.is_ne().then_some(order)
        });
        let by_values = by_values.unwrap_or_else(|| a.varied.len().cmp(&b.varied.len()));
        let first = |point: &PointResult| point.trials.first().map(|trial| trial.trial);
        if a.varied.contains_key("workload") && b.varied.contains_key("workload") {
            Ordering::Equal
        } else {
            self.order("workload", &workload(a), &workload(b))
        }
        .then(by_values)
        .then_with(|| first(a).cmp(&first(b)))
    }
}

/// What varies, in the order of the columns.
fn sorted(varied: &BTreeMap<String, Value>) -> Vec<(&String, &Value)> {
    let mut varied: Vec<(&String, &Value)> = varied.iter().collect();
    varied.sort_by_key(|(path, _)| (group(path), *path));
    varied
}

/// The size of a number, a share (`70%`), or a setting with one of PostgreSQL's units (`64MB`, `200ms`).
fn quantity(value: &Value) -> Option<f64> {
    const UNITS: [(&str, f64); 13] = [
        ("%", 1.0),
        ("kB", 1024.0),
        ("MB", 1024.0 * 1024.0),
        ("GB", 1024.0 * 1024.0 * 1024.0),
        ("TB", 1024.0 * 1024.0 * 1024.0 * 1024.0),
        ("B", 1.0),
        ("us", 1e-6),
        ("ms", 1e-3),
        ("min", 60.0),
        ("s", 1.0),
        ("h", 3600.0),
        ("d", 86_400.0),
        ("", 1.0),
    ];
    let text = match value {
        Value::String(text) => text.trim(),
        value => return value.as_f64(),
    };
    UNITS.iter().find_map(|(unit, size)| {
        let number = text.strip_suffix(unit)?.trim_end();
        let number: f64 = number.parse().ok()?;
        number.is_finite().then_some(number * size)
    })
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
    if shown.is_empty() {
        one_line(workload)
    } else {
        shown.join(", ")
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn in_order(given: &[Value], mut values: Vec<Value>) -> Vec<Value> {
        let planned = given
            .iter()
            .map(|value| BTreeMap::from([("settings.x".to_owned(), value.clone())]));
        let given = Given::of(&planned.collect::<Vec<_>>());
        values.sort_by(|a, b| given.order("settings.x", a, b));
        values
    }

    #[test]
    fn quantities_stand_by_size_whatever_their_unit() {
        for sorted in [
            vec![
                json!("64kB"),
                json!("16MB"),
                json!("64MB"),
                json!("256MB"),
                json!("1GB"),
            ],
            vec![
                json!("500us"),
                json!("2ms"),
                json!("1.5s"),
                json!("1min"),
                json!("1h"),
            ],
            vec![json!("25%"), json!("70%"), json!("100%")],
            vec![json!(2), json!("10"), json!(100)],
        ] {
            let reversed: Vec<Value> = sorted.iter().rev().cloned().collect();
            assert_eq!(in_order(&reversed, reversed.clone()), sorted);
        }
    }

    #[test]
    fn values_that_are_no_quantities_come_last_unchanged() {
        let given = [
            json!("remote_write"),
            json!("on"),
            json!("8kB"),
            json!("off"),
            json!(true),
            json!(false),
        ];
        let mut found = given.to_vec();
        found.sort_by_key(Value::to_string);
        let want = [
            json!("8kB"),
            json!("remote_write"),
            json!("on"),
            json!("off"),
            json!(true),
            json!(false),
        ];
        assert_eq!(in_order(&given, found), want);
        // What was not planned is last, as text.
        assert_eq!(
            in_order(&[json!("z")], vec![json!("b"), json!("a"), json!("z")]),
            [json!("z"), json!("a"), json!("b")]
        );
    }
}
