//! A trial from the store in the form that a run has it, so that the same reports show both.

use std::collections::BTreeMap;
use std::time::SystemTime;

use pgdyno_measurement::{
    ClientsEnd, Connections, End, Outages, Reason, Recording, ScriptInterval, ScriptRecord,
    StatementRecord, StatementTotals, ThreadUse,
};
use pgdyno_spec::ErrorClass;
use serde::de::DeserializeOwned;

use crate::db::{self, At, Error, Optional, Row};
use pgdyno_model::{Findings, Note, Outcome, State};
use pgdyno_spec::{Failure, TrialSpec};

use super::{
    Store, client_time, endpoints, engine, findings, observed, packed, seconds, slots, stalls,
    texts, units, worst,
};
use pgdyno_model::document::{Generators, TargetKind};
use pgdyno_model::notebook::BROKEN_INVARIANT;
use pgdyno_model::observed::Observed;

impl Store {
    /// All that is stored of a trial. Of one that did not end, figures that are only
    /// known then (statements, connections, threads) are empty.
    ///
    /// # Errors
    /// The store cannot be read.
    pub fn outcome(&self, number: i64) -> Result<Outcome, Failure> {
        self.read_outcome(number)
            .map_err(self.failed("cannot read"))
    }

    /// The validity notes of a trial.
    ///
    /// # Errors
    /// The store cannot be read.
    pub fn notes(&self, number: i64) -> Result<Vec<Note>, Failure> {
        let sql = "SELECT notes FROM trial WHERE number = ?";
        self.db
            .query_row(sql, [number], |row| json(row, "notes"))
            .map_err(self.failed("cannot read"))
    }

    /// The texts of a trial's events of one kind, in their order.
    ///
    /// # Errors
    /// The store cannot be read.
    pub fn events(&self, number: i64, kind: &str) -> Result<Vec<String>, Failure> {
        let read = || {
            texts::check(&self.db, number)?;
            let sql = "SELECT text FROM event WHERE trial = ? AND kind = ? ORDER BY at_us, event";
            let params = crate::db::params![number, kind];
            self.db.prepare(sql).query_map(params, |row| row.get(0))
        };
        let texts: db::Result<Vec<String>> = read();
        texts.map_err(self.failed("cannot read"))
    }

    fn read_outcome(&self, number: i64) -> db::Result<Outcome> {
        texts::check(&self.db, number)?;
        let recording = self.recording(number)?;
        let findings = findings::read(&self.db, number)?;
        let observed = observed::read(&self.db, number)?;
        let sql = "SELECT * FROM trial WHERE number = ?";
        let outcome = self
            .db
            .query_row(sql, [number], |row| outcome(row, recording))?;
        let generators = outcome.generators.clone();
        let generators = generators.map(|all| self.numbered(number, all));
        Ok(Outcome {
            findings,
            observed,
            generators: generators.transpose()?,
            ..outcome
        })
    }

    /// Numbers of trials are each notebook's own: those of the parts are not as they were kept when the
    /// trial has come from another.
    fn numbered(&self, number: i64, mut all: Generators) -> db::Result<Generators> {
        let sql = "SELECT part.generator, part.trial FROM part JOIN part whole \
                   ON whole.meeting = part.meeting WHERE whole.trial = ? AND whole.generator = -1 \
                   AND part.generator >= 0";
        let read = |row: &Row<'_>| Ok((row.get(0)?, row.get(1)?));
        let parts: Vec<(u32, i64)> = self.db.prepare(sql).query_map([number], read)?;
        let parts: BTreeMap<u32, i64> = parts.into_iter().collect();
        for one in &mut all.list {
            one.trial = parts.get(&one.generator).copied();
        }
        Ok(all)
    }

    fn recording(&self, number: i64) -> db::Result<Recording> {
        let seconds = seconds::read(&self.db, number)?;
        let (scripts, statements) = self.scripts(number)?;
        // A trial that ended within its first second has none.
        let count = scripts.len();
        let phase = |warmup| {
            let mut phase = seconds::sum(&seconds, warmup);
            phase.scripts.resize_with(count, ScriptInterval::default);
            phase
        };
        let (connections, outages) = self.connecting(number)?;
        let added = client_time::read_added(&self.db, number)?;
        let threads = self.threads(number)?;
        let io = engine::read(&self.db, number)?;
        let operations = units::operations(&self.db, number)?;
        let mut endpoints = endpoints::read(&self.db, number)?;
        stalls::read_of_endpoints(&self.db, number, &mut endpoints)?;
        let events = endpoints::events(&self.db, number)?;
        let reasons = self.reasons(number)?;
        let stalls = stalls::read(&self.db, number)?;
        let client_stalls = stalls::read_of_clients(&self.db, number)?;
        let generator_stops = stalls::read_of_generator(&self.db, number)?;
        let worst = worst::read(&self.db, number)?;
        let slots = slots::read(&self.db, number)?;
        let sql = "SELECT state, started, coalesce(warmup_s, 0) > 0, coalesce(clients, 1), clients_aborted, \
                   clients_disconnected, reason, spec FROM trial WHERE number = ?";
        let recording = self.db.query_row(sql, [number], |row| {
            let clients = ClientsEnd {
                total: row.get(3)?,
                aborted: row.get::<Option<usize>>(4)?.unwrap_or_default(),
                disconnected: row.get::<Option<usize>>(5)?.unwrap_or_default(),
            };
            let reason: Option<String> = row.get(6)?;
            let broken = reason
                .as_deref()
                .and_then(|r| r.strip_prefix(BROKEN_INVARIANT));
            Ok(Recording {
                started: started(&row.get::<String>(1)?),
                warmup: row.get::<bool>(2)?.then(|| phase(true)),
                measured: phase(false),
                end: match broken {
                    Some(_) => End::InvariantBroken,
                    None => end(&row.get::<String>(0)?, &clients, exits_on_abort(row)?),
                },
                broken_invariant: broken.map(str::to_owned),
                by_client: Vec::new(),
                receipts: Vec::new(),
                history: None,
                drawn: BTreeMap::new(),
                due: None,
                undone: 0,
                missing_rows: 0,
                scripts,
                operations,
                statements,
                reasons,
                connections,
                outages,
                endpoints,
                events,
                threads,
                added,
                stalls,
                generator_stops,
                client_stalls,
                worst,
                slots,
                io,
                clients,
                seconds: Vec::new(),
            })
        })?;
        Ok(Recording {
            seconds,
            ..recording
        })
    }

    fn scripts(&self, number: i64) -> db::Result<(Vec<ScriptRecord>, Vec<Vec<StatementTotals>>)> {
        let select = "SELECT name, weight FROM script WHERE trial = ? ORDER BY script";
        let script = |row: &Row<'_>| {
            Ok(ScriptRecord {
                name: row.get(0)?,
                weight: row.get(1)?,
                statements: Vec::new(),
            })
        };
        let mut scripts = self.db.prepare(select).query_map([number], script)?;
        let mut totals = vec![Vec::new(); scripts.len()];
        let select = self.db.prepare(
            "SELECT script, text, is_sql, retries, failures, aborts, latency_sum_us, \
             latency_sum_squares_us2, latency_max_us, latency_histogram \
             FROM statement WHERE trial = ? ORDER BY script, command",
        );
        select.each([number], |row| {
            let script: usize = row.get(0)?;
            let (Some(record), Some(totals)) = (scripts.get_mut(script), totals.get_mut(script))
            else {
                return Ok(());
            };
            record.statements.push(StatementRecord {
                text: row.get(1)?,
                is_sql: row.get(2)?,
            });
            let count = |column| {
                row.get::<Option<u64>>(column)
                    .map(Option::unwrap_or_default)
            };
            totals.push(StatementTotals {
                latencies: packed::read_latencies(row, 6)?,
                retries: count(3)?,
                failures: count(4)?,
                aborts: count(5)?,
                ..StatementTotals::default()
            });
            Ok(())
        })?;
        Ok((scripts, totals))
    }

    fn connecting(&self, number: i64) -> db::Result<(Connections, Outages)> {
        let found = self.db.query_row(
            "SELECT initial_us, latency_sum_us, latency_sum_squares_us2, latency_max_us, \
             latency_histogram, outages, outages_unended, outage_attempts, outage_measured_us, outage_sum_us, \
             outage_sum_squares_us2, outage_max_us, outage_histogram \
             FROM connecting WHERE trial = ?",
            [number],
            |row| {
                let connections = Connections {
                    initial_us: row.get(0)?,
                    latencies: packed::read_latencies(row, 1)?,
                    ..Connections::default()
                };
                let outages = Outages {
                    count: row.get(5)?,
                    unended: row.get(6)?,
                    attempts: row.get(7)?,
                    measured_us: row.get(8)?,
                    lengths: packed::read_latencies(row, 9)?,
                };
                Ok((connections, outages))
            },
        );
        found.optional().map(Option::unwrap_or_default)
    }

    fn reasons(&self, number: i64) -> db::Result<Vec<Reason>> {
        let select = self.db.prepare(
            "SELECT class, reason, sqlstate, tries_retried, tries_ended, message FROM reason \
             WHERE trial = ? ORDER BY tries_retried + tries_ended DESC, reason",
        );
        select.query_map([number], |row| {
            Ok(Reason {
                class: ErrorClass::from_name(&row.get::<String>(0)?),
                name: row.get(1)?,
                sqlstate: row.get(2)?,
                retried: row.get(3)?,
                ended: row.get(4)?,
                message: row.get(5)?,
            })
        })
    }

    fn threads(&self, number: i64) -> db::Result<Vec<ThreadUse>> {
        let select = self.db.prepare(
            "SELECT wall_us, user_us, system_us, waited_us, lag_max_us, lag_p99_us \
             FROM thread WHERE trial = ? ORDER BY thread",
        );
        select.query_map([number], |row| {
            Ok(ThreadUse {
                wall_us: row.get(0)?,
                user_us: row.get(1)?,
                system_us: row.get(2)?,
                waited_us: row.get(3)?,
                lag_max_us: row.get(4)?,
                lag_p99_us: row.get(5)?,
            })
        })
    }
}

fn outcome(row: &Row<'_>, recording: Recording) -> db::Result<Outcome> {
    let variables: BTreeMap<String, String> = json(row, "variables")?;
    let kind: String = row.get("target_kind")?;
    let spec: TrialSpec = json(row, "spec")?;
    Ok(Outcome {
        spec,
        workload: row.get("workload")?,
        pack_sha256: row.get("pack_sha256")?,
        variables: variables.into_iter().collect(),
        target: row.get("target")?,
        target_kind: match kind.as_str() {
            "own" => TargetKind::Own,
            "kept" => TargetKind::Kept,
            _ => TargetKind::Named,
        },
        facts: json(row, "facts")?,
        host: json(row, "host")?,
        recording,
        findings: Findings::default(),
        observed: Observed::default(),
        generators: match row.get::<Option<String>>("generators")? {
            Some(_) => Some(json(row, "generators")?),
            None => None,
        },
        notes: json(row, "notes")?,
    })
}

fn started(text: &str) -> SystemTime {
    pgdyno_model::stamp::read(text).unwrap_or(SystemTime::UNIX_EPOCH)
}

/// A trial that is still under way, or whose pgdyno died, looks interrupted.
fn end(state: &str, clients: &ClientsEnd, exits_on_abort: bool) -> End {
    match State::from_name(state) {
        Some(State::Running) => End::Running,
        Some(State::Complete | State::Partial) => End::Complete,
        Some(State::Failed) if clients.aborted == clients.total => End::AllClientsAborted,
        // Which thread it was is not kept; none but pgbench's own text names it.
        Some(State::Failed) if clients.aborted > 0 && exits_on_abort => {
            End::ClientAborted { thread: 0 }
        }
        // Some clients have ended early, the run has not.
        Some(State::Failed) if clients.aborted > 0 => End::Complete,
        _ => End::Interrupted,
    }
}

/// Whether its program ends when a client does: pgbench's option.
fn exits_on_abort(row: &Row<'_>) -> db::Result<bool> {
    let spec: serde_json::Value = row.get("spec")?;
    Ok(spec["exit_on_abort"].as_bool().unwrap_or_default())
}

fn json<T: DeserializeOwned>(row: &Row<'_>, column: impl At + std::fmt::Display) -> db::Result<T> {
    let text: String = row.get(column)?;
    serde_json::from_str(&text).map_err(|e| Error::Unreadable(format!("column {column}: {e}")))
}
