//! What watching costs (docs/serve.md), in a release build: `make test-long PART=serve`.

use std::fs;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use rusqlite::Connection;

use crate::serve::client::{Notebook, Serving};
use crate::serve::live::running;
use crate::support::Database;

const VIEWERS: usize = 50;
const MEASURED: Duration = Duration::from_secs(20);
/// What they may take together, as a share of a CPU.
const SHARE_MAX: f64 = 0.02;
const TRIALS: usize = 100_000;

/// CPU time of all threads of a process, by the kernel's scheduler.
fn cpu(server: &Serving) -> Duration {
    let tasks = fs::read_dir(format!("/proc/{}/task", server.id())).unwrap();
    let ran = tasks.flatten().filter_map(|task| {
        let stat = fs::read_to_string(task.path().join("schedstat")).ok()?;
        stat.split_whitespace().next()?.parse::<u64>().ok()
    });
    Duration::from_nanos(ran.sum())
}

/// The share of a CPU that it takes from now on.
fn share(server: &Serving) -> f64 {
    let (began, before) = (Instant::now(), cpu(server));
    thread::sleep(MEASURED);
    (cpu(server) - before).as_secs_f64() / began.elapsed().as_secs_f64()
}

#[test]
#[ignore = "a minute of a quiet machine, a release build: make test-long PART=serve"]
fn fifty_viewers_cost_little_beside_the_reading_for_one() {
    let db = Database::new("serve_cost");
    let notebook = Notebook::new();
    let _run = notebook.serving_run(&db, &["-c", "4", "-T", "600"]);
    let server = notebook.serve(&[]);
    let path = running(&server);
    let events = Arc::new(AtomicU64::new(0));
    let view = || {
        let (mut viewer, events) = (server.events(&path), events.clone());
        thread::spawn(move || {
            while !viewer.next().0.is_empty() {
                events.fetch_add(1, Ordering::Relaxed);
            }
        });
    };
    view();
    thread::sleep(Duration::from_secs(5));
    let alone = share(&server);
    (0..VIEWERS).for_each(|_| view());
    thread::sleep(Duration::from_secs(5));
    let before = events.load(Ordering::Relaxed);
    let together = share(&server);
    let sent = events.load(Ordering::Relaxed) - before;
    println!(
        "1 viewer: {:.2} % of a CPU; {} viewers: {:.2} %, {:.1} updates a second",
        alone * 100.0,
        VIEWERS + 1,
        together * 100.0,
        sent as f64 / MEASURED.as_secs_f64()
    );
    assert!(
        sent as f64 > VIEWERS as f64 * MEASURED.as_secs_f64() / 2.0,
        "{sent} updates"
    );
    assert!(together - alone < SHARE_MAX, "{alone} {together}");
}

#[test]
#[ignore = "half a gigabyte of disk, a release build: make test-long PART=serve"]
fn a_list_of_a_hundred_thousand_trials_takes_less_than_a_second() {
    let db = Database::new("serve_size");
    let notebook = Notebook::with_trials(&db, 1);
    multiply(&Connection::open(notebook.file()).unwrap());
    let server = notebook.serve(&[]);
    for path in [
        "/",
        "/?q=one",
        "/?q=nothing",
        "/?tag=t3",
        "/?state=failed",
        "/?page=900",
        "/trial/77777",
    ] {
        let mut took: Vec<Duration> = (0..3)
            .map(|_| {
                let began = Instant::now();
                let answer = server.get(path);
                assert!(matches!(answer.status, 200 | 404), "{path}: {answer:.200?}");
                began.elapsed()
            })
            .collect();
        took.sort();
        println!("{path}: {took:.2?}");
        assert!(took[1] < Duration::from_secs(1), "{path}: {took:?}");
    }
}

/// The only trial so many times, without its seconds; every tenth has a tag, t0 to t6.
fn multiply(store: &Connection) {
    let columns = |table: &str| -> Vec<String> {
        let mut select = store
            .prepare(&format!("PRAGMA table_info({table})"))
            .unwrap();
        let names = select.query_map([], |row| row.get(1)).unwrap();
        names.map(Result::unwrap).collect()
    };
    let copy = |table: &str, key: &str| {
        let columns = columns(table);
        let values = columns.iter().map(|column| match column.as_str() {
            name if name == key => "i".to_owned(),
            "uuid" => "lower(hex(randomblob(16)))".to_owned(),
            other => format!("t.{other}"),
        });
        let values: Vec<String> = values.collect();
        let sql = format!(
            "WITH RECURSIVE k (i) AS (SELECT 2 UNION ALL SELECT i + 1 FROM k WHERE i < {TRIALS}) \
             INSERT INTO {table} ({}) SELECT {} FROM k, {table} t WHERE t.{key} = 1",
            columns.join(", "),
            values.join(", ")
        );
        store.execute(&sql, []).unwrap();
    };
    store
        .execute_batch("PRAGMA synchronous = OFF; BEGIN")
        .unwrap();
    copy("trial_begun", "number");
    copy("trial_ended", "trial");
    let tags = "INSERT INTO tag (tag, trial) SELECT 't' || (number % 7), number FROM trial_begun \
                WHERE number % 10 = 0";
    store.execute(tags, []).unwrap();
    store.execute_batch("COMMIT").unwrap();
}
