//! What the server itself counts of restarts and deadlocks, before and after a trial: to be set
//! beside what clients saw. On a session of its own, never while clients are at work.

use std::collections::{BTreeMap, BTreeSet};
use std::thread;
use std::time::{Duration, Instant};

use pgdyno_session::Session;

use super::admin;
use super::dialect::Dialect;
use super::open::{Endpoint, Target};
use super::room::CLOSE_MAX;
use pgdyno_model::Fact;
use pgdyno_model::document::{Reached, ServerCounters};

/// How often it is looked whether counters have settled: PostgreSQL's backends report theirs when
/// they end, and that is a moment after their client has gone.
const LOOK_INTERVAL: Duration = Duration::from_millis(100);
/// How long all of that may take after a trial, connecting included: no result waits longer.
const AFTER_MAX: Duration = Duration::from_secs(2);

/// The counters at one moment, by the endpoint that was asked.
pub struct Before<'a>(Fact<Vec<(&'a Endpoint, Counted)>>);

type Counted = BTreeMap<String, u64>;

/// Reads them before a trial: at each node that clients connect to, once. `also` asks what else is to be known
/// before it, on the same session.
pub fn before<'a>(
    target: &'a Target,
    reached: &[Reached],
    dialect: &Dialect,
    mut also: impl FnMut(&Endpoint, &mut Session),
) -> Before<'a> {
    let mut met = BTreeSet::new();
    let node = |endpoint: &Endpoint| {
        let mut of = reached.iter().filter(|r| r.endpoint == endpoint.name);
        of.find_map(|reached| reached.node.known().cloned())
    };
    let endpoints = target.endpoints.iter();
    // One whose node is not reported is taken for a node of its own.
    let endpoints =
        endpoints.filter(|&endpoint| node(endpoint).is_none_or(|node| met.insert(node)));
    let mut all = Vec::new();
    for endpoint in endpoints {
        let counted = connect(endpoint, dialect).and_then_known(|mut session| {
            let counted = read(&mut session, dialect);
            also(endpoint, &mut session);
            // A client may want its place next.
            session.close_and_wait(CLOSE_MAX);
            counted
        });
        match counted {
            Fact::Known(counted) => all.push((endpoint, counted)),
            Fact::Unknown(why) => return Before(Fact::Unknown(why)),
        }
    }
    Before(Fact::Known(all))
}

impl Before<'_> {
    /// Reads them again and tells the difference; `has_settled` says that nothing can have been
    /// counted that is not there yet.
    pub fn after(self, dialect: &Dialect, has_settled: bool) -> Fact<ServerCounters> {
        let until = Instant::now() + AFTER_MAX;
        self.0.and_then_known(|before| {
            let mut all = Counted::new();
            let mut restarted = Vec::new();
            for (endpoint, before) in before {
                let quickly = endpoint.within(until.saturating_duration_since(Instant::now()));
                let now = connect(&quickly, dialect)
                    .and_then_known(|session| settled(session, dialect, has_settled, until));
                match now {
                    Fact::Known(now) if add_grown(&mut all, &before, &now) => {
                        restarted.push(endpoint.name.clone());
                    }
                    Fact::Known(_) => {}
                    // Without it the sum would be of fewer nodes than clients were at.
                    Fact::Unknown(why) => return Fact::Unknown(why),
                }
            }
            Fact::Known(counters(all, restarted, dialect))
        })
    }
}

fn settled(
    mut session: Session,
    dialect: &Dialect,
    has_settled: bool,
    until: Instant,
) -> Fact<Counted> {
    session.set_answer_timeout(Some(until.saturating_duration_since(Instant::now())));
    let mut last = read(&mut session, dialect);
    while !has_settled && Instant::now() + LOOK_INTERVAL < until {
        thread::sleep(LOOK_INTERVAL);
        let next = read(&mut session, dialect);
        if next == last {
            break;
        }
        last = next;
    }
    session.close();
    last
}

fn connect(endpoint: &Endpoint, dialect: &Dialect) -> Fact<Session> {
    match &dialect.retries.counters {
        Err(why) => Fact::Unknown((*why).to_owned()),
        Ok(_) => match endpoint.connect() {
            Ok(session) => Fact::Known(session),
            Err(error) => Fact::Unknown(format!("{}: {error}", endpoint.name)),
        },
    }
}

fn read(session: &mut Session, dialect: &Dialect) -> Fact<Counted> {
    match &dialect.retries.counters {
        Ok(counters) => admin::counters(session, counters.query),
        Err(why) => Fact::Unknown((*why).to_owned()),
    }
}

/// Whether the server was restarted meanwhile: then it counts from zero, and what it counted before that is
/// not known.
fn add_grown(all: &mut Counted, before: &Counted, now: &Counted) -> bool {
    let of = |counted: &Counted, name: &String| counted.get(name).copied().unwrap_or(0);
    let was_restarted = before.iter().any(|(name, before)| of(now, name) < *before);
    for (name, now) in now {
        let before = if was_restarted { 0 } else { of(before, name) };
        *all.entry(name.clone()).or_default() += now - before;
    }
    was_restarted
}

fn counters(counted: Counted, restarted: Vec<String>, dialect: &Dialect) -> ServerCounters {
    let (source, prefix) = match &dialect.retries.counters {
        Ok(counters) => (counters.source, counters.restarts),
        Err(_) => ("", ""),
    };
    let restarts = counted.iter().filter(|(name, _)| name.starts_with(prefix));
    let restarts = restarts.map(|(_, grown)| grown).sum();
    ServerCounters {
        source: source.to_owned(),
        restarts: (!prefix.is_empty()).then_some(restarts),
        restarted,
        counted,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dialect::Product;

    fn counts(of: &[(&str, u64)]) -> Counted {
        of.iter()
            .map(|(name, n)| ((*name).to_owned(), *n))
            .collect()
    }

    #[test]
    fn restarts_are_the_sum_of_what_has_grown_at_all_nodes() {
        let before = counts(&[("txn.restarts.writetooold", 3388)]);
        let now = counts(&[
            ("txn.restarts.serializable", 14),
            ("txn.restarts.writetooold", 3400),
        ]);
        let crdb = Product::recognise("CockroachDB CCL v22.2.0").dialect;
        let mut all = Counted::new();
        assert!(!add_grown(&mut all, &before, &now));
        assert!(!add_grown(&mut all, &before, &now));
        // This one was restarted, and has counted these since.
        let since = counts(&[
            ("txn.restarts.serializable", 20),
            ("txn.restarts.writetooold", 7),
        ]);
        assert!(add_grown(&mut all, &now, &since));
        // As this one, which has counted none since.
        assert!(add_grown(&mut all, &now, &Counted::new()));
        let reported = counters(all, vec!["db2:26257".to_owned()], crdb);
        assert_eq!(reported.restarts, Some(2 * (14 + 12) + 27));
        assert_eq!(reported.counted["txn.restarts.writetooold"], 24 + 7);
        assert_eq!(reported.restarted, ["db2:26257"]);
        let postgresql = Product::recognise("PostgreSQL 18.1").dialect;
        let reported = counters(counts(&[("deadlocks", 2)]), Vec::new(), postgresql);
        assert_eq!(
            (reported.restarts, reported.counted["deadlocks"]),
            (None, 2)
        );
    }
}
