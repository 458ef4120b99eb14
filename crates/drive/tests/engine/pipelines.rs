//! Pipelines: many statements, one journey.

use pgdyno_drive::Drive;
use pgdyno_measurement::Failure;
use pgdyno_spec::{OnError, QueryMode};

use crate::support::*;

const PIPELINED: [QueryMode; 2] = [QueryMode::Extended, QueryMode::Prepared];

#[test]
fn all_statements_of_a_pipeline_are_executed_in_order() {
    for mode in PIPELINED {
        sql("drop table if exists piped; create table piped (n int, at serial)");
        let script = "\\set n 5\n\\startpipeline\nbegin;\ninsert into piped values (:n);\nend;\n\
                      \\syncpipeline\ninsert into piped values (:n + 1);\n\\endpipeline\n\
                      select 1;\n\\startpipeline\n\\endpipeline\n";
        let recording = run_well(&Drive {
            clients: 3,
            threads: 2,
            until: transactions(10),
            ..drive_in(mode, script)
        });
        assert_eq!(counts(&recording).committed, 30);
        assert_eq!(value("select count(*) from piped where n = 5"), 30);
        assert_eq!(value("select count(*) from piped where n = 6"), 30);
        let executed = recording.statements[0].iter();
        let executed: Vec<u64> = executed.map(|s| s.latencies.count()).collect();
        assert_eq!(executed, [0, 30, 30, 30, 30, 30, 30, 30, 30, 30, 30]);
    }
}

#[test]
fn an_error_in_the_middle_is_retried_whole_and_the_connection_stays_in_step() {
    sql("create table piped_once (n int)");
    fails_at_calls("piped_flaky", "% 2 = 0");
    for mode in PIPELINED {
        sql("truncate piped_once");
        let script = "\\startpipeline\nbegin;\ninsert into piped_once values (1);\n\
                      select piped_flaky();\nselect 1;\nend;\n\\syncpipeline\nselect 2;\n\\endpipeline\n\
                      select 3 as three \\gset\nselect 1 / (:three::int = 3)::int;\n";
        let recording = run_well(&Drive {
            until: transactions(6),
            max_tries: 3,
            ..drive_in(mode, script)
        });
        let counts = counts(&recording);
        assert_eq!(counts.committed, 6);
        assert!((5..=6).contains(&counts.retries), "{counts:?}");
        // The error is that of the command at which the pipeline's answers are read.
        assert_eq!(recording.statements[0][8].retries, counts.retries);
        assert_eq!(value("select count(*) from piped_once"), 6);
    }
}

#[test]
fn another_error_in_a_pipeline_fails_the_transaction_and_the_client_can_go_on() {
    for mode in PIPELINED {
        sql("drop table if exists piped_key; create table piped_key (n int primary key)");
        let script =
            "\\startpipeline\ninsert into piped_key values (1);\nselect 1;\n\\endpipeline\n";
        let (recording, seen) = run(&Drive {
            until: transactions(5),
            on_error: OnError::Continue,
            ..drive_in(mode, script)
        });
        assert_eq!(seen.messages, Vec::<String>::new());
        assert_eq!(counts(&recording).committed, 1);
        assert_eq!(failed(&recording, Failure::from_sqlstate("23505")), 4);
    }
}

#[test]
fn more_than_the_buffers_hold_goes_both_ways_at_once() {
    // 600 KB of statements and 3 MB of answers: who only sends or only reads would wait for ever.
    let statement = format!("select repeat('r', 10000), '{}';\n", "s".repeat(2000));
    let script = format!("\\startpipeline\n{}\\endpipeline\n", statement.repeat(300));
    for mode in PIPELINED {
        let recording = run_well(&Drive {
            clients: 2,
            until: transactions(2),
            ..drive_in(mode, &script)
        });
        assert_eq!(counts(&recording).committed, 4);
        assert_eq!(recording.statements[0][300].latencies.count(), 4);
    }
}

#[test]
fn a_pipeline_that_was_never_sent_is_failed_not_unknown() {
    sql("create table never_sent (n int)");
    for mode in PIPELINED {
        let script =
            "\\startpipeline\ninsert into never_sent values (1);\n\\set x 1 / 0\n\\endpipeline\n";
        let (recording, _) = run(&drive_in(mode, script));
        assert_eq!(failed(&recording, Failure::Script), 1);
        assert_eq!(
            (counts(&recording).unknown, counts(&recording).total()),
            (0, 1)
        );
    }
    assert_eq!(value("select count(*) from never_sent"), 0);
}
