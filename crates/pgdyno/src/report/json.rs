//! The whole result for programs: one document, units in the names, documented in
//! `docs/json.md`. A percentile with fewer than ten values beyond it is `null`.

use pgdyno_drive::record::{
    Counts, End, EndpointRecord, Event, Latencies, PackedUnits, Phase, Reason, Recording,
    ScriptInterval, Second, StatementRecord, StatementTotals, Units, Work,
};
use pgdyno_stats::Steadiness;
use serde_json::{Map, Value, json};
use time::OffsetDateTime;
use time::format_description::well_known::Rfc3339;

use super::{accounting, observed, units};
use crate::plan::steady::{Course, courses};
use crate::plan::trial::Outcome;
use crate::store::TrialRow;
use pgdyno_model::text::{self as figures, PERCENTILES};

/// Grows when a field changes its meaning or goes.
const FORMAT: u32 = 1;

/// The document.
pub fn document(outcome: &Outcome) -> Value {
    let recording = &outcome.recording;
    let started = OffsetDateTime::from(recording.started).format(&Rfc3339);
    json!({
        "format": FORMAT,
        "pgdyno": env!("CARGO_PKG_VERSION"),
        "started": started.ok(),
        "workload": {
            "name": outcome.workload,
            "pack_sha256": outcome.pack_sha256,
            "variables": outcome.variables.iter().cloned().collect::<std::collections::BTreeMap<_, _>>(),
        },
        "trial": outcome.spec,
        "target": {
            "title": outcome.target,
            "kind": outcome.target_kind,
            "facts": outcome.facts,
        },
        "host": {
            "name": outcome.host.name,
            "kernel": outcome.host.kernel,
            "cpu_model": outcome.host.cpu_model,
            "cpus": outcome.host.cpus,
            "memory_bytes": outcome.host.memory_bytes,
        },
        "end": match recording.end {
            End::Complete => "complete",
            End::Interrupted => "interrupted",
            End::ClientAborted { .. } => "client-aborted",
            End::AllClientsAborted => "all-clients-aborted",
            End::InvariantBroken => "invariant-broken",
        },
        "broken_invariant": recording.broken_invariant,
        "measured": phase(recording, &recording.measured),
        "warmup": recording.warmup.as_ref().map(|warmup| {
            let mut figures = phase(recording, warmup);
            figures["detected"] = json!(outcome.warmup_ended);
            figures
        }),
        "touched": outcome.touched,
        "accounting": outcome.accounting.as_ref().map(accounting::json),
        "steadiness": courses(recording).iter().map(steadiness).collect::<Vec<_>>(),
        "reasons": recording.reasons.iter().map(reason).collect::<Vec<_>>(),
        "server_counters": outcome.server_counters,
        "statements": statements(recording),
        "connections": {
            "initial_us": recording.connections.initial_us,
            "latency": latency(&recording.connections.latencies),
        },
        "outages": {
            "count": recording.outages.count,
            "length": latency(&recording.outages.lengths),
            "unended": recording.outages.unended,
            "attempts": recording.outages.attempts,
        },
        "endpoints": recording.endpoints.iter().map(endpoint).collect::<Vec<_>>(),
        "events": recording.events.iter().map(event).collect::<Vec<_>>(),
        "worst": observed::worst(recording),
        "observed": observed::document(&outcome.observed),
        "clients": {
            "total": recording.clients.total,
            "aborted": recording.clients.aborted,
            "disconnected": recording.clients.disconnected,
        },
        "client_cpu": client_cpu(recording),
        "verdict": crate::diagnose::diagnose(outcome),
        "notes": outcome.notes,
        "seconds": recording.seconds.iter().map(|s| second(recording, s)).collect::<Vec<_>>(),
    })
}

/// What the notebook knows of a trial beside its result.
pub fn stored(trial: &TrialRow) -> Value {
    json!({
        "number": trial.number,
        "uuid": trial.uuid,
        "state": trial.state,
        "reason": trial.reason,
        "ended": trial.ended,
        "experiment": trial.experiment_name,
        "position": trial.position,
        "point": trial.point,
        "repeat": trial.repeat,
        "tags": trial.tags,
        "note": trial.note,
        "excluded": trial.excluded,
        "command": trial.command,
        "pgdyno": trial.pgdyno,
    })
}

fn steadiness(course: &Course) -> Value {
    let (verdict, p) = match course.steadiness {
        Steadiness::TooShort { .. } => ("too-short", None),
        Steadiness::Incomplete { .. } => ("incomplete", None),
        Steadiness::Steady { p, .. } => ("steady", Some(p)),
        Steadiness::WarmUp { .. } => ("warm-up", None),
        Steadiness::Drifts { p, .. } => ("drifts", Some(p)),
    };
    let change = match course.steadiness {
        Steadiness::Steady { quarters, .. } | Steadiness::Drifts { quarters, .. } => {
            Some(quarters.change())
        }
        _ => None,
    };
    let steady_from_s = match course.steadiness {
        Steadiness::WarmUp { steady_from, .. } => Some(steady_from),
        _ => None,
    };
    json!({
        "figure": course.figure,
        "seconds": course.seconds,
        "verdict": verdict,
        "change": change,
        "p": p,
        "steady_from_s": steady_from_s,
        "sentence": course.sentence(),
    })
}

fn phase(recording: &Recording, phase: &Phase) -> Value {
    let units = |interval: &ScriptInterval| {
        units::json(&recording.operations, &interval.units, phase.elapsed_us)
    };
    let of_all = phase.all();
    let mut all = script(&of_all, phase.elapsed_us);
    all.insert("units".to_owned(), units(&of_all));
    all.insert("elapsed_us".to_owned(), json!(phase.elapsed_us));
    let scripts = recording
        .scripts
        .iter()
        .zip(&phase.scripts)
        .map(|(record, interval)| {
            let mut figures = script(interval, phase.elapsed_us);
            figures.insert("units".to_owned(), units(interval));
            figures.insert("name".to_owned(), json!(record.name));
            figures.insert("weight".to_owned(), json!(record.weight));
            Value::Object(figures)
        });
    all.insert("scripts".to_owned(), scripts.collect());
    Value::Object(all)
}

fn script(interval: &ScriptInterval, elapsed_us: u64) -> Map<String, Value> {
    let mut map = counts(&interval.counts);
    let goodput = interval.counts.committed as f64 * 1e6 / elapsed_us.max(1) as f64;
    map.insert("goodput_per_s".to_owned(), json!(goodput));
    map.insert("service".to_owned(), latency(&interval.service));
    map.insert(
        "attempt".to_owned(),
        interval.attempt.as_ref().map_or(Value::Null, latency),
    );
    map.insert("work".to_owned(), work(&interval.work));
    map.insert(
        "response".to_owned(),
        interval.response.as_ref().map_or(Value::Null, latency),
    );
    map.insert(
        "schedule_lag".to_owned(),
        interval.lag.as_ref().map_or(Value::Null, latency),
    );
    map
}

fn counts(counts: &Counts) -> Map<String, Value> {
    let by_class = counts
        .failed
        .iter()
        .map(|(failure, number)| (failure.code().to_owned(), json!(number)));
    let value = json!({
        "committed": counts.committed,
        "failed": counts.failed_total(),
        "failed_by_class": by_class.collect::<Map<_, _>>(),
        "skipped": counts.skipped,
        "unknown": counts.unknown,
        "late": counts.late,
        "retries": counts.retries,
        "retried": counts.retried,
    });
    match value {
        Value::Object(map) => map,
        _ => Map::new(),
    }
}

fn work(work: &Work) -> Value {
    json!({
        "given_up": work.given_up,
        "kept_us": work.kept_us,
        "kept_statements": work.kept_statements,
        "lost_tries": work.lost_tries,
        "lost_us": work.lost_us,
        "lost_statements": work.lost_statements,
        "lost_time_share": work.lost_time_share(),
        "lost_statement_share": work.lost_statement_share(),
        "backoff_us": work.backoff_us,
        "server_retries": work.server_retries,
    })
}

fn reason(reason: &Reason) -> Value {
    json!({
        "class": reason.class.name(),
        "reason": reason.name,
        "sqlstate": (!reason.sqlstate.is_empty()).then_some(&reason.sqlstate),
        "tries": reason.tries(),
        "tries_retried": reason.retried,
        "tries_ended": reason.ended,
        "message": reason.message,
    })
}

/// Times of one kind.
pub fn latency(latencies: &Latencies) -> Value {
    let percentiles = PERCENTILES.map(|percent| {
        let name = format!("{}_us", figures::percentile_name(percent).replace('.', "_"));
        (name, json!(latencies.percentile_us(percent)))
    });
    let mut map = Map::from_iter(percentiles);
    map.insert("count".to_owned(), json!(latencies.count()));
    map.insert("mean_us".to_owned(), json!(latencies.mean_us()));
    map.insert("stddev_us".to_owned(), json!(latencies.stddev_us()));
    map.insert(
        "max_us".to_owned(),
        json!((latencies.count() > 0).then(|| latencies.max_us())),
    );
    Value::Object(map)
}

fn statements(recording: &Recording) -> Value {
    let by_script = recording.scripts.iter().zip(&recording.statements);
    let by_script = by_script.map(|(record, totals)| {
        let commands = record.statements.iter().zip(totals).enumerate();
        let commands =
            commands.map(|(command, (record, totals))| statement(command, record, totals));
        json!({ "script": record.name, "commands": commands.collect::<Vec<_>>() })
    });
    by_script.collect()
}

fn statement(command: usize, record: &StatementRecord, totals: &StatementTotals) -> Value {
    json!({
        "command": command,
        "text": record.text,
        "is_sql": record.is_sql,
        "latency": latency(&totals.latencies),
        "retries": totals.retries,
        "failures": totals.failures + totals.aborts,
    })
}

fn endpoint(endpoint: &EndpointRecord) -> Value {
    let mut map = counts(&endpoint.counts);
    let whole = [
        ("clients", endpoint.clients),
        ("connections", endpoint.connections),
        ("lost", endpoint.lost),
        ("arrived", endpoint.arrived),
    ];
    map.extend(whole.map(|(name, number)| (name.to_owned(), json!(number))));
    map.insert("name".to_owned(), json!(endpoint.name));
    map.insert("service".to_owned(), latency(&endpoint.service));
    map.insert(
        "response".to_owned(),
        endpoint.response.as_ref().map_or(Value::Null, latency),
    );
    Value::Object(map)
}

fn event(event: &Event) -> Value {
    json!({ "at_us": event.at_us, "kind": event.kind.word(), "text": event.text })
}

fn client_cpu(recording: &Recording) -> Value {
    let (user_us, system_us) = recording.cpu_us();
    let io = recording.io.as_ref();
    let threads = recording.threads.iter().map(|thread| {
        json!({
            "wall_us": thread.wall_us,
            "user_us": thread.user_us,
            "system_us": thread.system_us,
            "waited_us": thread.waited_us,
            "busy_share": thread.busy_share(),
            "wanted_share": thread.wanted_share(),
            "waited_share": thread.waited_share(),
            "deadline_lag_max_us": thread.lag_max_us,
            "event_loop_lag_p99_us": thread.lag_p99_us,
        })
    });
    json!({
        "user_us": user_us,
        "system_us": system_us,
        "us_per_transaction": recording.cpu_us_per_transaction(),
        "io": io.map(|io| io.backend.name()),
        "why_not_io_uring": io.and_then(|io| io.why_not_uring.as_deref()),
        "threads": threads.collect::<Vec<_>>(),
    })
}

fn second(recording: &Recording, second: &Second) -> Value {
    let scripts = recording
        .scripts
        .iter()
        .zip(&second.scripts)
        .map(|(record, script)| {
            let mut map = counts(&script.counts);
            map.insert("name".to_owned(), json!(record.name));
            map.insert("service".to_owned(), latency(&script.service.unpack()));
            let response = script
                .response
                .as_ref()
                .map(|packed| latency(&packed.unpack()));
            map.insert("response".to_owned(), json!(response));
            map.insert("work".to_owned(), work(&script.work));
            let done: Vec<Units> = script.units.iter().map(PackedUnits::unpack).collect();
            let done = units::json(&recording.operations, &done, second.length_us);
            map.insert("units".to_owned(), done);
            Value::Object(map)
        });
    json!({
        "start_us": second.start_us,
        "length_us": second.length_us,
        "warmup": second.warmup,
        "scripts": scripts.collect::<Vec<_>>(),
    })
}
