//! The verdict on trials whose limit is made on purpose, on a real PostgreSQL. They use all of the
//! machine, so they run one after the other: each limit three times, in three rounds, so that the
//! repeats of one are apart.
//!
//! `PGDYNO_LIMITS` names the limits to make instead of all of them, separated by semicolons; `ROUNDS=1`
//! makes each once.

mod limits;
mod processes;
mod stage;
mod storage;
mod table;

use std::thread;
use std::time::{Duration, Instant};

use limits::Limit;
use stage::Stage;
use table::{Row, Said};

/// Trials that need all of the machine say nothing when others use it.
const IDLE_SHARE_MIN: f64 = 0.5;
/// So long others may take to end.
const PATIENCE: Duration = Duration::from_secs(60);
const ROUNDS: usize = 3;
/// So many are to be named.
const NAMED_MIN: usize = 24;

#[test]
#[ignore = "a quarter of an hour, on an idle machine: make test-long PART=verdict"]
fn limits_that_are_made_on_purpose_are_named_and_none_is_named_wrongly() {
    let name = "limits_that_are_made_on_purpose_are_named_and_none_is_named_wrongly";
    let chosen = std::env::var("PGDYNO_LIMITS").unwrap_or_default();
    let rounds = std::env::var("ROUNDS").map_or(ROUNDS, |rounds| rounds.parse().unwrap());
    if thread::available_parallelism().map_or(1, usize::from) < 2 {
        pgdyno_testkit::skip!(
            name,
            "a client is starved of its CPU beside a server that is not"
        );
    }
    let begun = Instant::now();
    while chosen.is_empty() && idle_share() < IDLE_SHARE_MIN {
        if begun.elapsed() > PATIENCE {
            pgdyno_testkit::skip!(name, "others use this machine's CPUs");
        }
    }
    let is_chosen = |limit: &Limit| {
        let mut names = chosen.split(';').map(str::trim);
        chosen.is_empty() || names.any(|name| name == limit.name)
    };
    let limits = limits::all().into_iter().filter(|limit| is_chosen(limit));
    let mut rows: Vec<Row> = limits.map(Row::new).collect();
    assert!(!rows.is_empty(), "no limit is named {chosen}");
    for (name, _) in limits::WORDS {
        let is_made = limits::all().iter().any(|limit| limit.name == *name);
        assert!(is_made, "words of {name}, which is no limit");
    }

    let stage = Stage::new();
    for _ in 0..rounds {
        for row in rows.iter_mut().filter(|row| !row.is_skipped()) {
            let made = (row.limit.make)(&stage);
            println!("{}", row.add(made));
        }
    }
    println!("\n{}", table::markdown(&rows));
    for row in &rows {
        if let Some(reason) = &row.skipped {
            pgdyno_testkit::record_skip(&format!("{name}: {}", row.limit.name), reason);
        }
    }
    let wrong: Vec<&Row> = rows.iter().filter(|row| row.has(Said::Wrong)).collect();
    let names: Vec<&str> = wrong.iter().map(|row| row.limit.name).collect();
    assert!(wrong.is_empty(), "named wrongly: {}", names.join(", "));
    let named = rows.iter().filter(|row| row.is_named()).count();
    let wanted = NAMED_MIN.min(rows.len());
    assert!(named >= wanted, "{named} of {} named", rows.len());
}

/// The share of CPU time that was idle over a second (proc(5), `stat`).
fn idle_share() -> f64 {
    let read = || {
        let text = std::fs::read_to_string("/proc/stat").unwrap();
        let line = text.lines().next().unwrap();
        let modes: Vec<f64> = line
            .split_whitespace()
            .filter_map(|n| n.parse().ok())
            .collect();
        (modes[3] + modes[4], modes.iter().sum::<f64>())
    };
    let before = read();
    thread::sleep(Duration::from_secs(1));
    let after = read();
    (after.0 - before.0) / (after.1 - before.1).max(1.0)
}
