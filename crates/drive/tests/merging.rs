//! What many generators recorded is added up in little memory and little time.

use std::time::{Duration, Instant};

use pgdyno_measurement::{
    ClientTime, Merge, Recording, ScriptInterval, ScriptRecord, ScriptSecond, Second,
};

const GENERATORS: u64 = 1000;
const SECONDS: u64 = 600;
const SCRIPTS: u64 = 3;
/// In a second of a script of a generator.
const TRANSACTIONS: u64 = 200;

/// A part as it comes out of a notebook: latencies from 100 µs to 0.1 s, others in each second.
fn part(generator: u64) -> Recording {
    let second = |number: u64| {
        let script = |script: u64| {
            let mut interval = ScriptInterval::default();
            for transaction in 0..TRANSACTIONS {
                let place = generator * 31 + number * 17 + script * 7 + transaction * transaction;
                interval.service.record(100 + place * place % 100_000);
            }
            interval.counts.committed = TRANSACTIONS;
            ScriptSecond::from(&interval)
        };
        Second {
            start_us: number * 1_000_000,
            length_us: 1_000_000,
            warmup: false,
            time: ClientTime::default(),
            drain: false,
            scripts: (0..SCRIPTS).map(script).collect(),
        }
    };
    let script = |number| ScriptRecord {
        name: format!("script-{number}"),
        weight: 1,
        statements: Vec::new(),
    };
    Recording {
        scripts: (0..SCRIPTS).map(script).collect(),
        seconds: (0..SECONDS).map(second).collect(),
        ..Recording::default()
    }
}

/// The most memory that this process ever had, in MiB.
fn peak_mib() -> u64 {
    pgdyno_testkit::status_kib(std::process::id(), "VmHWM").unwrap() / 1024
}

#[test]
#[ignore = "takes minutes, and counts in a release build: make test-long PART=generators"]
fn a_thousand_generators_are_added_up_in_half_a_minute() {
    let (mut all, mut took) = (Merge::default(), Duration::ZERO);
    for generator in 0..GENERATORS {
        // Only adding up is measured; a few generators stand for all.
        let part = part(generator % 4);
        let began = Instant::now();
        all.add(part, None);
        took += began.elapsed();
    }
    let began = Instant::now();
    let all = all.finish().unwrap();
    took += began.elapsed();
    let peak_mib = peak_mib();
    println!("{GENERATORS} generators, {SECONDS} s, {SCRIPTS} scripts: {took:?}, {peak_mib} MiB");
    let committed = GENERATORS * SECONDS * SCRIPTS * TRANSACTIONS;
    assert_eq!(all.measured.all().counts.committed, committed);
    assert_eq!(all.measured.all().service.count(), committed);
    assert_eq!(all.seconds.len() as u64, SECONDS);
    assert!(peak_mib <= 512, "{peak_mib} MiB");
    if !cfg!(debug_assertions) {
        assert!(took <= Duration::from_secs(30), "{took:?}");
    }
}
