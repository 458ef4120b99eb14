//! An experiment's points in the terminal.

use std::collections::BTreeMap;

use pgdyno_model::document::points::{PointFigure, PointResult, Points};
use pgdyno_model::document::repeats::{LatencyKind, Summary};
use pgdyno_stats::OUTLIER_SCORE;

use crate::answer;
use crate::comparison::{METRICS, Metric};
use crate::notes;
use crate::table::{Table, one_line};
use pgdyno_model::{NoteOfTrials, Severity};
use pgdyno_spec::text as figures;

/// So many lines about single trials are shown to a person.
const LINES_MAX: usize = 20;
const GOODPUT: &str = "goodput";
/// The percentiles of the table.
const PERCENTILES: [&str; 2] = ["p50", "p99"];

fn metric(name: &str) -> Option<&'static Metric> {
    METRICS.iter().find(|metric| metric.figure.name == name)
}

/// All of it, ready to be printed; no line of the table is longer than `width`, where that is possible.
pub fn text(all: &Points, width: usize) -> String {
    if all.points.is_empty() {
        return "no trials\n".to_owned();
    }
    let mut text = String::new();
    if let Some(found) = &all.answer {
        text = format!("{}\n", answer::text(found));
    }
    text += &table(&all.points, width);
    let (grave, others): (Vec<NoteOfTrials>, Vec<NoteOfTrials>) = noted(all)
        .into_iter()
        .partition(|of| of.note.severity == Severity::Serious);
    // What makes the figures worthless precedes what explains them.
    let grave: Vec<String> = grave.iter().map(notes::line).collect();
    for line in &grave {
        text += &format!("{line}\n");
    }
    let mut lines = outliers(all);
    if !lines.is_empty() {
        lines.push(format!(
            "          beyond {OUTLIER_SCORE} by Iglewicz & Hoaglin's method; outliers are \
             included in the figures"
        ));
    }
    for point in &all.points {
        for unsteady in &point.unsteady {
            let place = place(all, point, unsteady.repeat);
            let (number, sentence) = (unsteady.trial, one_line(&unsteady.sentence));
            lines.push(format!("unsteady  trial {number}{place}: {sentence}"));
        }
    }
    for point in &all.points {
        for note in &point.uneven {
            let place = match all.points.len() {
                1 => String::new(),
                _ => format!("{}: ", point.title),
            };
            lines.push(format!("uneven    {place}{}", one_line(&note.sentence)));
        }
    }
    for point in &all.points {
        for trial in &point.left_out {
            let place = place(all, point, trial.repeat);
            let (number, why) = (trial.trial, &trial.why);
            lines.push(format!("left out  trial {number}{place}: {why}"));
        }
    }
    lines.extend(others.iter().map(notes::line));
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

/// The notes of all points, each code once.
fn noted(all: &Points) -> Vec<NoteOfTrials> {
    let mut found: Vec<NoteOfTrials> = Vec::new();
    for of in all.points.iter().flat_map(|point| &point.notes) {
        match found
            .iter_mut()
            .find(|other| other.note.code == of.note.code)
        {
            Some(other) => other.trials.extend(&of.trials),
            None => found.push(of.clone()),
        }
    }
    for of in &mut found {
        of.trials.sort_unstable();
    }
    found
}

/// A line for each trial that is one in a figure of the table.
fn outliers(all: &Points) -> Vec<String> {
    let mut lines = Vec::new();
    for point in &all.points {
        // By the trial's place among the repeats.
        let mut by_trial: BTreeMap<usize, Vec<String>> = BTreeMap::new();
        for outlier in &point.outliers {
            let name = outlier.figure.as_str();
            let of_table = metric(name).filter(|_| name == GOODPUT || PERCENTILES.contains(&name));
            let at = point.trials.iter().position(|of| of.trial == outlier.trial);
            if let Some((metric, at)) = of_table.zip(at) {
                let value = metric.shown(outlier.value);
                let score = outlier.modified_z_score;
                let said = format!("{name} {value} (modified z-score {score:+.1})");
                by_trial.entry(at).or_default().push(said);
            }
        }
        for (at, said) in by_trial {
            let trial = &point.trials[at];
            let place = place(all, point, trial.repeat);
            let said = said.join(", ");
            lines.push(format!("outlier   trial {}{place}: {said}", trial.trial));
        }
    }
    lines
}

fn place(all: &Points, point: &PointResult, repeat: Option<u32>) -> String {
    let repeat = repeat.unwrap_or(0);
    match all.points.len() {
        1 => format!(" (repeat {repeat})"),
        _ => format!(" ({}, repeat {repeat})", point.title),
    }
}

/// The interval of the median in square brackets, or where there is none the range in round ones.
fn spread(metric: &Metric, summary: &Summary) -> String {
    match summary.interval {
        Some([low, high]) => format!("[{}, {}]", metric.shown(low), metric.shown(high)),
        None => format!(
            "({}, {})",
            metric.shown(summary.min),
            metric.shown(summary.max)
        ),
    }
}

fn table(points: &[PointResult], width: usize) -> String {
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
    let (mut intervals, mut ranges, mut dashes, mut marks) = (false, false, false, false);
    // Cut titles would not tell the points apart: long ones stand above, by number.
    let longest = points.iter().map(|point| point.title.chars().count()).max();
    let are_long = longest > Some(width / 2);
    let mut titles = String::new();
    for (number, point) in (1..).zip(points) {
        let title = if are_long {
            titles += &format!("point {number:<3}  {}\n", point.title);
            format!("point {number}")
        } else {
            point.title.clone()
        };
        let mut cells = vec![title, point.repeats.to_string()];
        let figure = |name: &str| Some((metric(name)?, point.figures.get(name)?));
        let over = |figure: &PointFigure| figure.over_repeats.as_ref().map(|all| all.over.clone());
        let goodput = figure(GOODPUT);
        match goodput.and_then(|(metric, figure)| Some((metric, over(figure)?))) {
            None => cells.extend([dash(), String::new()]),
            Some((metric, summary)) => {
                cells.push(metric.shown(summary.median));
                cells.push(match summary.n {
                    1 => String::new(),
                    _ => spread(metric, &summary),
                });
                match summary.interval {
                    Some(_) => intervals = true,
                    None => ranges |= summary.n > 1,
                }
            }
        }
        for name in PERCENTILES {
            let Some((metric, figure)) = figure(name) else {
                continue;
            };
            dashes |= figure.together_us.flatten().is_none();
            marks |= figure.interval.is_some_and(|interval| interval.uncertain);
            cells.push(figure.percentile(|us| metric.shown(us)));
            let repeats = over(figure).filter(|_| point.repeats > 1);
            ranges |= repeats.is_some();
            cells.push(repeats.map_or_else(String::new, |repeats| {
                let (low, high) = (metric.shown(repeats.min), metric.shown(repeats.max));
                format!("({low}, {high})")
            }));
        }
        cells.extend(match point.repeats {
            0 => [dash(), dash()],
            _ => [point.failed, point.retries].map(figures::count),
        });
        table.row(cells);
    }
    let mut text = titles + &table.text(width);
    let has_rate = points
        .iter()
        .any(|point| point.latency == LatencyKind::Response);
    text += "goodput: median over the repeats; percentiles: of all repeats' ";
    text += if has_rate {
        "response times (without a rate: service times)"
    } else {
        "transactions"
    };
    text += " together\n";
    let mut signs = Vec::new();
    signs.extend(intervals.then_some("[ ] 95 % interval of the median"));
    signs.extend(ranges.then_some("( ) range over the repeats"));
    signs.extend(dashes.then_some("–: too few transactions"));
    signs.extend(marks.then_some("~: of these trials only"));
    if !signs.is_empty() {
        text += &format!("{}\n", signs.join("; "));
    }
    text
}
