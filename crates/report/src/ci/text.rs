//! In the terminal.

use pgdyno_model::document::ci::{Ci, CiFigure};
use pgdyno_spec::text as figures;
use pgdyno_stats::Look;

use super::{faster, result, shown, unit, word};
use crate::notes;
use crate::table::Table;

/// A line while it is going on.
pub fn look(look: &Look) -> String {
    let evidence: Vec<String> = look.tested.iter().map(ToString::to_string).collect();
    format!(
        "{} of the time, {}: {}",
        figures::roughly(look.share),
        figures::plural(look.blocks as u64, "block"),
        match evidence.as_slice() {
            [] => word(result(look.outcome)).to_owned(),
            evidence => evidence.join("; "),
        }
    )
}

/// A line for a block that is not looked at: the medians so far.
pub fn block(found: &[CiFigure], blocks: usize, share: f64) -> String {
    let of_figure = |figure: &CiFigure| {
        let [base, head] = [figure.base, figure.head].map(|value| shown(&figure.figure, value));
        let unit = unit(&figure.figure);
        format!("{} A {base}, B {head} {unit}", figure.figure)
    };
    let so_far: Vec<String> = found.iter().map(of_figure).collect();
    format!(
        "{} of the time, {}: {}",
        figures::roughly(share),
        figures::plural(blocks as u64, "block"),
        so_far.join("; ")
    )
}

pub fn text(document: &Ci) -> String {
    let mut text = if document.interrupted {
        format!(
            "interrupted, {} so far: {}\n",
            word(document.answer),
            document.gate
        )
    } else {
        format!("{}: {}\n", word(document.answer), document.gate)
    };
    for condition in &document.conditions {
        text += &format!(
            "  {}: {}: {}\n",
            condition.condition,
            word(condition.result),
            condition.evidence
        );
    }
    if let Some(faster) = faster(document) {
        text += &format!("{faster}\n");
    }
    text += "\n";
    for (side, of) in [("A  base", &document.base), ("B  head", &document.head)] {
        let version = of.version.as_deref().unwrap_or("version not known");
        text += &format!(
            "{side}  {}  ({version})  {}\n",
            of.given,
            figures::plural(of.trials.len() as u64, "trial")
        );
    }
    let mut table = Table::default();
    table.row(["", "A", "B", "change", "interval", "smallest seen"]);
    for figure in &document.figures {
        table.row(row(figure));
    }
    text += &format!("\n{}", table.text(100));
    text += &format!(
        "{}, {} of {}, {} in {}; {}\n",
        document.mode,
        figures::as_typed(std::time::Duration::from_secs_f64(document.trial_s)),
        document.workload,
        figures::plural(document.blocks as u64, "block"),
        figures::seconds(document.elapsed_s),
        if document.interrupted {
            "intervals of these blocks alone, and no verdict"
        } else {
            "all looks together hold at 95 %"
        },
    );
    for note in &document.notes {
        text += &format!("{}\n", notes::line(note));
    }
    if let Some(advice) = &document.advice {
        text += &format!("{advice}\n");
    }
    text + &format!("kept as {}\n", document.kept_as)
}

/// The cells of a figure.
pub(super) fn row(figure: &CiFigure) -> [String; 6] {
    let dash = || "–".to_owned();
    [
        format!("{} {}", figure.figure, unit(&figure.figure)),
        shown(&figure.figure, figure.base),
        shown(&figure.figure, figure.head),
        figure.change.map_or_else(dash, figures::change),
        figure.interval.map_or_else(dash, |[low, high]| {
            format!("{} to {}", figures::change(low), figures::change(high))
        }),
        figure.smallest_change.map_or_else(dash, figures::roughly),
    ]
}
