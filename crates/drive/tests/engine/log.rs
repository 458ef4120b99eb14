//! Transactions handed over one by one: in order, each once, and sampled as pgbench samples.

use std::process::Command;

use pgdyno_drive::Drive;
use pgdyno_measurement::{Failure, LoggedTransaction, Outcome};
use pgdyno_spec::Until;
use pgdyno_testkit::{skip, stock_pgbench};

use crate::support::*;

/// What one client's transactions were, checked for order.
fn of_client(seen: &Seen, client: usize) -> Vec<LoggedTransaction> {
    let logged = seen.logged.iter().map(|(_, t)| *t);
    let logged: Vec<_> = logged.filter(|t| t.client == client).collect();
    assert!(logged.is_sorted_by_key(|t| (t.number, t.at_us)));
    logged
}

#[test]
fn each_transaction_is_handed_over_once_and_in_order() {
    // More than is handed over at once.
    let (recording, seen) = run(&Drive {
        clients: 3,
        threads: 2,
        log: Some(1.0),
        until: transactions(6000),
        ..mix(
            &[("\\set x 1\n", 1), ("\\set x 2\n", 1)],
            pgdyno_spec::QueryMode::Simple,
        )
    });
    assert_eq!(seen.logged.len(), 18_000);
    for client in 0..3 {
        let logged = of_client(&seen, client);
        assert!(logged.iter().map(|t| t.number).eq(1..=6000));
    }
    for script in 0..2 {
        let logged = seen.logged.iter().filter(|(_, t)| t.script == script);
        let booked = recording.measured.scripts[script].counts.committed;
        assert_eq!(logged.count() as u64, booked);
    }
    // Clients 0 and 1 are the first thread's.
    assert!(
        seen.logged
            .iter()
            .all(|(thread, t)| *thread == t.client / 2)
    );
    for thread in 0..2 {
        let of_thread = seen.logged.iter().filter(|(of, _)| *of == thread);
        assert!(of_thread.clone().is_sorted_by_key(|(_, t)| t.at_us));
        let last_us = of_thread.map(|(_, t)| t.at_us).max();
        let ended = seen.ended_us.iter().find(|(of, _)| *of == thread);
        assert!(ended.map(|(_, at_us)| *at_us) >= last_us);
    }
    assert_eq!(seen.ended_us.len(), 2);
}

#[test]
fn what_is_handed_over_agrees_with_what_is_booked() {
    fails_at_calls("log_flaky", "% 3 <> 0");
    let (recording, seen) = run(&Drive {
        log: Some(1.0),
        max_tries: 2,
        rate: Some(200.0.into()),
        latency_limit: Some(millis(40)),
        warmup: millis(300),
        until: Until::Elapsed(millis(1200)),
        ..drive("\\sleep 8 ms\nselect log_flaky();\n")
    });
    let counts = counts(&recording);
    let logged = of_client(&seen, 0);
    assert_eq!(logged.len() as u64, counts.total());
    assert!(logged.iter().map(|t| t.number).eq(1..=counts.total()));
    let of = |outcome| logged.iter().filter(move |t| t.outcome == outcome);
    assert!(counts.committed > 5 && counts.skipped > 0, "{counts:?}");
    assert_eq!(of(Outcome::Committed).count() as u64, counts.committed);
    assert_eq!(of(Outcome::Skipped).count() as u64, counts.skipped);
    let unserializable = Outcome::Failed(Failure::SERIALIZATION);
    assert_eq!(
        of(unserializable).count() as u64,
        failed(&recording, Failure::SERIALIZATION)
    );
    let retries: u64 = logged.iter().map(|t| u64::from(t.tries) - 1).sum();
    assert_eq!(retries, counts.retries);
    let all = recording.measured.all();
    let latencies = of(Outcome::Committed).map(|t| t.latency_us);
    assert_eq!(all.response.map(|r| r.sum_us()), Some(latencies.sum()));
    let lags = of(Outcome::Committed).map(|t| t.lag_us);
    assert_eq!(all.lag.map(|lag| lag.sum_us()), Some(lags.sum()));
    let others = logged.iter().filter(|t| t.outcome != Outcome::Committed);
    assert!(others.clone().all(|t| (t.latency_us, t.lag_us) == (0, 0)));
    // The warm-up is not logged, and time counts from its beginning.
    assert!(
        logged
            .iter()
            .all(|t| (300_000..10_000_000).contains(&t.at_us))
    );
}

#[test]
fn a_transaction_that_leaves_its_block_open_has_a_latency() {
    let (_, seen) = run(&Drive {
        log: Some(1.0),
        ..drive("begin;\n\\sleep 5 ms\n")
    });
    let logged = of_client(&seen, 0);
    assert_eq!(logged[0].outcome, Outcome::Failed(Failure::OpenBlock));
    assert!(logged[0].latency_us >= 5000, "{logged:?}");
}

#[test]
fn nothing_is_handed_over_unless_asked_for() {
    let (_, seen) = run(&Drive {
        until: transactions(5),
        ..drive("select 1;")
    });
    assert_eq!(seen.logged, []);
    assert_eq!(seen.ended_us.len(), 1);
}

#[test]
fn the_same_transactions_are_sampled_as_by_stock_pgbench() {
    let Some(pgbench) = stock_pgbench() else {
        skip!(
            "the_same_transactions_are_sampled_as_by_stock_pgbench",
            "no stock pgbench 18"
        );
    };
    let address = pgdyno_testkit::postgres().address();
    let dir = std::env::temp_dir().join(format!("pgdyno-sample-{}", std::process::id()));
    std::fs::create_dir_all(&dir).unwrap();
    std::fs::write(dir.join("script.sql"), "select 1;\n").unwrap();
    let output = Command::new(&pgbench)
        .current_dir(&dir)
        .args(["-n", "-t", "100", "-c", "2", "-j", "2", "-f", "script.sql"])
        .args(["-l", "--sampling-rate=0.3", "--random-seed=4711"])
        .args(["-U", "postgres", "-p", &address.port.to_string(), "-h"])
        .arg(&address.socket_dir)
        .arg("postgres")
        .output()
        .unwrap();
    assert!(output.status.success(), "{output:?}");
    let mut theirs = Vec::new();
    for file in std::fs::read_dir(&dir).unwrap() {
        let path = file.unwrap().path();
        if path.extension().is_some_and(|e| e == "sql") {
            continue;
        }
        for line in std::fs::read_to_string(path).unwrap().lines() {
            let mut fields = line.split(' ').map(|field| field.parse::<u64>().unwrap());
            theirs.push((fields.next().unwrap(), fields.next().unwrap()));
        }
    }
    let _ = std::fs::remove_dir_all(&dir);
    let (_, seen) = run(&Drive {
        clients: 2,
        threads: 2,
        seed: 4711,
        log: Some(0.3),
        until: transactions(100),
        ..drive("select 1;")
    });
    let ours = seen.logged.iter().map(|(_, t)| (t.client as u64, t.number));
    let mut ours: Vec<_> = ours.collect();
    ours.sort_unstable();
    theirs.sort_unstable();
    assert!((30..90).contains(&ours.len()), "{}", ours.len());
    assert_eq!(ours, theirs);
}
