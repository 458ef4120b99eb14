//! `workload … kv` and `… bank`, on a real PostgreSQL.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::process::Stdio;

use super::output::{Output, read};
use crate::support::{Database, Ran, pgdyno, ran};

/// A workload on a database of its own.
pub(super) struct Place {
    pub(super) db: Database,
    name: &'static str,
    workload: &'static str,
}

impl Place {
    pub(super) fn new(name: &'static str, workload: &'static str) -> Self {
        let db = Database::new(name);
        Self { db, name, workload }
    }

    pub(super) fn workload(&self, verb: &str, args: &[&str]) -> Ran {
        let mut command = pgdyno(&["workload", verb, self.workload, "--db", self.name]);
        ran(command.args(args).arg(&self.db.url))
    }
}

/// The tables of an output without the lines of kv's end.
pub(super) fn tables(ran: &Ran) -> Output {
    let lines = ran.stdout.lines();
    let lines = lines.filter(|line| !line.starts_with("Highest") && !line.starts_with("Number"));
    read(&lines.collect::<Vec<_>>().join("\n"))
}

#[test]
fn kv_writes_the_keys_of_its_sequence_and_says_where_to_go_on() {
    let place = Place::new("workload_kv", "kv");
    place
        .workload("run", &["--max-ops=10"])
        .expect(1, &["relation \"kv\" does not exist", "workload init kv"]);
    place
        .workload("init", &[])
        .expect(0, &["imported kv", "0 rows)"]);
    let run = |args: &[&str]| {
        let mut all = vec!["--concurrency=2", "--seed=1"];
        all.extend(args);
        place.workload("run", &all).expect(0, &[])
    };
    let first = run(&["--max-ops=20", "--batch=3"]);
    // Before the totals, as cockroach prints it.
    let said = "Highest sequence written: 60. Can be passed as --write-seq=R60 to the next run.\n\n_elapsed";
    assert!(first.stdout.contains(said), "{first:#?}");
    assert_eq!(tables(&first).totals["write"].count, 20);
    assert_eq!(place.db.value("SELECT count(*) FROM kv"), "60");
    // The first octets of SHA-1 (as OpenSSL has it) of the octets of 0 and 1, and of 59 and 1.
    let keys = "SELECT count(*) FROM kv WHERE k IN (-8617536109860315868, -8459492351158626495)";
    assert_eq!(place.db.value(keys), "2");
    let mixed = run(&[
        "--write-seq=R60",
        "--max-ops=200",
        "--read-percent=50",
        "--del-percent=10",
        "--span-percent=10",
        "--span-limit=5",
    ]);
    let mixed = tables(&mixed);
    assert!(mixed.totals.keys().eq(["del", "read", "span", "write"]));
    assert_eq!(mixed.result.unwrap().errors, 0);
    // Again from the beginning: all keys are there.
    let again = run(&["--max-ops=20", "--batch=3"]);
    assert!(again.stdout.contains("--write-seq=R60 "), "{again:#?}");
    place
        .workload("check", &[])
        .expect(1, &["no consistency checks defined for kv"]);
}

#[test]
fn kv_options_change_keys_and_values() {
    let place = Place::new("workload_kv_forms", "kv");
    let init = [
        "--drop",
        "--sequential",
        "--cycle-length=1000",
        "--insert-count=9",
        "--min-block-bytes=8",
        "--max-block-bytes=8",
        "--secondary-index",
        "--splits=4",
    ];
    let loaded = place.workload("init", &init);
    let loaded = loaded.expect(0, &["imported kv", "9 rows)"]);
    let remarks = loaded.stderr.matches("--splits does nothing here").count();
    assert_eq!(remarks, 1, "{loaded:#?}");
    let loaded = place
        .db
        .value("SELECT min(k), max(k), min(length(v)), max(length(v)) FROM kv");
    assert_eq!(loaded, "0|8|8|8");
    place.workload("init", &["--drop"]).expect(0, &["0 rows)"]);
    let args = [
        "--sequential",
        "--cycle-length=50",
        "--max-ops=120",
        "--concurrency=2",
        "--sfu-writes",
        "--sfu-wait-delay=0ms",
        "--splits=4",
    ];
    let ran = place
        .workload("run", &args)
        .expect(0, &["--write-seq=S20 ", "--splits does nothing here"]);
    assert!(tables(&ran).totals.keys().eq(["write"]), "{ran:#?}");
    assert_eq!(place.db.value("SELECT count(*), max(k) FROM kv"), "50|49");
    // A key that is drawn twice in a batch does no harm.
    let args = [
        "--zipfian",
        "--max-ops=100",
        "--batch=4",
        "--read-percent=50",
    ];
    place
        .workload("run", &args)
        .expect(0, &["Can be passed as --write-seq=Z"]);
    let empty = Place::new("workload_kv_empty", "kv");
    empty.workload("init", &[]).expect(0, &[]);
    let args = ["--read-percent=100", "--max-ops=7", "--concurrency=1"];
    empty.workload("run", &args).expect(
        0,
        &["Number of reads that didn't return any results: 7.\nHighest sequence written: 0."],
    );
}

#[test]
fn bank_moves_money_and_check_finds_what_is_lost() {
    let place = Place::new("workload_bank", "bank");
    place
        .workload("init", &["--rows=50", "--tables=2", "--payload-bytes=7"])
        .expect(0, &["imported bank_0", "imported bank_1"]);
    let args = ["--tables=2", "--max-ops=200", "--concurrency=4"];
    let ran = place.workload("run", &args).expect(0, &[]);
    let output = tables(&ran);
    assert_eq!(output.totals["transfer"].count, 200);
    assert_eq!(output.result.unwrap().errors, 0);
    let moved = "SELECT count(*) > 0 FROM bank_1 WHERE balance <> 0";
    assert_eq!(place.db.value(moved), "t");
    let ends = "SELECT min(id), max(id), max(length(payload)) FROM bank_0";
    assert_eq!(place.db.value(ends), "0|49|7");
    place.workload("check", &["--tables=2"]).expect(
        0,
        &["all 50 accounts in each of 2 tables, and their balances add up to 0"],
    );
    place
        .db
        .sql("UPDATE bank_1 SET balance = balance + 5 WHERE id = 3");
    place.workload("check", &["--tables=2"]).expect(
        1,
        &[
            "Error: the balances of bank_1 add up to 5, not to 0",
            "workload init bank --drop",
        ],
    );
    place.db.sql("DELETE FROM bank_0 WHERE id = 3");
    place
        .workload("check", &["--tables=2"])
        .expect(1, &["bank_0 has 49 accounts, not the 50 that were loaded"]);
    place
        .workload("run", &["--tables=2", "--rows=9", "--ranges=3"])
        .expect(1, &["loaded with rows = 50, not 9", "leave out the flag"]);
}

#[test]
fn a_run_is_served_for_prometheus_and_written_in_openmetrics() {
    let place = Place::new("workload_metrics", "bank");
    place.workload("init", &[]).expect(0, &[]);
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("h.om");
    let mut command = pgdyno(&["workload", "run", "bank", "--db", place.name]);
    let mut child = command
        .args(["--max-rate=200", "--duration=3s", "--prometheus-port=0"])
        .args([
            "--histogram-export-format=openmetrics",
            "--openmetrics-labels=a=b",
        ])
        .arg(format!("--histograms={}", file.display()))
        .arg(&place.db.url)
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut remarks = BufReader::new(child.stderr.take().unwrap()).lines();
    let at = remarks.find_map(|line| {
        let line = line.unwrap();
        let (_, at) = line.split_once("metrics at http://")?;
        Some(at.strip_suffix("/metrics").unwrap().to_owned())
    });
    // A row of ticks is printed when a second is over.
    let mut rows = BufReader::new(child.stdout.take().unwrap()).lines();
    rows.find(|row| row.as_ref().unwrap().ends_with(" transfer"))
        .unwrap()
        .unwrap();
    let mut server = TcpStream::connect(at.unwrap()).unwrap();
    server.write_all(b"GET /metrics HTTP/1.0\r\n\r\n").unwrap();
    let mut page = String::new();
    server.read_to_string(&mut page).unwrap();
    let name = "workload_bank_transfer_duration_seconds";
    assert!(
        page.contains(&format!("# TYPE {name} histogram\n")),
        "{page}"
    );
    let count = page
        .lines()
        .find_map(|line| line.strip_prefix(&format!("{name}_count ")));
    assert!(count.unwrap().parse::<u64>().unwrap() > 50, "{page}");
    rows.for_each(drop);
    assert!(child.wait().unwrap().success());
    let text = std::fs::read_to_string(&file).unwrap();
    assert!(text.starts_with("# TYPE transfer summary\ntransfer{a=\"b\",quantile=\"0.5\"} "));
    assert!(text.ends_with("\n# EOF\n"), "{text}");
    let counts = text
        .lines()
        .filter_map(|line| line.strip_prefix("transfer_count{a=\"b\"} "));
    let counts = counts.map(|rest| rest.split(' ').next().unwrap().parse::<u64>().unwrap());
    assert!(counts.sum::<u64>() > 400);
}

#[test]
fn other_workloads_are_named_with_what_to_use_instead() {
    ran(&mut pgdyno(&["workload", "run", "tpch"])).expect(
        1,
        &[
            "Error: unknown command \"tpch\"",
            "HINT: instead of tpch: queries of a file: pgdyno run",
        ],
    );
    let nowhere = "postgres://root@127.0.0.1:1?sslmode=disable";
    let failed = ran(&mut pgdyno(&["workload", "init", "kv", nowhere]))
        .expect(1, &["HINT: name a server by its URL behind the flags"]);
    assert!(!failed.stderr.contains("PGHOST") && !failed.stderr.contains("--url"));
}

#[test]
fn kv_reads_the_rows_that_init_has_loaded() {
    for (name, keys, first) in [
        ("workload_kv_loaded", &["--seed=41"][..], "R"),
        ("workload_kv_loaded_in_order", &["--sequential"], "S"),
    ] {
        let place = Place::new(name, "kv");
        let init = [keys, &["--insert-count=200", "--data-loader=AUTO"]].concat();
        place.workload("init", &init).expect(0, &["200 rows)"]);
        for written in [200, 150] {
            let seq = format!("--write-seq={first}{written}");
            let run = [keys, &["--read-percent=100", "--max-ops=300", &seq]].concat();
            let ran = place
                .workload("run", &run)
                .expect(0, &["Highest sequence written"]);
            assert!(!ran.stdout.contains("any results"), "{ran:#?}");
        }
        let seq = format!("--write-seq={first}400");
        let run = [keys, &["--read-percent=100", "--max-ops=300", &seq]].concat();
        place
            .workload("run", &run)
            .expect(0, &["reads that didn't return any results: "]);
    }
}

#[test]
fn several_clients_insert_into_ranges_of_their_own() {
    let place = Place::new("workload_ranges", "ycsb");
    place
        .workload("init", &["--insert-count=500", "--data-loader=IMPORT"])
        .expect(
            0,
            &["--data-loader=IMPORT: rows are loaded by COPY", "500 rows)"],
        );
    for (start, record) in [("1000", "1500"), ("2000", "2500")] {
        let (start, record) = (
            format!("--insert-start={start}"),
            format!("--record-count={record}"),
        );
        let run = [
            "--workload=D",
            &start,
            "--insert-count=500",
            &record,
            "--max-ops=300",
        ];
        place.workload("run", &run).expect(0, &["__result"]);
    }
    place
        .workload(
            "run",
            &[
                "--workload=D",
                "--insert-start=100",
                "--insert-count=100",
                "--max-ops=9",
            ],
        )
        .expect(1, &["would insert keys that are loaded"]);
}

#[test]
fn fixtures_point_to_init() {
    let ran = ran(&mut pgdyno(&[
        "workload",
        "fixtures",
        "import",
        "tpcc",
        "--warehouses=3",
    ]));
    ran.expect(1, &["unknown command", "workload init tpcc --warehouses=3"]);
}
