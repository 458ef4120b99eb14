//! `pgdyno ci`: two sides in blocks, the figures of its gate, and its answer as a document, as text, as Markdown for a
//! pull request and as JUnit's XML.

mod junit;
mod markdown;
mod text;

pub use junit::junit;
pub use markdown::markdown;
pub use text::{block, look, text};

use pgdyno_model::document::GateResult;
use pgdyno_model::document::ci::{Ci, CiCondition, CiFigure, CiLook};
use pgdyno_model::notebook::TrialRow;
use pgdyno_spec::text::change;
use pgdyno_stats::gate::{Figure, Gate, Outcome, Unit};
use pgdyno_stats::{Look, OfBlocks};

use crate::comparison::{METRICS, Metric};

/// The figures that a gate can name.
pub fn figures() -> Vec<Figure<'static>> {
    METRICS.iter().map(|metric| metric.figure).collect()
}

/// The figures that a gate names, of all whole blocks; both sides in the order in which they were run. One that a
/// trial lacks is left out; times of a trial that did nothing are infinite.
pub fn of_blocks(gate: &Gate, base: &[TrialRow], head: &[TrialRow]) -> Vec<OfBlocks> {
    let blocks = base.len().min(head.len()) / 2;
    let side = |metric: &Metric, trials: &[TrialRow]| -> Option<Vec<[f64; 2]>> {
        let pairs = trials.chunks_exact(2).take(blocks);
        pairs
            .map(|pair| Some([value(metric, &pair[0])?, value(metric, &pair[1])?]))
            .collect()
    };
    let of_figure = |name: &str| {
        let metric = metric(name)?;
        Some(OfBlocks {
            figure: name.to_owned(),
            a: side(metric, base)?,
            b: side(metric, head)?,
        })
    };
    gate.figures().into_iter().filter_map(of_figure).collect()
}

fn value(metric: &Metric, trial: &TrialRow) -> Option<f64> {
    let did_nothing = trial.goodput_per_s == Some(0.0) && metric.figure.unit == Unit::TimeUs;
    metric.of(trial).or(did_nothing.then_some(f64::INFINITY))
}

fn metric(name: &str) -> Option<&'static Metric> {
    METRICS.iter().find(|metric| metric.figure.name == name)
}

/// What came of the figures that a gate names.
pub fn judged_figures(
    gate: &Gate,
    base: &[TrialRow],
    head: &[TrialRow],
    last: Option<&Look>,
) -> Vec<CiFigure> {
    let of_figure = |name: &str| {
        let metric = metric(name)?;
        let comparisons = last.iter().flat_map(|look| &look.comparisons);
        let mut of_it = comparisons.filter(|(figure, _)| figure == name);
        let comparison = of_it.next().map(|(_, comparison)| comparison);
        let ratio = comparison.and_then(|comparison| comparison.ratio);
        Some(CiFigure {
            figure: name.to_owned(),
            base: median(base, metric),
            head: median(head, metric),
            change: ratio.map(|ratio| ratio.estimate - 1.0),
            interval: ratio.map(|ratio| [ratio.interval.low - 1.0, ratio.interval.high - 1.0]),
            level: ratio.map(|ratio| ratio.interval.level),
            smallest_change: comparison.and_then(|comparison| comparison.smallest_change()),
        })
    };
    gate.figures().into_iter().filter_map(of_figure).collect()
}

fn median(trials: &[TrialRow], metric: &Metric) -> Option<f64> {
    let mut values: Vec<f64> = trials.iter().filter_map(|trial| metric.of(trial)).collect();
    values.sort_by(f64::total_cmp);
    let middle = values.len() / 2;
    match values.len() {
        0 => None,
        odd if odd % 2 == 1 => Some(values[middle]),
        _ => Some(0.5 * (values[middle - 1] + values[middle])),
    }
}

/// The conditions as the last look left them; without one, why there is none.
pub fn conditions(gate: &Gate, last: Option<&Look>) -> Vec<CiCondition> {
    match last {
        Some(look) => look
            .tested
            .iter()
            .map(|tested| CiCondition {
                condition: tested.condition.to_string(),
                result: result(tested.outcome),
                evidence: tested.evidence.clone(),
            })
            .collect(),
        None => gate
            .conditions()
            .map(|condition| CiCondition {
                condition: condition.to_string(),
                result: GateResult::CannotTell,
                evidence: "no whole block was measured".to_owned(),
            })
            .collect(),
    }
}

/// A look for the document.
pub fn of_look(look: &Look) -> CiLook {
    CiLook {
        share: look.share,
        blocks: look.blocks,
        level: look.level,
        result: result(look.outcome),
    }
}

/// An outcome as documents have it.
pub fn result(outcome: Outcome) -> GateResult {
    match outcome {
        Outcome::Passes => GateResult::Passed,
        Outcome::Fails => GateResult::Failed,
        Outcome::CannotTell => GateResult::CannotTell,
    }
}

/// The answer in a word.
fn word(result: GateResult) -> &'static str {
    match result {
        GateResult::Passed => "pass",
        GateResult::Failed => "fail",
        GateResult::CannotTell => "cannot tell",
    }
}

/// Which side commits more, or that it is undecided; `None` where goodput was not measured.
fn faster(document: &Ci) -> Option<String> {
    let mut figures = document.figures.iter();
    let goodput = figures.find(|figure| figure.figure == "goodput")?;
    let Some([low, high]) = goodput.interval else {
        return Some("cannot tell which is faster: too few blocks for an interval".to_owned());
    };
    let interval = format!("{} to {}", change(low), change(high));
    Some(match (low > 0.0, high < 0.0) {
        (true, _) => format!("B is faster: goodput {interval} of A's"),
        (_, true) => format!("B is slower: goodput {interval} of A's"),
        _ => format!("cannot tell which is faster: B's goodput differs by {interval} from A's"),
    })
}

/// A figure's value with its unit: times in milliseconds.
fn shown(figure: &str, value: Option<f64>) -> String {
    match (metric(figure), value) {
        (Some(metric), Some(value)) => metric.shown(value),
        _ => "–".to_owned(),
    }
}

/// The unit in which [`shown`] shows it.
fn unit(figure: &str) -> &'static str {
    match figure {
        "goodput" => "tx/s",
        _ => "ms",
    }
}

#[cfg(test)]
mod tests;
