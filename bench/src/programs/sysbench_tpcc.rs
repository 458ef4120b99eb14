//! sysbench with the scripts of sysbench-tpcc.

use std::path::PathBuf;
use std::process::Command;

use super::sysbench::{self, Sysbench};
use super::{BenchProgram, Reported};
use crate::rows::{Job, Workload};
use crate::server::Bed;

/// The environment variable that names the folder of its scripts.
const VARIABLE: &str = "SYSBENCH_TPCC";
/// The script that is called.
const SCRIPT: &str = "tpcc.lua";
/// Its tables lie in a database of their own.
const DATABASE: &str = "sysbench_tpcc";

/// The scripts, with the sysbench that runs them.
pub struct SysbenchTpcc {
    sysbench: Sysbench,
    folder: PathBuf,
    version: String,
}

impl SysbenchTpcc {
    /// Looks for both.
    pub fn find() -> Result<Self, String> {
        let sysbench = Sysbench::find()?;
        let folder = std::env::var_os(VARIABLE).map(PathBuf::from);
        let folder = folder.ok_or_else(|| format!("{VARIABLE} names no folder of its scripts"))?;
        if !folder.join(SCRIPT).is_file() {
            return Err(format!(
                "{VARIABLE} names no folder with {SCRIPT}: {}",
                folder.display()
            ));
        }
        let version = format!(
            "sysbench-tpcc (its scripts tell no version), {}",
            sysbench.version()
        );
        Ok(Self {
            sysbench,
            folder,
            version,
        })
    }

    fn call(&self, bed: &Bed) -> Command {
        let mut command = self.sysbench.call(bed, SCRIPT, DATABASE);
        // Its scripts find each other where it is called.
        command.current_dir(&self.folder);
        command.args(["--tables=1", "--scale=1", "--use_fk=0", "--trx_level=RC"]);
        command
    }
}

impl BenchProgram for SysbenchTpcc {
    fn name(&self) -> &'static str {
        "sysbench-tpcc"
    }

    fn version(&self) -> &str {
        &self.version
    }

    fn prepare(&self, workload: Workload, bed: &Bed) -> Vec<Command> {
        match workload {
            // It commits each insert.
            Workload::Tpcc => {
                let mut commands = bed.empty_database(DATABASE);
                commands.push(bed.sql(&format!(
                    "ALTER DATABASE {DATABASE} SET synchronous_commit = off"
                )));
                let mut prepare = self.call(bed);
                prepare.arg("prepare");
                commands.push(prepare);
                commands.push(bed.sql(&format!(
                    "ALTER DATABASE {DATABASE} RESET synchronous_commit"
                )));
                commands
            }
            _ => Vec::new(),
        }
    }

    fn command(&self, job: &Job, bed: &Bed, seconds: u32) -> Command {
        let mut command = self.call(bed);
        sysbench::run(&mut command, job, seconds);
        command
    }

    fn read(&self, output: &str) -> Result<Reported, String> {
        let read = sysbench::read(output)?;
        // TPC-C's rollbacks are errors to it, and have been done.
        Ok(Reported { failed: 0, ..read })
    }
}
