//! Errors that end a client: how they are counted, and a run that ends with its first one.

use std::time::Instant;

use pgdyno_drive::Drive;
use pgdyno_measurement::{End, Failure};
use pgdyno_spec::{QueryMode, Until};

use crate::support::*;

#[test]
fn a_run_ends_at_once_with_its_first_client_when_asked_to() {
    // The others have begun when it fails.
    let script = "begin;\n\\if :client_id = 2\nselect 1 / length(pg_sleep(0.5)::text);\n\\endif\n\
                  select pg_sleep(60);\nend;\n";
    let begin = Instant::now();
    let (recording, seen) = run(&Drive {
        clients: 4,
        threads: 2,
        exit_on_abort: true,
        until: Until::Elapsed(millis(60_000)),
        ..drive(script)
    });
    // The first thread has the clients 0 and 1.
    assert_eq!(recording.end, End::ClientAborted { thread: 1 });
    let expected = "client 2 script 0 aborted in command 2 query 0: ERROR:  division by zero";
    assert_eq!(seen.messages, [expected]);
    assert_eq!(recording.clients.aborted, 1);
    assert_eq!(failed(&recording, Failure::Interrupted), 3);
    assert!(begin.elapsed().as_secs() < 10);
}

#[test]
fn a_run_of_which_no_client_ends_early_ends_as_usual() {
    let recording = run_well(&Drive {
        clients: 2,
        exit_on_abort: true,
        until: transactions(3),
        ..drive("select 1;")
    });
    assert_eq!(
        (recording.end, counts(&recording).committed),
        (End::Complete, 6)
    );
}

#[test]
fn a_client_that_has_ended_gives_its_session_back_while_others_work() {
    sql("create function ends_alone() returns void language plpgsql as $$ begin
         for tries in 1..6000 loop
             perform pg_stat_clear_snapshot();
             if (select count(*) from pg_stat_activity where application_name = 'ends_alone') = 1 then
                 return;
             end if;
             perform pg_sleep(0.01);
         end loop;
         raise 'the others are still there';
         end $$");
    let recording = run_well(&Drive {
        endpoints: named("ends_alone"),
        clients: 3,
        until: transactions(1),
        ..drive("\\if :client_id = 0\nselect ends_alone();\n\\endif\n")
    });
    assert_eq!(counts(&recording).committed, 3);
}

#[test]
fn a_server_that_goes_away_while_a_client_has_nothing_more_to_do_is_no_error() {
    let script = "\\if :client_id = 0\n\\sleep 300 ms\n\
                  select count(pg_terminate_backend(pid)) from pg_stat_activity \
                  where application_name = 'ends_gone' and pid <> pg_backend_pid();\n\
                  \\sleep 200 ms\nselect 1;\n\\endif\n";
    let recording = run_well(&Drive {
        endpoints: named("ends_gone"),
        clients: 3,
        until: transactions(1),
        ..drive(script)
    });
    assert_eq!(
        (recording.end, counts(&recording).committed),
        (End::Complete, 3)
    );
    // Waiting for the rest did not mean looking at what is closed over and over.
    assert!(
        recording.threads[0].busy_share() < 0.5,
        "{:?}",
        recording.threads
    );
}

#[test]
fn errors_that_end_a_client_are_no_failures_of_their_command() {
    sql("create sequence ends_calls;
         create function ends() returns int language plpgsql as $$
         begin
            if nextval('ends_calls') < 3 then
                raise 'not now' using errcode = 'serialization_failure';
            end if;
            raise 'never' using errcode = 'data_exception';
         end $$");
    let (recording, _) = run(&Drive {
        until: transactions(5),
        ..drive("select 1;\nselect ends();\n")
    });
    let statement = &recording.statements[0][1];
    assert_eq!((statement.failures, statement.aborts), (2, 1));
    assert_eq!(recording.statements[0][0].aborts, 0);
    assert_eq!(failed(&recording, Failure::SERIALIZATION), 2);
    assert_eq!(counts(&recording).total(), 3);
}

#[test]
fn every_command_is_timed_when_asked_for() {
    let script = "\\set x 1\n\\if :x = 2\nselect 2;\n\\elif :x = 1\nselect 1;\n\\else\nselect 3;\n\
                  \\endif\n\\if false\n\\endif\n\\if true\n\\endif\n\\sleep 20 ms\n";
    for (every, expected) in [
        // What pgbench executes: an \\else that ends a branch, no \\endif behind one.
        (true, [3, 3, 0, 3, 3, 3, 0, 0, 3, 0, 3, 3, 3]),
        (false, [0, 0, 0, 0, 3, 0, 0, 0, 0, 0, 0, 0, 3]),
    ] {
        let recording = run_well(&Drive {
            time_every_command: every,
            until: transactions(3),
            ..drive_in(QueryMode::Simple, script)
        });
        let timed = recording.statements[0].iter().map(|s| s.latencies.count());
        assert_eq!(timed.collect::<Vec<u64>>(), expected);
        let sleep = &recording.statements[0][12].latencies;
        assert!(sleep.mean_us() >= Some(20_000.0));
        // The time of what comes before a command is not the command's own.
        let set = &recording.statements[0][1].latencies;
        assert!(set.histogram().min_us().is_none_or(|us| us < 20_000));
    }
}
