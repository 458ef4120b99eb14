//! Trials that another program ran and kept in a form of its own: totals, no seconds. They are known
//! again by their UUIDs, so that bringing them in twice adds nothing.

use pgdyno_measurement::ScriptRecord;
use pgdyno_model::State;
use pgdyno_model::notebook::{ExperimentHeader, Latency, TrialHeader};
use pgdyno_model::observed::Sample;
use pgdyno_spec::Failure;
use serde_json::json;

use super::packed::whole;
use super::{Copied, Store, begin, samples};
use crate::db::{self, Db, params};

/// What the other program calls an experiment.
#[derive(Debug)]
pub struct ForeignExperiment {
    /// Made of what identifies it there.
    pub uuid: String,
    /// Its name, and what is known of its definition.
    pub header: ExperimentHeader,
    /// When it began, a stamp of the notebook.
    pub created: String,
    pub trials: Vec<ForeignTrial>,
}

/// A trial with what is known of its outcome.
#[derive(Debug)]
pub struct ForeignTrial {
    /// Made of what identifies it there.
    pub uuid: String,
    /// What was run. Its experiment is the one that it belongs to.
    pub header: TrialHeader,
    /// A stamp of the notebook.
    pub started: String,
    /// A stamp of the notebook.
    pub ended: String,
    /// Why there is no result.
    pub failure: Option<String>,
    pub elapsed_us: Option<u64>,
    pub committed: Option<u64>,
    pub goodput_per_s: Option<f64>,
    /// From the scheduled start with a rate, else from the start.
    pub latency: Latency,
    /// Values over time: a name, then microseconds since the start with the value.
    pub series: Vec<(String, Vec<(i64, f64)>)>,
    /// All that the other program has of it, by the names of its tables; JSON.
    pub rows: Vec<(String, serde_json::Value)>,
    /// What the server counted of each statement, the most expensive first.
    pub statements: Vec<ForeignStatement>,
}

/// A statement with its totals over the trial.
#[derive(Debug)]
pub struct ForeignStatement {
    /// As the server has it.
    pub text: String,
    /// How often it was executed.
    pub calls: u64,
    pub time_us: f64,
    pub rows: Option<u64>,
    /// What else there is, by the other program's names; JSON.
    pub details: serde_json::Value,
}

impl Store {
    /// Adds experiments and trials of another program that are not there yet.
    ///
    /// # Errors
    /// The store cannot be written.
    pub fn add_foreign(
        &self,
        program: &str,
        experiments: &[ForeignExperiment],
    ) -> Result<Copied, Failure> {
        let failed = self.failed("cannot write to");
        self.check_version()?;
        let added = self.db.transaction(|db| {
            let mut copied = Copied::default();
            for experiment in experiments {
                add_experiment(db, program, experiment, &mut copied)?;
            }
            Ok(copied)
        });
        added.map_err(failed)
    }
}

fn add_experiment(
    transaction: &Db,
    program: &str,
    experiment: &ForeignExperiment,
    copied: &mut Copied,
) -> db::Result<()> {
    let header = &experiment.header;
    transaction.execute(
        "INSERT INTO experiment (uuid, name, created, definition, host) \
         VALUES (?, ?, ?, ?, '{}') ON CONFLICT (uuid) DO NOTHING",
        params![
            experiment.uuid,
            header.name,
            experiment.created,
            header.definition
        ],
    )?;
    let sql = "SELECT number FROM experiment WHERE uuid = ?";
    let number: i64 = transaction.query_row(sql, [&experiment.uuid], |row| row.get(0))?;
    for trial in &experiment.trials {
        let sql = "SELECT EXISTS (SELECT 1 FROM trial_begun WHERE uuid = ?)";
        if transaction.query_row(sql, [&trial.uuid], |row| row.get(0))? {
            copied.known += 1;
            continue;
        }
        add_trial(transaction, program, number, trial)?;
        copied.trials += 1;
    }
    Ok(())
}

fn add_trial(
    transaction: &Db,
    program: &str,
    experiment: i64,
    trial: &ForeignTrial,
) -> db::Result<()> {
    let header = TrialHeader {
        experiment: Some(experiment),
        scripts: vec![ScriptRecord {
            name: trial.header.workload.clone(),
            weight: 1,
            statements: Vec::new(),
        }],
        ..trial.header.clone()
    };
    let number = begin::insert(transaction, &header, &begin::columns(&header, &trial.uuid))?;
    let state = match trial.failure {
        Some(_) => State::Failed,
        None => State::Complete,
    };
    let kind = match &header.spec.rate {
        Some(_) => "response",
        None => "service",
    };
    let latency = &trial.latency;
    // It began when that program says, and no process of this host ran it.
    let sql = "UPDATE trial_begun SET pgdyno = ?, created = ?, ran_by = NULL, pid = NULL, pid_started = NULL, \
               pid_namespace = NULL, boot_id = NULL, host_name = NULL WHERE number = ?";
    transaction.execute(sql, params![program, trial.started, number])?;
    let sql = format!(
        "INSERT INTO trial_ended (trial, state, reason, started, ended, elapsed_us, committed, \
         goodput_per_s, {kind}_mean_us, {kind}_p90_us, {kind}_max_us) \
         VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"
    );
    let row = params![
        number,
        state.name(),
        trial.failure,
        trial.started,
        trial.ended,
        trial.elapsed_us,
        trial.committed,
        trial.goodput_per_s,
        latency.mean_us,
        latency.p90_us,
        latency.max_us
    ];
    transaction.execute(&sql, row)?;
    observed(transaction, program, number, trial)
}

/// What it has seen, as an instrument of its own.
fn observed(transaction: &Db, program: &str, number: i64, trial: &ForeignTrial) -> db::Result<()> {
    transaction.execute(
        "INSERT INTO instrument VALUES (?, 0, ?, 'its own collectors')",
        params![number, program],
    )?;
    let mut read = Vec::new();
    for (series, (name, course)) in trial.series.iter().enumerate() {
        transaction.execute(
            "INSERT INTO series VALUES (?, ?, 0, ?, '', '', 'gauge')",
            params![number, series, name],
        )?;
        read.extend(course.iter().map(|(at_us, value)| Sample {
            series,
            at_us: *at_us,
            value: *value,
        }));
    }
    samples::write(transaction, number, read.into_iter())?;
    for (table, row) in &trial.rows {
        transaction.execute(
            "INSERT INTO finding VALUES (?, 0, ?, ?, 0) ON CONFLICT DO NOTHING",
            params![number, table, json!(row).to_string()],
        )?;
    }
    for (place, statement) in trial.statements.iter().enumerate() {
        transaction.execute(
            "INSERT INTO server_statement VALUES (?, 0, ?, ?, ?, ?, ?, ?)",
            params![
                number,
                place,
                statement.text,
                whole(statement.calls),
                statement.time_us,
                statement.rows.map(whole),
                statement.details.to_string()
            ],
        )?;
    }
    Ok(())
}
