//! The retry policy of a trial: what was asked for, put into the engine's terms the same way by
//! every verb.

use std::time::Duration;

use clap::ValueEnum;
use pgdyno_drive::{Backoff, Drive, Retry};

use super::trial::Trial;
use crate::target::dialect::Product;
use pgdyno_model::{Exit, Failure};

/// Tries of a transaction when a policy is asked for and their number is not: enough for conflicts
/// to pass, and an end to what never will.
pub const MAX_TRIES_DEFAULT: u32 = 10;

/// What follows an error that may be tried again.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Policy {
    /// Nothing: the transaction has failed
    None,
    /// Roll back, and execute the script again with the same random values
    Restart,
    /// Roll back to SAVEPOINT cockroach_restart and execute from there again (CockroachDB)
    Savepoint,
}

impl Policy {
    /// All of them, by name.
    pub const NAMES: &'static [&'static str] = &["none", "restart", "savepoint"];

    /// The policy of this name.
    pub fn from_name(name: &str) -> Option<Self> {
        match name {
            "none" => Some(Self::None),
            "restart" => Some(Self::Restart),
            "savepoint" => Some(Self::Savepoint),
            _ => None,
        }
    }
}

/// What was asked for.
#[derive(Debug, Clone, Copy, Default)]
pub struct Asked {
    /// The policy; without one `max_tries` alone decides.
    pub policy: Option<Policy>,
    /// Tries, the first included; 0 sets no limit.
    pub max_tries: Option<u32>,
    /// Pauses between them.
    pub backoff: Option<Backoff>,
    /// No try begins so long after the first.
    pub deadline: Option<Duration>,
}

impl Asked {
    /// Puts it into a drive. With `none` nothing else counts: in a sweep it stands beside policies
    /// to which the rest belongs.
    pub fn apply(&self, drive: &mut Drive) {
        let max_tries = match self.policy {
            Some(Policy::None) => 1,
            Some(_) => self.max_tries.unwrap_or(MAX_TRIES_DEFAULT),
            None => self.max_tries.unwrap_or(1),
        };
        let retries = max_tries != 1;
        drive.retry = match self.policy {
            Some(Policy::Savepoint) => Retry::Savepoint,
            _ => Retry::Restart,
        };
        drive.max_tries = max_tries;
        drive.backoff = self.backoff.filter(|_| retries);
        drive.retry_deadline = self.deadline.filter(|_| retries);
    }
}

/// Whether the product can do what a trial asks of it.
///
/// # Errors
/// It cannot, and why.
pub fn check(asked: &Trial, product: &Product) -> Result<(), Failure> {
    let retries = &product.dialect.retries;
    let refused = |what: &str, why: &str| Failure::with(Exit::Usage, format!("{what}: {why}"));
    if let (Retry::Savepoint, Err(why)) = (asked.drive.retry, retries.savepoint) {
        return Err(refused("--retry savepoint", why)
            .hint("--retry restart rolls back and begins anew, which works everywhere"));
    }
    if asked.inject_retries {
        let inject = retries.inject.as_ref();
        let inject = inject.map_err(|why| refused("--inject-retries", why))?;
        if !product.is_since(inject.since) {
            let (since, version) = (inject.since, product.version);
            let title = product.dialect.title;
            let why = format!("{title} can fail on purpose from {since} on, and this is {version}");
            return Err(refused("--inject-retries", &why));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::backoff;

    fn applied(policy: Option<&str>, max_tries: Option<u32>) -> (&'static str, u32, bool) {
        let asked = Asked {
            policy: policy.map(|name| Policy::from_name(name).unwrap()),
            max_tries,
            backoff: Some(backoff::DEFAULT),
            deadline: Some(Duration::from_secs(1)),
        };
        let mut drive = Drive::default();
        asked.apply(&mut drive);
        assert_eq!(drive.backoff.is_some(), drive.retry_deadline.is_some());
        (drive.retry_name(), drive.max_tries, drive.backoff.is_some())
    }

    #[test]
    fn a_policy_brings_tries_and_tries_bring_a_policy() {
        assert_eq!(applied(None, None), ("none", 1, false));
        assert_eq!(applied(None, Some(3)), ("restart", 3, true));
        assert_eq!(applied(None, Some(0)), ("restart", 0, true));
        assert_eq!(applied(Some("none"), Some(3)), ("none", 1, false));
        assert_eq!(applied(Some("restart"), None), ("restart", 10, true));
        assert_eq!(applied(Some("savepoint"), Some(4)), ("savepoint", 4, true));
        assert_eq!(applied(Some("savepoint"), Some(1)), ("savepoint", 1, false));
    }

    #[test]
    fn policies_have_the_names_they_are_found_by() {
        for name in Policy::NAMES {
            let policy = Policy::from_name(name).unwrap();
            assert_eq!(policy.to_possible_value().unwrap().get_name(), *name);
        }
        assert_eq!(Policy::from_name("sometimes"), None);
    }
}
