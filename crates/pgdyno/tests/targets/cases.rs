//! What was recorded on a real CockroachDB 19.1: each case is one command line of pgdyno's, on a
//! database of its own.

use std::process::Command;

use serde_json::Value;

use crate::message::Message;
use crate::recorder::Recorder;
use crate::recording::{self, Event};
use crate::replay::Replay;
use crate::support::{self, Ran};

/// The database of all cases.
const DATABASE: &str = "pgdyno_recorded";

struct Case {
    name: &'static str,
    /// Command lines that make what the case finds; they are not recorded.
    before: &'static [&'static str],
    command: &'static str,
}

const CASES: &[Case] = &[
    Case {
        name: "load",
        before: &[],
        command: "load tpcb",
    },
    Case {
        name: "load-again",
        before: &["load tpcb"],
        command: "load tpcb",
    },
    Case {
        name: "load-replace",
        before: &["load tpcb"],
        command: "load tpcb --replace",
    },
    Case {
        name: "pgbench-init",
        before: &[],
        command: "pgbench -i",
    },
    Case {
        name: "pgbench-init-all-steps",
        before: &["pgbench -i"],
        command: "pgbench -i -I dtGvpf",
    },
    Case {
        name: "pgbench-refused",
        before: &[],
        command: "pgbench -i --partitions=2",
    },
    Case {
        name: "pgbench-tpcb",
        before: &["load tpcb"],
        command: "pgbench -c 4 -j 1 -t 5 --max-tries=50 --random-seed=1 --failures-detailed",
    },
    Case {
        name: "tpcb-8-clients",
        before: &["load tpcb"],
        command: "run tpcb -c 8 -j 1 -t 5 --max-tries 0 --seed 1 --no-store --quiet --json",
    },
    Case {
        name: "tpcb-prepared",
        before: &["load tpcb"],
        command: "run tpcb -c 4 -j 1 -t 5 -M prepared --max-tries 0 --seed 1 --no-store --quiet --json",
    },
    Case {
        name: "select-only",
        before: &["load tpcb"],
        command: "run select-only -c 2 -j 1 -t 5 --seed 1 --no-store --quiet --json",
    },
    Case {
        name: "simple-update",
        before: &["load tpcb"],
        command: "run simple-update -c 2 -j 1 -t 5 --seed 1 --max-tries 0 --no-store --quiet --json",
    },
];

/// pgdyno with this command line, on the server at this port.
fn command(line: &str, host: &str, port: u16) -> Command {
    let mut words: Vec<&str> = line.split(' ').collect();
    let (url, port) = (
        format!("postgresql://root@{host}:{port}/{DATABASE}?sslmode=disable"),
        port.to_string(),
    );
    if words[0] == "pgbench" {
        words.extend(["-h", host, "-p", &port, "-U", "root", DATABASE]);
    } else {
        words.extend(["--url", &url]);
    }
    let mut command = support::pgdyno(&words);
    command.env("PGSSLMODE", "disable");
    command
}

fn case(name: &str) -> &'static Case {
    CASES.iter().find(|case| case.name == name).unwrap()
}

/// Plays a case back: nothing may be said that was not recorded, and all that was must be.
#[track_caller]
fn replay(name: &str) -> Ran {
    let replay = Replay::start(recording::read(name));
    let ran = support::ran(&mut command(case(name).command, "127.0.0.1", replay.port()));
    println!("{ran:#?}");
    replay.ended();
    ran
}

/// The JSON document that a run printed.
fn document(ran: &Ran) -> Value {
    assert_eq!(ran.code, Some(0), "{ran:#?}");
    serde_json::from_str(&ran.stdout).unwrap()
}

/// How many errors of this SQLSTATE the recorded server gave.
fn errors(name: &str, sqlstate: &str) -> u64 {
    let code = format!("C{sqlstate}\0");
    let is_error = |event: &&Event| match event {
        Event::Server(Message { tag: b'E', body }) => String::from_utf8_lossy(body).contains(&code),
        _ => false,
    };
    let connections = recording::read(name);
    connections.iter().flatten().filter(is_error).count() as u64
}

/// Records every case anew, or those named in `PGDYNO_RECORD_CASES`, from the server at
/// `PGDYNO_RECORD_FROM` (`scripts/record-target`).
#[test]
#[ignore = "records anew from a server that only its user has: scripts/record-target"]
fn record_anew() {
    let server = std::env::var("PGDYNO_RECORD_FROM").expect("PGDYNO_RECORD_FROM is HOST:PORT");
    let (host, port) = server.rsplit_once(':').expect("HOST:PORT");
    let port: u16 = port.parse().expect("a port");
    let wanted = std::env::var("PGDYNO_RECORD_CASES").unwrap_or_default();
    let is_wanted = |name: &str| wanted.is_empty() || wanted.split(' ').any(|word| word == name);
    for case in CASES.iter().filter(|case| is_wanted(case.name)) {
        let admin = format!("postgresql://root@{server}/defaultdb?sslmode=disable");
        support::sql(
            &admin,
            &format!("DROP DATABASE IF EXISTS {DATABASE} CASCADE"),
        );
        support::sql(&admin, &format!("CREATE DATABASE {DATABASE}"));
        for line in case.before {
            support::ran(&mut command(line, host, port)).expect(0, &[]);
        }
        let recorder = Recorder::start(&server);
        let ran = support::ran(&mut command(case.command, "127.0.0.1", recorder.port()));
        println!("{}: {ran:#?}", case.name);
        let connections = recorder.ended();
        let directory = recording::directory(case.name);
        let _ = std::fs::remove_dir_all(&directory);
        std::fs::create_dir_all(&directory).unwrap();
        for (at, events) in connections.iter().enumerate() {
            let file = directory.join(format!("{:03}.jsonl", at + 1));
            std::fs::write(file, recording::written(events)).unwrap();
        }
    }
}
