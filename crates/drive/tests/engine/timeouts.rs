//! Answers that do not come in time.

use std::thread;
use std::time::{Duration, Instant};

use pgdyno_drive::Drive;
use pgdyno_measurement::Failure;
use pgdyno_spec::{OnConnectionLoss, QueryMode, Until};
use pgdyno_testkit::hostile::{Step, When};
use pgdyno_testkit::{HostileServer, Passes, StallingProxy};
use pgdyno_wire::Addr;

use crate::support::*;

#[test]
fn a_statement_that_waits_too_long_is_cancelled_and_its_client_goes_on() {
    let mut admin = connected(&socket());
    admin
        .execute(
            "drop table if exists held; create table held (n int); insert into held values (0)",
        )
        .unwrap();
    // In a block it has failed, by itself it is not known whether it was committed; a read has failed, too.
    for (script, failed, unknown) in [
        ("begin;\nupdate held set n = n + 1;\nend;\n", 3, 0),
        ("update held set n = n + 1;\n", 0, 3),
        ("select n from held for update;\n", 3, 0),
    ] {
        let mut holder = connected(&socket());
        holder
            .execute("begin; lock held in exclusive mode")
            .unwrap();
        let candidate = candidate_at(Addr::Unix(socket()), &["application_name=impatient"]);
        let (recording, seen) = run(&Drive {
            endpoints: vec![vec![candidate]],
            on_connection_loss: OnConnectionLoss::Reconnect,
            statement_timeout: Some(millis(200)),
            until: transactions(3),
            ..drive_in(QueryMode::Simple, script)
        });
        let counts = counts(&recording);
        let booked = (counts.committed, counts.failed_total(), counts.unknown);
        assert_eq!(booked, (0, failed, unknown), "{script}");
        let lost = "client 0 lost its connection: no answer within 200ms";
        assert!(seen.messages.iter().any(|text| text == lost), "{seen:?}");
        // While the lock is held: nothing waits for it any more.
        let gone = "select (count(*) = 0)::int from pg_stat_activity \
                    where application_name = 'impatient'";
        wait_until(&mut admin, gone);
        holder.execute("rollback").unwrap();
        assert_eq!(value_of(&mut admin, "select n from held"), 0);
    }
}

#[test]
fn a_server_that_hangs_holds_no_run() {
    for (mode, script) in [
        (QueryMode::Simple, "select 1 as marked;\n"),
        (QueryMode::Prepared, "select 1 as marked;\n"),
        (
            QueryMode::Extended,
            "\\startpipeline\nselect 1 as marked;\nselect 2;\n\\endpipeline\n",
        ),
    ] {
        let server = HostileServer::start(&socket(), When::Asked("marked"), vec![Step::Stall]);
        let (recording, seen) = run(&Drive {
            endpoints: vec![vec![candidate_at(Addr::Tcp(server.address()), &[])]],
            statement_timeout: Some(millis(100)),
            clients: 3,
            ..drive_in(mode, script)
        });
        // Without leave to connect again the clients end, as when the server has gone.
        let counts = counts(&recording);
        assert_eq!(
            (counts.committed, recording.clients.aborted),
            (0, 3),
            "{mode:?}"
        );
        let said = seen.messages.join("\n");
        assert!(said.contains("no answer within 100ms"), "{said}");
    }
}

/// A run of 1 s on a server that goes silent in its middle; how long it took.
fn silenced(drive: Drive) -> (pgdyno_measurement::Recording, Seen, Duration) {
    let proxy = StallingProxy::start(&socket(), Passes::All);
    let drive = Drive {
        endpoints: vec![vec![candidate_at(Addr::Tcp(proxy.address()), &[])]],
        until: Until::Elapsed(millis(1000)),
        ..drive
    };
    let begun = Instant::now();
    let (recording, seen) = thread::scope(|scope| {
        scope.spawn(|| {
            thread::sleep(millis(500));
            proxy.pass(Passes::Nothing);
        });
        run(&drive)
    });
    (recording, seen, begun.elapsed())
}

#[test]
fn a_server_that_answers_nothing_any_more_ends_a_run_two_seconds_after_its_time() {
    sql("create table silenced (n int)");
    let script =
        "\\if :client_id = 0\ninsert into silenced values (1);\n\\else\nselect 1;\n\\endif\n";
    for loss in [OnConnectionLoss::EndClient, OnConnectionLoss::Reconnect] {
        sql("truncate silenced");
        let (recording, seen, took) = silenced(Drive {
            clients: 3,
            threads: 2,
            on_connection_loss: loss,
            ..drive(script)
        });
        assert!(took < Duration::from_secs(6), "{took:?}");
        let counts = counts(&recording);
        // The INSERT may have been committed; nothing else can.
        assert_eq!(counts.unknown, 1, "{counts:?}");
        assert_eq!(counts.failed[&Failure::ConnectionLost], 2, "{counts:?}");
        let said = seen.messages.join("\n");
        assert!(said.contains(" s, and none to a new connection"), "{said}");
        match loss {
            OnConnectionLoss::EndClient => assert_eq!(recording.clients.disconnected, 3),
            OnConnectionLoss::Reconnect => assert_eq!(recording.outages.unended, 3),
        }
    }
}

#[test]
fn connecting_to_a_server_that_answers_nothing_any_more_holds_no_run() {
    let (recording, _, took) = silenced(Drive {
        clients: 2,
        connection_per_transaction: true,
        ..drive("select 1;\n")
    });
    assert!(took < Duration::from_secs(6), "{took:?}");
    let counts = counts(&recording);
    // A client that waits for the end of its last session has no transaction that could fail.
    assert!(counts.failed_total() <= 2, "{counts:?}");
    assert_eq!(counts.unknown, 0, "{counts:?}");
    assert!(counts.committed > 0);
}

#[test]
fn a_slow_statement_of_a_server_that_answers_is_waited_for() {
    let slow = || Drive {
        until: Until::Elapsed(millis(200)),
        ..drive("select pg_sleep(3.5);\n")
    };
    let (recording, seen) = run(&slow());
    assert_eq!(counts(&recording).committed, 1, "{seen:?}");
    // But not for ever, where that is not wanted.
    let begun = Instant::now();
    let (recording, _) = run(&Drive {
        late_max: Some(millis(300)),
        ..slow()
    });
    assert!(begun.elapsed() < millis(3000));
    let counts = counts(&recording);
    assert_eq!((counts.committed, counts.total()), (0, 1), "{counts:?}");
}
