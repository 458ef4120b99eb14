//! How long and how often: from the environment.

use std::env::{self, VarError};

/// How to measure.
pub struct Settings {
    /// How long each run of a program lasts, in seconds.
    pub seconds: u32,
    /// How often each program runs for each row.
    pub rounds: u32,
}

impl Settings {
    /// `BENCH_SECONDS` (5) and `BENCH_ROUNDS` (3).
    pub fn from_env() -> Result<Self, String> {
        Ok(Self {
            seconds: number("BENCH_SECONDS", 5, env::var("BENCH_SECONDS"))?,
            rounds: number("BENCH_ROUNDS", 3, env::var("BENCH_ROUNDS"))?,
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
