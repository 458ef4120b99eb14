//! A trial's page.

use super::{
    begin, connections, environment, histogram, observed, slob, statements, timeline, words,
};
use crate::documents::{self, stored};
use crate::generators;
use crate::observed::outages;
use pgdyno_model::Outcome;
use pgdyno_model::document::page::{Event, Histograms, Sibling, Timeline, TrialPage, Worst};
use pgdyno_model::document::{Observed, Run, Trial};
use pgdyno_model::notebook::{Filter, Notebook, TrialRow};
use pgdyno_model::observed::Rows;
use pgdyno_spec::Failure;

/// Events this near to a transaction's time are reported beside it.
const AROUND_US: i64 = 2_000_000;

/// The page of a trial, from the store; `rows` say what its series are.
///
/// # Errors
/// The store cannot be read.
pub fn trial(store: &dyn Notebook, trial: &TrialRow, rows: Rows) -> Result<TrialPage, Failure> {
    of_outcome(store, &store.outcome(trial.number)?, trial, rows)
}

/// The same of one whose outcome was read already.
///
/// # Errors
/// The store cannot be read.
pub fn of_outcome(
    store: &dyn Notebook,
    outcome: &Outcome,
    row: &TrialRow,
    rows: Rows,
) -> Result<TrialPage, Failure> {
    let mut trial = documents::trial(outcome);
    trial.run.stored = Some(stored(row));
    let seconds = &outcome.recording.seconds;
    let timeline = timeline::timeline(seconds, outcome.spec.rate.as_ref());
    let siblings = siblings(store, row)?;
    Ok(of(trial, outcome, row, siblings, rows, timeline))
}

/// The document, and what only the page has: histograms, and what instruments saw in columns.
pub(super) fn of(
    mut trial: Trial,
    outcome: &Outcome,
    row: &TrialRow,
    siblings: Vec<Sibling>,
    rows: Rows,
    timeline: Timeline,
) -> TrialPage {
    let recording = &outcome.recording;
    let all = recording.measured.all();
    let run = &trial.run;
    let seen = trial.observed.take().unwrap_or_default();
    let mut common = begin(words::title(run), words::facts(run, row), &row.command);
    common.eyebrow = Some(words::eyebrow(row));
    common.notes = words::notes(&run.notes);
    common.verdict = trial.verdict.take();
    let budget = trial.budget.take();
    let is_here = run.target.facts.same_host.known().is_some_and(|here| *here);
    let cores = is_here.then_some(run.host.cpus as f64);
    let watched = observed::watched(&seen, cores, rows);
    let mut events = observed::events(&seen);
    events.extend(connections::marks(&run.events));
    let (settings, settings_unknown) = environment::settings(&run.target.facts);
    TrialPage {
        kind: TrialPage::KIND,
        common,
        budget,
        one_result: trial
            .run
            .generators
            .as_ref()
            .map(generators::sure)
            .unwrap_or_default(),
        siblings,
        timeline,
        histograms: Histograms {
            service: histogram::whole(&all.service),
            response: all.response.as_ref().map(histogram::whole),
            attempt: all.attempt.as_ref().map(histogram::whole),
        },
        statements: statements::of_scripts(recording),
        commits_by_try: None,
        counters_sentence: None,
        balance: None,
        instruments: watched.instruments,
        clocks_us: watched.clocks_us,
        series: watched.series,
        waits: watched.waits,
        worst: worst(run, &seen, &events),
        events,
        server_statements: statements::of_server(&seen),
        slob: slob::of_trial(run, recording),
        settings,
        settings_total: None,
        settings_unknown,
        environment: environment::lines(run, &seen, row),
        run: trial.run,
    }
}

/// The longest transactions, with what happened around them.
fn worst(run: &Run, observed: &Observed, events: &[Event]) -> Vec<Worst> {
    let has_rate = run.trial.rate.is_some();
    let has_scripts = run.measured.scripts.len() > 1;
    let worst = run.worst.iter();
    worst
        .map(|slow| {
            let (from_us, to_us) = (
                slow.ended_us as i64 - slow.latency_us as i64,
                slow.ended_us as i64,
            );
            let events = events.iter().enumerate();
            let near = events.filter(|(_, event)| {
                let end_us = event.at_us + event.length_us.unwrap_or(0) as i64;
                event.at_us <= to_us + AROUND_US && end_us >= from_us - AROUND_US
            });
            let near: Vec<(usize, &str)> = near.map(|(at, e)| (at, e.kind.as_str())).collect();
            Worst {
                at_us: slow.ended_us,
                response_us: has_rate.then_some(slow.latency_us),
                queued_us: None,
                service_us: (!has_rate).then_some(slow.latency_us),
                tries: None,
                script: slow.script.clone().filter(|_| has_scripts),
                endpoint: None,
                slowest: None,
                around: around(
                    observed,
                    (from_us, to_us),
                    &near,
                    outages::around(run, slow),
                ),
                events: near.iter().map(|(at, _)| *at).collect(),
            }
        })
        .collect()
}

/// The outages that it fell into, what most sessions waited for at that time, and which events were under
/// way; empty where nothing was seen.
fn around(
    observed: &Observed,
    (from_us, to_us): (i64, i64),
    events: &[(usize, &str)],
    outages: Vec<String>,
) -> String {
    // A second's mean is reported at its end.
    let waits = observed.all("pg.waits").filter_map(|series| {
        let within = series.samples.iter();
        let mut within = within.filter(|(at_us, _)| (from_us..to_us + 1_000_000).contains(at_us));
        within
            .next()
            .map(|(_, sessions)| (series.label.as_str(), *sessions))
    });
    let most = waits.max_by(|a, b| a.1.total_cmp(&b.1));
    let mut reported = outages;
    let mut kinds: Vec<&str> = events.iter().map(|(_, kind)| *kind).collect();
    kinds.dedup();
    if !kinds.is_empty() {
        reported.push(format!("near it: {}", kinds.join(", ")));
    }
    if let Some((event, sessions)) = most {
        reported.push(format!("{sessions:.1} sessions in {event}"));
    }
    reported.join("; ")
}

/// All repeats of its point, in their order.
pub(super) fn siblings(store: &dyn Notebook, trial: &TrialRow) -> Result<Vec<Sibling>, Failure> {
    let (Some(_), Some(name)) = (trial.repeat, &trial.experiment_name) else {
        return Ok(Vec::new());
    };
    let experiment = store.experiments_named(name)?;
    let Some(experiment) = experiment
        .into_iter()
        .find(|e| Some(e.number) == trial.experiment)
    else {
        return Ok(Vec::new());
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
        let latency = match &other.spec.rate {
            Some(_) => &other.response,
            None => &other.service,
        };
        let committed = other.committed.filter(|committed| *committed > 0);
        let per_commit = other.retries.zip(committed);
        Sibling {
            trial: other.number,
            repeat: other.repeat,
            this: other.number == trial.number,
            goodput_per_s: other.goodput_per_s,
            p50_us: latency.p50_us,
            p99_us: latency.p99_us,
            p99_9_us: latency.p99_9_us,
            retries_per_commit: per_commit
                .map(|(retries, committed)| retries as f64 / committed as f64),
            failed: other.failed,
        }
    });
    Ok(siblings.collect())
}
