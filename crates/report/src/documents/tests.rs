//! What `--json` prints is what docs/json.md says.

use std::collections::BTreeSet;

use pgdyno_measurement::{
    EndpointRecord, Event, EventKind, Reason, ScriptInterval, ScriptRecord, SlowTransaction,
    StatementRecord, StatementTotals, ThreadUse,
};
use pgdyno_spec::ErrorClass;
use serde_json::Value;

use super::{stored, whole};
use pgdyno_model::document::ClientCourse;
use pgdyno_model::document::phases::PhaseFigures;
use pgdyno_model::document::{
    ClockReading, CommandEnd, CommandRun, Disturbed, Generator, GeneratorEnd, Generators,
    Staleness, Truth,
};
use pgdyno_model::notebook::TrialRow;
use pgdyno_model::{Fact, Outcome};
use pgdyno_store::{Store, example};

const DOCS: &str = include_str!("../../../../docs/json.md");

/// Objects whose fields are names of other things than the document's.
const FREE: [&str; 7] = [
    "facts",
    "variables",
    "failed_by_class",
    "counted",
    "details",
    "leaders",
    "replicas",
];
/// Of these the docs say what they are about.
const UNNAMED: [&str; 1] = ["host"];

/// One of everything that has a row in a list.
fn outcome() -> (Outcome, TrialRow) {
    let dir = tempfile::tempdir().unwrap();
    let store = Store::open(&dir.path().join("s")).unwrap();
    let writer = store.begin(&example()).unwrap();
    let number = writer.number();
    writer.fail("over").unwrap();
    let mut outcome = store.outcome(number).unwrap();
    let recording = &mut outcome.recording;
    recording.scripts = vec![ScriptRecord {
        name: "one".to_owned(),
        weight: 1,
        statements: vec![StatementRecord {
            text: "SELECT 1".to_owned(),
            is_sql: true,
        }],
    }];
    recording.statements = vec![vec![StatementTotals::default()]];
    recording.measured.scripts = vec![ScriptInterval::default()];
    recording.warmup = Some(pgdyno_measurement::Phase::default());
    recording.endpoints = vec![EndpointRecord::default()];
    recording.threads = vec![ThreadUse::default()];
    recording.events = vec![Event {
        at_us: 1,
        kind: EventKind::Outage,
        text: "lost".to_owned(),
    }];
    recording.worst = vec![SlowTransaction {
        script: 0,
        client: 0,
        ended_us: 1,
        latency_us: 1,
    }];
    recording.reasons = vec![Reason {
        class: ErrorClass::Serialization,
        name: "40001".to_owned(),
        sqlstate: "40001".to_owned(),
        retried: 1,
        ended: 0,
        message: "no".to_owned(),
    }];
    outcome.generators = Some(generators());
    crate::cluster::tests::three_nodes(&mut outcome);
    outcome.recording.slots = Some(pgdyno_measurement::Slots::default());
    outcome.findings.put(&disturbed());
    outcome.findings.put(&Fact::Known(Truth::default()));
    outcome.findings.put(&Staleness::default());
    outcome
        .findings
        .put(&Fact::Known(crate::isolation::tests::broken()));
    outcome
        .findings
        .insert("rounds".to_owned(), serde_json::json!(7));
    (outcome, store.trial(&number.to_string()).unwrap())
}

fn disturbed() -> Disturbed {
    let run = CommandRun {
        command: "kill".to_owned(),
        due_us: Some(1),
        began_us: Some(1),
        ended_us: Some(2),
        end: CommandEnd::Exited,
        exit_code: Some(0),
        signal: None,
        reason: None,
        output: String::new(),
        output_left_out: 0,
        migration: None,
    };
    Disturbed {
        commands: vec![run.clone()],
        undo: Some(run),
        ..Disturbed::default()
    }
}

fn generators() -> Generators {
    let one = Generator {
        generator: 0,
        end: GeneratorEnd::Complete,
        trial: Some(2),
        host: Some("here".to_owned()),
        clients: 1,
        committed: 1,
        goodput_per_s: 1.0,
        cpu_us: Some(1),
        busiest_share: Some(0.5),
        lag_max_us: Some(1),
        added_mean_us: Some(1.0),
        began_late_us: Some(1),
        clock: Some(ClockReading {
            offset_us: 1,
            uncertainty_us: 1,
        }),
        clock_drift_us: Some(1),
        until_us: 1,
        committed_by_second: vec![1],
    };
    Generators {
        asked: 1,
        list: vec![one],
        start_spread_us: Some(1),
        start_uncertainty_us: Some(1),
    }
}

fn quoted(text: &str) -> BTreeSet<&str> {
    text.split('`').skip(1).step_by(2).collect()
}

fn keys<'a>(value: &'a Value, found: &mut BTreeSet<&'a str>) {
    match value {
        Value::Object(of) => {
            for (key, value) in of {
                found.insert(key);
                if !FREE.contains(&&**key) && !UNNAMED.contains(&&**key) {
                    keys(value, found);
                }
            }
        }
        Value::Array(of) => of.iter().for_each(|value| keys(value, found)),
        _ => {}
    }
}

#[test]
fn the_document_has_the_fields_that_the_docs_name() {
    let (outcome, row) = outcome();
    let mut document = whole(&outcome);
    // Of a rate that moves.
    document.trial.run.phases = vec![PhaseFigures {
        clients_asked: Some(1.0),
        clients_working: Some(1.0),
        ..PhaseFigures::default()
    }];
    document.trial.run.rate_steps = vec![Default::default()];
    document.trial.run.client_course = Some(ClientCourse {
        seconds: vec![Default::default()],
        ..ClientCourse::default()
    });
    let document = serde_json::to_value(document).unwrap();
    let table = DOCS.split("\n\n").find(|part| part.starts_with("| Field"));
    let first = |row: &'static str| row.split('|').nth(1).map(quoted);
    let reported = table.unwrap().lines().filter_map(first).flatten();
    let has = document.as_object().unwrap().keys().map(String::as_str);
    // Only of a trial from a notebook.
    let has = has.chain(["stored"]);
    assert_eq!(has.collect::<BTreeSet<_>>(), reported.collect());
    let known = quoted(DOCS);
    let mut found = BTreeSet::new();
    keys(&document, &mut found);
    let stored = serde_json::to_value(stored(&row)).unwrap();
    keys(&stored, &mut found);
    let unknown: Vec<_> = found.difference(&known).collect();
    assert!(unknown.is_empty(), "docs/json.md does not name {unknown:?}");
}
