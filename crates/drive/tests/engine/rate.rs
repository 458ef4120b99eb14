//! Open loops: transactions start by a schedule, however fast the server answers.

use pgdyno_drive::Drive;
use pgdyno_spec::{
    Profile, Until,
    load::{Piece, Then},
};

use crate::support::*;

#[test]
fn transactions_arrive_at_the_rate_whatever_the_number_of_clients() {
    let recording = run_well(&Drive {
        clients: 6,
        threads: 2,
        rate: Some(300.0.into()),
        until: Until::Elapsed(millis(2000)),
        ..drive("select 1;")
    });
    let all = recording.measured.all();
    // Poisson: 600 ± 5 × 24.5.
    assert!(all.counts.committed.abs_diff(600) < 123, "{:?}", all.counts);
    let response = all.response.expect("response times");
    let lag = all.lag.expect("lags");
    assert_eq!(response.count(), all.counts.committed);
    assert_eq!(lag.count(), all.counts.committed);
    assert!(response.sum_us() >= all.service.sum_us());
    // Each of the three is rounded to a microsecond.
    let sum = all.service.sum_us() + lag.sum_us();
    assert!(response.sum_us().abs_diff(sum) <= 2 * response.count());
    assert!(recording.seconds[0].scripts[0].response.is_some());
}

#[test]
fn what_is_too_late_to_be_in_time_is_skipped_and_what_takes_too_long_is_late() {
    let recording = run(&Drive {
        rate: Some(200.0.into()),
        latency_limit: Some(millis(30)),
        until: Until::Elapsed(millis(1000)),
        ..drive("select pg_sleep(0.02);")
    })
    .0;
    let counts = counts(&recording);
    // One client does at most 50 a second; the others are given up.
    assert!((20..=50).contains(&counts.committed), "{counts:?}");
    assert_eq!(counts.total(), counts.committed + counts.skipped);
    assert!(counts.total().abs_diff(200) < 71 + 10, "{counts:?}");
    assert!(
        counts.late > 0 && counts.late <= counts.committed,
        "{counts:?}"
    );
    // At worst it starts when its limit is over.
    let lag = recording.measured.all().lag.expect("lags");
    assert!(lag.max_us() <= 30_000, "{}", lag.max_us());
}

#[test]
fn a_closed_loop_has_late_transactions_but_no_schedule() {
    let recording = run_well(&Drive {
        latency_limit: Some(millis(5)),
        until: transactions(4),
        ..drive("select pg_sleep(0.01);")
    });
    let all = recording.measured.all();
    assert_eq!((all.counts.late, all.counts.skipped), (4, 0));
    assert!(all.response.is_none() && all.lag.is_none());
}

#[test]
fn skipped_transactions_count_for_the_limit_of_transactions() {
    let recording = run(&Drive {
        clients: 2,
        threads: 2,
        rate: Some(1000.0.into()),
        latency_limit: Some(millis(1)),
        until: transactions(40),
        ..drive("select pg_sleep(0.01);")
    })
    .0;
    let counts = counts(&recording);
    assert_eq!(counts.committed + counts.skipped, 80);
    assert!(counts.skipped > 0 && counts.committed > 0, "{counts:?}");
}

/// Starts of 100 a second in the first half second of a second and a half, and none from then on.
fn with_nothing_at_the_end() -> Drive {
    Drive {
        clients: 2,
        rate: Some(Profile::straight(
            [Piece::level(100.0, 0.5)],
            Then::Holds(0.0),
        )),
        until: Until::Elapsed(millis(1500)),
        ..drive("select 1;")
    }
}

#[test]
fn a_trial_with_a_rate_lasts_its_time_also_where_no_start_is_left() {
    let measured = run_well(&with_nothing_at_the_end()).measured;
    assert!(
        measured.asked_us().abs_diff(1_500_000) < 1_000,
        "{}",
        measured.asked_us()
    );
    let committed = measured.all().counts.committed as f64;
    assert!(committed > 20.0, "{committed}");
    let per_s = committed / 1.5;
    assert!((measured.goodput_per_s() / per_s - 1.0).abs() < 0.001);
}

#[test]
fn what_counts_as_pgbench_ends_with_the_last_start() {
    let measured = run_well(&Drive {
        counts_as_pgbench: true,
        ..with_nothing_at_the_end()
    })
    .measured;
    // The last start is within the first half second.
    assert!(measured.elapsed_us < 1_400_000, "{}", measured.elapsed_us);
}
