//! The measurement: the engine with a SELECT of one row, by threads, clients and query mode.

use std::sync::Arc;
use std::time::Duration;

use pgdyno_drive::{Control, Drive, Live};
use pgdyno_measurement::{DriveError, Interval, Message, Recording};
use pgdyno_model::document::{CeilingRow, Host, SelfCalibration, ceiling};
use pgdyno_model::{Note, Severity};
use pgdyno_platform::interrupt::Interrupts;
use pgdyno_platform::{io::Choice, limits};
use pgdyno_spec::{Exit, Failure, QueryMode, Retry, Until};
use pgdyno_wire::{Addr, Candidate, Login};
use pgdyno_workload::mix::WeightedScript;
use time::OffsetDateTime;
use time::format_description::well_known::Rfc3339;

use super::answering::Answering;
use crate::compile::compile;
use crate::interrupt::EndOnInterrupt;

/// pgbench's select-only transaction, but for its random number.
const STATEMENT: &str = "SELECT abalance FROM pgbench_accounts WHERE aid = 1;\n";

/// What is to be measured: every combination in which each thread has a client.
#[derive(Debug, Clone)]
pub struct Wanted {
    pub threads: Vec<usize>,
    pub clients: Vec<usize>,
    pub query_modes: Vec<QueryMode>,
    /// How long each is measured.
    pub duration: Duration,
    /// How sockets are waited for.
    pub io: Choice,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Combination {
    pub threads: usize,
    pub clients: usize,
    pub query_mode: QueryMode,
}

impl Wanted {
    /// In the order in which they are measured.
    pub fn combinations(&self) -> Vec<Combination> {
        let mut all = Vec::new();
        for &query_mode in &self.query_modes {
            for &threads in &self.threads {
                let enough = self.clients.iter().filter(|clients| **clients >= threads);
                all.extend(enough.map(|&clients| Combination {
                    threads,
                    clients,
                    query_mode,
                }));
            }
        }
        all
    }

    /// Measures them on this server; `tell` is given each combination before it is measured, with its
    /// number from 1. The flag says whether all were measured: Ctrl-C ends it early.
    ///
    /// # Errors
    /// There is no combination; the server or an event loop fails.
    pub fn measure(
        &self,
        server: &Answering,
        interrupts: &'static Interrupts,
        tell: &mut dyn FnMut(usize, Combination),
    ) -> Result<(SelfCalibration, bool), Failure> {
        let combinations = self.combinations();
        if combinations.is_empty() {
            let text = "--clients: every number of clients is below every number of threads";
            return Err(Failure::with(Exit::Usage, text).hint("each thread needs a client"));
        }
        let calibrated = OffsetDateTime::now_utc().format(&Rfc3339);
        // Where it cannot be raised, connecting says which client had no descriptor.
        let _ = limits::raise_open_files();
        let control = Control::default();
        let _until_then = EndOnInterrupt::on(&control, interrupts, 0)?;
        let host = Host::read();
        let (mut rows, mut io) = (Vec::new(), String::new());
        for (number, of) in (1..).zip(&combinations) {
            if control.is_stopping() {
                break;
            }
            tell(number, *of);
            let drive = self.drive(server, *of)?;
            let recording = match drive.run(&control, &mut Quiet) {
                Ok(_) | Err(DriveError::Interrupted) if control.is_stopping() => break,
                run => run.map_err(|e| Failure::new(format!("the built-in server: {e}")))?,
            };
            if let Some(used) = &recording.io {
                used.backend.name().clone_into(&mut io);
            }
            rows.push(row(*of, &recording)?);
        }
        let is_complete = rows.len() == combinations.len();
        let calibration = SelfCalibration {
            format: SelfCalibration::FORMAT,
            pgdyno: env!("CARGO_PKG_VERSION").to_owned(),
            calibrated: calibrated.unwrap_or_default(),
            notes: shares_cpus(&rows, host.cpus).into_iter().collect(),
            host,
            io,
            rows,
        };
        Ok((calibration, is_complete))
    }

    fn drive(&self, server: &Answering, of: Combination) -> Result<Drive, Failure> {
        let script = WeightedScript::plain("self", STATEMENT.to_owned(), 1);
        let (scripts, names) = compile(
            &[script],
            of.query_mode,
            Retry::default(),
            false,
            (false, false),
        )?;
        let login = Arc::new(Login::new("pgdyno", "pgdyno"));
        let candidate = Candidate::new(Addr::Unix(server.socket().into()), login);
        Ok(Drive {
            query_mode: of.query_mode,
            clients: of.clients,
            threads: of.threads,
            io: self.io,
            until: Until::Elapsed(self.duration),
            grace: Duration::from_secs(1),
            ..Drive::new(vec![vec![candidate]], scripts, names)
        })
    }
}

fn row(of: Combination, recording: &Recording) -> Result<CeilingRow, Failure> {
    let measured = &recording.measured;
    let (trips, (user_us, system_us)) = (measured.time.round_trips, recording.cpu_us());
    let cpu_us = (user_us + system_us) as f64 / trips as f64;
    if recording.clients.aborted > 0 || trips == 0 || cpu_us <= 0.0 {
        return Err(Failure::new(format!(
            "the built-in server did not answer: {} of {} clients ended early after {trips} round trips",
            recording.clients.aborted, of.clients
        )));
    }
    let latencies = measured.all().service;
    Ok(CeilingRow {
        threads: of.threads,
        clients: of.clients,
        query_mode: of.query_mode.name().to_owned(),
        measured_per_s: trips as f64 * 1e6 / measured.elapsed_us as f64,
        cpu_us_per_round_trip: cpu_us,
        ceiling_per_s: ceiling::per_s(of.threads, cpu_us),
        p50_us: latencies.percentile_us(50.0),
        p99_us: latencies.percentile_us(99.0),
    })
}

/// The built-in server needs about as many CPUs as the generator.
fn shares_cpus(rows: &[CeilingRow], cpus: usize) -> Option<Note> {
    let most = rows.iter().map(|row| row.threads).max()?;
    (most * 2 > cpus).then(|| {
        Note::new(
            "self-shares-cpus",
            Severity::Notice,
            format!(
                "generator and built-in server share {}: throughput is a lower bound; the ceiling comes from \
                 the generator's own CPU time",
                pgdyno_spec::text::plural(cpus as u64, "CPU")
            ),
            "compare the ceiling, not the measured rate, with a trial's load",
        )
    })
}

/// What goes wrong is in the recording.
struct Quiet;

impl Live for Quiet {
    fn second(&mut self, _: &Interval) {}
    fn message(&mut self, _: &Message) {}
    fn event(&mut self, _: &pgdyno_measurement::Event) {}
}
