//! Where the clients' time went, against a server that keeps books of what it took, and how a run
//! prints it.

use std::path::Path;
use std::time::Duration;

use pgdyno_testkit::{Spent, TimedServer, Times};
use serde_json::Value;

use crate::support::{Database, pgdyno, ran};

const SECONDS: &str = "2";
/// Shares are to be right within three points, and what the server's books cannot have: that it waited for a CPU.
const RIGHT: f64 = 0.03;

fn ms(ms: u64) -> Duration {
    Duration::from_millis(ms)
}

/// What a case is: the server, the script, options, and the parts that the books speak of.
struct Case {
    name: &'static str,
    times: Times,
    script: &'static str,
    args: &'static [&'static str],
    /// The part, and what the books have of it.
    truth: fn(&Spent, &Value) -> Vec<(&'static str, f64)>,
}

/// In `\sleep 30 ms` of each transaction.
fn thought(json: &Value) -> f64 {
    json["measured"]["committed"].as_f64().unwrap() * 0.030
}

const WAY: Times = Times {
    start: Duration::ZERO,
    way: Duration::from_millis(5),
};
const NONE: Times = Times {
    start: Duration::ZERO,
    way: Duration::ZERO,
};

fn cases() -> [Case; 8] {
    [
        Case {
            name: "the server is at work, and its work is not observed",
            times: NONE,
            script: "work 20;\n",
            args: &["-c", "2"],
            truth: |spent, _| vec![("not-attributed", spent.working)],
        },
        Case {
            name: "think time",
            times: NONE,
            script: "work 20;\n\\sleep 30 ms\n",
            args: &["-c", "2"],
            truth: |spent, json| vec![("think", thought(json)), ("not-attributed", spent.working)],
        },
        Case {
            name: "a rate far below the limit",
            times: NONE,
            script: "work 20;\n",
            args: &["-c", "2", "--rate", "20"],
            truth: |spent, _| vec![("not-attributed", spent.working)],
        },
        Case {
            name: "a connection for each transaction",
            times: Times {
                start: ms(30),
                way: ms(0),
            },
            script: "work 20;\n",
            args: &["-c", "2", "--connect"],
            truth: |spent, _| vec![("not-attributed", spent.working)],
        },
        Case {
            name: "pauses before other tries",
            times: NONE,
            script: "fail 20;\n",
            args: &[
                "-c",
                "2",
                "--max-tries",
                "5",
                "--backoff",
                "exponential=60ms,60ms,none",
            ],
            truth: |spent, _| vec![("not-attributed", spent.working)],
        },
        Case {
            name: "the way",
            times: WAY,
            script: "work 0;\nwork 0;\nwork 0;\n",
            args: &["-c", "2"],
            truth: |spent, _| vec![("wire", spent.way)],
        },
        Case {
            name: "the way, and work at its end",
            times: WAY,
            script: "work 15;\n",
            args: &["-c", "2"],
            truth: |spent, _| vec![("wire", spent.way), ("not-attributed", spent.working)],
        },
        Case {
            name: "answers that trickle",
            times: NONE,
            script: "work 20;\ntrickle 40;\n",
            args: &["-c", "2"],
            truth: |spent, _| vec![("wire", spent.trickling), ("not-attributed", spent.working)],
        },
    ]
}

fn measured(case: &Case, dir: &Path) -> (Value, Spent) {
    let server = TimedServer::start(case.times);
    let script = dir.join("script.sql");
    std::fs::write(&script, case.script).unwrap();
    let mut command = pgdyno(&["run"]);
    command
        .arg(&script)
        .args([
            "--url",
            &server.url(),
            "-T",
            SECONDS,
            "--json",
            "-q",
            "--no-store",
        ])
        .args(["--observe", "client"])
        .args(case.args);
    let ran = ran(&mut command);
    let json = serde_json::from_str(&ran.stdout).unwrap_or_else(|e| panic!("{e}: {ran:?}"));
    (json, server.spent())
}

/// What of a case is wrong, if anything is.
fn wrong(case: &Case, dir: &Path) -> Option<String> {
    let (json, spent) = measured(case, dir);
    let budget = &json["budget"];
    let all_s = budget["client_seconds"].as_f64().unwrap();
    let parts = budget["parts"].as_array().unwrap();
    let share = |of: &str| {
        let part = parts.iter().find(|part| part["part"] == of);
        part.map_or(0.0, |part| part["share"].as_f64().unwrap())
    };
    let sum: f64 = parts
        .iter()
        .map(|part| part["share"].as_f64().unwrap())
        .sum();
    assert!((sum - 1.0).abs() < 1e-9, "{}: {sum}", case.name);
    // The generator's own part, and what it took to wake up, is its own.
    let own = share("generator-cpu") + share("generator-wait");
    let unsure = RIGHT + own + spent.starved / all_s;
    let mut known = own + share("schedule") + share("between");
    for (part, seconds) in (case.truth)(&spent, &json) {
        let truth = seconds / all_s;
        known += truth;
        if (share(part) - truth).abs() > unsure {
            let reported = share(part);
            return Some(format!("{part} {reported} instead of {truth}: {budget:#}"));
        }
    }
    // What the books do not speak of is the client's, which has counted it; it may have worked while an
    // answer came.
    let is_right = (1.0 - unsure..=1.0 + unsure).contains(&known);
    (!is_right).then(|| format!("{known} of all is known: {budget:#}"))
}

#[test]
fn against_a_server_that_keeps_books_the_parts_are_right_within_three_points() {
    let dir = tempfile::tempdir().unwrap();
    for case in cases() {
        let wrong = wrong(&case, dir.path());
        assert_eq!(wrong, None, "{}", case.name);
    }
}

#[test]
fn a_run_of_tpcb_prints_its_budget_within_a_terminal() {
    let name = "a_run_of_tpcb_prints_its_budget_within_a_terminal";
    let has_script = std::process::Command::new("script").arg("-V").output();
    if has_script.is_err() {
        pgdyno_testkit::skip!(name, "script(1) gives a command a terminal");
    }
    let db = Database::new("budget");
    db.pgdyno(&["load", "tpcb"]).expect(0, &[]);
    let mut terminal = std::process::Command::new("script");
    let shell = format!(
        "stty cols 80 rows 50; {} run tpcb -c 4 -T 2s -v --no-store --url '{}'",
        env!("CARGO_BIN_EXE_pgdyno"),
        db.url
    );
    terminal.args(["-qec", &shell, "/dev/null"]);
    let text = ran(&mut terminal).stdout;
    assert!(text.contains("WHERE THE CLIENTS’ TIME WENT"), "{text}");
    // Behind the last line that the bar has written over.
    let from = text.rfind("tpcb  scale").unwrap();
    for line in text[from..].lines() {
        let length = line.trim_end().chars().count();
        assert!(length <= 80, "{length}: {line}");
    }
}
