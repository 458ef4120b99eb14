//! Where clients were.

use pgdyno_drive::Drive;
use pgdyno_measurement::{Activity, Recording};
use pgdyno_spec::Until;

use crate::support::*;

fn share(recording: &Recording, activity: Activity) -> f64 {
    let time = &recording.measured.time;
    time.at(activity) as f64 / time.all_ns() as f64
}

/// The clients' time is theirs alone: their number times the time that passed.
fn assert_adds_up(recording: &Recording, clients: u64) {
    let all_us = recording.measured.time.all_ns() / 1000;
    let passed_us = clients * recording.measured.elapsed_us;
    // Those that ended a little earlier than the last one.
    assert!(all_us <= passed_us + clients, "{all_us} {passed_us}");
    assert!(
        all_us as f64 > 0.9 * passed_us as f64,
        "{all_us} {passed_us}"
    );
    let seconds = recording.seconds.iter().filter(|second| !second.warmup);
    let by_second: u64 = seconds.map(|second| second.time.all_ns()).sum();
    assert_eq!(by_second, recording.measured.time.all_ns());
}

#[test]
fn every_client_second_is_at_one_place_and_think_time_is_its_own() {
    let drive = Drive {
        clients: 4,
        threads: 2,
        warmup: millis(200),
        until: Until::Elapsed(millis(1_500)),
        ..drive("select pg_sleep(0.02);\n\\sleep 60 ms\n")
    };
    let recording = run_well(&drive);
    assert_adds_up(&recording, 4);
    let think = share(&recording, Activity::Think);
    assert!((0.6..=0.76).contains(&think), "{think}");
    assert!(share(&recording, Activity::Statement) > 0.2);
    let time = &recording.measured.time;
    let committed = counts(&recording).committed;
    // The last ones of the warm-up and of the run are broken in two.
    assert!(time.round_trips.abs_diff(committed) <= 8, "{time:?}");
    assert!(time.received_bytes > 0 && time.ran_ns > 0);
}

#[test]
fn waits_for_the_schedule_and_for_the_server_are_separate() {
    let drive = Drive {
        clients: 2,
        rate: Some(20.0.into()),
        until: Until::Elapsed(millis(1_500)),
        ..drive("select 1;\n")
    };
    let recording = run_well(&drive);
    assert_adds_up(&recording, 2);
    let waits = share(&recording, Activity::Schedule);
    assert!(waits > 0.6, "{waits}");
}

#[test]
fn connecting_and_statements_are_separate() {
    let drive = Drive {
        connection_per_transaction: true,
        until: Until::Elapsed(millis(700)),
        ..drive("select 1;\n")
    };
    let recording = run_well(&drive);
    assert_adds_up(&recording, 1);
    assert!(share(&recording, Activity::Connect) > 0.5);
}

#[test]
fn what_the_generator_adds_is_followed_where_turns_are_few() {
    let drive = Drive {
        clients: 2,
        until: Until::Elapsed(millis(2_500)),
        ..drive("select pg_sleep(0.01);\n")
    };
    let recording = run_well(&drive);
    let added = &recording.added;
    let committed = counts(&recording).committed;
    let followed = added.shown.count();
    assert!(followed > committed / 4, "{followed} of {committed}");
    assert_eq!(added.without.count(), followed);
    assert_eq!(added.without_max.count(), followed);
    assert!(added.without_max.sum_us() <= added.without.sum_us());
    assert!(added.without.sum_us() <= added.shown.sum_us());
}

#[test]
fn an_answer_in_many_parts_tells_how_long_it_took() {
    let drive = Drive {
        until: Until::Elapsed(millis(700)),
        ..drive("select repeat('x', 1000000) from generate_series(1, 20);\n")
    };
    let recording = run_well(&drive);
    let time = &recording.measured.time;
    let statement = time.at(Activity::Statement);
    let receiving = time.receiving_ns as f64 / statement as f64;
    assert!(receiving > 0.2 && receiving < 1.0, "{receiving}");
    assert!(time.received_bytes > counts(&recording).committed * 20_000_000);
}
