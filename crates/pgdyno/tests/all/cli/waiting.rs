//! What pgdyno waits for, and what ends that: signals, limits. Tables are locked by another session,
//! or the server goes silent.

use std::time::{Duration, Instant};

use pgdyno_platform::child::Signal;
use pgdyno_testkit::{Passes, StallingProxy, postgres};

use crate::child::{Running, wait_until};
use crate::support::{Database, Ran, connect, pgdyno, ran};

/// What a first signal may take: a second for what is under way, another to have it cancelled, and some
/// for a busy machine.
const FIRST: Duration = Duration::from_secs(4);

/// Sends a signal; how the program ended, and how long that took.
fn signalled(running: Running, signal: Signal) -> (Ran, Duration) {
    let began = Instant::now();
    running.signal(signal);
    let ran = running.ended();
    (ran, began.elapsed())
}

fn code_of(signal: Signal) -> i32 {
    match signal {
        Signal::Terminate => 143,
        _ => 130,
    }
}

/// A file that sweeps one trial.
fn experiment(folder: &tempfile::TempDir) -> String {
    let file = folder.path().join("e.toml");
    std::fs::write(&file, "workload = 'tpcb'\nduration = '1s'\n").unwrap();
    file.display().to_string()
}

fn proxy(passes: Passes) -> StallingProxy {
    StallingProxy::start(&postgres().address().socket_path(), passes)
}

const WAITS: &str = "SELECT 1 FROM pg_stat_activity WHERE datname = current_database() \
    AND wait_event_type = 'Lock'";

#[test]
fn a_signal_ends_what_waits_for_a_locked_table_and_cancels_it() {
    let db = Database::new("waits_for_lock");
    db.pgdyno(&["load", "tpcb"]).expect(0, &[]);
    let mut holder = connect(&db.url);
    let lock = "BEGIN; LOCK TABLE pgbench_accounts, pgbench_branches";
    holder.simple_query(lock).unwrap();
    let holder_pid = holder.backend_pid();
    let folder = tempfile::tempdir().unwrap();
    let (file, store) = (
        experiment(&folder),
        crate::support::notebook::at(&folder.path().join("store")),
    );
    let verbs: [(&[&str], &str); 3] = [
        (&["run", "tpcb"], "pgbench_branches"),
        (&["sweep", &file, "--store"], "pgbench_branches"),
        (&["load", "tpcb", "--replace"], "pgbench_"),
    ];
    for (verb, table) in verbs {
        for signal in [Signal::Interrupt, Signal::Terminate] {
            let mut command = pgdyno(verb);
            if verb.last() == Some(&"--store") {
                command.arg(&store);
            }
            let running = Running::start(command.args(["--url", &db.url]));
            db.wait_for(WAITS);
            // What it waits for is said after two seconds.
            std::thread::sleep(Duration::from_secs(4));
            let (ran, took) = signalled(running, signal);
            assert!(took < FIRST, "{verb:?}: {took:?}");
            assert_eq!(db.rows(WAITS).len(), 0, "{verb:?}");
            let says = format!("waiting for a lock on {table}");
            let by = format!(" held by pid {holder_pid}");
            ran.expect(code_of(signal), &[&says, &by]);
        }
    }
    let running = Running::start(&mut pgdyno(&["pgbench", "-i", "-d", &db.url]));
    db.wait_for(WAITS);
    let (ran, took) = signalled(running, Signal::Terminate);
    assert!(took < FIRST, "{took:?}");
    ran.expect(143, &["canceling statement due to user request"]);
    assert_eq!(db.rows(WAITS).len(), 0);
}

/// Verbs with what makes them ask a server.
const ASKING: [&[&str]; 8] = [
    &["run", "tpcb"],
    &["load", "tpcb"],
    &["calibrate"],
    &["sweep"],
    &["lab", "retries"],
    &["slob", "sweep"],
    &["target"],
    &["pgbench", "-i"],
];

/// One of them against the server behind a proxy.
fn asking(verb: &[&str], url: &str, folder: &tempfile::TempDir) -> Running {
    let mut command = pgdyno(verb);
    match verb[0] {
        "sweep" => command.arg(experiment(folder)).args(["--url", url]),
        "pgbench" => command.args(["-d", url]),
        _ => command.args(["--url", url]),
    };
    command.env(
        "PGDYNO_STORE",
        crate::support::notebook::at(&folder.path().join("store")),
    );
    Running::start(&mut command)
}

#[test]
fn a_signal_ends_what_waits_for_a_server_that_is_silent_after_start_up() {
    let folder = tempfile::tempdir().unwrap();
    for (number, verb) in ASKING.iter().enumerate() {
        let proxy = proxy(Passes::StartUp);
        let running = asking(verb, &proxy.url(), &folder);
        wait_until("a question", || proxy.swallowed() > 0);
        let signal = [Signal::Interrupt, Signal::Terminate][number % 2];
        let (ran, took) = signalled(running, signal);
        assert!(took < FIRST, "{verb:?}: {took:?}");
        ran.expect(code_of(signal), &[]);
    }
}

#[test]
fn a_second_signal_ends_it_at_once() {
    let folder = tempfile::tempdir().unwrap();
    let proxy = proxy(Passes::StartUp);
    let running = asking(&["run", "tpcb"], &proxy.url(), &folder);
    wait_until("a question", || proxy.swallowed() > 0);
    running.signal(Signal::Interrupt);
    std::thread::sleep(Duration::from_millis(100));
    let (ran, took) = signalled(running, Signal::Interrupt);
    assert!(took < Duration::from_millis(800), "{took:?}");
    ran.expect(130, &[]);
}

#[test]
fn a_signal_ends_connecting_to_what_answers_nothing() {
    let folder = tempfile::tempdir().unwrap();
    for verb in ASKING.iter().filter(|verb| verb[0] != "pgbench") {
        let proxy = proxy(Passes::Nothing);
        let running = asking(verb, &proxy.url(), &folder);
        wait_until("a first message", || proxy.swallowed() > 0);
        let (ran, took) = signalled(running, Signal::Interrupt);
        assert!(took < FIRST, "{verb:?}: {took:?}");
        ran.expect(130, &["interrupted while connecting"]);
    }
}

#[test]
fn a_query_that_is_not_answered_is_given_up_after_its_limit() {
    let proxy = proxy(Passes::StartUp);
    let url = proxy.url();
    let limited = ["load", "tpcb", "--silence-timeout=3500ms", "--url", &url];
    let began = Instant::now();
    ran(&mut pgdyno(&limited)).expect(
        3,
        &[
            "pgdyno: waiting for the server's answer to: SELECT version()",
            "the server has sent nothing for 3.5 s in answer to: SELECT version()",
            "hint: give it more time: --silence-timeout=5m, or 0 for any time",
        ],
    );
    assert!(began.elapsed() < Duration::from_secs(20));
}

#[test]
fn a_lock_is_waited_for_as_long_as_asked() {
    let db = Database::new("lock_timeout");
    db.pgdyno(&["load", "tpcb"]).expect(0, &[]);
    let mut holder = connect(&db.url);
    holder
        .simple_query("BEGIN; LOCK TABLE pgbench_tellers")
        .unwrap();
    db.pgdyno(&["load", "tpcb", "--replace", "--lock-timeout=200ms"])
        .expect(
            1,
            &[
                "canceling statement due to lock timeout (SQLSTATE 55P03)",
                "--lock-timeout",
            ],
        );
}

#[test]
fn transactions_in_flight_get_a_second_and_are_then_cancelled_and_counted() {
    let db = Database::new("in_flight");
    db.sql("CREATE TABLE held (a int); INSERT INTO held VALUES (1)");
    let folder = tempfile::tempdir().unwrap();
    let script = folder.path().join("u.sql");
    std::fs::write(&script, "UPDATE held SET a = a + 1;\n").unwrap();
    let mut holder = connect(&db.url);
    holder
        .simple_query("BEGIN; LOCK TABLE held IN SHARE MODE")
        .unwrap();
    let script = script.display().to_string();
    let run = ["run", &script, "-c", "3", "-T", "60", "--url", &db.url];
    let running = Running::start(&mut pgdyno(&run));
    wait_until("three waiting clients", || db.rows(WAITS).len() == 3);
    let (ran, took) = signalled(running, Signal::Interrupt);
    assert!(took > Duration::from_secs(1), "{took:?}");
    assert!(took < FIRST, "{took:?}");
    ran.expect(130, &["INTERRUPTED", "3"]);
    wait_until("no statement left", || db.rows(WAITS).is_empty());
}

#[test]
fn a_summary_does_not_wait_for_a_server_that_went_silent() {
    let db = Database::new("went_silent");
    db.pgdyno(&["load", "tpcb"]).expect(0, &[]);
    let proxy = proxy(Passes::All);
    let url = proxy.url().replace("/postgres?", "/went_silent?");
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("run.json");
    let json = format!("--json={}", file.display());
    let run = ["run", "select-only", "-T", "60", "--url", &url, &json];
    let mut running = Running::start(&mut pgdyno(&run));
    let at_work = "SELECT 1 FROM pg_stat_activity WHERE datname = current_database() \
        AND query LIKE 'SELECT abalance%'";
    wait_until("a client at work", || {
        running.is_over() || !db.rows(at_work).is_empty()
    });
    proxy.pass(Passes::Nothing);
    let (ran, took) = signalled(running, Signal::Interrupt);
    // A second for the transaction, one for its cancelling, two for instruments, two for whether it is the same
    // server, two for counters.
    assert!(took < Duration::from_secs(10), "{took:?}");
    ran.expect(130, &["INTERRUPTED"]);
    let document = std::fs::read_to_string(&file).unwrap();
    let document: serde_json::Value = serde_json::from_str(&document).unwrap();
    let gap = document["server_counters"]["unknown"].as_str();
    assert!(gap.is_some(), "{:#}", document["server_counters"]);
}
