//! What the laboratory for isolation shows below its answer: anomalies by levels, what is promised, rates beside their
//! verdicts, and examples.

use pgdyno_model::Fact;
use pgdyno_model::document::isolation::IsolationTransaction;
use pgdyno_model::document::isolation_lab::{
    IsolationCell, IsolationLab, IsolationLevel, IsolationSeen,
};
use pgdyno_model::document::section::{
    FigureTable, HistoryExample, Section, SectionPart, TableCell, TableColumn, Tone,
};
use pgdyno_spec::text as figures;

use super::lab::share_text;
use crate::markdown::escaped;
use crate::wrap::wrapped;

const NOT_KNOWN: &str = "not known";
const NOT_SEEN: &str = "0 (< 1 in 3,000): not seen, and with 95 % confidence in fewer of the overlapping conflicting \
                        pairs (session order and stale reads: of dependencies; lost writes: of acknowledged writes \
                        that were read at the end). ?: not known.";

pub(super) fn sections(lab: &IsolationLab) -> Vec<Section> {
    let by_level = vec![
        SectionPart::Table(matrix(lab)),
        SectionPart::Table(rates(lab)),
    ];
    let lead = "Asked for, in effect, and what was seen. Red: forbidden and seen. Amber: seen and allowed. Green 0: not seen.";
    let mut sections =
        vec![Section::new("isolation", "By level", "Verdict by level", by_level).lead(lead)];
    let examples: Vec<SectionPart> = lab
        .examples
        .iter()
        .enumerate()
        .map(|(at, seen)| example(lab, at, seen))
        .collect();
    if !examples.is_empty() {
        sections.push(Section::new(
            "isolation-cycle",
            "Smallest example",
            "Smallest example",
            examples,
        ));
    }
    let trials = trials(lab)
        .part()
        .map(SectionPart::deep)
        .into_iter()
        .collect();
    let lead = "Each trial, the size of its history, and what was found in it.";
    sections.push(Section::new("isolation-trials", "Histories", "Histories", trials).lead(lead));
    sections
}

/// In a terminal the gravest of those that are forbidden, and each other kind at the strongest level that shows it.
fn example(lab: &IsolationLab, at: usize, seen: &IsolationSeen) -> SectionPart {
    let is_forbidden = |seen: &IsolationSeen| seen.forbidden == Some(true);
    let is_shown = if is_forbidden(seen) {
        lab.examples.iter().position(is_forbidden) == Some(at)
    } else {
        lab.examples
            .iter()
            .rposition(|other| other.column == seen.column)
            == Some(at)
    };
    let verdict = match seen.forbidden {
        Some(true) => "; forbidden",
        Some(false) => "; allowed, as documented",
        None => "",
    };
    SectionPart::History(Box::new(HistoryExample {
        title: format!(
            "{} at {}: {}{verdict}",
            seen.anomaly,
            seen.level.to_uppercase(),
            seen.meaning
        ),
        seen: seen.clone(),
        is_deep: !is_shown,
    }))
}

/// An example: who did what when, and why that contradicts itself.
pub fn story(seen: &IsolationSeen) -> String {
    let what = format!(
        "{} ({}) in trial {} ({}, {}):",
        seen.anomaly,
        seen.meaning,
        seen.trial,
        seen.workload,
        seen.level.to_uppercase()
    );
    let mut text = wrapped("", &what, 0);
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

/// The same as a list.
pub fn story_in_markdown(example: &HistoryExample) -> String {
    let lines = example
        .seen
        .example
        .story
        .iter()
        .map(|line| format!("- {}\n", escaped(line)));
    let lines: String = lines.collect();
    format!(
        "{} (trial {}):\n\n{lines}\n",
        escaped(&example.title),
        example.seen.trial
    )
}

/// What was run, where, and under which disturbance.
pub(super) fn heading(lab: &IsolationLab) -> String {
    let parts = [
        Some(lab.workloads.join(", ")),
        lab.clients.map(|n| figures::plural(n.into(), "client")),
        lab.server
            .as_ref()
            .map(|version| format!("server {version}")),
    ];
    let parts: Vec<String> = parts.into_iter().flatten().collect();
    let more = lab
        .reads
        .iter()
        .chain(&lab.commands)
        .map(|line| wrapped("", &format!("  {line}"), 4));
    wrapped("", &parts.join("; "), 0) + &more.collect::<String>()
}

fn fact<T>(of: &Fact<T>, says: impl Fn(&T) -> String) -> TableCell {
    match of {
        Fact::Known(is) => says(is).into(),
        Fact::Unknown(why) => TableCell::from(NOT_KNOWN)
            .note(why.clone())
            .tone(Tone::Quiet),
    }
}

fn matrix(lab: &IsolationLab) -> FigureTable {
    let levels = lab
        .levels
        .iter()
        .map(|level| TableColumn::figure(level.asked.clone()));
    let columns = std::iter::once(TableColumn::words("asked for")).chain(levels);
    let mut table = FigureTable::new("", columns.collect());
    let mut row = |name: TableCell, of: &dyn Fn(&IsolationLevel) -> TableCell| {
        table.row(std::iter::once(name).chain(lab.levels.iter().map(of)));
    };
    row("in effect".into(), &|level| {
        fact(&level.in_effect, String::clone)
    });
    row("promised".into(), &|level| {
        fact(&level.promise, |promise| promise.level.clone())
    });
    for (at, column) in lab.anomalies.iter().enumerate() {
        let name = TableCell::from(column.title.clone());
        let meaning = [&*column.code, &*column.meaning]
            .into_iter()
            .filter(|text| !text.is_empty());
        let name = name.note(meaning.collect::<Vec<_>>().join(": "));
        row(name, &|level| {
            level.cells.get(at).map_or_else(TableCell::default, cell)
        });
    }
    row("pairs".into(), &|level| {
        figures::count(level.conflicting_pairs).into()
    });
    table.notes = notes(lab);
    table
}

fn cell(cell: &IsolationCell) -> TableCell {
    let promise = match cell.forbidden {
        Some(true) => "forbidden",
        Some(false) => "allowed",
        None => "promise not known",
    };
    let seen = || {
        format!(
            "in {} of {}",
            cell.trials,
            figures::plural(cell.of_trials.max(cell.trials), "trial")
        )
    };
    let (note, tone) = match (cell.count, &cell.unknown) {
        (0, Some(why)) => (why.clone(), Tone::Quiet),
        (0, None) => (promise.to_owned(), Tone::Good),
        _ if cell.forbidden == Some(true) => (seen(), Tone::Bad),
        _ if cell.forbidden == Some(false) => (seen(), Tone::Careful),
        _ => (format!("{}; {promise}", seen()), Tone::Careful),
    };
    TableCell::from(words(cell)).note(note).tone(tone)
}

/// A cell: how often, and whether that is forbidden.
fn words(cell: &IsolationCell) -> String {
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

fn notes(lab: &IsolationLab) -> Vec<String> {
    let mut notes = vec![NOT_SEEN.to_owned()];
    for level in &lab.levels {
        let same = level.same_as.iter();
        notes.extend(
            same.map(|same| format!("{} is the same level in effect as {same}.", level.asked)),
        );
        if let Fact::Known(promise) = &level.promise {
            let allows = match promise.allows.as_str() {
                "" => "nothing is documented as possible",
                allows => allows,
            };
            notes.push(format!("{}: {allows} ({}).", level.asked, promise.source));
        }
        for (cell, column) in level.cells.iter().zip(&lab.anomalies) {
            let Some(why) = &cell.unknown else { continue };
            let line = format!("? {}: {why}.", column.title.to_lowercase());
            if !notes.contains(&line) {
                notes.push(line);
            }
        }
    }
    notes
}

/// Rates of levels, beside whether their answers are right: a fast wrong answer is no speedup.
fn rates(lab: &IsolationLab) -> FigureTable {
    let columns = TableColumn::named(
        "level, pack",
        ["committed/s", "range", "retries", "pairs", "answers"],
    );
    let mut table = FigureTable::new("", columns);
    for (level, rate) in lab
        .levels
        .iter()
        .flat_map(|level| level.rates.iter().map(move |rate| (level, rate)))
    {
        let range = rate.range.filter(|_| rate.repeats > 1);
        let range =
            range.map(|(low, high)| format!("{}–{}", figures::rate(low), figures::rate(high)));
        let dash = || figures::DASH.to_owned();
        let (answers, tone) = match rate.is_kept {
            Some(true) => ("kept", Tone::Good),
            Some(false) => ("WRONG", Tone::Bad),
            None => (NOT_KNOWN, Tone::Careful),
        };
        table.row([
            format!("{}, {}", level.asked, rate.workload).into(),
            rate.goodput_per_s.map_or_else(dash, figures::rate).into(),
            TableCell::from(range.unwrap_or_else(|| "one trial".to_owned())).tone(Tone::Quiet),
            rate.retries_per_commit
                .map_or_else(dash, |share| figures::fixed(share, 2))
                .into(),
            figures::count(rate.conflicting_pairs).into(),
            TableCell::from(answers).tone(tone),
        ]);
    }
    table
}

fn trials(lab: &IsolationLab) -> FigureTable {
    let mut columns = vec![
        TableColumn::words("trial"),
        TableColumn::words("level"),
        TableColumn::words("pack"),
    ];
    columns.extend(TableColumn::figures([
        "repeat",
        "transactions",
        "conflicting pairs",
    ]));
    columns.extend([
        TableColumn::words("found"),
        TableColumn::figure("checked in s"),
    ]);
    let mut table = FigureTable::new("", columns);
    for of in &lab.trials {
        let counted = |text: String| {
            if of.counts {
                text
            } else {
                figures::DASH.to_owned()
            }
        };
        let found = of
            .found
            .iter()
            .map(|(name, count)| format!("{name} {}", figures::count(*count)));
        let found = match (&of.reason, of.found.is_empty()) {
            (Some(why), _) => why.clone(),
            (None, true) => "nothing".to_owned(),
            (None, false) => found.collect::<Vec<_>>().join(", "),
        };
        table.row([
            TableCell::trials([of.trial]),
            of.level.clone().into(),
            of.workload.clone().into(),
            of.repeat.to_string().into(),
            counted(figures::count(of.recorded)).into(),
            counted(figures::count(of.conflicting_pairs)).into(),
            found.into(),
            counted(figures::fixed(of.checked_ms as f64 / 1e3, 2)).into(),
        ]);
    }
    table
}
