//! Titles and lines of facts on the page.

use pgdyno_drive::Until;
use serde_json::Value;

use crate::diagnose::Verdict;
use crate::plan::trial::Outcome;
use crate::report::retries;
use crate::store::TrialRow;
use pgdyno_model::{Note, text as figures};

/// `tpcb, scale 50, 32 clients, 4,200.0/s requested`.
pub fn title(outcome: &Outcome) -> String {
    let spec = &outcome.spec;
    let mut title = outcome.workload.clone();
    if let Some(mix) = &spec.mix {
        title += &format!(", mix {mix}");
    }
    for given in &spec.params {
        if let Some((name, value)) = given.split_once('=') {
            title += &format!(", {name} {value}");
        }
    }
    title += &format!(", {}", figures::plural(spec.clients().into(), "client"));
    if let Some(rate) = spec.rate {
        title += &format!(", {}/s requested", figures::rate(rate));
    }
    title
}

/// Server, isolation, query mode, how long, when, retries.
pub fn facts(outcome: &Outcome, trial: &TrialRow) -> Vec<String> {
    let spec = &outcome.spec;
    let mut facts: Vec<String> = server(outcome).into_iter().collect();
    facts.extend(outcome.facts.isolation.seen().cloned());
    facts.push(format!("{} protocol", spec.query_mode().name()));
    facts.push(match spec.until() {
        Until::Elapsed(time) => format!("{} asked for", figures::seconds(time.as_secs_f64())),
        Until::Transactions(count) => {
            format!("{} transactions each", figures::count(count.get()))
        }
    });
    let policy = retries::policy(&spec.retry);
    let policy = policy.trim_start_matches(", ");
    if !policy.is_empty() {
        facts.push(policy.to_owned());
    }
    facts.push(
        trial
            .started
            .replace('T', " ")
            .split('.')
            .next()
            .unwrap_or_default()
            .to_owned()
            + " UTC",
    );
    facts
}

/// `PostgreSQL 18.1`, as far as the server tells.
pub fn server(outcome: &Outcome) -> Option<String> {
    let version = outcome.facts.version.seen()?;
    let mut words = version.split_whitespace();
    match (words.next(), words.next()) {
        (Some(product), Some(version)) if version.starts_with(|c: char| c.is_ascii_digit()) => {
            Some(format!("{product} {}", version.trim_end_matches(',')))
        }
        _ => Some(version.chars().take(80).collect()),
    }
}

/// `repeat 2 in “orders”, trial 12, 7c41e9b0`.
pub fn eyebrow(trial: &TrialRow) -> String {
    let id: String = trial.uuid.chars().take(8).collect();
    let mut text = String::new();
    if let Some(repeat) = trial.repeat {
        text += &format!("repeat {repeat} ");
    }
    if let Some(experiment) = &trial.experiment_name {
        text += &format!("in “{experiment}”, ");
    }
    text + &format!("trial {}, {id}", trial.number)
}

/// Notes as the page has them; what they are about, by the figures they affect.
pub fn notes(notes: &[Note]) -> Value {
    let told = notes.iter().map(|note| {
        let mut told = serde_json::to_value(note).unwrap_or_default();
        let figures: &[&str] = match note.code.as_ref() {
            "client-bound" => &["client", "goodput", "p50", "p99", "p99.9"],
            "fsync-off" | "synchronous-commit-off" | "not-steady" => &["goodput", "p50", "p99"],
            _ => &[],
        };
        told["figures"] = figures.into();
        told
    });
    told.collect()
}

/// The verdict as data.ts has it.
pub fn verdict(verdict: Option<&Verdict>) -> Value {
    serde_json::to_value(verdict).unwrap_or_default()
}
