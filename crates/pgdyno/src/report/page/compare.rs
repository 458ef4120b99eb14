//! The page of a comparison: two sets of trials, point by point.

use std::collections::BTreeMap;

use pgdyno_drive::record::Latencies;
use pgdyno_stats::{Direction, Summary, Verdict};
use serde_json::{Value, json};

use super::histogram::{self, Shared};
use super::{add, common, time_per_commit};
use crate::report::comparison::{Compared, Pair};
use crate::store::{Kind, Store, TrialRow};
use pgdyno_model::{Failure, text as figures};

/// What is compared: names as they were typed, points with what came of them, and what differs
/// around them.
pub struct Sides<'a> {
    /// How A was named.
    pub a: &'a str,
    /// How B was named.
    pub b: &'a str,
    /// Each point with its figures.
    pub compared: &'a [(&'a Pair<'a>, Vec<Compared>)],
    /// Whether repeats were paired.
    pub paired: bool,
    /// What differs: where, A's, B's.
    pub surroundings: &'a [(String, String, String)],
    /// The gate as it was typed, whether it let pass (`None`: it cannot be told), and its words.
    pub gate: Option<(&'a str, Option<bool>, String)>,
    /// The command line.
    pub command: &'a str,
}

/// The document of a comparison.
///
/// # Errors
/// The store cannot be read.
pub fn compare(store: &Store, sides: &Sides<'_>) -> Result<Value, Failure> {
    let Some((first, figures)) = sides.compared.first() else {
        return Ok(Value::Null);
    };
    let title = format!("{}: “{}” against “{}”", first.title, sides.a, sides.b);
    let mut document = common("compare", &title, Vec::new(), sides.command);
    let mut pairs = Vec::new();
    for (pair, figures) in sides.compared {
        pairs.push(of_pair(store, sides, pair, figures)?);
    }
    let changed = sides
        .surroundings
        .iter()
        .map(|(what, a, b)| json!({ "kind": kind(what), "name": what, "a": a, "b": b }));
    let side = |name: &str, trials: &[&TrialRow]| {
        let begun = trials.iter().map(|trial| trial.started.as_str()).min();
        let day = begun
            .and_then(|begun| begun.split('T').next())
            .unwrap_or_default();
        json!({
            "name": name,
            "facts": format!("{}, {day}", figures::plural(trials.len() as u64, "trial")),
        })
    };
    let fields = json!({
        "eyebrow": format!("A against B, {} and {} repeats", first.a.len(), first.b.len()),
        "verdict": verdict(sides, figures),
        "a": side(sides.a, &first.a),
        "b": side(sides.b, &first.b),
    });
    add(&mut document, fields);
    document["pairs"] = json!(pairs);
    document["changed"] = changed.collect();
    document["same"] = json!([["Workload", first.title]]);
    document["method"] = json!([
        [
            "Unit",
            "the repeat: a figure of each trial, never seconds or transactions of one"
        ],
        [
            "Order",
            if sides.paired {
                "repeats in pairs"
            } else {
                "repeats are not paired"
            }
        ],
        ["Intervals", "95 %, of the ratio of medians, by bootstrap"],
        [
            "Difference",
            "rank test; five repeats a side, six for pairs"
        ],
        [
            "Percentiles over time",
            "of the merged histograms of all repeats, never averaged"
        ],
    ]);
    Ok(document)
}

fn of_pair(
    store: &Store,
    sides: &Sides<'_>,
    pair: &Pair<'_>,
    figures: &[Compared],
) -> Result<Value, Failure> {
    let kind = match pair
        .a
        .iter()
        .chain(&pair.b)
        .all(|trial| trial.spec.rate.is_some())
    {
        true => Kind::Response,
        false => Kind::Service,
    };
    let gates = sides.gate.as_ref().map(|(text, ..)| *text);
    let mut told = json!({
        "point": pair.title,
        "paired": sides.paired,
        "latency": if kind == Kind::Response { "response" } else { "service" },
        "a": of_side(store, &pair.a, kind)?,
        "b": of_side(store, &pair.b, kind)?,
        "differences": figures.iter().map(|one| difference(one, pair, gates)).collect::<Vec<_>>(),
    });
    if let Some(parts) = time_per_commit::of(store, &pair.a, &pair.b)? {
        told["time_per_commit"] = parts;
    }
    Ok(told)
}

fn of_side(store: &Store, trials: &[&TrialRow], kind: Kind) -> Result<Value, Failure> {
    let mut all = Latencies::default();
    let mut repeats = Vec::new();
    let mut over_time: BTreeMap<u64, Latencies> = BTreeMap::new();
    for trial in trials {
        let latencies = store.latencies(trial.number, None, kind)?;
        all.merge(&latencies);
        repeats.push(histogram::whole(&latencies));
        let seconds = store.seconds(trial.number)?;
        let measured: Vec<_> = seconds.iter().filter(|second| !second.warmup).collect();
        let begun_us = measured.first().map_or(0, |second| second.start_us);
        for second in measured {
            let at = (second.start_us - begun_us + 500_000) / 1_000_000;
            let merged = over_time.entry(at).or_default();
            for script in &second.scripts {
                let packed = match kind {
                    Kind::Response => script.response.as_ref(),
                    _ => Some(&script.service),
                };
                packed
                    .into_iter()
                    .for_each(|packed| merged.merge(&packed.unpack()));
            }
        }
    }
    let last = over_time.keys().next_back().copied().unwrap_or(0);
    let steps: Vec<Latencies> = (0..=last)
        .map(|at| over_time.remove(&at).unwrap_or_default())
        .collect();
    let shared = Shared::of(&[steps]);
    let numbered = trials.iter();
    Ok(json!({
        "trials": numbered.map(|trial| json!({
            "trial": trial.number,
            "order": trial.number,
        })).collect::<Vec<_>>(),
        "histogram": histogram::whole(&all),
        "repeats": repeats,
        "over_time": {
            "step_us": 1_000_000,
            "buckets_us": shared.buckets_us,
            "merged": shared.lists[0],
        },
    }))
}

fn difference((metric, result): &Compared, pair: &Pair<'_>, gate: Option<&str>) -> Value {
    let name = metric.figure.name;
    let is_time = name.starts_with('p');
    let mut told = json!({
        "figure": name,
        "name": if is_time { format!("{name} latency") } else { "Goodput".to_owned() },
        "unit": if is_time { "µs" } else { "tps" },
        "higher_is_better": !is_time,
        "gate": gate.and_then(|gate| relative_limit(gate, name)),
    });
    match result {
        Err(why) => told["not_compared"] = json!(why),
        Ok(comparison) => {
            let ratio = comparison.ratio.as_ref();
            let interval = ratio.and_then(|ratio| ratio.interval);
            let each = |trials: &[&TrialRow]| trials.iter().map(|t| metric.of(t)).collect();
            told["a"] = spread(&comparison.a, each(&pair.a));
            told["b"] = spread(&comparison.b, each(&pair.b));
            told["change"] = json!(ratio.map(|ratio| ratio.estimate - 1.0));
            told["change_interval"] = json!(interval.map(|i| [i.low - 1.0, i.high - 1.0]));
            told["p"] = json!(comparison.p);
            told["verdict"] = json!(match comparison.verdict {
                Verdict::NotEnoughRepeats { .. } => "not-enough-repeats",
                Verdict::NoSignificantDifference => "no-significant-difference",
                Verdict::Different {
                    direction: Direction::Higher,
                } => "higher",
                Verdict::Different {
                    direction: Direction::Lower,
                } => "lower",
            });
        }
    }
    told
}

/// The relative limit that a gate sets on a figure, as a share: `p99 > +5%` is 0.05.
fn relative_limit(gate: &str, figure: &str) -> Option<f64> {
    let mut conditions = gate.split(',').map(str::trim);
    conditions.find_map(|condition| {
        let (name, limit) = condition.split_once(['<', '>'])?;
        let percent: f64 = limit.trim().strip_suffix('%')?.trim().parse().ok()?;
        (name.trim() == figure).then_some(percent / 100.0)
    })
}

/// With the figure of each repeat, in the order of the trials.
pub(super) fn spread(summary: &Summary, each: Vec<Option<f64>>) -> Value {
    json!({
        "n": summary.n,
        "median": summary.median,
        "min": summary.min,
        "max": summary.max,
        "interval": summary.interval.map(|interval| [interval.low, interval.high]),
        "values": each,
    })
}

/// In one sentence, from the first point: goodput, else the median latency.
fn verdict(sides: &Sides<'_>, figures: &[Compared]) -> Value {
    let found = |name: &str| {
        let mut figures = figures.iter();
        figures.find_map(|(metric, result)| {
            (metric.figure.name == name)
                .then_some(result.as_ref().ok())
                .flatten()
        })
    };
    let better =
        |name: &str, direction: Direction| (name == "goodput") == (direction == Direction::Higher);
    let mut judged = Vec::new();
    for name in ["goodput", "p50", "p99"] {
        if let Some(Verdict::Different { direction }) = found(name).map(|c| c.verdict) {
            judged.push(better(name, direction));
        }
    }
    let (limit, sentence) = match (judged.contains(&true), judged.contains(&false)) {
        (true, false) => (
            "better",
            format!("“{}” is better than “{}”", sides.b, sides.a),
        ),
        (false, true) => (
            "worse",
            format!("“{}” is worse than “{}”", sides.b, sides.a),
        ),
        (true, true) => (
            "mixed",
            format!(
                "“{}” is better than “{}” in some figures and worse in others",
                sides.b, sides.a
            ),
        ),
        (false, false) => (
            "no-difference",
            "No significant difference was found".to_owned(),
        ),
    };
    let mut evidence = Vec::new();
    for name in ["goodput", "p50", "p99"] {
        let Some(ratio) = found(name).and_then(|c| c.ratio.as_ref()) else {
            continue;
        };
        let change = |share: f64| figures::change(share).replace('-', "−");
        let within = ratio.interval.map_or_else(String::new, |interval| {
            format!(
                ", 95 % interval {} to {}",
                change(interval.low - 1.0),
                change(interval.high - 1.0)
            )
        });
        evidence.push(json!({
            "figure": change(ratio.estimate - 1.0),
            "sentence": format!("{name} of B beside A{within}"),
            "link": { "text": "All differences", "section": "differences" },
        }));
    }
    let gate = sides.gate.as_ref().map(|(condition, passed, sentence)| {
        json!({
            "condition": condition,
            "result": match passed {
                Some(true) => "passed",
                Some(false) => "failed",
                None => "cannot-tell",
            },
            "sentence": sentence,
        })
    });
    let several = sides.surroundings.len() > 1;
    json!({
        "limit": limit,
        "label": "Verdict",
        "sentence": sentence,
        "evidence": evidence,
        "careful": several.then(|| format!(
            "{} things differ between A and B: the difference is that of all of them together",
            sides.surroundings.len()
        )),
        "gate": gate,
    })
}

/// The kind of a difference, by where it stands.
fn kind(what: &str) -> &'static str {
    match what.split('.').next().unwrap_or_default() {
        "server" if what.contains("changed_settings") => "setting",
        "server" if what.contains("version") => "version",
        "server" => "server",
        "host" => "host",
        "pgdyno" => "version",
        _ => "trial",
    }
}
