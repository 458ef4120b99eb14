//! The page of a comparison: two sets of trials, point by point.

use pgdyno_model::notebook::{Kind, Notebook, TrialRow};
use std::borrow::Cow;
use std::collections::BTreeMap;

use super::histogram::{self, Shared};
use super::{begin, time_per_commit, words};
use crate::comparison::{Around, Compared, FOLLOWS_WORDS, Pair, REPEATS_READ_MAX, Within, answer};
use pgdyno_measurement::Latencies;
use pgdyno_model::document::answer::Answer;
use pgdyno_model::document::comparison::{DifferingKind, Drift};
use pgdyno_model::document::page::{
    ComparePage, Difference, OrderedTrial, OverTime, Pair as PairDocument, Side, SideFigures,
};
use pgdyno_model::document::repeats::{LatencyKind, Spread};
use pgdyno_model::document::{Gate, Packed};
use pgdyno_model::{Note, Severity};
use pgdyno_spec::{Failure, text};

/// The length of a step of latencies over time.
const STEP_US: u64 = 1_000_000;

/// What is compared: names as they were typed, points with what came of them, and what differs
/// around them.
pub struct Sides<'a> {
    pub a: &'a str,
    pub b: &'a str,
    /// Each point with its figures.
    pub compared: &'a [(&'a Pair<'a>, Vec<Compared>)],
    pub paired: bool,
    /// What is around the figures.
    pub around: &'a Around,
    /// The gate, where there is one.
    pub gate: Option<Gate>,
    pub command: &'a str,
}

/// The document of a comparison.
///
/// # Errors
/// Nothing is compared, or the store cannot be read.
pub fn compare(store: &dyn Notebook, sides: &Sides<'_>) -> Result<ComparePage, Failure> {
    let Some((first, _)) = sides.compared.first() else {
        return Err(Failure::new("A and B have nothing in common"));
    };
    let names = names(sides);
    let title = format!("{}: {} against {}", subject(sides), names[0], names[1]);
    let mut common = begin(title, facts(sides), sides.command);
    common.eyebrow = Some(eyebrow(sides, first));
    let notes = sides.around.notes.iter().cloned();
    common.notes = notes.map(Into::into).collect();
    if sides.compared.iter().any(|(pair, _)| are_many(pair)) {
        common.notes.push(left_out().into());
    }
    let mut pairs = Vec::new();
    for (at, (pair, figures)) in sides.compared.iter().enumerate() {
        let within = sides.around.within.get(at).cloned().unwrap_or_default();
        pairs.push(of_pair(store, sides, (pair, &within), figures)?);
    }
    let all: Vec<(&Pair<'_>, &[Compared])> = sides
        .compared
        .iter()
        .map(|(pair, figures)| (*pair, figures.as_slice()))
        .collect();
    let (says, answer) = answer::of_all(&all, sides.around);
    let [of_a, of_b] = names;
    Ok(ComparePage {
        kind: "compare",
        common,
        answer,
        says,
        gate: sides.gate.clone(),
        a: side(of_a, &trials_of(sides, |pair| &pair.a)),
        b: side(of_b, &trials_of(sides, |pair| &pair.b)),
        pairs,
        lacking: sides.around.lacking.clone(),
        changed: sides.around.differences.clone(),
        left_out: sides.around.left_out,
        same: same(sides, first),
        method: method(sides.paired),
    })
}

/// What is compared: one point by its name, several by how many.
fn subject(sides: &Sides<'_>) -> String {
    match sides.compared {
        [(pair, _)] => pair.title.clone(),
        many => format!("{} points", many.len()),
    }
}

/// `8 repeats a side, by turns`.
fn eyebrow(sides: &Sides<'_>, first: &Pair<'_>) -> String {
    let drift = sides.compared.iter().flat_map(|(_, figures)| figures);
    let drift = drift.filter_map(|(_, result)| result.as_ref().ok()?.drift);
    let order = match drift.map(|drift| drift.by_turns).next() {
        Some(true) => ", by turns",
        Some(false) => ", not by turns",
        None => "",
    };
    let pairs = if sides.paired { ", in pairs" } else { "" };
    format!("A against B, {}{order}{pairs}", answer::repeats_of(first))
}

/// Clients, rate and server of A's first trial, where all others have the same.
fn facts(sides: &Sides<'_>) -> Vec<String> {
    let trials = || {
        let pairs = sides.compared.iter();
        pairs.flat_map(|(pair, _)| pair.a.iter().chain(&pair.b))
    };
    let Some(first) = trials().next() else {
        return Vec::new();
    };
    let both = |of: &dyn Fn(&TrialRow) -> Option<String>| {
        of(first).filter(|found| trials().all(|trial| of(trial).as_ref() == Some(found)))
    };
    let facts = [
        both(&|trial| Some(words::clients(&trial.spec))),
        both(&|trial| {
            let rate = trial.spec.rate.as_ref()?;
            Some(format!("{} requested", words::asked(rate)))
        }),
        both(&|trial| {
            trial
                .server_version
                .clone()
                .map(|version| format!("server {version}"))
        }),
    ];
    facts.into_iter().flatten().collect()
}

/// What a side has that the other has not, where that is one thing; else how it was called, and of
/// numbers of trials which.
fn names(sides: &Sides<'_>) -> [String; 2] {
    let own = sides.around.differences.iter();
    let own: Vec<_> = own.filter(|one| one.does != Some(FOLLOWS_WORDS)).collect();
    if let [one] = own.as_slice()
        && one.a.chars().count().max(one.b.chars().count()) <= NAME_MAX
    {
        return [&one.a, &one.b].map(|value| format!("{} {value}", one.what));
    }
    let called = |typed: &str, trials: &[&TrialRow]| {
        let is_numbers = typed
            .chars()
            .all(|c| c.is_ascii_digit() || matches!(c, ',' | '-' | ' '));
        let numbers: Vec<i64> = trials.iter().map(|trial| trial.number).collect();
        match is_numbers {
            true if numbers.len() > 3 => {
                let (first, last) = (numbers[0], numbers[numbers.len() - 1]);
                format!("trials {first} … {last}")
            }
            true => text::trials(&numbers),
            false => format!("“{typed}”"),
        }
    };
    [
        called(sides.a, &trials_of(sides, |pair| &pair.a)),
        called(sides.b, &trials_of(sides, |pair| &pair.b)),
    ]
}

/// Longer values are no names.
const NAME_MAX: usize = 24;

/// What does not differ, as far as it is recorded.
fn same(sides: &Sides<'_>, first: &Pair<'_>) -> Vec<(&'static str, String)> {
    let differs = |kind: DifferingKind| {
        let mut all = sides.around.differences.iter();
        all.any(|one| one.kind == kind)
    };
    let workload = match sides.compared {
        [_] => first.title.clone(),
        _ => "of each point on both sides".to_owned(),
    };
    let mut same = vec![("Workload", workload)];
    let rest = [
        (DifferingKind::Setting, "Settings", "all that are recorded"),
        (
            DifferingKind::Version,
            "Versions",
            "of the server and of pgdyno",
        ),
        (
            DifferingKind::Trial,
            "Load",
            "clients, rate, length, protocol, isolation, retries",
        ),
        (
            DifferingKind::Host,
            "Load generator",
            "CPUs, memory, kernel",
        ),
    ];
    let rest = rest.iter().filter(|(kind, ..)| !differs(*kind));
    same.extend(rest.map(|(_, name, words)| (*name, (*words).to_owned())));
    same
}

fn are_many(pair: &Pair<'_>) -> bool {
    pair.a.len().max(pair.b.len()) > REPEATS_READ_MAX
}

/// What a reader must know of points with many repeats.
fn left_out() -> Note {
    Note {
        code: Cow::Borrowed("repeats-left-out"),
        severity: Severity::Notice,
        sentence: format!(
            "some ranges and times per commit are left out: of points with more than {REPEATS_READ_MAX} \
             repeats a side; figures and verdicts are of all repeats"
        ),
        remedy: "compare fewer trials to see all".to_owned(),
    }
}

/// A side's trials of all points, in their order.
fn trials_of<'a>(
    sides: &'a Sides<'_>,
    of: for<'p> fn(&'p Pair<'a>) -> &'p Vec<&'a TrialRow>,
) -> Vec<&'a TrialRow> {
    let mut all: Vec<&TrialRow> = { sides.compared.iter() }
        .flat_map(|(pair, _)| of(pair).iter().copied())
        .collect();
    all.sort_by_key(|trial| trial.number);
    all
}

fn side(name: String, trials: &[&TrialRow]) -> Side {
    let begun = trials.iter().map(|trial| trial.started.as_str()).min();
    let day = begun.and_then(|begun| begun.split('T').next());
    let numbers: Vec<i64> = trials.iter().map(|trial| trial.number).collect();
    let which = match numbers.as_slice() {
        [first, _, _, _, .., last] => format!("trials {first} … {last}"),
        few => text::trials(few),
    };
    Side {
        name,
        facts: format!("{which}, {}", day.unwrap_or_default()),
    }
}

fn method(is_paired: bool) -> Vec<(&'static str, &'static str)> {
    vec![
        (
            "Unit",
            "the repeat: a figure of each trial, never seconds or transactions of one",
        ),
        (
            "Pairs",
            if is_paired {
                "repeats in pairs"
            } else {
                "repeats are not paired"
            },
        ),
        (
            "Difference",
            "rank test; the primary family by Holm at 5 %, exploratory figures by Benjamini–Hochberg",
        ),
        (
            "Change and interval",
            "Hodges–Lehmann shift of the logarithms, B to A; primary intervals hold together at 95 %",
        ),
        (
            "Order",
            "sides that did not run by turns are not called different (--accept-order: only where time \
             explains as much as the change)",
        ),
        (
            "Percentiles over time",
            "of the merged histograms of all repeats, never averaged",
        ),
    ]
}

fn of_pair(
    store: &dyn Notebook,
    sides: &Sides<'_>,
    (pair, within): (&Pair<'_>, &Within),
    figures: &[Compared],
) -> Result<PairDocument, Failure> {
    let mut trials = pair.a.iter().chain(&pair.b);
    let (kind, latency) = if trials.all(|trial| trial.spec.rate.is_some()) {
        (Kind::Response, LatencyKind::Response)
    } else {
        (Kind::Service, LatencyKind::Service)
    };
    let gate = sides.gate.as_ref().map(|gate| gate.condition.as_str());
    // The answer's own judgement, which serious notes may have withdrawn.
    let (says, Answer { sentence, .. }) = answer::of(pair, figures, sides.around);
    let differences = figures
        .iter()
        .map(|one| difference(one, (pair, within), gate));
    Ok(PairDocument {
        point: pair.title.clone(),
        paired: sides.paired,
        says,
        sentence,
        latency,
        a: of_side(store, &pair.a, kind)?,
        b: of_side(store, &pair.b, kind)?,
        differences: differences.collect(),
        time_per_commit: if are_many(pair) {
            None
        } else {
            time_per_commit::of(store, &pair.a, &pair.b)?
        },
        statements: None,
    })
}

fn of_side(store: &dyn Notebook, trials: &[&TrialRow], kind: Kind) -> Result<SideFigures, Failure> {
    let mut all = Latencies::default();
    let mut repeats = Vec::new();
    let mut over_time: BTreeMap<u64, Latencies> = BTreeMap::new();
    for trial in trials {
        let seconds = store.latencies_by_second(trial.number, kind)?;
        let begun_us = seconds.first().map_or(0, |second| second.start_us);
        let mut of_trial = Latencies::default();
        for second in &seconds {
            let latencies = &second.latencies;
            let at = (second.start_us - begun_us + STEP_US / 2) / STEP_US;
            over_time.entry(at).or_default().merge(latencies);
            of_trial.merge(latencies);
        }
        all.merge(&of_trial);
        if trials.len() <= REPEATS_READ_MAX {
            repeats.push(histogram::whole(&of_trial));
        }
    }
    let last = over_time.keys().next_back().copied().unwrap_or(0);
    let steps: Vec<Latencies> = (0..=last)
        .map(|at| over_time.remove(&at).unwrap_or_default())
        .collect();
    let shared = Shared::of(&[steps]);
    let numbered = trials.iter().map(|trial| OrderedTrial {
        trial: trial.number,
        order: trial.number,
        started: trial.started.clone(),
    });
    Ok(SideFigures {
        trials: numbered.collect(),
        histogram: histogram::whole(&all),
        repeats,
        over_time: OverTime {
            step_us: STEP_US,
            buckets_us: shared.buckets_us,
            merged: shared.lists.into_iter().flatten().map(Packed).collect(),
            p99_low_us: None,
            p99_high_us: None,
        },
        checkpoints: None,
    })
}

fn difference(
    (metric, result): &Compared,
    (pair, within): (&Pair<'_>, &Within),
    gate: Option<&str>,
) -> Difference {
    let [a_within, b_within] = within.figure(metric);
    let name = metric.figure.name;
    let is_time = name.starts_with('p');
    let compared = result.as_ref().ok();
    let ratio = compared.and_then(|comparison| comparison.ratio);
    let interval = ratio.map(|ratio| ratio.interval);
    let spread = |summary: &pgdyno_stats::Summary, trials: &[&TrialRow]| Spread {
        over: summary.into(),
        values: trials.iter().map(|trial| metric.of(trial)).collect(),
    };
    Difference {
        figure: name,
        name: if is_time {
            format!("{name} latency")
        } else {
            "Goodput".to_owned()
        },
        unit: if is_time { "µs" } else { "tps" },
        higher_is_better: !is_time,
        gate: gate.and_then(|gate| relative_limit(gate, name)),
        not_compared: result.as_ref().err().cloned(),
        a: compared.map(|comparison| spread(&comparison.a, &pair.a)),
        b: compared.map(|comparison| spread(&comparison.b, &pair.b)),
        a_within: a_within.filter(|_| compared.is_some()),
        b_within: b_within.filter(|_| compared.is_some()),
        change: ratio.map(|ratio| ratio.estimate - 1.0),
        change_interval: interval.map(|i| [i.low - 1.0, i.high - 1.0]),
        family: metric.family.into(),
        change_of_medians: compared.and_then(|comparison| comparison.change_of_medians()),
        smallest_change: compared.and_then(|comparison| comparison.smallest_change()),
        drift: compared.and_then(Drift::of),
        repeats_needed: compared.and_then(|comparison| match comparison.verdict {
            pgdyno_stats::Verdict::NotEnoughRepeats { need, .. } => Some(need),
            _ => None,
        }),
        p: compared.and_then(|comparison| comparison.adjusted_p),
        verdict: compared.map(|comparison| comparison.verdict.into()),
    }
}

/// The relative limit that a gate sets on a figure, as a share: `p99 > +5%` is 0.05.
fn relative_limit(gate: &str, figure: &str) -> Option<f64> {
    // Of `--fail-if 'p99 > +5%'` what is in quotes.
    let conditions = gate.split('\'').nth(1).unwrap_or(gate);
    let mut conditions = conditions.split(',').map(str::trim);
    conditions.find_map(|condition| {
        let (name, limit) = condition.split_once(['<', '>'])?;
        let percent: f64 = limit.trim().strip_suffix('%')?.trim().parse().ok()?;
        (name.trim() == figure).then_some(percent / 100.0)
    })
}
