//! Several endpoints: clients dealt over them, what is counted at each, and what happens when one
//! of them is lost.

use std::path::Path;
use std::thread;

use pgdyno_drive::{Control, Drive};
use pgdyno_measurement::{Counts, DriveError, EventKind, Latencies, Recording};
use pgdyno_server::Server;
use pgdyno_spec::{OnConnectionLoss, QueryMode, Until};
use pgdyno_wire::{Addr, Candidate};

use crate::support::*;

/// Its pause comes first: what it inserted is committed when it ends.
const SCRIPT: &str = "\\sleep 5 ms\nbegin;\ninsert into visit values (:client_id);\nend;\n";

fn way(socket: &Path) -> Vec<Candidate> {
    let addr = Addr::Unix(socket.to_owned());
    vec![candidate_at(addr, &["application_name=visitor"])]
}

/// Servers with a table for what the clients leave behind.
fn servers<const N: usize>() -> [Server; N] {
    let servers = std::array::from_fn(|_| pgdyno_testkit::postgres_with(&[]));
    for server in &servers {
        let mut admin = connected(&server.address().socket_path());
        admin.execute("create table visit (client int)").unwrap();
    }
    servers
}

fn over(servers: &[Server]) -> Drive {
    let ways = servers.iter().map(|s| way(&s.address().socket_path()));
    Drive {
        endpoints: ways.collect(),
        ..drive(SCRIPT)
    }
}

/// What was left at a server.
fn visits(server: &Server, what: &str) -> u64 {
    let query = format!("select {what} from visit");
    value_of(&mut connected(&server.address().socket_path()), &query) as u64
}

/// Everything is booked at some endpoint, once.
fn adds_up(recording: &Recording) {
    let all = recording.measured.all();
    let (mut counts, mut service) = (Counts::default(), Latencies::default());
    let mut response = all.response.as_ref().map(|_| Latencies::default());
    for endpoint in &recording.endpoints {
        counts.merge(&endpoint.counts);
        service.merge(&endpoint.service);
        if let (Some(response), Some(theirs)) = (&mut response, &endpoint.response) {
            response.merge(theirs);
        }
    }
    assert_eq!((counts, service), (all.counts, all.service));
    assert_eq!(response, all.response);
}

#[test]
fn clients_are_dealt_evenly_and_each_endpoint_has_its_own_figures() {
    let servers: [Server; 2] = servers();
    for (rate, threads) in [(None, 1), (Some(2000.0), 2)] {
        for server in &servers {
            connected(&server.address().socket_path())
                .execute("truncate visit")
                .unwrap();
        }
        let recording = run_well(&Drive {
            clients: 5,
            threads,
            rate: rate.map(Into::into),
            warmup: millis(300),
            until: transactions(40),
            ..over(&servers)
        });
        let endpoints = &recording.endpoints;
        assert_eq!(endpoints.len(), 2);
        let sockets = servers.each_ref().map(|s| s.address().socket_path());
        for ((endpoint, server), (socket, clients)) in endpoints
            .iter()
            .zip(&servers)
            .zip(sockets.iter().zip([3, 2]))
        {
            assert_eq!(endpoint.name, socket.display().to_string());
            assert_eq!((endpoint.clients, endpoint.connections), (clients, clients));
            assert_eq!((endpoint.lost, endpoint.arrived), (0, 0));
            let counts = &endpoint.counts;
            assert_eq!(counts.committed, 40 * clients);
            assert_eq!(endpoint.service.count(), counts.committed);
            // What the warm-up left is there, and counted nowhere.
            assert!(visits(server, "count(*)") > counts.committed);
            assert_eq!(visits(server, "count(distinct client)"), clients);
        }
        let responses = endpoints[0].response.as_ref();
        assert_eq!(responses.map(|r| r.count()), rate.map(|_| 120));
        adds_up(&recording);
        assert_eq!(recording.events, []);
    }
}

#[test]
fn a_single_endpoint_has_the_figures_of_the_run() {
    let recording = run_well(&drive("select 1;"));
    assert_eq!(recording.endpoints.len(), 1);
    assert_eq!(recording.endpoints[0].clients, 1);
    adds_up(&recording);
}

#[test]
fn the_clients_of_a_lost_endpoint_move_to_the_others_and_nothing_is_counted_twice() {
    let servers: [Server; 3] = servers();
    for (mode, connection_per_transaction) in
        [(QueryMode::Prepared, false), (QueryMode::Simple, true)]
    {
        for server in &servers {
            connected(&server.address().socket_path())
                .execute("truncate visit")
                .unwrap();
        }
        let drive = Drive {
            clients: 12,
            threads: 2,
            connection_per_transaction,
            tries_other_endpoints: true,
            on_connection_loss: OnConnectionLoss::Reconnect,
            // Those that come back have to see the server again.
            until: Until::Elapsed(millis(if connection_per_transaction {
                5000
            } else {
                2000
            })),
            endpoints: over(&servers).endpoints,
            ..drive_in(mode, SCRIPT)
        };
        let (recording, seen) = thread::scope(|scope| {
            scope.spawn(|| {
                let mut lost = connected(&servers[1].address().socket_path());
                wait_until(&mut lost, "select (count(*) > 50)::int from visit");
                crash(&servers[1].address().socket_path(), "visitor", "true");
            });
            run(&drive)
        });
        for (endpoint, server) in recording.endpoints.iter().zip(&servers) {
            let counts = &endpoint.counts;
            let rows = visits(server, "count(*)");
            let possible = counts.committed..=counts.committed + counts.unknown;
            assert!(possible.contains(&rows), "{rows} rows, {endpoint:?}");
            assert!(counts.committed > 50);
            assert_eq!(endpoint.clients, 4);
        }
        adds_up(&recording);
        assert_eq!(recording.clients.aborted, 0);
        let [first, lost, last] = recording.endpoints.as_slice() else {
            panic!("{:?}", recording.endpoints);
        };
        assert_eq!((first.lost, last.lost), (0, 0));
        let moved = recording.events.iter();
        let has_moved = |kind| matches!(kind, EventKind::Moved | EventKind::Returned);
        let moved = moved.filter(|event| has_moved(event.kind));
        let arrived: u64 = recording.endpoints.iter().map(|e| e.arrived).sum();
        assert_eq!(moved.clone().count() as u64, arrived);
        // Not at the very beginning.
        let late: Vec<_> = moved.filter(|event| event.at_us > 10_000).collect();
        assert!(!late.is_empty(), "{:?}", recording.events);
        // And in a person's words, where no local lookup comes first.
        let name = servers[1].address().socket_path();
        let name = name.to_string_lossy();
        let with_words = { late.iter() }.any(|event| !event.text.contains(&*name));
        assert!(connection_per_transaction || with_words, "{late:?}");
        assert!(
            seen.messages
                .iter()
                .any(|text| text.contains(" is connected"))
        );
        if connection_per_transaction {
            // Each transaction asks at home first: they come back.
            assert!(lost.arrived > 0 && first.arrived > 0 && last.arrived > 0);
        } else {
            assert_eq!((first.arrived, lost.arrived, last.arrived), (2, 0, 2));
            // The one whose backend was killed may be let in once more, by a
            // postmaster that has not yet seen that it has to begin anew.
            assert!(matches!(lost.lost, 4 | 5), "{lost:?}");
            let outages = &recording.outages;
            assert!((4..=lost.lost).contains(&outages.count), "{outages:?}");
            assert_eq!(outages.lengths.count(), outages.count);
            // They stay where they went, though the server is back.
            let home = servers[1].address().socket_path();
            let recovered = connected(&home).query_one_value("select 1");
            assert!(recovered.is_ok());
            let dealt = [&servers[0], &servers[2]].map(|s| visits(s, "count(distinct client)"));
            assert_eq!(dealt, [6, 6]);
        }
    }
}

#[test]
fn an_endpoint_that_is_not_there_at_the_start_ends_the_run_unless_clients_may_go_elsewhere() {
    let dead = pgdyno_testkit::closed_address();
    let drive = Drive {
        endpoints: vec![vec![candidate_at(Addr::Tcp(dead), &[])], way(&socket())],
        clients: 4,
        until: transactions(3),
        ..drive("select 1;")
    };
    let error = drive.run(&Control::default(), &mut Seen::default());
    let Err(DriveError::Connect { client: 0, text }) = error else {
        panic!("{error:?}");
    };
    assert!(text.contains(&format!("port {}", dead.port())), "{text}");

    let lasting = Drive {
        tries_other_endpoints: true,
        on_connection_loss: OnConnectionLoss::Reconnect,
        ..drive
    };
    let (recording, seen) = run(&lasting);
    assert_eq!(counts(&recording).committed, 12);
    let [dead_one, alive] = recording.endpoints.as_slice() else {
        panic!("{:?}", recording.endpoints);
    };
    assert_eq!(dead_one.name, dead.to_string());
    assert_eq!((dead_one.clients, dead_one.connections), (2, 0));
    assert_eq!(dead_one.counts.total(), 0);
    assert_eq!((alive.connections, alive.arrived), (4, 2));
    assert_eq!(alive.counts.committed, 12);
    assert_eq!(recording.outages.count, 0);
    let events: Vec<_> = recording.events.iter().map(|e| (e.at_us, e.kind)).collect();
    assert_eq!(events, [(0, EventKind::Moved), (0, EventKind::Moved)]);
    assert!(seen.messages[0].contains("Connection refused"), "{seen:?}");

    let nowhere = Drive {
        endpoints: vec![lasting.endpoints[0].clone(), lasting.endpoints[0].clone()],
        ..lasting
    };
    let error = nowhere.run(&Control::default(), &mut Seen::default());
    let Err(DriveError::Connect { text, .. }) = error else {
        panic!("{error:?}");
    };
    assert_eq!(text.matches("Connection refused").count(), 2, "{text}");
}
