//! Each fault that is planted (`pgdyno_drive::planted!`) is found.

use super::plan::{Plan, S};
use super::run;

/// What is planted, and a schedule that shows it, tried first: most schedules do not show most of them.
const FAULTS: [(u32, &str, u64); 9] = [
    (1, "the start goes by the wall clock, which steps", 1),
    (
        2,
        "an answer's clock counts as read when it was asked for",
        553,
    ),
    (3, "who died is waited for", 2),
    (4, "each names a start of its own", 18),
    (5, "a signal is not passed on", 210),
    (6, "the time after a death counts", 70),
    (7, "one that began late is added as if it had not", 1),
    (8, "the clock is read once, however long it is waited", 14),
    (
        9,
        "who was not heard while the notebook was away counts as dead",
        444,
    ),
];

/// How many schedules a fault may pass unseen.
const SCHEDULES_MAX: u64 = 1000;

#[test]
fn each_planted_fault_of_generators_is_found() {
    let mut unseen = Vec::new();
    for (number, what, first) in FAULTS {
        let found = std::iter::once(first)
            .chain(1..SCHEDULES_MAX)
            .find_map(|seed| {
                let error = run(seed, number).err()?;
                Some((seed, error))
            });
        match found {
            Some((seed, error)) => {
                let error: String = error.chars().take(200).collect();
                println!("{number} {what}: seed {seed}: {error}");
                assert_eq!(run(seed, 0).err(), None);
            }
            None => unseen.push(what),
        }
    }
    assert!(unseen.is_empty(), "not found: {unseen:?}");
}

/// No schedule of the first thousand has it: most who come late are gone before the others have begun.
#[test]
fn who_comes_while_the_others_measure_ends_none_of_them() {
    let plan = || {
        let mut plan = Plan::of(1);
        for host in &mut plan.hosts {
            (host.dies, host.signal, host.asks) = (None, None, None);
            (host.arrives, host.prepares, host.connects) = (Some(0), 0, 0);
        }
        let late = plan.hosts.last_mut().expect("there are two or more");
        (late.arrives, late.drains) = (Some(6 * S), 2 * S);
        (plan.join_deadline, plan.duration_s, plan.ranges) = (3 * S, 12, 0);
        (plan.away, plan.lost_permille, plan.leaves) = (None, 0, false);
        plan
    };
    assert_eq!(plan().run(0).err(), None);
    let error = plan().run(10).err().unwrap_or_default();
    assert!(error.contains("none was asked to end"), "{error}");
}
