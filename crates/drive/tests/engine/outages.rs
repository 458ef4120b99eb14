//! Connections that are lost and made again: nothing booked wrong, and the time without measured.

use std::net::{TcpListener, TcpStream};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::thread;
use std::time::Instant;

use pgdyno_drive::{Control, Drive};
use pgdyno_measurement::{End, Failure};
use pgdyno_spec::{OnConnectionLoss, QueryMode, Until};
use pgdyno_wire::Addr;

use crate::support::*;

/// A drive that connects again to the server at this socket.
fn lasting(socket: &Path, mode: QueryMode, script: &str) -> Drive {
    let candidate = candidate_at(Addr::Unix(socket.to_owned()), &["application_name=lasting"]);
    Drive {
        endpoints: vec![vec![candidate]],
        on_connection_loss: OnConnectionLoss::Reconnect,
        ..drive_in(mode, script)
    }
}

#[test]
fn a_restart_of_the_server_in_the_middle_loses_no_count() {
    let server = pgdyno_testkit::postgres_with(&[]);
    let socket = server.address().socket_path();
    connected(&socket)
        .execute("create table history (n int)")
        .unwrap();
    let script = "\\sleep 5 ms\n\\set n random(1, 100)\nbegin;\ninsert into history values (:n);\n\
                  select :n::int;\nend;\n";
    for (mode, connection_per_transaction, until) in [
        (QueryMode::Simple, false, Until::Elapsed(millis(2500))),
        (QueryMode::Extended, true, Until::Elapsed(millis(2500))),
        (QueryMode::Prepared, false, transactions(300)),
    ] {
        connected(&socket).execute("truncate history").unwrap();
        let drive = Drive {
            clients: 8,
            threads: 2,
            connection_per_transaction,
            until,
            ..lasting(&socket, mode, script)
        };
        let (recording, seen) = thread::scope(|scope| {
            scope.spawn(|| {
                let begun = "select (count(*) > 100)::int from history";
                wait_until(&mut connected(&socket), begun);
                crash(&socket, "lasting", "true");
            });
            run(&drive)
        });
        let counts = counts(&recording);
        let rows = value_of(&mut connected(&socket), "select count(*) from history") as u64;
        let possible = counts.committed..=counts.committed + counts.unknown;
        assert!(
            possible.contains(&rows),
            "{mode:?}: {rows} rows, {counts:?}"
        );
        assert!(counts.committed > 100);
        let lost = failed(&recording, Failure::ConnectionLost);
        assert_eq!(counts.total(), counts.committed + counts.unknown + lost);
        if let Until::Transactions(count) = until {
            assert_eq!(counts.total(), count.get() * 8);
        }
        assert_eq!(
            (recording.clients.aborted, recording.end),
            (0, End::Complete)
        );
        let outages = &recording.outages;
        // All but those that had no connection at that moment.
        assert!(outages.count >= 4, "{mode:?}: {outages:?}");
        assert_eq!(
            (outages.lengths.count(), outages.unended),
            (outages.count, 0)
        );
        // In recovery the server refuses at least some.
        assert!(outages.attempts > outages.count, "{outages:?}");
        assert!(outages.lengths.max_us() >= 10_000);
        let begun = |text: &&String| {
            text.contains("lost its connection: ") || text.contains("gets no connection: ")
        };
        assert_eq!(
            seen.messages.iter().filter(begun).count() as u64,
            outages.count
        );
        let ended = |text: &&String| text.contains(" is connected again after ");
        assert_eq!(
            seen.messages.iter().filter(ended).count() as u64,
            outages.count
        );
    }
}

#[test]
fn a_connection_lost_between_transactions_costs_none() {
    let drive = Drive {
        // With this seed the second start comes a second after the first.
        seed: 8,
        rate: Some(1.0.into()),
        until: transactions(3),
        log: Some(1.0),
        // A session that prepares is idle before it executes, too.
        ..lasting(&socket(), QueryMode::Simple, "select 'lasting';\n")
    };
    let (recording, seen) = thread::scope(|scope| {
        scope.spawn(|| {
            let idle = "select count(pg_terminate_backend(pid)) from pg_stat_activity
                 where application_name = 'lasting' and state = 'idle'
                 and query ilike 'select ''lasting''%'";
            wait_until(&mut admin(), idle);
        });
        run(&drive)
    });
    assert_eq!(counts(&recording).committed, 3, "{:?}", seen.logged);
    assert_eq!(counts(&recording).total(), 3);
    assert_eq!(
        (recording.outages.count, recording.outages.attempts),
        (1, 1)
    );
    assert_eq!(
        seen.messages[0],
        "client 0 lost its connection: FATAL:  terminating connection due to administrator command"
    );
    assert!(seen.messages[1].starts_with("client 0 is connected again after 0."));
    assert!(seen.messages[1].ends_with(" s (1 attempt)"), "{seen:?}");
    assert_eq!(seen.messages.len(), 2);
}

#[test]
fn a_transaction_in_a_block_is_lost_and_one_that_commits_is_unknown() {
    sql("create table outage_rows (n int);
         create sequence outage_calls;
         create function outage_kill() returns trigger language plpgsql as $$
         begin
            if nextval('outage_calls') = 2 then perform pg_terminate_backend(pg_backend_pid()); end if;
            return null;
         end $$;
         create constraint trigger outage_kill after insert on outage_rows
             deferrable initially deferred for each row execute function outage_kill()");
    let script = "begin;\ninsert into outage_rows values (1);\nend;\n";
    let (recording, _) = run(&Drive {
        until: transactions(4),
        ..lasting(&socket(), QueryMode::Prepared, script)
    });
    assert_eq!(
        (counts(&recording).committed, counts(&recording).unknown),
        (3, 1)
    );
    assert_eq!(value("select count(*) from outage_rows"), 3);

    let script = "begin;\nselect pg_terminate_backend(pg_backend_pid())\n\
                  from (select nextval('outage_calls') as n) calls where n = 10;\nend;\n";
    sql("select setval('outage_calls', 8)");
    let (recording, _) = run(&Drive {
        until: transactions(4),
        ..lasting(&socket(), QueryMode::Simple, script)
    });
    assert_eq!(counts(&recording).committed, 3);
    assert_eq!(failed(&recording, Failure::ConnectionLost), 1);
    let statement = &recording.statements[0][1];
    assert_eq!((statement.failures, statement.aborts), (1, 0));
}

/// Hands everything on between a TCP port and the shared server, for ever.
fn relay(listener: TcpListener) {
    let pipe = |mut from: TcpStream, mut to: UnixStream| {
        let (mut back_to, mut back_from) = (from.try_clone().unwrap(), to.try_clone().unwrap());
        thread::spawn(move || std::io::copy(&mut from, &mut to));
        thread::spawn(move || std::io::copy(&mut back_from, &mut back_to));
    };
    thread::spawn(move || {
        for client in listener.incoming().map_while(Result::ok) {
            pipe(client, UnixStream::connect(socket()).unwrap());
        }
    });
}

#[test]
fn a_refused_connection_is_an_outage_and_attempts_come_at_growing_distances() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    drop(listener);
    let drive = Drive {
        endpoints: vec![vec![candidate_at(Addr::Tcp(address), &[])]],
        connection_per_transaction: true,
        on_connection_loss: OnConnectionLoss::Reconnect,
        until: transactions(3),
        ..drive("select 1;")
    };
    let (recording, seen) = thread::scope(|scope| {
        scope.spawn(|| {
            thread::sleep(millis(600));
            relay(TcpListener::bind(address).unwrap());
        });
        run(&drive)
    });
    assert_eq!(
        (counts(&recording).committed, counts(&recording).total()),
        (3, 3)
    );
    let outages = &recording.outages;
    assert_eq!((outages.count, outages.lengths.count()), (1, 1));
    let length_us = outages.lengths.max_us();
    assert!((550_000..2_500_000).contains(&length_us), "{length_us}");
    // At 0, 10, 30, 70, 150, 310, 630 and 1270 ms.
    assert!((7..=9).contains(&outages.attempts), "{outages:?}");
    assert_eq!(seen.messages.len(), 2, "{seen:?}");
    assert!(seen.messages[0].starts_with("client 0 gets no connection: connection to server at"));
}

#[test]
fn an_outage_ends_with_the_time_of_the_run_and_when_it_is_stopped() {
    for by_time in [true, false] {
        let server = pgdyno_testkit::postgres_with(&[]);
        let socket = server.address().socket_path();
        let until = if by_time {
            Until::Elapsed(millis(2500))
        } else {
            transactions(1_000_000_000)
        };
        let drive = Drive {
            clients: 5,
            threads: 2,
            until,
            ..lasting(
                &socket,
                QueryMode::Simple,
                "begin;\nselect 1;\n\\sleep 5 ms\nend;\n",
            )
        };
        let control = Control::default();
        let begin = Instant::now();
        let (recording, _) = thread::scope(|scope| {
            scope.spawn(|| {
                thread::sleep(millis(1500));
                server.stop().unwrap();
                thread::sleep(millis(500));
                if !by_time {
                    control.finish();
                }
            });
            run_with(&drive, &control)
        });
        assert!(begin.elapsed().as_secs_f64() < 6.0);
        let counts = counts(&recording);
        assert!(counts.committed > 50, "{counts:?}");
        let lost = failed(&recording, Failure::ConnectionLost);
        // The server may have been at the end of a transaction.
        assert_eq!(lost + counts.unknown, 5);
        assert_eq!(counts.total(), counts.committed + 5);
        assert_eq!((recording.outages.count, recording.outages.unended), (5, 5));
        assert_eq!(recording.outages.lengths.count(), 0);
        assert!(recording.outages.attempts > 10);
        // All five lost the server after 1.5 s of 2 s or more.
        let share = recording.outage_share().unwrap();
        assert!((0.1..0.7).contains(&share), "{share}");
        assert!(recording.has_lost_server());
        assert_eq!(recording.clients.aborted, 0);
        let end = if by_time {
            End::Complete
        } else {
            End::Interrupted
        };
        assert_eq!(recording.end, end);
    }
}
