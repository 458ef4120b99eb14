//! go-ycsb with its PostgreSQL driver, which knows TCP alone.

use std::path::PathBuf;
use std::process::Command;

use super::{BenchProgram, Reported, find};
use crate::rows::{Job, RowVia, Workload};
use crate::server::Bed;

/// Rows of the table, for both programs.
pub const ROWS: u32 = 50_000;
/// It takes operations, not seconds: so many for each second.
const OPERATIONS_PER_SECOND: u32 = 10_000;
/// The environment variable that names it where it is not on PATH.
const VARIABLE: &str = "GO_YCSB";
/// Its table is called as pgdyno's, and lies elsewhere.
const DATABASE: &str = "go_ycsb";

/// go-ycsb as it was found.
pub struct GoYcsb {
    path: PathBuf,
}

impl GoYcsb {
    /// Looks for it.
    pub fn find() -> Result<Self, String> {
        let path = find(VARIABLE, "go-ycsb")?;
        Ok(Self { path })
    }

    fn call(&self, verb: &str, bed: &Bed, threads: u32, operations: u32) -> Command {
        let mut command = Command::new(&self.path);
        let properties = [
            "workload=core".to_owned(),
            format!("recordcount={ROWS}"),
            format!("operationcount={operations}"),
            format!("threadcount={threads}"),
            "readallfields=true".to_owned(),
            "readproportion=0.95".to_owned(),
            "updateproportion=0.05".to_owned(),
            "scanproportion=0".to_owned(),
            "insertproportion=0".to_owned(),
            "requestdistribution=zipfian".to_owned(),
            "pg.host=127.0.0.1".to_owned(),
            format!("pg.port={}", bed.port()),
            "pg.user=postgres".to_owned(),
            format!("pg.db={DATABASE}"),
        ];
        command.args([verb, "pg"]);
        for property in properties {
            command.args(["-p", &property]);
        }
        command
    }
}

impl BenchProgram for GoYcsb {
    fn name(&self) -> &'static str {
        "go-ycsb"
    }

    fn version(&self) -> &str {
        "go-ycsb (it tells no version)"
    }

    fn prepare(&self, workload: Workload, bed: &Bed) -> Vec<Command> {
        match workload {
            // It commits each row of its own.
            Workload::YcsbB => vec![
                bed.create_database(DATABASE),
                bed.sql(&format!(
                    "ALTER DATABASE {DATABASE} SET synchronous_commit = off"
                )),
                self.call("load", bed, 8, ROWS),
                bed.sql(&format!(
                    "ALTER DATABASE {DATABASE} RESET synchronous_commit"
                )),
            ],
            _ => Vec::new(),
        }
    }

    fn command(&self, job: &Job, bed: &Bed, seconds: u32) -> Command {
        debug_assert!(job.via == RowVia::Tcp && job.workload == Workload::YcsbB);
        self.call("run", bed, job.clients, OPERATIONS_PER_SECOND * seconds)
    }

    fn read(&self, output: &str) -> Result<Reported, String> {
        // Of the last report only: there is one every ten seconds as well.
        let last = output
            .rsplit_once("Run finished")
            .map_or("", |(_, rest)| rest);
        let number = |line: &str, label: &str| {
            let (_, rest) = line.split_once(label)?;
            let word = rest.trim_start().split([',', ' ']).next()?;
            word.parse::<f64>().ok()
        };
        let (mut count, mut rate, mut failed) = (0.0, 0.0, 0.0);
        for line in last.lines() {
            let Some(operations) = number(line, "Count:") else {
                continue;
            };
            let kind = line.split_whitespace().next().unwrap_or_default();
            if kind.ends_with("_ERROR") {
                failed += operations;
            } else if matches!(kind, "READ" | "UPDATE") {
                count += operations;
                rate += number(line, "OPS:").unwrap_or(0.0);
            }
        }
        if count == 0.0 {
            return Err("go-ycsb did not print what it has done".to_owned());
        }
        Ok(Reported {
            transactions: count as u64,
            failed: failed as u64,
            transactions_per_s: rate,
            connecting_s: 0.0,
            latency_us: f64::NAN,
            own_cpu_us: f64::NAN,
            lag_us: (f64::NAN, f64::NAN),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn its_last_report_is_read() {
        let said = "READ   - Takes(s): 10.0, Count: 1, OPS: 1.0, Avg(us): 4\n\
                    Run finished, takes 14.2s\n\
                    READ   - Takes(s): 14.2, Count: 950, OPS: 95.5, Avg(us): 4\n\
                    TOTAL  - Takes(s): 14.2, Count: 1000, OPS: 100.0, Avg(us): 4\n\
                    UPDATE - Takes(s): 14.2, Count: 50, OPS: 4.5, Avg(us): 4\n";
        let go_ycsb = GoYcsb {
            path: PathBuf::new(),
        };
        let read = go_ycsb.read(said).unwrap();
        assert_eq!((read.transactions, read.failed), (1000, 0));
        assert_eq!(read.transactions_per_s, 100.0);
        assert!(go_ycsb.read("Run finished").is_err());
    }
}
