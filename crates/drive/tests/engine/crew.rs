//! A number of clients that moves.

use pgdyno_drive::{Control, Drive};
use pgdyno_measurement::{Activity, Recording, Second};
use pgdyno_spec::{
    Profile, Until,
    load::{Piece, Then},
};

use crate::support::*;

/// Clients that did not rest in a second, on average.
fn working(second: &Second) -> f64 {
    let time = &second.time;
    (time.all_ns() - time.at(Activity::Rest)) as f64 / 1000.0 / second.length_us as f64
}

/// A second of warm-up and six measured ones: 2, 8, 8, 0, 3 and 3 of eight clients work.
fn stepped(script: &str) -> Drive {
    let levels = [(2.0, 1.0), (8.0, 2.0), (0.0, 1.0)];
    let pieces = levels.map(|(clients, length_s)| Piece::level(clients, length_s));
    Drive {
        clients: 8,
        threads: 3,
        warmup: millis(1000),
        working: Some(Profile::straight(pieces, Then::Holds(3.0))),
        until: Until::Elapsed(millis(6000)),
        ..drive(script)
    }
}

fn assert_follows(recording: &Recording) {
    let asked = [2.0, 2.0, 8.0, 8.0, 0.0, 3.0, 3.0];
    let seconds: Vec<&Second> = recording.seconds.iter().filter(|one| !one.drain).collect();
    assert_eq!(seconds.len(), asked.len());
    for (second, asked) in seconds.iter().zip(asked) {
        // What is under way when clients are to rest ends first: 20 ms and what a busy host takes.
        let working = working(second);
        assert!((working - asked).abs() < 0.5, "{working} of {asked}");
        let all_us = second.time.all_ns() as f64 / 1000.0;
        let passed_us = 8.0 * second.length_us as f64;
        assert!(
            (all_us / passed_us - 1.0).abs() < 0.02,
            "{all_us} of {passed_us}"
        );
    }
}

#[test]
fn as_many_clients_work_as_are_asked_for_and_the_others_rest() {
    let recording = run_well(&stepped("select pg_sleep(0.02);\n"));
    assert_follows(&recording);
    // All are connected from the beginning, and stay so.
    assert_eq!(recording.connections.latencies.count(), 8);
    let committed: Vec<u64> = recording.seconds[1..7]
        .iter()
        .map(|second| second.scripts[0].counts.committed)
        .collect();
    let [two, eight, _, none, three, _] = committed[..] else {
        panic!("{committed:?}");
    };
    // A busy machine does fewer in a second, but never more than a last one each while no client is asked for.
    assert!(two > 0 && eight > two, "{committed:?}");
    assert!(none <= 8 && three > none, "{committed:?}");
    // A client that rests waits for nothing: six of them do for more than a second.
    let longest = recording.client_stalls.iter().map(|one| one.length_us);
    assert!(
        longest.max().unwrap_or(0) < 1_000_000,
        "{:?}",
        recording.client_stalls
    );
}

#[test]
fn clients_that_rest_leave_their_scheduled_starts_to_those_that_work() {
    let drive = Drive {
        rate: Some(100.0.into()),
        seed: 4,
        ..stepped("select pg_sleep(0.002);\n")
    };
    let recording = run_well(&drive);
    assert_follows(&recording);
    let all = recording.measured.all();
    let due = recording.due.expect("a schedule");
    let lag = |second: usize| {
        let lag = recording.seconds[second].scripts[0].lag.as_ref();
        lag.expect("with a rate").unpack().max_us()
    };
    // Those of the second without clients are late. What is under way at the end does not count, nor what was due
    // within the lag of then, for which a busy machine had no time: twice the rate's, as intervals are drawn.
    let too_late = 3 + 2 * 100 * lag(6) / 1_000_000;
    assert!(
        all.counts.committed + too_late >= due,
        "{} of {due}",
        all.counts.committed
    );
    for second in [0, 2, 3, 6] {
        assert!(lag(second) < lag(5), "second {second}: {}", lag(second));
    }
    assert!(lag(5) > 700_000, "{}", lag(5));
}

#[test]
fn clients_that_connect_for_each_transaction_have_no_connection_while_they_rest() {
    let drive = Drive {
        connection_per_transaction: true,
        ..stepped("select pg_sleep(0.02);\n")
    };
    assert_follows(&run_well(&drive));
}

#[test]
fn what_cannot_be_followed_is_refused() {
    let with = |working: Profile| Drive {
        working: Some(working),
        ..stepped("select 1;\n")
    };
    let counted = Drive {
        until: Until::Transactions(const { std::num::NonZeroU64::new(3).unwrap() }),
        ..stepped("select 1;\n")
    };
    for (drive, why) in [
        (with(9.0.into()), "no more clients can work"),
        (
            with(Profile::straight([], Then::Holds(1.0))),
            "no more clients can work",
        ),
        (counted, "takes a duration"),
    ] {
        let error = drive.run(&Control::default(), &mut Seen::default());
        let error = error.expect_err("is refused").to_string();
        assert!(error.contains(why), "{error}");
    }
}
