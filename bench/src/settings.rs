//! How long and how often: from the environment.

use std::env::{self, VarError};

use crate::rows::{Job, Workload};
use crate::runner::MEMORY_SECONDS;

/// How to measure.
pub struct Settings {
    /// How long each run of a program lasts, in seconds.
    pub seconds: u32,
    /// How often each program runs for each row.
    pub rounds: u32,
    /// How long the row of memory lasts, in seconds.
    pub memory_seconds: u32,
    /// Only rows whose names have this in them.
    pub only: String,
}

/// Rounds of the rows whose runs take long of themselves.
const FEW_ROUNDS: u32 = 2;
/// How much longer runs are whose connections take seconds to make.
const CONNECTING_SECONDS: u32 = 6;

impl Settings {
    /// How long and how often a kind of work runs.
    pub fn of(&self, job: &Job) -> (u32, u32) {
        match job.workload {
            Workload::Load | Workload::PackLoad => (self.seconds, self.rounds),
            load if load.is_load() => (self.seconds, FEW_ROUNDS.min(self.rounds)),
            Workload::Memory => (self.memory_seconds, 1),
            // pgbench counts the time that a thousand connections take.
            _ if job.rate.is_some() => (self.seconds + CONNECTING_SECONDS, self.rounds),
            _ => (self.seconds, self.rounds),
        }
    }

    /// `BENCH_SECONDS` (4), `BENCH_ROUNDS` (3), `BENCH_MEMORY_SECONDS` (20) and `BENCH_ROWS`.
    pub fn from_env() -> Result<Self, String> {
        Ok(Self {
            seconds: number("BENCH_SECONDS", 4, env::var("BENCH_SECONDS"))?,
            rounds: number("BENCH_ROUNDS", 3, env::var("BENCH_ROUNDS"))?,
            memory_seconds: number(
                "BENCH_MEMORY_SECONDS",
                MEMORY_SECONDS,
                env::var("BENCH_MEMORY_SECONDS"),
            )?,
            only: env::var("BENCH_ROWS").unwrap_or_default(),
        })
    }
}

fn number(name: &str, default: u32, value: Result<String, VarError>) -> Result<u32, String> {
    let number = match value {
        Err(VarError::NotPresent) => Some(default),
        Err(VarError::NotUnicode(_)) => None,
        Ok(text) => text.trim().parse().ok(),
    };
    number
        .filter(|number| *number > 0)
        .ok_or_else(|| format!("{name} must be a whole number above 0"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_that_is_none_is_named() {
        assert_eq!(number("N", 5, Err(VarError::NotPresent)), Ok(5));
        assert_eq!(number("N", 5, Ok("12".into())), Ok(12));
        for bad in ["0", "-1", "5s", ""] {
            let error = number("N", 5, Ok(bad.into())).expect_err(bad);
            assert!(error.starts_with("N must be"), "{error}");
        }
    }
}
