//! Each fault that is planted (`planted!`) is found.

use super::plan::Plan;
use super::{FOUND, Failures, LISTED_MAX};
use pgdyno_testkit::planted::choose;

/// What is planted, by number from 1.
const FAULTS: [&str; 21] = [
    "bytes that came are dropped (a lost wakeup)",
    "a retry counts twice",
    "a deadline is due one nanosecond late",
    "a transaction begins at the end",
    "a reconnect forgets its transaction",
    "an unknown transaction is counted as failed",
    "the recorder loses a second",
    "one try too many",
    "one transaction too many",
    "the beginning of a message is lost",
    "a retry draws its key again",
    "a failed block is not rolled back",
    "a deadline that is cleared takes the others with it",
    "the grace of a stop is forgotten",
    "a rolled back COMMIT counts as committed",
    "the collector leaves out seconds after the end",
    "a client waits for ever at a full Unix socket queue",
    "what may be committed is tried again on another connection",
    "a transaction that waits for a connection is forgotten at the end",
    "a client does not return to its endpoint",
    "a client connects anew before its session has ended",
];

/// How many schedules a fault may pass unseen.
const SCHEDULES_MAX: u64 = 10_000;
/// So many come before those that failed once, which are rare among the others.
const SCHEDULES_FIRST: u64 = 1_000;

/// The schedules in which faults are looked for.
fn schedules() -> impl Iterator<Item = Plan> {
    let found = FOUND.iter().map(|line| Plan::read(line).unwrap());
    let others = (SCHEDULES_FIRST..SCHEDULES_MAX).map(Plan::of);
    (1..SCHEDULES_FIRST)
        .map(Plan::of)
        .chain(found)
        .chain(others)
}

#[test]
fn each_planted_fault_is_found() {
    let mut unseen = Vec::new();
    for (number, what) in (1u32..).zip(FAULTS) {
        choose(number);
        let found = schedules().find_map(|plan| {
            let error = plan.outcome().err()?;
            Some((plan.seed, error))
        });
        match found {
            Some((seed, error)) => println!("{number:2} {what}: seed {seed}: {error}"),
            None => unseen.push(what),
        }
    }
    choose(0);
    assert!(unseen.is_empty(), "not found: {unseen:?}");
}

#[test]
fn a_found_fault_is_shrunk_to_a_line_that_shows_it() {
    choose(6);
    let failing = (1..SCHEDULES_MAX).map(Plan::of);
    let mut failing = failing.filter(|plan| plan.outcome().is_err());
    let plan = failing.next().expect("a schedule that fails");
    let small = plan.clone().shrunk(|plan| plan.outcome().is_err());
    let again = Plan::read(&small.line()).unwrap();
    assert!(again.outcome().is_err(), "{}", small.line());
    // As few of everything as fail; how rare faults may be depends on the seed.
    let is_small = small.clients == 1 && small.transactions == 1;
    let smaller = small.smaller();
    let is_least = smaller.iter().all(|plan| plan.outcome().is_ok());
    assert!(is_small && is_least, "{}", small.line());
    choose(0);
    assert_eq!(small.outcome().err(), None);
}

#[test]
fn all_failing_seeds_are_counted_and_the_first_are_listed() {
    choose(6);
    let failures = Failures::of(1..500);
    let seeds: Vec<u64> = failures.listed.iter().map(|(plan, _)| plan.seed).collect();
    let again: Vec<u64> = (1..500)
        .filter(|seed| Plan::of(*seed).outcome().is_err())
        .collect();
    assert!(again.len() > LISTED_MAX, "{}", again.len());
    assert_eq!(failures.count, again.len() as u64);
    assert_eq!(seeds, again[..LISTED_MAX]);
    let few = Failures::of(1..=again[1]);
    let reported = few.report(again[1]).unwrap();
    choose(0);
    assert!(reported.starts_with("2 of "), "{reported}");
    for seed in &again[..2] {
        assert!(
            reported.contains(&format!("PGDYNO_SEED='{seed}")),
            "{reported}"
        );
    }
    assert!(Failures::of(1..100).report(99).is_none());
}
