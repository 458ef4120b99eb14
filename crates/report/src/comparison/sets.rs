//! Which trials are compared with which: the points that both sides have, and those that one lacks.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use pgdyno_model::document::comparison::Lacking;
use pgdyno_model::notebook::TrialRow;
use pgdyno_spec::{Exit, Failure, text};

use super::Pair;
use crate::points::values;
use pgdyno_spec::experiment::words::named;

/// One side as it was named.
pub struct Set {
    pub trials: Vec<TrialRow>,
    /// The parameters by which they were chosen among an experiment's (`NAME:clients=4`): these are
    /// what is compared, and need not be the same on both sides.
    pub chosen: BTreeSet<String>,
}

/// What two sets have in common.
pub struct Matched<'a> {
    /// The points that both have.
    pub pairs: Vec<Pair<'a>>,
    /// The points that one lacks.
    pub lacking: Vec<Lacking>,
}

/// What makes trials repeats of each other.
type Point = (String, String);

fn by_point<'a>(set: &'a Set, chosen: &BTreeSet<&String>) -> BTreeMap<Point, Vec<&'a TrialRow>> {
    let mut points: BTreeMap<Point, Vec<&TrialRow>> = BTreeMap::new();
    for trial in &set.trials {
        let mut swept = values(trial);
        swept.retain(|name, _| !chosen.contains(name));
        let workload = match swept.contains_key("workload") || trial.point.is_none() {
            true => trial.workload.clone(),
            false if chosen.iter().any(|name| *name == "workload") => String::new(),
            false => trial.workload.clone(),
        };
        let swept = match &trial.point {
            Some(_) => Value::from_iter(swept).to_string(),
            None => String::new(),
        };
        points.entry((workload, swept)).or_default().push(trial);
    }
    for trials in points.values_mut() {
        trials.sort_by_key(|trial| trial.number);
    }
    points
}

/// Puts the points together that both sides have; two single points of one workload belong together
/// whatever differs between them.
///
/// # Errors
/// A trial is on both sides, the sides have nothing in common, or a workload is not the same.
pub fn matched<'a>(a: &'a Set, b: &'a Set) -> Result<Matched<'a>, Failure> {
    let of_b: BTreeSet<&String> = b.trials.iter().map(|trial| &trial.uuid).collect();
    let both = a.trials.iter().filter(|trial| of_b.contains(&trial.uuid));
    let both: Vec<i64> = both.map(|trial| trial.number).collect();
    if !both.is_empty() {
        let text = format!(
            "{} on both sides: a set is not compared with itself",
            match both.len() {
                1 => format!("{} is", text::trials(&both)),
                _ => format!("{} are", text::trials(&both)),
            }
        );
        return Err(Failure::with(Exit::Usage, text)
            .hint("two points of one experiment: pgdyno compare NAME:clients=1 NAME:clients=4"));
    }
    let chosen: BTreeSet<&String> = a.chosen.intersection(&b.chosen).collect();
    let (of_a, of_b) = (by_point(a, &chosen), by_point(b, &chosen));
    let titles = Titles::of(of_a.keys().chain(of_b.keys()));
    let title = |point: &Point| titles.title(point);
    let mut pairs = Vec::new();
    for (point, a) in &of_a {
        if let Some(b) = of_b.get(point) {
            pairs.push(Pair {
                title: title(point),
                a: a.clone(),
                b: b.clone(),
                drawn: None,
            });
        }
    }
    let mut singles = of_a.iter().zip(&of_b);
    if pairs.is_empty()
        && of_a.len() == 1
        && of_b.len() == 1
        && let Some(((of, a), (other, b))) = singles.next()
        && of.0 == other.0
    {
        return checked(vec![Pair {
            title: short(&of.0),
            a: a.clone(),
            b: b.clone(),
            drawn: None,
        }])
        .map(|pairs| Matched {
            pairs,
            lacking: Vec::new(),
        });
    }
    if pairs.is_empty() {
        let workloads = |points: &BTreeMap<Point, Vec<&TrialRow>>| {
            let all: Vec<String> = points.keys().map(title).collect();
            all.join("; ")
        };
        return Err(Failure::with(
            Exit::Usage,
            "A and B have no workload and point in common: figures of different workloads cannot \
             be compared",
        )
        .detail(format!("A: {}", workloads(&of_a)))
        .detail(format!("B: {}", workloads(&of_b))));
    }
    let without = |has: &BTreeMap<Point, Vec<&TrialRow>>,
                   lacks: &BTreeMap<Point, Vec<&TrialRow>>,
                   side: &'static str| {
        let points = has.keys().filter(|point| !lacks.contains_key(*point));
        let lacking = points.map(|point| Lacking {
            point: title(point),
            side,
        });
        lacking.collect::<Vec<_>>()
    };
    let lacking = [without(&of_a, &of_b, "B"), without(&of_b, &of_a, "A")].concat();
    checked(pairs).map(|pairs| Matched { pairs, lacking })
}

/// Refuses pairs of different contents of a workload.
fn checked(pairs: Vec<Pair<'_>>) -> Result<Vec<Pair<'_>>, Failure> {
    for pair in &pairs {
        let name = |trials: &[&TrialRow]| trials.first().map(|t| t.workload.clone());
        let content = |trials: &[&TrialRow]| trials.iter().find_map(|t| t.pack_sha256.clone());
        // Workloads that were named on both sides are what is compared.
        if name(&pair.a) == name(&pair.b) && content(&pair.a) != content(&pair.b) {
            let title = &pair.title;
            return Err(Failure::new(format!(
                "{title}: the content of the workload is not the same in A and B"
            ))
            .hint("measure both with the same pack"));
        }
    }
    Ok(pairs)
}

/// Script files by their names alone: their folders say nothing to a reader.
fn short(workload: &str) -> String {
    let words = workload.split(' ').map(|word| {
        if word.starts_with('/') {
            word.rsplit('/').next().unwrap_or(word)
        } else {
            word
        }
    });
    words.collect::<Vec<_>>().join(" ")
}

/// What points are called: of several, by what differs among them.
struct Titles {
    /// Parameters that all points have with one value.
    same: BTreeSet<String>,
}

impl Titles {
    fn of<'a>(points: impl Iterator<Item = &'a Point>) -> Self {
        let all: BTreeSet<&Point> = points.collect();
        let swept: Vec<_> = all
            .iter()
            .filter_map(|(_, swept)| parameters(swept))
            .collect();
        let mut same = BTreeSet::new();
        if let ([first, _, ..], true) = (&swept[..], swept.len() == all.len()) {
            let is_same = |(name, value): &(&String, &Value)| {
                swept.iter().all(|other| other.get(*name) == Some(*value))
            };
            same.extend(first.iter().filter(is_same).map(|(name, _)| name.clone()));
        }
        Self { same }
    }

    fn title(&self, (workload, swept): &Point) -> String {
        let mut swept = parameters(swept).unwrap_or_default();
        swept.retain(|name, _| !self.same.contains(name));
        titled(workload, &swept)
    }
}

fn parameters(swept: &str) -> Option<serde_json::Map<String, Value>> {
    match serde_json::from_str(swept) {
        Ok(Value::Object(swept)) => Some(swept),
        _ => None,
    }
}

fn titled(workload: &str, swept: &serde_json::Map<String, Value>) -> String {
    let workload = short(workload);
    let swept = swept.iter().filter(|(name, _)| *name != "workload");
    let words = swept.map(|(name, value)| format!(", {}", named(name, value)));
    format!("{workload}{}", words.collect::<String>())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn several_points_are_called_by_what_differs_among_them() {
        let point = |swept: &str| ("select-only".to_owned(), swept.to_owned());
        let (one, two) = (
            point(r#"{"clients":2,"duration":2,"params.scale":1}"#),
            point(r#"{"clients":4,"duration":2,"params.scale":1}"#),
        );
        let titles = Titles::of([&one, &two, &one].into_iter());
        assert_eq!(titles.title(&one), "select-only, 2 clients");
        assert_eq!(titles.title(&two), "select-only, 4 clients");
        // One alone is called by all that it has.
        let titles = Titles::of([&one, &one].into_iter());
        assert_eq!(
            titles.title(&one),
            "select-only, 2 clients, duration 2 s, scale 1"
        );
        // What only one has differs.
        let less = point(r#"{"clients":2,"duration":2}"#);
        let titles = Titles::of([&one, &less].into_iter());
        assert_eq!(titles.title(&one), "select-only, scale 1");
        assert_eq!(titles.title(&less), "select-only");
    }
}
