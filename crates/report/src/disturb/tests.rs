use pgdyno_measurement::{Phase, Recording, Slots};
use pgdyno_model::document::{CommandEnd, CommandRun, DisturbFigures, Disturbed, Metastable};

use super::figures::of_parts;

/// A recording at 100 transactions a second: 10 s before, then a second each with a share that is
/// answered within 5 ms; the others come after 2 s, or never where `fails`.
fn recording(after: &[f64], fails: bool) -> Recording {
    let seconds = std::iter::repeat_n(1.0, 10).chain(after.iter().copied());
    let shares: Vec<f64> = seconds
        .flat_map(|share| std::iter::repeat_n(share, 10))
        .collect();
    let packed = shares.iter().enumerate().map(|(number, share)| {
        let quick = (10.0 * share).round() as u32;
        let others = 10 - quick;
        let errors = if fails { others } else { 0 };
        let late = others - errors;
        // Up to 5 ms is the eleventh bound, up to 2 s the twenty-seventh.
        let buckets = [(10, quick), (26, late)];
        let buckets = buckets
            .into_iter()
            .filter(|(_, count)| *count > 0)
            .collect();
        let moments = [
            (quick > 0).then_some(20_000),
            (errors > 0).then_some(30_000),
        ];
        (
            number,
            [10, 0, errors, 0, 0, quick, errors],
            moments,
            buckets,
        )
    });
    let length_us = shares.len() as u64 * 100_000;
    Recording {
        slots: Some(Slots::unpack(None, packed.collect())),
        measured: Phase {
            elapsed_us: length_us,
            ..Phase::default()
        },
        ..Recording::default()
    }
}

fn figures(after: &[f64], fails: bool) -> DisturbFigures {
    let disturbed = Disturbed {
        due_us: 10_000_000,
        began_us: Some(10_000_000),
        ended_us: Some(12_000_000),
        ..Disturbed::default()
    };
    let recording = recording(after, fails);
    of_parts(&disturbed, &recording).unwrap()
}

fn seconds(parts: &[(usize, f64)]) -> Vec<f64> {
    let parts = parts.iter();
    parts
        .flat_map(|(count, share)| std::iter::repeat_n(*share, *count))
        .collect()
}

#[test]
fn what_was_due_and_not_served_is_missed_and_the_time_until_it_is_back_is_known() {
    let it = figures(&seconds(&[(3, 0.0), (12, 1.0)]), true);
    // p99 within 5 ms, so that five times that is 25 ms: the next bound is 30 ms.
    assert_eq!(
        (it.limit_us.known(), it.limit_given),
        (Some(&30_000), false)
    );
    assert_eq!((it.due, it.missed, it.failed), (1500, Some(300), 300));
    assert_eq!((it.late, it.never_started, it.skipped), (Some(0), 0, 0));
    assert_eq!(it.first_error_us, Some(30_000));
    assert_eq!(it.first_success_us, Some(3_020_000));
    let back_us = *it.back_us.known().unwrap();
    assert!(back_us.abs_diff(3_000_000) <= 100_000, "{back_us}");
    assert_eq!((it.is_back, it.metastable), (Some(true), Metastable::No));
    let names: Vec<&str> = it.phases.iter().map(|of| of.phase.name.as_str()).collect();
    assert_eq!(names, ["before", "during", "after"]);
    assert_eq!(it.course.due[..2], [50, 50]);
    assert_eq!(it.course.served[20..22], [0, 0]);
}

#[test]
fn what_comes_too_late_is_late_and_not_lost() {
    let it = figures(&seconds(&[(3, 0.0), (12, 1.0)]), false);
    assert_eq!((it.missed, it.late, it.failed), (Some(300), Some(300), 0));
    assert_eq!(it.first_error_us, None);
}

#[test]
fn one_that_stays_down_is_metastable_and_one_that_is_not_watched_for_long_is_not_called_so() {
    let it = figures(&seconds(&[(30, 0.3)]), true);
    assert_eq!((it.is_back, it.metastable), (Some(false), Metastable::Yes));
    assert!(format!("{:?}", it.back_us).contains("not back"));
    let short = figures(&seconds(&[(6, 0.3)]), true);
    assert_eq!(short.metastable, Metastable::CannotTell);
    assert!(
        short.metastable_why.contains("--after"),
        "{}",
        short.metastable_why
    );
}

/// A command that ran at this moment, in seconds.
fn command(due_s: u64) -> CommandRun {
    CommandRun {
        command: "systemctl stop postgresql".to_owned(),
        due_us: Some(due_s * 1_000_000),
        began_us: Some(due_s * 1_000_000),
        ended_us: Some(due_s * 1_000_000 + 100_000),
        end: CommandEnd::Exited,
        exit_code: Some(0),
        signal: None,
        reason: None,
        output: String::new(),
        output_left_out: 0,
        migration: None,
    }
}

#[test]
fn what_only_the_undo_ends_has_lasted_until_then() {
    let of = |commands: Vec<CommandRun>, after: &[(usize, f64)]| {
        let undo = CommandRun {
            due_us: None,
            ..command(30)
        };
        let disturbed = Disturbed {
            due_us: 10_000_000,
            began_us: Some(10_000_000),
            ended_us: Some(10_100_000),
            commands,
            undo: Some(undo),
            ..Disturbed::default()
        };
        of_parts(&disturbed, &recording(&seconds(after), true)).unwrap()
    };
    let names = |it: &DisturbFigures| -> Vec<String> {
        it.phases
            .iter()
            .map(|phase| phase.phase.name.clone())
            .collect()
    };
    let stopped = of(vec![command(10)], &[(15, 0.0)]);
    assert_eq!(
        (stopped.is_back, stopped.metastable),
        (Some(false), Metastable::CannotTell)
    );
    assert!(format!("{:?}", stopped.back_us).contains("until then it was disturbed"));
    assert_eq!(names(&stopped), ["before", "during"]);
    // A restart, whose undo is for the case that it fails.
    let restarted = of(vec![command(10)], &[(2, 0.0), (13, 1.0)]);
    assert_eq!(
        (restarted.is_back, restarted.metastable),
        (Some(true), Metastable::No)
    );
    assert_eq!(names(&restarted), ["before", "during", "after"]);
    // Something else has ended it, and it stays down.
    let ended = of(vec![command(10), command(12)], &[(15, 0.0)]);
    assert_eq!(
        (ended.is_back, ended.metastable),
        (Some(false), Metastable::Yes)
    );
}

#[test]
fn without_enough_before_nothing_is_claimed() {
    let disturbed = Disturbed {
        due_us: 500_000,
        began_us: Some(500_000),
        ended_us: Some(600_000),
        ..Disturbed::default()
    };
    let recording = recording(&seconds(&[(12, 1.0)]), true);
    let it = of_parts(&disturbed, &recording).unwrap();
    assert_eq!((it.is_back, it.missed), (None, None));
    assert!(format!("{:?}", it.limit_us).contains("--within"));
    assert_eq!(it.metastable, Metastable::CannotTell);
}
