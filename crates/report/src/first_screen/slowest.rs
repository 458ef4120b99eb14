//! The statements that took most of the clients' time in statements.

use pgdyno_model::document::{ScriptStatements, Statement};
use pgdyno_spec::text::{self as words, DASH};

use super::{INDENT, WIDTH};
use crate::table::{cut, one_line};

/// A line each, so many at most; nothing where there is only one statement, which is the transaction.
pub fn text(scripts: &[ScriptStatements], most: usize) -> String {
    let all = scripts.iter().flat_map(|script| &script.commands);
    let mut all: Vec<(&Statement, f64)> = all
        .filter(|statement| statement.is_sql)
        .filter_map(|statement| Some((statement, sum_us(statement)?)))
        .collect();
    let whole: f64 = all.iter().map(|(_, sum)| sum).sum();
    if all.len() < 2 || whole == 0.0 {
        return String::new();
    }
    all.sort_by(|a, b| b.1.total_cmp(&a.1));
    let rows: Vec<[String; 4]> = all
        .iter()
        .take(most)
        .map(|(statement, sum)| {
            let latency = &statement.latency;
            let mean = latency.mean_us.map(words::ms_as_shown);
            [
                one_line(statement.text.trim_end_matches(';')),
                format!("mean {} ms", mean.unwrap_or_else(|| DASH.to_owned())),
                format!("p99 {}", latency.percentile_ms_shortly(99.0)),
                words::roughly(sum / whole),
            ]
        })
        .collect();
    let width = |column: usize| {
        let cells = rows.iter().map(|row| row[column].chars().count());
        cells.max().unwrap_or_default()
    };
    let (mean, p99, share) = (width(1), width(2), width(3));
    let room = WIDTH - INDENT - mean - p99 - share - 6;
    let name = width(0).min(room);
    let labels = ["slowest", "statements"]
        .into_iter()
        .chain(std::iter::repeat(""));
    let lines = labels
        .zip(&rows)
        .map(|(label, [text, of_mean, of_p99, of_all])| {
            format!(
                "{label:<INDENT$}{:<name$}  {of_mean:<mean$}  {of_p99:<p99$}  {of_all:>share$}\n",
                cut(text, name),
            )
        });
    lines.collect()
}

fn sum_us(statement: &Statement) -> Option<f64> {
    let latency = &statement.latency;
    latency.mean_us.map(|mean| mean * latency.count as f64)
}
