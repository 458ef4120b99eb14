//! Each fault that is planted (`crate::planted`) is found.

use super::plan::Plan;
use crate::planted::choose;

/// What is planted, by number from 1.
const FAULTS: [&str; 16] = [
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
];

/// How many schedules a fault may pass unseen.
const SCHEDULES_MAX: u64 = 10_000;

#[test]
fn each_planted_fault_is_found() {
    // Some faults show as panics, thousands of them while they are shrunk.
    std::panic::set_hook(Box::new(|_| {}));
    let mut unseen = Vec::new();
    for (number, what) in (1u32..).zip(FAULTS) {
        choose(number);
        let found = (1..SCHEDULES_MAX).find_map(|seed| {
            let error = Plan::of(seed).outcome().err()?;
            Some((seed, error))
        });
        match found {
            Some((seed, error)) => println!("{number:2} {what}: seed {seed}: {error}"),
            None => unseen.push(what),
        }
    }
    choose(0);
    let _ = std::panic::take_hook();
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
    assert!(small.clients == 1 && small.faults <= 1, "{}", small.line());
    choose(0);
    assert_eq!(small.outcome().err(), None);
}
