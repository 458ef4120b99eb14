//! How trials end in the store: with an outcome, with a reason, or found dead.

use pgdyno_model::document::Interval;
use pgdyno_model::notebook::state;
use pgdyno_model::stamp::stamp;
use std::time::{Duration, SystemTime};

use crate::db::{self, Db, Optional, Value, params};
use pgdyno_measurement::{Latencies, Phase, Recording};
use pgdyno_platform::process::{Identity, Life};
use serde_json::json;

use super::packed::whole;
use super::{
    Store, client_time, endpoints, engine, findings, happening, packed, seconds, slots, stalls,
    worst,
};
use pgdyno_model::{Note, Outcome, State};
use pgdyno_spec::{
    Failure,
    text::{self, PERCENTILES},
};

/// The kind of the event that says when clients began to work.
pub const BEGAN: &str = "began";

/// Columns of `trial_ended` with their values.
pub type Columns = Vec<(String, Value)>;

impl Store {
    /// Writes what the seconds do not have, and syncs the file. A reader `also` gets this.
    pub(super) fn end(
        &mut self,
        number: i64,
        outcome: &Outcome,
        also: Option<Note>,
    ) -> Result<(), Failure> {
        let failed = self.failed("cannot write to");
        let recording = &outcome.recording;
        let (state, reason) = state(outcome);
        let mut columns = figures(&recording.measured);
        columns.extend(client(recording));
        columns.extend(interval(recording));
        let notes: Vec<&Note> = outcome.notes.iter().chain(&also).collect();
        let notes = json!(notes).to_string();
        columns.push(("notes".to_owned(), Value::Text(notes)));
        // The view of trials has these as columns.
        let of_view = outcome.findings.iter();
        let of_view = of_view.filter(|(name, _)| findings::COLUMNS.contains(name));
        columns.extend(of_view.map(|(name, it)| (name.to_owned(), Value::Text(it.to_string()))));
        let cpu_us = outcome.observed.cpu_us.map_or(Value::Null, whole);
        columns.push(("observers_cpu_us".to_owned(), cpu_us));
        let generators = outcome.generators.as_ref();
        let generators = generators.map_or(Value::Null, |all| Value::Text(json!(all).to_string()));
        columns.push(("generators".to_owned(), generators));
        columns.extend(ending(state, reason.as_deref(), SystemTime::now()));
        self.durably(|connection| {
            insert(connection, number, columns.clone())?;
            findings::write(connection, number, &outcome.findings)?;
            statements(connection, number, recording)?;
            reasons(connection, number, recording)?;
            connecting(connection, number, recording)?;
            threads_used(connection, number, recording)?;
            client_time::write_added(connection, number, recording)?;
            stalls::write(connection, number, recording)?;
            worst::write(connection, number, recording)?;
            if let Some(slots) = &recording.slots {
                slots::write(connection, number, slots)?;
            }
            if let Some(io) = &recording.io {
                engine::write(connection, number, io)?;
            }
            endpoints::write(connection, number, recording)
        })
        .map_err(failed)
    }

    /// Ends a trial with totals computed from its seconds.
    pub(super) fn end_early(
        &mut self,
        number: i64,
        state: State,
        reason: &str,
    ) -> Result<(), Failure> {
        let failed = self.failed("cannot write to");
        self.durably(|connection| {
            let mut columns = figures(&seconds::phase(connection, number, false)?);
            columns.extend(ending(state, Some(reason), SystemTime::now()));
            insert(connection, number, columns)
        })
        .map_err(failed)
    }

    /// One transaction that is on disk when this returns, with all that came before it.
    fn durably(&mut self, work: impl FnMut(&Db) -> db::Result<()>) -> db::Result<()> {
        self.db.execute_batch("PRAGMA synchronous = FULL")?;
        self.db.transaction(work)?;
        // Into the file itself, as far as other readers and the disk let it. What they do not is safe
        // in the journal, which the commit has synced.
        let _ = self.db.execute_batch("PRAGMA wal_checkpoint(PASSIVE)");
        Ok(())
    }

    /// Trials that say they run, while their process of this host is gone, are aborted. Gives how many.
    pub(super) fn abort_the_dead(&self) -> Result<usize, Failure> {
        let failed = self.failed("cannot write to");
        let dead = dead(&self.db).map_err(&failed)?;
        for number in &dead {
            let aborted = self.db.transaction(|db| abort(db, *number));
            aborted.map_err(&failed)?;
        }
        Ok(dead.len())
    }
}

/// Trials that say they run, by the index of those: trials copied from a server have their process for ever.
pub(super) const MAY_RUN: &str = "SELECT number, pid, pid_started, pid_namespace, boot_id, host_name \
     FROM trial_begun WHERE pid IS NOT NULL \
     AND NOT EXISTS (SELECT 1 FROM trial_ended WHERE trial = number)";

fn dead(connection: &Db) -> db::Result<Vec<i64>> {
    let rows = connection.prepare(MAY_RUN).query_map([0; 0], |row| {
        let process = Identity {
            pid: row.get(1)?,
            started_ticks: row.get(2)?,
            pid_namespace: row.get(3)?,
            boot_id: row.get(4)?,
            host: row.get(5)?,
        };
        Ok((row.get(0)?, process))
    })?;
    let dead = rows.into_iter().filter(|(_, p)| p.life() == Life::Gone);
    Ok(dead.map(|(number, _)| number).collect())
}

fn abort(db: &Db, number: i64) -> db::Result<()> {
    let sql = "SELECT created FROM trial WHERE number = ? AND state = 'running'";
    let created = db.query_row(sql, [number], |row| row.get(0)).optional()?;
    let Some(created) = created else {
        // Another pgdyno was faster.
        return Ok(());
    };
    let started: String = happening::text_of(db, number, BEGAN)?.unwrap_or(created);
    let last_us: u64 = db.query_row(
        "SELECT coalesce(max(start_us + length_us), 0) FROM second WHERE trial = ?",
        [number],
        |row| row.get(0),
    )?;
    let started = pgdyno_model::stamp::read(&started).unwrap_or_else(SystemTime::now);
    let ended = started + Duration::from_micros(last_us);
    let mut columns = figures(&seconds::phase(db, number, false)?);
    let reason = "its pgdyno ended before the trial did";
    columns.extend(ending(State::Aborted, Some(reason), ended));
    insert(db, number, columns)
}

fn ending(state: State, reason: Option<&str>, ended: SystemTime) -> Columns {
    let reason = reason.map_or(Value::Null, |reason| Value::Text(reason.to_owned()));
    vec![
        ("state".to_owned(), Value::Text(state.name().to_owned())),
        ("reason".to_owned(), reason),
        ("ended".to_owned(), Value::Text(stamp(ended))),
    ]
}

/// The figures of the measured time.
pub fn figures(phase: &Phase) -> Columns {
    let all = phase.all();
    let counts = &all.counts;
    let numbers = [
        ("elapsed_us", phase.elapsed_us),
        ("committed", counts.committed),
        ("failed", counts.failed_total()),
        ("skipped", counts.skipped),
        ("unknown", counts.unknown),
        ("late", counts.late),
        ("retries", counts.retries),
        ("retried", counts.retried),
        ("given_up", all.work.given_up),
        ("cut_off", all.work.cut_off),
        ("kept_us", all.work.kept_us),
        ("kept_statements", all.work.kept_statements),
        ("lost_tries", all.work.lost_tries),
        ("lost_us", all.work.lost_us),
        ("lost_statements", all.work.lost_statements),
        ("backoff_us", all.work.backoff_us),
        ("server_retries", all.work.server_retries),
    ];
    let mut columns: Columns = numbers
        .into_iter()
        .map(|(name, number)| (name.to_owned(), whole(number)))
        .collect();
    let goodput = Value::Real(phase.goodput_per_s());
    columns.push(("goodput_per_s".to_owned(), goodput));
    columns.extend(latency("service", &all.service));
    if let Some(response) = &all.response {
        columns.extend(latency("response", response));
    }
    if let Some(attempt) = &all.attempt {
        columns.extend(latency("attempt", attempt));
    }
    columns
}

fn latency(what: &str, latencies: &Latencies) -> Columns {
    let percentile = |percent| {
        let name = text::percentile_name(percent).replace('.', "_");
        let value = latencies.percentile_us(percent).map_or(Value::Null, whole);
        (format!("{what}_{name}_us"), value)
    };
    let mean = latencies.mean_us().map_or(Value::Null, Value::Real);
    let max = (latencies.count() > 0).then(|| latencies.max_us());
    let mut columns = vec![
        (format!("{what}_mean_us"), mean),
        (format!("{what}_max_us"), max.map_or(Value::Null, whole)),
    ];
    columns.extend(PERCENTILES.map(percentile));
    columns
}

fn client(recording: &Recording) -> Columns {
    let clients = &recording.clients;
    let numbers = [
        ("clients_aborted", clients.aborted as u64),
        ("clients_disconnected", clients.disconnected as u64),
    ];
    let numbers = numbers.map(|(name, n)| (name.to_owned(), whole(n)));
    of_threads(recording).into_iter().chain(numbers).collect()
}

pub fn of_threads(recording: &Recording) -> Columns {
    let (user_us, system_us) = recording.cpu_us();
    let numbers = [("client_user_us", user_us), ("client_system_us", system_us)];
    numbers.map(|(name, n)| (name.to_owned(), whole(n))).into()
}

/// The 95 % interval of the response times' p99, which is that of the trial's document; nothing where there is none.
pub fn interval(recording: &Recording) -> Columns {
    let Some(p99) = Interval::of_response_p99(recording) else {
        return Columns::new();
    };
    let end = |us: Option<u64>| us.map_or(Value::Null, whole);
    let effective = p99.effective.map_or(Value::Null, Value::Real);
    vec![
        ("response_p99_low_us".to_owned(), end(p99.low_us)),
        ("response_p99_high_us".to_owned(), end(p99.high_us)),
        ("response_p99_effective".to_owned(), effective),
    ]
}

fn insert(db: &Db, number: i64, mut columns: Columns) -> db::Result<()> {
    let began = happening::text_of(db, number, BEGAN)?;
    let sql = "SELECT coalesce(?, created) FROM trial_begun WHERE number = ?";
    let started = db.query_row(sql, params![began, number], |row| row.get(0))?;
    columns.push(("started".to_owned(), Value::Text(started)));
    columns.push(("trial".to_owned(), Value::Integer(number)));
    let (names, values): (Vec<_>, Vec<_>) = columns.into_iter().unzip();
    let (names, places) = (names.join(", "), vec!["?"; values.len()].join(", "));
    let sql = format!("INSERT INTO trial_ended ({names}) VALUES ({places}) ON CONFLICT DO NOTHING");
    db.execute(&sql, values)?;
    // It leaves the index of those that run. On a server not all roles may change rows.
    if let Db::File(_) = db {
        let sql = "UPDATE trial_begun SET pid = NULL WHERE number = ?";
        db.execute(sql, [number])?;
    }
    Ok(())
}

fn statements(connection: &Db, number: i64, recording: &Recording) -> db::Result<()> {
    let insert =
        connection.prepare("INSERT INTO command_total VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)");
    for (script, statements) in recording.statements.iter().enumerate() {
        for (command, totals) in statements.iter().enumerate() {
            let counted = [
                totals.latencies.count(),
                totals.retries,
                totals.failures,
                totals.aborts,
            ];
            let mut row = params![number, script, command];
            row.extend(counted.map(whole));
            row.extend(packed::columns(Some(&totals.latencies.pack())));
            insert.execute(row)?;
        }
    }
    Ok(())
}

fn reasons(connection: &Db, number: i64, recording: &Recording) -> db::Result<()> {
    for reason in &recording.reasons {
        let (retried, ended) = (whole(reason.retried), whole(reason.ended));
        connection.execute(
            "INSERT INTO reason VALUES (?, ?, ?, ?, ?, ?, ?)",
            params![
                number,
                reason.class.name(),
                reason.name,
                reason.sqlstate,
                retried,
                ended,
                reason.message
            ],
        )?;
    }
    Ok(())
}

fn connecting(connection: &Db, number: i64, recording: &Recording) -> db::Result<()> {
    let (connections, outages) = (&recording.connections, &recording.outages);
    let mut row = vec![
        Value::Integer(number),
        whole(connections.initial_us),
        whole(connections.latencies.count()),
    ];
    row.extend(packed::columns(Some(&connections.latencies.pack())));
    let counted = [outages.count, outages.unended, outages.attempts];
    row.extend(counted.map(whole));
    row.push(whole(outages.measured_us));
    row.extend(packed::columns(Some(&outages.lengths.pack())));
    let places = vec!["?"; row.len()].join(", ");
    let sql = format!("INSERT INTO connecting VALUES ({places})");
    connection.execute(&sql, row)?;
    Ok(())
}

fn threads_used(connection: &Db, number: i64, recording: &Recording) -> db::Result<()> {
    for (index, thread) in recording.threads.iter().enumerate() {
        let used = [
            thread.wall_us,
            thread.user_us,
            thread.system_us,
            thread.waited_us,
            thread.lag_max_us,
        ];
        let [wall, user, system, waited, lag] = used.map(whole);
        connection.execute(
            "INSERT INTO thread VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
            params![
                number,
                index,
                wall,
                user,
                system,
                waited,
                lag,
                thread.lag_p99_us.map(whole)
            ],
        )?;
    }
    Ok(())
}
