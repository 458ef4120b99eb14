//! `pgdyno workload`: cockroach's command line and output, on a real PostgreSQL.

mod generators;
mod hints;
mod node;
mod others;
mod output;
mod tpcc;

use std::fs;
use std::io::{BufRead, BufReader};
use std::process::{Command, Stdio};
use std::time::Instant;

use pgdyno_platform::child::{Signal, send_signal};
use serde_json::Value;

use crate::support::{Database, Ran, pgdyno, ran};
use output::read;

/// What cockroach 19.1 printed in 20 s of mix B.
const CAPTURED: &str = include_str!("captured-19.1.txt");

/// A database with a URL as this command takes it, named by `--db`.
struct Place {
    db: Database,
    name: &'static str,
}

impl Place {
    fn new(name: &'static str) -> Self {
        let db = Database::new(name);
        Self { db, name }
    }

    /// `pgdyno workload VERB ycsb ARGS` there.
    fn workload(&self, verb: &str, args: &[&str]) -> Ran {
        let mut command = pgdyno(&["workload", verb, "ycsb", "--db", self.name]);
        ran(command.args(args).arg(&self.db.url))
    }

    /// One with so many rows.
    fn loaded(name: &'static str, rows: &str) -> Self {
        let place = Self::new(name);
        place
            .workload("init", &["--insert-count", rows])
            .expect(0, &["imported usertable"]);
        place
    }
}

#[test]
fn twenty_ticks_are_read_as_cockroachs_are_and_their_sums_agree() {
    let captured = read(CAPTURED);
    assert_eq!(
        (captured.ticks.len(), &captured.headers_at),
        (40, &vec![0, 20])
    );
    captured.must_agree(0.01);

    let place = Place::loaded("workload_ticks", "1000");
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("h.json");
    let histograms = format!("--histograms={}", file.display());
    let ran = place
        .workload(
            "run",
            &[
                "--workload=A",
                "--concurrency=2",
                "--max-rate=300",
                "--duration=20s",
                &histograms,
            ],
        )
        .expect(0, &["from the schedule of --max-rate on"]);
    let ours = read(&ran.stdout);
    assert_eq!(
        (ours.ticks.len(), &ours.headers_at),
        (40, &captured.headers_at),
        "{ran:#?}"
    );
    ours.must_agree(0.01);
    let names: Vec<&str> = ours
        .ticks
        .iter()
        .map(|tick| tick.operation.as_str())
        .collect();
    assert!(
        names.chunks(2).all(|pair| pair == ["read", "update"]),
        "{names:?}"
    );
    assert_eq!(ours.ticks[39].elapsed, "20.0s");
    assert!((19.9..20.3).contains(&ours.result.as_ref().unwrap().elapsed_s));

    // Every operation is in the histogram file once, in the tick that it belongs to.
    let text = fs::read_to_string(&file).unwrap();
    for (name, total) in &ours.totals {
        let lines = text
            .lines()
            .map(|line| serde_json::from_str::<Value>(line).unwrap());
        let lines: Vec<Value> = lines.filter(|line| line["Name"] == name.as_str()).collect();
        // As many as there are ticks, and the rest.
        assert_eq!(lines.len(), 21);
        let count = |line: &Value| {
            let counts = line["Hist"]["Counts"].as_array().unwrap();
            counts
                .iter()
                .map(|count| count.as_u64().unwrap())
                .sum::<u64>()
        };
        assert_eq!(lines.iter().map(count).sum::<u64>(), total.count, "{name}");
        let rows = ours.ticks.iter().filter(|tick| tick.operation == *name);
        for (line, row) in lines.iter().zip(rows) {
            let seconds = line["Elapsed"].as_u64().unwrap() as f64 / 1e9;
            assert!(
                (count(line) as f64 / seconds - row.inst).abs() < 0.06,
                "{name} {row:?}"
            );
        }
        assert_eq!(lines[0]["Hist"]["SignificantFigures"], 3);
    }
}

#[test]
fn init_makes_the_database_and_check_finds_what_is_missing() {
    let server = Place::new("workload_beside");
    // The URL names no database that is there.
    let url = server.db.url.replace("/workload_beside", "");
    let name = "workload_made";
    let workload = |verb: &str, args: &[&str]| {
        ran(pgdyno(&["workload", verb, "ycsb", "--db", name])
            .args(args)
            .arg(&url))
    };
    workload("run", &["--duration=1s"]).expect(1, &["Error: ", "workload_made"]);
    workload("init", &["--insert-count=700"]).expect(0, &["imported usertable", "700 rows)"]);
    workload("init", &["--insert-count=700"]).expect(0, &["exist already"]);
    workload("check", &[]).expect(0, &["has all 700 rows that were loaded, and 0 more"]);
    let db = Database {
        url: server
            .db
            .url
            .replace("/workload_beside", &format!("/{name}")),
    };
    let key =
        db.value("SELECT ycsb_key FROM usertable WHERE ycsb_key = 'user15449794709565471098'");
    assert_eq!(key, "user15449794709565471098", "the key of number 1");
    db.sql(&format!(
        "UPDATE usertable SET field3 = NULL WHERE ycsb_key = '{key}'"
    ));
    workload("check", &[]).expect(
        1,
        &["0 are missing in usertable, and 1 have no value in some column"],
    );
    db.sql(&format!("DELETE FROM usertable WHERE ycsb_key = '{key}'"));
    workload("check", &[]).expect(
        1,
        &[
            "Error: of 700 loaded rows 1 are missing in usertable, and 0 have no value",
            "DETAIL: the first is key number 1, user15449794709565471098",
            "HINT: load it again",
        ],
    );
    workload(
        "init",
        &[
            "--insert-count=300",
            "--drop",
            "--data-loader=INSERT",
            "--init-conns=3",
        ],
    )
    .expect(0, &["300 rows)"]);
    workload("check", &[]).expect(0, &["has all 300 rows"]);
    workload("check", &["--insert-count=400"]).expect(1, &["Error: "]);
    workload("run", &["--insert-count=400", "--duration=1s"]).expect(1, &["Error: "]);
}

#[test]
fn the_first_error_ends_a_run_with_a_summary_unless_errors_are_tolerated() {
    let place = Place::loaded("workload_errors", "200");
    place.db.sql(
        "CREATE FUNCTION no() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE 'not today'; END $$; \
         CREATE TRIGGER no BEFORE UPDATE ON usertable FOR EACH ROW EXECUTE FUNCTION no()",
    );
    let begun = Instant::now();
    let args = ["--workload=A", "--concurrency=2", "--duration=30s"];
    let failed = place
        .workload("run", &args)
        .expect(1, &["Error: ", "not today", "__result"]);
    assert!(begun.elapsed().as_secs() < 20, "{failed:#?}");
    let args = [
        "--workload=A",
        "--concurrency=2",
        "--duration=1s",
        "--tolerate-errors",
    ];
    let ran = place.workload("run", &args).expect(0, &["not today"]);
    let output = read(&ran.stdout);
    assert!(output.result.unwrap().errors > 10, "{}", ran.stdout);
    // What failed is no operation, and no fast one above all.
    assert!(output.totals.contains_key("read") && !output.totals.contains_key("update"));
}

#[test]
fn the_forms_of_output_and_the_ends_of_a_run_are_cockroachs() {
    let place = Place::loaded("workload_forms", "200");
    let run = |args: &[&str]| place.workload("run", args).expect(0, &[]);
    let counted = run(&[
        "--max-ops=100",
        "--concurrency=4",
        "--duration=1m",
        "--workload=c",
    ]);
    assert_eq!(read(&counted.stdout).result.unwrap().count, 100);
    let ramp = run(&[
        "--ramp=1s",
        "--duration=2s",
        "--concurrency=1",
        "--max-rate=200",
        "--workload=C",
    ]);
    let output = read(&ramp.stdout);
    assert_eq!(output.headers_at, [0, 1], "{ramp:#?}");
    let elapsed: Vec<&str> = output
        .ticks
        .iter()
        .map(|tick| tick.elapsed.as_str())
        .collect();
    assert_eq!(elapsed, ["1.0s", "1.0s", "2.0s"]);
    let old = run(&[
        "--duration=1s",
        "--max-rate=200",
        "--display-format=simple-19.1",
        "--pprofport=1",
        "--concurrency=2",
    ]);
    assert_eq!(
        old.stderr.matches("--pprofport does nothing here").count(),
        1
    );
    let output = read(&old.stdout);
    assert_eq!(
        (output.ticks[0].elapsed.as_str(), output.totals.len()),
        ("1s", 2)
    );
    assert_eq!(old.stdout.matches("__total\n").count(), 1);
    let json = run(&[
        "--duration=1s",
        "--max-rate=200",
        "--display-format=incremental-json",
        "--workload=F",
    ]);
    let types: Vec<Value> = json
        .stdout
        .lines()
        .map(|line| serde_json::from_str::<Value>(line).unwrap()["type"].clone())
        .collect();
    assert_eq!(types, ["read", "readModifyWrite"]);
}

#[test]
fn ctrl_c_ends_a_run_without_end_with_its_totals() {
    let place = Place::loaded("workload_forever", "200");
    let mut command = pgdyno(&[
        "workload",
        "run",
        "ycsb",
        "--db",
        place.name,
        "--concurrency=1",
    ]);
    command
        .arg(&place.db.url)
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    // The header, and a row.
    let begin: Vec<String> = lines.by_ref().take(2).map(Result::unwrap).collect();
    assert!(begin[1].ends_with(" read"), "{begin:?}");
    send_signal(child.id(), Signal::Interrupt).unwrap();
    let rest: Vec<String> = lines.map(Result::unwrap).collect();
    assert_eq!(child.wait().unwrap().code(), Some(0));
    let output = read(&[begin, rest].concat().join("\n"));
    assert!(output.result.unwrap().count > 0);
}

#[test]
fn every_mix_and_form_runs_on_several_urls_and_is_kept() {
    let place = Place::loaded("workload_mixes", "300");
    let folder = tempfile::tempdir().unwrap();
    let store = crate::support::notebook::at(&folder.path().join("n.sqlite"));
    let store = format!("--store={}", store.display());
    for (args, operations) in [
        (&["--workload=D"][..], &["insert", "read"][..]),
        (
            &["--workload=E", "--max-scan-length=10"],
            &["insert", "scan"],
        ),
        (
            &[
                "--workload=F",
                "--read-modify-write-in-txn",
                "--isolation-level=repeatable_read",
            ],
            &["read", "readModifyWrite"],
        ),
        (
            &[
                "--workload=custom",
                "--read-freq=0.5",
                "--insert-freq=0.5",
                "--method=simple",
            ],
            &["insert", "read"],
        ),
        (
            &[
                "--request-distribution=uniform",
                "--method=noprepare",
                "--families=true",
            ],
            &["read", "update"],
        ),
    ] {
        let mut all = vec!["--max-ops=300", "--concurrency=3", &store, &place.db.url];
        all.extend(args);
        let ran = place.workload("run", &all).expect(0, &["kept as trial"]);
        let output = read(&ran.stdout);
        assert!(output.totals.keys().eq(operations), "{args:?} {ran:#?}");
        assert_eq!(output.result.unwrap().errors, 0, "{args:?} {ran:#?}");
        if args.contains(&"--families=true") {
            assert!(
                ran.stderr.contains("--families does nothing here"),
                "{ran:#?}"
            );
        }
    }
    let mut ls = pgdyno(&["ls"]);
    ran(ls.arg(&store)).expect(0, &["ycsb"]);
    place
        .workload("check", &[])
        .expect(0, &["has all 300 rows that were loaded"]);
}

#[test]
fn a_wrong_command_line_fails_as_cockroachs_does() {
    let workload = |args: &[&str]| ran(pgdyno(&["workload"]).args(args));
    let wrong = workload(&["run", "ycsb", "--bogus"]).expect(1, &[]);
    assert!(wrong.stdout.is_empty());
    assert!(
        wrong
            .stderr
            .starts_with("Usage:\n  pgdyno workload run ycsb [flags]")
            && wrong.stderr.ends_with(
                "\n\nError: unknown flag: --bogus\nFailed running \"workload run ycsb\"\n"
            ),
        "{wrong:#?}"
    );
    for (args, said) in [
        (
            &["run", "nosuch"][..],
            "Error: unknown command \"nosuch\" for \"pgdyno workload run\"\nHINT: the workloads \
             that pgdyno has here are bank, conflict, connectionlatency, indexes, insights, kv, ledger, movr, querybench, queue, tpcc, ycsb\nFailed running \"workload run\"\n",
        ),
        (
            &["walk"],
            "Error: unknown command \"walk\" for \"pgdyno workload\"\nFailed running \"workload\"\n",
        ),
        (
            &["run", "ycsb", "--workload=Z"],
            "Error: could not validate: Unknown workload: \"Z\"\n",
        ),
        (
            &["run", "ycsb", "--workload=CUSTOM"],
            "Error: could not validate: Custom workload frequencies do not sum to 1.0\n",
        ),
        (
            &["run", "ycsb", "--read-freq=1"],
            "Error: could not validate: Custom workload frequencies set with non-custom workload\n",
        ),
        (
            &["init", "ycsb", "--insert-count=10", "--record-count=5"],
            "Error: could not validate: insertStart + insertCount (10) must be <= recordCount (5)\n",
        ),
        (
            &["run", "ycsb", "postgres://x/abc"],
            "Error: postgres://x/abc specifies database \"abc\", but database \"ycsb\" is expected\n",
        ),
        (
            &["run", "ycsb", "--display-format=xml"],
            "Error: unknown display format: xml\n",
        ),
        (
            &["run", "ycsb", "--json"],
            "Error: --json cannot be had: pgdyno's usertable has a column for each field, and no \
             JSONB\n",
        ),
        (
            &["run", "ycsb", "--concurrency=0"],
            "Error: --concurrency must be at least 1\n",
        ),
        (
            &["init", "ycsb", "--data-loader=x"],
            "Error: unknown data loader: x; it is COPY, INSERT, or AUTO and IMPORT, which are COPY here\n",
        ),
        (
            &["run", "ycsb", "--histograms=/proc/none/h"],
            "Error: --histograms: could not create /proc/none/h: ",
        ),
    ] {
        let ran = workload(args);
        assert_eq!(ran.code, Some(1), "{args:?} {ran:#?}");
        assert!(
            ran.stderr.starts_with(said) && ran.stdout.is_empty(),
            "{args:?} {ran:#?}"
        );
    }
    workload(&["run", "ycsb", "postgres://root@127.0.0.1:1?sslmode=disable"])
        .expect(1, &["Error: ", "127.0.0.1"]);
    let place = Place::new("workload_empty");
    place.workload("run", &["--duration=1s"]).expect(
        1,
        &["Error: relation \"usertable\" does not exist\nHINT: make and fill it: workload init ycsb"],
    );
}

#[test]
fn help_is_cobras_also_under_the_programs_own_name() {
    let folder = tempfile::tempdir().unwrap();
    let program = folder.path().join("workload");
    std::os::unix::fs::symlink(env!("CARGO_BIN_EXE_pgdyno"), &program).unwrap();
    let called = |args: &[&str]| ran(Command::new(&program).args(args));
    let help = called(&["run", "ycsb", "--help"]).expect(0, &[]);
    assert!(
        help.stdout
            .contains("\n\nUsage:\n  workload run ycsb [flags] [URL...]\n\nFlags:\n")
    );
    assert!(
        help.stdout.contains("      --duration duration "),
        "{}",
        help.stdout
    );
    assert!(help.stderr.is_empty());
    assert!(
        called(&["--help"])
            .expect(0, &[])
            .stdout
            .contains("\n  check ")
    );
    assert!(
        called(&["init", "-h"])
            .expect(0, &[])
            .stdout
            .contains("\n  ycsb ")
    );
    // Nothing asked for is nothing wrong, and no answer.
    let nothing = called(&[]).expect(0, &["Usage:\n  workload [command]\n"]);
    assert!(nothing.stdout.is_empty());
    assert!(
        called(&["run"])
            .expect(0, &["Usage:\n  workload run [command]\n"])
            .stdout
            .is_empty()
    );
    called(&["run", "ycsb", "--duration=5"]).expect(1, &["missing unit in duration \"5\""]);
}
