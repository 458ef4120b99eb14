//! Retry policies, what tries cost, and what errors mean.

use pgdyno_drive::Drive;
use pgdyno_measurement::{Failure, Reason, Recording};
use pgdyno_script::Names;
use pgdyno_spec::{
    Backoff, ErrorClass, ErrorRule, Jitter, OnConnectionLoss, OnError, QueryMode, Retry, Until,
};
use pgdyno_testkit::RecordingProxy;
use pgdyno_wire::Addr;

use crate::scripted::{Scripted, done, error, last_words};
use crate::support::*;

/// A function that fails with a serialization failure but for every third call; sequences do not
/// roll back.
fn flaky(name: &str) {
    sql(&format!(
        "create sequence {name}_calls;
         create function {name}() returns int language plpgsql as $$
         begin
            if nextval('{name}_calls') % 3 <> 0 then
                raise 'not now' using errcode = 'serialization_failure', detail = 'a third call';
            end if;
            return 1;
         end $$"
    ));
}

/// A drive whose scripts go back to the savepoint `again`.
fn with_savepoint(mode: QueryMode, script: &str) -> Drive {
    let mut names = Names::new();
    let script = pgdyno_script::parse("script", script, &mut names).unwrap();
    Drive {
        scripts: Drive::compile(vec![(script, 1)], mode, Some("again")).unwrap(),
        names,
        retry: Retry::Savepoint,
        ..drive_in(mode, "select 1;\n")
    }
}

fn reasons(recording: &Recording) -> Vec<(ErrorClass, &str, u64, u64)> {
    let reasons = recording.reasons.iter();
    let reasons = reasons.map(|r| (r.class, r.name.as_str(), r.retried, r.ended));
    reasons.collect()
}

#[test]
fn each_lost_try_has_a_reason_and_a_cost() {
    flaky("cost");
    let script = "begin;\nselect 1;\nselect cost();\nend;\n";
    let recording = run_well(&Drive {
        until: transactions(4),
        max_tries: 3,
        ..drive(script)
    });
    let serialization = (ErrorClass::Serialization, "serialization failure", 8, 0);
    assert_eq!(reasons(&recording), [serialization]);
    let reason = &recording.reasons[0];
    assert_eq!(reason.sqlstate, "40001");
    assert!(
        reason
            .message
            .starts_with("ERROR:  not now\nDETAIL:  a third call"),
        "{}",
        reason.message
    );
    let all = recording.measured.all();
    let work = &all.work;
    assert_eq!((work.lost_tries, work.lost_statements), (8, 8 * 3));
    assert_eq!((work.kept_statements, work.given_up), (4 * 4, 0));
    assert_eq!(work.lost_statement_share(), Some(0.6));
    assert!(work.lost_us > 0 && work.kept_us > 0 && work.backoff_us == 0);
    // A transaction's time is that of all its tries; the last one has a figure of its own.
    let attempt = all.attempt.as_ref().unwrap();
    assert_eq!((attempt.count(), all.service.count()), (4, 4));
    assert_eq!(attempt.sum_us(), work.kept_us);
    let tries_us = work.kept_us + work.lost_us;
    assert!(all.service.sum_us() + 20 >= tries_us, "{:?}", all.work);
    assert!(all.service.sum_us() < tries_us + 500_000, "{:?}", all.work);
    // The seconds come to the same.
    let seconds = recording.seconds.iter().flat_map(|s| &s.scripts);
    let lost: u64 = seconds.map(|script| script.work.lost_tries).sum();
    assert_eq!(lost, 8);
}

#[test]
fn without_retries_a_conflict_is_given_up_and_its_try_thrown_away() {
    flaky("alone");
    let (recording, _) = run(&Drive {
        until: transactions(9),
        ..drive("select alone();\n")
    });
    let all = recording.measured.all();
    assert_eq!((all.work.given_up, all.work.lost_tries), (6, 6));
    assert!(all.attempt.is_none());
    let serialization = (ErrorClass::Serialization, "serialization failure", 0, 6);
    assert_eq!(reasons(&recording), [serialization]);
}

#[test]
fn an_error_that_no_rule_knows_is_counted_by_its_sqlstate() {
    let (recording, _) = run(&Drive {
        until: transactions(3),
        on_error: OnError::Continue,
        ..drive("begin;\nselect 1 / 0;\nend;\n")
    });
    let other = (ErrorClass::Other, "SQLSTATE 22012", 0, 3);
    assert_eq!(reasons(&recording), [other]);
    let work = recording.measured.all().work;
    assert_eq!((work.lost_tries, work.given_up), (3, 0));
}

#[test]
fn real_conflicts_lose_as_many_tries_as_there_were_retries_and_failures() {
    sql("create table hot (id int primary key, n int); insert into hot values (1, 0)");
    let repeatable = candidate_at(
        Addr::Unix(socket()),
        &["default_transaction_isolation=repeatable\\ read"],
    );
    let recording = run_well(&Drive {
        endpoints: vec![vec![repeatable]],
        clients: 6,
        threads: 2,
        max_tries: 0,
        until: transactions(30),
        ..drive("begin;\nselect n from hot;\nupdate hot set n = n + 1;\nend;\n")
    });
    assert_eq!(value("select n from hot"), 180);
    let (counts, work) = (counts(&recording), recording.measured.all().work);
    assert!(counts.retries > 0, "no client blocked another");
    assert_eq!(work.lost_tries, counts.retries);
    let tries: u64 = recording.reasons.iter().map(Reason::tries).sum();
    assert_eq!(tries, counts.retries);
    assert!(
        recording.reasons[0]
            .message
            .contains("could not serialize access due to concurrent update"),
        "{:?}",
        recording.reasons
    );
}

#[test]
fn pauses_double_and_are_neither_work_nor_a_change_of_the_statements() {
    flaky("calm");
    flaky("hasty");
    let sent = |name: &str, backoff: Option<Backoff>| {
        let proxy = RecordingProxy::start(socket());
        let script = format!(
            "\\set n random(1, 1000000)\nbegin;\nselect :n, {name}();\n\
             \\set m random(1, 1000000)\nselect :m;\nend;\n"
        );
        let recording = run_well(&Drive {
            endpoints: vec![vec![candidate_at(Addr::Tcp(proxy.tcp_address()), &[])]],
            until: transactions(3),
            max_tries: 3,
            backoff,
            ..drive(&script)
        });
        let sent = proxy.settle()[0].described().join("\n");
        (recording, sent.replace(name, "it"))
    };
    let backoff = Backoff {
        base: millis(30),
        cap: millis(40),
        jitter: Jitter::None,
    };
    let (paused, statements) = sent("calm", Some(backoff));
    let (at_once, same) = sent("hasty", None);
    assert_eq!(statements, same);
    assert_eq!(at_once.measured.all().work.backoff_us, 0);
    let all = paused.measured.all();
    // Each of three transactions waits 30 and 40 ms.
    let pauses_us = 3 * 70_000;
    assert!(
        (pauses_us..pauses_us + 150_000).contains(&all.work.backoff_us),
        "{:?}",
        all.work
    );
    assert!(all.service.sum_us() >= pauses_us);
    let tries_us = all.work.lost_us + all.work.kept_us;
    assert!(
        // Each figure is rounded to a microsecond.
        all.service.sum_us() + 20 >= tries_us + all.work.backoff_us,
        "{:?}",
        all.work
    );
    let reported = |recording: &Recording| reasons(recording).len();
    assert_eq!((reported(&paused), reported(&at_once)), (1, 1));
}

#[test]
fn a_deadline_ends_retries_and_no_pause_is_waited_for_in_vain() {
    sql("create function always() returns int language plpgsql as
             $$ begin raise 'not now' using errcode = 'deadlock_detected'; end $$");
    let unlimited = Drive {
        max_tries: 0,
        retry_deadline: Some(millis(60)),
        ..drive("\\sleep 5 ms\nselect always();\n")
    };
    let (recording, _) = run(&unlimited);
    let all = recording.measured.all();
    assert_eq!((all.counts.failed_total(), all.work.given_up), (1, 1));
    // Each try takes at least 5 ms.
    assert!((1..=12).contains(&all.counts.retries), "{:?}", all.work);

    // The first pause would end behind the deadline.
    let (recording, _) = run(&Drive {
        backoff: Some(Backoff {
            base: millis(5000),
            cap: millis(5000),
            jitter: Jitter::None,
        }),
        ..unlimited.clone()
    });
    let all = recording.measured.all();
    assert_eq!((all.counts.retries, all.work.backoff_us), (0, 0));
    assert!(recording.measured.elapsed_us < 4_500_000);

    // Nor is one that would end behind the run.
    let (recording, _) = run(&Drive {
        retry_deadline: None,
        until: Until::Elapsed(millis(100)),
        backoff: Some(Backoff {
            base: millis(5000),
            cap: millis(5000),
            jitter: Jitter::None,
        }),
        ..unlimited
    });
    assert!(recording.measured.elapsed_us < 4_500_000);
    let work = recording.measured.all().work;
    assert!(work.cut_off > 1 && work.given_up == 0, "{work:?}");
}

#[test]
fn a_pausing_client_ends_on_request() {
    sql("create function pausing() returns int language plpgsql as
             $$ begin raise 'not now' using errcode = 'deadlock_detected'; end $$");
    let drive = Drive {
        max_tries: 0,
        backoff: Some(Backoff {
            base: millis(60_000),
            cap: millis(60_000),
            jitter: Jitter::None,
        }),
        ..drive("select pausing();\n")
    };
    let control = pgdyno_drive::Control::default();
    let recording = std::thread::scope(|scope| {
        scope.spawn(|| {
            std::thread::sleep(millis(300));
            control.finish();
        });
        drive.run(&control, &mut Seen::default()).unwrap()
    });
    let all = recording.measured.all();
    assert_eq!((all.counts.failed_total(), all.work.cut_off), (1, 1));
    assert!(all.work.backoff_us > 100_000 && recording.measured.elapsed_us < 30_000_000);
}

#[test]
fn a_block_is_replayed_from_its_savepoint_with_the_same_values() {
    for (name, mode) in [
        ("back_s", QueryMode::Simple),
        ("back_e", QueryMode::Extended),
        ("back_p", QueryMode::Prepared),
    ] {
        flaky(name);
        let proxy = RecordingProxy::start(socket());
        let script = format!(
            "\\set a random(1, 1000000)\nbegin;\n\\set b random(1, 1000000)\n\
             select :a::int, :b::int, {name}();\nend;\n"
        );
        let recording = run_well(&Drive {
            endpoints: vec![vec![candidate_at(Addr::Tcp(proxy.tcp_address()), &[])]],
            until: transactions(2),
            max_tries: 3,
            ..with_savepoint(mode, &script)
        });
        let counts = counts(&recording);
        assert_eq!((counts.committed, counts.retries), (2, 4));
        let work = recording.measured.all().work;
        // SAVEPOINT and BEGIN belong to the first try; RELEASE and END to the last.
        assert_eq!(
            (work.lost_statements, work.kept_statements),
            (2 * (3 + 1), 2 * 3)
        );
        if mode == QueryMode::Simple {
            let sent = proxy.settle()[0].described();
            let word = |text: &String| {
                let text = text.trim_start_matches("Query ").trim_matches('"');
                text.split(' ').next().unwrap_or_default().to_owned()
            };
            let words: Vec<String> = sent.iter().map(word).collect();
            let one = [
                "begin;",
                "SAVEPOINT",
                "select",
                "ROLLBACK",
                "select",
                "ROLLBACK",
                "select",
                "RELEASE",
                "end;",
            ];
            assert_eq!(words[..9], one, "{sent:?}");
            assert_eq!(sent[3], "Query \"ROLLBACK TO SAVEPOINT again\"");
            assert!(sent[2] == sent[4] && sent[4] == sent[6], "{sent:?}");
            assert_ne!(sent[2], sent[11]);
        }
    }
}

#[test]
fn a_savepoint_that_leads_nowhere_ends_in_a_rollback_of_the_whole() {
    sql("create function hopeless() returns int language plpgsql as
             $$ begin raise 'not now' using errcode = 'serialization_failure'; end $$;
         create table hopeless_rows (n int)");
    let script = "begin;\ninsert into hopeless_rows values (1);\nselect hopeless();\nend;\n";
    let (recording, seen) = run(&Drive {
        until: transactions(2),
        max_tries: 3,
        ..with_savepoint(QueryMode::Simple, script)
    });
    assert_eq!(seen.messages, Vec::<String>::new());
    let counts = counts(&recording);
    assert_eq!((counts.failed_total(), counts.retries), (2, 4));
    assert_eq!(recording.measured.all().work.lost_tries, 6);
    assert_eq!(value("select count(*) from hopeless_rows"), 0);
    // So does one without time for its pause.
    let (recording, _) = run(&Drive {
        until: Until::Elapsed(millis(100)),
        max_tries: 0,
        backoff: Some(Backoff {
            base: millis(5000),
            cap: millis(5000),
            jitter: Jitter::None,
        }),
        ..with_savepoint(QueryMode::Simple, script)
    });
    let work = recording.measured.all().work;
    assert!(work.cut_off > 0 && work.given_up == 0, "{work:?}");
    assert_eq!(recording.clients.aborted, 0);
    assert_eq!(value("select count(*) from hopeless_rows"), 0);
}

const RULES: &[ErrorRule] = &[
    ErrorRule::retryable(
        "40001",
        "RETRY_WRITE_TOO_OLD",
        "RETRY_WRITE_TOO_OLD",
        ErrorClass::Serialization,
    ),
    ErrorRule::fatal("40003", "", "result is ambiguous", ErrorClass::Ambiguous),
    ErrorRule::fatal("57P01", "", "draining", ErrorClass::Draining),
];

/// What CockroachDB 19.1 answered (captured).
const TOO_OLD: &str = "restart transaction: TransactionRetryWithProtoRefreshError: \
    TransactionRetryError: retry txn (RETRY_WRITE_TOO_OLD): \"sql txn\" id=57f1c297 \
    key=/Table/73/1/1/0 rw=true pri=0.00162241 stat=PENDING epo=0";

fn on(server: &Scripted, drive: Drive) -> Drive {
    Drive {
        endpoints: vec![vec![candidate_at(Addr::Tcp(server.address), &[])]],
        errors: RULES,
        ..drive
    }
}

#[test]
fn cockroachdbs_protocol_is_spoken_as_it_was_recorded() {
    let server = Scripted::start(vec![
        ("begin;", done("BEGIN", b'T')),
        ("SAVEPOINT again;", done("SAVEPOINT", b'T')),
        ("update rp set v = 1;", done("UPDATE 1", b'T')),
        ("RELEASE SAVEPOINT again;", error("40001", TOO_OLD, b'E')),
        ("ROLLBACK TO SAVEPOINT again", done("SAVEPOINT", b'T')),
        ("update rp set v = 1;", done("UPDATE 1", b'T')),
        ("RELEASE SAVEPOINT again;", done("COMMIT", b'T')),
        ("commit;", done("COMMIT", b'I')),
    ]);
    let recording = run_well(&on(
        &server,
        Drive {
            max_tries: 10,
            checks_commit: true,
            ..with_savepoint(QueryMode::Simple, "begin;\nupdate rp set v = 1;\ncommit;\n")
        },
    ));
    server.check();
    assert_eq!(counts(&recording).retries, 1);
    let reason = &recording.reasons[0];
    assert_eq!(reason.name, "RETRY_WRITE_TOO_OLD");
    assert_eq!(reason.message, format!("ERROR:  {TOO_OLD}"));
}

#[test]
fn what_was_released_is_never_tried_again() {
    let server = Scripted::start(vec![
        ("begin;", done("BEGIN", b'T')),
        ("SAVEPOINT again;", done("SAVEPOINT", b'T')),
        ("RELEASE SAVEPOINT again;", done("COMMIT", b'T')),
        ("commit;", error("40001", TOO_OLD, b'I')),
    ]);
    let drive = Drive {
        max_tries: 10,
        ..with_savepoint(QueryMode::Simple, "begin;\ncommit;\n")
    };
    let (recording, _) = run(&on(&server, drive));
    server.check();
    assert_eq!(
        (counts(&recording).unknown, counts(&recording).total()),
        (1, 1)
    );
}

#[test]
fn an_ambiguous_result_is_unknown_and_never_tried_again() {
    let server = Scripted::start(vec![
        ("begin;", done("BEGIN", b'T')),
        (
            "commit;",
            error("40003", "result is ambiguous (error=…)", b'I'),
        ),
        ("begin;", done("BEGIN", b'T')),
        ("commit;", done("COMMIT", b'I')),
    ]);
    let (recording, seen) = run(&on(
        &server,
        Drive {
            max_tries: 0,
            until: transactions(2),
            ..drive("begin;\ncommit;\n")
        },
    ));
    server.check();
    // It is an answer like another: the client goes on.
    assert_eq!(seen.messages, Vec::<String>::new());
    let counts = counts(&recording);
    assert_eq!(
        (counts.unknown, counts.committed, counts.retries),
        (1, 1, 0)
    );
    let work = recording.measured.all().work;
    assert_eq!((work.lost_tries, work.given_up), (0, 0));
    let ambiguous = (ErrorClass::Ambiguous, "result is ambiguous", 0, 1);
    assert_eq!(reasons(&recording), [ambiguous]);
}

#[test]
fn a_commit_that_is_answered_with_rollback_is_no_goodput() {
    let conversation = || {
        vec![
            ("begin;", done("BEGIN", b'T')),
            ("commit;", done("ROLLBACK", b'I')),
            ("begin;", done("BEGIN", b'T')),
            ("commit;", done("COMMIT", b'I')),
        ]
    };
    let server = Scripted::start(conversation());
    let checked = Drive {
        checks_commit: true,
        max_tries: 3,
        until: transactions(2),
        ..drive("begin;\ncommit;\n")
    };
    let (recording, seen) = run(&on(&server, checked.clone()));
    server.check();
    assert_eq!(seen.messages, Vec::<String>::new());
    assert_eq!(failed(&recording, Failure::RolledBack), 1);
    assert_eq!(
        (counts(&recording).committed, counts(&recording).retries),
        (1, 0)
    );
    assert_eq!(recording.reasons[0].class, ErrorClass::RolledBack);
    // pgbench does not look.
    let server = Scripted::start(conversation());
    let recording = run_well(&on(
        &server,
        Drive {
            checks_commit: false,
            ..checked
        },
    ));
    server.check();
    assert_eq!(counts(&recording).committed, 2);
}

#[test]
fn a_rollback_that_the_script_asks_for_is_no_failure() {
    sql("create table undone (n int)");
    for (mode, script) in [
        (
            QueryMode::Simple,
            "begin;\ninsert into undone values (1);\nrollback;\n",
        ),
        (
            QueryMode::Prepared,
            "begin;\ninsert into undone values (1);\nabort;\n",
        ),
        (
            QueryMode::Simple,
            "begin\\; savepoint a\\; insert into undone values (1)\\; rollback to a\\; rollback;\n",
        ),
        (
            QueryMode::Extended,
            "\\startpipeline\nbegin;\nrollback;\n\\endpipeline\n",
        ),
    ] {
        let recording = run_well(&Drive {
            checks_commit: true,
            until: transactions(2),
            ..drive_in(mode, script)
        });
        assert_eq!(counts(&recording).committed, 2, "{script}");
    }
    assert_eq!(value("select count(*) from undone"), 0);
}

#[test]
fn a_commit_in_a_pipeline_that_a_failed_statement_undid_is_rolled_back_by_that() {
    let script = "\\startpipeline\nbegin;\nselect 1 / 0;\n\\syncpipeline\ncommit;\n\\endpipeline\n";
    let (recording, _) = run(&Drive {
        checks_commit: true,
        on_error: OnError::Continue,
        until: transactions(2),
        ..drive_in(QueryMode::Extended, script)
    });
    // The first error is the reason, the answer ROLLBACK its consequence.
    assert_eq!(failed(&recording, Failure::from_sqlstate("22012")), 2);
}

#[test]
fn the_words_of_a_server_that_goes_are_a_reason() {
    let server = Scripted::start(vec![
        ("begin;", done("BEGIN", b'T')),
        ("select 1;", last_words("57P01", "server is shutting down")),
    ]);
    let (recording, _) = run(&on(
        &server,
        Drive {
            on_connection_loss: OnConnectionLoss::EndClient,
            ..drive("begin;\nselect 1;\nend;\n")
        },
    ));
    server.check();
    assert_eq!(failed(&recording, Failure::ConnectionLost), 1);
    assert_eq!(
        reasons(&recording),
        [(ErrorClass::Draining, "draining", 0, 1)]
    );
    assert_eq!(recording.measured.all().work.lost_tries, 1);
}

#[test]
fn a_refused_connection_tells_why_its_transaction_failed() {
    let server =
        pgdyno_testkit::postgres_with(&["max_connections=5", "superuser_reserved_connections=0"]);
    const FULL: &[ErrorRule] = &[ErrorRule::fatal("53300", "", "full", ErrorClass::Overload)];
    let (recording, _) = run(&Drive {
        endpoints: vec![vec![candidate_at(
            Addr::Unix(server.address().socket_path()),
            &[],
        )]],
        errors: FULL,
        clients: 30,
        connection_per_transaction: true,
        until: transactions(20),
        ..drive("select pg_sleep(0.01);\n")
    });
    let refused = failed(&recording, Failure::ConnectionRefused);
    assert!(refused > 0);
    let [(ErrorClass::Overload, "full", 0, ended)] = reasons(&recording)[..] else {
        panic!("{:?}", recording.reasons);
    };
    assert_eq!(ended, refused);
    // Nothing was tried, and nothing thrown away.
    assert_eq!(recording.measured.all().work.lost_tries, 0);
}

#[test]
fn the_servers_own_retries_are_counted_from_what_a_procedure_returns() {
    sql("create sequence own_tries;
         create procedure tries_itself(inout retries int) language plpgsql as $$
         begin
            retries := nextval('own_tries') % 3;
         end $$");
    let mut names = Names::new();
    let slot = names.intern("retries");
    let script = pgdyno_script::parse("s", "call tries_itself(0) \\gset\n", &mut names).unwrap();
    let mut scripts = Drive::compile(vec![(script, 1)], QueryMode::Simple, None).unwrap();
    scripts[0].server_retries = Some(slot);
    let drive = Drive {
        scripts,
        names: names.clone(),
        until: transactions(6),
        ..drive("select 1;\n")
    };
    let recording = run_well(&drive);
    // 1, 2, 0, 1, 2, 0
    assert_eq!(recording.measured.all().work.server_retries, 6);
    assert_eq!(counts(&recording).retries, 0);

    // What is no count ends the client and says so.
    let mut names = Names::new();
    let slot = names.intern("retries");
    let script = pgdyno_script::parse("s", "select 1;\n", &mut names).unwrap();
    let mut scripts = Drive::compile(vec![(script, 1)], QueryMode::Simple, None).unwrap();
    scripts[0].server_retries = Some(slot);
    let (recording, seen) = run(&Drive {
        scripts,
        names,
        ..drive
    });
    assert_eq!(failed(&recording, Failure::Script), 1);
    assert!(
        seen.messages[0]
            .contains("the variable retries should hold the number of the server's retries"),
        "{:?}",
        seen.messages
    );
}
