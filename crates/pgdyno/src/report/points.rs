//! The points of an experiment: what each came to over its repeats, in the terminal and as JSON.
//! How each figure is computed: `docs/statistics.md`.
//!
//! The unit is the repeat. Percentiles are those of all repeats' transactions together (their
//! histograms merged), never averages. What does not count is left out and named, outliers count
//! and are named.

use std::cmp::Ordering;
use std::collections::{BTreeMap, BTreeSet};

use pgdyno_drive::record::Latencies;
use pgdyno_stats::{Bootstrap, OUTLIER_SCORE, Sample};
use serde_json::{Map, Value, json};

use super::comparison::{METRICS, Metric};
use super::figures;
use super::table::{Table, one_line};
use crate::exit::Failure;
use crate::store::{ExperimentRow, Filter, Kind, State, Store, TrialRow};
use crate::validity::Note;

/// So many lines about single trials are shown to a person.
const LINES_MAX: usize = 20;

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
    let (trials, maxima): (Vec<_>, Vec<_>) =
        trials.into_iter().partition(|trial| trial.repeat.is_some());
    let varied = varied(&trials);
    let mut points: BTreeMap<Key, Vec<TrialRow>> = BTreeMap::new();
    for trial in trials {
        points.entry(Key::of(&trial)).or_default().push(trial);
    }
    let points = points.into_values();
    let points = points.map(|trials| Point::read(store, trials, &varied));
    let mut points: Vec<Point> = points.collect::<Result<_, _>>()?;
    points.sort_by(order);
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

/// The values of a point by path: those of the workload and the server as `params.NAME`,
/// `settings.NAME`.
fn values(trial: &TrialRow) -> BTreeMap<String, Value> {
    let mut values = BTreeMap::new();
    for (name, value) in trial.point.iter().filter_map(Value::as_object).flatten() {
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

/// The paths that do not have the same value everywhere: workload and its parameters first.
fn varied(trials: &[TrialRow]) -> Vec<String> {
    let mut seen: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    let all: Vec<_> = trials.iter().map(values).collect();
    let paths: BTreeSet<&String> = all.iter().flat_map(BTreeMap::keys).collect();
    for values in &all {
        for path in &paths {
            let value = values.get(*path).map_or(String::new(), Value::to_string);
            seen.entry((*path).clone()).or_default().insert(value);
        }
    }
    let varied = seen.into_iter().filter(|(_, values)| values.len() > 1);
    let mut varied: Vec<String> = varied.map(|(path, _)| path).collect();
    varied.sort_by_key(|path| group(path));
    varied
}

/// By what varies, numbers by size.
fn order(a: &Point, b: &Point) -> Ordering {
    let of_a = a.varied.iter().map(place);
    let of_b = b.varied.iter().map(place);
    let mut differ = sorted(of_a).into_iter().zip(sorted(of_b)).map(|(a, b)| {
        let by_value = a.1.total_cmp(&b.1).then_with(|| a.2.cmp(&b.2));
        a.0.cmp(&b.0).then(by_value)
    });
    let by_values = differ.find(|order| order.is_ne());
    let by_values = by_values.unwrap_or_else(|| a.varied.len().cmp(&b.varied.len()));
    let first = |point: &Point| point.trials.first().map(|trial| trial.number);
    a.workload
        .cmp(&b.workload)
        .then(by_values)
        .then_with(|| first(a).cmp(&first(b)))
}

/// Where a value stands among others: by its path, as a number, as text.
type Place = ((u8, String), f64, String);

fn place((path, value): (&String, &Value)) -> Place {
    let number = value.as_f64().unwrap_or(f64::INFINITY);
    ((group(path), path.clone()), number, words(value))
}

fn sorted(places: impl Iterator<Item = Place>) -> Vec<Place> {
    let mut places: Vec<Place> = places.collect();
    places.sort_by(|a, b| a.0.cmp(&b.0));
    places
}

/// The workload and its parameters come first.
fn group(path: &str) -> u8 {
    match path {
        "workload" => 0,
        path if path.starts_with("params.") => 1,
        _ => 2,
    }
}

/// A value without quotes, lists with spaces between.
fn words(value: &Value) -> String {
    match value {
        Value::String(text) => one_line(text),
        Value::Array(items) => items.iter().map(words).collect::<Vec<_>>().join(" "),
        Value::Number(number) => match number.as_f64() {
            // 60 rather than 60.0
            Some(whole) if whole.fract() == 0.0 && whole.abs() < 1e15 => format!("{whole}"),
            _ => number.to_string(),
        },
        other => other.to_string(),
    }
}

impl Point {
    /// `trials` are all of one point, at least one.
    fn read(store: &Store, trials: Vec<TrialRow>, varied: &[String]) -> Result<Self, Failure> {
        let first = &trials[0];
        let workload = first.workload.clone();
        let values = values(first);
        let varied: Vec<(&String, &Value)> = varied
            .iter()
            .filter_map(|path| Some((path, values.get(path)?)))
            .collect();
        let title = title(&workload, &varied);
        let varied = varied.into_iter().map(|(p, v)| (p.clone(), v.clone()));
        let varied = varied.collect();
        let kind = match first.rate_per_s {
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

    /// The repeats that lie far from the others, by figure.
    fn outliers(&self) -> Vec<(&'static Metric, pgdyno_stats::Outlier)> {
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
    if trial.state == State::Complete.name() {
        return None;
    }
    let reason = trial.reason.as_deref().map(one_line);
    Some(match reason {
        Some(reason) => format!("{}: {reason}", trial.state),
        None => trial.state.to_owned(),
    })
}

fn title(workload: &str, varied: &[(&String, &Value)]) -> String {
    let shown = varied.iter().map(|(path, value)| {
        let short = path.strip_prefix("params.").unwrap_or(path);
        let short = short.strip_prefix("settings.").unwrap_or(short);
        match path.as_str() {
            "workload" => one_line(workload),
            _ => format!("{short} {}", words(value)),
        }
    });
    let shown: Vec<String> = shown.collect();
    match shown.is_empty() {
        true => one_line(workload),
        false => shown.join(", "),
    }
}

const GOODPUT: &str = "goodput";
/// The percentiles of the table.
const PERCENTILES: [&str; 2] = ["p50", "p99"];

fn metric(name: &str) -> Option<&'static Metric> {
    METRICS.iter().find(|metric| metric.figure.name == name)
}

impl Summary {
    /// For people.
    pub fn text(&self) -> String {
        if self.points.is_empty() {
            return "no trials\n".to_owned();
        }
        let mut text = self.table();
        let mut lines: Vec<String> = Vec::new();
        for point in &self.points {
            let mut by_trial: BTreeMap<usize, Vec<String>> = BTreeMap::new();
            let shown = |name: &str| name == GOODPUT || PERCENTILES.contains(&name);
            for (metric, outlier) in point.outliers() {
                let name = metric.figure.name;
                if shown(name) {
                    let value = metric.shown(outlier.value);
                    let score = outlier.score;
                    let said = format!("{name} {value} (modified z-score {score:+.1})");
                    by_trial.entry(outlier.index).or_default().push(said);
                }
            }
            for (index, said) in by_trial {
                let trial = &point.trials[index];
                let place = self.place(point, trial);
                let said = said.join(", ");
                lines.push(format!("outlier   trial {}{place}: {said}", trial.number));
            }
        }
        if !lines.is_empty() {
            lines.push(format!(
                "          beyond {OUTLIER_SCORE} by Iglewicz & Hoaglin's method; outliers count all the same"
            ));
        }
        for point in &self.points {
            for (index, note) in &point.unsteady {
                let trial = &point.trials[*index];
                let place = self.place(point, trial);
                let (number, sentence) = (trial.number, one_line(&note.sentence));
                lines.push(format!("unsteady  trial {number}{place}: {sentence}"));
            }
        }
        for point in &self.points {
            for (trial, why) in &point.left_out {
                let place = self.place(point, trial);
                lines.push(format!("left out  trial {}{place}: {why}", trial.number));
            }
        }
        let more = lines.len().saturating_sub(LINES_MAX);
        lines.truncate(LINES_MAX);
        if more > 0 {
            lines.push(format!("and {more} more: --json has all"));
        }
        for line in lines {
            text += &format!("{line}\n");
        }
        text
    }

    fn place(&self, point: &Point, trial: &TrialRow) -> String {
        let repeat = trial.repeat.unwrap_or(0);
        match self.points.len() {
            1 => format!(" (repeat {repeat})"),
            _ => format!(" ({}, repeat {repeat})", point.title),
        }
    }

    fn table(&self) -> String {
        let mut table = Table::default();
        table.row([
            "point",
            "repeats",
            "goodput/s",
            "",
            "p50 ms",
            "",
            "p99 ms",
            "",
            "failed",
            "retries",
        ]);
        let dash = || "–".to_owned();
        let (mut intervals, mut ranges, mut dashes) = (false, false, false);
        for point in &self.points {
            let mut cells = vec![point.title.clone(), point.trials.len().to_string()];
            let goodput = metric(GOODPUT).and_then(|metric| Some((metric, point.sample(metric)?)));
            match goodput {
                None => cells.extend([dash(), String::new()]),
                Some((metric, sample)) => {
                    let summary = sample.summary(&Bootstrap::default());
                    cells.push(metric.shown(summary.median));
                    cells.push(match summary.n {
                        1 => String::new(),
                        _ => metric.spread(&summary),
                    });
                    match summary.interval {
                        Some(_) => intervals = true,
                        None => ranges |= summary.n > 1,
                    }
                }
            }
            for name in PERCENTILES {
                let Some(metric) = metric(name) else { continue };
                let together = point.percentile_us(name);
                dashes |= together.is_none();
                cells.push(together.map_or_else(dash, figures::ms));
                let repeats = point.sample(metric).filter(|_| point.trials.len() > 1);
                ranges |= repeats.is_some();
                cells.push(repeats.map_or_else(String::new, |repeats| {
                    let (low, high) = (repeats.sorted()[0], repeats.sorted().last());
                    let high = high.copied().unwrap_or(low);
                    format!("({}, {})", metric.shown(low), metric.shown(high))
                }));
            }
            let totals = [point.total(|t| t.failed), point.total(|t| t.retries)];
            cells.extend(match point.trials.is_empty() {
                true => [dash(), dash()],
                false => totals.map(figures::count),
            });
            table.row(cells);
        }
        // Cut titles would not tell the points apart.
        let mut text = table.text(usize::MAX);
        let has_rate = self.points.iter().any(|point| point.kind == Kind::Response);
        text += "goodput: median over the repeats; percentiles: of all repeats' ";
        text += match has_rate {
            true => "response times (without a rate: service times)",
            false => "transactions",
        };
        text += " together\n";
        let mut signs = Vec::new();
        signs.extend(intervals.then_some("[ ] 95 % interval of the median"));
        signs.extend(ranges.then_some("( ) range over the repeats"));
        signs.extend(dashes.then_some("–: too few transactions"));
        if !signs.is_empty() {
            text += &format!("{}\n", signs.join("; "));
        }
        text
    }

    /// For programs: docs/json.md.
    pub fn to_json(&self) -> Value {
        let experiment = &self.experiment;
        json!({
            "experiment": {
                "number": experiment.number,
                "uuid": experiment.uuid,
                "name": experiment.name,
                "created": experiment.created,
            },
            "points": self.points.iter().map(Point::to_json).collect::<Vec<_>>(),
            "maxima": self.maxima,
        })
    }
}

impl Point {
    fn percentile_us(&self, name: &str) -> Option<u64> {
        let percent: f64 = name.strip_prefix('p')?.parse().ok()?;
        self.latencies.percentile_us(percent)
    }

    fn to_json(&self) -> Value {
        let trials = self.trials.iter();
        let trials = trials.map(|trial| json!({ "trial": trial.number, "repeat": trial.repeat }));
        let left_out = self.left_out.iter().map(
            |(trial, why)| json!({ "trial": trial.number, "repeat": trial.repeat, "why": why }),
        );
        let outliers = self.outliers().into_iter().map(|(metric, outlier)| {
            let trial = &self.trials[outlier.index];
            json!({
                "figure": metric.figure.name,
                "trial": trial.number,
                "repeat": trial.repeat,
                "value": outlier.value,
                "modified_z_score": outlier.score,
            })
        });
        let unsteady = self.unsteady.iter().map(|(index, note)| {
            let trial = &self.trials[*index];
            json!({
                "trial": trial.number,
                "repeat": trial.repeat,
                "code": note.code,
                "sentence": note.sentence,
            })
        });
        let figures = METRICS.iter().map(|metric| {
            let name = metric.figure.name;
            let summary = self.sample(metric).map(|sample| {
                let summary = sample.summary(&Bootstrap::default());
                json!({
                    "n": summary.n,
                    "median": summary.median,
                    "min": summary.min,
                    "max": summary.max,
                    "interval": summary.interval.map(|interval| [interval.low, interval.high]),
                    "values": sample.values(),
                })
            });
            let mut figure = Map::new();
            figure.insert("over_repeats".to_owned(), json!(summary));
            if name.starts_with('p') {
                figure.insert("together_us".to_owned(), json!(self.percentile_us(name)));
            }
            (name.to_owned(), Value::Object(figure))
        });
        json!({
            "title": self.title,
            "varied": self.varied,
            "workload": self.workload,
            "point": self.trials.first().or(self.left_out.first().map(|(t, _)| t))
                .and_then(|trial| trial.point.clone()),
            "repeats": self.trials.len(),
            "trials": trials.collect::<Vec<_>>(),
            "latency": match self.kind {
                Kind::Response => "response",
                _ => "service",
            },
            "figures": figures.collect::<Map<_, _>>(),
            "committed": self.total(|trial| trial.committed),
            "failed": self.total(|trial| trial.failed),
            "retries": self.total(|trial| trial.retries),
            "outliers": outliers.collect::<Vec<_>>(),
            "unsteady": unsteady.collect::<Vec<_>>(),
            "left_out": left_out.collect::<Vec<_>>(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::{ExperimentHeader, TrialHeader, header};
    use rusqlite::{Connection, params};
    use std::path::Path;

    /// A store that is filled by hand.
    struct Filled {
        store: Store,
        raw: Connection,
        experiment: ExperimentRow,
        _folder: tempfile::TempDir,
    }

    impl Filled {
        fn new() -> Self {
            let folder = tempfile::tempdir().unwrap();
            let path: &Path = &folder.path().join("s");
            let store = Store::open(path).unwrap();
            let sweep = ExperimentHeader {
                name: "disks".to_owned(),
                definition: "{}".to_owned(),
            };
            Self {
                experiment: store.begin_experiment(&sweep).unwrap(),
                raw: Connection::open(path).unwrap(),
                store,
                _folder: folder,
            }
        }

        /// A trial that is complete, with as many transactions of the same latency.
        fn trial(&self, clients: u32, repeat: u32, goodput: f64, latencies: (u64, u64)) -> i64 {
            let header = TrialHeader {
                experiment: Some(self.experiment.number),
                point: Some(json!({ "clients": clients, "params": { "scale": 3 } })),
                repeat: Some(repeat),
                ..header()
            };
            let writer = self.store.begin(&header).unwrap();
            let number = writer.number();
            writer.fail("not yet").unwrap();
            let (count, us) = latencies;
            let mut all = Latencies::default();
            (0..count).for_each(|_| all.record(us));
            let update = "UPDATE trial SET state = 'complete', reason = NULL, goodput_per_s = ?, \
                          committed = ?, failed = 2, retries = 5, service_p50_us = ?, \
                          service_p99_us = ? WHERE number = ?";
            let row = params![
                goodput,
                count,
                all.percentile_us(50.0),
                all.percentile_us(99.0),
                number
            ];
            self.raw.execute(update, row).unwrap();
            let pack = all.pack();
            let insert = "INSERT INTO second VALUES (?, 0, 0, 0, 1000000, ?, 2, 0, 0, 0, 5, 1, \
                          ?, ?, ?, ?, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL)";
            let row = params![
                number,
                count,
                pack.sum_us(),
                pack.sum_squares_us2().to_string(),
                pack.max_us(),
                pack.bytes()
            ];
            self.raw.execute(insert, row).unwrap();
            number
        }

        fn mark(&self, column: &str, value: &str, number: i64) {
            let sql = format!("UPDATE trial SET {column} = ? WHERE number = ?");
            self.raw.execute(&sql, params![value, number]).unwrap();
        }

        fn summary(&self) -> Summary {
            of_experiment(&self.store, self.experiment.clone()).unwrap()
        }
    }

    #[test]
    fn two_repeats_have_a_range_six_an_interval_and_one_neither() {
        let filled = Filled::new();
        for repeat in 1..=6 {
            let goodput = 1000.0 + f64::from(repeat);
            filled.trial(16, repeat, goodput, (2000, 5_000));
        }
        for repeat in 1..=2 {
            filled.trial(2, repeat, 100.0 * f64::from(repeat), (2000, 7_000));
        }
        filled.trial(1, 1, 50.0, (2000, 3_000));
        let summary = filled.summary();
        let text = summary.text();
        let squeeze = |line: &str| line.split_whitespace().collect::<Vec<_>>().join(" ");
        let lines: Vec<String> = text.lines().map(squeeze).collect();
        // By the number of clients; what does not vary is not said.
        assert!(lines[1].starts_with("clients 1 "), "{text}");
        assert!(!lines[1].contains('(') && !lines[1].contains('['), "{text}");
        assert!(lines[2].starts_with("clients 2 "), "{text}");
        assert!(lines[2].contains("150.0 (100.0, 200.0)"), "{text}");
        assert!(lines[3].starts_with("clients 16 "), "{text}");
        assert!(lines[3].contains("1,003.5 [1,00"), "{text}");
        assert!(!lines[3].contains("(1,00"), "{text}");
        assert!(lines[3].ends_with("12 30"), "{text}");
        let json = summary.to_json();
        let goodput = |point: usize| &json["points"][point]["figures"]["goodput"]["over_repeats"];
        assert_eq!(goodput(1)["interval"], Value::Null);
        assert_eq!(
            (&goodput(1)["min"], &goodput(1)["n"]),
            (&json!(100.0), &json!(2))
        );
        let low = goodput(2)["interval"][0].as_f64().unwrap();
        assert!((1001.0..1003.5).contains(&low), "{low}");
        assert_eq!(json["points"][2]["varied"], json!({ "clients": 16 }));
    }

    #[test]
    fn percentiles_are_those_of_all_repeats_together_and_no_average() {
        let filled = Filled::new();
        // Nine of ten transactions are quick; the mean of the p99s would be 5.5 ms.
        filled.trial(1, 1, 10.0, (9_000, 1_000));
        filled.trial(1, 2, 10.0, (1_000, 10_000));
        let json = filled.summary().to_json();
        let figures = &json["points"][0]["figures"];
        assert_eq!(figures["p50"]["together_us"], 1_000);
        let p99 = figures["p99"]["together_us"].as_u64().unwrap();
        assert!(p99.abs_diff(10_000) <= 10, "{p99}");
        assert_eq!(figures["p50"]["over_repeats"]["median"], 5_500.0);
        let text = filled.summary().text();
        assert!(text.contains("1.000  (1.000, 10.0"), "{text}");
    }

    #[test]
    fn an_outlier_counts_and_is_named_with_its_trial_and_method() {
        let filled = Filled::new();
        for (repeat, goodput) in (1..).zip([100.0, 101.0, 40.0, 99.0, 100.5, 98.5]) {
            filled.trial(1, repeat, goodput, (2000, 5_000));
        }
        let summary = filled.summary();
        let text = summary.text();
        assert!(
            text.contains("outlier   trial 3 (repeat 3): goodput 40.0 (modified z-score -"),
            "{text}"
        );
        assert!(text.contains("beyond 3.5 by Iglewicz & Hoaglin"), "{text}");
        let json = summary.to_json();
        let point = &json["points"][0];
        assert_eq!(
            (&point["repeats"], &point["outliers"][0]["trial"]),
            (&json!(6), &json!(3))
        );
        assert_eq!(point["figures"]["goodput"]["over_repeats"]["min"], 40.0);
    }

    #[test]
    fn what_does_not_count_is_left_out_and_named() {
        let filled = Filled::new();
        filled.trial(1, 1, 100.0, (2000, 5_000));
        let backup = filled.trial(1, 2, 10.0, (2000, 50_000));
        filled.mark("excluded", "a backup\nwas running", backup);
        let broken = filled.trial(2, 1, 10.0, (2000, 50_000));
        filled.mark("state", "failed", broken);
        filled.mark("reason", "no connection", broken);
        let summary = filled.summary();
        let text = summary.text();
        for line in [
            "left out  trial 2 (clients 1, repeat 2): excluded: a backup was running",
            "left out  trial 3 (clients 2, repeat 1): failed: no connection",
        ] {
            assert!(text.contains(line), "no {line} in {text}");
        }
        let lines: Vec<&str> = text.lines().collect();
        assert!(lines[1].contains("100.0"), "{text}");
        // A point without a trial that counts has its row, and no figures.
        assert!(
            lines[2].starts_with("clients 2") && lines[2].contains('–'),
            "{text}"
        );
        let json = summary.to_json();
        assert_eq!(json["points"][0]["figures"]["p50"]["together_us"], 5_000);
        assert_eq!(json["points"][1]["repeats"], 0);
        assert_eq!(
            json["points"][1]["left_out"][0]["why"],
            "failed: no connection"
        );
    }

    #[test]
    fn a_trial_that_was_not_steady_counts_and_is_named_and_other_notes_are_not() {
        let filled = Filled::new();
        let note = |code: &str| json!({ "code": code, "severity": "warning", "remedy": "", "sentence": code });
        let notes = json!([
            note("same-host"),
            note("not-steady"),
            note("warm-up-cut-short")
        ]);
        let trial = filled.trial(1, 1, 100.0, (2000, 5_000));
        filled.mark("notes", &notes.to_string(), trial);
        let summary = filled.summary();
        let text = summary.text();
        for code in ["not-steady", "warm-up-cut-short"] {
            let line = format!("unsteady  trial 1 (repeat 1): {code}\n");
            assert!(text.contains(&line), "{text}");
        }
        assert!(!text.contains("same-host"), "{text}");
        let point = &summary.to_json()["points"][0];
        assert_eq!(
            (&point["repeats"], &point["unsteady"][0]["trial"]),
            (&json!(1), &json!(1))
        );
    }

    #[test]
    fn trials_of_another_content_of_the_pack_are_no_repeats() {
        let filled = Filled::new();
        filled.trial(1, 1, 100.0, (2000, 5_000));
        let other = filled.trial(1, 2, 200.0, (2000, 5_000));
        filled.mark("pack_sha256", "changed", other);
        let points = filled.summary().points;
        let repeats: Vec<usize> = points.iter().map(|point| point.trials.len()).collect();
        assert_eq!(repeats, [1, 1]);
    }

    #[test]
    fn an_experiment_without_trials_has_no_points() {
        let summary = Filled::new().summary();
        assert_eq!(summary.text(), "no trials\n");
        assert_eq!(summary.to_json()["points"], json!([]));
    }
}
