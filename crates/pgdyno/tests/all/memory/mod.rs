//! What pgdyno takes of the memory: little for long scripts, no more for long runs than for short ones,
//! and never all of it.

use std::fmt::Write;
use std::fs;
use std::process::{Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use crate::support::{Database, pgdyno, ran};
use pgdyno_testkit::status_kib;

/// Often enough for the peak at a run's end, when everything is added up and written.
const LOOK_EVERY: Duration = Duration::from_millis(2);

/// So many SELECTs, of which each transaction executes ten or fewer that it draws.
fn script(statements: usize) -> String {
    let mut text = format!("\\set i random(0, {})\n", statements - 1);
    branch(&mut text, 0, statements);
    text
}

fn branch(text: &mut String, from: usize, to: usize) {
    if to - from <= 10 {
        (from..to).for_each(|i| writeln!(text, "SELECT {i};").unwrap());
        return;
    }
    let middle = usize::midpoint(from, to);
    writeln!(text, "\\if :i < {middle}").unwrap();
    branch(text, from, middle);
    writeln!(text, "\\else").unwrap();
    branch(text, middle, to);
    writeln!(text, "\\endif").unwrap();
}

/// Runs it to its end, which must be a good one; gives the most memory that it ever had, in MiB.
#[track_caller]
fn peak_mib(command: &mut Command) -> u64 {
    let mut child = command
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let mut peak_kib = 0;
    let status = loop {
        peak_kib = status_kib(child.id(), "VmHWM").unwrap_or(peak_kib);
        if let Some(status) = child.try_wait().unwrap() {
            break status;
        }
        thread::sleep(LOOK_EVERY);
    };
    assert_eq!(status.code(), Some(0), "{command:?}");
    assert!(peak_kib > 0);
    peak_kib >> 10
}

#[test]
fn ten_thousand_statements_on_32_threads_take_no_more_than_256_mib() {
    let db = Database::new("memory_native");
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("long.sql");
    fs::write(&file, script(10_000)).unwrap();
    let (file, store) = (file.to_str().unwrap(), dir.path().join("store"));
    let store = store.to_str().unwrap();
    let words = [
        "run", file, "-c32", "-j32", "-t100", "--url", &db.url, "--store", store,
    ];
    let peak_mib = peak_mib(&mut pgdyno(&words));
    assert!(peak_mib <= 256, "{peak_mib} MiB");
    let shown = ran(&mut pgdyno(&["show", "1", "--json", "--store", store])).expect(0, &[]);
    let shown: serde_json::Value = serde_json::from_str(&shown.stdout).unwrap();
    let commands = shown["statements"][0]["commands"].as_array().unwrap();
    let executions = |c: &serde_json::Value| c["latency"]["count"].as_u64().unwrap_or(0);
    let executed = commands.iter().filter(|c| executions(c) > 0).count();
    assert!(executed > 8000, "{executed} of {} commands", commands.len());
}

#[test]
fn a_thousand_statements_on_8_threads_of_pgbench_take_no_more_than_48_mib() {
    let db = Database::new("memory_pgbench");
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("long.sql");
    fs::write(&file, script(1000)).unwrap();
    let words = [
        "pgbench",
        "-n",
        "-r",
        "-f",
        file.to_str().unwrap(),
        "-c8",
        "-j8",
        "-t500",
    ];
    let peak_mib = peak_mib(pgdyno(&words).arg(&db.url));
    assert!(peak_mib <= 48, "{peak_mib} MiB");
}

#[test]
fn a_script_without_end_is_refused_before_it_has_the_memory() {
    for words in [
        &["run", "/dev/zero", "--url", "postgres://nowhere.invalid/x"] as &[&str],
        &[
            "pgbench",
            "-n",
            "-f",
            "/dev/zero",
            "postgres://nowhere.invalid/x",
        ],
    ] {
        let said = ran(&mut pgdyno(words)).expect(1, &["\"/dev/zero\": it is longer than"]);
        assert_eq!(said.stdout, "");
    }
    // A pipe that is never closed.
    let mut endless = Command::new("yes").stdout(Stdio::piped()).spawn().unwrap();
    let pipe = endless.stdout.take().unwrap();
    let words = ["run", "-", "--url", "postgres://nowhere.invalid/x"];
    ran(pgdyno(&words).stdin(pipe)).expect(1, &["\"-\": it is longer than 16 MiB"]);
    endless.wait().unwrap();
}

/// Two KiB a second, and a second's figures are six: the histograms of the whole run take a page for a
/// latency that no transaction had before, up to 92 KB each. A busy machine has more of those; 740 KiB
/// were seen beside a build.
const GROWTH_KIB_MAX: u64 = 1050;

#[test]
#[ignore = "ten minutes: make test-long PART=memory"]
fn a_run_at_a_rate_hardly_grows_after_its_first_minute() {
    let db = Database::new("memory_flat");
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("one.sql");
    fs::write(&file, "SELECT 1;\n").unwrap();
    let (file, store) = (file.to_str().unwrap(), dir.path().join("store"));
    let store = store.to_str().unwrap();
    let words = [
        "run", file, "-c4", "-j2", "-R2000", "-T600", "--url", &db.url, "--store", store,
    ];
    let mut child = pgdyno(&words)
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let begun = Instant::now();
    let resident_kib = |at: Duration| {
        thread::sleep(at.saturating_sub(begun.elapsed()));
        status_kib(child.id(), "VmRSS").unwrap()
    };
    let (from_s, to_s) = (65, 590);
    let early = resident_kib(Duration::from_secs(from_s));
    let late = resident_kib(Duration::from_secs(to_s));
    println!("{early} KiB after a minute, {late} KiB after ten");
    assert_eq!(child.wait().unwrap().code(), Some(0));
    assert!(late <= early + GROWTH_KIB_MAX, "{early} KiB, {late} KiB");
}
