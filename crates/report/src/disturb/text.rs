//! What a disturbance did to a trial, for its summary.

use pgdyno_model::document::{CommandRun, DisturbFigures, DisturbedTrial};
use pgdyno_spec::text as figures;

use crate::wrap::wrapped;

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
