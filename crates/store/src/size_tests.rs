//! What a trial's time takes: in a file, in its journal meanwhile, on a server.

use std::fs;
use std::path::Path;

use pgdyno_measurement::{ClientTime, Counts, Latencies, ScriptSecond, Second};
use pgdyno_model::Observer;
use pgdyno_model::observed::{Batch, InstrumentRow, Kind, NewSeries, Sample, Series};
use pgdyno_testkit::{SplitMix64, postgres};

use super::Store;
use super::begin::{JOURNAL_PAGES, example};
use super::server_tests::{database, notebook};
use super::writer::TrialWriter;

const BYTES_PER_S_MAX: u64 = 6000;
const SECONDS: u64 = 300;
const TRANSACTIONS_PER_S: usize = 1000;
/// What a private server gives to read: so many figures each second, at so many moments.
const SERIES: usize = 140;
const MOMENTS: usize = 12;

/// A trial of one script that is observed, as long as [`SECONDS`].
fn measure(mut writer: TrialWriter) {
    let mut draw = SplitMix64(7);
    let first = Batch {
        instruments: vec![InstrumentRow {
            number: 0,
            name: "pg.counters".to_owned(),
            source: "the server".to_owned(),
        }],
        series: (0..SERIES)
            .map(|number| NewSeries {
                number,
                instrument: 0,
                series: Series::new("pg.wal.bytes", "bytes/s").of(format!("label {number}")),
                kind: Kind::Gauge,
            })
            .collect(),
        ..Batch::default()
    };
    Observer::<()>::observed(&mut writer, &first);
    for at in 0..SECONDS {
        let mut service = Latencies::default();
        for _ in 0..TRANSACTIONS_PER_S {
            // Around 1 ms, with a long tail.
            let us = 700.0 + 300.0 * -draw.share().max(1e-9).ln();
            service.record(us as u64);
        }
        let counts = Counts {
            committed: TRANSACTIONS_PER_S as u64,
            ..Counts::default()
        };
        writer.keep_second(Second {
            start_us: at * 1_000_000,
            length_us: 1_000_000,
            warmup: false,
            time: ClientTime::from_numbers(std::array::from_fn(|n| 900_000_000 + at + n as u64)),
            drain: false,
            scripts: vec![ScriptSecond {
                counts,
                service: service.pack(),
                ..ScriptSecond::default()
            }],
        });
        let samples = (0..SERIES).map(|series| Sample {
            series,
            at_us: at as i64 * 1_000_000 + 1000 * (series % MOMENTS) as i64,
            // Of three figures one is a number of things, and one is a rate with all digits.
            value: match series % 3 {
                0 => (draw.share() * 1e4).floor(),
                1 => 0.0,
                _ => draw.share() * 1e6,
            },
        });
        let batch = Batch {
            samples: samples.collect(),
            ..Batch::default()
        };
        Observer::<()>::observed(&mut writer, &batch);
    }
    writer.fail("over").unwrap();
}

fn size(path: &Path) -> u64 {
    fs::metadata(path).map_or(0, |file| file.len())
}

#[test]
fn a_trial_takes_few_bytes_a_second_and_its_journal_does_not_grow_for_ever() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("s");
    let store = Store::open(&path).unwrap();
    let before = size(&path);
    measure(store.begin(&example()).unwrap());
    // Not yet closed: the journal is still there, as long as it ever was.
    let journal = size(&dir.path().join("s-wal"));
    let per_s = (size(&path) - before) / SECONDS;
    println!("a file: {per_s} bytes/s; its journal: at most {journal} bytes");
    assert!((1000..BYTES_PER_S_MAX).contains(&per_s), "{per_s} bytes/s");
    let most = u64::from(JOURNAL_PAGES) * 4096;
    assert!(
        (most / 2..most * 5 / 4).contains(&journal),
        "{journal} bytes of journal"
    );
}

#[test]
fn a_trial_takes_few_bytes_a_second_on_a_server() {
    let dir = tempfile::tempdir().unwrap();
    let url = database(&postgres().address().url());
    let store = notebook(&url, dir.path());
    let sizes = || {
        let sql = "SELECT sum(pg_total_relation_size(c.oid)) FROM pg_class c \
                   WHERE relkind = 'r' AND relnamespace = 'public'::regnamespace";
        let cell = store.query(sql).unwrap().rows[0][0].text();
        cell.parse::<u64>().unwrap()
    };
    let before = sizes();
    measure(store.begin(&example()).unwrap());
    assert_eq!(store.waits(), Ok(0));
    let per_s = (sizes() - before) / SECONDS;
    println!("a server: {per_s} bytes/s");
    assert!((1000..BYTES_PER_S_MAX).contains(&per_s), "{per_s} bytes/s");
}
