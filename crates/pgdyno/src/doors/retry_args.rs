//! The options of the retry policy, for verbs that run a workload.

use std::time::Duration;

use clap::Args;
use pgdyno_drive::Backoff;

use crate::plan::retries::{Asked, Policy};
use crate::plan::{backoff, duration};
use pgdyno_model::{Exit, Failure};

/// What follows errors that may be tried again.
#[derive(Debug, Args)]
pub struct RetryArgs {
    /// What to do after a serialization failure, a deadlock, and what else this server wants to be
    /// tried again [default: none; restart with --max-tries]
    #[arg(long, value_name = "POLICY", value_enum)]
    pub retry: Option<Policy>,

    /// Tries of a transaction, the first included; 0: as many as it takes [default: 10 with
    /// --retry, else 1]
    #[arg(long, value_name = "COUNT")]
    pub max_tries: Option<u32>,

    /// Pauses between tries: none, or exponential=BASE,CAP,JITTER; exponential alone is
    /// exponential=1ms,1s,full. Jitter: none, equal (half to all of the pause), full (nothing to
    /// all of it)
    #[arg(long, value_name = "PAUSES", value_parser = pauses)]
    pub backoff: Option<Pauses>,

    /// Begin no further try so long after a transaction's first one began
    #[arg(long, value_name = "TIME", value_parser = duration::parse_positive)]
    pub retry_deadline: Option<Duration>,

    /// Have the server fail statements that it would not, so that the policy can be seen at work
    /// (CockroachDB from 22.1 on, with --retry savepoint)
    #[arg(long)]
    pub inject_retries: bool,
}

/// Pauses as typed; `none` is typed too.
#[derive(Debug, Clone, Copy)]
pub struct Pauses(Option<Backoff>);

fn pauses(text: &str) -> Result<Pauses, String> {
    backoff::parse(text).map(Pauses)
}

impl RetryArgs {
    /// What they ask for.
    ///
    /// # Errors
    /// Options that contradict each other.
    pub fn asked(&self) -> Result<Asked, Failure> {
        let usage = |text: &str| Err(Failure::with(Exit::Usage, text));
        let backoff = self.backoff.and_then(|pauses| pauses.0);
        let retries = match self.retry {
            Some(policy) => policy != Policy::None,
            None => self.max_tries.is_some_and(|tries| tries != 1),
        };
        if self.retry == Some(Policy::None) && self.max_tries.is_some_and(|tries| tries != 1) {
            return usage(
                "--retry none is one try, and --max-tries asks for more: give one of them",
            );
        }
        if !retries && (backoff.is_some() || self.retry_deadline.is_some()) {
            return usage("--backoff and --retry-deadline are about retries, and there are none")
                .map_err(|failure: Failure| {
                    failure.hint("add --retry restart, or another policy")
                });
        }
        if self.inject_retries && self.retry != Some(Policy::Savepoint) {
            return usage(
                "--inject-retries needs --retry savepoint: a transaction that begins again fails \
                 again, and only one that goes back to the savepoint comes to its end",
            );
        }
        Ok(Asked {
            policy: self.retry,
            max_tries: self.max_tries,
            backoff,
            deadline: self.retry_deadline,
        })
    }
}
