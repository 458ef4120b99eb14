//! Queues made on purpose under `pgdyno lab migrate`: who is named, and how long clients were without a commit, beside
//! what was planted and what a client of the test's own saw.

use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use pgdyno_server::{Server, Setting, Standby};
use pgdyno_testkit::lock_queue::{
    HOLDER, Holding, LOCK_QUEUES, LockQueue, SCHEMA, session_at, wait_for_row,
};
use pgdyno_testkit::postgres_with;
use serde_json::Value;

use crate::child::Running;
use crate::cli::migrate::written;
use crate::cli::store::Notebook;
use crate::support::ran;

/// How long each lock is held once the migration waits for it, unless the server ends that.
const PLANTED: Duration = Duration::from_millis(1000);
/// So much a figure may be off.
const OFF_MAX_S: f64 = 0.1;
const MIGRATION_WAITS: &str = "SELECT 1 FROM pg_stat_activity WHERE application_name = 'pgdyno migrate' \
    AND (wait_event_type = 'Lock' OR wait_event = 'SyncRep')";
const MIGRATION_RUNS_ON: &str = "SELECT 1 WHERE NOT EXISTS (SELECT FROM pg_stat_activity WHERE application_name = \
    'pgdyno migrate' AND (wait_event_type = 'Lock' OR wait_event = 'SyncRep'))";

/// What was planted and seen beside the laboratory, in seconds.
struct Truth {
    /// From when the migration was seen to wait until it was let go.
    waited_s: f64,
    /// The longest time without a commit of the test's own client.
    gap_s: f64,
}

/// A server for a queue, and its standby where it has one.
fn servers(queue: &LockQueue) -> (Server, Option<Server>) {
    match queue.holding {
        Holding::Waiting(..) | Holding::Busy(..) => {
            (postgres_with(&["max_prepared_transactions=2"]), None)
        }
        Holding::Autovacuum(_) => {
            let often = ["autovacuum_naptime=1", "autovacuum_freeze_max_age=100000"];
            (postgres_with(&often), None)
        }
        Holding::OnStandby(_) => {
            let primary = postgres_with(&[]);
            let standby = primary.standby(&Standby::named("one"), &mut |_| {});
            let standby = standby.expect("a standby");
            primary
                .wait_until_has_all("one", &standby)
                .expect("it streams");
            let set = |server: &Server, name: &str, value: &str| {
                server
                    .set(&[Setting::new(name, value).expect("a setting")])
                    .expect("it is set");
            };
            set(&standby, "max_standby_streaming_delay", "-1");
            set(&primary, "synchronous_standby_names", "one");
            set(&primary, "synchronous_commit", "remote_apply");
            (primary, Some(standby))
        }
    }
}

/// Runs it with the lock held; gives the run's document.
fn run(queue: &LockQueue, url: &str, standby: Option<&str>, forms: &[&str]) -> (Value, Truth) {
    session_at(url).simple_query(SCHEMA).expect("its tables");
    let notebook = Notebook::new();
    let victim = if queue.victim.is_empty() {
        "SELECT * FROM t WHERE id = 1"
    } else {
        queue.victim
    };
    let file = written(&notebook, "1_x.up.sql", queue.file);
    let load = written(&notebook, "load.sql", &format!("{victim};\n"));
    let json = notebook.beside("lab.json");
    let json_to = format!("--json={}", json.display());
    let args = [
        "lab",
        "migrate",
        &file,
        "--workload",
        &load,
        "-c",
        "2",
        "-R",
        "50",
        "--seed",
        "7",
        "--before",
        "1s",
        "--after",
        "5s",
        "--repeat",
        "1",
        "--no-controls",
        "--no-undo",
        "--url",
        url,
        &json_to,
        "--forms",
    ];
    let mut command = notebook.command(&args);
    command.args(forms);
    let mut held = queue.hold(url, standby);
    let is_over = AtomicBool::new(false);
    let (waited_s, gap_s) = thread::scope(|scope| {
        let client = scope.spawn(|| {
            let mut session = session_at(url);
            let (mut last, mut gap) = (Instant::now(), Duration::ZERO);
            while !is_over.load(Ordering::Relaxed) {
                session.simple_query(victim).expect("it is answered");
                gap = gap.max(last.elapsed());
                last = Instant::now();
                thread::sleep(Duration::from_millis(2));
            }
            gap
        });
        let running = Running::start(&mut command);
        let mut observer = session_at(url);
        let began = wait_for_row(&mut observer, MIGRATION_WAITS);
        let is_ended_by_server = queue.name == "autovacuum" || forms != ["as-written"];
        let until = if is_ended_by_server {
            wait_for_row(&mut observer, MIGRATION_RUNS_ON)
        } else {
            thread::sleep(PLANTED.saturating_sub(began.elapsed()));
            let until = Instant::now();
            held.release();
            until
        };
        running.ended().expect(0, &[]);
        is_over.store(true, Ordering::Relaxed);
        let gap = client.join().expect("the test's client");
        ((until - began).as_secs_f64(), gap.as_secs_f64())
    });
    let document = std::fs::read(json).expect("the document");
    let document: Value = serde_json::from_slice(&document).expect("JSON");
    let repeat = document["targets"][0]["repeats"][0].clone();
    (repeat, Truth { waited_s, gap_s })
}

fn seconds(value: &Value) -> f64 {
    value
        .as_f64()
        .unwrap_or_else(|| panic!("no number: {value}"))
        / 1e6
}

/// What is wrong with what is said of a queue; a line of figures is printed.
fn wrong(queue: &LockQueue, repeat: &Value, truth: &Truth) -> Vec<String> {
    let migration = &repeat["migration"];
    let holders = migration["holders"].as_array().expect("holders");
    let length = |holder: &&Value| seconds(&holder["to_us"]) - seconds(&holder["from_us"]);
    let holder = holders
        .iter()
        .max_by(|a, b| length(a).total_cmp(&length(b)))
        .unwrap_or(&Value::Null);
    let name = match queue.holding {
        Holding::Autovacuum(_) => "autovacuum worker",
        Holding::OnStandby(_) => "one",
        _ if queue.state == "prepared transaction" => "",
        _ => HOLDER,
    };
    let mut wrong = Vec::new();
    for (key, expected) in [
        ("application", name),
        ("state", queue.state),
        ("on", queue.on),
        ("mode", queue.mode),
    ] {
        if holder[key] != expected {
            wrong.push(format!("{key} of the holder is {}", holder[key]));
        }
    }
    let statements = migration["statements"].as_array().expect("statements");
    let waited_s: f64 = statements.iter().map(|it| seconds(&it["waited_us"])).sum();
    let victims = migration["victims"].as_array().expect("victims");
    let is_wrong = |it: &Value| {
        let sql = it["query"].as_str().unwrap_or_default();
        // What is behind it for a moment, once it has its lock, is not planted.
        let is_long = seconds(&it["waited_us"]) > OFF_MAX_S;
        is_long && (queue.victim.is_empty() || !sql.starts_with(queue.victim))
    };
    let is_missing = victims.is_empty() && !queue.victim.is_empty();
    if is_missing || victims.iter().any(is_wrong) {
        wrong.push(format!("victims {victims:?}"));
    }
    if migration["is_done"] != true {
        wrong.push(format!("not done: {migration:#}"));
    }
    let outage_s = seconds(&repeat["figures"]["no_service_us"]);
    println!(
        "{:33} waited {waited_s:6.3} s, planted {:6.3} s; no commit {outage_s:6.3} s, own client {:6.3} s; {} behind it",
        queue.name,
        truth.waited_s,
        truth.gap_s,
        victims.len()
    );
    if (waited_s - truth.waited_s).abs() > OFF_MAX_S {
        wrong.push(format!("waited {waited_s} s, planted {} s", truth.waited_s));
    }
    // Times without a commit below 100 ms are 0.
    let gap_s = if outage_s == 0.0 {
        (truth.gap_s - OFF_MAX_S).max(0.0)
    } else {
        truth.gap_s
    };
    if (outage_s - gap_s).abs() > OFF_MAX_S {
        wrong.push(format!(
            "no commit for {outage_s} s, seen {} s",
            truth.gap_s
        ));
    }
    wrong
}

#[test]
#[ignore = "a minute, and times: make test-long PART=migrate"]
fn thirteen_queues_are_named_and_their_outages_are_those_that_were_planted() {
    let mut all = Vec::new();
    for queue in &LOCK_QUEUES {
        let (server, standby) = servers(queue);
        let standby = standby.as_ref().map(|standby| standby.address().url());
        let url = server.address().url();
        let (repeat, truth) = run(queue, &url, standby.as_deref(), &["as-written"]);
        let wrong = wrong(queue, &repeat, &truth);
        all.extend(wrong.iter().map(|what| format!("{}: {what}", queue.name)));
    }
    assert!(all.is_empty(), "{}", all.join("\n"));
}

/// Each try behind it would fail with a `lock_timeout` below `deadlock_timeout`, which alone ends it; one that
/// prevents wraparound is not ended by that.
#[test]
#[ignore = "autovacuums: make test-long PART=migrate"]
fn the_recipe_knows_an_autovacuum_that_is_cancelled_and_one_that_is_not() {
    for queue in LOCK_QUEUES
        .iter()
        .filter(|it| matches!(it.holding, Holding::Autovacuum(_)))
    {
        let (server, _) = servers(queue);
        let url = server.address().url();
        let forms = ["lock-timeout", "--lock-wait", "20ms", "--tries", "4"];
        let (repeat, _) = run(queue, &url, None, &forms);
        let migration = &repeat["migration"];
        let is_ordinary = queue.name == "autovacuum";
        assert_eq!(migration["is_done"], is_ordinary, "{migration:#}");
        let timeout = if is_ordinary { 1200 } else { 20 };
        assert_eq!(migration["lock_timeout_ms"], timeout, "{migration:#}");
        assert_eq!(migration["holders"][0]["application"], "autovacuum worker");
    }
}

/// A reader on the standby is in the way of the replayed lock, and prepared statements of clients end once.
#[test]
#[ignore = "a standby: make test-long PART=migrate"]
fn what_a_migration_does_to_a_standby_and_to_prepared_statements_is_counted() {
    let primary = postgres_with(&[]);
    let standby = primary.standby(&Standby::named("one"), &mut |_| {});
    let standby = standby.expect("a standby");
    let delay = Setting::new("max_standby_streaming_delay", "500ms").expect("a setting");
    standby.set(&[delay]).expect("it is set");
    session_at(&primary.address().url())
        .simple_query(SCHEMA)
        .expect("its tables");
    primary
        .wait_until_has_all("one", &standby)
        .expect("it streams");
    let on_standby = LOCK_QUEUES
        .iter()
        .find(|queue| matches!(queue.holding, Holding::OnStandby(_)))
        .expect("a reader on a standby");
    let mut held = on_standby.hold(&primary.address().url(), Some(&standby.address().url()));
    let of = |part: fn(&Server) -> String| format!("{},{}", part(&primary), part(&standby));
    let hosts = of(|server| server.address().socket_dir.display().to_string());
    let ports = of(|server| server.address().port.to_string());
    let url = format!("host={hosts} port={ports} user=postgres dbname=postgres");
    let notebook = Notebook::new();
    let file = written(&notebook, "a.sql", "ALTER TABLE t ADD COLUMN k int;\n");
    let load = written(&notebook, "load.sql", "SELECT * FROM t WHERE id = 1;\n");
    let json = notebook.beside("lab.json");
    let json_to = format!("--json={}", json.display());
    let args = [
        "lab",
        "migrate",
        &file,
        "--workload",
        &load,
        "-c",
        "4",
        "-R",
        "100",
        "-M",
        "prepared",
        "--seed",
        "7",
        "--before",
        "1s",
        "--after",
        "6s",
        "--repeat",
        "1",
        "--no-controls",
        "--no-undo",
        "--forms",
        "as-written",
        "--url",
        &url,
        &json_to,
    ];
    ran(&mut notebook.command(&args)).expect(0, &["cached plan must not change result type"]);
    held.release();
    let document = std::fs::read(json).expect("the document");
    let document: Value = serde_json::from_slice(&document).expect("JSON");
    let migration = &document["targets"][0]["repeats"][0]["migration"];
    let standbys = migration["standbys"].as_array().expect("standbys");
    assert_eq!(standbys.len(), 1, "{migration:#}");
    let one = &standbys[0];
    println!("{one:#}");
    assert_eq!(
        (&one["cancelled"], &one["cancelled_by_lock"]),
        (&1.into(), &1.into()),
        "{one:#}"
    );
    assert!(one["behind_bytes_max"].as_u64() > Some(0), "{one:#}");
    assert!(seconds(&one["replayed_after_us"]) > 0.1, "{one:#}");
}
