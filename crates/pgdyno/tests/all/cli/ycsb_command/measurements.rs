//! YCSB's kinds of measurement and exporters, beside recordings.

use std::fs;

use super::shape::{only_of_java_left_out, shape};
use super::{Place, Ran, count};

/// Results with their numbers masked. How many intervals a series has, and which percentiles lie in the
/// buckets, depends on how fast the machine is; so does whether Java writes an exponent.
fn lines(text: &str, is_told: impl Fn(&str) -> bool) -> Vec<String> {
    let text = only_of_java_left_out(text);
    let told = text
        .lines()
        .filter(|line| line.starts_with('[') && is_told(line));
    let mut shapes: Vec<String> = told.map(|line| shape(line).replace("NEN", "N")).collect();
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
