//! An experiment's points in the terminal.

use std::collections::BTreeMap;

use pgdyno_stats::{Bootstrap, OUTLIER_SCORE};

use super::{Point, Summary};
use crate::report::comparison::{METRICS, Metric};
use crate::report::table::{Table, one_line};
use crate::store::{Kind, TrialRow};
use pgdyno_model::text as figures;

/// So many lines about single trials are shown to a person.
const LINES_MAX: usize = 20;
const GOODPUT: &str = "goodput";
/// The percentiles of the table.
const PERCENTILES: [&str; 2] = ["p50", "p99"];

fn metric(name: &str) -> Option<&'static Metric> {
    METRICS.iter().find(|metric| metric.figure.name == name)
}

impl Summary {
    /// For people.
    pub fn text(&self) -> String {
        if self.points.is_empty() {
            return "no trials\n".to_owned();
        }
        let mut text = self.table();
        let mut lines: Vec<String> = Vec::new();
        for point in &self.points {
            let mut by_trial: BTreeMap<usize, Vec<String>> = BTreeMap::new();
            let shown = |name: &str| name == GOODPUT || PERCENTILES.contains(&name);
            for (metric, outlier) in point.outliers() {
                let name = metric.figure.name;
                if shown(name) {
                    let value = metric.shown(outlier.value);
                    let score = outlier.score;
                    let said = format!("{name} {value} (modified z-score {score:+.1})");
                    by_trial.entry(outlier.index).or_default().push(said);
                }
            }
            for (index, said) in by_trial {
                let trial = &point.trials[index];
                let place = self.place(point, trial);
                let said = said.join(", ");
                lines.push(format!("outlier   trial {}{place}: {said}", trial.number));
            }
        }
        if !lines.is_empty() {
            lines.push(format!(
                "          beyond {OUTLIER_SCORE} by Iglewicz & Hoaglin's method; outliers count all the same"
            ));
        }
        for point in &self.points {
            for (index, note) in &point.unsteady {
                let trial = &point.trials[*index];
                let place = self.place(point, trial);
                let (number, sentence) = (trial.number, one_line(&note.sentence));
                lines.push(format!("unsteady  trial {number}{place}: {sentence}"));
            }
        }
        for point in &self.points {
            for note in &point.uneven {
                let place = match self.points.len() {
                    1 => String::new(),
                    _ => format!("{}: ", point.title),
                };
                lines.push(format!("uneven    {place}{}", one_line(&note.sentence)));
            }
        }
        for point in &self.points {
            for (trial, why) in &point.left_out {
                let place = self.place(point, trial);
                lines.push(format!("left out  trial {}{place}: {why}", trial.number));
            }
        }
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

    fn place(&self, point: &Point, trial: &TrialRow) -> String {
        let repeat = trial.repeat.unwrap_or(0);
        match self.points.len() {
            1 => format!(" (repeat {repeat})"),
            _ => format!(" ({}, repeat {repeat})", point.title),
        }
    }

    fn table(&self) -> String {
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
        let (mut intervals, mut ranges, mut dashes) = (false, false, false);
        for point in &self.points {
            let mut cells = vec![point.title.clone(), point.trials.len().to_string()];
            let goodput = metric(GOODPUT).and_then(|metric| Some((metric, point.sample(metric)?)));
            match goodput {
                None => cells.extend([dash(), String::new()]),
                Some((metric, sample)) => {
                    let summary = sample.summary(&Bootstrap::default());
                    cells.push(metric.shown(summary.median));
                    cells.push(match summary.n {
                        1 => String::new(),
                        _ => metric.spread(&summary),
                    });
                    match summary.interval {
                        Some(_) => intervals = true,
                        None => ranges |= summary.n > 1,
                    }
                }
            }
            for name in PERCENTILES {
                let Some(metric) = metric(name) else { continue };
                let together = point.percentile_us(name);
                dashes |= together.is_none();
                cells.push(together.map_or_else(dash, figures::ms));
                let repeats = point.sample(metric).filter(|_| point.trials.len() > 1);
                ranges |= repeats.is_some();
                cells.push(repeats.map_or_else(String::new, |repeats| {
                    let (low, high) = (repeats.sorted()[0], repeats.sorted().last());
                    let high = high.copied().unwrap_or(low);
                    format!("({}, {})", metric.shown(low), metric.shown(high))
                }));
            }
            let totals = [point.total(|t| t.failed), point.total(|t| t.retries)];
            cells.extend(match point.trials.is_empty() {
                true => [dash(), dash()],
                false => totals.map(figures::count),
            });
            table.row(cells);
        }
        // Cut titles would not tell the points apart.
        let mut text = table.text(usize::MAX);
        let has_rate = self.points.iter().any(|point| point.kind == Kind::Response);
        text += "goodput: median over the repeats; percentiles: of all repeats' ";
        text += match has_rate {
            true => "response times (without a rate: service times)",
            false => "transactions",
        };
        text += " together\n";
        let mut signs = Vec::new();
        signs.extend(intervals.then_some("[ ] 95 % interval of the median"));
        signs.extend(ranges.then_some("( ) range over the repeats"));
        signs.extend(dashes.then_some("–: too few transactions"));
        if !signs.is_empty() {
            text += &format!("{}\n", signs.join("; "));
        }
        text
    }
}
