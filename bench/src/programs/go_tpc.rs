//! go-tpc with its PostgreSQL driver, which knows TCP alone.

use std::path::PathBuf;
use std::process::Command;

use serde_json::Value;

use super::{BenchProgram, Reported, find};
use crate::rows::{Job, Workload};
use crate::server::Bed;

/// Warehouses of the row that loads, for all programs.
pub const LOAD_WAREHOUSES: u32 = 10;
/// Connections that load them.
const LOAD_THREADS: u32 = 8;
/// The environment variable that names it where it is not on PATH.
const VARIABLE: &str = "GO_TPC";
/// Its tables are called as pgdyno's, and lie elsewhere.
const DATABASE: &str = "go_tpc";
/// Where it loads.
const LOAD_DATABASE: &str = "go_tpc_load";
/// What is under way when the time is over is an error to it: so many in a hundred are none of the server's.
const CUT_OFF_PERCENT: f64 = 5.0;

/// go-tpc as it was found.
pub struct GoTpc {
    path: PathBuf,
}

impl GoTpc {
    /// Looks for it.
    pub fn find() -> Result<Self, String> {
        let path = find(VARIABLE, "go-tpc")?;
        Ok(Self { path })
    }

    fn call(&self, verb: &str, bed: &Bed, database: &str, warehouses: u32) -> Command {
        let mut command = Command::new(&self.path);
        command
            .args(["tpcc", verb, "--driver=postgres", "--host=127.0.0.1"])
            .args(["--user=postgres", "--conn-params=sslmode=disable"])
            .arg(format!("--port={}", bed.port()))
            .arg(format!("--db={database}"))
            .arg(format!("--warehouses={warehouses}"));
        command
    }

    fn load(&self, bed: &Bed, database: &str, warehouses: u32) -> Command {
        let mut command = self.call("prepare", bed, database, warehouses);
        // It would ask its conditions too.
        command.arg("--no-check");
        command.arg(format!("--threads={LOAD_THREADS}"));
        command
    }
}

impl BenchProgram for GoTpc {
    fn name(&self) -> &'static str {
        "go-tpc"
    }

    fn version(&self) -> &str {
        "go-tpc (built from source, it tells no version)"
    }

    fn prepare(&self, workload: Workload, bed: &Bed) -> Vec<Command> {
        match workload {
            Workload::TpccBatch => {
                let mut commands = bed.empty_database(DATABASE);
                commands.push(self.load(bed, DATABASE, 1));
                commands
            }
            _ => Vec::new(),
        }
    }

    fn before_load(&self, workload: Workload, bed: &Bed) -> Vec<Command> {
        match workload {
            Workload::TpccLoad => bed.empty_database(LOAD_DATABASE),
            _ => Vec::new(),
        }
    }

    fn command(&self, job: &Job, bed: &Bed, seconds: u32) -> Command {
        if job.workload == Workload::TpccLoad {
            return self.load(bed, LOAD_DATABASE, LOAD_WAREHOUSES);
        }
        let mut command = self.call("run", bed, DATABASE, 1);
        // The others' mix is 10, 10, 1, 1, 1; its weights must add up to 100.
        command
            .args(["--weight=44,44,4,4,4", "--silence", "--output=json"])
            .arg(format!("--threads={}", job.clients))
            .arg(format!("--time={seconds}s"));
        command
    }

    fn read(&self, output: &str) -> Result<Reported, String> {
        let summary = output
            .lines()
            .filter_map(|line| serde_json::from_str::<Vec<Value>>(line).ok())
            .find(|rows| {
                rows.iter().any(|row| {
                    row["Prefix"]
                        .as_str()
                        .is_some_and(|it| it.contains("Summary"))
                })
            });
        let summary = summary.ok_or("go-tpc did not print its summary")?;
        let number = |row: &Value, name: &str| {
            let text = row[name].as_str().and_then(|text| text.parse::<f64>().ok());
            text.ok_or_else(|| format!("go-tpc printed no number as {name:?}"))
        };
        let (mut count, mut failed, mut per_minute, mut sum_ms) = (0.0, 0.0, 0.0, 0.0);
        for row in &summary {
            let operations = number(row, "Count")?;
            if row["Operation"]
                .as_str()
                .is_some_and(|it| it.ends_with("_ERR"))
            {
                failed += operations;
                continue;
            }
            count += operations;
            per_minute += number(row, "TPM")?;
            sum_ms += number(row, "Sum(ms)")?;
        }
        let cut_off = failed * 100.0 <= count * CUT_OFF_PERCENT;
        Ok(Reported {
            transactions: count as u64,
            failed: if cut_off { 0 } else { failed as u64 },
            transactions_per_s: per_minute / 60.0,
            connecting_s: 0.0,
            latency_us: sum_ms * 1e3 / count,
            own_cpu_us: f64::NAN,
            lag_us: (f64::NAN, f64::NAN),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn go_tpc() -> GoTpc {
        GoTpc {
            path: PathBuf::new(),
        }
    }

    /// Lines as it prints them, with fewer percentiles.
    #[test]
    fn its_summary_is_read_without_what_the_end_cut_off() {
        let said = r#"Finished
[{"Count":"30","Operation":"DELIVERY","Prefix":"[Summary] ","Sum(ms)":"1924.6","TPM":"600.0"},{"Count":"1","Operation":"DELIVERY_ERR","Prefix":"[Summary] ","Sum(ms)":"0.0","TPM":"20.3"},{"Count":"270","Operation":"PAYMENT","Prefix":"[Summary] ","Sum(ms)":"1075.4","TPM":"5400.0"}]
[{"efficiency":"41016.3%","tpmC":"5274.7","tpmTotal":"12249.3"}]
"#;
        let read = go_tpc().read(said).unwrap();
        assert_eq!((read.transactions, read.failed), (300, 0));
        assert_eq!(
            (read.transactions_per_s, read.latency_us),
            (100.0, 10_000.0)
        );
        let often = said.replace(r#""Count":"1","#, r#""Count":"40","#);
        assert_eq!(go_tpc().read(&often).unwrap().failed, 40);
        assert!(go_tpc().read("Finished").is_err());
    }
}
