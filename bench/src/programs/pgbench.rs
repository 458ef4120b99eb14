//! Stock pgbench.

use std::path::{Path, PathBuf};
use std::process::Command;

use super::{BenchProgram, Reported, version_line};
use crate::Error;
use crate::rows::{Job, Workload};
use crate::server::{Bed, LOAD_DATABASE, LOAD_SCALE};

/// pgbench 18 as its makers build it.
pub struct Pgbench {
    path: PathBuf,
    version: String,
}

impl Pgbench {
    /// The one at `path`, when it is of version 18.
    pub fn at(path: PathBuf) -> Result<Self, Error> {
        let version = version_line(&path, "--version")?;
        if !version.starts_with("pgbench (PostgreSQL) 18") {
            let other = format!("{} is no pgbench 18: {version}", path.display());
            return Err(other.into());
        }
        Ok(Self { path, version })
    }

    /// The command that makes and fills pgbench's tables.
    pub fn load(&self, url: &str, scale: u32) -> Command {
        load(&self.path, url, scale)
    }
}

/// The command with which this pgbench makes and fills its tables.
pub fn load(pgbench: &Path, url: &str, scale: u32) -> Command {
    let mut command = Command::new(pgbench);
    command.args(["--initialize", "--quiet", &format!("--scale={scale}"), url]);
    command
}

impl BenchProgram for Pgbench {
    fn name(&self) -> &'static str {
        "pgbench"
    }

    fn version(&self) -> &str {
        &self.version
    }

    fn command(&self, job: &Job, bed: &Bed, seconds: u32) -> Command {
        // The stock one has no OpenSSL.
        let path = bed.pgbench_with_tls(job.via).unwrap_or(&self.path);
        let mut command = Command::new(path);
        command.args(arguments(job, bed, seconds));
        command
    }

    fn before_load(&self, workload: Workload, bed: &Bed) -> Vec<Command> {
        bed.before_load(workload)
    }

    fn read(&self, output: &str) -> Result<Reported, String> {
        read(output)
    }
}

/// What pgbench, and pgdyno by that name, are called with.
pub fn arguments(job: &Job, bed: &Bed, seconds: u32) -> Vec<String> {
    if job.workload.is_of_pgbench() {
        let scale = format!("--scale={LOAD_SCALE}");
        let steps = match job.workload {
            Workload::Copy => "--init-steps=dtg",
            _ => "--init-steps=dtgvp",
        };
        let options = ["--initialize", "--quiet", steps, &scale];
        let mut arguments: Vec<String> = options.map(str::to_owned).into();
        arguments.push(bed.url_of_database(LOAD_DATABASE));
        return arguments;
    }
    let work = match job.workload {
        Workload::Tpcb => "--builtin=tpcb-like".to_owned(),
        Workload::Script => format!("--file={}", bed.script().display()),
        _ => "--builtin=select-only".to_owned(),
    };
    let mut arguments = vec![
        // pgdyno vacuums nothing before a run either.
        "--no-vacuum".to_owned(),
        work,
        format!("--protocol={}", job.mode.name()),
        format!("--client={}", job.clients),
        format!("--jobs={}", job.threads),
        format!("--time={seconds}"),
    ];
    arguments.extend(job.rate.map(|rate| format!("--rate={rate}")));
    arguments.push(bed.url(job.via));
    arguments
}

/// What pgbench prints.
pub fn read(output: &str) -> Result<Reported, String> {
    let number = |label: &str| {
        let line = output.lines().find_map(|line| line.strip_prefix(label));
        let word = line.and_then(|rest| rest.split_whitespace().next());
        word.and_then(|word| word.parse::<f64>().ok())
    };
    let after = |label: &str| {
        number(label).ok_or_else(|| format!("pgbench did not print a number after {label:?}"))
    };
    let us = |label: &str| number(label).map_or(f64::NAN, |ms| ms * 1e3);
    let lag_max = output
        .split_once("schedule lag: avg ")
        .and_then(|(_, rest)| {
            let (_, max) = rest.split_once("(max ")?;
            max.split(')').next()?.trim().parse::<f64>().ok()
        });
    Ok(Reported {
        transactions: after("number of transactions actually processed:")? as u64,
        failed: after("number of failed transactions:")? as u64,
        transactions_per_s: after("tps =")?,
        connecting_s: after("initial connection time =")? / 1e3,
        latency_us: us("latency average ="),
        own_cpu_us: f64::NAN,
        lag_us: (
            us("rate limit schedule lag: avg"),
            lag_max.map_or(f64::NAN, |ms| ms * 1e3),
        ),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pgbench() -> Pgbench {
        Pgbench {
            path: PathBuf::new(),
            version: String::new(),
        }
    }

    #[test]
    fn its_report_is_read() {
        let said = "number of transactions actually processed: 86974\n\
                    number of failed transactions: 2 (0.002%)\n\
                    latency average = 0.25 ms\n\
                    rate limit schedule lag: avg 0.5 (max 24.25) ms\n\
                    initial connection time = 37.500 ms\n\
                    tps = 44225.791853 (without initial connection time)\n";
        let read = Reported {
            transactions: 86974,
            failed: 2,
            transactions_per_s: 44225.791853,
            connecting_s: 0.0375,
            latency_us: 250.0,
            own_cpu_us: 0.0,
            lag_us: (500.0, 24250.0),
        };
        let found = pgbench().read(said).expect("a report");
        // It does not tell, and no number is none.
        assert!(found.own_cpu_us.is_nan());
        let found = Reported {
            own_cpu_us: 0.0,
            ..found
        };
        assert_eq!(found, read);
    }

    #[test]
    fn a_missing_figure_is_named() {
        let error = pgbench().read("tps = 1\n").expect_err("nothing processed");
        assert!(error.contains("actually processed"), "{error}");
    }
}
