//! Runs that are stopped from outside.

use std::thread;
use std::time::Instant;

use pgdyno_drive::{Control, Drive};
use pgdyno_measurement::{DriveError, End, Failure};
use pgdyno_spec::Until;

use crate::support::*;

/// Runs it and does something meanwhile.
fn run_and(
    drive: &Drive,
    meanwhile: impl FnOnce(&Control) + Send,
) -> (pgdyno_measurement::Recording, f64) {
    let control = Control::default();
    let begin = Instant::now();
    let (recording, seen) = thread::scope(|scope| {
        scope.spawn(|| meanwhile(&control));
        run_with(drive, &control)
    });
    assert_eq!(seen.messages, Vec::<String>::new());
    assert_eq!(recording.end, End::Interrupted);
    (recording, begin.elapsed().as_secs_f64())
}

#[test]
fn finishing_lets_transactions_in_flight_end() {
    let drive = Drive {
        clients: 3,
        threads: 2,
        endpoints: named("in_flight"),
        until: Until::Elapsed(millis(60_000)),
        ..drive("begin;\nselect pg_sleep(0.4);\nend;\n")
    };
    let (recording, elapsed_s) = run_and(&drive, |control| {
        let all = "select (count(*) = 3)::int from pg_stat_activity
             where application_name = 'in_flight' and wait_event = 'PgSleep'";
        wait_until(&mut admin(), all);
        control.finish();
    });
    assert_eq!(counts(&recording).committed, 3);
    assert_eq!(counts(&recording).total(), 3);
    assert!(elapsed_s < 20.0, "{elapsed_s} s");
}

#[test]
fn clients_that_wait_for_their_schedule_end_at_once() {
    let drive = Drive {
        clients: 4,
        threads: 2,
        rate: Some(0.001.into()),
        until: Until::Elapsed(millis(600_000)),
        ..drive("select 1;")
    };
    let (recording, elapsed_s) = run_and(&drive, |control| {
        thread::sleep(millis(200));
        control.finish();
    });
    assert_eq!(counts(&recording).total(), 0);
    assert!(elapsed_s < 30.0, "{elapsed_s} s");
}

#[test]
fn stopping_now_books_unknown_where_a_commit_is_under_way_and_else_interrupted() {
    sql("create table stopped (n int);
         create function stopped_wait() returns trigger language plpgsql as
             $$ begin perform pg_sleep(5); return null; end $$;
         create constraint trigger stopped_wait after insert on stopped
             deferrable initially deferred for each row execute function stopped_wait()");
    let script = "begin;\n\\if :client_id = 0\ninsert into stopped values (1);\n\\elif :client_id = 1\n\
                  select pg_sleep(30);\n\\else\n\\sleep 30 s\n\\endif\nend;\n";
    let drive = Drive {
        clients: 3,
        endpoints: named("stopped"),
        ..drive(script)
    };
    let (recording, elapsed_s) = run_and(&drive, |control| {
        let both = "select (count(*) = 2)::int from pg_stat_activity
             where application_name = 'stopped' and wait_event = 'PgSleep'";
        wait_until(&mut admin(), both);
        control.stop_now();
    });
    assert_eq!(counts(&recording).unknown, 1);
    assert_eq!(failed(&recording, Failure::Interrupted), 2);
    assert_eq!(counts(&recording).total(), 3);
    assert!(elapsed_s < 20.0, "{elapsed_s} s");
}

#[test]
fn grace_ends_a_transaction_that_hangs_on_a_lock() {
    sql("create table locked (n int)");
    let mut holder = admin();
    holder.execute("begin; lock table locked").unwrap();
    let drive = Drive {
        endpoints: named("locked"),
        grace: millis(200),
        ..drive("begin;\ninsert into locked values (1);\nend;\n")
    };
    let (recording, elapsed_s) = run_and(&drive, |control| {
        let waits = "select count(*) from pg_stat_activity
             where application_name = 'locked' and wait_event_type = 'Lock'";
        wait_until(&mut admin(), waits);
        control.finish();
    });
    assert_eq!(failed(&recording, Failure::Interrupted), 1);
    assert_eq!(counts(&recording).total(), 1);
    assert!(elapsed_s < 20.0, "{elapsed_s} s");
    // The lock is still held, and nothing waits for it any more.
    let none = "select (count(*) = 0)::int from pg_stat_activity where application_name = 'locked'";
    wait_until(&mut admin(), none);
    holder.execute("rollback").unwrap();
}

#[test]
fn a_run_that_was_stopped_before_it_began_says_so() {
    let control = Control::default();
    control.finish();
    let error = drive("select 1;").run(&control, &mut Seen::default());
    assert!(matches!(error, Err(DriveError::Interrupted)), "{error:?}");
}

#[test]
fn what_makes_no_sense_is_refused_before_anything_is_connected() {
    let one = || drive("select 1;");
    for (drive, words) in [
        (
            Drive {
                clients: 0,
                ..one()
            },
            "at least one client",
        ),
        (
            Drive {
                threads: 0,
                ..one()
            },
            "one thread",
        ),
        (
            Drive {
                endpoints: vec![],
                ..one()
            },
            "no endpoint",
        ),
        (
            Drive {
                endpoints: vec![vec![]],
                ..one()
            },
            "no endpoint",
        ),
        (
            Drive {
                scripts: vec![],
                ..one()
            },
            "no script",
        ),
        (
            mix(&[("select 1;", 0)], pgdyno_spec::QueryMode::Simple),
            "every weight is zero",
        ),
        (
            Drive {
                rate: Some(0.0.into()),
                ..one()
            },
            "rate",
        ),
        (
            Drive {
                rate: Some(f64::NAN.into()),
                ..one()
            },
            "rate",
        ),
    ] {
        let error = drive.run(&Control::default(), &mut Seen::default());
        let error = error.expect_err(words).to_string();
        assert!(error.contains(words), "{error}");
    }
}
