//! Connections that break: what was lost, and what cannot be known.

use std::thread;

use pgdyno_drive::{Control, Drive, Live};
use pgdyno_measurement::{End, Event, Failure, Interval, Message};
use pgdyno_server::Server;
use pgdyno_spec::{QueryMode, Until};
use pgdyno_wire::Addr;

use crate::support::*;

/// A table whose rows take so many seconds to commit.
fn slow_to_commit(table: &str, seconds: f64) {
    sql(&format!(
        "create table {table} (n int);
         create function {table}_wait() returns trigger language plpgsql as
             $$ begin perform pg_sleep({seconds}); return null; end $$;
         create constraint trigger {table}_wait after insert on {table}
             deferrable initially deferred for each row execute function {table}_wait()"
    ));
}

/// A query that terminates what a condition on `pg_stat_activity` selects, and tells how many.
fn terminate(application: &str, condition: &str) -> String {
    format!(
        "select count(pg_terminate_backend(pid)) from pg_stat_activity
         where application_name = '{application}' and {condition}"
    )
}

#[test]
fn killed_during_commit_is_unknown_where_the_rows_are_lost() {
    slow_to_commit("lost", 30.0);
    let script = "begin;\ninsert into lost values (1);\ncommit;\n";
    for mode in MODES {
        let drive = Drive {
            endpoints: named("lost"),
            max_tries: 0,
            ..drive_in(mode, script)
        };
        let (recording, seen) = thread::scope(|scope| {
            scope.spawn(|| {
                let waits = "wait_event = 'PgSleep' and query ilike 'commit%'";
                wait_until(&mut admin(), &terminate("lost", waits));
            });
            run(&drive)
        });
        let counts = counts(&recording);
        assert_eq!((counts.unknown, counts.total()), (1, 1), "{mode:?}");
        assert_eq!(recording.clients.aborted, 1);
        assert_eq!(recording.clients.disconnected, 1);
        assert_eq!(recording.end, End::AllClientsAborted);
        assert!(seen.messages[0].contains("terminating connection due to administrator command"));
    }
    assert_eq!(value("select count(*) from lost"), 0);
}

#[test]
fn killed_during_commit_is_unknown_where_the_rows_are_there() {
    let server = pgdyno_testkit::postgres_with(&["synchronous_standby_names=absent"]);
    let socket = server.address().socket_path();
    // Only the clients wait for a standby that does not exist.
    let mut admin = admin_at(socket.clone(), &["synchronous_commit=local"]);
    admin.execute("create table kept (n int)").unwrap();
    for script in [
        "begin;\ninsert into kept values (1);\ncommit;\n",
        "insert into kept values (1);\n",
        "begin\\; insert into kept values (1)\\; end;\n",
    ] {
        let endpoint = candidate_at(Addr::Unix(socket.clone()), &["application_name=kept"]);
        let drive = Drive {
            endpoints: vec![vec![endpoint]],
            clients: 2,
            ..drive(script)
        };
        let (recording, _) = thread::scope(|scope| {
            scope.spawn(|| {
                let both = "select (count(*) = 2)::int from pg_stat_activity
                     where application_name = 'kept' and wait_event = 'SyncRep'";
                wait_until(&mut admin, both);
                admin.query(&terminate("kept", "true")).unwrap();
            });
            run(&drive)
        });
        assert_eq!(counts(&recording).unknown, 2, "{script}");
        assert_eq!(counts(&recording).total(), 2);
    }
    assert_eq!(value_of(&mut admin, "select count(*) from kept"), 6);
}

#[test]
fn killed_at_random_leaves_rows_between_committed_and_committed_plus_unknown() {
    slow_to_commit("random_kill", 0.003);
    let block = "begin;\ninsert into random_kill values (1);\n\\sleep 2 ms\nend;\n";
    let alone = "insert into random_kill values (1);\n";
    let (mut unknown, mut lost) = (0, 0);
    for mode in [QueryMode::Simple, QueryMode::Prepared] {
        let before = value("select count(*) from random_kill") as u64;
        let drive = Drive {
            endpoints: named("random_kill"),
            clients: 60,
            threads: 2,
            until: Until::Elapsed(millis(20_000)),
            ..mix(&[(block, 2), (alone, 1)], mode)
        };
        let (recording, _) = thread::scope(|scope| {
            scope.spawn(|| {
                let mut admin = admin();
                // The first rows come when all are connected.
                let begun = format!("select (count(*) > {before})::int from random_kill");
                wait_until(&mut admin, &begun);
                let kill = "select count(pg_terminate_backend(pid)) from (select pid from
                     pg_stat_activity where application_name = 'random_kill' and xact_start is not
                     null order by random() limit 2) doomed";
                let left = "select count(*) from pg_stat_activity
                     where application_name = 'random_kill'";
                while value_of(&mut admin, left) > 0 {
                    admin.query(kill).unwrap();
                    thread::sleep(millis(10));
                }
            });
            run(&drive)
        });
        let counts = counts(&recording);
        assert_eq!(recording.clients.disconnected, 60);
        assert_eq!(
            counts.unknown + failed(&recording, Failure::ConnectionLost),
            60
        );
        assert_eq!(counts.total(), counts.committed + 60);
        let rows = value("select count(*) from random_kill") as u64 - before;
        let possible = counts.committed..=counts.committed + counts.unknown;
        assert!(possible.contains(&rows), "{rows} rows, {counts:?}");
        unknown += counts.unknown;
        lost += failed(&recording, Failure::ConnectionLost);
    }
    // Both kinds of end have been met.
    assert!(unknown > 0 && lost > 0, "{unknown} unknown, {lost} lost");
}

#[test]
fn killed_in_a_block_before_its_commit_is_failed_not_unknown() {
    sql("create table before_commit (n int)");
    let script = "begin;\ninsert into before_commit values (1);\nselect pg_sleep(30);\nend;\n";
    for mode in MODES {
        let drive = Drive {
            endpoints: named("before_commit"),
            ..drive_in(mode, script)
        };
        let (recording, _) = thread::scope(|scope| {
            scope.spawn(|| {
                let sleeps = terminate("before_commit", "wait_event = 'PgSleep'");
                wait_until(&mut admin(), &sleeps);
            });
            run(&drive)
        });
        assert_eq!(failed(&recording, Failure::ConnectionLost), 1, "{mode:?}");
        assert_eq!(counts(&recording).total(), 1);
        assert_eq!(recording.statements[0][2].aborts, 1);
        assert_eq!(recording.statements[0][2].failures, 0);
    }
    assert_eq!(value("select count(*) from before_commit"), 0);
}

#[test]
fn killed_while_it_waits_for_its_schedule_fails_the_next_transaction_alone() {
    let drive = Drive {
        endpoints: named("between"),
        rate: Some(2.0.into()),
        until: transactions(50),
        ..drive("select 'between';\n")
    };
    let (recording, seen) = thread::scope(|scope| {
        scope.spawn(|| {
            let idle = "state = 'idle' and query ilike 'select ''between''%'";
            wait_until(&mut admin(), &terminate("between", idle));
        });
        run(&drive)
    });
    let counts = counts(&recording);
    assert!(counts.committed > 0);
    assert_eq!(failed(&recording, Failure::ConnectionLost), 1, "{counts:?}");
    assert_eq!(counts.total(), counts.committed + 1);
    let expected = "client 0 script 0 aborted in command 0 query 0: FATAL:  terminating connection \
                    due to administrator command";
    assert_eq!(seen.messages, [expected]);
}

/// Stops the server as soon as a second of the run is over.
struct StopAfterASecond(Option<Server>, Seen);

impl Live for StopAfterASecond {
    fn second(&mut self, interval: &Interval) {
        self.1.second(interval);
        if let Some(server) = self.0.take() {
            server.stop().unwrap();
        }
    }

    fn event(&mut self, event: &Event) {
        self.1.event(event);
    }

    fn message(&mut self, message: &Message) {
        self.1.message(message);
    }
}

#[test]
fn a_server_that_is_stopped_leaves_a_recording_of_what_was_measured() {
    let server = pgdyno_testkit::postgres_with(&[]);
    let endpoint = candidate_at(Addr::Unix(server.address().socket_path()), &[]);
    let drive = Drive {
        endpoints: vec![vec![endpoint]],
        clients: 5,
        threads: 2,
        max_tries: 0,
        until: Until::Elapsed(millis(20_000)),
        ..drive("begin;\nselect 1;\n\\sleep 1 ms\nend;\n")
    };
    let mut live = StopAfterASecond(Some(server), Seen::default());
    let recording = drive.run(&Control::default(), &mut live).unwrap();
    let seen = live.1;
    let counts = counts(&recording);
    assert!(counts.committed > 50, "{counts:?}");
    assert_eq!(
        (recording.clients.aborted, recording.clients.disconnected),
        (5, 5)
    );
    assert_eq!(recording.end, End::AllClientsAborted);
    let (aborted, remarks): (Vec<_>, Vec<_>) = seen
        .messages
        .iter()
        .partition(|message| message.contains("aborted in command"));
    assert_eq!(aborted.len(), 5, "{:?}", seen.messages);
    // The server's own remark reaches those that wait for it.
    let shutdown = "WARNING:  terminating connection due to immediate shutdown command";
    assert!(remarks.iter().all(|text| *text == shutdown), "{remarks:?}");
    assert_eq!(counts.total() - counts.committed, 5);
    assert!(recording.measured.elapsed_us < 5_000_000);
}
