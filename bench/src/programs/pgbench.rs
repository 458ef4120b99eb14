//! Stock pgbench.

use std::path::PathBuf;
use std::process::Command;

use super::{Program, Reported, version_line};
use crate::Error;
use crate::rows::{Job, Workload};

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
        let mut command = Command::new(&self.path);
        command.args(["--initialize", "--quiet", &format!("--scale={scale}"), url]);
        command
    }
}

impl Program for Pgbench {
    fn name(&self) -> &'static str {
        "pgbench"
    }

    fn version(&self) -> &str {
        &self.version
    }

    fn command(&self, job: &Job, url: &str, seconds: u32) -> Command {
        let builtin = match job.workload {
            Workload::SelectOnly => "select-only",
            Workload::Tpcb => "tpcb-like",
        };
        let mut command = Command::new(&self.path);
        command
            // pgdyno vacuums nothing before a run either.
            .arg("--no-vacuum")
            .arg(format!("--builtin={builtin}"))
            .arg(format!("--protocol={}", job.mode.name()))
            .arg(format!("--client={}", job.clients))
            .arg(format!("--jobs={}", job.threads))
            .arg(format!("--time={seconds}"))
            .arg(url);
        command
    }

    fn read(&self, output: &str) -> Result<Reported, String> {
        let after = |label: &str| {
            let line = output.lines().find_map(|line| line.strip_prefix(label));
            let word = line.and_then(|rest| rest.split_whitespace().next());
            word.and_then(|word| word.parse::<f64>().ok())
                .ok_or_else(|| format!("pgbench did not print a number after {label:?}"))
        };
        Ok(Reported {
            transactions: after("number of transactions actually processed:")? as u64,
            failed: after("number of failed transactions:")? as u64,
            transactions_per_s: after("tps =")?,
            connecting_s: after("initial connection time =")? / 1e3,
        })
    }
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
                    latency average = 0.181 ms\n\
                    initial connection time = 37.500 ms\n\
                    tps = 44225.791853 (without initial connection time)\n";
        let read = Reported {
            transactions: 86974,
            failed: 2,
            transactions_per_s: 44225.791853,
            connecting_s: 0.0375,
        };
        assert_eq!(pgbench().read(said), Ok(read));
    }

    #[test]
    fn a_missing_figure_is_named() {
        let error = pgbench().read("tps = 1\n").expect_err("nothing processed");
        assert!(error.contains("actually processed"), "{error}");
    }
}
