//! How a side was measured: what is looked through for differences.

use std::collections::BTreeMap;

use pgdyno_model::document::{Facts, Host};
use pgdyno_model::notebook::{Notebook, TrialRow};
use pgdyno_model::{Fact, Outcome};
use pgdyno_spec::{Failure, TrialSpec};
use serde::Serialize;
use serde_json::Value;

use crate::documents;

#[derive(Serialize)]
struct Surroundings {
    pgdyno: String,
    trial: TrialSpec,
    variables: BTreeMap<String, String>,
    /// Statements by their place: scripts may have changed between the trials.
    statement: BTreeMap<usize, String>,
    target: String,
    server: Facts,
    host: Host,
}

/// What is around the first of a side's trials; `null` where there is none.
///
/// # Errors
/// The notebook cannot be read.
pub fn surroundings(store: &dyn Notebook, trials: &[&TrialRow]) -> Result<Value, Failure> {
    trials.first().map_or(Ok(Value::Null), |first| {
        Ok(around(first, &store.outcome(first.number)?))
    })
}

/// What is around a trial: options, settings, server and host. What every trial has of its own is left out.
fn around(trial: &TrialRow, outcome: &Outcome) -> Value {
    let run = documents::run(outcome);
    let statements = run.statements.iter().flat_map(|script| &script.commands);
    // A pack is known by its content.
    let statements = statements.filter(|_| trial.pack_sha256.is_none());
    let statements = statements.enumerate();
    let around = Surroundings {
        pgdyno: trial.pgdyno.clone(),
        trial: TrialSpec {
            // Each repeat has its own.
            seed: None,
            ..run.trial
        },
        statement: statements
            .map(|(place, statement)| (place + 1, statement.text.clone()))
            .collect(),
        variables: run.workload.variables,
        target: run.target.title,
        server: Facts {
            // It grows with every trial.
            database_size_bytes: Fact::default(),
            ..run.target.facts
        },
        host: run.host,
    };
    serde_json::to_value(around).unwrap_or_default()
}
