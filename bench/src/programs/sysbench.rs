//! sysbench with its PostgreSQL driver.

use std::path::PathBuf;
use std::process::Command;

use super::{BenchProgram, Reported, find, version_line};
use crate::rows::{Job, RowVia, Workload};
use crate::server::Bed;

/// Rows of its table.
const ROWS: u32 = 100_000;
/// The environment variable that names it where it is not on PATH.
const VARIABLE: &str = "SYSBENCH";

/// sysbench as it was found.
pub struct Sysbench {
    path: PathBuf,
    version: String,
}

impl Sysbench {
    /// Looks for it.
    pub fn find() -> Result<Self, String> {
        let path = find(VARIABLE, "sysbench")?;
        let version = version_line(&path, "--version").map_err(|e| e.to_string())?;
        Ok(Self { path, version })
    }

    /// A script of its own or of others on a database.
    pub fn call(&self, bed: &Bed, script: &str, database: &str) -> Command {
        let mut command = Command::new(&self.path);
        command
            .args([script, "--db-driver=pgsql"])
            .args(["--pgsql-host=127.0.0.1", "--pgsql-user=postgres"])
            .arg(format!("--pgsql-db={database}"))
            .arg(format!("--pgsql-port={}", bed.port()));
        command
    }

    fn point_select(&self, bed: &Bed) -> Command {
        let mut command = self.call(bed, "oltp_point_select", "postgres");
        command.args(["--tables=1", &format!("--table-size={ROWS}")]);
        command
    }
}

/// Has a script run for so long.
pub fn run(command: &mut Command, job: &Job, seconds: u32) {
    command
        .arg(format!("--threads={}", job.clients))
        .arg(format!("--time={seconds}"))
        // No event may end the run, and no histogram is asked for.
        .args(["--events=0", "--percentile=0", "run"]);
}

impl BenchProgram for Sysbench {
    fn name(&self) -> &'static str {
        "sysbench"
    }

    fn version(&self) -> &str {
        &self.version
    }

    fn prepare(&self, workload: Workload, bed: &Bed) -> Vec<Command> {
        let mut prepare = self.point_select(bed);
        prepare.arg("prepare");
        match workload {
            Workload::PointSelect => vec![prepare],
            _ => Vec::new(),
        }
    }

    fn command(&self, job: &Job, bed: &Bed, seconds: u32) -> Command {
        debug_assert!(job.via == RowVia::Tcp && job.workload == Workload::PointSelect);
        let mut command = self.point_select(bed);
        run(&mut command, job, seconds);
        command
    }

    fn read(&self, output: &str) -> Result<Reported, String> {
        read(output)
    }
}

/// What sysbench prints, whatever script it runs.
pub fn read(output: &str) -> Result<Reported, String> {
    let after = |label: &str| {
        let (_, rest) = output
            .split_once(label)
            .ok_or_else(|| format!("sysbench did not print {label:?}"))?;
        let rest = rest.trim_start().trim_start_matches('(');
        let end = rest.find(|c: char| !(c.is_ascii_digit() || c == '.'));
        let number = rest[..end.unwrap_or(rest.len())].parse::<f64>();
        number.map_err(|_| format!("sysbench printed no number after {label:?}"))
    };
    let transactions = after("transactions:")?;
    let (_, rate) = output
        .split_once("transactions:")
        .and_then(|(_, rest)| rest.split_once('('))
        .ok_or("sysbench printed no rate")?;
    let rate = rate
        .split_whitespace()
        .next()
        .and_then(|word| word.parse().ok());
    Ok(Reported {
        transactions: transactions as u64,
        failed: after("ignored errors:")? as u64,
        transactions_per_s: rate.ok_or("sysbench printed no rate")?,
        connecting_s: 0.0,
        latency_us: after("avg:").map_or(f64::NAN, |ms| ms * 1e3),
        own_cpu_us: f64::NAN,
        lag_us: (f64::NAN, f64::NAN),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn its_report_is_read() {
        let said = "SQL statistics:\n    transactions:                        84131  (16819.72 per sec.)\n\
                    \x20   queries:   84131  (16819.72 per sec.)\n    ignored errors:                      0      (0.00 per sec.)\n\
                    Latency (ms):\n         avg:                                    3.80\n";
        let sysbench = Sysbench {
            path: PathBuf::new(),
            version: String::new(),
        };
        let read = sysbench.read(said).unwrap();
        assert_eq!((read.transactions, read.failed), (84131, 0));
        assert_eq!(
            (read.transactions_per_s, read.latency_us),
            (16819.72, 3800.0)
        );
        assert!(sysbench.read("nothing").is_err());
    }
}
