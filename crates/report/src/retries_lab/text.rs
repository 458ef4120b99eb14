//! The tables for people.

use pgdyno_model::document::retries_lab::{LabForm, LabPoint, LabTarget, RetriesLab};
use serde_json::Value;

use super::words::clients;
use crate::answer;
use crate::table::Table;
use pgdyno_spec::{experiment::retries_lab::WORKLOADS, text as figures};

const HEAD: [&str; 9] = [
    "",
    "goodput/s",
    "range",
    "p50 ms",
    "p99 ms",
    "retries/commit",
    "by server",
    "given up",
    "thrown away",
];

/// The column that says nothing about a single repeat.
const RANGE: usize = 2;

/// All of it, ready to be printed.
pub fn text(lab: &RetriesLab, width: usize) -> String {
    let mut text = String::new();
    if let Some(target) = &lab.target {
        text += &of_target(lab, target);
    }
    if let Some(found) = super::answer(lab) {
        text += &format!("\n{}", answer::text(&found));
    }
    for point in &lab.points {
        text += &format!("\n{}\n{}", title(lab, point), table(point, width));
    }
    text
}

/// The point's circumstances, as far as they differ from those of others.
pub(super) fn title(lab: &RetriesLab, point: &LabPoint) -> String {
    let varies = |of: fn(&Value) -> &Value| {
        let first = lab.points.first().map(|first| of(&first.given));
        lab.points
            .iter()
            .any(|point| Some(of(&point.given)) != first)
    };
    let text = |name: &str| point.given[name].as_str();
    let mut parts = vec![clients(&point.given)];
    parts.extend(match (text("isolation"), point.isolation.as_deref()) {
        (Some(asked), Some(level)) if asked != level => {
            Some(format!("{level} ({asked} was requested)"))
        }
        (asked, level) => level.or(asked).map(str::to_owned),
    });
    if varies(|given| &given["retry"]) || varies(|given| &given["backoff"]) {
        parts.push(format!("retry {}", text("retry").unwrap_or("none")));
        if let Some(pauses) = text("backoff").filter(|pauses| *pauses != "none") {
            parts.push(format!("backoff {pauses}"));
        }
    }
    let keys = &point.given["params"]["foreign_keys"];
    parts.extend(keys.as_bool().map(|keys| {
        let word = if keys {
            "foreign keys"
        } else {
            "no foreign keys"
        };
        word.to_owned()
    }));
    parts.join(", ")
}

/// Where it was measured, and what.
fn of_target(lab: &RetriesLab, target: &LabTarget) -> String {
    let workload = lab.workload.as_deref().unwrap_or_default();
    let mut parts = vec![workload.to_owned()];
    let variables = lab.variables.as_ref();
    if let Some(scale) = variables.and_then(|variables| variables.get("scale")) {
        parts.push(match scale.as_str() {
            scale if workload != WORKLOADS[0] => {
                format!("scale {scale}: {scale} × 100,000 accounts")
            }
            "1" => "scale 1: all clients share one branch".to_owned(),
            scale => format!("scale {scale}: {scale} branches"),
        });
    }
    if let Some(version) = target.facts.version.known() {
        let short = version.split([',', '(']).next().unwrap_or_default();
        let short = short.split(" on ").next().unwrap_or_default();
        parts.push(short.trim_end().to_owned());
    }
    let trial = lab.trial.as_ref();
    if let Some(duration_s) = trial.and_then(|trial| trial.duration_s) {
        parts.push(format!("{} per trial", figures::seconds(duration_s)));
    }
    if let Some(count) = trial.and_then(|trial| trial.transactions_per_client) {
        parts.push(format!(
            "{} transactions per client in each trial",
            figures::count(count)
        ));
    }
    if let Some(trial) = trial.filter(|trial| trial.max_tries > 1) {
        parts.push(format!("up to {} tries", trial.max_tries));
    }
    format!("{}\n{}\n", target.title, parts.join("; "))
}

fn table(point: &LabPoint, width: usize) -> String {
    let repeats = |form: &LabForm| form.goodput_per_s.as_ref().map_or(0, |s| s.repeats.len());
    let has_range = point.forms.iter().any(|form| repeats(form) > 1);
    let row = |cells: [String; 9]| {
        let cells = cells.into_iter().enumerate();
        let shown = cells.filter(move |(column, _)| has_range || *column != RANGE);
        shown.map(|(_, cell)| cell)
    };
    let mut table = Table::default();
    table.row(row(HEAD.map(str::to_owned)));
    let (measured, others): (Vec<&LabForm>, Vec<&LabForm>) =
        point.forms.iter().partition(|form| repeats(form) > 0);
    let longest = point.forms.iter().map(|form| form.form.len()).max();
    let longest = longest.unwrap_or(0);
    for form in &measured {
        let mut cells = cells(form);
        cells[0] = format!("{:<longest$}", form.form);
        table.row(row(cells));
    }
    let mut text = table.text(width);
    for form in others {
        let why = form.not_run.join("; ");
        let why = if why.is_empty() { "not run" } else { &why };
        text += &format!("{:<longest$}  – {why}\n", form.form);
    }
    for form in measured.iter().filter(|form| !form.not_run.is_empty()) {
        text += &format!(
            "{}: not in every trial: {}\n",
            form.form,
            form.not_run.join("; ")
        );
    }
    text
}

fn cells(form: &LabForm) -> [String; 9] {
    let dash = || "–".to_owned();
    let ratio = |ratio: Option<f64>| ratio.map_or_else(dash, |r| format!("{r:.2}"));
    let time = |us: Option<u64>| us.map_or_else(dash, figures::ms);
    let goodput = form.goodput_per_s.as_ref();
    [
        form.form.clone(),
        goodput.map_or_else(dash, |s| figures::rate(s.median)),
        goodput.map_or_else(dash, |s| {
            format!("{}–{}", figures::rate(s.min), figures::rate(s.max))
        }),
        time(form.service.p50_us),
        time(form.service.p99_us),
        ratio(form.retries_per_commit),
        ratio(form.server_retries_per_commit),
        figures::percent(form.given_up, form.transactions),
        figures::share(form.lost_time_share.unwrap_or(0.0)),
    ]
}
