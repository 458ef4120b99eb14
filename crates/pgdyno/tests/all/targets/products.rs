//! Every version that a list has, from end to end: what pgdyno sends is on the list, and what the version
//! answers is understood.

use std::io::{BufRead, BufReader};
use std::process::{Command, Stdio};

use serde_json::Value;

use crate::support::{self, Ran};
use crate::targets::documented::{Documented, Product};

fn run(server: &Documented, line: &str) -> Ran {
    let mut command = support::pgdyno(&line.split(' ').collect::<Vec<_>>());
    support::ran(command.args(["--url", &server.url()]))
}

fn json(server: &Documented, line: &str) -> Value {
    let ran = run(server, &format!("{line} --json --quiet --no-store")).expect(0, &[]);
    serde_json::from_str(&ran.stdout).unwrap()
}

fn history(server: &Documented) -> u64 {
    let rows = server
        .database
        .value("SELECT count(*) FROM pgbench_history");
    rows.parse().unwrap()
}

/// What is special about a version.
struct Expected {
    /// The level in effect where READ COMMITTED is asked for.
    read_committed: &'static str,
    /// Forms of the laboratory that cannot be run.
    without: &'static [&'static str],
    /// A figure of its pages.
    figure: &'static str,
    /// What it tells of a statement's time: layer, execution, there, contention.
    explained: Option<(&'static str, u64, u64, Option<u64>)>,
}

const SERIALIZABLE_ONLY: Expected = Expected {
    read_committed: "serializable",
    without: &["procedure"],
    figure: "crdb.txn.commits",
    explained: Some(("KV", 5_000, 3_000, Some(0))),
};

fn from_end_to_end(product: Product, expected: &Expected) {
    let name = product.name;
    let (title, version) = name.split_once(' ').unwrap();
    let server = Documented::start(Product {
        nodes: 3,
        ..product
    });
    find_out(&server, title, version, expected);
    measure(&server, name, expected);
    compare(&server, name, expected);
    run_other_workloads(&server, name);
    lose_a_node(&server, name);
}

fn find_out(server: &Documented, title: &str, version: &str, expected: &Expected) {
    let target = run(server, "target --discover --json").expect(0, &[]);
    let target: Value = serde_json::from_str(&target.stdout).unwrap();
    assert_eq!(target["product"]["name"], title);
    assert_eq!(target["product"]["version"], version);
    let nodes = target["facts"]["nodes"].as_array().unwrap();
    let addresses: Vec<&str> = nodes
        .iter()
        .filter_map(|node| node["address"].as_str())
        .collect();
    assert_eq!(addresses, server.addresses(), "{nodes:#?}");
    let levels = &target["isolation"]["asked_for"];
    assert_eq!(
        levels["read committed"], expected.read_committed,
        "{levels:#}"
    );
    assert_eq!(levels["serializable"], "serializable", "{levels:#}");
}

fn measure(server: &Documented, name: &str, expected: &Expected) {
    run(server, "load tpcb").expect(0, &["100,011 rows", "filled through 3 nodes"]);
    let before = server.reworded();
    let document = json(server, "run tpcb -c 6 -j 1 -t 20 --max-tries 0 --seed 1");
    let all = &document["measured"];
    assert_eq!(all["committed"], 120, "{name}: {all:#}");
    assert_eq!(history(server), 120, "{name}");
    let conflicts = server.reworded() - before;
    assert_eq!(
        (conflicts > 0, &all["retries"]),
        (true, &conflicts.into()),
        "{name}: {all:#}"
    );
    let notes = document["notes"].as_array().unwrap().iter();
    let untried = notes.filter(|note| note["code"] == "untried-version");
    assert_eq!(untried.count(), 1, "{name}: said once");
    let series = document["observed"]["series"].to_string();
    assert!(series.contains(expected.figure), "{name}: {series}");
    let document = json(
        server,
        "run select-only -c 2 -j 1 -t 20 -M prepared --seed 1",
    );
    assert_eq!(document["measured"]["committed"], 40, "{name}");
    tell_the_parts_of_a_statements_time(server, &document, expected);
}

/// Each sample has values of its own, and is taken when clients have gone.
fn tell_the_parts_of_a_statements_time(server: &Documented, document: &Value, expected: &Expected) {
    let observed = &document["observed"];
    let reported = &observed["facts"]["cluster.explain"]["explained"];
    let Some((layer, execution_us, storage_us, contention_us)) = expected.explained else {
        let gaps = observed["gaps"].as_array().unwrap();
        let gap = gaps
            .iter()
            .find(|gap| gap["instrument"] == "cluster.explain");
        let reason = gap.unwrap()["reason"].as_str().unwrap();
        assert!(
            reason.contains("from 21.1 on, and this is 20.2"),
            "{reason}"
        );
        assert_eq!(*reported, Value::Null);
        return;
    };
    let text = "SELECT abalance FROM pgbench_accounts WHERE aid = :aid;";
    let expected = serde_json::json!([{"text": text, "samples": 3, "layer": layer,
        "execution_us": execution_us, "storage_us": storage_us, "contention_us": contention_us,
        "rows": reported[0]["rows"]}]);
    assert_eq!(*reported, expected, "{:#}", observed["gaps"]);
    let statements = server.statements();
    let is_explained = |sql: &&String| sql.starts_with("EXPLAIN ");
    let mut explained: Vec<&String> = statements
        .iter()
        .filter(is_explained)
        .rev()
        .take(3)
        .collect();
    explained.sort();
    explained.dedup();
    assert_eq!(explained.len(), 3, "{explained:?}");
    assert!(
        explained
            .iter()
            .all(|sql| sql.contains("WHERE aid = ") && !sql.contains(':'))
    );
    // tpcb's before: after its last transaction.
    let first = statements.iter().position(|sql| is_explained(&sql));
    let writes = |sql: &String| sql.starts_with("INSERT INTO pgbench_history");
    assert!(
        statements.iter().rposition(writes) < first,
        "{statements:#?}"
    );
}

#[test]
fn postgresql_is_asked_for_no_parts_of_a_statements_time() {
    let server = Documented::start(Product::new("PostgreSQL 18.1"));
    run(&server, "load tpcb").expect(0, &[]);
    let document = json(&server, "run select-only -c 2 -j 1 -t 20 --seed 1");
    assert_eq!(document["measured"]["committed"], 40);
    let observed = document["observed"].to_string();
    assert!(observed.contains("pg.counters") && !observed.contains("cluster.explain"));
    let statements = server.statements();
    assert!(!statements.iter().any(|sql| sql.starts_with("EXPLAIN")));
}

fn compare(server: &Documented, name: &str, expected: &Expected) {
    let line = "lab retries -c 3 -t 3 --repeat 1 --seed 1 --json --quiet";
    let lab = run(server, line).expect(0, &[]);
    let lab: Value = serde_json::from_str(&lab.stdout).unwrap();
    for form in lab["points"][0]["forms"].as_array().unwrap() {
        let is_without = expected
            .without
            .iter()
            .any(|without| form["form"] == *without);
        let has_run = form["not_run"].as_array().unwrap().is_empty();
        assert_eq!(has_run, !is_without, "{name}: {form:#}");
        // On a busy machine one of them may be out of tries.
        let count = |figure: &str| form[figure].as_u64().unwrap_or(0);
        let ended = count("committed") + count("given_up");
        assert!(is_without || ended == 9, "{name}: {form:#}");
    }
    let file = tempfile::NamedTempFile::new().unwrap();
    let experiment = "workload = 'simple-update'\ntransactions = 3\nmax_tries = 0\nclients = 2\nseed = 1\n\
        isolation = ['read committed', 'serializable']\nreset.settle = 0\n";
    std::fs::write(file.path(), experiment).unwrap();
    run(server, &format!("sweep {} --quiet", file.path().display())).expect(0, &[]);
}

fn run_other_workloads(server: &Documented, name: &str) {
    for line in [
        "run ycsb --param recordcount=100 -c 2 -j 1 -t 20 --max-tries 0 --seed 1",
        "run slob --param scale=1024 --param schemas=1 -c 2 -j 1 -t 2 --max-tries 0 --seed 1",
    ] {
        let document = json(server, line);
        let failed = document["measured"]["failed"].as_u64();
        assert_eq!(
            failed.unwrap_or(0),
            0,
            "{name}: {line}: {:#}",
            document["measured"]
        );
    }
    let url = server.url();
    let kv = [
        "workload",
        "run",
        "kv",
        "--init",
        "--max-ops",
        "20",
        "--db",
        "d",
        &url,
    ];
    support::ran(&mut support::pgdyno(&kv)).expect(0, &["_elapsed"]);
    let address = server.addresses().remove(0);
    let (host, port) = address.split_once(':').unwrap();
    for line in ["-i -q", "-t 5 --max-tries 10"] {
        let mut command = support::pgdyno(&["pgbench"]);
        command
            .args(line.split(' '))
            .args(["-h", host, "-p", port, "-U", "me", "d"]);
        support::ran(command.env("PGSSLMODE", "disable")).expect(0, &[]);
    }
}

/// A node goes and comes back while clients run, and the answer to a commit is lost on the way.
fn lose_a_node(server: &Documented, name: &str) {
    let before = history(server);
    let line = "run tpcb -c 6 -j 1 -R 60 -T 60s --max-tries 0 --reconnect --seed 1 --json --quiet --no-store \
        --continue-on-error";
    let mut command = support::pgdyno(&line.split_whitespace().collect::<Vec<_>>());
    let command = command.args(["--url", &server.url()]);
    let mut child = command
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    server.wait_for_rows("pgbench_history", before + 20);
    server.make_ambiguous(1);
    server.wait_for_rows("pgbench_history", before + 40);
    server.kill(1);
    server.wait_for_rows("pgbench_history", before + 80);
    server.restart(1);
    server.drain(2);
    server.wait_for_rows("pgbench_history", before + 120);
    let pid = child.id().to_string();
    assert!(
        Command::new("kill")
            .args(["-INT", &pid])
            .status()
            .unwrap()
            .success()
    );
    let mut errors = String::new();
    let mut stderr = BufReader::new(child.stderr.take().unwrap());
    let output = child.wait_with_output().unwrap();
    while stderr.read_line(&mut errors).unwrap_or(0) > 0 {}
    let document: Value = serde_json::from_slice(&output.stdout).unwrap_or_else(|e| {
        panic!(
            "{name}: {e}: {errors}\n{}",
            String::from_utf8_lossy(&output.stdout)
        )
    });
    let all = &document["measured"];
    let (committed, unknown) = (
        all["committed"].as_u64().unwrap(),
        all["unknown"].as_u64().unwrap(),
    );
    let rows = history(server) - before;
    assert!(unknown > 0, "{name}: {all:#}");
    assert!(
        (committed..=committed + unknown).contains(&rows),
        "{name}: {rows} rows, {all:#}"
    );
}

#[test]
fn cockroachdb_20_2_is_spoken_to_as_documented() {
    let product = Product {
        lacks: &[
            "transaction_contention_events",
            "pg_partitioned_table",
            "WITH DETAILS",
        ],
        ..Product::new("cockroachdb 20.2")
    };
    let expected = Expected {
        explained: None,
        ..SERIALIZABLE_ONLY
    };
    from_end_to_end(product, &expected);
}

#[test]
#[ignore = "a version between others: make test-long PART=products"]
fn cockroachdb_22_2_is_spoken_to_as_documented() {
    let product = Product {
        lacks: &["WITH DETAILS"],
        ..Product::new("cockroachdb 22.2")
    };
    from_end_to_end(product, &SERIALIZABLE_ONLY);
}

#[test]
#[ignore = "a version between others: make test-long PART=products"]
fn cockroachdb_23_2_is_spoken_to_as_documented() {
    from_end_to_end(Product::new("cockroachdb 23.2"), &SERIALIZABLE_ONLY);
}

#[test]
fn cockroachdb_24_3_is_spoken_to_as_documented() {
    let expected = Expected {
        read_committed: "read committed",
        ..SERIALIZABLE_ONLY
    };
    from_end_to_end(Product::new("cockroachdb 24.3"), &expected);
}

const SNAPSHOT: Expected = Expected {
    read_committed: "repeatable read",
    without: &[],
    figure: "yb.sql.transactions",
    explained: Some(("storage", 1_150, 971, None)),
};

#[test]
fn yugabytedb_2_20_is_spoken_to_as_documented() {
    let product = Product {
        lacks: &[
            "yb_active_session_history",
            "yb_local_tablets",
            "yb_tablet_metadata",
        ],
        ..Product::new("yugabytedb 2.20")
    };
    from_end_to_end(product, &SNAPSHOT);
}

#[test]
#[ignore = "a version between others: make test-long PART=products"]
fn yugabytedb_2024_2_is_spoken_to_as_documented() {
    let product = Product {
        lacks: &["yb_tablet_metadata"],
        ..Product::new("yugabytedb 2024.2")
    };
    from_end_to_end(product, &SNAPSHOT);
}

#[test]
fn yugabytedb_2025_2_is_spoken_to_as_documented() {
    let expected = Expected {
        read_committed: "read committed",
        ..SNAPSHOT
    };
    from_end_to_end(Product::new("yugabytedb 2025.2"), &expected);
}
