//! Two sets of trials beside each other: the unit is the repeat, figures are compared within one
//! workload at one point only, and nothing is averaged that must not be. How each figure is
//! computed: `docs/statistics.md`.

mod text;

pub use text::text;

use std::collections::BTreeMap;

use pgdyno_stats::gate::{Figure, Unit};
use pgdyno_stats::{CompareOptions, Comparison, Sample, compare};
use serde_json::Value;

use pgdyno_model::document::comparison::{ComparedFigure, ComparedPoint, Differing};
use pgdyno_model::document::repeats::Summary;
use pgdyno_model::notebook::TrialRow;
use pgdyno_model::{Exit, Failure, document, text as figures};

/// A figure of a trial that can be compared.
pub struct Metric {
    /// As it is written in gates and tables.
    pub figure: Figure<'static>,
    of: fn(&TrialRow) -> Option<f64>,
}

const fn metric(name: &'static str, unit: Unit, of: fn(&TrialRow) -> Option<f64>) -> Metric {
    Metric {
        figure: Figure { name, unit },
        of,
    }
}

impl Metric {
    /// That of a trial.
    pub fn of(&self, trial: &TrialRow) -> Option<f64> {
        (self.of)(trial)
    }

    /// As people read it: times in milliseconds.
    pub fn shown(&self, value: f64) -> String {
        match self.figure.unit {
            Unit::TimeUs => figures::ms(value.round() as u64),
            _ => figures::rate(value),
        }
    }

    /// How far repeats lie apart: the interval of their median in square brackets, or where there
    /// is none their range in round ones.
    pub fn spread(&self, summary: &Summary) -> String {
        let (low, high) = match summary.interval {
            Some([low, high]) => (low, high),
            None => (summary.min, summary.max),
        };
        let (low, high) = (self.shown(low), self.shown(high));
        match summary.interval {
            Some(_) => format!("[{low}, {high}]"),
            None => format!("({low}, {high})"),
        }
    }
}

/// Latencies are response times where a rate was set, else service times.
pub const METRICS: [Metric; 6] = [
    metric("goodput", Unit::PerSecond, |trial| trial.goodput_per_s),
    metric("p50", Unit::TimeUs, |t| time(t, |l| l.p50_us)),
    metric("p90", Unit::TimeUs, |t| time(t, |l| l.p90_us)),
    metric("p95", Unit::TimeUs, |t| time(t, |l| l.p95_us)),
    metric("p99", Unit::TimeUs, |t| time(t, |l| l.p99_us)),
    metric("p99.9", Unit::TimeUs, |t| time(t, |l| l.p99_9_us)),
];

fn time(trial: &TrialRow, of: fn(&pgdyno_model::notebook::Latency) -> Option<u64>) -> Option<f64> {
    let latency = match trial.spec.rate {
        Some(_) => &trial.response,
        None => &trial.service,
    };
    of(latency).map(|us| us as f64)
}

/// The repeats of one workload at one point, on both sides.
pub struct Pair<'a> {
    /// What was measured, for people.
    pub title: String,
    /// In the order in which they were run.
    pub a: Vec<&'a TrialRow>,
    /// In the order in which they were run.
    pub b: Vec<&'a TrialRow>,
}

/// A figure with what came of comparing it, or why it was not.
pub type Compared = (&'static Metric, Result<Comparison, String>);

impl Pair<'_> {
    /// Each figure.
    pub fn compare(&self, options: &CompareOptions) -> Vec<Compared> {
        METRICS
            .iter()
            .map(|metric| (metric, self.figure(metric, options)))
            .collect()
    }

    fn figure(&self, metric: &Metric, options: &CompareOptions) -> Result<Comparison, String> {
        let side = |trials: &[&TrialRow]| {
            let values: Vec<f64> = trials.iter().filter_map(|trial| metric.of(trial)).collect();
            if values.len() < trials.len() {
                let lacking = trials.len() - values.len();
                return Err(format!("too few transactions for it in {lacking} trials"));
            }
            Sample::new(&values).map_err(|error| error.to_string())
        };
        let (a, b) = (side(&self.a)?, side(&self.b)?);
        compare(&a, &b, options).map_err(|error| error.to_string())
    }
}

/// The document of a comparison: each point with what came of its figures, and what differs around
/// them (where, A's, B's).
pub fn document(
    compared: &[(&Pair<'_>, Vec<Compared>)],
    surroundings: &[(String, String, String)],
) -> document::comparison::Comparison {
    let numbers = |trials: &[&TrialRow]| trials.iter().map(|trial| trial.number).collect();
    let figure = |(metric, result): &Compared| {
        let figure = match result {
            Ok(comparison) => ComparedFigure::Compared(comparison.into()),
            Err(why) => ComparedFigure::Not {
                not_compared: why.clone(),
            },
        };
        (metric.figure.name.to_owned(), figure)
    };
    let points = compared.iter().map(|(pair, figures)| ComparedPoint {
        point: pair.title.clone(),
        a: numbers(&pair.a),
        b: numbers(&pair.b),
        figures: figures.iter().map(figure).collect(),
    });
    let differences = surroundings.iter().map(|(what, a, b)| Differing {
        what: what.clone(),
        a: a.clone(),
        b: b.clone(),
    });
    document::comparison::Comparison {
        points: points.collect(),
        differences: differences.collect(),
    }
}

/// What makes trials repeats of each other.
type Point = (String, String);

fn point(trial: &TrialRow) -> Point {
    let swept = trial.point.as_ref().map(Value::to_string);
    (trial.workload.clone(), swept.unwrap_or_default())
}

fn by_point(trials: &[TrialRow]) -> BTreeMap<Point, Vec<&TrialRow>> {
    let mut points: BTreeMap<Point, Vec<&TrialRow>> = BTreeMap::new();
    for trial in trials {
        points.entry(point(trial)).or_default().push(trial);
    }
    points
        .values_mut()
        .for_each(|trials| trials.sort_by_key(|trial| trial.number));
    points
}

/// Puts the points together that both sides have; two single points of one workload belong together
/// whatever differs between them.
///
/// # Errors
/// The sides have nothing in common.
pub fn pairs<'a>(a: &'a [TrialRow], b: &'a [TrialRow]) -> Result<Vec<Pair<'a>>, Failure> {
    let (of_a, of_b) = (by_point(a), by_point(b));
    let mut pairs = Vec::new();
    for (point, a) in &of_a {
        if let Some(b) = of_b.get(point) {
            pairs.push(Pair {
                title: title(point),
                a: a.clone(),
                b: b.clone(),
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
        pairs.push(Pair {
            title: of.0.clone(),
            a: a.clone(),
            b: b.clone(),
        });
    }
    if pairs.is_empty() {
        let workloads = |points: &BTreeMap<Point, Vec<&TrialRow>>| {
            let titles: Vec<String> = points.keys().map(title).collect();
            titles.join("; ")
        };
        return Err(Failure::with(
            Exit::Usage,
            "A and B have no workload and point in common: figures of different workloads cannot \
             be compared",
        )
        .detail(format!("A: {}", workloads(&of_a)))
        .detail(format!("B: {}", workloads(&of_b))));
    }
    for pair in &pairs {
        let content = |trials: &[&TrialRow]| trials.iter().find_map(|t| t.pack_sha256.clone());
        if content(&pair.a) != content(&pair.b) {
            let title = &pair.title;
            return Err(Failure::new(format!(
                "{title}: the content of the workload is not the same in A and B"
            ))
            .hint("measure both with the same pack"));
        }
    }
    Ok(pairs)
}

fn title((workload, swept): &Point) -> String {
    let Ok(Value::Object(swept)) = serde_json::from_str(swept) else {
        return workload.clone();
    };
    let swept = swept.iter().filter(|(name, _)| *name != "workload");
    let words = swept.map(|(name, value)| match value.as_str() {
        Some(text) => format!(", {name} {text}"),
        None => format!(", {name} {value}"),
    });
    format!("{workload}{}", words.collect::<String>())
}

/// What is not the same in two documents: the path, A's value, B's value.
pub fn differences(a: &Value, b: &Value) -> Vec<(String, String, String)> {
    let mut found = Vec::new();
    differ("", a, b, &mut found);
    found
}

fn differ(path: &str, a: &Value, b: &Value, found: &mut Vec<(String, String, String)>) {
    let (Value::Object(of_a), Value::Object(of_b)) = (a, b) else {
        if a != b {
            found.push((path.to_owned(), words(a), words(b)));
        }
        return;
    };
    let mut names: Vec<&String> = of_a.keys().chain(of_b.keys()).collect();
    names.sort();
    names.dedup();
    for name in names {
        let below = match path {
            "" => name.clone(),
            _ => format!("{path}.{name}"),
        };
        let (a, b) = (of_a.get(name), of_b.get(name));
        differ(
            &below,
            a.unwrap_or(&Value::Null),
            b.unwrap_or(&Value::Null),
            found,
        );
    }
}

fn words(value: &Value) -> String {
    match value {
        Value::Null => "–".to_owned(),
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn differences_are_told_by_their_path() {
        let a = json!({ "same": 1, "server": { "version": "15", "fsync": true }, "gone": [1] });
        let b = json!({ "same": 1, "server": { "version": "18", "fsync": true }, "new": null });
        let found = differences(&a, &b);
        let of = |path: &str, a: &str, b: &str| (path.to_owned(), a.to_owned(), b.to_owned());
        assert_eq!(
            found,
            [of("gone", "[1]", "–"), of("server.version", "15", "18"),]
        );
    }
}
