//! Titles and lines of facts on the page.

use pgdyno_spec::Until;

use crate::retries;
use pgdyno_model::Note;
use pgdyno_model::document::{Facts, PageNote, Run};
use pgdyno_model::notebook::TrialRow;
use pgdyno_spec::{Rate, TrialSpec, text as figures};

/// So much of a rate that moves is shown where there is little room.
const ASKED_MAX: usize = 60;

/// `tpcb, scale 50, 32 clients, 4,200.0/s requested`.
pub fn title(run: &Run) -> String {
    let trial = &run.trial;
    let mut title = run.workload.name.clone();
    if let Some(mix) = &trial.mix {
        title += &format!(", mix {mix}");
    }
    for given in &trial.params {
        if let Some((name, value)) = given.split_once('=') {
            title += &format!(", {name} {value}");
        }
    }
    title += &format!(", {}", clients(trial));
    if let Some(rate) = &trial.rate {
        title += &format!(", {} requested", asked(rate));
    }
    title
}

/// `4,200.0/s`; of a rate that moves what is typed: `100..2000/60s`.
pub fn asked(rate: &Rate) -> String {
    match rate.constant() {
        Some(per_s) => format!("{}/s", figures::rate(per_s)),
        None => shortened(rate.to_string()),
    }
}

/// `8 clients`; where their number moves what is typed: `8..64/60s clients`.
pub fn clients(trial: &TrialSpec) -> String {
    match trial.moving_clients() {
        None => figures::plural(trial.clients().into(), "client"),
        Some(clients) => format!("{} clients", shortened(clients.to_string())),
    }
}

fn shortened(text: String) -> String {
    if text.chars().count() > ASKED_MAX {
        text.chars().take(ASKED_MAX).chain(['…']).collect()
    } else {
        text
    }
}

/// Server, isolation, query mode, how long, when, retries.
pub fn facts(run: &Run, row: &TrialRow) -> Vec<String> {
    let trial = &run.trial;
    let known = &run.target.facts;
    let mut facts: Vec<String> = server(known).into_iter().collect();
    facts.extend(known.isolation.known().cloned());
    facts.push(format!("{} protocol", trial.query_mode().name()));
    facts.push(match trial.until() {
        Until::Elapsed(time) => format!("{} asked for", figures::seconds(time.as_secs_f64())),
        Until::Transactions(count) => {
            format!("{} transactions each", figures::count(count.get()))
        }
    });
    let policy = retries::policy(&trial.retry);
    let policy = policy.trim_start_matches(", ");
    if !policy.is_empty() {
        facts.push(policy.to_owned());
    }
    facts.push(
        row.started
            .replace('T', " ")
            .split('.')
            .next()
            .unwrap_or_default()
            .to_owned()
            + " UTC",
    );
    facts
}

/// `PostgreSQL 18.1`, as far as the server reports.
pub fn server(facts: &Facts) -> Option<String> {
    let version = facts.version.known()?;
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
pub fn notes(notes: &[Note]) -> Vec<PageNote> {
    let reported = notes.iter().map(|note| {
        let figures: &[&'static str] = match note.code.as_ref() {
            "client-bound" => &["client", "goodput", "p50", "p99", "p99.9"],
            "fsync-off" | "synchronous-commit-off" | "not-steady" => &["goodput", "p50", "p99"],
            _ => &[],
        };
        PageNote {
            figures: figures.to_vec(),
            ..PageNote::from(note.clone())
        }
    });
    reported.collect()
}
