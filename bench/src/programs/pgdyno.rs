//! pgdyno itself, by `pgdyno run` and with its defaults; a second time without what a row is about.

use std::path::PathBuf;
use std::process::Command;

use serde_json::Value;

use super::{BenchProgram, Reported, go_tpc, pgbench, version_line};
use crate::Error;
use crate::rows::{Job, Workload};
use crate::server::{Bed, LOAD_DATABASE, LOAD_SCALE};

/// Where TPC-C's tables are loaded, which its peers load elsewhere.
const TPCC_LOAD: &str = "pgdyno_tpcc_load";

/// pgdyno as built beside this program.
pub struct Pgdyno {
    path: PathBuf,
    version: String,
    /// Whether it does what the row is about: recording a history.
    records: bool,
}

impl Pgdyno {
    /// The one at `path`; its version is reported with the commit, when there is git to tell it.
    pub fn at(path: PathBuf) -> Result<Self, Error> {
        let mut version = version_line(&path, "--version")?;
        let git = Command::new("git")
            .current_dir(env!("CARGO_MANIFEST_DIR"))
            .args(["describe", "--always", "--dirty", "--abbrev=12"])
            .output();
        if let Ok(git) = git
            && git.status.success()
        {
            let commit = String::from_utf8_lossy(&git.stdout);
            version = format!("{version} ({})", commit.trim());
        }
        Ok(Self {
            path,
            version,
            records: true,
        })
    }

    /// The same, which leaves out what the row is about.
    pub fn without(path: PathBuf) -> Result<Self, Error> {
        Ok(Self {
            records: false,
            ..Self::at(path)?
        })
    }

    fn load_tpcb(&self, bed: &Bed) -> Command {
        let mut command = Command::new(&self.path);
        let scale = format!("scale={LOAD_SCALE}");
        command
            .args(["load", "tpcb", "--quiet", "--param", &scale])
            .arg(format!("--url={}", bed.url_of_database(LOAD_DATABASE)));
        command
    }

    fn load_tpcc(&self, bed: &Bed) -> Command {
        let mut command = Command::new(&self.path);
        let warehouses = format!("warehouses={}", go_tpc::LOAD_WAREHOUSES);
        command
            .args(["load", "tpcc", "--quiet", "--param", &warehouses])
            .args(["--param", "fks=false"])
            .arg(format!(
                "--url=postgresql://postgres@127.0.0.1:{}/{TPCC_LOAD}",
                bed.port()
            ));
        command
    }
}

impl BenchProgram for Pgdyno {
    fn name(&self) -> &'static str {
        if self.records {
            "pgdyno"
        } else {
            "pgdyno without it"
        }
    }

    fn version(&self) -> &str {
        &self.version
    }

    fn command(&self, job: &Job, bed: &Bed, seconds: u32) -> Command {
        let mut command = Command::new(&self.path);
        let pack = match job.workload {
            // Works on what pgbench works on, in pgbench's way.
            Workload::Load | Workload::Copy | Workload::Script => {
                command
                    .arg("pgbench")
                    .args(pgbench::arguments(job, bed, seconds));
                return command;
            }
            Workload::SelectOnly | Workload::Memory => "select-only".to_owned(),
            Workload::Tpcb => "tpcb".to_owned(),
            Workload::YcsbB => "ycsb".to_owned(),
            Workload::History => bed.history().display().to_string(),
            Workload::Tpcc | Workload::TpccBatch => "tpcc".to_owned(),
            Workload::TpccLoad => return self.load_tpcc(bed),
            Workload::PackLoad => return self.load_tpcb(bed),
            Workload::PointSelect => bed.point_select().display().to_string(),
        };
        command
            // Its peers watch nothing meanwhile; what watching costs: docs/instruments.md.
            .args([
                "run",
                &pack,
                "--quiet",
                "--json",
                "--no-store",
                "--observe=none",
            ])
            .arg(format!("--query-mode={}", job.mode.name()))
            .arg(format!("--clients={}", job.clients))
            .arg(format!("--threads={}", job.threads))
            .arg(format!("--duration={seconds}s"))
            .arg(format!("--url={}", bed.url(job.via)));
        if job.workload == Workload::YcsbB {
            let rows = format!("recordcount={}", super::go_ycsb::ROWS);
            command.args(["--mix", "b", "--param", &rows]);
        }
        if job.workload == Workload::History && self.records {
            command.arg("--history=/dev/null");
        }
        if job.workload == Workload::TpccBatch {
            command.args(["--param", "form=batch"]);
        }
        if matches!(job.workload, Workload::Tpcc | Workload::TpccBatch) {
            // Two orders may lock the same items in another order. Its peers check nothing after a run.
            command.args(["--max-tries=0", "--no-checks"]);
        }
        if let Some(rate) = job.rate {
            command.arg(format!("--rate={rate}"));
        }
        command
    }

    fn before_load(&self, workload: Workload, bed: &Bed) -> Vec<Command> {
        match workload {
            Workload::TpccLoad => bed.empty_database(TPCC_LOAD),
            other => bed.before_load(other),
        }
    }

    fn read(&self, output: &str) -> Result<Reported, String> {
        if !output.starts_with('{') {
            return pgbench::read(output);
        }
        let result: Value =
            serde_json::from_str(output).map_err(|e| format!("pgdyno printed no JSON: {e}"))?;
        let found = |pointer: &str| result.pointer(pointer).and_then(Value::as_f64);
        let at = |pointer: &str| {
            found(pointer).ok_or_else(|| format!("pgdyno's JSON has no number at {pointer}"))
        };
        let if_reported = |pointer: &str| found(pointer).unwrap_or(f64::NAN);
        Ok(Reported {
            transactions: at("/measured/committed")? as u64,
            failed: (at("/measured/failed")? + at("/measured/unknown")?) as u64,
            transactions_per_s: at("/measured/goodput_per_s")?,
            connecting_s: at("/connections/initial_us")? / 1e6,
            latency_us: if_reported("/measured/service/mean_us"),
            own_cpu_us: if_reported("/client_cpu/us_per_transaction"),
            lag_us: (
                if_reported("/measured/schedule_lag/mean_us"),
                if_reported("/measured/schedule_lag/max_us"),
            ),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pgdyno() -> Pgdyno {
        Pgdyno {
            path: PathBuf::new(),
            version: String::new(),
            records: true,
        }
    }

    #[test]
    fn its_result_is_read() {
        let said = r#"{"connections": {"initial_us": 36831}, "client_cpu": {"us_per_transaction": 9.5}, "measured":
            {"committed": 79655, "failed": 1, "unknown": 2, "goodput_per_s": 39611.5,
            "service": {"mean_us": 25.5}, "schedule_lag": {"mean_us": 3.0, "max_us": 40}}}"#;
        let read = Reported {
            transactions: 79655,
            failed: 3,
            transactions_per_s: 39611.5,
            connecting_s: 0.036831,
            latency_us: 25.5,
            own_cpu_us: 9.5,
            lag_us: (3.0, 40.0),
        };
        assert_eq!(pgdyno().read(said), Ok(read));
    }

    #[test]
    fn a_missing_figure_is_named() {
        let error = pgdyno().read("{}").expect_err("nothing in it");
        assert!(error.contains("/measured/committed"), "{error}");
        assert!(pgdyno().read("{").is_err());
    }
}
