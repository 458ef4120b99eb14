//! Work units: booked when they are committed, by operation, for all clients; and a client's last
//! statement.

use pgdyno_drive::Drive;
use pgdyno_measurement::{Failure, Recording, Units};
use pgdyno_script::{Language, Names};
use pgdyno_spec::{OnError, QueryMode};

use crate::support::*;

/// A drive of one script in pgdyno's language.
fn drive(mode: QueryMode, script: &str) -> Drive {
    let mut names = Names::new();
    let script = Language::Pgdyno.parse("units", script, &mut names).unwrap();
    let scripts = Drive::compile(vec![(script, 1)], mode, None).unwrap();
    Drive {
        query_mode: mode,
        until: transactions(1),
        ..Drive::new(named("units"), scripts, names)
    }
}

/// What was counted of an operation.
fn of(recording: &Recording, operation: &str) -> Units {
    let place = recording.operations.iter().position(|o| o == operation);
    let all = recording.measured.all().units;
    all.get(place.expect(operation))
        .cloned()
        .unwrap_or_default()
}

#[test]
fn each_execution_of_a_marked_statement_is_a_unit_with_its_rows() {
    sql("create table units (n int); insert into units select generate_series(1, 50)");
    let script = "select count(*), 'x' from units where n <= 20 \\unit read\n\
                  select n from units where n between 7 and 9 order by n \\unit first\n\
                  update units set n = n where n <= 5 \\unit write\n\
                  delete from units where n > 1000 \\unit none\nselect 1;\n";
    for mode in MODES {
        let recording = run_well(&Drive {
            until: transactions(10),
            clients: 2,
            threads: 2,
            ..drive(mode, script)
        });
        assert_eq!(recording.operations, ["read", "first", "write", "none"]);
        let counted = ["read", "first", "write", "none"].map(|o| of(&recording, o));
        // The first column of the last row tells, where there is a number in it.
        assert_eq!(counted.each_ref().map(|u| u.rows), [400, 180, 100, 0]);
        assert!(counted.iter().all(|u| u.count() == 20));
        let of_seconds = recording.seconds.iter().flat_map(|s| &s.scripts);
        let rows: u64 = of_seconds.flat_map(|s| &s.units).map(|u| u.rows).sum();
        assert_eq!(rows, 680);
    }
}

#[test]
fn a_unit_of_a_pipeline_lasts_from_the_answer_before_it() {
    let script = "\\startpipeline\n\\for i 1 4\nselect 7, pg_sleep(0.02) \\unit nap\n\\if :i < 4\n\
                  \\syncpipeline\n\\endif\n\\endfor\n\\endpipeline\n";
    for mode in [QueryMode::Extended, QueryMode::Prepared] {
        let recording = run_well(&Drive {
            until: transactions(3),
            ..drive(mode, script)
        });
        let naps = of(&recording, "nap");
        assert_eq!((naps.count(), naps.rows), (12, 84));
        // Each its own 20 ms, and none of those before it.
        let (sum_us, all_us) = (
            naps.latencies.sum_us(),
            recording.measured.all().service.sum_us(),
        );
        // Each is rounded to a microsecond of its own.
        let most_us = all_us + naps.count();
        assert!(
            (240_000..=most_us).contains(&sum_us),
            "{sum_us} of {all_us}"
        );
    }
}

#[test]
fn what_is_rolled_back_was_no_work() {
    sql("create table units_undone (n int primary key)");
    let block = "begin;\ninsert into units_undone values (1) \\unit write\n\
                 insert into units_undone values (2) \\unit write\nrollback;\n";
    let recording = run_well(&drive(QueryMode::Simple, block));
    assert_eq!(of(&recording, "write").count(), 0);
    let recording = run_well(&drive(
        QueryMode::Simple,
        &block.replace("rollback", "savepoint s;\nend"),
    ));
    assert_eq!(of(&recording, "write").count(), 2);
    sql("truncate units_undone");

    // The second statement fails, and with it what its Sync would have committed.
    let failing = "\\startpipeline\ninsert into units_undone values (3) \\unit write\n\
                   \\syncpipeline\ninsert into units_undone values (4) \\unit write\n\
                   insert into units_undone values (3) \\unit write\n\\syncpipeline\n\
                   insert into units_undone values (5) \\unit write\n\\endpipeline\n";
    let (recording, _) = run(&Drive {
        on_error: OnError::Continue,
        ..drive(QueryMode::Prepared, failing)
    });
    assert_eq!(failed(&recording, Failure::from_sqlstate("23505")), 1);
    assert_eq!(value("select count(*) from units_undone"), 2);
    let write = of(&recording, "write");
    assert_eq!((write.count(), write.rows), (2, 2));
}

#[test]
fn what_the_server_tells_of_its_units_is_booked() {
    let script = "select '{510,3000,2000,0,0,2,1}'::bigint[] as read, null::bigint[] as write, \
                  '{0,0,0}' as none, 41 + 1 as answer \\units read write none\n\
                  \\if :answer <> 42\n\\error 'the other columns are variables'\n\\endif\n";
    for mode in MODES {
        let recording = run_well(&Drive {
            until: transactions(2),
            ..drive(mode, script)
        });
        let read = of(&recording, "read");
        assert_eq!((read.count(), read.rows), (6, 1020));
        assert_eq!(
            (read.latencies.sum_us(), read.latencies.max_us()),
            (6000, 2000)
        );
        assert_eq!(of(&recording, "write").count(), 0);
        assert_eq!(of(&recording, "none").count(), 0);
    }
}

#[test]
fn what_tells_of_no_units_fails_its_transaction() {
    for (script, want) in [
        (
            "select 1 as read \\units read\n",
            "column \"read\" is not about work units",
        ),
        (
            "select 1 as other \\units read write\n",
            "expected columns read, write, got 0",
        ),
        (
            "select 1 where false \\units read\n",
            "expected one row, got 0",
        ),
        (
            "create table if not exists none () \\units read\n",
            "expected one row, got 0",
        ),
    ] {
        let (recording, seen) = run(&drive(QueryMode::Simple, script));
        assert_eq!(counts(&recording).committed, 0, "{script}");
        assert!(seen.messages.iter().any(|m| m.contains(want)), "{seen:?}");
        assert_eq!(of(&recording, "read").count(), 0);
    }
}

#[test]
fn a_client_that_has_done_its_work_says_its_last_statement() {
    sql("create table last_words (pid int)");
    let with_last = |statement: &str| Drive {
        clients: 5,
        threads: 2,
        until: transactions(3),
        last_statement: Some(statement.to_owned()),
        ..drive(QueryMode::Prepared, "select 1;\n")
    };
    let recording = run_well(&with_last(
        "insert into last_words values (pg_backend_pid())",
    ));
    assert_eq!(counts(&recording).committed, 15);
    assert_eq!(value("select count(distinct pid) from last_words"), 5);
    // What comes of it does not matter, not even that it ends the session.
    run_well(&with_last("select nonsense"));
    let recording = run_well(&with_last("select pg_terminate_backend(pg_backend_pid())"));
    assert_eq!(recording.clients.disconnected, 0);
    // It waits for no server longer than the grace.
    run_well(&Drive {
        grace: millis(50),
        ..with_last("select pg_sleep(100)")
    });
}
