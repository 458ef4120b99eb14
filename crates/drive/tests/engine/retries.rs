//! Serialization failures and deadlocks: retried by pgbench's rules, and booked as what they are.

use pgdyno_drive::Drive;
use pgdyno_measurement::{End, Failure};
use pgdyno_spec::{OnError, OnLastTry, QueryMode, Until};
use pgdyno_testkit::RecordingProxy;
use pgdyno_wire::Addr;

use crate::support::*;

const TPCB: &str = "\
\\set aid random(1, 1000)
\\set bid 1
\\set tid random(1, 10)
\\set delta random(-5000, 5000)
BEGIN;
UPDATE acc SET abalance = abalance + :delta WHERE aid = :aid;
SELECT abalance FROM acc WHERE aid = :aid;
UPDATE tel SET tbalance = tbalance + :delta WHERE tid = :tid;
UPDATE bra SET bbalance = bbalance + :delta WHERE bid = :bid;
INSERT INTO his (tid, bid, aid, delta) VALUES (:tid, :bid, :aid, :delta);
END;
";

#[test]
fn rows_and_sums_agree_with_the_committed_booked_under_serializable() {
    sql("create table acc (aid int primary key, abalance int);
         create table tel (tid int primary key, tbalance int);
         create table bra (bid int primary key, bbalance int);
         create table his (tid int, bid int, aid int, delta int);
         insert into acc select n, 0 from generate_series(1, 1000) n;
         insert into tel select n, 0 from generate_series(1, 10) n;
         insert into bra values (1, 0);
         analyze acc, tel, bra");
    let serializable = ["default_transaction_isolation=serializable"];
    let endpoints = vec![vec![candidate_at(Addr::Unix(socket()), &serializable)]];
    let mut committed = 0;
    for (mode, max_tries) in [
        (QueryMode::Simple, 10),
        (QueryMode::Prepared, 2),
        (QueryMode::Extended, 1),
    ] {
        let (recording, seen) = run(&Drive {
            endpoints: endpoints.clone(),
            clients: 8,
            threads: 4,
            max_tries,
            until: Until::Elapsed(millis(500)),
            ..drive_in(mode, TPCB)
        });
        assert_eq!(seen.messages, Vec::<String>::new());
        let counts = counts(&recording);
        let unserializable = failed(&recording, Failure::SERIALIZATION);
        let deadlocks = failed(&recording, Failure::DEADLOCK);
        assert_eq!(
            counts.total(),
            counts.committed + unserializable + deadlocks
        );
        assert!(counts.committed > 20, "{counts:?}");
        assert_eq!(max_tries > 1, counts.retries > 0, "{counts:?}");
        assert_eq!(max_tries > 1, counts.retried > 0, "{counts:?}");
        if max_tries < 10 {
            assert!(unserializable > 0, "{counts:?}");
        }
        let statements = || recording.statements[0].iter();
        let retries: u64 = statements().map(|s| s.retries).sum();
        let failures: u64 = statements().map(|s| s.failures).sum();
        assert_eq!((retries, failures), (counts.retries, counts.failed_total()));
        let all = recording.measured.all();
        assert_eq!(all.service.count(), counts.committed);
        assert_eq!(all.retried_after.values().sum::<u64>(), counts.retries);
        let mut why = all.retried_after.keys();
        assert!(why.all(|why| [Failure::SERIALIZATION, Failure::DEADLOCK].contains(why)));
        committed += counts.committed;
    }
    assert_eq!(value("select count(*) from his") as u64, committed);
    let sum = value("select sum(delta) from his");
    assert_eq!(value("select sum(abalance) from acc"), sum);
    assert_eq!(value("select sum(tbalance) from tel"), sum);
    assert_eq!(value("select sum(bbalance) from bra"), sum);
}

#[test]
fn deadlocks_are_retried_and_else_booked_as_such() {
    sql("create table dead (id int primary key, n int);
         insert into dead values (1, 0), (2, 0)");
    // Clients of even and odd numbers lock in opposite order.
    let script = "\\set first 1 + :client_id % 2\n\\set second 3 - :first\nbegin;\n\
                  update dead set n = n + 1 where id = :first;\n\\sleep 3 ms\n\
                  update dead set n = n + 1 where id = :second;\nend;\n";
    let endpoint = candidate_at(Addr::Unix(socket()), &["deadlock_timeout=10ms"]);
    let once = Drive {
        endpoints: vec![vec![endpoint]],
        clients: 2,
        until: transactions(15),
        ..drive(script)
    };
    let (recording, seen) = run(&once);
    assert_eq!(seen.messages, Vec::<String>::new());
    let once_committed = counts(&recording).committed;
    let deadlocks = failed(&recording, Failure::DEADLOCK);
    assert!(deadlocks > 0);
    assert_eq!(
        (once_committed + deadlocks, counts(&recording).retries),
        (30, 0)
    );
    assert_eq!(value("select min(n) from dead") as u64, once_committed);

    let recording = run_well(&Drive {
        max_tries: 0,
        ..once
    });
    assert!(counts(&recording).retries > 0);
    assert_eq!(value("select min(n) from dead") as u64, once_committed + 30);
}

/// A function that fails with a serialization failure but for every third call; sequences do not
/// roll back.
fn flaky(name: &str) {
    sql(&format!(
        "create sequence {name}_calls;
         create function {name}(value text) returns int language plpgsql as $$
         begin
            if nextval('{name}_calls') % 3 <> 0 then
                raise 'not now' using errcode = 'serialization_failure';
            end if;
            return 1;
         end $$"
    ));
}

#[test]
fn a_retry_sends_the_same_statements_with_the_same_values() {
    flaky("flaky");
    let proxy = RecordingProxy::start(socket());
    let script = "\\set before random(1, 1000000)\nbegin;\n\
                  select :before, flaky('f');\n\\set after random(1, 1000000)\nselect :after;\nend;\n";
    let recording = run_well(&Drive {
        endpoints: vec![vec![candidate_at(Addr::Tcp(proxy.tcp_address()), &[])]],
        until: transactions(4),
        max_tries: 3,
        ..drive(script)
    });
    let counts = counts(&recording);
    assert_eq!(
        (counts.committed, counts.retries, counts.retried),
        (4, 8, 4)
    );
    assert_eq!(recording.statements[0][2].retries, 8);
    let sent = proxy.settle()[0].described();
    let values: Vec<&String> = sent.iter().filter(|text| text.contains("flaky")).collect();
    assert_eq!(values.len(), 12);
    for tries in values.chunks(3) {
        assert!(tries.iter().all(|text| *text == tries[0]), "{tries:?}");
    }
    assert_ne!(values[0], values[3]);
    let rollbacks = sent.iter().filter(|text| text.contains("ROLLBACK"));
    assert_eq!(rollbacks.count(), 8);
}

#[test]
fn tries_run_out_and_verbose_mode_prints_each() {
    flaky("noisy");
    let drive = Drive {
        max_tries: 2,
        verbose_errors: true,
        ..drive("select noisy('f');")
    };
    let (recording, seen) = run(&drive);
    assert_eq!(failed(&recording, Failure::SERIALIZATION), 1);
    assert_eq!(
        (counts(&recording).retries, counts(&recording).retried),
        (1, 1)
    );
    assert_eq!(recording.clients.aborted, 0);
    let error = "client 0 got an error in command 0 (SQL) of script 0; ERROR:  not now\n\
                 CONTEXT:  PL/pgSQL function noisy(text) line 4 at RAISE";
    let reported = [
        error,
        "client 0 repeats the transaction after the error (try 1/2)",
        error,
        "client 0 ends the failed transaction (try 2/2)",
    ];
    assert_eq!(seen.messages, reported);
}

#[test]
fn with_one_try_nothing_is_retried() {
    flaky("once");
    let (recording, seen) = run(&Drive {
        until: transactions(9),
        ..drive("select once('f');")
    });
    assert_eq!(seen.messages, Vec::<String>::new());
    assert_eq!(failed(&recording, Failure::SERIALIZATION), 6);
    assert_eq!(
        (counts(&recording).committed, counts(&recording).retries),
        (3, 0)
    );
}

#[test]
fn an_error_at_commit_is_retried_like_any_other() {
    flaky("late");
    sql("create table late_rows (n int);
         create function late_check() returns trigger language plpgsql as
             $$ begin perform late('f'); return null; end $$;
         create constraint trigger late_check after insert on late_rows
             deferrable initially deferred for each row execute function late_check()");
    for mode in MODES {
        let recording = run_well(&Drive {
            until: transactions(2),
            max_tries: 5,
            ..drive_in(mode, "begin;\ninsert into late_rows values (1);\nend;\n")
        });
        assert_eq!(
            (counts(&recording).committed, counts(&recording).retries),
            (2, 4)
        );
        assert_eq!(recording.statements[0][2].retries, 4);
    }
    assert_eq!(value("select count(*) from late_rows"), 6);
}

#[test]
fn another_error_ends_the_client_or_only_the_transaction() {
    sql("create table sometimes (n int primary key)");
    let script = "\\set n random(1, 3)\nbegin;\ninsert into sometimes values (:n);\nend;\n";
    for mode in MODES {
        sql("truncate sometimes");
        let unique = Failure::from_sqlstate("23505");
        let ends = Drive {
            clients: 2,
            until: transactions(20),
            max_tries: 0,
            ..drive_in(mode, script)
        };
        let (recording, seen) = run(&ends);
        assert_eq!(recording.clients.aborted, 2);
        assert_eq!(recording.clients.disconnected, 0);
        assert_eq!(recording.end, End::AllClientsAborted);
        assert_eq!(failed(&recording, unique), 2);
        assert!(seen.messages[0].contains("aborted in command 2 query 0: ERROR:  duplicate key"));
        let (recording, seen) = run(&Drive {
            on_error: OnError::Continue,
            ..ends
        });
        assert_eq!(seen.messages, Vec::<String>::new());
        assert_eq!(
            (recording.clients.aborted, counts(&recording).total()),
            (0, 40)
        );
        assert!(failed(&recording, unique) >= 37);
        assert_eq!(counts(&recording).retries, 0);
    }
}

#[test]
fn a_statement_that_could_not_be_prepared_is_prepared_again_when_the_client_goes_on() {
    // The table comes into being while the client runs.
    let script = "select count(*) from not_yet;\n";
    let create = "select 1 where :client_id = 0;\nselect make_not_yet();\n";
    sql("create sequence not_yet_calls;
         create function make_not_yet() returns void language plpgsql as $$
         begin
            if nextval('not_yet_calls') = 5 then create table not_yet (n int); end if;
         end $$");
    let (recording, seen) = run(&Drive {
        until: transactions(40),
        on_error: OnError::Continue,
        ..mix(&[(script, 1), (create, 1)], QueryMode::Prepared)
    });
    let counts = counts(&recording);
    let missing = failed(&recording, Failure::from_sqlstate("42P01"));
    assert!(missing > 0);
    assert_eq!((counts.committed + missing, counts.total()), (40, 40));
    assert_eq!(seen.messages, Vec::<String>::new());
    assert!(recording.measured.scripts[0].counts.committed > 0);
}

#[test]
fn retries_end_with_the_latency_limit_and_with_the_time_of_the_run() {
    sql("create function never() returns int language plpgsql as
             $$ begin raise 'not now' using errcode = 'deadlock_detected'; end $$");
    let unlimited = Drive {
        max_tries: 0,
        ..drive("\\sleep 25 ms\nselect never();\n")
    };
    let (recording, seen) = run(&Drive {
        latency_limit: Some(millis(300)),
        ..unlimited.clone()
    });
    assert_eq!(seen.messages, Vec::<String>::new());
    assert_eq!(failed(&recording, Failure::DEADLOCK), 1);
    let retries = counts(&recording).retries;
    // Each try takes at least 25 ms.
    assert!((1..=12).contains(&retries), "{retries}");

    let timed = Drive {
        until: Until::Elapsed(millis(200)),
        ..unlimited
    };
    let (recording, _) = run(&timed);
    assert_eq!(failed(&recording, Failure::DEADLOCK), 1);
    assert_eq!(
        (counts(&recording).total(), counts(&recording).retried),
        (1, 1)
    );
    assert!(recording.measured.elapsed_us < 30_000_000);

    // pgbench does not count it.
    let (recording, _) = run(&Drive {
        counts_as_pgbench: true,
        ..timed
    });
    assert_eq!(
        (counts(&recording).total(), counts(&recording).retries),
        (0, 0)
    );
    assert_eq!(
        (recording.end, recording.clients.aborted),
        (End::Complete, 0)
    );
}

#[test]
fn a_client_can_end_after_its_last_try() {
    let drive = Drive {
        max_tries: 2,
        on_last_try: OnLastTry::EndClient,
        ..drive("do $$ begin raise 'not now' using errcode = '40001'; end $$;\n")
    };
    let (recording, seen) = run(&drive);
    assert_eq!(failed(&recording, Failure::SERIALIZATION), 1);
    assert_eq!(
        (counts(&recording).total(), counts(&recording).retries),
        (1, 1)
    );
    assert_eq!(recording.clients.aborted, 1);
    let [message] = seen.messages.as_slice() else {
        panic!("{:?}", seen.messages);
    };
    assert!(
        message.contains("client 0 script 0 aborted in command 0 query 0: ERROR:  not now"),
        "{message}"
    );
}
