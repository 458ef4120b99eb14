//! Faults on real servers: 100 clients work, something goes wrong, and what pgdyno counts must be what the
//! database has; with `pgdyno run` and `pgdyno pgbench`, with and without `--reconnect`.
//!
//! `PGDYNO_FAULTS` names the faults of the long test to make instead of all of them, separated by semicolons.

mod check;
mod kinds;
mod scene;
mod server;
mod table;

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, OnceLock};
use std::thread;
use std::time::Instant;

use kinds::Fault;
use scene::{Call, Scene};
use server::Template;
use table::Row;

/// Cases at a time: most of their time they wait.
const AT_A_TIME: usize = 3;
/// The long test has so many.
const CASES_MIN: usize = 40;

/// Of each kind one, by each way of calling: these are quick.
const SHORT: [(&str, usize); 8] = [
    ("all sessions terminated", 1),
    ("backend killed", 3),
    ("immediate restart", 2),
    ("server stopped", 0),
    ("connections reset", 3),
    ("answers lost", 1),
    ("connection limit", 1),
    ("table away, --continue-on-error", 2),
];

/// Data to copy: of the usual server, and of one that speaks TLS.
#[derive(Default)]
struct Templates([OnceLock<Template>; 2]);

impl Templates {
    fn of(&self, fault: &Fault) -> &Template {
        if !fault.setup.tls {
            self.0[0].get_or_init(|| Template::new(&pgdyno_testkit::installation().bindir))
        } else {
            self.0[1].get_or_init(|| Template::new(&pgdyno_testkit::installation_with_tls().bindir))
        }
    }
}

fn play(templates: &Templates, fault: &'static Fault, call: Call) -> Row {
    let began = Instant::now();
    let skipped = (fault.cannot)();
    let seen = match &skipped {
        Some(_) => Ok(check::Counted::default()),
        None => catch_unwind(AssertUnwindSafe(|| {
            let left = Scene::play(templates.of(fault), fault, call);
            check::check(fault, call, &left).map_err(|wrong| {
                let json = left.document.as_ref();
                let part = |name: &str| json.map(|json| json[name].to_string());
                let (end, clients, outages) = (part("end"), part("clients"), part("outages"));
                format!(
                    "{wrong}\n{end:?} {clients:?} {outages:?}\n{}\n{}",
                    left.ran.stdout, left.ran.stderr
                )
            })
        }))
        .unwrap_or_else(|_| Err("it panicked".to_owned())),
    };
    let row = Row {
        fault,
        call,
        skipped,
        seen,
        took_s: began.elapsed().as_secs_f64(),
    };
    println!("{}", row.line());
    row
}

/// Plays all cases, some at a time.
fn play_all(cases: &[(&'static Fault, Call)]) -> Vec<Row> {
    let templates = Templates::default();
    let (next, rows) = (AtomicUsize::new(0), Mutex::new(Vec::new()));
    thread::scope(|scope| {
        for _ in 0..AT_A_TIME {
            scope.spawn(|| {
                while let Some((fault, call)) = cases.get(next.fetch_add(1, Ordering::Relaxed)) {
                    let row = play(&templates, fault, *call);
                    rows.lock().unwrap().push(row);
                }
            });
        }
    });
    rows.into_inner().unwrap()
}

#[track_caller]
fn all_hold(test: &str, rows: &[Row]) {
    for row in rows {
        if let Some(reason) = &row.skipped {
            pgdyno_testkit::record_skip(&format!("{test}: {}", row.name()), reason);
        }
    }
    let wrong = rows.iter().filter(|row| row.seen.is_err());
    let wrong: Vec<String> = wrong.map(Row::line).collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn what_is_counted_is_what_the_database_has_after_a_fault_of_each_kind() {
    let all = kinds::all();
    let case = |(name, call): (&str, usize)| {
        let fault = all.iter().find(|fault| fault.name == name);
        (*fault.unwrap_or_else(|| panic!("{name}")), Call::ALL[call])
    };
    let rows = play_all(&SHORT.map(case));
    all_hold(
        "what_is_counted_is_what_the_database_has_after_a_fault_of_each_kind",
        &rows,
    );
}

#[test]
#[ignore = "minutes: make test-long PART=faults"]
fn what_is_counted_is_what_the_database_has_after_every_fault() {
    let chosen = std::env::var("PGDYNO_FAULTS").unwrap_or_default();
    let is_chosen = |fault: &&Fault| {
        let mut names = chosen.split(';').map(str::trim);
        chosen.is_empty() || names.any(|name| name == fault.name)
    };
    let faults: Vec<&'static Fault> = kinds::all().into_iter().filter(is_chosen).collect();
    let calls = |fault: &&'static Fault| Call::ALL.map(|call| (*fault, call));
    let cases: Vec<(&'static Fault, Call)> = faults.iter().flat_map(calls).collect();
    assert!(!cases.is_empty(), "no fault is named {chosen}");
    assert!(!chosen.is_empty() || cases.len() >= CASES_MIN);
    let rows = play_all(&cases);
    println!("\n{}", table::markdown(&faults, &rows));
    let right = rows
        .iter()
        .filter(|row| row.seen.is_ok() && row.skipped.is_none());
    println!("{} of {} cases right", right.count(), cases.len());
    all_hold(
        "what_is_counted_is_what_the_database_has_after_every_fault",
        &rows,
    );
}
