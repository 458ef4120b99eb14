//! The verdict on trials whose limit is made on purpose, on a real PostgreSQL: ten limits, each in two
//! strengths, so that no rule is fitted to one number.
//!
//! They use all of the machine, so they run one after the other.

mod limits;
#[path = "../cli/support.rs"]
#[allow(
    dead_code,
    reason = "shared with the tests of the other commands, each of which uses a part"
)]
mod support;

use std::thread;
use std::time::{Duration, Instant};

use limits::{Limit, Stage};

/// What may be said of a trial.
#[derive(Debug, PartialEq)]
enum Said {
    /// The limit that was made.
    Right,
    /// That it is not known.
    NotKnown,
    /// Another one.
    Wrong(String),
}

/// Trials that need all of the machine say nothing when others use it.
const IDLE_SHARE_MIN: f64 = 0.5;
/// So long others may take to end.
const PATIENCE: Duration = Duration::from_secs(60);

/// Nine of ten are to be told, and none wrongly, whatever its strength. A forced checkpoint limits
/// nothing on storage that writes it in passing: then "not known" is right.
#[test]
#[ignore = "minutes, on a machine that nobody else uses: make test-long PART=verdict"]
fn limits_that_are_made_on_purpose_are_told_and_none_is_told_wrongly() {
    let name = "limits_that_are_made_on_purpose_are_told_and_none_is_told_wrongly";
    if thread::available_parallelism().map_or(1, usize::from) < 2 {
        pgdyno_testkit::skip!(
            name,
            "a client is starved of its CPU beside a server that is not"
        );
    }
    let begun = Instant::now();
    while idle_share() < IDLE_SHARE_MIN {
        if begun.elapsed() > PATIENCE {
            pgdyno_testkit::skip!(name, "others use this machine's CPUs");
        }
    }
    let stage = Stage::new();
    let mut report = String::new();
    let (mut right, mut wrong) = (0, 0);
    for limit in Limit::ALL {
        let mut told = 0;
        for strength in [1, 2] {
            let json = stage.run(limit, strength);
            let verdict = &json["verdict"];
            let said = match verdict["limit"].as_str().unwrap_or("nothing at all") {
                code if limit.codes().contains(&code) => Said::Right,
                "not-known" => Said::NotKnown,
                other => Said::Wrong(other.to_owned()),
            };
            told += u32::from(said == Said::Right);
            wrong += u32::from(matches!(said, Said::Wrong(_)));
            let line = format!("{limit:?} {strength}: {said:?}\n");
            print!("{line}");
            report += &line;
            if said != Said::Right {
                report += &format!("{verdict:#}\n");
            }
        }
        right += u32::from(told > 0);
    }
    assert_eq!(wrong, 0, "{report}");
    assert!(right >= 9, "{right} of 10\n{report}");
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
