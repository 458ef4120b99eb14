//! The page of a comparison: two sets of trials, point by point.

use pgdyno_model::notebook::{Kind, Notebook, TrialRow};
use std::borrow::Cow;
use std::collections::BTreeMap;

use super::histogram::{self, Shared};
use super::{begin, time_per_commit};
use crate::comparison::verdict::{self, Says};
use crate::comparison::{Around, Compared, Pair};
use pgdyno_drive::record::Latencies;
use pgdyno_model::document::page::{
    Changed, ComparePage, Difference, OrderedTrial, OverTime, Pair as PairDocument, Side,
    SideFigures,
};
use pgdyno_model::document::repeats::{LatencyKind, Spread};
use pgdyno_model::document::{Gate, Packed, Proof, Verdict};
use pgdyno_model::{Failure, Note, Severity, text};
use pgdyno_stats::Family;

/// The length of a step of latencies over time.
const STEP_US: u64 = 1_000_000;
/// Of more repeats a side the page has no histogram of each and no time per commit: it would be too
/// large to open, and reading them would take minutes.
const REPEATS_SHOWN_MAX: usize = 200;

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
    /// What is around the figures.
    pub around: &'a Around,
    /// The gate, where there is one.
    pub gate: Option<Gate>,
    /// The command line.
    pub command: &'a str,
}

/// The document of a comparison.
///
/// # Errors
/// Nothing is compared, or the store cannot be read.
pub fn compare(store: &dyn Notebook, sides: &Sides<'_>) -> Result<ComparePage, Failure> {
    let Some((first, figures)) = sides.compared.first() else {
        return Err(Failure::new("A and B have nothing in common"));
    };
    let title = format!("{}: “{}” against “{}”", first.title, sides.a, sides.b);
    let mut common = begin(title, Vec::new(), sides.command);
    common.eyebrow = Some(format!(
        "A against B, {} and {} repeats",
        first.a.len(),
        first.b.len()
    ));
    common.verdict = Some(judged(sides, figures));
    let notes = sides.around.notes.iter().cloned();
    common.notes = notes.map(Into::into).collect();
    if sides.compared.iter().any(|(pair, _)| are_many(pair)) {
        common.notes.push(left_out().into());
    }
    let mut pairs = Vec::new();
    for (pair, figures) in sides.compared {
        pairs.push(of_pair(store, sides, pair, figures)?);
    }
    let changed = sides.around.differences.iter().map(|one| Changed {
        kind: one.kind,
        name: one.what.clone(),
        a: one.a.clone(),
        b: one.b.clone(),
    });
    Ok(ComparePage {
        kind: "compare",
        common,
        a: side(sides.a, &first.a),
        b: side(sides.b, &first.b),
        pairs,
        lacking: sides.around.lacking.clone(),
        changed: changed.collect(),
        left_out: sides.around.left_out,
        same: vec![("Workload", first.title.clone())],
        method: method(sides.paired),
    })
}

fn are_many(pair: &Pair<'_>) -> bool {
    pair.a.len().max(pair.b.len()) > REPEATS_SHOWN_MAX
}

/// What a reader must know of points with many repeats.
fn left_out() -> Note {
    Note {
        code: Cow::Borrowed("repeats-left-out"),
        severity: Severity::Notice,
        sentence: format!(
            "of points with more than {REPEATS_SHOWN_MAX} repeats a side the range of the repeats \
             and the time per commit are left out; figures and verdicts are of all repeats"
        ),
        remedy: "compare fewer trials to see them".to_owned(),
    }
}

fn side(name: &str, trials: &[&TrialRow]) -> Side {
    let begun = trials.iter().map(|trial| trial.started.as_str()).min();
    let day = begun.and_then(|begun| begun.split('T').next());
    let count = text::plural(trials.len() as u64, "trial");
    Side {
        name: name.to_owned(),
        facts: format!("{count}, {}", day.unwrap_or_default()),
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
            match is_paired {
                true => "repeats in pairs",
                false => "repeats are not paired",
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
            "sides that did not run by turns have no verdict where time explains as much as the change",
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
    pair: &Pair<'_>,
    figures: &[Compared],
) -> Result<PairDocument, Failure> {
    let mut trials = pair.a.iter().chain(&pair.b);
    let (kind, latency) = match trials.all(|trial| trial.spec.rate.is_some()) {
        true => (Kind::Response, LatencyKind::Response),
        false => (Kind::Service, LatencyKind::Service),
    };
    let gate = sides.gate.as_ref().map(|gate| gate.condition.as_str());
    let differences = figures.iter().map(|one| difference(one, pair, gate));
    Ok(PairDocument {
        point: pair.title.clone(),
        paired: sides.paired,
        latency,
        a: of_side(store, &pair.a, kind)?,
        b: of_side(store, &pair.b, kind)?,
        differences: differences.collect(),
        time_per_commit: match are_many(pair) {
            true => None,
            false => time_per_commit::of(store, &pair.a, &pair.b)?,
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
        let begun_us = seconds.first().map_or(0, |(start_us, _)| *start_us);
        let mut of_trial = Latencies::default();
        for (start_us, latencies) in &seconds {
            let at = (start_us - begun_us + STEP_US / 2) / STEP_US;
            over_time.entry(at).or_default().merge(latencies);
            of_trial.merge(latencies);
        }
        all.merge(&of_trial);
        if trials.len() <= REPEATS_SHOWN_MAX {
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

fn difference((metric, result): &Compared, pair: &Pair<'_>, gate: Option<&str>) -> Difference {
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
        name: match is_time {
            true => format!("{name} latency"),
            false => "Goodput".to_owned(),
        },
        unit: if is_time { "µs" } else { "tps" },
        higher_is_better: !is_time,
        gate: gate.and_then(|gate| relative_limit(gate, name)),
        not_compared: result.as_ref().err().cloned(),
        a: compared.map(|comparison| spread(&comparison.a, &pair.a)),
        b: compared.map(|comparison| spread(&comparison.b, &pair.b)),
        change: ratio.map(|ratio| ratio.estimate - 1.0),
        change_interval: interval.map(|i| [i.low - 1.0, i.high - 1.0]),
        family: metric.family.into(),
        change_of_medians: compared.and_then(|comparison| comparison.change_of_medians()),
        smallest_change: compared.and_then(|comparison| comparison.smallest_change()),
        drift: compared.and_then(|comparison| comparison.drift.as_ref().map(Into::into)),
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

/// In one sentence, from the first point.
fn judged(sides: &Sides<'_>, figures: &[Compared]) -> Verdict {
    let (says, sentence) = verdict::of(figures);
    let limit = match says {
        Says::Better => "better",
        Says::Worse => "worse",
        Says::Mixed => "mixed",
        Says::NoDifference => "no-difference",
        Says::CannotTell => "cannot-tell",
    };
    let minus = |words: String| words.replace('-', "−");
    let change = |share: f64| minus(text::change(share));
    let mut evidence = Vec::new();
    let mut drift = None;
    for (metric, result) in figures {
        let Ok(found) = result else { continue };
        if found.family != Family::Primary {
            continue;
        }
        let name = metric.figure.name;
        let (a, b) = (metric.shown(found.a.median), metric.shown(found.b.median));
        let proof = match found.ratio {
            Some(ratio) => {
                let [low, high] =
                    [ratio.interval.low, ratio.interval.high].map(|r| change(r - 1.0));
                let sentence = format!("{name}, {a} to {b}; interval {low} to {high}");
                Proof::new(change(ratio.estimate - 1.0), sentence).at("differences", "Differences")
            }
            None => {
                let Some(share) = found.change_of_medians() else {
                    continue;
                };
                let sentence =
                    format!("{name}, {a} to {b}; medians as measured, no interval given");
                Proof::new(change(share), sentence).at("repeats", "Repeats")
            }
        };
        evidence.push(proof);
        drift = drift.or(found.drift.map(|drift| (drift, found.verdict)));
    }
    if let Some((drift, verdict)) = drift {
        let proof = match verdict {
            pgdyno_stats::Verdict::TimeExplains => Proof::new(
                change(drift.foretold),
                "is what the drift within the sides foretells for B; the two cannot be separated"
                    .to_owned(),
            ),
            _ => Proof::new(change(drift.first_to_last), minus(drift.to_string())),
        };
        evidence.push(proof.at("repeats", "Repeats"));
    }
    let several = sides.around.differences.len();
    let mut remedies = Vec::new();
    if says == Says::CannotTell {
        remedies.push(
            "run both sides by turns, with more repeats: a sweep over what differs does so by itself"
                .to_owned(),
        );
    }
    Verdict {
        limit: limit.to_owned(),
        label: Some("Verdict".to_owned()),
        sentence,
        evidence,
        remedies,
        careful: (several > 1).then(|| {
            format!(
                "{several} things differ between A and B: the difference is that of all of them \
                 together"
            )
        }),
        gate: sides.gate.clone(),
        ..Verdict::default()
    }
}
