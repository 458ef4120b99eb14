//! YCSB's kinds of measurement and exporters, beside recordings.

use std::fs;
use std::path::Path;

use base64::prelude::{BASE64_STANDARD, Engine};
use hdrhistogram::Histogram;
use hdrhistogram::serialization::Deserializer;
use hdrhistogram::serialization::interval_log::{IntervalLogIterator, LogEntry};

use super::shape::{only_of_java_left_out, shape};
use super::{Place, Ran, count};

/// Results with their numbers masked. How many intervals a series has, and which percentiles lie in the
/// buckets, depends on how fast the machine is; so does whether Java writes an exponent.
fn lines(text: &str, is_reported: impl Fn(&str) -> bool) -> Vec<String> {
    let text = only_of_java_left_out(text);
    let reported = text
        .lines()
        .filter(|line| line.starts_with('[') && is_reported(line));
    let mut shapes: Vec<String> = reported
        .map(|line| shape(line).replace("NEN", "N"))
        .collect();
    shapes.dedup();
    shapes
}

fn loaded(name: &'static str) -> Place {
    let place = Place::new(name);
    place.ycsb("load", "a", &[]).expect(0, &[]);
    place
}

/// `[READ], 3, 21`: of a bucket or an interval.
fn values(run: &Ran, name: &str) -> Vec<(u64, f64)> {
    let before = format!("[{name}], ");
    let lines = run.stdout.lines();
    let pairs = lines.filter_map(|line| line.strip_prefix(&before)?.split_once(", "));
    let pairs = pairs.filter_map(|(at, value)| {
        let at = at.trim_start_matches('>').parse().ok()?;
        Some((at, value.parse().unwrap()))
    });
    pairs.collect()
}

#[test]
fn buckets_and_their_two_in_one_have_the_lines_of_the_recordings() {
    let place = loaded("ycsb_buckets");
    let all = |_: &str| true;
    let args = [
        "-threads",
        "2",
        "-p",
        "measurementtype=histogram",
        "-p",
        "histogram.buckets=5",
        "-p",
        "measurement.histogram.verbose=true",
    ];
    let run = place.ycsb("run", "a", &args).expect(0, &[]);
    let no_percentile = |line: &str| !line.contains("Percentile");
    let recorded = include_str!("recorded/ycsb-histogram.out");
    assert_eq!(
        lines(&run.stdout, no_percentile),
        lines(recorded, no_percentile)
    );
    for name in ["READ", "UPDATE"] {
        let buckets = values(&run, name);
        let numbers: Vec<u64> = buckets.iter().map(|(at, _)| *at).collect();
        assert_eq!(numbers, [0, 1, 2, 3, 4, 5]);
        let sum: f64 = buckets.iter().map(|(_, counted)| counted).sum();
        assert_eq!(sum as u64, count(&run, name), "{run:#?}");
    }

    let args = [
        "-threads",
        "2",
        "-p",
        "measurementtype=hdrhistogram+histogram",
    ];
    let run = place.ycsb("run", "a", &args).expect(0, &[]);
    let recorded = include_str!("recorded/ycsb-two-in-one.out");
    assert_eq!(lines(&run.stdout, all), lines(recorded, all));
    assert_eq!(count(&run, "HdrREAD"), count(&run, "BucketREAD"));
}

#[test]
fn a_series_has_the_lines_and_status_lines_of_the_recordings() {
    let place = loaded("ycsb_series");
    let args = [
        "-threads",
        "2",
        "-target",
        "400",
        "-s",
        "-p",
        "status.interval=1",
        "-p",
        "measurementtype=timeseries",
    ];
    let run = place.ycsb("run", "a", &args).expect(0, &[]);
    let all = |_: &str| true;
    let recorded = include_str!("recorded/ycsb-timeseries.out");
    assert_eq!(lines(&run.stdout, all), lines(recorded, all));
    for name in ["READ", "UPDATE"] {
        let series = values(&run, name);
        let whole = series
            .iter()
            .zip(0..)
            .all(|((at, _), second)| *at == second * 1000);
        assert!(whole && series.len() >= 2, "{run:#?}");
    }
    let status = |text: &str| {
        let lines = text
            .lines()
            .filter(|line| line.contains("current ops/sec; est"));
        let shapes = lines.map(|line| shape(line).replace("seconds", "second"));
        let mut shapes: Vec<String> = shapes.collect();
        shapes.dedup();
        shapes
    };
    let recorded = include_str!("recorded/ycsb-timeseries.err");
    assert_eq!(status(&run.stderr), status(recorded));
}

/// The operations in a histogram log, and in how many intervals they are.
fn logged(path: &Path) -> (u64, usize) {
    let log = fs::read(path).unwrap();
    let text = String::from_utf8_lossy(&log);
    let name = path.file_stem().unwrap().to_string_lossy();
    let head =
        format!("#[Logging for: {name}]\n#[Histogram log format version 1.3]\n#[StartTime: ");
    assert!(text.starts_with(&head), "{text}");
    let (mut count, mut intervals) = (0, 0);
    for entry in IntervalLogIterator::new(&log) {
        let LogEntry::Interval(interval) = entry.unwrap() else {
            continue;
        };
        let bytes = BASE64_STANDARD
            .decode(interval.encoded_histogram())
            .unwrap();
        let read: Histogram<u64> = Deserializer::new().deserialize(&mut &bytes[..]).unwrap();
        assert!((interval.max() - read.max() as f64 / 1e6).abs() < 0.001);
        (count, intervals) = (count + read.len(), intervals + 1);
    }
    (count, intervals)
}

#[test]
fn histograms_are_logged_to_files_by_name() {
    let place = loaded("ycsb_hdr_files");
    let to = |folder: &str| {
        let path = place.folder.path().join(folder);
        fs::create_dir(&path).unwrap();
        let path_of = format!("hdrhistogram.output.path={}/", path.display());
        let args = ["-p", "hdrhistogram.fileoutput=true", "-p", &path_of];
        (path, args.map(str::to_owned))
    };
    let run = |letter: &str, folder: &str, args: &[&str]| {
        let (path, files) = to(folder);
        let files: Vec<&str> = files.iter().map(String::as_str).collect();
        let run = place.ycsb("run", letter, &[&files[..], args].concat());
        (path, run.expect(0, &[]))
    };
    // With status lines an interval each, else one.
    let args = [
        "-target",
        "500",
        "-s",
        "-p",
        "status.interval=1",
        "-p",
        "measurement.interval=both",
    ];
    let (path, status) = run("a", "status", &args);
    for name in ["READ", "UPDATE", "Intended-READ", "CLEANUP"] {
        let (count_of, intervals) = logged(&path.join(format!("{name}.hdr")));
        assert_eq!(count_of, count(&status, name), "{name}");
        assert!(intervals >= 2 || name == "CLEANUP", "{name}: {intervals}");
    }
    let (path, two) = run(
        "a",
        "two",
        &["-p", "measurementtype=hdrhistogram+histogram"],
    );
    assert_eq!(
        logged(&path.join("HdrREAD.hdr")),
        (count(&two, "HdrREAD"), 1)
    );
    // Parts of read-modify-writes are known at the end.
    let (path, parts) = run("f", "parts", &["-s", "-p", "status.interval=1"]);
    for name in ["READ", "READ-MODIFY-WRITE"] {
        let file = path.join(format!("{name}.hdr"));
        assert_eq!(logged(&file), (count(&parts, name), 1), "{name}");
    }
    // Other kinds have none.
    let (path, _) = run("c", "none", &["-p", "measurementtype=histogram"]);
    assert_eq!(fs::read_dir(path).unwrap().count(), 0);
    let nowhere = [
        "-p",
        "hdrhistogram.fileoutput=true",
        "-p",
        "hdrhistogram.output.path=/nowhere/",
    ];
    let said = "hdrhistogram.output.path: could not create /nowhere/CLEANUP.hdr: ";
    place.ycsb("run", "a", &nowhere).expect(255, &[said]);
    // Results are printed whatever becomes of the files.
    let (path, files) = to("lost");
    fs::create_dir(path.join("READ.hdr")).unwrap();
    let files: Vec<&str> = files.iter().map(String::as_str).collect();
    let said = [
        "[OVERALL], RunTime(ms), ",
        "hdrhistogram.fileoutput: could not write ",
    ];
    place.ycsb("run", "a", &files).expect(255, &said);
}

/// A series of quarters of a second, and more.
fn fine<'a>(more: &[&'a str]) -> Vec<&'a str> {
    let series = [
        "-p",
        "measurementtype=timeseries",
        "-p",
        "timeseries.granularity=250",
    ];
    [&series[..], more].concat()
}

#[test]
fn a_series_may_have_parts_of_seconds() {
    let place = loaded("ycsb_fine_series");
    let run = place
        .ycsb("run", "f", &fine(&["-target", "1000"]))
        .expect(0, &[]);
    let starts = |run: &Ran, name: &str| -> Vec<u64> {
        values(run, name).iter().map(|(at, _)| *at).collect()
    };
    for name in ["READ", "READ-MODIFY-WRITE", "CLEANUP"] {
        let starts = starts(&run, name);
        assert!(
            starts.iter().all(|at| at % 250 == 0) && starts.is_sorted(),
            "{starts:?}"
        );
        assert!(
            name == "CLEANUP" || starts.iter().any(|at| at % 1000 != 0),
            "{starts:?}"
        );
    }
    for (args, said) in [
        (
            fine(&["-p", "core_workload_insertion_retry_limit=2"]),
            "timeseries.granularity=250 cannot be had",
        ),
        (
            fine(&["-p", "timeseries.granularity=0"]),
            "timeseries.granularity=0: it is a number",
        ),
        (
            fine(&["-p", "jdbc.batchupdateapi=true", "-p", "db.batchsize=10"]),
            "jdbc.batchupdateapi=true cannot be had",
        ),
    ] {
        place.ycsb("load", "a", &args).expect(2, &[said]);
    }
}

#[test]
fn go_ycsb_exports_histograms_and_writes_summaries_to_a_file() {
    let place = Place::new("go_ycsb_export");
    let path = |name: &str| place.folder.path().join(name);
    let before = format!(
        "histogram.percentiles.export.filepath={}",
        path("mine-").display()
    );
    let summary = format!("measurement.output_file={}", path("summary").display());
    place.go("load", "a", &[]).expect(0, &[]);
    // Updates of a tenth of the keys fail.
    place.db.sql(
        "CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS \
         $$BEGIN IF hashtext(NEW.ycsb_key) % 10 = 0 THEN RAISE EXCEPTION 'no'; END IF; \
         RETURN NEW; END$$; \
         CREATE TRIGGER refuse BEFORE UPDATE ON usertable FOR EACH ROW EXECUTE FUNCTION refuse()",
    );
    let export = ["-p", "histogram.percentiles.export=true", "-p", &before];
    let args = [
        &export[..],
        &["-p", &summary, "-p", "requestdistribution=sequential"],
    ]
    .concat();
    let args = [&args[..], &["-p", "operationcount=4000"]].concat();
    let run = place
        .go("run", "a", &args)
        .expect(0, &["Run finished, takes "]);
    let rows = fs::read_to_string(path("summary")).unwrap();
    let names: Vec<&str> = rows
        .lines()
        .filter_map(|row| row.split(' ').next())
        .collect();
    let after_stars = run.stdout.split("Run finished").nth(1).unwrap();
    assert!(!after_stars.contains("Count: "), "{run:#?}");
    assert_eq!(names, ["READ", "TOTAL", "UPDATE", "UPDATE_ERROR"], "{rows}");
    let mut of_all = 0;
    for row in rows.lines() {
        let (name, rest) = row.split_once(' ').unwrap();
        let said =
            format!("spectrum for operation '{name}' in percentile output format into file: ");
        assert!(run.stdout.contains(&said), "{run:#?}");
        let text = fs::read_to_string(path(&format!("mine-{name}-percentiles.txt"))).unwrap();
        assert!(
            text.starts_with(" Value\tPercentile\tTotalCount\t1/(1-Percentile)\n\n"),
            "{text}"
        );
        let last = text.lines().rfind(|line| line.ends_with(" inf")).unwrap();
        let counted: u64 = last.split_whitespace().nth(2).unwrap().parse().unwrap();
        let count = rest
            .split("Count: ")
            .nth(1)
            .unwrap()
            .split(',')
            .next()
            .unwrap();
        assert_eq!(counted.to_string(), count, "{name}");
        of_all += if name == "TOTAL" { 0 } else { counted };
    }
    assert_eq!(of_all, 4000);
    let nowhere = [
        "-p",
        "histogram.percentiles.export=true",
        "-p",
        "histogram.percentiles.export.filepath=/nowhere/",
    ];
    place
        .go("run", "a", &nowhere)
        .expect(255, &["could not create /nowhere/TOTAL-percentiles.txt"]);
    place
        .go("run", "a", &["-p", "measurement.output_file=/nowhere/x"])
        .expect(255, &["could not create /nowhere/x"]);
    let full = place.go("run", "c", &["-p", "measurement.output_file=/dev/full"]);
    full.expect(255, &["Run finished, takes ", "could not write /dev/full"]);
    // What cannot begin leaves the file of the run before.
    place
        .go("run", "a", &["-p", &summary, "-p", "pg.port=1"])
        .expect(3, &[]);
    assert_eq!(fs::read_to_string(path("summary")).unwrap(), rows);
}

/// Names of the results in a text of JSON objects, and the text between two of them.
fn results(text: &str) -> Vec<(String, String)> {
    let objects = serde_json::Deserializer::from_str(text).into_iter::<serde_json::Value>();
    let objects = objects.flat_map(|read| match read.unwrap() {
        serde_json::Value::Array(objects) => objects,
        object => vec![object],
    });
    let names = objects.map(|object| {
        assert!(object["value"].is_number(), "{object}");
        let name = |key: &str| object[key].as_str().unwrap().to_owned();
        (name("metric"), name("measurement"))
    });
    let of_java = |metric: &str| metric.contains("_G1_");
    names.filter(|(metric, _)| !of_java(metric)).collect()
}

#[test]
fn json_exporters_write_what_the_recordings_have() {
    let place = Place::new("ycsb_json");
    let exporter = |name: &str| format!("exporter=site.ycsb.measurements.exporter.{name}");
    let json = exporter("JSONMeasurementsExporter");
    let load = place.ycsb("load", "a", &["-threads", "2", "-p", &json]);
    let load = load.expect(0, &[]);
    let objects = |text: &str| results(&text[text.find('{').unwrap()..]);
    let recorded = include_str!("recorded/ycsb-json.out");
    assert_eq!(objects(&load.stdout), objects(recorded));
    assert!(load.stdout.contains("\n} {\n  \"metric\" : "), "{load:#?}");

    let file = place.folder.path().join("results.json");
    let export = format!("exportfile={}", file.display());
    let array = exporter("JSONArrayMeasurementsExporter");
    let args = ["-threads", "2", "-p", &array, "-p", &export];
    let run = place.ycsb("run", "a", &args).expect(0, &[]);
    assert!(!run.stdout.contains("OVERALL"), "{run:#?}");
    let text = fs::read_to_string(file).unwrap();
    let recorded = include_str!("recorded/ycsb-json-array.json");
    assert_eq!(results(&text), results(recorded));
    assert!(
        text.starts_with("[ {\n") && text.ends_with("\n} ]"),
        "{text}"
    );
}
