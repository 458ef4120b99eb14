//! What the server itself counts of restarts and deadlocks, before and after a trial: to be set
//! beside what clients saw. On a session of its own, never while clients are at work.

use std::collections::BTreeMap;
use std::thread;
use std::time::{Duration, Instant};

use pgdyno_session::Session;
use serde::{Deserialize, Serialize};

use super::admin;
use super::dialect::Dialect;
use super::facts::Fact;
use super::open::Target;

/// How long counters may take to settle: PostgreSQL's backends report theirs when they end, and
/// that is a moment after their client has gone.
const SETTLE_MAX: Duration = Duration::from_secs(2);
const LOOK_INTERVAL: Duration = Duration::from_millis(100);

/// What was counted during a trial, warm-up included.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ServerCounters {
    /// Where the counters are from, for people.
    pub source: String,
    /// How much each has grown.
    pub counted: BTreeMap<String, u64>,
    /// The sum of those that count what clients retry for, where there are any.
    pub restarts: Option<u64>,
}

/// The counters at one moment.
pub struct Before(Fact<BTreeMap<String, u64>>);

/// Reads them before a trial.
pub fn before(target: &Target, dialect: &Dialect) -> Before {
    Before(connect(target, dialect).and_then_seen(|mut session| read(&mut session, dialect)))
}

impl Before {
    /// Reads them again and tells the difference; `has_settled` says that nothing can have been
    /// counted that is not there yet.
    pub fn after(
        self,
        target: &Target,
        dialect: &Dialect,
        has_settled: bool,
    ) -> Fact<ServerCounters> {
        let before = match self.0 {
            Fact::Seen(before) => before,
            Fact::Unseen(why) => return Fact::Unseen(why),
        };
        let now = connect(target, dialect).and_then_seen(|mut session| {
            let mut last = read(&mut session, dialect);
            let begun = Instant::now();
            while !has_settled && begun.elapsed() < SETTLE_MAX {
                thread::sleep(LOOK_INTERVAL);
                let next = read(&mut session, dialect);
                if next == last {
                    break;
                }
                last = next;
            }
            session.close();
            last
        });
        now.map_seen(|now| difference(&before, now, dialect))
    }
}

fn connect(target: &Target, dialect: &Dialect) -> Fact<Session> {
    match &dialect.retries.counters {
        Err(why) => Fact::Unseen((*why).to_owned()),
        Ok(_) => match target.connect() {
            Ok(session) => Fact::Seen(session),
            Err(failure) => Fact::Unseen(failure.message),
        },
    }
}

fn read(session: &mut Session, dialect: &Dialect) -> Fact<BTreeMap<String, u64>> {
    let counters = match &dialect.retries.counters {
        Ok(counters) => counters,
        Err(why) => return Fact::Unseen((*why).to_owned()),
    };
    let rows = match admin::rows(session, counters.query) {
        Ok(rows) => rows,
        Err(error) => return Fact::Unseen(error.to_string()),
    };
    let counted = rows.into_iter().filter_map(|row| {
        let mut row = row.into_iter().flatten();
        Some((row.next()?, row.next()?.parse().ok()?))
    });
    Fact::Seen(counted.collect())
}

fn difference(
    before: &BTreeMap<String, u64>,
    now: BTreeMap<String, u64>,
    dialect: &Dialect,
) -> ServerCounters {
    let (source, prefix) = match &dialect.retries.counters {
        Ok(counters) => (counters.source, counters.restarts),
        Err(_) => ("", ""),
    };
    let grown = now.into_iter().map(|(name, now)| {
        let before = before.get(&name).copied().unwrap_or(0);
        (name, now.saturating_sub(before))
    });
    let counted: BTreeMap<String, u64> = grown.collect();
    let restarts = counted.iter().filter(|(name, _)| name.starts_with(prefix));
    let restarts = restarts.map(|(_, grown)| grown).sum();
    ServerCounters {
        source: source.to_owned(),
        restarts: (!prefix.is_empty()).then_some(restarts),
        counted,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::target::dialect::Product;

    fn counts(of: &[(&str, u64)]) -> BTreeMap<String, u64> {
        of.iter()
            .map(|(name, n)| ((*name).to_owned(), *n))
            .collect()
    }

    #[test]
    fn restarts_are_the_sum_of_what_has_grown() {
        let before = counts(&[("txn.restarts.writetooold", 3388)]);
        let now = counts(&[
            ("txn.restarts.serializable", 14),
            ("txn.restarts.writetooold", 3400),
        ]);
        let crdb = Product::recognise("CockroachDB CCL v22.2.0").dialect;
        let counters = difference(&before, now.clone(), crdb);
        assert_eq!(counters.restarts, Some(26));
        assert_eq!(counters.counted["txn.restarts.writetooold"], 12);
        // A server that was started anew counts from zero.
        assert_eq!(difference(&now, before, crdb).restarts, Some(0));
        let postgresql = Product::recognise("PostgreSQL 18.1").dialect;
        let counters = difference(&counts(&[]), counts(&[("deadlocks", 2)]), postgresql);
        assert_eq!(
            (counters.restarts, counters.counted["deadlocks"]),
            (None, 2)
        );
    }
}
