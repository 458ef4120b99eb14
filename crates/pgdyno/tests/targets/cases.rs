//! What was recorded on a real CockroachDB 19.1: each case is one command line of pgdyno's, on a
//! database of its own.

use std::path::Path;
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
        command: "run tpcb -c 8 -j 1 -t 4 --max-tries 0 --seed 1 --no-store --quiet --json",
    },
    Case {
        name: "tpcb-savepoint",
        before: &["load tpcb"],
        command: "run tpcb -c 4 -j 1 -t 4 --retry savepoint --max-tries 0 --seed 1 --no-store --quiet --json",
    },
    Case {
        name: "tpcb-prepared",
        before: &["load tpcb"],
        command: "run tpcb -c 4 -j 1 -t 3 -M prepared --max-tries 0 --seed 1 --no-store --quiet --json",
    },
    Case {
        name: "no-such-database",
        before: &[],
        command: "load tpcb --url postgresql://root@HOST:PORT/nobody?sslmode=disable",
    },
    Case {
        name: "sweep",
        before: &["load tpcb"],
        command: "sweep EXPERIMENT --quiet",
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
    Case {
        name: "target",
        before: &[],
        command: "target --connections 2 --json",
    },
    Case {
        name: "isolation",
        before: &["load tpcb"],
        command: "run select-only -t 2 --isolation read-committed --seed 1 --no-store --quiet --json",
    },
];

/// Two trials, so that there is something to tidy up before the second one.
const EXPERIMENT: &str = "workload = 'simple-update'\ntransactions = 3\nmax_tries = 0\n\
    clients = [1, 2]\nthreads = 1\nseed = 1\norder = 'sequential'\nhygiene.settle = 0\n\
    settings.application_name = 'a sweep'\n";

/// pgdyno with this command line, on the server at this port; files go to `directory`.
fn command(line: &str, host: &str, port: u16, directory: &Path) -> Command {
    let experiment = directory.join("experiment.toml");
    std::fs::write(&experiment, EXPERIMENT).unwrap();
    let port = port.to_string();
    let line = line.replace("HOST", host).replace("PORT", &port);
    let line = line.replace("EXPERIMENT", &experiment.display().to_string());
    let mut words: Vec<&str> = line.split(' ').collect();
    let url = format!("postgresql://root@{host}:{port}/{DATABASE}?sslmode=disable");
    if words[0] == "pgbench" {
        words.extend(["-h", host, "-p", &port, "-U", "root", DATABASE]);
    } else if !words.contains(&"--url") {
        words.extend(["--url", &url]);
    }
    let mut command = support::pgdyno(&words);
    command.env("PGSSLMODE", "disable");
    command.env("PGDYNO_STORE", directory.join("notebook.sqlite"));
    command
}

fn case(name: &str) -> &'static Case {
    CASES.iter().find(|case| case.name == name).unwrap()
}

/// Plays a case back: nothing may be said that was not recorded, and all that was must be.
#[track_caller]
pub fn replay(name: &str) -> Ran {
    let replay = Replay::start(recording::read(name));
    let directory = tempfile::tempdir().unwrap();
    let line = case(name).command;
    let ran = support::ran(&mut command(
        line,
        "127.0.0.1",
        replay.port(),
        directory.path(),
    ));
    println!("{ran:#?}");
    replay.ended();
    ran
}

/// The JSON document that a run printed.
pub fn document(ran: &Ran) -> Value {
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

/// Whether a recorded client said this.
fn said(name: &str, text: &str) -> bool {
    let connections = recording::read(name);
    connections.iter().flatten().any(|event| match event {
        Event::Client(message) => String::from_utf8_lossy(&message.body).contains(text),
        _ => false,
    })
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
        let files = tempfile::tempdir().unwrap();
        for line in case.before {
            support::ran(&mut command(line, host, port, files.path())).expect(0, &[]);
        }
        let recorder = Recorder::start(&server);
        let line = case.command;
        let ran = support::ran(&mut command(
            line,
            "127.0.0.1",
            recorder.port(),
            files.path(),
        ));
        println!("{}: exit code {:?}\n{}", case.name, ran.code, ran.stderr);
        let connections = recorder.ended();
        let directory = recording::directory(case.name);
        let _ = std::fs::remove_dir_all(&directory);
        std::fs::create_dir_all(&directory).unwrap();
        for (at, events) in connections.iter().enumerate() {
            let file = directory.join(format!("{:03}.txt", at + 1));
            std::fs::write(file, recording::written(events)).unwrap();
        }
    }
}

#[test]
fn a_load_is_what_a_real_cockroachdb_took() {
    replay("load").expect(
        0,
        &[
            "tpcb is loaded (scale = 1): 100011 rows",
            "committed every 10000 rows",
        ],
    );
    replay("load-again").expect(0, &["tpcb is already loaded (scale = 1)"]);
    replay("load-replace").expect(0, &["tpcb is loaded (scale = 1): 100011 rows"]);
    replay("no-such-database").expect(
        1,
        &["database \"nobody\" does not exist", "CREATE DATABASE"],
    );
}

#[test]
fn every_step_of_pgbenchs_initialisation_is_what_a_real_cockroachdb_took() {
    replay("pgbench-init").expect(
        0,
        &[
            "dropping old tables...",
            "creating tables (with primary keys)...",
            "100000 of 100000 tuples (100%)",
            "creating primary keys... (CockroachDB: they come with the tables)",
        ],
    );
    replay("pgbench-init-all-steps").expect(
        0,
        &[
            "generating data (server-side)...",
            "creating foreign keys...",
        ],
    );
    replay("pgbench-refused").expect(1, &["--partitions is not for CockroachDB 19.1: it has no"]);
}

#[test]
fn conflicts_of_a_real_cockroachdb_are_tried_again_until_all_is_committed() {
    for (name, transactions) in [
        ("tpcb-8-clients", 32),
        ("tpcb-savepoint", 16),
        ("tpcb-prepared", 12),
        ("simple-update", 10),
    ] {
        let all = &document(&replay(name))["measured"];
        assert_eq!(all["committed"], transactions, "{name}: {all:#}");
        assert_eq!(all["retries"], errors(name, "40001"), "{name}: {all:#}");
    }
    assert!(
        errors("tpcb-8-clients", "40001") > 0,
        "nobody had a conflict"
    );
    let all = &document(&replay("select-only"))["measured"];
    assert_eq!(all["committed"], 10, "{all:#}");
}

#[test]
fn the_pgbench_door_tries_a_real_cockroachdbs_conflicts_again() {
    let retries = errors("pgbench-tpcb", "40001");
    replay("pgbench-tpcb").expect(
        0,
        &[
            "pgbench (18.6, server 9.5.0)",
            "starting vacuum...end.\n",
            "number of transactions actually processed: 20/20",
            &format!("total number of retries: {retries}\n"),
        ],
    );
}

#[test]
fn a_real_cockroachdb_is_tidied_up_between_trials() {
    replay("sweep").expect(0, &[]);
    // Between the two trials, and for their sessions.
    for text in ["TRUNCATE pgbench_history\0", "application_name\0a sweep\0"] {
        assert!(said("sweep", text), "nobody said {text}");
    }
}
