//! Connections: how they come about, how many, and what happens when there is none.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::os::unix::net::UnixStream;
use std::thread;

use pgdyno_drive::{Control, Drive};
use pgdyno_measurement::{DriveError, Failure};
use pgdyno_spec::QueryMode;
use pgdyno_wire::{Addr, Candidate, Login};

use crate::support::*;

/// A TCP port on which nothing listens.
fn dead() -> Addr {
    Addr::Tcp(pgdyno_testkit::closed_address())
}

fn loopback() -> Addr {
    let address = pgdyno_testkit::postgres().address();
    Addr::Tcp(SocketAddr::from(([127, 0, 0, 1], address.port)))
}

fn connect_error(drive: &Drive) -> (usize, String) {
    match drive.run(&Control::default(), &mut Seen::default()) {
        Err(DriveError::Connect { client, text }) => (client, text),
        other => panic!("{other:?}"),
    }
}

/// A proxy that hands each piece from the server on by `hand_on`.
fn proxy(hand_on: fn(&mut TcpStream, &[u8])) -> Addr {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    thread::spawn(move || {
        for client in listener.incoming().map_while(Result::ok) {
            client.set_nodelay(true).unwrap();
            let mut server = UnixStream::connect(socket()).unwrap();
            let (mut from, mut to) = (client.try_clone().unwrap(), server.try_clone().unwrap());
            thread::spawn(move || {
                let _ = std::io::copy(&mut from, &mut to);
                let _ = to.shutdown(std::net::Shutdown::Write);
            });
            thread::spawn(move || {
                let mut client = client;
                let mut buffer = [0; 65536];
                while let Ok(count @ 1..) = server.read(&mut buffer) {
                    hand_on(&mut client, &buffer[..count]);
                }
            });
        }
    });
    Addr::Tcp(address)
}

#[test]
fn a_connection_per_transaction_is_counted_and_not_part_of_latencies() {
    // Each answer of the server is late, connecting has several of them.
    let slow = proxy(|client, bytes| {
        thread::sleep(millis(20));
        let _ = client.write_all(bytes);
    });
    let recording = run_well(&Drive {
        endpoints: vec![vec![candidate_at(slow, &[])]],
        clients: 2,
        connection_per_transaction: true,
        until: transactions(5),
        ..drive("\\set x 1\n")
    });
    assert_eq!(counts(&recording).committed, 10);
    let connections = recording.connections;
    assert_eq!(
        (connections.latencies.count(), connections.initial_us),
        (10, 0)
    );
    assert!(connections.latencies.mean_us() >= Some(20_000.0));
    let service = recording.measured.all().service;
    let quickest_us = service.histogram().min_us().expect("values");
    assert!(quickest_us < 20_000, "{quickest_us}");
}

#[test]
fn statements_are_prepared_anew_on_each_connection() {
    let recording = run_well(&Drive {
        clients: 3,
        threads: 2,
        connection_per_transaction: true,
        until: transactions(5),
        ..drive_in(
            QueryMode::Prepared,
            "\\set x 1\nselect :x;\nselect :x + 1;\n",
        )
    });
    assert_eq!(recording.connections.latencies.count(), 15);
}

#[test]
fn notices_on_connecting_are_printed() {
    sql("create database noticed");
    sql("update pg_database set datcollversion = '0' where datname = 'noticed'");
    let login = Login::new("postgres", "noticed");
    let candidate = Candidate::new(Addr::Unix(socket()), login.into());
    let (recording, seen) = run(&Drive {
        endpoints: vec![vec![candidate]],
        clients: 2,
        ..drive("select 1;")
    });
    assert_eq!(counts(&recording).committed, 2);
    assert_eq!(seen.messages.len(), 2);
    let remark = "WARNING:  database \"noticed\" has ";
    assert!(
        seen.messages.iter().all(|text| text.starts_with(remark)),
        "{seen:?}"
    );
}

#[test]
fn bytes_may_arrive_one_at_a_time() {
    let dribble = proxy(|client, bytes| {
        for byte in bytes {
            let _ = client.write_all(std::slice::from_ref(byte));
        }
    });
    for mode in MODES {
        let script = "\\set n 3\nselect :n * 7 as a, repeat('x', 200) as b, null as c \\gset r_\n\
                      select 1 / (:r_a = 21)::int, 1 / (length(:r_b) = 200)::int;\n";
        // Simple mode has no quotes around the value.
        let script = match mode {
            QueryMode::Simple => script.replace(":r_b", "':r_b'"),
            _ => script
                .replace(":r_b", ":r_b::text")
                .replace(":n *", ":n::int *")
                .replace(":r_a", ":r_a::int"),
        };
        run_well(&Drive {
            endpoints: vec![vec![candidate_at(dribble.clone(), &[])]],
            clients: 2,
            until: transactions(4),
            ..drive_in(mode, &script)
        });
    }
}

#[test]
fn unix_sockets_and_tcp_alike_and_clients_in_turn_on_several_endpoints() {
    sql("create table origins (client int, is_tcp bool)");
    let endpoints = [Addr::Unix(socket()), loopback()];
    run_well(&Drive {
        endpoints: endpoints.map(|addr| vec![candidate_at(addr, &[])]).to_vec(),
        clients: 5,
        ..drive("insert into origins values (:client_id, inet_client_addr() is not null);")
    });
    let right = "select count(*) from origins where is_tcp = (client % 2 = 1)";
    assert_eq!(value(right), 5);
}

#[test]
fn a_dead_candidate_is_passed_over_and_each_is_named_when_all_are_dead() {
    let with_host = |addr, host_index| Candidate {
        host_index,
        ..candidate_at(addr, &[])
    };
    let nowhere = Addr::Unix("/nowhere/.s.PGSQL.1".into());
    run_well(&Drive {
        endpoints: vec![vec![
            with_host(dead(), 0),
            with_host(nowhere.clone(), 1),
            with_host(Addr::Unix(socket()), 2),
        ]],
        clients: 3,
        ..drive("select 1;")
    });
    let dead = dead();
    let Addr::Tcp(address) = dead else {
        unreachable!()
    };
    let (client, text) = connect_error(&Drive {
        endpoints: vec![vec![with_host(dead, 0), with_host(nowhere, 1)]],
        ..drive("select 1;")
    });
    assert_eq!(client, 0);
    let expected = format!(
        "connection to server at \"127.0.0.1\", port {} failed: Connection refused\n\tIs the \
         server running on that host and accepting TCP/IP connections?\nconnection to server on \
         socket \"/nowhere/.s.PGSQL.1\" failed: No such file or directory\n\tIs the server running \
         locally and accepting connections on that socket?",
        address.port()
    );
    assert_eq!(text, expected);
}

#[test]
fn a_server_that_never_answers_is_given_up_after_the_time_to_connect() {
    let silent = TcpListener::bind("127.0.0.1:0").unwrap();
    let addr = Addr::Tcp(silent.local_addr().unwrap());
    let candidate = Candidate {
        connect_timeout: Some(millis(150)),
        ..candidate_at(addr, &[])
    };
    let (_, text) = connect_error(&Drive {
        endpoints: vec![vec![candidate]],
        ..drive("select 1;")
    });
    assert!(text.ends_with("failed: timeout expired"), "{text}");
}

#[test]
fn too_many_connections_are_refused_in_the_servers_words() {
    sql("create role few login connection limit 2");
    let mut candidate = candidate_at(Addr::Unix(socket()), &[]);
    let mut login = (*candidate.login).clone();
    "few".clone_into(&mut login.user);
    candidate.login = login.into();
    let drive = Drive {
        endpoints: vec![vec![candidate]],
        clients: 4,
        ..drive("begin;\n\\sleep 1000 ms\nend;\n")
    };
    let refused = format!(
        "connection to server on socket \"{}\" failed: FATAL:  too many connections for role \"few\"",
        socket().display()
    );
    assert_eq!(connect_error(&drive).1, refused);

    // The clients before may not be gone yet.
    let gone = "select (count(*) = 0)::int from pg_stat_activity where usename = 'few'";
    wait_until(&mut admin(), gone);
    let (recording, seen) = run(&Drive {
        connection_per_transaction: true,
        ..drive
    });
    assert_eq!(counts(&recording).committed, 2);
    assert_eq!(failed(&recording, Failure::ConnectionRefused), 2);
    assert_eq!(
        (recording.clients.aborted, recording.clients.disconnected),
        (2, 2)
    );
    assert_eq!(recording.connections.latencies.count(), 2);
    assert_eq!(seen.messages.len(), 4);
    for pair in seen.messages.chunks(2) {
        assert_eq!(pair[0], refused);
        let expected = "aborted while establishing connection";
        assert!(pair[1].ends_with(expected), "{seen:?}");
    }
}

#[test]
fn no_client_connects_anew_before_the_server_has_ended_its_last_session() {
    sql("create role as_many_as_clients login connection limit 4");
    let mut candidate = candidate_at(Addr::Unix(socket()), &[]);
    let mut login = (*candidate.login).clone();
    "as_many_as_clients".clone_into(&mut login.user);
    candidate.login = login.into();
    let recording = run_well(&Drive {
        endpoints: vec![vec![candidate]],
        clients: 4,
        threads: 2,
        connection_per_transaction: true,
        until: transactions(50),
        ..drive("select 1;")
    });
    assert_eq!(counts(&recording).committed, 200);
    assert_eq!(recording.connections.latencies.count(), 200);
}

#[test]
fn a_full_server_is_an_error_in_its_own_words() {
    let server = pgdyno_testkit::postgres_with(&["max_connections=6"]);
    let endpoint = candidate_at(Addr::Unix(server.address().socket_path()), &[]);
    let (_, text) = connect_error(&Drive {
        endpoints: vec![vec![endpoint]],
        clients: 20,
        threads: 2,
        ..drive("select 1;")
    });
    assert!(
        text.ends_with("FATAL:  sorry, too many clients already"),
        "{text}"
    );
}

#[test]
fn five_hundred_clients_of_one_thread_connect_and_end_exactly() {
    let recording = run_well(&Drive {
        clients: 500,
        threads: 1,
        until: transactions(2),
        ..drive("select 1;")
    });
    assert_eq!(counts(&recording).committed, 1000);
    assert_eq!(recording.connections.latencies.count(), 500);
    assert!(recording.connections.initial_us > 0);
}

#[test]
fn a_server_that_speaks_nonsense_ends_the_client_with_a_reason() {
    // Answers to queries begin with the columns; those of start-up do not.
    type HandOn = fn(&mut TcpStream, &[u8]);
    let nonsense: [(HandOn, &str); 3] = [
        (
            |client, bytes| {
                let instead: &[u8] = if bytes[0] == b'T' { &[0; 64] } else { bytes };
                let _ = client.write_all(instead);
            },
            "lost synchronization with server: got message type \"\\x00\", length 0",
        ),
        (
            |client, bytes| {
                let instead: &[u8] = if bytes[0] == b'T' {
                    b"Z\0\0\0\x05?"
                } else {
                    bytes
                };
                let _ = client.write_all(instead);
            },
            "message contents do not agree with length in message type \"Z\"",
        ),
        // Hangs up in the middle of a message.
        (
            |client, bytes| {
                if bytes[0] == b'T' {
                    let _ = client.write_all(&bytes[..8]);
                    let _ = client.shutdown(std::net::Shutdown::Both);
                } else {
                    let _ = client.write_all(bytes);
                }
            },
            "client 0 aborted in command 1 (SQL) of script 0; perhaps the backend died while \
             processing",
        ),
    ];
    for (hand_on, words) in nonsense {
        let (recording, seen) = run(&Drive {
            endpoints: vec![vec![candidate_at(proxy(hand_on), &[])]],
            ..drive("begin;\nselect 1;\nend;\n")
        });
        assert_eq!(seen.messages.len(), 1);
        assert!(seen.messages[0].contains(words), "{:?}", seen.messages);
        assert_eq!(failed(&recording, Failure::ConnectionLost), 1);
        assert_eq!(
            (recording.clients.aborted, recording.clients.disconnected),
            (1, 1)
        );
    }
}

#[test]
fn a_client_that_gets_no_connection_books_nothing_with_another_script() {
    sql("create role locked_out superuser login");
    let login = Login::new("locked_out", "postgres");
    let candidate = Candidate::new(Addr::Unix(socket()), login.into());
    let long = "select 1;\nselect 2;\nselect 3;\nselect 4;\nalter role locked_out nologin;\n";
    let (recording, seen) = run(&Drive {
        endpoints: vec![vec![candidate]],
        connection_per_transaction: true,
        until: transactions(5000),
        ..mix(&[("select 9;\n", 20), (long, 1)], QueryMode::Simple)
    });
    assert_eq!(recording.clients.aborted, 1, "{seen:?}");
    let aborts: Vec<Vec<u64>> = recording
        .statements
        .iter()
        .map(|all| all.iter().map(|one| one.aborts).collect())
        .collect();
    assert_eq!(aborts, [vec![0], vec![0; 5]], "{seen:?}");
}
