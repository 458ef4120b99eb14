//! Answers that do not come in time.

use pgdyno_drive::{Drive, OnConnectionLoss, QueryMode};
use pgdyno_testkit::HostileServer;
use pgdyno_testkit::hostile::{Step, When};
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
    // In a block it has failed, by itself nobody knows whether it was committed; a read has failed, too.
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
