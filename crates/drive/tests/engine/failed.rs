//! How long tries take that come to nothing, and the closing of connections.

use std::num::NonZeroU64;

use pgdyno_drive::Drive;
use pgdyno_measurement::{FailedTries, Failure, Latencies, Recording};
use pgdyno_spec::{Backoff, Jitter, OnError};

use crate::support::*;

/// A few milliseconds, then a division by the client's number, which is 0 for the first one.
const FAILING: &str = "select pg_sleep(0.02);\nselect 1 / :client_id;\n";

fn failed_of(recording: &Recording) -> FailedTries {
    recording.measured.all().failed
}

fn shortest_us(latencies: &Latencies) -> u64 {
    latencies.histogram().min_us().unwrap_or(0)
}

#[test]
fn a_failed_transaction_is_timed_apart_from_the_others() {
    let (recording, _) = run(&Drive {
        clients: 2,
        on_error: OnError::Continue,
        until: transactions(3),
        ..drive(FAILING)
    });
    let all = recording.measured.all();
    assert_eq!((all.counts.committed, all.counts.failed_total()), (3, 3));
    let failed = &all.failed.service;
    assert_eq!((failed.count(), all.service.count()), (3, 3));
    assert!(shortest_us(failed) >= 20_000, "{failed:?}");
    assert!(all.failed.response.is_none());
    assert_eq!(all.missing.service.count(), 0);
    // Of the statements only the second one went wrong, which took no time.
    let [sleeping, dividing] = &recording.statements[0][..] else {
        panic!("{:?}", recording.statements);
    };
    let counts = |part: &pgdyno_measurement::StatementTotals| {
        (part.latencies.count(), part.failed.count(), part.failures)
    };
    assert_eq!((counts(sleeping), counts(dividing)), ((6, 0, 0), (3, 3, 3)));
}

#[test]
fn with_a_rate_a_failed_transaction_is_also_timed_from_its_schedule() {
    let (recording, _) = run(&Drive {
        on_error: OnError::Continue,
        rate: Some(1000.0.into()),
        until: transactions(5),
        ..drive(FAILING)
    });
    let failed = failed_of(&recording);
    let response = failed.response.unwrap();
    assert_eq!((failed.service.count(), response.count()), (5, 5));
    // They were to begin a millisecond after each other, and each took twenty.
    assert!(response.max_us() > failed.service.max_us() + 30_000);
}

#[test]
fn a_row_that_is_not_found_is_timed_as_missing() {
    let script = "select 1 where :client_id = 1;\nselect 2;\n";
    let mut drive = Drive {
        clients: 2,
        until: transactions(2),
        ..drive(script)
    };
    for script in &mut drive.scripts {
        script.must_find = true;
    }
    let (recording, _) = run(&drive);
    assert_eq!(failed(&recording, Failure::RowMissing), 2);
    let all = recording.measured.all();
    assert_eq!(all.missing.service.count(), 2);
    assert_eq!(all.failed.service.count(), 0);
    let finding = &recording.statements[0];
    let counts = finding
        .iter()
        .map(|part| (part.latencies.count(), part.missing.count()));
    assert_eq!(counts.collect::<Vec<_>>(), [(2, 2), (4, 0)]);
}

#[test]
fn every_error_is_tried_again_when_that_is_asked_for() {
    sql("create sequence failed_seq");
    let script = "select 1 / (nextval('failed_seq') - 1);\n";
    let asked = |retries_every_error| Drive {
        retries_every_error,
        max_tries: 2,
        backoff: Some(Backoff {
            base: millis(300),
            cap: millis(300),
            jitter: Jitter::None,
        }),
        ..drive(script)
    };
    let (recording, _) = run(&asked(true));
    let all = recording.measured.all();
    assert_eq!((all.counts.committed, all.counts.retries), (1, 1));
    assert_eq!(all.failed.service.count(), 1);
    // The pause is neither the failed try's nor the statement's.
    assert!(all.failed.service.max_us() < 300_000, "{:?}", all.failed);
    assert!(recording.statements[0][0].failed.max_us() < 300_000);
    assert!(all.service.max_us() >= 300_000, "{:?}", all.service);
    assert!(all.attempt.unwrap().max_us() < all.service.max_us());
    sql("alter sequence failed_seq restart");
    let (recording, _) = run(&asked(false));
    assert_eq!(counts(&recording).failed_total(), 1);
    assert_eq!(recording.clients.aborted, 1);
}

#[test]
fn each_client_closes_its_connection_once() {
    let (recording, _) = run(&Drive {
        clients: 5,
        threads: 2,
        until: transactions(2),
        ..drive("select 1 / :client_id;\n")
    });
    assert_eq!(recording.clients.aborted, 1);
    let closings = &recording.connections.closings;
    assert_eq!(closings.len(), 5);
    let end_us = recording.measured.elapsed_us + 5_000_000;
    assert!(
        closings
            .iter()
            .all(|closing| closing.at_us < end_us && closing.latency_us < end_us)
    );
}

#[test]
fn a_logged_transaction_says_how_long_it_took_whatever_came_of_it() {
    let (_, seen) = run(&Drive {
        log: Some(1.0),
        on_error: OnError::Continue,
        transactions_max: NonZeroU64::new(2),
        until: transactions(2),
        ..drive(FAILING)
    });
    let took: Vec<(u64, bool)> = seen
        .logged
        .iter()
        .map(|(_, logged)| (logged.latency_us, logged.took_us >= 20_000))
        .collect();
    assert_eq!(took, [(0, true), (0, true)]);
}
