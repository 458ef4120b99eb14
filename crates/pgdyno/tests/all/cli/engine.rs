//! How pgdyno drives its clients, and whether it was the bottleneck itself.

use std::process::{Child, Command, Stdio};

use pgdyno_platform::io::Uring;
use serde_json::Value;

use crate::support::*;

/// Programs that take a CPU and do not give it back.
struct Burners(Vec<Child>);

impl Burners {
    fn on(cpu: &str, count: usize) -> Self {
        let burner = |_| {
            let mut command = Command::new("taskset");
            command.args(["-c", cpu, "sh", "-c", "while :; do :; done"]);
            command.stdin(Stdio::null()).stdout(Stdio::null());
            pgdyno_platform::child::die_with_parent(
                &mut command,
                pgdyno_platform::child::Signal::Kill,
            );
            command.spawn().expect("taskset")
        };
        Self((0..count).map(burner).collect())
    }
}

impl Drop for Burners {
    fn drop(&mut self) {
        for child in &mut self.0 {
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

/// The first CPU that this process may use.
fn a_cpu() -> String {
    let status = std::fs::read_to_string("/proc/self/status").expect("proc");
    let list = status
        .lines()
        .find_map(|line| line.strip_prefix("Cpus_allowed_list:"))
        .expect("a list of CPUs");
    let first = list.trim().split([',', '-']).next();
    first.expect("a CPU").to_owned()
}

fn json(ran: &Ran) -> Value {
    serde_json::from_str(&ran.stdout).unwrap_or_else(|e| panic!("{e}: {ran:?}"))
}

fn codes(result: &Value) -> Vec<&str> {
    let notes = result["notes"].as_array().expect("notes");
    notes
        .iter()
        .filter_map(|note| note["code"].as_str())
        .collect()
}

#[test]
fn a_trial_whose_client_is_starved_of_cpu_is_client_bound_and_one_that_is_not_is_not() {
    if Command::new("taskset").arg("-V").output().is_err() {
        pgdyno_testkit::skip!(
            "a_trial_whose_client_is_starved_of_cpu_is_client_bound_and_one_that_is_not_is_not",
            "no taskset, with which CPUs are taken away"
        );
    }
    let database = Database::new("client_bound");
    let args = ["run", "select-only", "--json", "--quiet", "-j", "1"];
    // A few transactions now and then: a CPU that is busy otherwise has time for those.
    let idle = database.pgdyno(&[&args[..], &["-T", "2", "--rate", "4"]].concat());
    assert!(
        !codes(&json(&idle)).contains(&"client-bound"),
        "{}",
        idle.stdout
    );
    let cpu = a_cpu();
    let burners = Burners::on(&cpu, 6);
    let pgdyno = pgdyno(&[]);
    let mut starved = Command::new("taskset");
    starved.args(["-c", &cpu, "nice", "-n", "10"]);
    starved.arg(pgdyno.get_program());
    for (name, value) in pgdyno.get_envs() {
        match value {
            Some(value) => starved.env(name, value),
            None => starved.env_remove(name),
        };
    }
    starved
        .args(args)
        .args(["-T", "2", "-c", "8", "--url", &database.url]);
    let starved = ran(&mut starved);
    drop(burners);
    let result = json(&starved);
    assert!(
        codes(&result).contains(&"client-bound"),
        "{}",
        starved.stdout
    );
    let thread = &result["client_cpu"]["threads"][0];
    let waited_us = thread["waited_us"].as_u64().expect("a number");
    assert!(waited_us > 500_000, "{thread}");
}

#[test]
fn the_result_says_how_sockets_were_waited_for() {
    let database = Database::new("engine_io");
    let io = |more: &[&str]| {
        let args = ["run", "select-only", "--json", "-t", "1"];
        let result = json(&database.pgdyno(&[&args[..], more].concat()));
        result["client_cpu"]["io"]
            .as_str()
            .expect("a name")
            .to_owned()
    };
    assert_eq!(io(&["--io=epoll"]), "epoll");
    let by_default = match Uring::probe() {
        Ok(()) => "io_uring",
        Err(_) => "epoll",
    };
    assert_eq!(io(&["-c", "40", "-j", "1"]), by_default);
    assert_eq!(io(&["-c", "2", "-j", "2"]), "epoll");
    let mut by_environment = pgdyno(&[
        "run",
        "select-only",
        "-v",
        "-t",
        "1",
        "--url",
        &database.url,
    ]);
    let summary = ran(by_environment.env("PGDYNO_IO", "epoll"));
    assert!(summary.stdout.contains(" epoll\n"), "{}", summary.stdout);
    let mut wrong = pgdyno(&["run", "select-only", "-t", "1", "--url", &database.url]);
    let wrong = ran(wrong.env("PGDYNO_IO", "kqueue"));
    assert!(
        wrong.stderr.contains("PGDYNO_IO: \"kqueue\""),
        "{}",
        wrong.stderr
    );
    let wrong = database.pgdyno(&["run", "select-only", "--io", "select"]);
    assert!(
        wrong.stderr.contains("auto, uring, epoll"),
        "{}",
        wrong.stderr
    );
}

#[test]
fn pinned_threads_and_their_cpus_are_in_the_result_and_in_the_notebook() {
    let database = Database::new("engine_pin");
    let dir = tempfile::tempdir().unwrap();
    let store = crate::support::notebook::at(&dir.path().join("store"));
    let store = store.display().to_string();
    let run = [
        "run",
        "select-only",
        "-t",
        "1",
        "-j",
        "1",
        "--store",
        &store,
    ];
    let pinned = database.pgdyno(&[&run[..], &["--pin", "-v"]].concat());
    let shown = json(&ran(&mut pgdyno(&[
        "show", "1", "--json", "--store", &store,
    ])));
    let cpus = &shown["client_cpu"]["pinned_cpus"];
    pinned.expect(0, &[&format!("pinned to CPU {}", cpus[0])]);
    let free = json(&database.pgdyno(&[&run[..], &["--json"]].concat()));
    assert!(free["client_cpu"]["pinned_cpus"].is_null());
}

#[test]
fn more_threads_than_cpus_cannot_be_pinned() {
    let many = ["run", "select-only", "-c", "4096", "-j", "4096", "--pin"];
    ran(&mut pgdyno(&many)).expect(2, &["4096 threads have", "leave --pin out"]);
}
