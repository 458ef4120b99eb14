//! The figures of a result agree with each other and with what happened, and say what they are
//! worth.

use std::fs;
use std::process::Command;

use pgdyno_testkit::{postgres_with, stock_pgbench};
use serde_json::Value;

use crate::support::{Database, ran};

/// The JSON of a run that ends well.
fn json(db: &Database, args: &[&str]) -> Value {
    let run = db
        .pgdyno(&[args, &["--json", "-q"]].concat())
        .expect(0, &[]);
    serde_json::from_str(&run.stdout).unwrap_or_else(|e| panic!("{e}: {run:?}"))
}

fn number(value: &Value) -> u64 {
    value
        .as_u64()
        .unwrap_or_else(|| panic!("no count: {value}"))
}

/// The codes of the validity notes.
fn notes(json: &Value) -> Vec<&str> {
    let notes = json["notes"].as_array().expect("a list");
    notes
        .iter()
        .filter_map(|note| note["code"].as_str())
        .collect()
}

/// The sum of a count over the scripts of all seconds of one phase.
fn over_seconds(json: &Value, warmup: bool, what: &str) -> u64 {
    let seconds = json["seconds"].as_array().expect("a list");
    let seconds = seconds.iter().filter(|s| s["warmup"] == warmup);
    let scripts = seconds.flat_map(|s| s["scripts"].as_array().expect("a list"));
    scripts.map(|script| number(&script[what])).sum()
}

const COUNTS: [&str; 7] = [
    "committed",
    "failed",
    "skipped",
    "unknown",
    "late",
    "retries",
    "retried",
];

/// A latency block keeps the rule of ten: a percentile is there exactly when ten samples lie
/// beyond it, and they are in order.
fn check_percentiles(latency: &Value, place: &str) {
    let count = number(&latency["count"]);
    let mut last = 0;
    for (name, beyond_per_1000) in [
        ("p50_us", 500),
        ("p90_us", 100),
        ("p95_us", 50),
        ("p99_us", 10),
        ("p99_9_us", 1),
    ] {
        let beyond = count * beyond_per_1000 / 1000;
        match latency[name].as_u64() {
            None => assert!(beyond <= 10, "{place}: {name} missing of {count}"),
            Some(us) => {
                assert!(beyond >= 10, "{place}: {name} shown of {count}");
                assert!(us >= last, "{place}: {name} {us} < {last}");
                last = us;
            }
        }
    }
    if count > 0 {
        // Three digits: a percentile may be rounded up past the maximum by a thousandth.
        let max = number(&latency["max_us"]);
        assert!(max + max / 500 + 1 >= last, "{place}: max {max} < {last}");
        assert!(
            latency["mean_us"]
                .as_f64()
                .is_some_and(|mean| mean <= max as f64)
        );
    } else {
        assert!(latency["max_us"].is_null() && latency["mean_us"].is_null());
    }
}

#[test]
fn parts_add_up_to_the_whole() {
    let db = Database::new("add_up");
    let dir = tempfile::tempdir().expect("temporary directory");
    let file = |name: &str, text: &str| {
        let path = dir.path().join(name);
        fs::write(&path, text).expect("written");
        path.to_str().expect("ASCII").to_owned()
    };
    let two = file("two.sql", "SELECT 1;\nSELECT 2;\n");
    let fails = file("fails.sql", "\\set x random(0, 1)\nSELECT 1 / :x;\n");
    let (two, fails) = (format!("{two}@3"), format!("{fails}@1"));
    let json = json(
        &db,
        &[
            "run",
            &two,
            &fails,
            "-c",
            "3",
            "-j",
            "2",
            "-T",
            "2.3",
            "--warmup",
            "1",
            "-R",
            "400",
            "--continue-on-error",
        ],
    );
    let (measured, warmup) = (&json["measured"], &json["warmup"]);
    for what in COUNTS {
        let scripts = |phase: &Value| -> u64 {
            let scripts = phase["scripts"].as_array().expect("a list");
            scripts.iter().map(|script| number(&script[what])).sum()
        };
        assert_eq!(scripts(measured), number(&measured[what]), "{what}");
        assert_eq!(scripts(warmup), number(&warmup[what]), "{what}");
        let seconds = over_seconds(&json, false, what);
        assert_eq!(seconds, number(&measured[what]), "{what}");
        let seconds = over_seconds(&json, true, what);
        assert_eq!(seconds, number(&warmup[what]), "{what}");
    }
    let (committed, failed) = (number(&measured["committed"]), number(&measured["failed"]));
    assert!(committed > 100 && failed > 10, "{measured:#}");
    assert!(number(&warmup["committed"]) > 0);
    assert_eq!(number(&measured["failed_by_class"]["22012"]), failed);

    // Goodput is what was committed in the asked duration, without what ended after it.
    for phase in [measured, warmup] {
        let asked_us = number(&phase["elapsed_us"]) - number(&phase["drain_us"]);
        let committed = number(&phase["committed"]) - number(&phase["drain_committed"]);
        let goodput = phase["goodput_per_s"].as_f64().expect("a number");
        let difference = goodput * asked_us as f64 / 1e6 - committed as f64;
        assert!(difference.abs() < 0.01, "{difference}");
    }
    let elapsed_us = number(&measured["elapsed_us"]);
    assert!((2_200_000..3_300_000).contains(&elapsed_us), "{elapsed_us}");
    let elapsed_us = number(&warmup["elapsed_us"]);
    assert!((990_000..1_500_000).contains(&elapsed_us), "{elapsed_us}");

    // Statements are counted as often as they were executed, warm-up apart.
    let commands = |script: usize| {
        json["statements"][script]["commands"]
            .as_array()
            .expect("a list")
    };
    let of_two = &measured["scripts"][0];
    for command in commands(0) {
        let count = number(&command["latency"]["count"]);
        let committed = number(&of_two["committed"]);
        // A transaction that began in the warm-up is booked when it ends.
        assert!(
            count.abs_diff(committed) <= 3,
            "{count} of {committed}: {command:#}"
        );
    }
    let select = &commands(1)[1];
    assert!(
        number(&select["failures"]).abs_diff(failed) <= 3,
        "{select:#}"
    );
    assert_eq!(commands(1)[0]["is_sql"], false);

    check_percentiles(&measured["service"], "all");
    for second in json["seconds"].as_array().expect("a list") {
        for script in second["scripts"].as_array().expect("a list") {
            check_percentiles(&script["service"], "a second");
        }
    }
}

#[test]
fn a_percentile_needs_ten_samples_beyond_it() {
    let db = Database::new("ten_beyond");
    let dir = tempfile::tempdir().expect("temporary directory");
    let path = dir.path().join("one.sql");
    fs::write(&path, "SELECT 1;\n").expect("written");
    let path = path.to_str().expect("ASCII");
    for (transactions, shown) in [("15", 0), ("95", 1), ("150", 2), ("400", 3), ("1500", 4)] {
        let json = json(&db, &["run", path, "-t", transactions]);
        let service = &json["measured"]["service"];
        let names = ["p50_us", "p90_us", "p95_us", "p99_us", "p99_9_us"];
        let there = names.map(|name| service[name].is_u64());
        let expected: Vec<bool> = (0..5).map(|index| index < shown).collect();
        assert_eq!(there.to_vec(), expected, "{transactions}: {service:#}");
        check_percentiles(service, transactions);
    }
    // In the text what is missing is a dash, with its reason.
    db.pgdyno(&["run", path, "-t", "15"])
        .expect(0, &["–", "– fewer than ten beyond it"]);
    let text = db.pgdyno(&["run", path, "-t", "12000"]).expect(0, &[]);
    assert!(!text.stdout.contains('–'), "{text:?}");
}

#[test]
fn with_a_rate_response_is_measured_from_the_schedule() {
    let db = Database::new("rate");
    let dir = tempfile::tempdir().expect("temporary directory");
    let path = dir.path().join("slow.sql");
    // One client can do 50 a second; 100 are scheduled.
    fs::write(&path, "SELECT pg_sleep(0.02);\n").expect("written");
    let path = path.to_str().expect("ASCII");
    let json = json(&db, &["run", path, "-T", "2", "--rate", "100"]);
    let measured = &json["measured"];
    let mean = |what: &str| measured[what]["mean_us"].as_f64().expect("measured");
    let (service, response, lag) = (mean("service"), mean("response"), mean("schedule_lag"));
    assert!((20_000.0..40_000.0).contains(&service), "{service}");
    assert!(response > 2.0 * service, "{response}: the queue counts");
    assert!(
        (response - service - lag).abs() < 1000.0,
        "{response} = {service} + {lag}"
    );
    for what in ["service", "response", "schedule_lag"] {
        let count = number(&measured[what]["count"]);
        assert_eq!(count, number(&measured["committed"]), "{what}");
        check_percentiles(&measured[what], what);
    }
    db.pgdyno(&["run", path, "-v", "-t", "20", "--rate", "20"])
        .expect(
            0,
            &[
                "service ms   mean ",
                "response ms  mean ",
                "schedule lag",
                "rate         20.0/s asked",
            ],
        );
    // Those that would start too late are skipped, and counted.
    let json = self::json(
        &db,
        &["run", path, "-T", "2", "--rate", "200", "-L", "50ms"],
    );
    assert!(
        number(&json["measured"]["skipped"]) > 50,
        "{:#}",
        json["measured"]
    );
    assert!(json["measured"]["schedule_lag"]["max_us"].as_u64() < Some(500_000));
}

#[test]
fn a_rate_that_moves_has_figures_by_phase_and_says_how_long_response_took() {
    let db = Database::new("rate_moves");
    let dir = tempfile::tempdir().expect("temporary directory");
    let path = dir.path().join("slow.sql");
    // Two clients can do at most 200 a second; 60 are scheduled, then 250, then 60 again.
    fs::write(&path, "SELECT pg_sleep(0.01);\n").expect("written");
    let path = path.to_str().expect("ASCII");
    let rate = "60@2s,250@8s,60@12s";
    let args = [
        "run",
        path,
        "-c2",
        "--warmup=1s",
        "--seed=7",
        "--rate",
        rate,
    ];
    let json = json(&db, &args);
    // The length is that of the rate.
    assert_eq!(json["trial"]["duration_s"], 22.0);
    assert_eq!(json["trial"]["rate_profile"], rate);
    assert!(json["trial"]["rate_per_s"].is_null());
    let phases = json["phases"].as_array().expect("phases");
    let names: Vec<&str> = phases
        .iter()
        .filter_map(|one| one["name"].as_str())
        .collect();
    assert_eq!(names, ["60/s", "250/s", "60/s"]);
    let at = |phase: usize, what: &str| phases[phase][what].as_f64().expect("a number");
    for (phase, (from_s, due)) in [(1.0, 120.0), (3.0, 2000.0), (11.0, 720.0)]
        .into_iter()
        .enumerate()
    {
        assert!(
            (at(phase, "from_us") / 1e6 - from_s).abs() < 0.01,
            "{phases:#?}"
        );
        assert!((at(phase, "due") / due - 1.0).abs() < 0.06, "{phases:#?}");
    }
    assert!(
        (40.0..80.0).contains(&at(0, "goodput_per_s")),
        "{phases:#?}"
    );
    assert!(
        (30.0..205.0).contains(&at(1, "goodput_per_s")),
        "{phases:#?}"
    );
    let p50 = |phase: usize| {
        phases[phase]["response"]["p50_us"]
            .as_f64()
            .expect("measured")
    };
    assert!(p50(1) > 20.0 * p50(0), "{phases:#?}");

    // Above what it can do it never settles; back below, the queue is worked off first: some 400
    // transactions at 140 a second more than come. A busy machine works off fewer: it may never settle, or
    // be steady at a queue.
    let steps = json["rate_steps"].as_array().expect("steps");
    let [up, down] = &steps[..] else {
        panic!("{steps:#?}")
    };
    assert_eq!(
        (up["from_per_s"].as_f64(), up["to_per_s"].as_f64()),
        (Some(60.0), Some(250.0))
    );
    assert!(
        up["settled_us"].is_null() && up["not_known"].is_null(),
        "{up:#}"
    );
    assert!(up["missed"].as_f64() > Some(200.0), "{up:#}");
    let settled_us = down["settled_us"].as_f64();
    let is_late = down["after_us"].as_f64() > Some(10.0 * p50(0));
    assert!(is_late || settled_us.is_none_or(|us| us > 1e6), "{down:#}");

    // What was scheduled was late, and a note says so.
    let notes = json["notes"].as_array().expect("notes");
    let codes: Vec<&str> = notes
        .iter()
        .filter_map(|note| note["code"].as_str())
        .collect();
    assert!(codes.contains(&"schedule-missed"), "{notes:#?}");
    assert_eq!(json["steadiness"].as_array().map(Vec::len), Some(0));
}

#[test]
fn a_schedule_that_moves_is_kept_and_shown_in_the_terminal() {
    let db = Database::new("rate_kept");
    let dir = tempfile::tempdir().expect("temporary directory");
    let path = dir.path().join("one.sql");
    fs::write(&path, "SELECT 1;\n").expect("written");
    let path = path.to_str().expect("ASCII");
    let csv = dir.path().join("load.csv");
    fs::write(&csv, "seconds,rate\n0,50\n1,200\n2,25\n").expect("written");
    let rate = format!("@{}", csv.display());
    let args = ["run", path, "-c8", "--seed=3", "--rate", rate.as_str()];
    let json = json(&db, &args);
    assert_eq!(json["trial"]["rate_profile"], "50@1s,200@1s,25");
    let committed = json["measured"]["committed"].as_f64().expect("a number");
    // Five standard deviations of the number that is drawn.
    assert!((committed - 250.0).abs() < 80.0, "{committed}");
    db.pgdyno(&["run", path, "-c8", "--rate", "100..500/2s"])
        .expect(
            0,
            &[
                "100..500/2s asked",
                "by phase",
                "  due  resp p50 ",
                "100 to 200/s",
                "400 to 500/s",
            ],
        );
    db.pgdyno(&["run", path, "--rate", "100..500"]).expect(
        2,
        &[
            "how long it takes: 100..2000/60s, at column 9",
            "  100..500\n          ^",
        ],
    );
    db.pgdyno(&["run", path, "-t5", "--rate", "100@1s,0"])
        .expect(2, &["the rate ends at 0"]);
}

#[test]
fn the_seed_in_a_result_repeats_its_transactions() {
    let db = Database::new("seeds");
    db.sql("CREATE TABLE drawn (n serial, x bigint)");
    let dir = tempfile::tempdir().expect("temporary directory");
    let path = dir.path().join("draw.sql");
    fs::write(
        &path,
        "\\set x random(1, 1000000000)\nINSERT INTO drawn (x) VALUES (:x);\n",
    )
    .expect("written");
    let path = path.to_str().expect("ASCII");
    let drawn = |seed: Option<&str>| {
        let with_seed = seed.map(|seed| ["--seed", seed]);
        let args = [
            &["run", path, "-t", "20"][..],
            with_seed.as_ref().map_or(&[], |s| s),
        ]
        .concat();
        let json = json(&db, &args);
        let rows = db.rows("SELECT x FROM drawn ORDER BY n");
        db.sql("TRUNCATE drawn");
        assert_eq!(rows.len(), 20);
        (json["trial"]["seed"].as_i64().expect("a number"), rows)
    };
    let (seed, first) = drawn(None);
    let (other_seed, other) = drawn(None);
    assert_ne!(seed, other_seed, "from the clock");
    assert_ne!(first, other);
    assert_eq!(drawn(Some(&seed.to_string())), (seed, first));
    let (seed, _) = drawn(Some("-7"));
    assert_eq!(seed, -7);
}

#[test]
fn the_scale_is_read_from_the_tables() {
    let Some(pgbench) = stock_pgbench() else {
        pgdyno_testkit::skip!("the_scale_is_read_from_the_tables", "no stock pgbench 18");
    };
    let db = Database::new("scale_of_tables");
    ran(Command::new(pgbench)
        .args(["-i", "-q", "-s", "3"])
        .arg(&db.url))
    .expect(0, &[]);
    let run = json(&db, &["run", "tpcb", "-t", "200", "-c", "2", "--seed", "1"]);
    assert_eq!(run["workload"]["variables"]["scale"], "3");
    assert_eq!(
        db.rows("SELECT DISTINCT bid FROM pgbench_history ORDER BY 1"),
        ["1", "2", "3"]
    );
    assert!(
        !notes(&run).contains(&"clients-outnumber-rows"),
        "{:#}",
        run["notes"]
    );

    db.sql("CREATE TABLE seen (scale int)");
    let dir = tempfile::tempdir().expect("temporary directory");
    let path = dir.path().join("mine.sql");
    fs::write(
        &path,
        "INSERT INTO seen SELECT :scale FROM pgbench_branches LIMIT 1;\n",
    )
    .expect("written");
    let path = path.to_str().expect("ASCII");
    let run = json(&db, &["run", path, "-t", "5"]);
    assert_eq!(run["workload"]["variables"]["scale"], "3");
    assert_eq!(db.rows("SELECT DISTINCT scale FROM seen"), ["3"]);

    // Another value for a pack is refused; for a script it is obeyed, and the result says so.
    db.pgdyno(&["run", "tpcb", "-t", "5", "--param", "scale=2"])
        .expect(1, &["scale", "3", "2"]);
    let run = json(&db, &["run", path, "-t", "5", "--param", "scale=2"]);
    assert!(notes(&run).contains(&"scale-differs"), "{:#}", run["notes"]);
    assert_eq!(
        db.rows("SELECT DISTINCT scale FROM seen ORDER BY 1"),
        ["2", "3"]
    );
}

#[test]
fn a_result_says_what_it_is_worth() {
    // The tests' own servers do not sync.
    let db = Database::new("worth");
    let args = [
        "run",
        "tpcb",
        "-c",
        "3",
        "-j",
        "1",
        "-t",
        "20",
        "--max-tries",
        "0",
    ];
    let fought = json(&db, &args);
    let codes = notes(&fought);
    for code in ["clients-outnumber-rows", "fsync-off", "same-host"] {
        assert!(codes.contains(&code), "no {code} in {codes:?}");
    }
    assert!(!codes.contains(&"synchronous-commit-off"), "{codes:?}");
    db.pgdyno(&[&args[..], &["-v"]].concat()).expect(
        0,
        &[
            "[clients-outnumber-rows]: 3 clients update pgbench_branches, which has 1 row",
            "[fsync-off]",
            "[same-host]",
            "tps  ",
            "0 failed",
            "statement, ms",
        ],
    );

    let sound = postgres_with(&["fsync=on", "synchronous_commit=off"]);
    let db = Database::on(&sound, "worth");
    let codes = json(&db, &["run", "tpcb", "-t", "5"]);
    let codes = notes(&codes);
    assert!(!codes.contains(&"fsync-off"), "{codes:?}");
    assert!(!codes.contains(&"clients-outnumber-rows"), "{codes:?}");
    assert!(codes.contains(&"synchronous-commit-off"), "{codes:?}");
}

#[test]
fn a_run_that_the_client_holds_back_says_so() {
    let db = Database::new("client_holds_back");
    let dir = tempfile::tempdir().expect("temporary directory");
    let path = dir.path().join("busy.sql");
    let work = "\\set x hash(random(1, 1000000)) + :client_id\n".repeat(5000);
    fs::write(&path, format!("{work}SELECT 1;\n")).expect("written");
    let path = path.to_str().expect("ASCII");
    let json = json(&db, &["run", path, "-T", "1", "-c", "4", "-j", "1"]);
    let share = json["client_cpu"]["threads"][0]["wanted_share"].as_f64();
    assert!(share.is_some_and(|share| share >= 0.8), "{share:?}");
    assert!(
        notes(&json).contains(&"client-bound"),
        "{:#}",
        json["notes"]
    );
}

#[test]
fn failures_and_retries_are_counted_by_class() {
    let server = postgres_with(&["default_transaction_isolation=repeatable read"]);
    let db = Database::on(&server, "classes");
    let args = ["run", "tpcb", "-c", "6", "-j", "2", "-t", "60"];
    let run = db.pgdyno(&args).expect(
        0,
        &[
            "tps  ",
            "failed",
            "by serialization failure [40001]",
            "failures",
        ],
    );
    assert!(!run.stdout.contains("\nretries "), "one try each: {run:?}");
    let retrying = [&args[..], &["--max-tries", "0"]].concat();
    db.pgdyno(&retrying)
        .expect(0, &["\nretries ", "0 failed", "(360 committed"]);
}
