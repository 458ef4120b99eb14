//! A number of clients that moves.

use std::fs;
use std::thread;
use std::time::Duration;

use serde_json::Value;

use crate::support::{Database, pgdyno, ran};

/// A script of 10 ms in a directory of its own.
fn script(dir: &tempfile::TempDir) -> String {
    let path = dir.path().join("slow.sql");
    fs::write(&path, "SELECT pg_sleep(0.01);\n").expect("written");
    path.to_str().expect("ASCII").to_owned()
}

fn at(value: &Value, what: &str) -> f64 {
    let number = value[what].as_f64();
    number.unwrap_or_else(|| panic!("no {what}: {value:#}"))
}

#[test]
fn clients_follow_their_steps_as_the_server_sees_and_results_say_by_phase_and_second() {
    let db = Database::new("clients_move");
    let dir = tempfile::tempdir().expect("temporary directory");
    let path = script(&dir);
    let store = dir.path().join("notebook.db");
    let store = store.to_str().expect("ASCII");
    let clients = "2@2s,9@3s,1@2s";
    let args = [
        "run",
        &path,
        "-c",
        clients,
        "-j2",
        "--warmup=1s",
        "--store",
        store,
    ];
    let args = [&args[..], &["--json", "-q"]].concat();
    let (run, active) = thread::scope(|scope| {
        let run = scope.spawn(|| db.pgdyno(&args).expect(0, &[]));
        let mut active: Vec<u64> = Vec::new();
        // Not the instruments' own sessions.
        let sql = "SELECT count(*) FROM pg_stat_activity WHERE state = 'active' \
                   AND datname = current_database() AND query = 'SELECT pg_sleep(0.01);'";
        while !run.is_finished() {
            active.extend(
                db.rows(sql)
                    .iter()
                    .filter_map(|row| row.parse::<u64>().ok()),
            );
            thread::sleep(Duration::from_millis(20));
        }
        (run.join().expect("no panic"), active)
    });
    // What the server saw: the most, and after it again one alone.
    let most = active.iter().copied().max().unwrap_or(0);
    assert!((5..=9).contains(&most), "{active:?}");
    let last = active.iter().rposition(|count| *count > 4).expect("a peak");
    let after: Vec<u64> = active[last + 1..].to_vec();
    let few = after.iter().filter(|count| **count <= 1).count();
    assert!(after.len() > 3 && few + 3 >= after.len(), "{active:?}");

    let json: Value = serde_json::from_str(&run.stdout).expect("JSON");
    assert_eq!(json["trial"]["clients"], 9);
    assert_eq!(json["trial"]["clients_profile"], clients);
    // The length is that of the course.
    assert_eq!(json["trial"]["duration_s"], 7.0);
    assert_eq!(json["connections"]["latency"]["count"], 9);
    let phases = json["phases"].as_array().expect("phases");
    let names: Vec<&str> = phases
        .iter()
        .filter_map(|one| one["name"].as_str())
        .collect();
    assert_eq!(names, ["clients 2", "clients 9", "clients 1"]);
    for (phase, asked) in phases.iter().zip([2.0, 9.0, 1.0]) {
        assert_eq!(at(phase, "clients_asked"), asked, "{phase:#}");
        assert!(
            (at(phase, "clients_working") - asked).abs() < 0.3,
            "{phase:#}"
        );
        // 10 ms each, and what a busy host adds; who leaves a phase still ends its transaction.
        let goodput = at(phase, "goodput_per_s") / asked;
        assert!((1.0..=110.0).contains(&goodput), "{phase:#}");
    }
    let course = &json["client_course"];
    assert!(
        (at(course, "asked") - 33.0 / 7.0).abs() < 1e-9,
        "{course:#}"
    );
    assert!(
        (at(course, "working") - at(course, "asked")).abs() < 0.3,
        "{course:#}"
    );
    let seconds = course["seconds"].as_array().expect("seconds");
    let asked: Vec<f64> = seconds.iter().map(|one| at(one, "asked")).collect();
    assert_eq!(asked, [2.0, 2.0, 2.0, 9.0, 9.0, 9.0, 1.0, 1.0]);
    // All clients' time is somewhere, that of those that rest too, which limits nothing.
    let budget = &json["budget"];
    let parts = budget["parts"].as_array().expect("parts");
    let sum: f64 = parts.iter().map(|part| at(part, "share")).sum();
    assert!((sum - 1.0).abs() < 1e-6, "{budget:#}");
    let rest = parts
        .iter()
        .find(|part| part["part"] == "rest")
        .expect("rest");
    assert!(
        (at(rest, "share") - (1.0 - 33.0 / 63.0)).abs() < 0.05,
        "{budget:#}"
    );
    let notes = json["notes"].as_array().expect("notes");
    let is_off = notes.iter().any(|note| note["code"] == "clients-off");
    assert_eq!(is_off, at(course, "off_share") > 0.01, "{notes:#?}");

    // The notebook has it all.
    let shown = ["show", "1", "--store", store];
    ran(&mut pgdyno(&shown)).expect(
        0,
        &["2@2s,9@3s,1@2s clients", "by phase", "working", "clients 9"],
    );
    let shown = ran(&mut pgdyno(&[&shown[..], &["--json"]].concat())).expect(0, &[]);
    let kept: Value = serde_json::from_str(&shown.stdout).expect("JSON");
    assert_eq!(kept["client_course"], *course);
    assert_eq!(kept["phases"], json["phases"]);
}

#[test]
fn with_a_rate_clients_that_rest_leave_their_starts_to_others() {
    let db = Database::new("clients_rate");
    let dir = tempfile::tempdir().expect("temporary directory");
    let path = script(&dir);
    // Where no client works what is due waits, and is done by eight afterwards.
    let args = [
        "run",
        &path,
        "-c8@2s,0@1s,8@2s",
        "--rate=100",
        "--seed=3",
        "--json",
        "-q",
    ];
    let run = db.pgdyno(&args).expect(0, &[]);
    let json: Value = serde_json::from_str(&run.stdout).expect("JSON");
    let committed = at(&json["measured"], "committed");
    assert!((committed - 500.0).abs() < 120.0, "{committed}");
    let phases = json["phases"].as_array().expect("phases");
    let committed: Vec<f64> = phases.iter().map(|one| at(one, "committed")).collect();
    let [before, none, after] = committed[..] else {
        panic!("{phases:#?}")
    };
    assert!(
        before > 120.0 && none < 50.0 && after > 180.0,
        "{committed:?}"
    );
    let lag = |phase: usize, which: &str| phases[phase]["schedule_lag"][which].as_f64();
    assert!(lag(0, "p95_us") < lag(2, "max_us"), "{phases:#?}");
    assert!(lag(2, "max_us") > Some(700_000.0), "{phases:#?}");
    // Nothing was asked for in the second without clients: it alone is no stall, but with what a busy machine
    // left unserved before or after it.
    let each = json["stalls"]["each"].as_array().expect("stalls");
    for stall in each {
        let (from, length) = (at(stall, "start_us"), at(stall, "length_us"));
        let holds_it = from < 2_000_000.0 && from + length > 3_000_000.0;
        assert!(!holds_it || length > 1_050_000.0, "{stall:#}");
    }
}

#[test]
fn a_number_of_clients_that_cannot_be_is_refused_with_its_place_and_the_way_out() {
    let db = Database::new("clients_refused");
    let dir = tempfile::tempdir().expect("temporary directory");
    let path = script(&dir);
    for (clients, why) in [
        ("0", &["a whole number from 1 to 100000"][..]),
        (
            "8..64",
            &[
                "how long it takes: 100..2000/60s, at column 6",
                "  8..64\n       ^",
            ],
        ),
        (
            "2.5@3s",
            &["a number of clients is a whole number, at column 1"],
        ),
        ("50%..80%/3s", &["not a share of a capacity"]),
        ("@nowhere.csv", &["nowhere.csv"]),
    ] {
        db.pgdyno(&["run", &path, "-c", clients]).expect(2, why);
    }
    db.pgdyno(&["run", &path, "-c", "1..3/2s", "-t5"]).expect(
        2,
        &[
            "lasts for a time, not for transactions of each",
            "leave -t out",
        ],
    );
    db.pgdyno(&["lab", "retries", "-c", "1..3/2s"])
        .expect(2, &["1..3/2s"]);
}
