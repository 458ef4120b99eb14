//! What is written is read back.

use std::collections::BTreeSet;
use std::fs::File;

use parquet::file::reader::{FileReader, SerializedFileReader};
use parquet::record::Row;
use pgdyno_drive::record::{Counts, Latencies, ScriptSecond, Second};
use pgdyno_model::notebook::TrialRow;
use pgdyno_model::observed::{Batch, InstrumentRow, Kind, NewSeries, Sample, Series};
use pgdyno_model::{Failure, Outcome};
use pgdyno_store::{Store, example};

use super::schema::{TableName, Type};
use super::{FORMAT, Files};

/// Two seconds with a thousand commits each, of one warm-up and one measured, and one series.
fn stored() -> (TrialRow, Outcome) {
    let dir = tempfile::tempdir().unwrap();
    let store = Store::open(&dir.path().join("s")).unwrap();
    let mut writer = store.begin(&example()).unwrap();
    let number = writer.number();
    for (start_us, warmup) in [(0, true), (1_000_000, false)] {
        let mut service = Latencies::default();
        (1..=1000).for_each(|us| service.record(us * 10));
        let counts = Counts {
            committed: 1000,
            skipped: 3,
            ..Counts::default()
        };
        let script = ScriptSecond {
            counts,
            service: service.pack(),
            ..ScriptSecond::default()
        };
        writer.keep_second(Second {
            start_us,
            length_us: 1_000_000,
            warmup,
            time: Default::default(),
            drain: false,
            scripts: vec![script],
        });
    }
    writer.fail("over").unwrap();
    let mut outcome = store.outcome(number).unwrap();
    outcome.observed.add(Batch {
        instruments: vec![InstrumentRow {
            number: 0,
            name: "pg.wal".to_owned(),
            source: "pg_stat_wal".to_owned(),
        }],
        series: vec![NewSeries {
            number: 0,
            instrument: 0,
            series: Series::new("pg.wal.bytes", "bytes/s"),
            kind: Kind::Counter,
        }],
        samples: vec![Sample {
            series: 0,
            at_us: -5,
            value: 0.5,
        }],
        ..Batch::default()
    });
    (store.trial(&number.to_string()).unwrap(), outcome)
}

fn written(
    trials: &[(&TrialRow, Option<&Outcome>)],
) -> Vec<(TableName, SerializedFileReader<File>)> {
    let dir = tempfile::tempdir().unwrap();
    let mut files = Files::new(|table| {
        let file = File::create(dir.path().join(table.file()));
        file.map_err(|e| Failure::new(e.to_string()))
    })
    .unwrap();
    for (trial, outcome) in trials {
        files.add(trial, *outcome).unwrap();
    }
    let rows = files.finish().unwrap();
    let read = rows.into_iter().map(|(table, rows)| {
        let file = File::open(dir.path().join(table.file())).unwrap();
        let reader = SerializedFileReader::new(file).unwrap();
        assert_eq!(reader.metadata().file_metadata().num_rows() as u64, rows);
        (table, reader)
    });
    read.collect()
}

fn rows(files: &[(TableName, SerializedFileReader<File>)], wanted: TableName) -> Vec<Row> {
    let (_, reader) = files.iter().find(|(table, _)| *table == wanted).unwrap();
    reader
        .get_row_iter(None)
        .unwrap()
        .map(Result::unwrap)
        .collect()
}

fn cell(row: &Row, column: &str) -> String {
    let mut columns = row.get_column_iter();
    let (_, field) = columns.find(|(name, _)| *name == column).unwrap();
    field.to_string()
}

#[test]
fn what_is_read_back_is_what_the_notebook_has() {
    let (trial, outcome) = stored();
    let files = written(&[(&trial, Some(&outcome))]);
    let trials = rows(&files, TableName::Trials);
    assert_eq!(trials.len(), 1);
    let there = [
        ("state", "\"failed\""),
        ("reason", "\"over\""),
        ("trial", "1"),
    ];
    for (column, value) in there {
        assert_eq!(cell(&trials[0], column), value, "{column}");
    }
    let seconds = rows(&files, TableName::Seconds);
    assert_eq!(seconds.len(), 2);
    let there = [
        ("start_us", "1000000"),
        ("warmup", "false"),
        ("committed", "1000"),
        ("skipped", "3"),
        ("goodput_per_s", "1000.0"),
        ("service_p99_us", "9903"),
        ("service_max_us", "10000"),
        ("service_p99_9_us", "null"),
        ("response_p50_us", "null"),
    ];
    for (column, value) in there {
        assert_eq!(cell(&seconds[1], column), value, "{column}");
    }
    // Of the measured second alone, in buckets that follow each other.
    let buckets = rows(&files, TableName::Histograms);
    let bounds = buckets.iter().map(|row| {
        let number = |column| cell(row, column).parse::<u64>().unwrap();
        assert_eq!(cell(row, "what"), "\"service\"");
        (number("low_us"), number("high_us"), number("count"))
    });
    let bounds: Vec<(u64, u64, u64)> = bounds.collect();
    assert_eq!(bounds.iter().map(|(.., count)| count).sum::<u64>(), 1000);
    assert_eq!(bounds[0], (10, 10, 1));
    assert!(bounds.windows(2).all(|two| two[0].1 < two[1].0));
    let series = rows(&files, TableName::Series);
    assert_eq!(series.len(), 1);
    let there = [
        ("instrument", "\"pg.wal\""),
        ("name", "\"pg.wal.bytes\""),
        ("label", "\"\""),
        ("unit", "\"bytes/s\""),
        ("kind", "\"counter\""),
        ("at_us", "-5"),
        ("value", "0.5"),
    ];
    for (column, value) in there {
        assert_eq!(cell(&series[0], column), value, "{column}");
    }
}

#[test]
fn a_trial_of_which_there_are_totals_only_is_a_row_of_trials() {
    let (trial, outcome) = stored();
    let files = written(&[(&trial, None), (&trial, Some(&outcome))]);
    assert_eq!(rows(&files, TableName::Trials).len(), 2);
    assert_eq!(rows(&files, TableName::Seconds).len(), 2);
}

#[test]
fn files_say_their_version_and_tables_without_rows_have_their_columns() {
    for (table, reader) in written(&[]) {
        let metadata = reader.metadata().file_metadata();
        let pairs = metadata.key_value_metadata().unwrap();
        let format = pairs.iter().find(|pair| pair.key == "pgdyno.format");
        assert_eq!(format.unwrap().value, Some(FORMAT.to_string()));
        let there = metadata.schema().get_fields().iter();
        let there: Vec<&str> = there.map(|field| field.name()).collect();
        let wanted = table.columns().iter();
        assert_eq!(there, wanted.map(|column| column.name).collect::<Vec<_>>());
    }
}

/// docs/parquet.md has a section for each table, and in it a row for each column, some of them several.
#[test]
fn each_column_is_documented_with_its_type() {
    let docs = include_str!("../../../../docs/parquet.md");
    for table in TableName::ALL {
        let (_, section) = docs.split_once(&format!("### {}", table.file())).unwrap();
        let section = section.split("\n#").next().unwrap();
        let mut documented = BTreeSet::new();
        for line in section.lines().filter(|line| line.starts_with("| `")) {
            let cells: Vec<&str> = line.trim_matches('|').split(" | ").map(str::trim).collect();
            for name in cells[0].split(", ") {
                documented.insert(format!("{} {}", name.trim_matches('`'), cells[1]));
            }
        }
        let columns = table.columns().iter().map(|column| {
            let of = match column.of {
                Type::Int => "integer",
                Type::Real => "real",
                Type::Text => "text",
                Type::Bool => "boolean",
                Type::Time => "time",
            };
            let missing = if column.is_optional {
                ", may be missing"
            } else {
                ""
            };
            format!("{} {of}{missing}", column.name)
        });
        assert_eq!(documented, columns.collect(), "{}", table.file());
    }
}

/// A disk that is full.
struct Full;

impl std::io::Write for Full {
    fn write(&mut self, _: &[u8]) -> std::io::Result<usize> {
        Err(std::io::ErrorKind::StorageFull.into())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

#[test]
fn a_file_that_cannot_be_written_is_named() {
    let (trial, outcome) = stored();
    let written = Files::new(|_| Ok(Full)).and_then(|mut files| {
        files.add(&trial, Some(&outcome))?;
        files.finish()
    });
    let message = written.unwrap_err().message;
    assert!(
        message.starts_with("cannot write trials.parquet: "),
        "{message}"
    );
}
