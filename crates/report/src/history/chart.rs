//! The chart in the terminal: a column a trial, or several where there are more trials than columns; a line at each
//! level's median.

use pgdyno_model::document::history::History;

use crate::comparison::Metric;

const ROWS: usize = 12;
/// Columns of the whole, the axis among them.
const WIDTH: usize = 80;

/// The lines of the chart.
pub fn lines(document: &History, metric: &Metric) -> Vec<String> {
    let values: Vec<f64> = document.trials.iter().map(|trial| trial.value).collect();
    let (Some(low), Some(high)) = (
        values.iter().copied().reduce(f64::min),
        values.iter().copied().reduce(f64::max),
    ) else {
        return Vec::new();
    };
    let labels = [high, 0.5 * (low + high), low].map(|value| metric.shown(value));
    let margin = labels
        .iter()
        .map(|label| label.chars().count())
        .max()
        .unwrap_or(0)
        + 2;
    let columns = values.len().min(WIDTH.saturating_sub(margin));
    let column = |index: usize| index * columns / values.len();
    let row = |value: f64| {
        if high > low {
            ((high - value) / (high - low) * (ROWS - 1) as f64).round() as usize
        } else {
            ROWS / 2
        }
    };
    let mut plot = vec![vec![' '; columns]; ROWS];
    let mut start = 0;
    for end in document
        .changes
        .iter()
        .map(|change| change.index)
        .chain([values.len()])
    {
        let at = row(median(&values[start..end]));
        for cell in &mut plot[at][column(start)..=column(end - 1)] {
            *cell = '─';
        }
        start = end;
    }
    for (index, value) in values.iter().enumerate() {
        plot[row(*value)][column(index)] = '•';
    }
    let mut lines = Vec::new();
    for (index, cells) in plot.iter().enumerate() {
        let label = match index {
            0 => labels[0].as_str(),
            at if at == ROWS / 2 && high > low => labels[1].as_str(),
            at if at == ROWS - 1 => labels[2].as_str(),
            _ => "",
        };
        let cells: String = cells.iter().collect();
        lines.push(
            format!("{label:>0$} ┤{cells}", margin - 2)
                .trim_end()
                .to_owned(),
        );
    }
    // Each change's number below its first trial; one that has no room is in the table only.
    let mut below = vec![' '; columns];
    for (number, change) in document.changes.iter().enumerate() {
        let digits = (number + 1).to_string();
        let at = column(change.index);
        let place = below.get_mut(at..at + digits.len());
        if let Some(place) = place.filter(|place| place.iter().all(|cell| *cell == ' ')) {
            for (cell, digit) in place.iter_mut().zip(digits.chars()) {
                *cell = digit;
            }
        }
    }
    let below: String = below.iter().collect();
    lines.push(format!("{:>1$}{below}", "", margin).trim_end().to_owned());
    lines
}

fn median(values: &[f64]) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    sorted[sorted.len() / 2]
}
