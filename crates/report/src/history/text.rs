//! In the terminal.

use pgdyno_model::document::history::{Change, History};
use pgdyno_spec::text as figures;

use super::{chart, figure};
use crate::comparison::Metric;
use crate::table::Table;

/// Of the table of changes.
pub(super) const HEADS: [&str; 7] = [
    "change",
    "first trial after",
    "before",
    "after",
    "change",
    "95 % interval",
    "p",
];

pub fn text(document: &History) -> String {
    let Some(metric) = figure(&document.figure) else {
        return String::new();
    };
    let mut text = format!("{}\n{}\n\n", sentence(document), facts(document));
    for line in chart::lines(document, metric) {
        text += &format!("{line}\n");
    }
    if let (Some(first), Some(last)) = (document.trials.first(), document.trials.last()) {
        text += &format!(
            "{} from {} (trial {}) to {} (trial {}); the axis does not begin at 0\n",
            unit(document),
            day(&first.started),
            first.number,
            day(&last.started),
            last.number
        );
    }
    if !document.changes.is_empty() {
        let mut table = Table::default();
        table.row(HEADS);
        for (number, change) in document.changes.iter().enumerate() {
            table.row(row(number, change, metric));
        }
        text += &format!("\n{}", table.text(100));
    }
    for (number, change) in document.changes.iter().enumerate() {
        if let Some([before, after]) = &change.versions {
            text += &format!(
                "with {}: the server's version went from {before} to {after}\n",
                number + 1
            );
        }
    }
    if let Some(masked) = masked(document) {
        text += &format!("\n{masked}\n");
    }
    for left_out in &document.left_out {
        let trials = figures::plural(left_out.trials as u64, "trial");
        text += &format!("left out  {trials}: {}\n", left_out.why);
    }
    text
}

pub(super) fn sentence(document: &History) -> String {
    let count = figures::plural(document.trials.len() as u64, "trial");
    let what = format!("{} of {}", document.figure, document.workload);
    match document.changes.last() {
        None if document.masked_by.is_some() => format!(
            "{what}: whether its level changed in {count} is not known, they follow each other too closely"
        ),
        None => format!("{what}: no change of level in {count}"),
        Some(last) => {
            let changes = figures::plural(document.changes.len() as u64, "change");
            let by = last
                .change
                .map_or_else(String::new, |by| format!(" by {}", figures::change(by)));
            format!(
                "{what}: {changes} in {count}, the newest{by} with trial {} on {}",
                last.first_after,
                day(&last.started)
            )
        }
    }
}

/// Why no change counts, and what would tell, where trials follow each other too closely.
pub(super) fn masked(document: &History) -> Option<String> {
    document.masked_by.map(|correlation| {
        format!(
            "each trial is near the one before (correlation {correlation:.2}): levels that come and go on \
             their own\nlook as different; pgdyno ci, which measures two versions by turns, can tell"
        )
    })
}

pub(super) fn facts(document: &History) -> String {
    let load = match document.load.as_slice() {
        [] => String::new(),
        load => format!("{}; ", load.join(", ")),
    };
    format!("{load}{}; pgdyno on {}", document.target, document.host)
}

/// The cells of a change.
pub(super) fn row(number: usize, change: &Change, metric: &Metric) -> [String; 7] {
    let dash = || "–".to_owned();
    [
        format!("{}  {}", number + 1, minute(&change.started)),
        change.first_after.to_string(),
        metric.shown(change.before),
        metric.shown(change.after),
        change.change.map_or_else(dash, figures::change),
        change.interval.map_or_else(dash, |[low, high]| {
            format!("{} to {}", figures::change(low), figures::change(high))
        }),
        format!("{:.3}", change.p),
    ]
}

pub(super) fn unit(document: &History) -> &'static str {
    match document.figure.as_str() {
        "goodput" => "transactions/s",
        _ => "ms",
    }
}

/// The day of a stamp.
pub(super) fn day(stamp: &str) -> &str {
    stamp.get(..10).unwrap_or(stamp)
}

fn minute(stamp: &str) -> String {
    stamp.get(..16).unwrap_or(stamp).replace('T', " ")
}
