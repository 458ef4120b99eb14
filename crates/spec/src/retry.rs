//! What follows an error that may be tried again.

use std::time::Duration;

use clap::{Args, ValueEnum};
use serde::{Deserialize, Serialize};

use super::backoff::{Backoff, Pauses};
use super::{duration, serialized};
use crate::exit::{Exit, Failure};

/// Tries of a transaction when a policy is asked for and their number is not: enough for conflicts
/// to pass, and an end to what never will.
const MAX_TRIES_DEFAULT: u32 = 10;

/// How a transaction is tried again. (Whether at all, [`crate::Drive::max_tries`] says.)
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Retry {
    /// It is rolled back, and the whole script executed again with the same random values, as
    /// pgbench does.
    #[default]
    Restart,
    /// Its block is rolled back to a savepoint behind BEGIN and executed again from there, with the
    /// same random values: CockroachDB's protocol. The scripts must have been compiled for it (see
    /// [`crate::Drive::compile`]).
    Savepoint,
}

/// How a transaction is tried again.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Policy {
    /// Do not retry: the transaction has failed
    None,
    /// Roll back and execute the script again with the same random values
    Restart,
    /// Roll back to SAVEPOINT cockroach_restart and execute from there again (CockroachDB)
    Savepoint,
}

impl Policy {
    /// Its word on the command line and in records.
    pub fn name(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Restart => "restart",
            Self::Savepoint => "savepoint",
        }
    }
}

/// What follows a serialization failure, a deadlock, and what else the server wants to be tried again.
#[derive(Debug, Clone, Copy, Default, PartialEq, Args, Serialize, Deserialize)]
#[command(next_help_heading = "Errors and retries")]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
pub struct RetryPolicy {
    /// What to do after a serialization failure, a deadlock or another error that this server says
    /// to retry [default: none; restart with --max-tries]
    #[arg(long = "retry", id = "retry", value_name = "POLICY", value_enum)]
    #[serde(rename = "retry", default)]
    #[cfg_attr(feature = "typescript", ts(as = "Option<String>"))]
    pub policy: Option<Policy>,

    /// Maximum tries per transaction, including the first; 0: no limit [default: 10 with
    /// --retry, else 1]
    #[arg(long, value_name = "COUNT")]
    #[serde(default)]
    pub max_tries: Option<u32>,

    /// Pauses between tries: none, or exponential=BASE,CAP,JITTER; exponential alone means
    /// exponential=1ms,1s,full. Jitter: none, equal (50 to 100 % of the pause), full (0 to 100 %)
    #[arg(long, value_name = "PAUSES")]
    #[serde(default, with = "serialized::text")]
    #[cfg_attr(feature = "typescript", ts(as = "Option<String>"))]
    pub backoff: Option<Pauses>,

    /// Start no new try this long after the first try of the transaction started
    #[arg(long, id = "retry_deadline_us", value_name = "TIME", value_parser = duration::parse_positive)]
    #[serde(rename = "retry_deadline_us", default, with = "serialized::us")]
    #[cfg_attr(feature = "typescript", ts(as = "Option<f64>"))]
    pub retry_deadline: Option<Duration>,

    /// Make the server inject retry errors, to test the retry policy (CockroachDB 22.1 or later,
    /// with --retry savepoint)
    #[arg(long)]
    #[serde(default)]
    pub inject_retries: bool,
}

impl RetryPolicy {
    /// The policy: the one asked for, or what the number of tries makes it. One try is none.
    pub fn policy(&self) -> Policy {
        match (self.policy, self.tries()) {
            (Some(Policy::Savepoint), _) => Policy::Savepoint,
            (_, 1) => Policy::None,
            _ => Policy::Restart,
        }
    }

    /// Tries of a transaction, the first included; 0 sets no limit. With `none` nothing else counts:
    /// in a sweep the other options belong to the other policies.
    pub fn tries(&self) -> u32 {
        match self.policy {
            Some(Policy::None) => 1,
            Some(_) => self.max_tries.unwrap_or(MAX_TRIES_DEFAULT),
            None => self.max_tries.unwrap_or(1),
        }
    }

    /// The same in the engine's terms.
    pub fn retry(&self) -> Retry {
        match self.policy() {
            Policy::Savepoint => Retry::Savepoint,
            _ => Retry::Restart,
        }
    }

    /// Pauses between tries; none where there is but one.
    pub fn pauses(&self) -> Option<Backoff> {
        self.backoff?.0.filter(|_| self.tries() != 1)
    }

    /// No try begins so long after the first one of its transaction began.
    pub fn deadline(&self) -> Option<Duration> {
        self.retry_deadline.filter(|_| self.tries() != 1)
    }

    /// The same with nothing left open: what [`RetryPolicy::policy`] and the others give.
    pub fn resolved(&self) -> Self {
        Self {
            policy: Some(self.policy()),
            max_tries: Some(self.tries()),
            backoff: Some(Pauses(self.pauses())),
            retry_deadline: self.deadline(),
            inject_retries: self.inject_retries,
        }
    }

    /// Checks the combination of options.
    ///
    /// # Errors
    /// Options that contradict each other.
    pub fn check(&self) -> Result<(), Failure> {
        let usage = |text: &str| Failure::with(Exit::Usage, text);
        let retries = match self.policy {
            Some(policy) => policy != Policy::None,
            None => self.max_tries.is_some_and(|tries| tries != 1),
        };
        if self.policy == Some(Policy::None) && self.max_tries.is_some_and(|tries| tries != 1) {
            return Err(usage(
                "--retry none allows one try, but --max-tries is larger: use only one of them",
            ));
        }
        let has_pauses = self.backoff.is_some_and(|pauses| pauses.0.is_some());
        if !retries && (has_pauses || self.retry_deadline.is_some()) {
            return Err(usage(
                "--backoff and --retry-deadline need retries: add --retry or --max-tries",
            )
            .hint("add --retry restart, or another policy"));
        }
        if self.inject_retries && self.policy != Some(Policy::Savepoint) {
            return Err(usage(
                "--inject-retries needs --retry savepoint: a transaction that restarts from \
                 BEGIN fails again, only one that rolls back to the savepoint succeeds",
            ));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::backoff;

    fn asked(policy: Option<Policy>, max_tries: Option<u32>) -> (&'static str, u32, bool) {
        let asked = RetryPolicy {
            policy,
            max_tries,
            backoff: Some(Pauses(Some(backoff::DEFAULT))),
            retry_deadline: Some(Duration::from_secs(1)),
            inject_retries: false,
        };
        assert_eq!(asked.pauses().is_some(), asked.deadline().is_some());
        let resolved = asked.resolved();
        assert_eq!(resolved.resolved(), resolved);
        assert_eq!(
            (resolved.policy(), resolved.tries(), resolved.pauses()),
            (asked.policy(), asked.tries(), asked.pauses())
        );
        (
            asked.policy().name(),
            asked.tries(),
            asked.pauses().is_some(),
        )
    }

    #[test]
    fn a_policy_brings_tries_and_tries_bring_a_policy() {
        use Policy::{None as No, Restart, Savepoint};
        assert_eq!(asked(None, None), ("none", 1, false));
        assert_eq!(asked(None, Some(3)), ("restart", 3, true));
        assert_eq!(asked(None, Some(0)), ("restart", 0, true));
        assert_eq!(asked(Some(No), Some(3)), ("none", 1, false));
        assert_eq!(asked(Some(Restart), None), ("restart", 10, true));
        assert_eq!(asked(Some(Savepoint), Some(4)), ("savepoint", 4, true));
        assert_eq!(asked(Some(Savepoint), Some(1)), ("savepoint", 1, false));
    }
}
