//! The document of a trial, made from its outcome. All that shows a trial is a renderer of it: the
//! terminal (`summary.rs`), `--json`, Markdown and the report's page.

mod observed;
#[cfg(test)]
mod tests;

use time::OffsetDateTime;
use time::format_description::well_known::Rfc3339;

use crate::cluster;
use crate::disturb;
use crate::findings;
use pgdyno_diagnose::diagnose;
use pgdyno_measurement::Event;
use pgdyno_model::Outcome;
use pgdyno_model::document::course;
use pgdyno_model::document::phases::{self, PhaseFigures};
use pgdyno_model::document::{
    Accounted, ClientCourse, ClientCpu, Clients, ConnectionEvent, Connections, End, Endpoint,
    GeneratorShare, Outages, Phase, RateStep, Reason, Run, ScriptStatements, Second,
    SlowTransaction, Stalls, Steadiness, Stored, Target, Trial, Warmup, WholeTrial, Workload,
};
use pgdyno_model::notebook::TrialRow;

/// Grows when a field of the document changes its meaning or goes.
const FORMAT: u32 = 1;

pub fn trial(outcome: &Outcome) -> Trial {
    let (budget, verdict) = diagnose(outcome).unzip();
    let counts = outcome.recording.measured.all().counts;
    // Of what only failed there is nothing that a limit could be of.
    let is_of_something = counts.committed > 0 || counts.failed_total() == 0;
    Trial {
        run: run(outcome),
        observed: observed::document(&outcome.observed),
        budget,
        verdict: verdict.filter(|_| is_of_something),
    }
}

/// The same with its seconds: what `--json` prints.
pub fn whole(outcome: &Outcome) -> WholeTrial {
    WholeTrial {
        trial: trial(outcome),
        seconds: Second::all(&outcome.recording),
    }
}

/// Without what instruments saw, and without the verdict.
pub fn run(outcome: &Outcome) -> Run {
    let recording = &outcome.recording;
    let started = OffsetDateTime::from(recording.started).format(&Rfc3339);
    let mut measured = Phase::of(recording, &recording.measured);
    measured.judge(recording);
    let findings = &outcome.findings;
    let cluster = cluster::of(outcome);
    let mut endpoints: Vec<Endpoint> = recording.endpoints.iter().map(Endpoint::from).collect();
    cluster::place(&mut endpoints, cluster.as_ref());
    Run {
        format: FORMAT,
        pgdyno: env!("CARGO_PKG_VERSION").to_owned(),
        started: started.unwrap_or_default(),
        workload: Workload {
            name: outcome.workload.clone(),
            pack_sha256: outcome.pack_sha256.clone(),
            variables: outcome.variables.iter().cloned().collect(),
        },
        trial: outcome.spec.clone(),
        target: Target {
            title: outcome.target.clone(),
            kind: outcome.target_kind,
            facts: outcome.facts.clone(),
        },
        host: outcome.host.clone(),
        phases: phases(outcome),
        client_course: ClientCourse::of(recording, outcome.spec.clients.as_ref()),
        rate_steps: match &outcome.spec.rate {
            Some(rate) => RateStep::all(recording, rate),
            None => Vec::new(),
        },
        end: End::from(recording.end),
        broken_invariant: recording.broken_invariant.clone(),
        measured,
        warmup: recording.warmup.as_ref().map(|warmup| Warmup {
            phase: Phase::of(recording, warmup),
            detected: findings.get(),
        }),
        key_skew: findings.get(),
        accounting: findings.get().as_ref().map(Accounted::from),
        disturbed: disturb::document(outcome),
        checks: findings.get().unwrap_or_default(),
        figures: findings.get().unwrap_or_default(),
        // What is asked to move is not steady.
        steadiness: if outcome.spec.moves() {
            Vec::new()
        } else {
            Steadiness::all(recording)
        },
        reasons: recording.reasons.iter().map(Reason::from).collect(),
        server_counters: findings.get().unwrap_or_default(),
        truth: findings.get(),
        staleness: findings.get(),
        isolation: findings.get(),
        findings: findings::document(findings),
        statements: ScriptStatements::all(recording),
        connections: Connections::from(&recording.connections),
        outages: Outages::from(recording),
        endpoints,
        cluster,
        events: in_time(&recording.events),
        stalls: Stalls::from(recording),
        worst: SlowTransaction::all(recording),
        clients: Clients::from(&recording.clients),
        client_cpu: ClientCpu::from(recording),
        generator_share: GeneratorShare::of(recording, &outcome.host, outcome.generators.is_some()),
        generators: outcome.generators.clone(),
        notes: outcome.notes.clone(),
        stored: None,
    }
}

/// Of what moves in it.
fn phases(outcome: &Outcome) -> Vec<PhaseFigures> {
    let (recording, rate) = (&outcome.recording, outcome.spec.rate.as_ref());
    let from_us = phases::measured_from_us(&recording.seconds);
    let length_us = recording.measured.asked_us();
    let by_rate = rate.map(|rate| course::phases(rate.profile(), ("", "/s"), from_us, length_us));
    let clients = outcome.spec.moving_clients();
    let by_clients = clients.and_then(|clients| clients.moving());
    let by_clients = by_clients.map(|of| course::phases(of, ("clients ", ""), from_us, length_us));
    let all = course::both(by_rate.unwrap_or_default(), by_clients.unwrap_or_default());
    phases::phases(recording, &all, clients, |begin_us, end_us| {
        let since = |us: u64| us as i64 - from_us as i64;
        rate.map(|rate| rate.due(since(begin_us), since(end_us)))
    })
}

/// What the notebook knows of a trial beside its result.
pub fn stored(trial: &TrialRow) -> Stored {
    Stored {
        number: trial.number,
        uuid: trial.uuid.clone(),
        state: trial.state,
        reason: trial.reason.clone(),
        ended: trial.ended.clone(),
        experiment: trial.experiment_name.clone(),
        position: trial.position,
        point: trial.point.clone(),
        repeat: trial.repeat,
        tags: trial.tags.clone(),
        note: trial.note.clone(),
        excluded: trial.excluded.clone(),
        command: trial.command.clone(),
        pgdyno: trial.pgdyno.clone(),
    }
}

/// Events in the order in which they happened: threads tell theirs one after the other.
fn in_time(events: &[Event]) -> Vec<ConnectionEvent> {
    let mut events: Vec<&Event> = events.iter().collect();
    events.sort_by_key(|event| event.at_us);
    events.into_iter().map(ConnectionEvent::from).collect()
}
