//! The tables for people.

use pgdyno_model::document::disturb_lab::{
    DisturbLab, DisturbRepeat, DisturbSummary, DisturbTarget,
};
use pgdyno_model::document::{CommandRun, DisturbFigures, DisturbedTrial};
use pgdyno_spec::text as figures;

use crate::answer;
use crate::table::Table;
use crate::wrap::wrapped;

const HEAD: [&str; 10] = [
    "",
    "first error s",
    "no service s",
    "back s",
    "worst client s",
    "missed",
    "failed",
    "unknown",
    "metastable",
    "trial",
];

/// Of what is said of a trial.
const INDENT: usize = 13;

fn dash() -> String {
    "–".to_owned()
}

fn seconds(us: f64) -> String {
    figures::fixed(us / 1e6, 2)
}

/// What happened to a trial, for its summary.
pub fn brief(it: &DisturbedTrial) -> String {
    let mut lines = vec![heading(it)];
    lines.extend(it.disturbed.commands.iter().map(|run| command("", run)));
    lines.extend(it.disturbed.undo.iter().map(|run| command("undo: ", run)));
    if let Some(of_trial) = &it.figures {
        lines.extend(figure_lines(of_trial));
    }
    let lines = lines.iter().enumerate();
    lines
        .map(|(at, line)| wrapped(if at == 0 { "disturbed" } else { "" }, line, INDENT))
        .collect()
}

fn heading(it: &DisturbedTrial) -> String {
    let at = |us: Option<u64>| us.map(|us| seconds(us as f64));
    let is_back = it.figures.as_ref().and_then(|figures| figures.is_back);
    let until_us = it
        .disturbed
        .may_last_until_us()
        .filter(|_| is_back == Some(false));
    match (it.disturbed.control, at(it.disturbed.began_us)) {
        (true, _) => "a control: none of its commands was run".to_owned(),
        (false, None) => "not at all: the trial was over before".to_owned(),
        (false, Some(began)) => match (at(until_us), at(it.disturbed.ended_us)) {
            (Some(undone), _) => {
                format!("from {began} s until the undo at {undone} s after clients began")
            }
            (None, Some(ended)) => format!("from {began} s to {ended} s after clients began"),
            (None, None) => format!("from {began} s after clients began"),
        },
    }
}

fn command(prefix: &str, run: &CommandRun) -> String {
    if let Some(trouble) = run.trouble() {
        return format!("FAILED  {prefix}{trouble}");
    }
    let took = run.ended_us.zip(run.began_us);
    let took = took.map_or_else(String::new, |(ended, began)| {
        format!(" ({})", figures::time(ended.saturating_sub(began) as f64))
    });
    format!("{prefix}`{}` went well{took}", run.command)
}

fn figure_lines(it: &DisturbFigures) -> Vec<String> {
    let time = |us: u64| figures::time(us as f64);
    let mut lines = Vec::new();
    let limit = match (it.limit_us.known(), it.limit_given) {
        (Some(us), true) => format!("served: answered within {}", time(*us)),
        (Some(us), false) => format!(
            "served: answered within {}, five times the p99 before",
            time(*us)
        ),
        (None, _) => "no limit is known".to_owned(),
    };
    lines.push(format!(
        "{limit}; {} due a second before",
        figures::rate(it.offered_per_s)
    ));
    let error = match (it.first_error_us, it.first_success_us) {
        (None, _) => "no error".to_owned(),
        (Some(error), None) => format!("first error after {}, no success after it", time(error)),
        (Some(error), Some(success)) => {
            format!(
                "first error after {}, success after {}",
                time(error),
                time(success)
            )
        }
    };
    let client = it.worst_client_us.map_or("below 100 ms".to_owned(), time);
    lines.push(format!(
        "{error}; without a commit: all {}, one client {client}",
        if it.no_service_us == 0 {
            "never".to_owned()
        } else {
            time(it.no_service_us)
        }
    ));
    let back = |fact: &pgdyno_model::Fact<u64>| match fact {
        pgdyno_model::Fact::Known(0) => "never below".to_owned(),
        pgdyno_model::Fact::Known(us) => format!("after {}", time(*us)),
        pgdyno_model::Fact::Unknown(why) => why.clone(),
    };
    lines.push(format!(
        "90 % of the usual served for 5 s: {}",
        back(&it.back_us)
    ));
    if it.strictly_back_us.known().is_some() {
        lines.push(format!("99 %: {}", back(&it.strictly_back_us)));
    }
    lines.push(format!(
        "of {} due from then on {} were missed: {} failed, {} unknown, {} skipped, {} late, {} never \
         started",
        figures::count(it.due),
        it.missed.map_or_else(dash, figures::count),
        figures::count(it.failed),
        figures::count(it.unknown),
        figures::count(it.skipped),
        it.late.map_or_else(dash, figures::count),
        figures::count(it.never_started),
    ));
    lines.push(format!(
        "metastable: {}: {}",
        it.metastable.words(),
        it.metastable_why
    ));
    lines
}

/// All of a laboratory, ready to be printed.
pub fn text(lab: &DisturbLab, width: usize) -> String {
    let mut text = String::new();
    let parts = [
        lab.workload.clone(),
        lab.clients.map(|n| figures::plural(n.into(), "client")),
        lab.offered.clone(),
    ];
    text += &format!(
        "{}\n",
        parts.into_iter().flatten().collect::<Vec<_>>().join(", ")
    );
    for command in &lab.commands {
        text += &format!("  {command}\n");
    }
    text += &lab
        .undo
        .iter()
        .map(|undo| format!("  undo: {undo}\n"))
        .collect::<String>();
    match super::answer(lab) {
        Some(found) => text += &format!("\n{}", answer::text(&found)),
        None => {
            text.push('\n');
            for says in &lab.says {
                text += &wrapped("", says, 0);
            }
        }
    }
    let is_migration = super::migrate::is_of(lab);
    if is_migration {
        text += &super::migrate::table(lab, width);
    }
    for target in &lab.targets {
        text += &format!("\n{}\n{}", target.title, table(target, width));
        let interval = target.summary.iter().find_map(|it| it.interval.as_ref());
        if let Some(interval) = interval {
            text += &format!(
                "The interval of a median lies between two of its repeats; it holds the median at {}.\n",
                figures::share(interval.level)
            );
        }
        if is_migration {
            text += &super::migrate::of_form(target);
        }
    }
    text
}

fn table(target: &DisturbTarget, width: usize) -> String {
    let mut table = Table::default();
    table.row(HEAD);
    for (at, repeat) in (1..).zip(&target.repeats) {
        table.row(cells(&format!("{at}"), repeat));
    }
    if target.repeats.iter().filter(|repeat| repeat.counts).count() > 1 {
        table.row(summed("median", &target.summary, |it| {
            it.median.map(|m| (m, m))
        }));
        if target.summary.iter().any(|it| it.interval.is_some()) {
            table.row(summed("interval", &target.summary, |it| {
                let interval = it.interval.as_ref()?;
                Some((interval.low?, interval.high.unwrap_or(f64::INFINITY)))
            }))
        } else {
            table.row(summed("range", &target.summary, |it| {
                Some((it.min?, it.max?))
            }))
        }
    }
    for (at, repeat) in (1..).zip(&target.controls) {
        table.row(cells(&format!("control {at}"), repeat));
    }
    let mut text = table.text(width);
    for repeat in target.repeats.iter().chain(&target.controls) {
        let why = repeat.troubles.first().or(repeat.reason.as_ref());
        text += &why
            .map(|why| format!("trial {}: {}: {why}\n", repeat.trial, repeat.state))
            .unwrap_or_default();
    }
    text
}

fn cells(name: &str, repeat: &DisturbRepeat) -> [String; 10] {
    let trial = repeat.trial.to_string();
    let Some(it) = &repeat.figures else {
        let mut cells = [(); 10].map(|()| dash());
        (cells[0], cells[9]) = (name.to_owned(), trial);
        return cells;
    };
    let back = match (it.back_us.known(), it.is_back) {
        (Some(us), _) => seconds(*us as f64),
        (None, Some(false)) => "never".to_owned(),
        (None, _) => dash(),
    };
    [
        name.to_owned(),
        it.first_error_us
            .map_or("none".to_owned(), |us| seconds(us as f64)),
        seconds(it.no_service_us as f64),
        back,
        it.worst_client_us
            .map_or("< 0.1".to_owned(), |us| seconds(us as f64)),
        it.missed.map_or_else(dash, figures::count),
        figures::count(it.failed),
        figures::count(it.unknown),
        it.metastable.words().to_owned(),
        trial,
    ]
}

/// A row of the summary: a figure, or from one to another.
fn summed(
    name: &str,
    summary: &[DisturbSummary],
    of: impl Fn(&DisturbSummary) -> Option<(f64, f64)>,
) -> [String; 10] {
    let cell = |figure: &str| {
        let Some(it) = summary.iter().find(|it| it.figure == figure) else {
            return dash();
        };
        let value = |value: f64| match figure.ends_with("_us") {
            _ if value.is_infinite() => "never".to_owned(),
            true => seconds(value),
            false => figures::count(value.round() as u64),
        };
        match of(it) {
            Some((low, high)) if low == high => value(low),
            Some((low, high)) => format!("{}–{}", value(low), value(high)),
            None if it.never > 0 => "never".to_owned(),
            None => dash(),
        }
    };
    [
        name.to_owned(),
        cell("first_error_us"),
        cell("no_service_us"),
        cell("back_us"),
        cell("worst_client_us"),
        cell("missed"),
        cell("failed"),
        cell("unknown"),
        String::new(),
        String::new(),
    ]
}
