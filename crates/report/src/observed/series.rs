//! Courses as sparklines, a row each.

use super::super::sparkline;
use super::super::table::{Table, one_line};
use super::Window;
use pgdyno_model::document::{Observed, ObservedSeries};
use pgdyno_model::observed::{Kind, Rows, fits};
use pgdyno_spec::text as figures;

/// The width of a sparkline.
const BINS: usize = 30;
/// So many parts of one thing are shown unless it is asked for.
const LABELS_MAX: usize = 4;

#[derive(Debug, Clone)]
pub struct Choice {
    /// Those of these names, `*` for anything, with all of their labels. None: those that moved, of
    /// each the labels with the highest mean.
    pub names: Vec<String>,
    pub rows: Rows,
}

impl Choice {
    fn takes(&self, name: &str) -> bool {
        self.names.is_empty() || self.names.iter().any(|pattern| fits(pattern, name))
    }
}

/// What is reported of a course.
struct Figures {
    bins: Vec<Option<f64>>,
    min: f64,
    mean: f64,
    max: f64,
}

/// A heading, a row each, and what is left out.
pub fn text(observed: &Observed, window: Window, choice: &Choice, width: usize) -> String {
    let mut names: Vec<&str> = Vec::new();
    for series in &observed.series {
        let name = series.name.as_str();
        // In the order of the instruments' reports; waits have a table of their own.
        if choice.takes(name)
            && !names.contains(&name)
            && (name != "pg.waits" || !choice.names.is_empty())
        {
            names.push(name);
        }
    }
    let mut table = Table::default();
    table.row(["series", "", "min", "mean", "max", "before to after"]);
    let (mut shown, mut left_out) = (0, 0);
    for name in names.iter().copied() {
        let mut rows: Vec<(&ObservedSeries, Option<Figures>)> = observed
            .all(name)
            .map(|series| (series, figures_of(observed, series, window)))
            .filter(|(series, figures)| !choice.names.is_empty() || is_lively(series, figures))
            .collect();
        let mean = |figures: &Option<Figures>| figures.as_ref().map_or(0.0, |f| f.mean);
        if choice.names.is_empty() && rows.len() > LABELS_MAX {
            rows.sort_by(|(_, a), (_, b)| mean(b).total_cmp(&mean(a)));
            left_out += rows.len() - LABELS_MAX;
            rows.truncate(LABELS_MAX);
        }
        for (series, figures) in rows {
            table.row(cells(series, figures));
            shown += 1;
        }
    }
    if shown == 0 {
        return if choice.names.is_empty() {
            String::new()
        } else {
            "this trial has no such series\n".to_owned()
        };
    }
    let mut text = table.text(width);
    // A user who asks for some wants to know what they are.
    let asked_for = names.iter().filter(|_| !choice.names.is_empty());
    for row in asked_for.filter_map(|name| (choice.rows)(name)) {
        text += &format!("{}: {} ({})\n", row.name, row.what, row.source);
    }
    if left_out > 0 {
        text += &format!("and {left_out} more parts: --series 'NAME*' shows all of one\n");
    }
    text
}

/// Whether there is anything to see.
fn is_lively(series: &ObservedSeries, figures: &Option<Figures>) -> bool {
    let moved = figures
        .as_ref()
        .is_some_and(|f| f.min != 0.0 || f.max != 0.0);
    let grown = series
        .total
        .is_some_and(|total| total.after != total.before);
    moved || grown
}

fn figures_of(observed: &Observed, series: &ObservedSeries, window: Window) -> Option<Figures> {
    let (from_us, to_us) = window.pair();
    let within = series.samples.iter();
    let within = within.filter(|(at_us, _)| (from_us..to_us).contains(at_us));
    let values: Vec<f64> = within.map(|(_, value)| *value).collect();
    let readings = super::readings(observed, &series.instrument, window);
    let (is_sparse, count) = match series.kind {
        Kind::Sparse => (true, readings.max(values.len())),
        _ => (false, values.len()),
    };
    // Readings that do not speak of it were 0.
    let zeros = (count > values.len()).then_some(0.0);
    let all = || values.iter().copied().chain(zeros);
    let absent = is_sparse.then_some(0.0);
    Some(Figures {
        bins: sparkline::bins(&series.samples, (from_us, to_us), count.min(BINS), absent),
        min: all().reduce(f64::min)?,
        mean: series.mean(from_us, to_us, readings)?,
        max: all().reduce(f64::max)?,
    })
}

fn cells(series: &ObservedSeries, figures: Option<Figures>) -> Vec<String> {
    let mut name = one_line(&series.name);
    if !series.label.is_empty() {
        name += &format!(" {}", one_line(&series.label));
    }
    if !series.unit.is_empty() {
        name += &format!(", {}", one_line(&series.unit));
    }
    let shown = |value: f64| figures::quantity_of(value, &series.unit);
    let mut cells = vec![name];
    match figures {
        Some(figures) => {
            cells.push(format!("{:<BINS$}", sparkline::of(&figures.bins)));
            cells.extend([figures.min, figures.mean, figures.max].map(shown));
        }
        None => cells.extend(["", "", "", ""].map(str::to_owned)),
    }
    cells.push(match (series.kind, series.total) {
        (Kind::Counter, Some(total)) => {
            format!("+{}", shown(total.after - total.before))
        }
        (_, Some(total)) => {
            let (before, after) = (total.before, total.after);
            format!("{} to {}", shown(before), shown(after))
        }
        (_, None) => String::new(),
    });
    cells
}
