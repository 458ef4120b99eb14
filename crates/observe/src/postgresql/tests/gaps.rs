//! What a role, a database or a server without the means leads to: a gap that says what would help.

use pgdyno_server::Server;

use super::{Database, on_each_version, place, session};
use crate::Instrument;
use crate::postgresql::counters::Counters;
use crate::postgresql::events::Events;
use crate::postgresql::locks::Locks;
use crate::postgresql::residency::Residency;
use crate::postgresql::sizes::Sizes;
use crate::postgresql::statements::Statements;
use crate::postgresql::waits::Waits;
use crate::testing::{Bench, Figures};
use pgdyno_model::observed::{Gap, Span};

on_each_version!(
    an_unprivileged_role_has_gaps_with_reasons,
    missing_extensions_are_gaps_with_the_remedy,
    what_is_refused_meanwhile_leaves_what_comes_before_it,
);

/// Reads from beginning to end; the gaps that were reported, and whether it began at all.
fn gaps(instrument: impl Instrument) -> (Result<(), Gap>, Vec<Span>) {
    let mut bench = Bench::new(instrument);
    let begun = bench.begin();
    if begun.is_ok() {
        bench.read().unwrap();
    }
    (begun, bench.end().1.gaps)
}

fn an_unprivileged_role_has_gaps_with_reasons(server: &Server, _major: u32) {
    let database = Database::new(server, "gaps", true);
    database.run("CREATE ROLE \"Jane Doe\" LOGIN; CREATE TABLE seen (x int)");
    let jane = database.as_role("Jane%20Doe");
    let grant = Some("GRANT pg_monitor TO \"Jane Doe\"".to_owned());
    let blind = |(begun, gaps): (Result<(), Gap>, Vec<Span>), label: &str| {
        begun.unwrap();
        let found = gaps.iter().find(|span| span.label == label);
        let found = found.unwrap_or_else(|| panic!("no gap of {label} in {gaps:?}"));
        assert_eq!(found.gap.remedy, grant, "{found:?}");
        assert!(found.gap.reason.contains("Jane Doe"), "{found:?}");
        assert_eq!(found.to_us, None, "it lasts");
    };
    blind(gaps(Waits::new(jane.place(), 1)), "other roles");
    blind(gaps(Locks::new(jane.place())), "other roles");
    blind(gaps(Events::new(jane.place())), "autovacuum");
    blind(gaps(Statements::new(jane.place())), "other roles");
    let (begun, _) = gaps(Residency::new(jane.place()));
    let gap = begun.expect_err("it may not");
    assert_eq!(gap.remedy, grant);
    assert!(gap.reason.contains("permission denied"), "{gap:?}");
    // All roles may read sizes and counters.
    assert_eq!(gaps(Sizes::new(jane.place())), (Ok(()), vec![]));
    let (begun, reported) = gaps(Counters::new(jane.place()));
    begun.unwrap();
    let reported: Vec<_> = reported
        .iter()
        .map(|span| (&*span.label, span.gap.remedy.as_deref()))
        .collect();
    let times = (
        "track_io_timing",
        Some("ALTER DATABASE \"gaps\" SET track_io_timing = on"),
    );
    assert!(reported.contains(&times), "{reported:?}");
}

fn what_is_refused_meanwhile_leaves_what_comes_before_it(server: &Server, _major: u32) {
    let database = Database::new(server, "refused", false);
    database.run("CREATE ROLE john LOGIN");
    let mut bench = Bench::new(Events::new(database.as_role("john").place()));
    bench.begin().unwrap();
    database.run(
        "REVOKE EXECUTE ON FUNCTION pg_stat_get_wal_senders() FROM public; \
         CREATE TABLE logged (x int); SELECT pg_switch_wal()",
    );
    let gap = bench.read().expect_err("it may not see standbys");
    let wanted = "permission denied for function pg_stat_get_wal_senders";
    assert!(gap.reason.contains(wanted), "{gap:?}");
    let (_, batch) = bench.end();
    let mut events = batch.events.iter();
    assert!(
        events.any(|event| event.kind == "wal segment"),
        "{events:?}"
    );
}

fn missing_extensions_are_gaps_with_the_remedy(server: &Server, _major: u32) {
    let database = Database::new(server, "bare", false);
    let (begun, _) = gaps(Statements::new(database.place()));
    let gap = begun.expect_err("it is not there");
    assert_eq!(
        gap.remedy.as_deref(),
        Some("CREATE EXTENSION pg_stat_statements")
    );
    let (begun, _) = gaps(Residency::new(database.place()));
    let gap = begun.expect_err("it is not there");
    assert_eq!(
        gap.remedy.as_deref(),
        Some("CREATE EXTENSION pg_buffercache")
    );
    // What is said is the command that closes it.
    database.run("CREATE EXTENSION pg_stat_statements; CREATE EXTENSION pg_buffercache");
    assert_eq!(gaps(Statements::new(database.place())), (Ok(()), vec![]));
    assert_eq!(gaps(Residency::new(database.place())), (Ok(()), vec![]));
}

#[test]
fn unloaded_statistics_are_a_gap_with_the_remedy() {
    let server = pgdyno_testkit::postgres();
    let url = server.address().url();
    let load = "ALTER SYSTEM SET shared_preload_libraries = 'pg_stat_statements'";
    let gap = gaps(Statements::new(place(&url)))
        .0
        .expect_err("not loaded");
    if gap.reason.contains("postgresql-contrib") {
        return; // This build has no extensions.
    }
    assert_eq!(gap.remedy.as_deref(), Some(load), "{gap:?}");
    session(&url)
        .simple_query("CREATE DATABASE unloaded")
        .unwrap();
    let url = url.replace("/postgres?", "/unloaded?");
    session(&url)
        .simple_query("CREATE EXTENSION pg_stat_statements")
        .unwrap();
    let gap = gaps(Statements::new(place(&url)))
        .0
        .expect_err("not loaded");
    assert_eq!(gap.remedy.as_deref(), Some(load), "{gap:?}");
}

#[test]
fn a_server_that_is_gone_is_a_gap_and_one_that_came_back_is_read_again() {
    let gone = place("postgresql://absent@127.0.0.1:1/none?connect_timeout=1");
    let gap = gaps(Counters::new(gone)).0.expect_err("no server is there");
    assert!(gap.reason.contains("127.0.0.1"), "{gap:?}");
    let url = pgdyno_testkit::postgres().address().url();
    session(&url)
        .simple_query("CREATE DATABASE cut_off")
        .unwrap();
    let url = url.replace("/postgres?", "/cut_off?");
    let mut bench = Bench::new(Counters::new(place(&url)));
    bench.begin().unwrap();
    session(&url)
        .simple_query(
            "SELECT pg_terminate_backend(pid, 10000) FROM pg_stat_activity \
             WHERE datname = 'cut_off' AND application_name = 'pgdyno observer'",
        )
        .unwrap();
    let gap = bench.read().expect_err("its session was ended");
    assert!(gap.reason.contains("terminating connection"), "{gap:?}");
    bench.read().expect("it has connected again");
    let (result, batch) = bench.end();
    result.unwrap();
    assert_eq!(batch.values("pg.transactions.committed", "").len(), 2);
    let spans: Vec<_> = batch
        .gaps
        .iter()
        .filter(|span| span.label.is_empty())
        .collect();
    assert_eq!(spans.len(), 2, "opened and closed: {spans:?}");
    assert!(spans[1].to_us.is_some(), "{spans:?}");
}
