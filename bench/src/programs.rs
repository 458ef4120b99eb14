//! The programs that are compared: how each is told to do a job, and how to read what it says
//! afterwards. What a program costs it is not asked: the runner measures that.

mod pgbench;
mod pgdyno;

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::Error;
use crate::rows::{Job, Peer};

/// One of the compared programs.
pub trait Program {
    /// As shown.
    fn name(&self) -> &'static str;

    /// What it says when asked for its version.
    fn version(&self) -> &str;

    /// The command that does `job` on the server at `url` for so many seconds.
    fn command(&self, job: &Job, url: &str, seconds: u32) -> Command;

    /// Reads what the command printed to standard output.
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
}

/// All of them.
pub struct Programs {
    /// Ours.
    pub pgdyno: pgdyno::Pgdyno,
    /// Stock pgbench.
    pub pgbench: pgbench::Pgbench,
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
            pgdyno: pgdyno::Pgdyno::at(ours)?,
            pgbench: pgbench::Pgbench::at(bindir.join("pgbench"))?,
            bindir,
        })
    }

    /// The program that is meant.
    pub fn peer(&self, peer: Peer) -> &dyn Program {
        match peer {
            Peer::Pgbench => &self.pgbench,
        }
    }
}

/// The first line that `program` prints when called with `argument`.
fn version_line(program: &Path, argument: &str) -> Result<String, Error> {
    let output = Command::new(program).arg(argument).output();
    let output = output.map_err(|e| format!("cannot run {}: {e}", program.display()))?;
    if !output.status.success() {
        let said = String::from_utf8_lossy(&output.stderr);
        return Err(format!("{} {argument} failed: {said}", program.display()).into());
    }
    let said = String::from_utf8_lossy(&output.stdout);
    Ok(said.lines().next().unwrap_or_default().to_owned())
}
