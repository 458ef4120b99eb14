//! pgdyno itself, by its native door and with its defaults.

use std::path::PathBuf;
use std::process::Command;

use serde_json::Value;

use super::{Program, Reported, version_line};
use crate::Error;
use crate::rows::{Job, Workload};

/// pgdyno as built beside this program.
pub struct Pgdyno {
    path: PathBuf,
    version: String,
}

impl Pgdyno {
    /// The one at `path`; its version is told with the commit, when there is git to tell it.
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
        Ok(Self { path, version })
    }
}

impl Program for Pgdyno {
    fn name(&self) -> &'static str {
        "pgdyno"
    }

    fn version(&self) -> &str {
        &self.version
    }

    fn command(&self, job: &Job, url: &str, seconds: u32) -> Command {
        let pack = match job.workload {
            Workload::SelectOnly => "select-only",
            Workload::Tpcb => "tpcb",
        };
        let mut command = Command::new(&self.path);
        command
            .args(["run", pack, "--quiet", "--json", "--no-store"])
            .arg(format!("--query-mode={}", job.mode.name()))
            .arg(format!("--clients={}", job.clients))
            .arg(format!("--threads={}", job.threads))
            .arg(format!("--duration={seconds}s"))
            .arg(format!("--url={url}"));
        command
    }

    fn read(&self, output: &str) -> Result<Reported, String> {
        let result: Value =
            serde_json::from_str(output).map_err(|e| format!("pgdyno printed no JSON: {e}"))?;
        let at = |pointer: &str| {
            let value = result.pointer(pointer).and_then(Value::as_f64);
            value.ok_or_else(|| format!("pgdyno's JSON has no number at {pointer}"))
        };
        Ok(Reported {
            transactions: at("/measured/committed")? as u64,
            failed: (at("/measured/failed")? + at("/measured/unknown")?) as u64,
            transactions_per_s: at("/measured/goodput_per_s")?,
            connecting_s: at("/connections/initial_us")? / 1e6,
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
        }
    }

    #[test]
    fn its_result_is_read() {
        let said = r#"{"connections": {"initial_us": 36831}, "measured":
            {"committed": 79655, "failed": 1, "unknown": 2, "goodput_per_s": 39611.5}}"#;
        let read = Reported {
            transactions: 79655,
            failed: 3,
            transactions_per_s: 39611.5,
            connecting_s: 0.036831,
        };
        assert_eq!(pgdyno().read(said), Ok(read));
    }

    #[test]
    fn a_missing_figure_is_named() {
        let error = pgdyno().read("{}").expect_err("nothing in it");
        assert!(error.contains("/measured/committed"), "{error}");
        assert!(pgdyno().read("").is_err());
    }
}
