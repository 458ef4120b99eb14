//! On stores that are filled by hand.

use super::*;
use pgdyno_model::notebook::{ExperimentHeader, TrialHeader};
use pgdyno_store::{Store, example};
use rusqlite::{Connection, params};
use serde_json::json;
use std::path::Path;

/// A store that is filled by hand.
struct Filled {
    store: Store,
    raw: Connection,
    experiment: ExperimentRow,
    _folder: tempfile::TempDir,
}

impl Filled {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let path: &Path = &folder.path().join("s");
        let store = Store::open(path).unwrap();
        let sweep = ExperimentHeader {
            name: "disks".to_owned(),
            definition: "{}".to_owned(),
        };
        Self {
            experiment: store.begin_experiment(&sweep).unwrap(),
            raw: Connection::open(path).unwrap(),
            store,
            _folder: folder,
        }
    }

    /// A trial that is complete, with as many transactions of the same latency.
    fn trial(&self, clients: u32, repeat: u32, goodput: f64, latencies: (u64, u64)) -> i64 {
        let header = TrialHeader {
            experiment: Some(self.experiment.number),
            point: Some(json!({ "clients": clients, "params": { "scale": 3 } })),
            repeat: Some(repeat),
            ..example()
        };
        let writer = self.store.begin(&header).unwrap();
        let number = writer.number();
        writer.fail("not yet").unwrap();
        let (count, us) = latencies;
        let mut all = pgdyno_measurement::Latencies::default();
        (0..count).for_each(|_| all.record(us));
        let update = "UPDATE trial_ended SET state = 'complete', reason = NULL, goodput_per_s = ?, \
                      committed = ?, failed = 2, retries = 5, service_p50_us = ?, \
                      service_p99_us = ? WHERE trial = ?";
        let row = params![
            goodput,
            count,
            all.percentile_us(50.0),
            all.percentile_us(99.0),
            number
        ];
        self.raw.execute(update, row).unwrap();
        self.second(number, 0, count, &all);
        number
    }

    fn second(&self, number: i64, start_s: u64, count: u64, all: &pgdyno_measurement::Latencies) {
        let pack = all.pack();
        let insert = "INSERT INTO second VALUES (?, ?, 0, 0, 1000000, ?, 2, 0, 0, 0, 5, 1, \
                      ?, ?, ?, ?, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, 0)";
        let row = params![
            number,
            start_s * 1_000_000,
            count,
            pack.sum_us(),
            pack.sum_squares_us2().to_string(),
            pack.max_us(),
            pack.bytes()
        ];
        self.raw.execute(insert, row).unwrap();
    }

    fn mark(&self, column: &str, value: &str, number: i64) {
        let (table, key) = match column {
            "excluded" | "pack_sha256" => ("trial_begun", "number"),
            _ => ("trial_ended", "trial"),
        };
        let sql = format!("UPDATE {table} SET {column} = ? WHERE {key} = ?");
        self.raw.execute(&sql, params![value, number]).unwrap();
    }

    fn points(&self) -> Points {
        of_experiment(&self.store, &self.experiment).unwrap()
    }
}

fn json(points: &Points) -> Value {
    serde_json::to_value(points).unwrap()
}

#[test]
fn two_repeats_have_a_range_six_an_interval_and_one_neither() {
    let filled = Filled::new();
    for repeat in 1..=6 {
        let goodput = 1000.0 + f64::from(repeat);
        filled.trial(16, repeat, goodput, (2000, 5_000));
    }
    for repeat in 1..=2 {
        filled.trial(2, repeat, 100.0 * f64::from(repeat), (2000, 7_000));
    }
    filled.trial(1, 1, 50.0, (2000, 3_000));
    let points = filled.points();
    let text = text(&points, usize::MAX);
    let squeeze = |line: &str| line.split_whitespace().collect::<Vec<_>>().join(" ");
    let lines: Vec<String> = text.lines().map(squeeze).collect();
    // By the number of clients; what does not vary is not said.
    let first = lines
        .iter()
        .position(|line| line.starts_with("1 client "))
        .unwrap();
    let lines = &lines[first - 1..];
    assert!(!lines[1].contains('(') && !lines[1].contains('['), "{text}");
    assert!(lines[2].starts_with("2 clients "), "{text}");
    assert!(lines[2].contains("150 (100, 200)"), "{text}");
    assert!(lines[3].starts_with("16 clients "), "{text}");
    assert!(lines[3].contains("1,004 [1,00"), "{text}");
    assert!(!lines[3].contains("(1,00"), "{text}");
    assert!(lines[3].ends_with("12 30"), "{text}");
    let json = json(&points);
    let goodput = |point: usize| &json["points"][point]["figures"]["goodput"]["over_repeats"];
    assert_eq!(goodput(1)["interval"], Value::Null);
    assert_eq!(
        (&goodput(1)["min"], &goodput(1)["n"]),
        (&json!(100.0), &json!(2))
    );
    let low = goodput(2)["interval"][0].as_f64().unwrap();
    assert!((1001.0..1003.5).contains(&low), "{low}");
    assert_eq!(json["points"][2]["varied"], json!({ "clients": 16 }));
}

#[test]
fn percentiles_are_those_of_all_repeats_together_and_no_average() {
    let filled = Filled::new();
    // Nine of ten transactions are quick; the mean of the p99s would be 5.5 ms.
    filled.trial(1, 1, 10.0, (9_000, 1_000));
    filled.trial(1, 2, 10.0, (1_000, 10_000));
    let json = json(&filled.points());
    let figures = &json["points"][0]["figures"];
    assert_eq!(figures["p50"]["together_us"], 1_000);
    let p99 = figures["p99"]["together_us"].as_u64().unwrap();
    assert!(p99.abs_diff(10_000) <= 10, "{p99}");
    assert_eq!(figures["p50"]["over_repeats"]["median"], 5_500.0);
    let text = text(&filled.points(), usize::MAX);
    // Two seconds are too few to know more.
    assert!(text.contains("1.00~  (1.00, 10.0"), "{text}");
    assert!(text.contains("~: of these trials only"), "{text}");
    assert_eq!(figures["p99"]["interval"]["uncertain"], true);
    assert_eq!(figures["p99"]["interval"]["low_us"], Value::Null);
    assert_eq!(figures["goodput"].get("interval"), None);
}

#[test]
fn the_seconds_of_all_repeats_give_a_percentile_its_interval() {
    let filled = Filled::new();
    let second = |slow_us: u64| {
        let mut all = pgdyno_measurement::Latencies::default();
        (0..2_000).for_each(|i| all.record(1_000 + i % 100));
        (0..40).for_each(|i| all.record(slow_us + 10 * i));
        all
    };
    // Repeats that are alike, and repeats of which one is slow.
    for (clients, slow_us) in [(1, [20_000, 20_000]), (2, [20_000, 90_000])] {
        for (repeat, slow_us) in (1..).zip(slow_us) {
            let number = filled.trial(clients, repeat, 10.0, (2_000, 1_000));
            (1..20).for_each(|at| filled.second(number, at, 2_040, &second(slow_us)));
        }
    }
    let points = filled.points();
    let p99 = |point: usize| points.points[point].figures["p99"].clone();
    let alike = p99(0).interval.unwrap();
    let value_us = p99(0).together_us.flatten().unwrap();
    assert!(!alike.uncertain, "{alike:?}");
    assert!(alike.low_us.unwrap() < value_us && value_us < alike.high_us.unwrap());
    let unlike = p99(1).interval.unwrap();
    assert!(unlike.uncertain, "{unlike:?}");
    let text = text(&points, usize::MAX);
    let row = |begin: &str| text.lines().find(|line| line.starts_with(begin)).unwrap();
    assert!(!row("1 client ").contains('~'), "{text}");
    assert!(row("2 clients ").contains('~'), "{text}");
}

#[test]
fn an_outlier_counts_and_is_named_with_its_trial_and_method() {
    let filled = Filled::new();
    for (repeat, goodput) in (1..).zip([100.0, 101.0, 40.0, 99.0, 100.5, 98.5]) {
        filled.trial(1, repeat, goodput, (2000, 5_000));
    }
    let points = filled.points();
    let text = text(&points, usize::MAX);
    assert!(
        text.contains("outlier   trial 3 (repeat 3): goodput 40.0 (modified z-score -"),
        "{text}"
    );
    assert!(text.contains("beyond 3.5 by Iglewicz & Hoaglin"), "{text}");
    let json = json(&points);
    let point = &json["points"][0];
    assert_eq!(
        (&point["repeats"], &point["outliers"][0]["trial"]),
        (&json!(6), &json!(3))
    );
    assert_eq!(point["figures"]["goodput"]["over_repeats"]["min"], 40.0);
}

#[test]
fn what_does_not_count_is_left_out_and_named() {
    let filled = Filled::new();
    filled.trial(1, 1, 100.0, (2000, 5_000));
    let backup = filled.trial(1, 2, 10.0, (2000, 50_000));
    filled.mark("excluded", "a backup\nwas running", backup);
    let broken = filled.trial(2, 1, 10.0, (2000, 50_000));
    filled.mark("state", "failed", broken);
    filled.mark("reason", "no connection", broken);
    let points = filled.points();
    let text = text(&points, usize::MAX);
    for line in [
        "left out  trial 2 (1 client, repeat 2): excluded: a backup was running",
        "left out  trial 3 (2 clients, repeat 1): failed: no connection",
    ] {
        assert!(text.contains(line), "no {line} in {text}");
    }
    let lines: Vec<&str> = text.lines().collect();
    let first = lines
        .iter()
        .position(|line| line.starts_with("1 client "))
        .unwrap();
    let lines = &lines[first - 1..];
    assert!(lines[1].contains(" 100 "), "{text}");
    // A point without a trial that counts has its row, and no figures.
    assert!(
        lines[2].starts_with("2 clients") && lines[2].contains('–'),
        "{text}"
    );
    let json = json(&points);
    assert_eq!(json["points"][0]["figures"]["p50"]["together_us"], 5_000);
    assert_eq!(json["points"][1]["repeats"], 0);
    assert_eq!(
        json["points"][1]["left_out"][0]["why"],
        "failed: no connection"
    );
}

#[test]
fn a_serious_note_reaches_the_table_and_a_notice_does_not() {
    let filled = Filled::new();
    let note = |code: &str, severity: &str| json!({ "code": code, "severity": severity, "remedy": "", "sentence": "so it is" });
    for clients in 1..=2 {
        let trial = filled.trial(clients, 1, 100.0, (2000, 5_000));
        let notes = json!([
            note("same-host", "notice"),
            note("client-bound", "serious"),
            note("host-shared", "warning")
        ]);
        filled.mark("notes", &notes.to_string(), trial);
    }
    let points = filled.points();
    let text = text(&points, usize::MAX);
    for line in [
        "\nSERIOUS   client-bound, trials 1 and 2: so it is\n",
        "\nwarning   host-shared, trials 1 and 2: so it is\n",
    ] {
        assert!(text.contains(line), "no {line} in {text}");
    }
    assert!(!text.contains("same-host"), "{text}");
    assert_eq!(json(&points)["points"][1]["notes"][0]["trials"], json!([2]));
}

#[test]
fn a_trial_that_was_not_steady_counts_and_is_named_and_other_notes_are_not() {
    let filled = Filled::new();
    let note = |code: &str, severity: &str| json!({ "code": code, "severity": severity, "remedy": "", "sentence": code });
    let notes = json!([
        note("same-host", "notice"),
        note("not-steady", "warning"),
        note("warm-up-cut-short", "warning")
    ]);
    let trial = filled.trial(1, 1, 100.0, (2000, 5_000));
    filled.mark("notes", &notes.to_string(), trial);
    let points = filled.points();
    let text = text(&points, usize::MAX);
    for code in ["not-steady", "warm-up-cut-short"] {
        let line = format!("unsteady  trial 1 (repeat 1): {code}\n");
        assert!(text.contains(&line), "{text}");
    }
    assert!(!text.contains("same-host"), "{text}");
    let point = &json(&points)["points"][0];
    assert_eq!(
        (&point["repeats"], &point["unsteady"][0]["trial"]),
        (&json!(1), &json!(1))
    );
}

#[test]
fn server_activity_in_some_repeats_is_noted_where_observed() {
    let filled = Filled::new();
    let trials = [1, 2, 3, 4].map(|repeat| filled.trial(1, repeat, 100.0, (2000, 5_000)));
    let run = |sql: &str, number: i64| filled.raw.execute(sql, [number]).unwrap();
    let events = |number: i64, kind: &str, at_us: i64| {
        let sql = "INSERT INTO event (trial, event, at_us, kind, text, length_us) VALUES (?1, \
             (SELECT count(*) FROM event WHERE trial = ?1), ?2, ?3, '', 10)";
        filled
            .raw
            .execute(sql, params![number, at_us, kind])
            .unwrap();
    };
    // The last one was not observed, and the one before it only in part.
    for number in &trials[..3] {
        run(
            "INSERT INTO instrument VALUES (?, 0, 'pg.events', '')",
            *number,
        );
        run(
            "INSERT INTO gap VALUES (?, 0, 0, 'autovacuum', NULL, NULL, '', NULL, 0)",
            *number,
        );
    }
    run(
        "INSERT INTO gap VALUES (?, 1, 0, '', NULL, NULL, '', NULL, 0)",
        trials[2],
    );
    events(trials[0], "autovacuum", 5);
    events(trials[1], "autovacuum", 5);
    events(trials[1], "checkpoint", 5);
    // Over before the measured part.
    events(trials[0], "checkpoint", -100);
    let points = filled.points();
    let text = text(&points, usize::MAX);
    let reported = "a checkpoint was in trial 2, not in trial 1";
    assert!(text.contains(&format!("uneven    {reported}\n")), "{text}");
    assert!(!text.contains("uneven    autovacuum"), "{text}");
    let uneven = &json(&points)["points"][0]["uneven"];
    assert_eq!(uneven[0]["code"], "checkpoint-in-some-repeats");
    assert_eq!(
        (&uneven[0]["sentence"], uneven.as_array().unwrap().len()),
        (&json!(reported), 1)
    );
}

#[test]
fn trials_of_another_content_of_the_pack_are_no_repeats() {
    let filled = Filled::new();
    filled.trial(1, 1, 100.0, (2000, 5_000));
    let other = filled.trial(1, 2, 200.0, (2000, 5_000));
    filled.mark("pack_sha256", "changed", other);
    let points = filled.points().points;
    let repeats: Vec<usize> = points.iter().map(|point| point.trials.len()).collect();
    assert_eq!(repeats, [1, 1]);
}

#[test]
fn an_experiment_without_trials_has_no_points() {
    let points = Filled::new().points();
    assert_eq!(text(&points, usize::MAX), "no trials\n");
    assert_eq!(json(&points)["points"], json!([]));
}

#[test]
fn a_narrow_terminal_has_all_columns_below_each_other_and_whole_titles() {
    let filled = Filled::new();
    for repeat in 1..=2 {
        filled.trial(1, repeat, 1000.0, (2000, 3_000));
        filled.trial(16, repeat, 12_000.0, (2000, 7_000));
    }
    let points = filled.points();
    let shown = text(&points, 60);
    // The answer is text; the table follows.
    let is_answer = |line: &&str| !line.starts_with("point ");
    let is_table = |line: &&str| !line.starts_with("goodput:");
    let lines = shown.lines().skip_while(is_answer);
    let table: Vec<&str> = lines.take_while(is_table).collect();
    assert!(!table.is_empty(), "{shown}");
    assert!(
        table.iter().all(|line| line.chars().count() <= 60),
        "{shown}"
    );
    for column in ["goodput/s", "p50 ms", "p99 ms", "failed", "retries"] {
        assert!(
            table.iter().any(|line| line.contains(column)),
            "{column}: {shown}"
        );
    }
    // A spread is beside its figure.
    let squeeze = |line: &&str| line.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(
        table
            .iter()
            .map(squeeze)
            .any(|row| row.contains("1,000 (1,000, 1,000)")),
        "{shown}"
    );
    // Titles that would be cut are numbered.
    let shown = text(&points, 16);
    assert!(
        shown.contains("point 1    1 client\npoint 2    16 clients\n"),
        "{shown}"
    );
}
