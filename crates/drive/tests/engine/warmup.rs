//! Warm-ups whose end is decided while they run.

use std::time::Instant;

use pgdyno_drive::{Control, Drive, Live};
use pgdyno_measurement::{End, Event, Interval, Message, Recording};
use pgdyno_spec::Until;

use crate::support::*;

/// Ends the warm-up when its first second is over, and after another one the run, if asked to.
struct Impatient {
    control: Control,
    stops: bool,
    seconds: usize,
}

impl Live for Impatient {
    fn second(&mut self, _: &Interval) {
        self.seconds += 1;
        match self.seconds {
            1 if !self.stops => self.control.end_warmup(),
            2 if self.stops => self.control.finish(),
            _ => {}
        }
    }

    fn event(&mut self, event: &Event) {
        panic!("{}", event.text);
    }

    fn message(&mut self, message: &Message) {
        panic!("{}", message.text);
    }
}

fn run_impatiently(drive: &Drive, stops: bool) -> (Recording, f64) {
    let control = Control::default();
    let mut live = Impatient {
        control: control.clone(),
        stops,
        seconds: 0,
    };
    let begin = Instant::now();
    let recording = drive.run(&control, &mut live);
    let elapsed_s = begin.elapsed().as_secs_f64();
    (recording.unwrap_or_else(|e| panic!("{e}")), elapsed_s)
}

/// Every second of the warm-up is a whole one, the figures of both phases are those of their
/// seconds, and the measured time begins where the warm-up ends; gives the warm-up's length in
/// seconds.
fn check(recording: &Recording) -> u64 {
    let (warmup, measured): (Vec<_>, Vec<_>) =
        recording.seconds.iter().partition(|second| second.warmup);
    assert!(warmup.iter().all(|second| second.length_us == 1_000_000));
    let end_us = warmup.len() as u64 * 1_000_000;
    assert_eq!(measured[0].start_us, end_us, "{measured:?}");
    let committed = |seconds: &[&pgdyno_measurement::Second]| -> u64 {
        let scripts = seconds.iter().flat_map(|second| &second.scripts);
        scripts.map(|script| script.counts.committed).sum()
    };
    let of_warmup = recording.warmup.as_ref().expect("a warm-up");
    assert_eq!(of_warmup.elapsed_us, end_us);
    assert_eq!(of_warmup.all().counts.committed, committed(&warmup));
    assert_eq!(counts(recording).committed, committed(&measured));
    warmup.len() as u64
}

#[test]
fn a_warm_up_ends_for_all_threads_on_request_and_the_time_counts_from_there() {
    let (recording, elapsed_s) = run_impatiently(
        &Drive {
            clients: 5,
            threads: 3,
            warmup: millis(60_000),
            until: Until::Elapsed(millis(1_300)),
            ..drive("select pg_sleep(0.01);")
        },
        false,
    );
    assert_eq!(recording.end, End::Complete);
    let warmup_s = check(&recording);
    assert!((1..=10).contains(&warmup_s), "{warmup_s} s");
    let measured_us = recording.measured.elapsed_us;
    assert!(
        (1_300_000..5_000_000).contains(&measured_us),
        "{measured_us}"
    );
    assert!(elapsed_s < 20.0, "{elapsed_s} s");
    let statement = &recording.statements[0][0].latencies;
    assert_eq!(statement.count(), counts(&recording).committed);
}

#[test]
fn clients_whose_schedule_lies_beyond_the_end_that_came_nearer_end() {
    let (recording, elapsed_s) = run_impatiently(
        &Drive {
            clients: 4,
            threads: 2,
            rate: Some(0.001.into()),
            warmup: millis(600_000),
            until: Until::Elapsed(millis(400)),
            ..drive("select 1;")
        },
        false,
    );
    assert_eq!(recording.end, End::Complete);
    assert!(elapsed_s < 20.0, "{elapsed_s} s");
}

#[test]
fn transactions_are_counted_from_the_end_of_the_warm_up() {
    let (recording, _) = run_impatiently(
        &Drive {
            clients: 3,
            threads: 2,
            warmup: millis(60_000),
            until: transactions(7),
            ..drive("select pg_sleep(0.02);")
        },
        false,
    );
    assert_eq!(counts(&recording).committed, 21);
    check(&recording);
}

#[test]
fn a_late_request_ends_no_warm_up_early() {
    let (recording, _) = run_impatiently(
        &Drive {
            warmup: millis(1_200),
            until: Until::Elapsed(millis(300)),
            ..drive("select pg_sleep(0.01);")
        },
        false,
    );
    let warmup = recording.warmup.as_ref().expect("a warm-up");
    // After the event of its first second, the caller may be faster than the thread that leaves it.
    assert!([1_000_000, 1_200_000].contains(&warmup.elapsed_us));
    assert!(counts(&recording).committed > 0);
}

#[test]
fn a_run_that_is_stopped_in_its_warm_up_has_no_figures() {
    let (recording, elapsed_s) = run_impatiently(
        &Drive {
            clients: 2,
            threads: 2,
            warmup: millis(60_000),
            until: Until::Elapsed(millis(1_000)),
            ..drive("select pg_sleep(0.01);")
        },
        true,
    );
    assert_eq!(recording.end, End::Interrupted);
    assert_eq!(
        (counts(&recording).total(), recording.measured.elapsed_us),
        (0, 0)
    );
    assert!(recording.warmup.expect("a warm-up").all().counts.committed > 0);
    assert!(elapsed_s < 6.0, "{elapsed_s} s");
}
