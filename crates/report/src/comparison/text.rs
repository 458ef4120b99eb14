//! Two sets of trials beside each other, for people.

use pgdyno_model::document::comparison::{
    Compared, ComparedFigure, ComparedPoint, Comparison, Verdict,
};
use pgdyno_stats::gate::{Figure, Unit};

use super::METRICS;
use crate::table::Table;

/// All of it, ready to be printed.
pub fn text(comparison: &Comparison, width: usize) -> String {
    let points = comparison.points.iter();
    let mut text: String = points.map(|of| format!("{}\n", point(of, width))).collect();
    if comparison.differences.is_empty() {
        text += "no differences of settings, versions and environment are recorded\n";
        return text;
    }
    let mut table = Table::default();
    table.row(["differs", "A", "B"]);
    for differing in &comparison.differences {
        table.row([&differing.what, &differing.a, &differing.b]);
    }
    text + &table.text(width)
}

fn point(point: &ComparedPoint, width: usize) -> String {
    let mut table = Table::default();
    table.row([point.point.as_str(), "A", "", "B", "", "B vs. A"]);
    for metric in &METRICS {
        let Figure { name, unit } = metric.figure;
        let title = match unit {
            Unit::TimeUs => format!("{name}, ms"),
            _ => format!("{name}, tx/s"),
        };
        match point.figures.get(name) {
            None => {}
            Some(ComparedFigure::Compared(compared)) => table.row([
                title,
                metric.shown(compared.a.median),
                metric.spread(&compared.a),
                metric.shown(compared.b.median),
                metric.spread(&compared.b),
                verdict(compared),
            ]),
            Some(ComparedFigure::Not { not_compared }) => table.row([
                title,
                "–".to_owned(),
                String::new(),
                "–".to_owned(),
                String::new(),
                not_compared.clone(),
            ]),
        }
    }
    let (a, b) = (point.a.len(), point.b.len());
    format!(
        "{}medians of {a} and {b} trials; [ ] 95 % interval, ( ) range\n",
        table.text(width)
    )
}

fn verdict(compared: &Compared) -> String {
    let change = pgdyno_model::text::change;
    let by = compared.change.map_or(String::new(), |share| {
        let interval = compared.change_interval;
        let interval = interval.map_or(String::new(), |[low, high]| {
            format!(" [{}, {}]", change(low), change(high))
        });
        format!("{}{interval}", change(share))
    });
    match compared.verdict {
        Verdict::NotEnoughRepeats => {
            let need = compared.repeats_needed.unwrap_or(0);
            format!("not enough repeats ({need} a side)")
        }
        Verdict::NoSignificantDifference => format!("no significant difference, {by}"),
        Verdict::Higher => format!("higher, {by}"),
        Verdict::Lower => format!("lower, {by}"),
    }
}
