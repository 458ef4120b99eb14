//! Notebooks of many trials: how long lists, comparisons and pages of them take, in how much memory
//! (docs/internals/reliability.md, "Size"). `make test-long PART=size`, a release build; on a machine that does something else
//! times are longer, so that only twice the promised time fails.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

use crate::support::{Database, connect, rows, sql};
use pgdyno_testkit::status_kib;

const TRIALS: usize = 10_000;
const TRIALS_ON_SERVER: usize = 100_000;
const TRIALS_OF_EXPERIMENT: usize = 1000;
/// The best of so many runs is what it takes.
const RUNS: usize = 3;

struct Took {
    wall: Duration,
    peak_mib: u64,
    output_bytes: u64,
}

/// What is promised of it.
struct Goal {
    s: f64,
    mib: Option<u64>,
    page_mb: Option<f64>,
}

const NO_GOAL: Goal = Goal {
    s: f64::INFINITY,
    mib: None,
    page_mb: None,
};

fn run(args: &[&str], store: &str, dir: &Path) -> Took {
    let output = dir.join("output.txt");
    let file = fs::File::create(&output).unwrap();
    let mut command = Command::new(env!("CARGO_BIN_EXE_pgdyno"));
    command.args(args).args(["--store", store]).current_dir(dir);
    command
        .stdin(Stdio::null())
        .stdout(file)
        .stderr(Stdio::inherit());
    let began = Instant::now();
    let mut child = command.spawn().unwrap();
    let mut peak_kib = 0;
    let status = loop {
        peak_kib = status_kib(child.id(), "VmHWM").unwrap_or(peak_kib);
        match child.try_wait().unwrap() {
            Some(status) => break status,
            None => sleep(Duration::from_millis(2)),
        }
    };
    let wall = began.elapsed();
    assert!(status.success(), "{args:?}: {status}");
    Took {
        wall,
        peak_mib: peak_kib / 1024,
        output_bytes: fs::metadata(output).unwrap().len(),
    }
}

/// Runs it several times, prints a row of the table, and gives what is wrong.
fn measure(
    args: &[&str],
    store: &str,
    dir: &Path,
    page: Option<&str>,
    goal: &Goal,
) -> Option<String> {
    let mut all: Vec<Took> = (0..RUNS).map(|_| run(args, store, dir)).collect();
    all.sort_by_key(|took| took.wall);
    let best = &all[0];
    let bytes = page.map_or(best.output_bytes, |page| {
        fs::metadata(dir.join(page)).unwrap().len()
    });
    let (s, mib, mb) = (best.wall.as_secs_f64(), best.peak_mib, bytes as f64 / 1e6);
    println!(
        "| `pgdyno {}` | {s:.2} s | {mib} MiB | {mb:.2} MB |",
        args.join(" ")
    );
    let missed = s > 2.0 * goal.s
        || goal.mib.is_some_and(|most| mib > most)
        || goal.page_mb.is_some_and(|most| mb > most);
    missed.then(|| format!("{args:?}: {s:.2} s, {mib} MiB, {mb:.2} MB"))
}

/// Two trials of ten seconds with all that instruments see, in a notebook.
fn trials(store: &str, database: &Database) {
    for _ in 0..2 {
        let ran = database.pgdyno(&[
            "run",
            "select-only",
            "-T",
            "10",
            "-c",
            "4",
            "--store",
            store,
        ]);
        assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    }
}

#[test]
#[ignore = "minutes, and a gigabyte of disk: make test-long PART=size"]
fn a_file_of_ten_thousand_trials() {
    let database = Database::new("size_file");
    let dir = tempfile::tempdir().unwrap();
    let path = |name: &str| dir.path().join(name).to_str().unwrap().to_owned();
    let (small, large) = (path("small.sqlite"), path("large.sqlite"));
    trials(&small, &database);
    let script = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../scripts/large-notebook");
    let made = Command::new("python3")
        .arg(script)
        .args([&small, &large, &TRIALS.to_string()])
        .status();
    assert!(made.unwrap().success());
    println!(
        "{TRIALS} trials in a file, {:.1} GB",
        fs::metadata(&large).unwrap().len() as f64 / 1e9
    );
    let all = format!("1-{TRIALS}");
    let list = Goal { s: 0.1, ..NO_GOAL };
    let compare = Goal {
        s: 3.0,
        mib: Some(256),
        ..NO_GOAL
    };
    let page = Goal {
        mib: Some(256),
        page_mb: Some(5.0),
        ..NO_GOAL
    };
    let (a, b) = ("tag:a", "tag:b");
    let wrong = [
        measure(&["ls"], &large, dir.path(), None, &list),
        measure(&["ls", "--limit", "0"], &large, dir.path(), None, &list),
        measure(&["compare", a, b], &large, dir.path(), None, &compare),
        measure(
            &["compare", a, b, "--html", "compare.html"],
            &large,
            dir.path(),
            Some("compare.html"),
            &page,
        ),
        measure(
            &["report", &all, "-o", "report.html", "--force"],
            &large,
            dir.path(),
            Some("report.html"),
            &page,
        ),
    ];
    opens_soon(&["compare.html", "report.html"], dir.path());
    let wrong: Vec<String> = wrong.into_iter().flatten().collect();
    assert!(wrong.is_empty(), "{wrong:#?}");
}

/// In Chromium, from the request to the frame that has all that is in sight.
fn opens_soon(pages: &[&str], dir: &Path) {
    let chromium = std::env::var("PGDYNO_CHROMIUM").unwrap_or("/usr/bin/chromium".to_owned());
    let web = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../web");
    if !Path::new(&chromium).exists() || !web.join("node_modules").exists() {
        pgdyno_testkit::record_skip(
            "how long pages take to open",
            "Chromium or web/node_modules is not there",
        );
        return;
    }
    for page in pages {
        let mut node = Command::new("node");
        node.arg("tests/open.mjs")
            .arg(dir.join(page))
            .current_dir(&web);
        let output = node.output().unwrap();
        let ms = String::from_utf8_lossy(&output.stdout)
            .trim()
            .parse::<f64>();
        let ms = ms.unwrap_or_else(|_| panic!("{}", String::from_utf8_lossy(&output.stderr)));
        println!("{page} opens in {:.1} s", ms / 1e3);
        assert!(ms < 2.0 * 3000.0, "{page}: {ms} ms");
    }
}

/// Columns of a table that are written, not made of others.
fn columns(url: &str, table: &str) -> Vec<String> {
    let query = format!(
        "SELECT column_name FROM information_schema.columns WHERE table_name = '{table}' \
         AND table_schema = 'public' AND is_generated = 'NEVER' ORDER BY ordinal_position"
    );
    rows(&mut connect(url), &query)
}

/// Adds copies of trial 1 to a notebook on a server, numbered from `first`; all its rows or those of these tables.
fn multiply(url: &str, tables: &[String], first: usize, count: usize, experiment: Option<usize>) {
    for table in tables {
        let names = columns(url, table);
        let value = |name: &String| match name.as_str() {
            "trial" => "n".to_owned(),
            "number" if table == "trial_begun" => "n".to_owned(),
            "uuid" => "gen_random_uuid()::text".to_owned(),
            "created" | "started" | "ended" => format!(
                "to_char({name}::timestamptz AT TIME ZONE 'UTC' - n * interval '1 minute', \
                 'YYYY-MM-DD\"T\"HH24:MI:SS.US\"Z\"')"
            ),
            "experiment" => experiment.map_or("experiment".to_owned(), |number| number.to_string()),
            "position" if experiment.is_some() => "n".to_owned(),
            other => other.to_owned(),
        };
        let values: Vec<String> = names.iter().map(value).collect();
        let key = if table == "trial_begun" {
            "number"
        } else {
            "trial"
        };
        sql(
            url,
            &format!(
                "INSERT INTO {table} ({}) SELECT {} FROM {table}, generate_series({first}, {}) n WHERE {key} = 1",
                names.join(", "),
                values.join(", "),
                first + count - 1
            ),
        );
    }
}

#[test]
#[ignore = "minutes: make test-long PART=size"]
fn a_server_of_a_hundred_thousand_trials() {
    let database = Database::new("size_measured");
    let notes = Database::new("size_notes");
    let dir = tempfile::tempdir().unwrap();
    let made = crate::support::ran(
        crate::support::pgdyno(&["store", "init", &notes.url]).stdin(Stdio::null()),
    );
    assert_eq!(made.code, Some(0), "{}", made.stderr);
    // An experiment, so that trial 1 has a place in one.
    let file = dir.path().join("big.toml");
    let sweep = "name = 'big'\nworkload = 'select-only'\nduration = '5s'\nclients = [1, 2]\n";
    fs::write(&file, sweep).unwrap();
    let sweep = ["sweep", file.to_str().unwrap()];
    let ran = database.pgdyno(&[&sweep[..], &["--store", &notes.url]].concat());
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    let parts = rows(
        &mut connect(&notes.url),
        "SELECT table_name FROM information_schema.columns JOIN information_schema.tables \
         USING (table_schema, table_name) WHERE table_schema = 'public' AND column_name = 'trial' \
         AND table_type = 'BASE TABLE' AND table_name <> 'part' ORDER BY table_name <> 'trial_ended', table_name",
    );
    let all: Vec<String> = ["trial_begun".to_owned()]
        .into_iter()
        .chain(parts)
        .collect();
    multiply(&notes.url, &all, 3, TRIALS_OF_EXPERIMENT - 2, Some(1));
    let rest = TRIALS_OF_EXPERIMENT + 1;
    multiply(
        &notes.url,
        &all[..2],
        rest,
        TRIALS_ON_SERVER - TRIALS_OF_EXPERIMENT,
        None,
    );
    sql(
        &notes.url,
        &format!("UPDATE trial_begun SET experiment = NULL WHERE number >= {rest}"),
    );
    sql(&notes.url, "ANALYZE");
    println!("{TRIALS_ON_SERVER} trials on a server");
    let list = Goal { s: 0.3, ..NO_GOAL };
    let opened = Goal { s: 2.0, ..NO_GOAL };
    let store = &notes.url;
    let wrong = [
        measure(&["ls"], store, dir.path(), None, &list),
        measure(&["ls", "--limit", "0"], store, dir.path(), None, &NO_GOAL),
        measure(
            &["show", "--experiment", "big"],
            store,
            dir.path(),
            None,
            &opened,
        ),
        measure(
            &[
                "report",
                "big",
                "--without-trials",
                "-o",
                "big.html",
                "--force",
            ],
            store,
            dir.path(),
            Some("big.html"),
            &opened,
        ),
    ];
    let wrong: Vec<String> = wrong.into_iter().flatten().collect();
    assert!(wrong.is_empty(), "{wrong:#?}");
}
