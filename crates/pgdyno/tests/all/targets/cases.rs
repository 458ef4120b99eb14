//! What was recorded on a real CockroachDB 19.1: each case is one command line of pgdyno's, on a
//! database of its own.

use std::path::Path;
use std::process::Command;

use serde_json::{Value, json};

use crate::support::{self, Ran};
use crate::targets::masks;
use crate::targets::message::Message;
use crate::targets::recording::{self, Event};
use crate::targets::replay::Replay;

/// The database of all cases.
pub const DATABASE: &str = "pgdyno_recorded";

/// A command line, and what it finds.
pub struct Case {
    pub name: &'static str,
    /// How many servers its connections go to.
    pub nodes: usize,
    /// Command lines that make what the case finds; they are not recorded.
    pub before: &'static [&'static str],
    pub command: &'static str,
}

pub const CASES: &[Case] = &[
    Case {
        name: "load",
        nodes: 1,
        before: &[],
        command: "load tpcb",
    },
    Case {
        name: "load-again",
        nodes: 1,
        before: &["load tpcb"],
        command: "load tpcb",
    },
    Case {
        name: "load-replace",
        nodes: 1,
        before: &["load tpcb"],
        command: "load tpcb --replace",
    },
    Case {
        name: "pgbench-init",
        nodes: 1,
        before: &[],
        command: "pgbench -i",
    },
    Case {
        name: "pgbench-init-all-steps",
        nodes: 1,
        before: &["pgbench -i"],
        command: "pgbench -i -I dtGvpf",
    },
    Case {
        name: "pgbench-refused",
        nodes: 1,
        before: &[],
        command: "pgbench -i --partitions=2",
    },
    Case {
        name: "pgbench-tpcb",
        nodes: 1,
        before: &["load tpcb"],
        command: "pgbench -c 4 -j 1 -t 5 --max-tries=50 --random-seed=1 --failures-detailed",
    },
    Case {
        name: "tpcb-8-clients",
        nodes: 1,
        before: &["load tpcb"],
        command: "run tpcb -c 8 -j 1 -t 4 --max-tries 0 --seed 1 --no-store --quiet --json",
    },
    Case {
        name: "tpcb-savepoint",
        nodes: 1,
        before: &["load tpcb"],
        command: "run tpcb -c 4 -j 1 -t 4 --retry savepoint --max-tries 0 --seed 1 --no-store --quiet --json",
    },
    Case {
        name: "tpcb-prepared",
        nodes: 1,
        before: &["load tpcb"],
        command: "run tpcb -c 4 -j 1 -t 3 -M prepared --max-tries 0 --seed 1 --no-store --quiet --json",
    },
    Case {
        name: "no-such-database",
        nodes: 1,
        before: &[],
        command: "load tpcb --url postgresql://root@SERVER/absent?sslmode=disable",
    },
    Case {
        name: "sweep",
        nodes: 1,
        before: &["load tpcb"],
        command: "sweep EXPERIMENT --quiet",
    },
    Case {
        name: "select-only",
        nodes: 1,
        before: &["load tpcb"],
        command: "run select-only -c 2 -j 1 -t 5 --seed 1 --no-store --quiet --json",
    },
    Case {
        name: "simple-update",
        nodes: 1,
        before: &["load tpcb"],
        command: "run simple-update -c 2 -j 1 -t 5 --seed 1 --max-tries 0 --no-store --quiet --json",
    },
    Case {
        name: "target",
        nodes: 1,
        before: &[],
        command: "target --connections 2 --json",
    },
    Case {
        name: "isolation",
        nodes: 1,
        before: &["load tpcb"],
        command: "run select-only -t 2 --isolation read-committed --seed 1 --no-store --quiet --json",
    },
    Case {
        name: "lab",
        nodes: 1,
        before: &["load tpcb"],
        command: "lab retries -c 6 -t 3 --repeat 1 --seed 1 --quiet --json",
    },
    Case {
        name: "ycsb",
        nodes: 1,
        before: &["load ycsb --param recordcount=100"],
        command: "run ycsb -c 1 -j 1 -t 20 --max-tries 0 --seed 1 --no-store --quiet --json",
    },
    Case {
        name: "slob",
        nodes: 1,
        before: &["load slob --param scale=1024 --param schemas=1"],
        command: "run slob --loop client -c 1 -j 1 -t 2 --max-tries 0 --seed 1 --no-store --quiet --json",
    },
    Case {
        name: "kv-load",
        nodes: 1,
        before: &[],
        command: "load kv --param splits=3 --param insert_count=100",
    },
    Case {
        name: "kv",
        nodes: 1,
        before: &["load kv --param splits=3 --param insert_count=100"],
        command: "run kv --mix kv50 -c 1 -t 40 --max-tries 0 --seed 1 --no-store --quiet --json",
    },
    Case {
        name: "bank-load",
        nodes: 1,
        before: &[],
        command: "load bank",
    },
    Case {
        name: "bank",
        nodes: 1,
        before: &["load bank"],
        command: "run bank -c 8 -j 1 -t 5 --max-tries 0 --seed 1 --no-store --quiet --json",
    },
    Case {
        name: "workload-bank",
        nodes: 1,
        before: &["load bank"],
        command: "workload run bank --concurrency=2 --max-ops=10 --seed=1",
    },
    Case {
        name: "workload-drop",
        nodes: 1,
        before: &["load bank"],
        command: "workload init bank --drop --rows=20 --ranges=2",
    },
    Case {
        name: "workload-check",
        nodes: 1,
        before: &["load bank"],
        command: "workload check bank",
    },
    Case {
        name: "tpcc",
        nodes: 1,
        before: &["load tpcc --param items=100 --param customers=30"],
        command: "run tpcc -c 1 -j 1 -t 12 --max-tries 0 --seed 1 --no-store --quiet --json",
    },
    Case {
        name: "workload-tpcc",
        nodes: 1,
        before: &["load tpcc --param items=100 --param customers=30"],
        command: "workload run tpcc --wait=false --workers=1 --max-ops=12 --seed=1",
    },
    Case {
        name: "store-init",
        nodes: 1,
        before: &[],
        command: "store init",
    },
    Case {
        name: "node-killed",
        nodes: 3,
        before: &["load tpcb"],
        command: "run select-only -c 3 -j 1 -t 100 -R 60 --reconnect --no-failback --seed 1 --no-store --quiet --json",
    },
    Case {
        name: "node-drained",
        nodes: 3,
        before: &["load tpcb"],
        command: "run select-only -c 3 -j 1 -t 100 -R 60 --reconnect --no-failback --seed 1 --no-store --quiet --json",
    },
    Case {
        name: "three-nodes",
        nodes: 3,
        before: &["load tpcb --param scale=2"],
        command: "run tpcb -c 6 -j 1 -t 2 --max-tries 0 --seed 1 --no-store --quiet --json",
    },
];

/// Two trials, so that there is something to tidy up before the second one.
const EXPERIMENT: &str = "workload = 'simple-update'\ntransactions = 3\nmax_tries = 0\n\
    clients = [1, 2]\nthreads = 1\nseed = 1\norder = 'sequential'\nreset.settle = 0\n\
    settings.application_name = 'a sweep'\n";

/// pgdyno with this command line, on these servers (`HOST:PORT`), as this user; files go to `directory`.
pub fn command(line: &str, user: &str, servers: &[String], directory: &Path) -> Command {
    let experiment = directory.join("experiment.toml");
    std::fs::write(&experiment, EXPERIMENT).unwrap();
    let line = line.replace("SERVER", &servers[0]);
    let line = line.replace("root@", &format!("{user}@"));
    let line = line.replace("EXPERIMENT", &experiment.display().to_string());
    let mut words: Vec<&str> = line.split(' ').collect();
    let url = format!(
        "postgresql://{user}@{}/{DATABASE}?sslmode=disable",
        servers.join(",")
    );
    if words[0] == "pgbench" {
        let (host, port) = servers[0].rsplit_once(':').expect("HOST:PORT");
        words.extend(["-h", host, "-p", port, "-U", user, DATABASE]);
    } else if words[0] == "store" {
        words.push(&url);
    } else if words[0] == "workload" {
        words.extend(["--db", DATABASE, &url]);
    } else if !words.contains(&"--url") {
        words.extend(["--url", &url]);
    }
    if ["run", "sweep"].contains(&words[0]) {
        // What instruments ask comes when it comes, and would not match.
        words.extend(["--observe", "none"]);
    }
    let mut command = support::pgdyno(&words);
    command.env("PGSSLMODE", "disable");
    // What runs by themselves do not keep is not observed either.
    if !["pgbench", "workload"].contains(&words[0]) {
        command.env("PGDYNO_STORE", directory.join("notebook.sqlite"));
    }
    command
}

/// Servers at these ports of this host.
pub fn at(ports: impl IntoIterator<Item = u16>) -> Vec<String> {
    let ports = ports.into_iter();
    ports.map(|port| format!("127.0.0.1:{port}")).collect()
}

/// Plays a case back: nothing may be said that was not recorded, and all that was must be.
#[track_caller]
pub fn replay(name: &str) -> Ran {
    replay_in(&recording::known(), name)
}

/// The same of a case in this folder.
#[track_caller]
pub fn replay_in(recorded: &Path, name: &str) -> Ran {
    let case = CASES.iter().find(|case| case.name == name);
    let case = case.unwrap_or_else(|| panic!("{}: no case is called {name}", recorded.display()));
    let replay = Replay::start(recording::read_in(&recorded.join(name)));
    let directory = tempfile::tempdir().unwrap();
    let servers = at(replay.ports().iter().copied());
    let ran = support::ran(&mut command(
        case.command,
        masks::USER,
        &servers,
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
    connections
        .iter()
        .flat_map(|c| &c.events)
        .filter(is_error)
        .count() as u64
}

/// Whether a recorded client said this.
fn said(name: &str, text: &str) -> bool {
    let connections = recording::read(name);
    connections
        .iter()
        .flat_map(|c| &c.events)
        .any(|event| match event {
            Event::Client(message) => String::from_utf8_lossy(&message.body).contains(text),
            _ => false,
        })
}

#[test]
fn a_load_is_what_a_real_cockroachdb_took() {
    replay("load").expect(
        0,
        &["scale = 1): 100,011 rows", "committed every 10,000 rows"],
    );
    replay("load-again").expect(0, &["tpcb is already loaded ("]);
    replay("load-replace").expect(0, &["scale = 1): 100,011 rows"]);
    replay("no-such-database").expect(
        1,
        &["database \"absent\" does not exist", "CREATE DATABASE"],
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
            // Which it does not validate.
            "foreign keys that are not validated: pgbench_tellers_bid_fkey, pgbench_accounts_bid_fkey, ",
            "VALIDATE CONSTRAINT \"pgbench_tellers_bid_fkey\" does",
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
        "no client had a conflict"
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
            // As pgbench prints it.
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
        assert!(said("sweep", text), "no output has {text}");
    }
}

#[test]
fn the_forms_that_a_real_cockroachdb_can_run_stand_beside_those_that_it_cannot() {
    let document = document(&replay("lab"));
    let point = &document["points"][0];
    assert_eq!(point["isolation"], "serializable");
    for form in point["forms"].as_array().unwrap() {
        let (name, not_run) = (form["form"].as_str().unwrap(), &form["not_run"]);
        match name {
            "for-update" => assert!(not_run[0].as_str().unwrap().contains("20.1"), "{form:#}"),
            "procedure" => assert!(not_run[0].as_str().unwrap().contains("23.2"), "{form:#}"),
            _ => assert_eq!((&form["committed"], not_run), (&18.into(), &json!([]))),
        }
        // What comes to the server whole, it tries again by itself.
        let retries = match name {
            "statements" => errors("lab", "40001"),
            _ => 0,
        };
        assert_eq!(form["retries"], retries, "{form:#}");
    }
    assert!(errors("lab", "40001") > 0, "no client had a conflict");
}

#[test]
fn clients_on_three_nodes_of_a_real_cockroachdb_are_shown_by_node() {
    let document = document(&replay("three-nodes"));
    let reached = document["target"]["facts"]["reached"].as_array().unwrap();
    let mut nodes: Vec<&str> = reached.iter().filter_map(|r| r["node"].as_str()).collect();
    nodes.sort_unstable();
    nodes.dedup();
    assert_eq!(nodes, ["1", "2", "3"], "{reached:#?}");
    for endpoint in document["endpoints"].as_array().unwrap() {
        assert_eq!(endpoint["clients"], 2, "{endpoint:#}");
        assert_eq!(endpoint["committed"], 4, "{endpoint:#}");
    }
    let retries = errors("three-nodes", "40001");
    assert_eq!(document["measured"]["retries"], retries);
}

#[test]
fn a_node_of_a_real_cockroachdb_that_is_killed_or_drained_loses_its_client_and_nothing_else() {
    assert!(errors("node-drained", "57P01") > 0);
    for name in ["node-killed", "node-drained"] {
        assert_one_client_moves(&document(&replay(name)));
    }
}

/// Three clients on three nodes: the second one's goes on with another, and all is read.
fn assert_one_client_moves(document: &Value) {
    let all = &document["measured"];
    let count = |name: &str| all[name].as_u64().unwrap_or(0);
    assert_eq!(
        count("committed") + count("failed") + count("unknown"),
        300,
        "{all:#}"
    );
    assert!(
        count("committed") >= 299,
        "one was asked when the node went: {all:#}"
    );
    let endpoints = document["endpoints"].as_array().unwrap();
    let lost: Vec<u64> = endpoints
        .iter()
        .filter_map(|endpoint| endpoint["lost"].as_u64())
        .collect();
    assert_eq!(lost, [0, 1, 0], "{endpoints:#?}");
    let arrived = endpoints
        .iter()
        .filter_map(|endpoint| endpoint["arrived"].as_u64());
    assert_eq!(
        arrived.sum::<u64>(),
        1,
        "it goes on with another node: {endpoints:#?}"
    );
    let outages = &document["outages"];
    assert_eq!(
        (&outages["count"], &outages["unended"]),
        (&1.into(), &0.into()),
        "{outages:#}"
    );
}

#[test]
fn splits_of_kv_and_bank_are_what_a_real_cockroachdb_took() {
    let set = "SET CLUSTER SETTING kv.range_merge.queue_enabled = false";
    let stays = "kv.range_merge.queue_enabled = false for the whole server, which stays";
    replay("kv-load").expect(0, &["insert_count = 100", stays]);
    assert!(said("kv-load", set) && said("kv-load", "ALTER TABLE kv SPLIT AT VALUES"));
    // It was so already: nothing to set.
    let bank = replay("bank-load");
    let bank = bank.expect(0, &["bank is loaded"]);
    assert!(!bank.stderr.contains("range_merge"), "{bank:#?}");
    assert!(!said("bank-load", set) && said("bank-load", "ALTER TABLE bank SPLIT AT VALUES"));
}

#[test]
fn kv_and_bank_are_what_a_real_cockroachdb_took() {
    for (name, transactions, checks) in [("kv", 40, 2), ("bank", 40, 1)] {
        let run = document(&replay(name));
        let all = &run["measured"];
        assert_eq!(all["committed"], transactions, "{name}: {all:#}");
        assert_eq!(all["retries"], errors(name, "40001"), "{name}: {all:#}");
        assert_checks_hold(&run, checks);
        // And not the 9.5.0 that it gives to clients of PostgreSQL.
        let version = run["target"]["facts"]["server_version"].as_str().unwrap();
        assert!(version.starts_with("19.1.0-"), "{version}");
    }
    replay("workload-bank").expect(0, &["__total", "transfer"]);
    replay("workload-drop").expect(0, &["imported bank", "20 rows"]);
    replay("workload-check").expect(0, &["1,000 accounts", "add up to 0"]);
}

#[test]
fn all_twelve_conditions_of_tpcc_hold_on_a_real_cockroachdb() {
    let run = document(&replay("tpcc"));
    assert_eq!(run["measured"]["committed"], 12, "{:#}", run["measured"]);
    assert_checks_hold(&run, 12);
    // It has no UPDATE … FROM.
    let ran = replay("workload-tpcc");
    let ran = ran.expect(0, &["newOrder", "tpmC"]);
    let remark =
        "each line of an order is a statement of its own: CockroachDB 19.1 has no UPDATE … FROM";
    assert_eq!(ran.stderr.matches(remark).count(), 1, "{ran:#?}");
}

#[test]
fn a_notebook_on_a_real_cockroachdb_19_1_is_refused() {
    replay("store-init").expect(
        1,
        &[
            "a notebook needs SQL that CockroachDB 19.1 does not have",
            "at or near \"generated\"",
            "keep it in a file (--store FILE), or on a PostgreSQL server",
        ],
    );
}

/// As many checks of the pack's, and all of them hold.
#[track_caller]
fn assert_checks_hold(run: &Value, number: usize) {
    let checks = run["checks"].as_array().unwrap();
    assert_eq!(checks.len(), number, "{checks:#?}");
    for check in checks {
        assert_eq!(check["held"], true, "{check:#}");
    }
}

#[test]
fn ycsb_and_slob_are_what_a_real_cockroachdb_took() {
    let ycsb = document(&replay("ycsb"));
    assert_eq!(ycsb["measured"]["committed"], 20, "{:#}", ycsb["measured"]);
    let slob = document(&replay("slob"));
    let units = slob["measured"]["units"].as_array().unwrap();
    assert!(
        units.iter().any(|units| units["units"].as_u64() > Some(0)),
        "{units:#?}"
    );
}
