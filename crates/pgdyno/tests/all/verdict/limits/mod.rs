//! The limits, and how each is made.

mod cpus;
mod load;
mod locks;
mod storage;
mod way;

use crate::verdict::stage::{Made, Stage};

/// One thing that limits a trial.
pub struct Limit {
    pub name: &'static str,
    /// How it is made, for the table.
    pub made: &'static str,
    /// The causes that name it.
    pub right: &'static [&'static str],
    /// Causes that are true of it too and do not name it: as good as "not known".
    pub partly: &'static [&'static str],
    pub make: fn(&Stage) -> Made,
}

/// All of them, in the table's order.
pub fn all() -> Vec<&'static Limit> {
    let groups = [
        way::LIMITS,
        cpus::LIMITS,
        storage::LIMITS,
        locks::LIMITS,
        load::LIMITS,
    ];
    groups.into_iter().flatten().collect()
}

/// Words that the sentence of a limit must have: without them the cause is the right one and what is said of it is wrong.
pub const WORDS: &[(&str, &str)] = &[
    ("statements that sleep", "pg_sleep"),
    ("far standby", "to have the WAL on its disk"),
    ("standby that applies late", "to apply the WAL"),
    ("missing standby", "A missing standby"),
    ("commit delay", "commit_delay"),
    ("foreign server", "Another server"),
];

/// One row by its key.
const READ: &str = "\\set id random(1, 10000)\nSELECT n FROM point WHERE id = :id;\n";
/// Some 5 ms of a CPU.
const COMPUTE: &str = "SELECT sum(sqrt(i)) FROM generate_series(1, 20000) i;\n";
const INSERT: &str = "INSERT INTO journal VALUES (1);\n";
