//! How often the 95 % interval of a percentile holds the truth on a real server: windows are cut from long
//! trials, and the whole trial's percentile is what they are to hold. Where a figure has the mark `~` no claim is made.
//!
//! `PGDYNO_COVERAGE_STORE` names a notebook that is kept; where it has these trials already, they are not run again.

use std::path::{Path, PathBuf};

use pgdyno_measurement::Latencies;
use pgdyno_model::document::Intervals;
use pgdyno_model::notebook::{Kind, SecondLatencies};
use pgdyno_store::Store;

use crate::support::{pgdyno, ran};

/// The length of a trial that the goal is about.
const WHOLE_S: u64 = 300;
/// How many of 100 intervals without a mark are to hold the truth.
const GOAL_PERCENT: f64 = 90.0;
/// Of the trial that a rate is a share of.
const RATE_S: u64 = 10;
const WINDOWS_S: [usize; 4] = [10, 20, 30, 60];
const PERCENTILES: [f64; 4] = [50.0, 90.0, 95.0, 99.0];

/// A trial: its workload, clients, and the share of the closed loop's throughput that it has as a rate.
type Asked = (&'static str, u32, Option<f64>);

const TRIALS: [Asked; 10] = [
    ("tpcb", 1, None),
    ("tpcb", 2, None),
    ("tpcb", 4, None),
    ("tpcb", 8, None),
    ("tpcb", 16, None),
    ("tpcb", 32, None),
    ("tpcb", 16, Some(0.5)),
    ("tpcb", 16, Some(0.8)),
    ("select-only", 4, None),
    ("select-only", 8, Some(0.5)),
];

/// Of windows of one length: how many there are, how many have no mark, how many of these hold the truth.
#[derive(Debug, Clone, Copy, Default)]
struct Coverage {
    windows: u64,
    sure: u64,
    held: u64,
}

impl Coverage {
    fn add(&mut self, other: Self) {
        self.windows += other.windows;
        self.sure += other.sure;
        self.held += other.held;
    }

    fn percent(self) -> f64 {
        self.held as f64 * 100.0 / self.sure as f64
    }

    fn shown(self) -> String {
        match self.sure {
            0 => format!("0 of {}", self.windows),
            sure => format!("{:.1} % of {sure} of {}", self.percent(), self.windows),
        }
    }
}

/// Of a trial's whole seconds of measured time.
fn coverage(seconds: &[SecondLatencies], window_s: usize, percent: f64) -> Coverage {
    let truth_us = value_us(seconds, percent).expect("a long trial has it");
    let mut found = Coverage::default();
    for window in seconds.chunks_exact(window_s) {
        if value_us(window, percent).is_none() {
            continue;
        }
        found.windows += 1;
        let intervals = Intervals::of_seconds(window);
        let interval = intervals.iter().find(|one| one.percentile == percent);
        let interval = interval.expect("what is shown has an interval");
        if interval.uncertain {
            continue;
        }
        found.sure += 1;
        let (low, high) = (interval.low_us.unwrap(), interval.high_us.unwrap());
        found.held += u64::from((low..=high).contains(&truth_us));
    }
    found
}

fn value_us(seconds: &[SecondLatencies], percent: f64) -> Option<u64> {
    let mut all = Latencies::default();
    seconds
        .iter()
        .for_each(|second| all.merge(&second.latencies));
    all.percentile_us(percent)
}

fn run(store: &Path, (workload, clients, rate): (&str, u32, Option<f64>), length_s: u64) {
    let (clients, length) = (clients.to_string(), format!("{length_s}s"));
    let store = store.to_str().unwrap();
    let mut words = vec![
        "run", workload, "-c", &clients, "-T", &length, "--warmup", "2s", "--param", "scale=16",
        "--quiet", "--store", store,
    ];
    let rate = rate.map(|per_s| per_s.round().to_string());
    words.extend(rate.iter().flat_map(|rate| ["-R", rate]));
    ran(&mut pgdyno(&words)).expect(0, &[]);
}

/// The numbers of the long trials, in their order.
fn run_all(path: &Path, length_s: u64) -> Vec<i64> {
    let newest = || {
        let trials = Store::open(path).unwrap().trials(&Default::default());
        trials.unwrap().into_iter().next().unwrap()
    };
    let long = TRIALS.map(|(workload, clients, share)| {
        // What a closed loop does now.
        let rate = share.map(|share| {
            run(path, (workload, clients, None), RATE_S);
            share * newest().goodput_per_s.unwrap()
        });
        run(path, (workload, clients, rate), length_s);
        newest().number
    });
    long.into()
}

/// Those of a notebook of before.
fn found_in(path: &Path) -> Vec<i64> {
    let store = Store::open(path).unwrap();
    let mut trials = store.trials(&Default::default()).unwrap();
    trials.reverse();
    let numbers = trials.into_iter().map(|trial| trial.number);
    numbers
        .filter(|number| seconds_of(&store, *number, Kind::Service).len() as u64 > RATE_S)
        .collect()
}

/// A trial's whole seconds.
fn seconds_of(store: &Store, number: i64, kind: Kind) -> Vec<SecondLatencies> {
    let mut seconds = store.latencies_by_second(number, kind).unwrap();
    seconds.retain(|second| second.is_whole);
    seconds
}

#[test]
#[ignore = "an hour: make test-long PART=coverage; PGDYNO_COVERAGE_S=30 for a try"]
fn intervals_of_windows_hold_the_percentiles_of_their_long_trials() {
    let length_s = std::env::var("PGDYNO_COVERAGE_S").map_or(WHOLE_S, |text| text.parse().unwrap());
    let dir = tempfile::tempdir().unwrap();
    let kept = std::env::var_os("PGDYNO_COVERAGE_STORE").map(PathBuf::from);
    let (numbers, path) = match kept {
        Some(path) if path.exists() => (found_in(&path), path),
        kept => {
            let path = kept.unwrap_or_else(|| dir.path().join("n.sqlite"));
            (run_all(&path, length_s), path)
        }
    };
    assert_eq!(numbers.len(), TRIALS.len(), "{numbers:?}");
    let store = Store::open(&path).unwrap();
    let mut all = Coverage::default();
    let mut by_percentile = [Coverage::default(); PERCENTILES.len()];
    let mut by_window = [Coverage::default(); WINDOWS_S.len()];
    for ((workload, clients, share), number) in TRIALS.into_iter().zip(numbers) {
        let kind = match share {
            Some(_) => Kind::Response,
            None => Kind::Service,
        };
        let seconds = seconds_of(&store, number, kind);
        assert!(seconds.len() as u64 >= length_s - 2, "{} s", seconds.len());
        let rate = share.map_or("closed".to_owned(), |share| format!("{share} of it"));
        let clients = pgdyno_spec::text::plural(clients.into(), "client");
        println!("{workload}, {clients}, {rate}: {} s", seconds.len());
        for (window_s, of_window) in WINDOWS_S.into_iter().zip(&mut by_window) {
            let mut line = format!("  {window_s:>2} s");
            for (percent, of_percentile) in PERCENTILES.into_iter().zip(&mut by_percentile) {
                let found = coverage(&seconds, window_s, percent);
                of_percentile.add(found);
                of_window.add(found);
                all.add(found);
                line += &format!("   p{percent} {}", found.shown());
            }
            println!("{line}");
        }
    }
    println!("in all: held, of those without a mark, of all windows");
    for (percent, found) in PERCENTILES.iter().zip(by_percentile) {
        println!("  p{percent:<4} {}", found.shown());
    }
    for (window_s, found) in WINDOWS_S.iter().zip(by_window) {
        println!("  {window_s} s  {}", found.shown());
    }
    println!("  all   {}", all.shown());
    assert!(all.windows > 0);
    // A try is too short for the truth: its windows are most of the trial.
    if length_s >= WHOLE_S {
        assert!(all.sure > 0 && all.percent() >= GOAL_PERCENT, "{all:?}");
    }
}
