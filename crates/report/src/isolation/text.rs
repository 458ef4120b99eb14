//! The table for people: anomalies as rows, levels as columns, in 80 columns.

use pgdyno_model::Fact;
use pgdyno_model::document::isolation::IsolationTransaction;
use pgdyno_model::document::isolation_lab::{
    IsolationCell, IsolationLab, IsolationLevel, IsolationSeen,
};
use pgdyno_spec::text as figures;

use super::lab::share_text;
use crate::answer;
use crate::table::Table;
use crate::wrap::wrapped;

const WIDTH: usize = 80;

/// All of it, ready to be printed.
pub fn text(lab: &IsolationLab) -> String {
    let mut text = answer::text(&super::answer(lab));
    if lab.levels.is_empty() {
        return text;
    }
    let forbidden = |seen: &&IsolationSeen| seen.forbidden == Some(true);
    if let Some(seen) = lab.examples.iter().find(forbidden) {
        text += &story(seen);
    }
    text.push('\n');
    text += &head(lab);
    text += &table(lab);
    text += &footnotes(lab);
    text.push('\n');
    text += &rates(lab);
    text += &documented(lab);
    text
}

/// An example: who did what when, and why that contradicts itself.
fn story(seen: &IsolationSeen) -> String {
    let what = format!(
        "{} ({}) in trial {} ({}, {}):",
        seen.anomaly,
        seen.meaning,
        seen.trial,
        seen.workload,
        seen.level.to_uppercase()
    );
    let mut text = format!("\n{}", wrapped("", &what, 0));
    let example = &seen.example;
    for transaction in &example.transactions {
        text += &did(transaction);
    }
    // The story begins with what each transaction did.
    for line in example.story.iter().skip(example.transactions.len()) {
        text += &wrapped("", line, 2);
    }
    if seen.example.replay.is_some() && seen.forbidden == Some(true) {
        text += &format!("  pgdyno check-history {}\n", seen.file);
    }
    text
}

/// A transaction with its time, client and end, and each statement with what it did.
fn did(transaction: &IsolationTransaction) -> String {
    let ms = |us: Option<f64>| us.map_or("?".to_owned(), |us| figures::fixed(us / 1e3, 2));
    let mut text = wrapped(
        "",
        &format!(
            "{} (client {}), {} to {} ms, {}:",
            transaction.name,
            transaction.client,
            ms(transaction.began_us),
            ms(transaction.ended_us),
            transaction.end
        ),
        2,
    );
    for operation in &transaction.operations {
        let line = match &operation.statement {
            Some(statement) => format!("{statement} → {}", operation.did),
            None => operation.did.clone(),
        };
        text += &wrapped("", &line, 4);
    }
    text
}

/// Each kind of what was seen that is not forbidden, at the strongest level that shows it.
fn documented(lab: &IsolationLab) -> String {
    let mut text = String::new();
    for column in &lab.anomalies {
        let of_kind = |seen: &&IsolationSeen| seen.column == column.name;
        let last = lab.examples.iter().rfind(of_kind);
        if let Some(seen) = last.filter(|seen| seen.forbidden != Some(true)) {
            text += &story(seen);
        }
    }
    text
}

fn head(lab: &IsolationLab) -> String {
    let parts = [
        Some(lab.workloads.join(", ")),
        lab.clients.map(|n| figures::plural(n.into(), "client")),
        lab.server
            .as_ref()
            .map(|version| format!("server {version}")),
    ];
    let parts: Vec<String> = parts.into_iter().flatten().collect();
    let mut text = wrapped("", &parts.join("; "), 0);
    if let Some(reads) = &lab.reads {
        text += &wrapped("", &format!("  {reads}"), 4);
    }
    for command in &lab.commands {
        text += &wrapped("", &format!("  {command}"), 4);
    }
    text
}

fn table(lab: &IsolationLab) -> String {
    let mut table = Table::default();
    let of = |name: &str, cell: &dyn Fn(&IsolationLevel) -> String| -> Vec<String> {
        let mut row = vec![name.to_owned()];
        row.extend(lab.levels.iter().map(cell));
        row
    };
    table.row(of("asked for", &|level| level.asked.clone()));
    table.row(of("in effect", &|level| match &level.in_effect {
        Fact::Known(is) => is.clone(),
        Fact::Unknown(_) => "not known".to_owned(),
    }));
    table.row(of("promised", &|level| match &level.promise {
        Fact::Known(promise) => promise.level.clone(),
        Fact::Unknown(_) => "not known".to_owned(),
    }));
    for (at, column) in lab.anomalies.iter().enumerate() {
        table.row(of(&column.title, &|level| {
            level.cells.get(at).map_or_else(String::new, words)
        }));
    }
    table.row(of("pairs", &|level| {
        figures::count(level.conflicting_pairs)
    }));
    table.text(WIDTH)
}

/// A cell: how often, and whether that is forbidden.
pub fn words(cell: &IsolationCell) -> String {
    let least = if cell.at_least { "≥ " } else { "" };
    let count = figures::count(cell.count);
    match (cell.count, &cell.unknown, cell.forbidden) {
        (0, Some(_), _) => "?".to_owned(),
        (0, None, _) => match cell.at_most {
            Some(share) => format!("0 (< {})", share_text(share)),
            None => "0".to_owned(),
        },
        (_, _, Some(true)) => format!("{least}{count} FORBIDDEN"),
        (_, _, Some(false)) => format!("{least}{count} allowed"),
        (_, _, None) => format!("{least}{count}"),
    }
}

fn footnotes(lab: &IsolationLab) -> String {
    let mut text = wrapped(
        "",
        "0 (< 1 in 3,000): not seen, and with 95 % confidence in fewer of the overlapping conflicting \
         pairs (session order and stale reads: of dependencies; lost writes: of acknowledged writes that were \
         read at the end). ?: not known.",
        0,
    );
    let mut reported: Vec<String> = Vec::new();
    for level in &lab.levels {
        if let Some(same) = &level.same_as {
            text += &wrapped(
                "",
                &format!("{} is the same level in effect as {same}.", level.asked),
                0,
            );
        }
        if let Fact::Known(promise) = &level.promise {
            let allows = match promise.allows.as_str() {
                "" => "nothing is documented as possible",
                allows => allows,
            };
            let says = format!("{}: {allows} ({}).", level.asked, promise.source);
            text += &wrapped("", &says, 2);
        }
        for (cell, column) in level.cells.iter().zip(&lab.anomalies) {
            let Some(why) = &cell.unknown else { continue };
            let line = format!("? {}: {why}.", column.title.to_lowercase());
            if !reported.contains(&line) {
                text += &wrapped("", &line, 2);
                reported.push(line);
            }
        }
    }
    text
}

/// Rates of levels, beside whether their answers are right.
fn rates(lab: &IsolationLab) -> String {
    let mut table = Table::default();
    table.row([
        "level, pack",
        "committed/s",
        "range",
        "retries",
        "pairs",
        "answers",
    ]);
    for level in &lab.levels {
        for rate in &level.rates {
            table.row([
                format!("{}, {}", level.asked, rate.workload),
                rate.goodput_per_s.map_or("–".to_owned(), figures::rate),
                match rate.range {
                    Some((low, high)) if rate.repeats > 1 => {
                        format!("{}–{}", figures::rate(low), figures::rate(high))
                    }
                    _ => "one trial".to_owned(),
                },
                rate.retries_per_commit
                    .map_or("–".to_owned(), |share| figures::fixed(share, 2)),
                figures::count(rate.conflicting_pairs),
                match rate.is_kept {
                    Some(true) => "kept",
                    Some(false) => "WRONG",
                    None => "not known",
                }
                .to_owned(),
            ]);
        }
    }
    table.text(WIDTH)
}
