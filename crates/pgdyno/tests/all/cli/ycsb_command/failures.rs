//! Failed operations, the closing of connections, single operations, retries and commits, beside
//! recordings. Of the recorded runs half of the updates were refused and some rows were missing.

use std::collections::BTreeMap;
use std::fs;

use super::shape::{only_of_java_left_out, shape};
use super::{Place, Ran, count};

/// Tables as those of the recordings.
fn failing(name: &'static str) -> Place {
    let place = Place::new(name);
    place.ycsb("load", "a", &[]).expect(0, &[]);
    place.db.sql(
        "CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS $$BEGIN IF random() < 0.5 THEN \
         RAISE EXCEPTION 'refused'; END IF; RETURN NEW; END$$; CREATE TRIGGER refuse BEFORE UPDATE ON \
         usertable FOR EACH ROW EXECUTE FUNCTION refuse(); \
         DELETE FROM usertable WHERE ycsb_key LIKE 'user1%'",
    );
    place
}

/// Requests of which a tenth finds no row.
const HOLES: [&str; 4] = ["-threads", "2", "-p", "requestdistribution=uniform"];

/// By name, the shapes of its lines in their order. Two names may stand in the same place of Java's
/// table, and then come in any order; so may percentiles, buckets and intervals be fewer or more.
fn by_name(text: &str) -> BTreeMap<String, Vec<String>> {
    let mut named: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for line in only_of_java_left_out(text).lines() {
        let Some((name, rest)) = line.split_once("], ") else {
            continue;
        };
        let shapes = named.entry(name.to_owned()).or_default();
        let shape = shape(rest).replace("NEN", "N");
        if shapes.last() != Some(&shape) {
            shapes.push(shape);
        }
    }
    named
}

fn args<'a>(pairs: &[&'a str]) -> Vec<&'a str> {
    let pairs = pairs.iter().flat_map(|pair| ["-p", *pair]);
    HOLES.into_iter().chain(pairs).collect()
}

#[test]
fn failed_operations_have_the_figures_of_the_recordings_in_every_form() {
    let place = failing("ycsb_failures");
    for (pairs, recorded) in [
        (&[][..], include_str!("recorded/ycsb-failed.out")),
        (
            &["measurement.interval=both", "target=2000"],
            include_str!("recorded/ycsb-failed-both.out"),
        ),
        (
            &["measurementtype=timeseries"],
            include_str!("recorded/ycsb-failed-series.out"),
        ),
        (
            &["reportlatencyforeacherror=true"],
            include_str!("recorded/ycsb-failed-each.out"),
        ),
        (
            &["latencytrackederrors=NOT_FOUND"],
            include_str!("recorded/ycsb-failed-tracked.out"),
        ),
        (
            &["measurementtype=hdrhistogram+histogram"],
            include_str!("recorded/ycsb-failed-two-in-one.out"),
        ),
    ] {
        let run = place.ycsb("run", "a", &args(pairs)).expect(0, &[]);
        assert_eq!(
            by_name(&run.stdout),
            by_name(recorded),
            "{pairs:?}: {run:#?}"
        );
    }
    let buckets = [
        "measurementtype=histogram",
        "histogram.buckets=3",
        "measurement.histogram.verbose=true",
    ];
    let run = place.ycsb("run", "a", &args(&buckets)).expect(0, &[]);
    let reported = |text: &str| {
        let mut named = by_name(text);
        let no_percentile = |line: &String| !line.contains("Percentile");
        named
            .values_mut()
            .for_each(|lines| lines.retain(no_percentile));
        named
    };
    let recorded = include_str!("recorded/ycsb-failed-histogram.out");
    assert_eq!(reported(&run.stdout), reported(recorded), "{run:#?}");
}

#[test]
fn every_operation_is_counted_once_and_failed_ones_apart() {
    let place = failing("ycsb_failures_count");
    let run = place.ycsb("run", "a", &[&HOLES[..], &["-s"]].concat());
    let run = run.expect(0, &["operations failed; they are not part of throughput"]);
    let names = ["READ", "UPDATE", "READ-FAILED", "UPDATE-FAILED"];
    let counts = names.map(|name| count(&run, name));
    assert_eq!(counts.iter().sum::<u64>(), 1000, "{run:#?}");
    assert_eq!(count(&run, "CLEANUP"), 2);
    let returned = |name: &str, status: &str| -> u64 {
        let line = format!("[{name}], Return={status}, ");
        let mut lines = run.stdout.lines();
        let value = lines.find_map(|text| text.strip_prefix(&line));
        value
            .unwrap_or_else(|| panic!("no {line}: {run:#?}"))
            .parse()
            .unwrap()
    };
    assert_eq!(returned("READ", "NOT_FOUND"), counts[2]);
    let failed = returned("UPDATE", "UNEXPECTED_STATE") + returned("UPDATE", "ERROR");
    assert_eq!(failed, counts[3]);
    // The last status line has the closing of connections.
    let last = |text: &str| {
        let line = text
            .lines()
            .rfind(|line| line.contains(" sec: "))
            .unwrap_or_default();
        let mut parts: Vec<String> = line.split('[').skip(1).map(shape).collect();
        parts.sort_unstable();
        parts
    };
    let recorded = include_str!("recorded/ycsb-failed.err");
    assert_eq!(last(&run.stderr), last(recorded), "{run:#?}");

    let file = place.folder.path().join("failed.json");
    let (export, exporter) = (
        format!("exportfile={}", file.display()),
        "exporter=site.ycsb.measurements.exporter.JSONArrayMeasurementsExporter",
    );
    place
        .ycsb("run", "a", &args(&[&export, exporter]))
        .expect(0, &[]);
    let results = |text: &str| {
        let objects: Vec<BTreeMap<String, serde_json::Value>> = serde_json::from_str(text).unwrap();
        let names = objects.iter().map(|object| {
            assert!(object["value"].is_number());
            format!("{} {}", object["metric"], object["measurement"])
        });
        let mut names: Vec<String> = names.filter(|name| !name.contains("_G1_")).collect();
        names.sort_unstable();
        names
    };
    let text = fs::read_to_string(file).unwrap();
    assert_eq!(
        results(&text),
        results(include_str!("recorded/ycsb-failed.json"))
    );
}

#[test]
fn the_parts_of_a_read_modify_write_fail_by_their_own_names() {
    let place = failing("ycsb_failures_rmw");
    let run = place.ycsb("run", "f", &HOLES).expect(0, &[]);
    for name in ["READ-FAILED", "UPDATE-FAILED"] {
        assert!(count(&run, name) > 0, "{run:#?}");
    }
    assert!(!run.stdout.contains("READ-MODIFY-WRITE-FAILED"), "{run:#?}");
    // Each of the thousand has a read; those that are modified have an update.
    assert_eq!(
        count(&run, "READ") + count(&run, "READ-FAILED"),
        1000,
        "{run:#?}"
    );
}

/// Lines of single operations, by name: how many.
fn points(text: &str) -> BTreeMap<String, u64> {
    let mut points = BTreeMap::new();
    for line in text.lines() {
        let parts: Vec<&str> = line.split(',').collect();
        if let [name, at_ms, latency_us] = parts[..]
            && let (Ok(at_ms), Ok(_)) = (at_ms.parse::<u64>(), latency_us.parse::<u64>())
        {
            assert!(at_ms > 1_700_000_000_000, "{line}");
            *points.entry(name.to_owned()).or_default() += 1;
        }
    }
    points
}

/// What is not a single operation: titles, announcements.
fn titles(text: &str) -> Vec<String> {
    let is_title = |line: &&str| line.contains("raw data") || line.starts_with("Raw data");
    let mut titles: Vec<String> = text.lines().filter(is_title).map(str::to_owned).collect();
    titles.sort_unstable();
    titles.dedup();
    titles
}

#[test]
fn single_operations_are_printed_as_in_the_recordings() {
    let place = failing("ycsb_failures_raw");
    let few = "operationcount=400";
    let raw = "measurementtype=raw";
    let total = |run: &Ran, name: &str| -> u64 {
        let before = format!("[{name}], Total Operations, ");
        let mut lines = run.stdout.lines();
        let line = lines.find_map(|line| line.strip_prefix(&before));
        line.unwrap_or_else(|| panic!("no {before}: {run:#?}"))
            .parse()
            .unwrap()
    };

    let run = place.ycsb("run", "a", &args(&[raw, few])).expect(0, &[]);
    let recorded = include_str!("recorded/ycsb-raw.out");
    assert_eq!(by_name(&run.stdout), by_name(recorded));
    assert_eq!(titles(&run.stdout), titles(recorded));
    let counted = points(&run.stdout);
    assert_eq!(counted.values().sum::<u64>(), 400 + 2, "{run:#?}");
    for (name, points) in &counted {
        assert_eq!(total(&run, name), *points);
    }

    let two = [
        "measurementtype=hdrhistogram+raw",
        "measurement.raw.no_summary=true",
        few,
    ];
    let run = place.ycsb("run", "a", &args(&two)).expect(0, &[]);
    let recorded = include_str!("recorded/ycsb-raw-two-in-one.out");
    assert_eq!(by_name(&run.stdout), by_name(recorded));
    assert_eq!(titles(&run.stdout), titles(recorded));
    assert_eq!(points(&run.stdout)["RawREAD"], count(&run, "HdrREAD"));

    // Into a file, behind what is there; the results go where they always go.
    let file = place.folder.path().join("raw.txt");
    fs::write(&file, "before\n").unwrap();
    let output = format!("measurement.raw.output_file={}", file.display());
    let run = place
        .ycsb("run", "a", &args(&[raw, few, &output]))
        .expect(0, &[]);
    let recorded = include_str!("recorded/ycsb-raw-file.out");
    assert_eq!(by_name(&run.stdout), by_name(recorded));
    let said = format!(
        "Raw data measurement: will output to result file: {}",
        file.display()
    );
    assert_eq!(titles(&run.stdout), [said]);
    let text = fs::read_to_string(&file).unwrap();
    assert!(text.starts_with("before\n"), "{text}");
    assert_eq!(titles(&text), titles(include_str!("recorded/ycsb-raw.txt")));
    assert_eq!(points(&text).values().sum::<u64>(), 400 + 2, "{text}");
    assert!(points(&run.stdout).is_empty(), "{run:#?}");
}

#[test]
fn indistinguishable_single_operations_are_refused() {
    let place = Place::new("ycsb_failures_raw_refused");
    let raw = ["-p", "measurementtype=raw"];
    place.ycsb("run", "f", &raw).expect(
        2,
        &[
            "measurementtype=raw cannot be had: a read-modify-write is kept as one",
            "measurementtype=hdrhistogram counts them",
        ],
    );
    let retries = ["-p", "core_workload_insertion_retry_limit=1"];
    place
        .ycsb("load", "a", &[raw, retries].concat())
        .expect(2, &["an insert that is tried again is kept as one"]);
    let file = ["-p", "measurement.raw.output_file=/none/x"];
    place.ycsb("load", "a", &[raw, file].concat()).expect(
        255,
        &["measurement.raw.output_file: could not open /none/x"],
    );
}

#[test]
fn an_insert_is_tried_again_after_any_error() {
    let place = Place::new("ycsb_retry");
    place
        .ycsb("load", "a", &["-p", "recordcount=1"])
        .expect(0, &[]);
    place.db.sql(
        "TRUNCATE usertable; CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS $$BEGIN IF \
         random() < 0.3 THEN RAISE EXCEPTION 'refused'; END IF; RETURN NEW; END$$; \
         CREATE TRIGGER refuse BEFORE INSERT ON usertable FOR EACH ROW EXECUTE FUNCTION refuse()",
    );
    let limit = |pair: &'static str| {
        let interval = "core_workload_insertion_retry_interval=0";
        ["-threads", "2", "-p", pair, "-p", interval]
    };
    let load = place.ycsb(
        "load",
        "a",
        &limit("core_workload_insertion_retry_limit=30"),
    );
    let load = load.expect(0, &["refused"]);
    assert_eq!(
        by_name(&load.stdout),
        by_name(include_str!("recorded/ycsb-retry.out"))
    );
    assert_eq!(count(&load, "INSERT"), 1000);
    assert!(count(&load, "INSERT-FAILED") > 100, "{load:#?}");
    assert_eq!(place.db.value(super::KEYS), super::JAVA_KEYS);
    // A thread ends with the insert that is not to be tried any more.
    place.db.sql(
        "TRUNCATE usertable; CREATE OR REPLACE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS \
         $$BEGIN RAISE EXCEPTION 'refused'; END$$",
    );
    let load = place.ycsb("load", "a", &limit("core_workload_insertion_retry_limit=3"));
    let load = load.expect(1, &["2 of 2 threads ended before their time"]);
    assert_eq!(count(&load, "INSERT-FAILED"), 8, "{load:#?}");
}

#[test]
fn without_autocommit_inserts_are_committed_one_by_one_or_together() {
    let place = Place::new("ycsb_commit");
    let commits = "SELECT count(*), count(DISTINCT xmin::text) FROM usertable";
    let off = "jdbc.autocommit=false";
    for (more, wanted) in [
        ("db.batchsize=-1", "1000|1000"),
        ("db.batchsize=100", "1000|12"),
    ] {
        let args = ["-threads", "3", "-p", off, "-p", more];
        let load = place.ycsb("load", "a", &args).expect(0, &[]);
        assert_eq!(
            by_name(&load.stdout),
            by_name(include_str!("recorded/ycsb-commit.out"))
        );
        assert_eq!(place.db.value(commits), wanted, "{more}");
        place.db.sql("TRUNCATE usertable");
    }
    // The size says nothing where everything is committed by itself.
    let load = place.ycsb("load", "a", &["-p", "db.batchsize=100"]);
    load.expect(0, &["batchSize:100, fetchSize: -1"]);
    assert_eq!(place.db.value(commits), "1000|1000");

    let run = place.ycsb("run", "a", &["-p", off]);
    let run = run.expect(
        0,
        &["updates are committed with the next insert of their thread"],
    );
    let updates = count(&run, "UPDATE");
    assert!(updates > 0, "{run:#?}");
    // All in the one transaction that ends with the connection.
    let rows = place.db.value(
        "SELECT count(*) FROM (SELECT xmin FROM usertable GROUP BY xmin HAVING count(*) > 1) AS b",
    );
    assert_eq!(rows, "1", "{run:#?}");
}

#[test]
fn operations_rolled_back_with_their_block_are_reported() {
    let place = Place::new("ycsb_undone");
    place
        .ycsb("load", "a", &["-p", "recordcount=1"])
        .expect(0, &[]);
    place.db.sql(
        "TRUNCATE usertable; CREATE SEQUENCE inserts; CREATE FUNCTION refuse() RETURNS trigger \
         LANGUAGE plpgsql AS $$BEGIN IF nextval('inserts') = 150 THEN RAISE EXCEPTION 'refused'; \
         END IF; RETURN NEW; END$$; \
         CREATE TRIGGER refuse BEFORE INSERT ON usertable FOR EACH ROW EXECUTE FUNCTION refuse()",
    );
    let on = "core_workload_insertion_keep_going_on_error=true";
    let args = [
        "-p",
        "jdbc.autocommit=false",
        "-p",
        "db.batchsize=100",
        "-p",
        on,
    ];
    let load = place.ycsb("load", "a", &args).expect(
        0,
        &["49 operations that had gone well were rolled back with their block"],
    );
    assert_eq!(
        (count(&load, "INSERT"), count(&load, "INSERT-FAILED")),
        (999, 1)
    );
    assert_eq!(place.db.value("SELECT count(*) FROM usertable"), "950");
}

#[test]
fn batches_of_commits_and_retries_do_not_go_together() {
    let place = Place::new("ycsb_commit_retry");
    let args = [
        "-p",
        "jdbc.autocommit=false",
        "-p",
        "db.batchsize=10",
        "-p",
        "core_workload_insertion_retry_limit=1",
    ];
    place.ycsb("load", "a", &args).expect(
        2,
        &[
            "only one of them would be tried again",
            "leave out db.batchsize",
        ],
    );
    place
        .ycsb(
            "load",
            "a",
            &["-p", "jdbc.autocommit=false", "-p", "db.batchsize=x"],
        )
        .expect(2, &["Invalid db.batchsize specified: x"]);
}

#[test]
fn batches_of_inserts_are_sent_and_committed_together() {
    let place = Place::new("ycsb_batches");
    let batches = ["-p", "jdbc.batchupdateapi=true", "-p"];
    let commits = "SELECT count(*), count(DISTINCT xmin::text) FROM usertable";
    for autocommit in ["jdbc.autocommit=true", "jdbc.autocommit=false"] {
        let more = ["db.batchsize=150", "-p", autocommit, "-threads", "3", "-s"];
        let load = place.ycsb("load", "a", &[&batches[..], &more].concat());
        let load = load.expect(0, &[" sec: 1000 operations; "]);
        let recorded = include_str!("recorded/ycsb-batch.out");
        assert_eq!(by_name(&load.stdout), by_name(recorded));
        assert_eq!(count(&load, "INSERT"), 1000);
        // Six whole ones and one of the hundred that are left.
        for line in ["Return=OK, 7\n", "Return=BATCHED_OK, 993\n"] {
            assert!(load.stdout.contains(line), "{load:#?}");
        }
        assert_eq!(place.db.value(super::KEYS), super::JAVA_KEYS);
        assert_eq!(place.db.value(commits), "1000|7");
        place.db.sql("TRUNCATE usertable");
    }
    // Of a batch with an error there is nothing.
    place
        .db
        .sql("ALTER TABLE usertable ADD CHECK (ycsb_key <> 'user8517097267634966620')");
    let load = place.ycsb("load", "a", &[&batches[..], &["db.batchsize=10"]].concat());
    let load = load.expect(1, &["violates check constraint"]);
    assert_eq!(
        (count(&load, "INSERT"), count(&load, "INSERT-FAILED")),
        (0, 1)
    );
    assert_eq!(place.db.value("SELECT count(*) FROM usertable"), "0");

    let refused = |verb: &str, letter: &str, more: &[&str], said: &str| {
        let args = [&batches[..2], more].concat();
        let run = place.ycsb(verb, letter, &args);
        run.expect(
            2,
            &[
                "jdbc.batchupdateapi=true cannot be had",
                said,
                "-p db.batchsize=1000",
            ],
        );
    };
    let size = ["-p", "db.batchsize=10", "-p"];
    let with = |pair| [&size[..], &[pair]].concat();
    refused("load", "a", &[], "would never be sent");
    refused("run", "d", &[], "in a run");
    let retries = "core_workload_insertion_retry_limit=1";
    refused("load", "a", &with(retries), "is not tried again");
    refused("load", "a", &with("measurementtype=raw"), "does not keep");
    refused(
        "load",
        "a",
        &with("measurement.interval=both"),
        "no schedule",
    );
}
