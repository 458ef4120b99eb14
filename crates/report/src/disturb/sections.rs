//! What the laboratory for disturbances shows below its answer: each repeat beside the controls, then what happened in
//! the worst one.

use pgdyno_model::Fact;
use pgdyno_model::document::disturb_lab::{
    DisturbLab, DisturbRepeat, DisturbSummary, DisturbTarget,
};
use pgdyno_model::document::section::{
    FigureTable, Section, SectionPart, TableCell, TableColumn, Tone,
};
use pgdyno_model::document::{DisturbErrors, DisturbFigures, Metastable, Truth};
use pgdyno_spec::text as figures;

use super::{answer, migrate};

/// Figures over the repeats, and how each is called side by side.
const FIGURES: [(&str, &str); 10] = [
    ("first_error_us", "First error"),
    ("first_success_us", "First success"),
    ("no_service_us", "No service"),
    ("back_us", "Served again"),
    ("worst_client_us", "Worst client"),
    ("missed", "Missed work"),
    ("failed", "Failed"),
    ("unknown", "Unknown"),
    ("skipped", "Skipped"),
    ("late", "Late"),
];
/// So many lost writes of a trial are listed.
const LOST_LISTED: usize = 5;

/// What was run, and how it was disturbed.
pub(super) fn heading(lab: &DisturbLab) -> String {
    let clients = lab.clients.map(|n| figures::plural(n.into(), "client"));
    let parts: Vec<String> = [lab.workload.clone(), clients, lab.offered.clone()]
        .into_iter()
        .flatten()
        .collect();
    let commands = lab.commands.iter().map(|command| format!("  {command}\n"));
    let undo = lab.undo.iter().map(|undo| format!("  undo: {undo}\n"));
    format!("{}\n", parts.join(", ")) + &commands.chain(undo).collect::<String>()
}

pub(super) fn sections(lab: &DisturbLab) -> Vec<Section> {
    let is_migration = migrate::is_of(lab);
    let commands = lab.commands.iter().map(|command| format!("`{command}`"));
    let undo = lab.undo.iter().map(|undo| format!("undo: `{undo}`"));
    let mut parts = vec![SectionPart::text("", commands.chain(undo).collect()).deep()];
    if is_migration {
        parts.extend(migrate::table(lab).part());
    } else if lab.targets.len() > 1 {
        parts.extend(side_by_side(&lab.targets).part());
    }
    for target in &lab.targets {
        let shown = worst(&target.repeats);
        if lab.targets.len() > 1 {
            parts.push(SectionPart::text(&target.title, vec![target.says.clone()]).deep());
        }
        parts.extend(shown.map(|repeat| SectionPart::lanes(&target.repeats, repeat)));
        parts.push(SectionPart::Table(repeats(target, lab.targets.len() == 1)));
        if is_migration {
            parts.extend(migrate::of_form(target));
        }
        parts.extend(receipts(target).map(SectionPart::deep));
        parts.push(SectionPart::text("", vec![format!("Effect: {}.", target.effect.says)]).deep());
        parts.extend(shown.into_iter().flat_map(of_repeat).map(SectionPart::deep));
    }
    let title = if is_migration {
        "What the migration did"
    } else {
        "What the disturbance did"
    };
    let lead = "Transactions count where they were to start; seconds count from the start of the first command.";
    vec![Section::new("disturb", "Repeats", title, parts).lead(lead)]
}

/// The repeat with the worst outcome, which shows what can happen: of those that missed as much, the one without service
/// for longest.
fn worst(repeats: &[DisturbRepeat]) -> Option<&DisturbRepeat> {
    let key = |it: &DisturbFigures| (it.is_back == Some(false), it.missed, it.no_service_us);
    let shown = repeats
        .iter()
        .filter_map(|repeat| Some((key(repeat.figures.as_ref()?), repeat)));
    // Of equals the first.
    shown
        .rev()
        .max_by_key(|(key, _)| *key)
        .map(|(_, repeat)| repeat)
}

fn seconds(us: f64) -> String {
    figures::fixed(us / 1e6, 2)
}

fn count(number: Option<u64>) -> TableCell {
    number
        .map_or_else(|| figures::DASH.to_owned(), figures::count)
        .into()
}

/// A time, or why it is not known.
fn time(of: &Fact<u64>, instead: &str) -> TableCell {
    match of {
        Fact::Known(us) => seconds(*us as f64).into(),
        Fact::Unknown(why) => TableCell::from(instead).note(why.clone()),
    }
}

/// Acknowledged and not there.
fn lost_writes(truth: Option<&Fact<Truth>>) -> TableCell {
    match truth {
        None => figures::DASH.into(),
        Some(Fact::Unknown(why)) => TableCell::from("not known").note(why.clone()),
        Some(Fact::Known(truth)) => number_lost(truth.lost),
    }
}

fn number_lost(lost: u64) -> TableCell {
    TableCell::from(figures::count(lost)).tone(Tone::bad_if(lost > 0))
}

/// `is_alone`: there is no other target, and its figures are those at a glance.
fn repeats(target: &DisturbTarget, is_alone: bool) -> FigureTable {
    let mut columns = TableColumn::named(
        "repeat",
        [
            "first error s",
            "first success s",
            "no service s",
            "back s",
            "at 99 % s",
            "worst client s",
            "missed",
            "failed",
            "unknown",
            "skipped",
            "late",
            "lost writes",
            "metastable",
            "trial",
        ],
    );
    for at in [2, 5, 10, 11, 12] {
        columns[at] = columns[at].clone().on_page();
    }
    let mut table = FigureTable::new(target.title.clone(), columns);
    for (at, repeat) in (1..).zip(&target.repeats) {
        table.row(cells(&at.to_string(), repeat));
    }
    let counted = target.repeats.iter().filter(|repeat| repeat.counts).count();
    let interval = target.summary.iter().find_map(|it| it.interval.as_ref());
    if counted > 1 {
        let name = format!("median of {counted}");
        let median = summed(&name, &target.summary, |it| it.median.map(|m| (m, m)));
        table.row(median).is_headline = is_alone;
        let name = if interval.is_some() {
            "interval"
        } else {
            "range"
        };
        table.row(summed(name, &target.summary, |it| {
            match (interval, &it.interval) {
                (Some(_), of) => Some((
                    of.as_ref()?.low?,
                    of.as_ref()?.high.unwrap_or(f64::INFINITY),
                )),
                (None, _) => Some((it.min?, it.max?)),
            }
        }));
    }
    for (at, repeat) in (1..).zip(&target.controls) {
        table.row(cells(&format!("control {at}"), repeat));
    }
    for repeat in target.repeats.iter().chain(&target.controls) {
        let why = repeat
            .troubles
            .first()
            .or(repeat.reason.as_ref())
            .into_iter();
        table
            .notes
            .extend(why.map(|why| format!("trial {}: {}: {why}", repeat.trial, repeat.state)));
    }
    table.notes.extend(interval.map(|interval| {
        let level = figures::share(interval.level);
        format!("The interval of a median lies between two of its repeats; it holds the median at {level}.")
    }));
    table
}

fn cells(name: &str, repeat: &DisturbRepeat) -> Vec<TableCell> {
    let mut cells = vec![TableCell::from(name)];
    match &repeat.figures {
        None => cells.extend((0..11).map(|_| TableCell::from(figures::DASH))),
        Some(it) => {
            let us = |us: u64| seconds(us as f64);
            let is_gone = if it.is_back == Some(false) {
                "never"
            } else {
                figures::DASH
            };
            cells.extend([
                it.first_error_us.map_or("none".to_owned(), us).into(),
                it.first_success_us
                    .map_or_else(|| figures::DASH.to_owned(), us)
                    .into(),
                us(it.no_service_us).into(),
                time(&it.back_us, is_gone),
                time(&it.strictly_back_us, figures::DASH),
                it.worst_client_us.map_or("< 0.1".to_owned(), us).into(),
                count(it.missed),
                count(Some(it.failed)),
                count(Some(it.unknown)),
                count(Some(it.skipped)),
                count(it.late),
            ]);
        }
    }
    cells.push(lost_writes(repeat.truth.as_ref()));
    cells.push(repeat.figures.as_ref().map_or_else(
        || figures::DASH.into(),
        |it| {
            let tone = Tone::bad_if(it.metastable == Metastable::Yes);
            TableCell::from(it.metastable.words()).tone(tone)
        },
    ));
    cells.push(TableCell::trials([repeat.trial]));
    cells
}

/// A row of the summary: a figure, or from one to another.
fn summed(
    name: &str,
    summary: &[DisturbSummary],
    of: impl Fn(&DisturbSummary) -> Option<(f64, f64)>,
) -> Vec<TableCell> {
    let cell = |figure: &str| -> TableCell {
        let Some(it) = summary.iter().find(|it| it.figure == figure) else {
            return figures::DASH.into();
        };
        let value = |value: f64| {
            if value.is_infinite() {
                "never".to_owned()
            } else if figure.ends_with("_us") {
                seconds(value)
            } else {
                figures::count(value.round() as u64)
            }
        };
        let text = match of(it) {
            Some((low, high)) if low == high => value(low),
            Some((low, high)) => format!("{}–{}", value(low), value(high)),
            None if it.never > 0 => "never".to_owned(),
            None => figures::DASH.to_owned(),
        };
        TableCell::from(text).tone(Tone::Strong)
    };
    let mut cells: Vec<TableCell> = FIGURES.iter().map(|(figure, _)| cell(figure)).collect();
    cells.insert(0, name.into());
    cells.insert(5, TableCell::default());
    cells.extend((0..3).map(|_| TableCell::default()));
    cells
}

/// As it is shown alone: `8.35 s`, `1,234`, `never`.
fn shown(figure: &str, value: Option<f64>) -> String {
    match value {
        None => "never".to_owned(),
        Some(us) if figure.ends_with("_us") => figures::time(us),
        Some(number) => figures::count(number.round() as u64),
    }
}

/// Its interval, or its range with the reason for having none.
fn around(it: &DisturbSummary) -> String {
    let shown = |value| shown(&it.figure, value);
    let runs = || figures::plural(it.n, "run");
    match &it.interval {
        Some(of) => format!(
            "{} interval {} to {}",
            figures::share(of.level),
            shown(of.low),
            shown(of.high)
        ),
        None if it.n < 2 => "one run".to_owned(),
        None if it.never == it.n => format!("in none of {}", runs()),
        None => {
            let most = it.max.filter(|_| it.never == 0);
            format!("range {} to {}, {}", shown(it.min), shown(most), runs())
        }
    }
}

/// Two databases under the same disturbance: a column each.
fn side_by_side(targets: &[DisturbTarget]) -> FigureTable {
    let names = targets
        .iter()
        .map(|target| TableColumn::figure(target.title.clone()));
    let columns = std::iter::once(TableColumn::words("median over runs")).chain(names);
    let mut table = FigureTable::new("Side by side", columns.collect());
    table.is_deep = true;
    let lost = targets
        .iter()
        .map(|target| lost(target).map_or_else(|| figures::DASH.into(), number_lost));
    table.row(std::iter::once("Lost writes".into()).chain(lost));
    for (figure, label) in FIGURES {
        let cells = targets
            .iter()
            .map(|target| match answer::of(target, figure) {
                Some(it) if it.n > 1 => TableCell::from(shown(figure, it.median))
                    .note(around(it))
                    .tone(Tone::Strong),
                Some(it) if it.n > 0 => {
                    TableCell::from(shown(figure, it.median)).tone(Tone::Strong)
                }
                _ => figures::DASH.into(),
            });
        table.row(std::iter::once(label.into()).chain(cells));
    }
    table.row(
        std::iter::once("Metastable".into())
            .chain(targets.iter().map(|target| stays(target).into())),
    );
    table
}

fn stays(target: &DisturbTarget) -> String {
    let of: Vec<Metastable> = { target.repeats.iter() }
        .filter(|repeat| repeat.counts)
        .filter_map(|repeat| Some(repeat.figures.as_ref()?.metastable))
        .collect();
    let number = |it: Metastable| of.iter().filter(|of| **of == it).count();
    match (
        of.len(),
        number(Metastable::Yes),
        number(Metastable::CannotTell),
    ) {
        (0, ..) => figures::DASH.to_owned(),
        (n, 0, 0) if n > 0 => "no".to_owned(),
        (n, 0, open) if open == n => "cannot tell".to_owned(),
        (n, 0, open) => format!("no; cannot tell in {open} of {n}"),
        (n, yes, _) => format!("yes in {yes} of {n}"),
    }
}

/// Over all trials that left receipts; `None`: none did.
fn lost(target: &DisturbTarget) -> Option<u64> {
    let truths = target
        .repeats
        .iter()
        .chain(&target.controls)
        .filter_map(|repeat| repeat.truth.as_ref()?.known());
    truths.map(|truth| truth.lost).reduce(|a, b| a + b)
}

/// What the database has of what it acknowledged, and the first writes that it has not.
fn receipts(target: &DisturbTarget) -> Option<SectionPart> {
    let columns = TableColumn::named(
        "trial",
        [
            "acknowledged",
            "lost",
            "unknown",
            "of these committed",
            "failed",
            "of these committed",
            "twice",
        ],
    );
    let mut table = FigureTable::new(
        "Receipts: what the database has of what it acknowledged",
        columns,
    );
    for repeat in target.repeats.iter().chain(&target.controls) {
        let name = TableCell::trials([repeat.trial]);
        match repeat.truth.as_ref() {
            None => continue,
            Some(Fact::Unknown(why)) => table.row([name]).missing = format!("not known: {why}"),
            Some(Fact::Known(truth)) => {
                let numbers = [
                    truth.in_doubt,
                    truth.in_doubt_landed,
                    truth.failed,
                    truth.failed_landed,
                    truth.twice,
                ];
                let cells = [
                    name,
                    count(Some(truth.acknowledged)),
                    lost_writes(repeat.truth.as_ref()),
                ];
                table.row(
                    cells
                        .into_iter()
                        .chain(numbers.map(|number| count(Some(number)))),
                );
                let lost = truth.lost_first.iter().take(LOST_LISTED).map(|write| {
                    let (number, by_s) = (figures::count(write.number), figures::fixed(write.by_us as f64 / 1e6, 1));
                    let (trial, client) = (repeat.trial, write.client);
                    format!("Lost: trial {trial}, client {client}, its transaction {number}, acknowledged by {by_s} s")
                });
                table.notes.extend(lost);
            }
        }
    }
    table.part()
}

/// Errors and endpoints of the repeat that is shown.
fn of_repeat(repeat: &DisturbRepeat) -> Vec<SectionPart> {
    let Some(it) = &repeat.figures else {
        return Vec::new();
    };
    let phase = |name: &str| {
        it.phases
            .iter()
            .find(|of| of.phase.name == name)
            .map(|of| of.phase.from_us)
    };
    let began_us = phase("during").or(phase("after")).unwrap_or_default();
    let since = |second: Option<&(u64, u64)>| {
        let us = second.map(|(us, _)| *us as f64 - began_us as f64);
        us.map_or_else(
            || figures::DASH.to_owned(),
            |us| figures::fixed(us / 1e6, 1),
        )
    };
    let mut columns = vec![
        TableColumn::words("errors over time"),
        TableColumn::words("endpoint"),
    ];
    columns.extend(TableColumn::figures([
        "number",
        "first second, s",
        "last second, s",
    ]));
    let mut errors = FigureTable::new("Errors by kind and endpoint", columns);
    for kind in &it.course.errors_by {
        errors.row([
            named(kind).into(),
            kind.endpoint.clone().into(),
            count(Some(kind.count)),
            since(kind.seconds.first()).into(),
            since(kind.seconds.last()).into(),
        ]);
    }
    let mut columns = vec![TableColumn::words("errors"), TableColumn::words("SQLSTATE")];
    columns.extend(TableColumn::figures(["tries", "tried again"]));
    columns.push(TableColumn::words("message"));
    let mut reasons = FigureTable::new("Errors by SQLSTATE", columns);
    for reason in &repeat.reasons {
        reasons.row([
            reason.reason.clone().into(),
            reason
                .sqlstate
                .clone()
                .unwrap_or_else(|| figures::DASH.to_owned())
                .into(),
            count(Some(reason.tries)),
            count(Some(reason.tries_retried)),
            reason.message.clone().into(),
        ]);
    }
    let columns = TableColumn::named(
        "endpoint",
        [
            "clients",
            "committed",
            "failed",
            "unknown",
            "errors",
            "connections",
            "lost",
            "moved here",
        ],
    );
    let mut endpoints = FigureTable::new("Endpoints", columns);
    for of in repeat
        .endpoints
        .iter()
        .filter(|_| repeat.endpoints.len() > 1)
    {
        let errors: u64 = it
            .course
            .errors_by
            .iter()
            .filter(|kind| kind.endpoint == of.name)
            .map(|kind| kind.count)
            .sum();
        let counts = &of.counts;
        let numbers = [
            of.clients,
            counts.committed,
            counts.failed,
            counts.unknown,
            errors,
            of.connections,
            of.lost,
            of.arrived,
        ];
        endpoints.row(
            std::iter::once(of.name.clone().into())
                .chain(numbers.map(|number| count(Some(number)))),
        );
    }
    [errors, reasons, endpoints]
        .into_iter()
        .filter_map(FigureTable::part)
        .collect()
}

/// What people call it, with the SQLSTATE before it.
fn named(of: &DisturbErrors) -> String {
    let is_state = of.code.len() == 5
        && of
            .code
            .chars()
            .all(|c| c.is_ascii_digit() || c.is_ascii_uppercase());
    if is_state && !of.says.contains(&of.code) {
        format!("{} {}", of.code, of.says)
    } else {
        of.says.clone()
    }
}
