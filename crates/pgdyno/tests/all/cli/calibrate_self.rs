//! `pgdyno calibrate --self`, and what trials make of it.

use std::io::{BufRead, BufReader};
use std::process::{Command, Stdio};

use pgdyno_platform::child::{Signal, send_signal};
use serde_json::Value;

use crate::support::{Database, Ran, pgdyno, ran};

const ONE_THREAD: [&str; 4] = ["calibrate", "--self", "--threads", "1"];

fn with_home(home: &std::path::Path, args: &[&str]) -> Command {
    let mut command = pgdyno(args);
    command.env("XDG_DATA_HOME", home);
    command
}

#[test]
fn the_ceiling_is_measured_in_each_mode_and_trials_state_their_share_of_it() {
    let home = tempfile::tempdir().unwrap();
    let database = Database::new("calibrate_self");
    let run = [
        "run",
        "select-only",
        "-t",
        "50",
        "-j",
        "1",
        "--query-mode",
        "simple",
        "--url",
        &database.url,
    ];
    // A summary breaks its lines.
    let said = |ran: Ran| ran.stdout.split_whitespace().collect::<Vec<_>>().join(" ");
    let whole = [&run[..], &["-v"]].concat();
    let before = said(ran(&mut with_home(home.path(), &whole)).expect(0, &["generator    "]));
    assert!(before.contains("(estimated)"), "{before}");

    let quick = ["--clients", "1,4", "-T", "200ms", "--json", "--quiet"];
    let args = [&ONE_THREAD[..], &quick].concat();
    let found = ran(&mut with_home(home.path(), &args)).expect(0, &[]);
    let found: Value = serde_json::from_str(&found.stdout).unwrap();
    let rows = found["rows"].as_array().unwrap();
    let modes: Vec<_> = rows
        .iter()
        .map(|row| row["query_mode"].as_str().unwrap())
        .collect();
    assert_eq!(
        modes,
        [
            "simple", "simple", "extended", "extended", "prepared", "prepared"
        ]
    );
    for row in rows {
        let number = |name: &str| row[name].as_f64().unwrap();
        assert!(number("measured_per_s") > 100.0, "{row}");
        // A thread cannot do more than its CPU lets it, but for what the clocks disagree about.
        assert!(
            number("ceiling_per_s") >= 0.9 * number("measured_per_s"),
            "{row}"
        );
    }
    let after = ran(&mut with_home(home.path(), &whole));
    let after = said(after.expect(0, &[]));
    for words in ["of this machine's ceiling of", "1 thread, simple)"] {
        assert!(after.contains(words), "{after}");
    }
    assert!(!after.contains("estimated"), "{after}");
    let json = ran(with_home(home.path(), &run).args(["--json", "--quiet"])).expect(0, &[]);
    let json: Value = serde_json::from_str(&json.stdout).unwrap();
    let share = &json["generator_share"];
    let ceiling = 1e6 / rows[0]["cpu_us_per_round_trip"].as_f64().unwrap();
    let stated = share["ceiling_per_s"].as_f64().unwrap();
    assert!((stated / ceiling - 1.0).abs() < 1e-9, "{share}");
    assert_eq!(share["calibration"]["calibrated"], found["calibrated"]);
}

#[test]
fn what_cannot_be_measured_or_kept_is_refused() {
    let home = tempfile::tempdir().unwrap();
    for (args, why) in [
        (&["--self", "--threads", "0"][..], "--threads"),
        (&["--self", "--clients", "1,x"], "--clients"),
        (&["--self", "--query-mode", "odd"], "--query-mode"),
        (&["--threads", "1"], "--self"),
        (&["--self", "postgresql://db1/x"], "cannot be used with"),
        (&["--self", "--store", "x"], "cannot be used with"),
        (
            &["--self", "--threads", "4", "--clients", "1"],
            "each thread needs a client",
        ),
    ] {
        let args = [&["calibrate"][..], args].concat();
        let refused = ran(&mut with_home(home.path(), &args));
        assert!(refused.stderr.contains(why), "{args:?}: {}", refused.stderr);
        assert_eq!(refused.code, Some(2), "{args:?}");
    }
    // A data directory that is a file: the table is printed, and what is wrong is said last.
    let file = home.path().join("file");
    std::fs::write(&file, "").unwrap();
    let quick = ["--clients", "1", "--query-mode", "simple", "-T", "100ms"];
    let args = [&ONE_THREAD[..], &quick].concat();
    let unkept = ran(&mut with_home(&file, &args));
    assert!(
        unkept.stderr.contains("cannot keep the calibration"),
        "{}",
        unkept.stderr
    );
    assert!(unkept.stdout.contains("ceiling/s"), "{}", unkept.stdout);
    assert_eq!(unkept.code, Some(1));
}

#[test]
fn ctrl_c_ends_it_and_keeps_nothing() {
    let home = tempfile::tempdir().unwrap();
    let args = [&ONE_THREAD[..], &["-T", "1h"]].concat();
    let mut command = with_home(home.path(), &args);
    let command = command.stdin(Stdio::null()).stdout(Stdio::null());
    let mut child = command.stderr(Stdio::piped()).spawn().unwrap();
    let mut lines = BufReader::new(child.stderr.take().unwrap()).lines();
    let measures = lines.next().unwrap().unwrap();
    assert!(measures.contains("1 of "), "{measures}");
    send_signal(child.id(), Signal::Interrupt).unwrap();
    let rest: Vec<String> = lines.map(Result::unwrap).collect();
    assert!(
        rest.iter().any(|line| line.contains("not kept")),
        "{rest:?}"
    );
    assert_eq!(child.wait().unwrap().code(), Some(130));
    assert_eq!(std::fs::read_dir(home.path()).unwrap().count(), 0);
}
