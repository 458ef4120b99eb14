//! A trial's page.

use pgdyno_drive::record::Recording;
use serde_json::{Value, json};

use super::{common, environment, histogram, observed, slob, statements, timeline, words};
use crate::diagnose::diagnose;
use crate::plan::trial::Outcome;
use crate::report::json;
use crate::store::{Filter, Store, TrialRow};
use pgdyno_model::Failure;

/// Events this near to a transaction's time are told beside it.
const AROUND_US: i64 = 2_000_000;

/// The document of a trial, from the store.
///
/// # Errors
/// The store cannot be read.
pub fn trial(store: &Store, trial: &TrialRow) -> Result<Value, Failure> {
    of_outcome(store, &store.outcome(trial.number)?, trial)
}

/// The same of one whose outcome was read already.
///
/// # Errors
/// The store cannot be read.
pub fn of_outcome(store: &Store, outcome: &Outcome, trial: &TrialRow) -> Result<Value, Failure> {
    let mut document = of(outcome, trial);
    document["siblings"] = siblings(store, trial)?;
    Ok(document)
}

fn of(outcome: &Outcome, trial: &TrialRow) -> Value {
    let recording = &outcome.recording;
    let all = recording.measured.all();
    let mut document = common(
        "trial",
        &words::title(outcome),
        words::facts(outcome, trial),
        &trial.command,
    );
    let verdict = diagnose(outcome);
    let cores = outcome.facts.same_host.seen().is_some_and(|here| *here);
    let cores = cores.then_some(outcome.host.cpus as f64);
    let watched = observed::watched(&outcome.observed, cores);
    let (settings, settings_unseen) = environment::settings(outcome);
    let mut histograms = json!({ "service": histogram::whole(&all.service) });
    if let Some(response) = &all.response {
        histograms["response"] = histogram::whole(response);
    }
    if let Some(attempt) = &all.attempt {
        histograms["attempt"] = histogram::whole(attempt);
    }
    let fields = json!({
        "eyebrow": words::eyebrow(trial),
        "verdict": words::verdict(verdict.as_ref()),
        "notes": words::notes(&outcome.notes),
        "run": run(outcome, trial),
        "timeline": timeline::timeline(&recording.seconds, outcome.spec.rate),
        "histograms": histograms,
        "statements": statements::of_scripts(recording),
        "instruments": watched.instruments,
        "clocks_us": watched.clocks_us,
        "series": watched.series,
        "waits": watched.waits,
        "events": observed::events(&outcome.observed),
        "worst": worst(outcome),
        "server_statements": statements::of_server(&outcome.observed),
        "slob": slob::of_trial(outcome),
        "settings": settings,
        "settings_unseen": settings_unseen,
        "environment": environment::lines(outcome, trial),
    });
    add(&mut document, fields);
    document
}

/// Adds fields, without those that are not known.
pub fn add(document: &mut Value, fields: Value) {
    if let (Some(document), Value::Object(fields)) = (document.as_object_mut(), fields) {
        document.extend(fields.into_iter().filter(|(name, value)| {
            // What was judged to be nothing is known.
            name == "verdict" || !value.is_null()
        }));
    }
}

/// What `pgdyno show TRIAL --json` prints, without its seconds.
fn run(outcome: &Outcome, trial: &TrialRow) -> Value {
    let mut run = json::document(outcome);
    run["stored"] = json::stored(trial);
    if let Some(run) = run.as_object_mut() {
        // They stand in the timeline and in the series, each in its shape.
        for name in ["seconds", "observed", "verdict"] {
            run.remove(name);
        }
    }
    run
}

/// The longest transactions, with what happened around them.
fn worst(outcome: &Outcome) -> Vec<Value> {
    let recording = &outcome.recording;
    let has_rate = outcome.spec.rate.is_some();
    let worst = recording.worst.iter();
    worst
        .map(|slow| {
            let (from_us, to_us) = (
                slow.ended_us as i64 - slow.latency_us as i64,
                slow.ended_us as i64,
            );
            let events = outcome.observed.events.iter().enumerate();
            let near = events.filter(|(_, event)| {
                let end_us = event.at_us + event.length_us.unwrap_or(0) as i64;
                event.at_us <= to_us + AROUND_US && end_us >= from_us - AROUND_US
            });
            let near: Vec<(usize, &str)> = near.map(|(at, e)| (at, e.kind.as_str())).collect();
            json!({
                "at_us": slow.ended_us,
                "response_us": has_rate.then_some(slow.latency_us),
                "queued_us": null,
                "service_us": if has_rate { Value::Null } else { json!(slow.latency_us) },
                "tries": null,
                "script": script(recording, slow.script),
                "around": around(outcome, (from_us, to_us), &near),
                "events": near.iter().map(|(at, _)| at).collect::<Vec<_>>(),
            })
        })
        .collect()
}

fn script(recording: &Recording, number: usize) -> Option<&str> {
    let script = recording.scripts.get(number)?;
    (recording.scripts.len() > 1).then_some(script.name.as_str())
}

/// What most sessions waited for at that time, and which events were under way.
fn around(outcome: &Outcome, (from_us, to_us): (i64, i64), events: &[(usize, &str)]) -> String {
    let observed = &outcome.observed;
    // A second's mean is told at its end.
    let waits = observed.all("pg.waits").filter_map(|course| {
        let within = course.samples.iter();
        let mut within = within.filter(|(at_us, _)| (from_us..to_us + 1_000_000).contains(at_us));
        within
            .next()
            .map(|(_, sessions)| (course.of.series.label.as_str(), *sessions))
    });
    let most = waits.max_by(|a, b| a.1.total_cmp(&b.1));
    let mut told = Vec::new();
    let mut kinds: Vec<&str> = events.iter().map(|(_, kind)| *kind).collect();
    kinds.dedup();
    if !kinds.is_empty() {
        told.push(format!("near it: {}", kinds.join(", ")));
    }
    if let Some((event, sessions)) = most {
        told.push(format!("{sessions:.1} sessions in {event}"));
    }
    match told.is_empty() {
        true => "nothing was seen to happen around it".to_owned(),
        false => told.join("; "),
    }
}

/// All repeats of its point, in their order.
fn siblings(store: &Store, trial: &TrialRow) -> Result<Value, Failure> {
    let (Some(_), Some(name)) = (trial.repeat, &trial.experiment_name) else {
        return Ok(json!([]));
    };
    let experiment = store.experiments_named(name)?;
    let Some(experiment) = experiment
        .into_iter()
        .find(|e| Some(e.number) == trial.experiment)
    else {
        return Ok(json!([]));
    };
    let mut all = store.trials(&Filter {
        experiment: Some(experiment.uuid),
        ..Filter::default()
    })?;
    all.retain(|other| {
        other.point == trial.point && other.workload == trial.workload && other.repeat.is_some()
    });
    all.sort_by_key(|other| other.repeat);
    let siblings = all.iter().map(|other| {
        let latency = match other.spec.rate {
            Some(_) => &other.response,
            None => &other.service,
        };
        let committed = other.committed.filter(|committed| *committed > 0);
        json!({
            "trial": other.number,
            "repeat": other.repeat,
            "this": other.number == trial.number,
            "goodput_per_s": other.goodput_per_s,
            "p50_us": latency.p50_us,
            "p99_us": latency.p99_us,
            "p99_9_us": latency.p99_9_us,
            "retries_per_commit": other.retries.zip(committed)
                .map(|(retries, committed)| retries as f64 / committed as f64),
            "failed": other.failed,
        })
    });
    Ok(siblings.collect())
}
