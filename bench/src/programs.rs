//! The programs that are compared: how each is asked to do a job, and how to read what it says
//! afterwards. What a program costs it is not asked: the runner measures that.

mod bare;
mod go_tpc;
mod go_ycsb;
pub mod pgbench;
mod pgdyno;
mod sysbench;
mod sysbench_tpcc;

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::Error;
use crate::rows::{Job, Peer, Workload};
use crate::server::Bed;

/// One of the compared programs.
pub trait BenchProgram {
    /// As shown.
    fn name(&self) -> &'static str;

    /// What it says when asked for its version.
    fn version(&self) -> &str;

    /// The command that does `job` on the bed for so many seconds.
    fn command(&self, job: &Job, bed: &Bed, seconds: u32) -> Command;

    /// What it needs on the bed for a kind of work: commands, in order.
    fn prepare(&self, _workload: Workload, _bed: &Bed) -> Vec<Command> {
        Vec::new()
    }

    /// What must be done before each load: commands, in order.
    fn before_load(&self, _workload: Workload, _bed: &Bed) -> Vec<Command> {
        Vec::new()
    }

    /// Reads what the command printed to standard output; a load is not asked.
    fn read(&self, output: &str) -> Result<Reported, String>;
}

/// What a program says of its run.
#[derive(Debug, Clone, PartialEq)]
pub struct Reported {
    /// Transactions that ended well.
    pub transactions: u64,
    /// Transactions that did not.
    pub failed: u64,
    /// Transactions a second, connecting not counted.
    pub transactions_per_s: f64,
    /// How long connecting took, in seconds.
    pub connecting_s: f64,
    /// Mean latency in microseconds; NaN where it is not reported.
    pub latency_us: f64,
    /// CPU time of a transaction in microseconds as the program accounts it, while it measures; NaN likewise.
    pub own_cpu_us: f64,
    /// How late transactions started by the schedule, mean and worst, in microseconds; NaN likewise.
    pub lag_us: (f64, f64),
}

impl Reported {
    /// What a load comes to: one transaction of its own.
    pub fn loaded() -> Self {
        Self {
            transactions: 1,
            failed: 0,
            transactions_per_s: f64::NAN,
            connecting_s: 0.0,
            latency_us: f64::NAN,
            own_cpu_us: f64::NAN,
            lag_us: (f64::NAN, f64::NAN),
        }
    }
}

/// All of them.
pub struct Programs {
    /// Ours.
    pub pgdyno: pgdyno::Pgdyno,
    /// Ours again, which leaves out what the row is about.
    pub without: pgdyno::Pgdyno,
    /// Stock pgbench.
    pub pgbench: pgbench::Pgbench,
    /// sysbench, or why it is not there.
    pub sysbench: Result<sysbench::Sysbench, String>,
    /// go-ycsb, likewise.
    pub go_ycsb: Result<go_ycsb::GoYcsb, String>,
    /// go-tpc, likewise.
    pub go_tpc: Result<go_tpc::GoTpc, String>,
    /// sysbench-tpcc, likewise.
    pub sysbench_tpcc: Result<sysbench_tpcc::SysbenchTpcc, String>,
    /// The loops that do nothing but send and receive.
    pub bare: [bare::Bare; 2],
    /// The directory of stock PostgreSQL's programs, the server's among them.
    pub bindir: PathBuf,
}

impl Programs {
    /// Finds them all.
    pub fn find() -> Result<Self, Error> {
        let bindir = pgdyno_testkit::stock_bindir().ok_or(
            "no stock PostgreSQL 18 with pgbench to compare with: scripts/test-tools fetches it \
             when it can (it needs Python's pip and the network); or let PGDYNO_STOCK_PG_BINDIR \
             name the directory of its programs",
        )?;
        let ours = std::env::current_exe()?.with_file_name("pgdyno");
        if !ours.is_file() {
            let missing = format!(
                "no {}: build it first, as `make bench` does",
                ours.display()
            );
            return Err(missing.into());
        }
        Ok(Self {
            without: pgdyno::Pgdyno::without(ours.clone())?,
            pgdyno: pgdyno::Pgdyno::at(ours)?,
            pgbench: pgbench::Pgbench::at(bindir.join("pgbench"))?,
            sysbench: sysbench::Sysbench::find(),
            go_ycsb: go_ycsb::GoYcsb::find(),
            go_tpc: go_tpc::GoTpc::find(),
            sysbench_tpcc: sysbench_tpcc::SysbenchTpcc::find(),
            bare: bare::Bare::both()?,
            bindir,
        })
    }

    /// The program that is meant, or why it is not there.
    pub fn peer(&self, peer: Peer) -> Result<&dyn BenchProgram, &str> {
        match peer {
            Peer::Without => Ok(&self.without),
            Peer::Pgbench => Ok(&self.pgbench),
            Peer::Sysbench => or_why(&self.sysbench),
            Peer::GoYcsb => or_why(&self.go_ycsb),
            Peer::GoTpc => or_why(&self.go_tpc),
            Peer::SysbenchTpcc => or_why(&self.sysbench_tpcc),
        }
    }
}

fn or_why<P: BenchProgram>(found: &Result<P, String>) -> Result<&dyn BenchProgram, &str> {
    found.as_ref().map(|it| it as _).map_err(|e| e.as_str())
}

/// The program of this name: what the variable names, or what is found on PATH.
fn find(variable: &str, name: &str) -> Result<PathBuf, String> {
    if let Some(path) = std::env::var_os(variable) {
        let path = PathBuf::from(path);
        return if path.is_file() {
            Ok(path)
        } else {
            Err(format!("{variable} names no file: {}", path.display()))
        };
    }
    let path = std::env::var_os("PATH").unwrap_or_default();
    let mut places = std::env::split_paths(&path).map(|directory| directory.join(name));
    places
        .find(|place| place.is_file())
        .ok_or_else(|| format!("no {name} on PATH, and {variable} names none"))
}

/// The first line that `program` prints when called with `argument`.
pub fn version_line(program: &Path, argument: &str) -> Result<String, Error> {
    let output = Command::new(program).arg(argument).output();
    let output = output.map_err(|e| format!("cannot run {}: {e}", program.display()))?;
    if !output.status.success() {
        let said = String::from_utf8_lossy(&output.stderr);
        return Err(format!("{} {argument} failed: {said}", program.display()).into());
    }
    let said = String::from_utf8_lossy(&output.stdout);
    Ok(said.lines().next().unwrap_or_default().to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_peer_that_is_not_there_is_named_with_the_way_to_name_it() {
        let missing = find("BENCH_TEST_NOBODY", "no-such-program").unwrap_err();
        assert!(missing.contains("no-such-program") && missing.contains("BENCH_TEST_NOBODY"));
        assert!(find("BENCH_TEST_NOBODY", "sh").unwrap().ends_with("sh"));
    }
}
