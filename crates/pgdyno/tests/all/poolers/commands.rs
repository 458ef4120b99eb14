//! Random sequences of commands through a pooler, and what a stranger finds afterwards.

use std::fmt::Write as _;

use pgdyno_testkit::{Middlebox, SplitMix64};

use super::strangers::differences;
use super::{POOL, Pooled};
use crate::support::{pgdyno, ran};

/// Rounds in `make test`; `PGDYNO_ROUNDS` has more of them, `SEED` others.
const ROUNDS: u64 = 6;

/// A command that ends by itself, and whether it may fail: what a pooler does not take is refused.
const COMMANDS: &[(&[&str], bool)] = &[
    (
        &["run", "-q", "tpcb", "-M", "simple", "-c", "4", "-t", "20"],
        false,
    ),
    (
        &["run", "-q", "tpcb", "-M", "extended", "-c", "4", "-t", "20"],
        false,
    ),
    (
        &[
            "run",
            "-q",
            "select-only",
            "-M",
            "simple",
            "-c",
            "5",
            "-t",
            "50",
        ],
        false,
    ),
    (
        &[
            "run",
            "-q",
            "select-only",
            "-M",
            "prepared",
            "-c",
            "5",
            "-t",
            "50",
        ],
        true,
    ),
    (
        &[
            "run",
            "-q",
            "select-only",
            "-M",
            "extended",
            "-C",
            "-c",
            "2",
            "-t",
            "9",
        ],
        false,
    ),
    (&["load", "-q", "tpcb"], false),
    (&["load", "-q", "kv"], false),
    (&["target"], false),
];

/// Those of other tools, whose URL comes last or in an option of its own.
const TOOLS: &[&[&str]] = &[
    &["pgbench", "-i", "-q", "-s", "1"],
    &["pgbench", "-n", "-S", "-c", "3", "-t", "20"],
    &["workload", "init", "kv"],
];

fn one(pooled: &Pooled, draw: &mut SplitMix64) -> String {
    let count = (COMMANDS.len() + TOOLS.len() + 1) as u64;
    let drawn = (draw.next() % count) as usize;
    if let Some((args, may_fail)) = COMMANDS.get(drawn) {
        let ran = pooled.pgdyno(args);
        assert!(*may_fail || ran.code == Some(0), "{args:?}: {ran:?}");
        return args.join(" ");
    }
    if let Some(args) = TOOLS.get(drawn - COMMANDS.len()) {
        let ran = ran(pgdyno(args).arg(&pooled.url));
        // Without tables of pgbench's own there is nothing to select from.
        assert!(ran.code.is_some_and(|code| code < 3), "{args:?}: {ran:?}");
        return args.join(" ");
    }
    pooled.interrupted_run();
    "an interrupted run".to_owned()
}

/// So many sessions has pgpool-II: each client has one for as long as it is connected, and pgdyno's own sessions are
/// there beside those of clients.
const SESSIONS_OF_PGPOOL: usize = 24;

#[test]
fn strangers_find_their_sessions_as_they_were() {
    let name = "strangers_find_their_sessions_as_they_were";
    if let Some(pooled) = Pooled::new(name) {
        check(&pooled, ROUNDS);
    }
}

#[test]
fn strangers_behind_pgpool_find_their_sessions_as_they_were() {
    let name = "strangers_behind_pgpool_find_their_sessions_as_they_were";
    let start = |port| Middlebox::pgpool(port, SESSIONS_OF_PGPOOL);
    if let Some(pooled) = Pooled::behind(name, SESSIONS_OF_PGPOOL, start) {
        check(&pooled, ROUNDS / 2);
    }
}

#[test]
fn strangers_behind_haproxy_find_their_sessions_as_they_were() {
    let name = "strangers_behind_haproxy_find_their_sessions_as_they_were";
    if let Some(pooled) = Pooled::behind(name, POOL, Middlebox::haproxy) {
        check(&pooled, ROUNDS / 2);
    }
}

/// Runs commands at random, and looks after each.
fn check(pooled: &Pooled, rounds: u64) {
    let number =
        |name: &str, or: u64| std::env::var(name).map_or(or, |n| n.parse().expect("a number"));
    let (rounds, seed) = (number("PGDYNO_ROUNDS", rounds), number("SEED", 52));
    let mut draw = SplitMix64(seed);
    let before = pooled.strangers().look();
    let mut done = String::new();
    for _ in 0..rounds {
        let what = one(pooled, &mut draw);
        let _ = writeln!(done, "{what}");
        assert_eq!(pooled.running(), [""; 0], "seed {seed}, after\n{done}");
        let changed = differences(&before, &pooled.strangers().look());
        assert_eq!(changed, [""; 0], "seed {seed}, after\n{done}");
        let left = pooled.strangers().left_behind();
        assert_eq!(left, [""; 0], "seed {seed}, after\n{done}");
    }
}
