//! The bad network, before a server that sends back what it gets.

use std::io::{ErrorKind, Read, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::mpsc::{Receiver, channel};
use std::thread;
use std::time::{Duration, Instant};

use pgdyno_link::{CutAt, Delay, Direction, How, Link, LinkProxy, Side};

const MS: fn(u64) -> Duration = Duration::from_millis;
/// So long a test waits for what must not come.
const QUIET: Duration = Duration::from_millis(100);

/// An echo server; how each of its connections ended (bytes read, or the error).
fn echo() -> (SocketAddr, Receiver<Result<usize, ErrorKind>>) {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port is free");
    let address = listener.local_addr().expect("it is bound");
    let (sender, ends) = channel();
    thread::spawn(move || {
        for mut client in listener.incoming().map_while(Result::ok) {
            let sender = sender.clone();
            thread::spawn(move || {
                let (mut buffer, mut total) = ([0; 16 << 10], 0);
                let end = loop {
                    let count = match client.read(&mut buffer) {
                        Ok(0) => break Ok(total),
                        Ok(count) => count,
                        Err(e) => break Err(e.kind()),
                    };
                    total += count;
                    if let Err(e) = client.write_all(&buffer[..count]) {
                        break Err(e.kind());
                    }
                };
                let _ = sender.send(end);
            });
        }
    });
    (address, ends)
}

fn connect(link: &LinkProxy) -> TcpStream {
    let stream = TcpStream::connect(link.address()).expect("it listens");
    stream.set_nodelay(true).expect("it is TCP");
    stream.set_read_timeout(Some(MS(10_000))).expect("allowed");
    stream
}

/// Sends so many bytes that differ, and reads them back.
fn there_and_back(stream: &mut TcpStream, bytes: usize) {
    let sent: Vec<u8> = (0..bytes).map(|i| (i * i / 7) as u8).collect();
    let mut writer = stream.try_clone().expect("a descriptor is free");
    let to_send = sent.clone();
    let writing = thread::spawn(move || writer.write_all(&to_send));
    let mut received = vec![0; bytes];
    stream.read_exact(&mut received).expect("it comes back");
    writing.join().expect("no panic").expect("it is taken");
    assert!(received == sent, "the bytes are others");
}

fn is_silent(stream: &mut TcpStream) -> bool {
    stream.set_read_timeout(Some(QUIET)).expect("allowed");
    let read = stream.read(&mut [0; 16]);
    stream.set_read_timeout(Some(MS(10_000))).expect("allowed");
    read.is_err_and(|e| e.kind() == ErrorKind::WouldBlock)
}

#[test]
fn bytes_are_intact_and_an_end_is_handed_on() {
    let (server, ends) = echo();
    let link = Link::to(server)
        .delay(Direction::ToServer, Delay::default().with_jitter(MS(2), 3))
        .start()
        .expect("it listens");
    let mut client = connect(&link);
    there_and_back(&mut client, 3_000_000);
    client.shutdown(Shutdown::Write).expect("it is open");
    assert_eq!(client.read(&mut [0; 1]).expect("an end"), 0);
    assert_eq!(ends.recv().expect("it ends"), Ok(3_000_000));
}

#[test]
fn each_direction_has_a_delay_of_its_own() {
    let (server, _ends) = echo();
    let round_trip = |to_server, to_client| {
        let link = Link::to(server)
            .delay(Direction::ToServer, Delay::of(MS(to_server)))
            .delay(Direction::ToClient, Delay::of(MS(to_client)))
            .start()
            .expect("it listens");
        let mut client = connect(&link);
        let trip = || {
            let began = Instant::now();
            there_and_back(&mut client, 4);
            began.elapsed()
        };
        // The least of several: this host may be busy.
        std::iter::repeat_with(trip).take(5).min().expect("five")
    };
    assert!(round_trip(20, 0) >= MS(20));
    assert!(round_trip(0, 20) >= MS(20));
    assert!(round_trip(20, 30) >= MS(50));
    assert!(round_trip(0, 0) < MS(20));
}

#[test]
fn what_is_under_way_does_not_hold_up_what_follows() {
    let (server, _ends) = echo();
    let link = Link::to(server)
        .delay(Direction::ToServer, Delay::of(MS(200)))
        .start()
        .expect("it listens");
    let mut client = connect(&link);
    let began = Instant::now();
    for _ in 0..10 {
        client.write_all(b"x").expect("it is taken");
        thread::sleep(MS(5));
    }
    client.read_exact(&mut [0; 10]).expect("it comes back");
    let took = began.elapsed();
    assert!((MS(245)..MS(1000)).contains(&took), "{took:?}");
}

#[test]
fn bandwidth_is_shared_by_all_connections() {
    let (server, _ends) = echo();
    let link = Link::to(server)
        .bandwidth(Direction::ToServer, 1_000_000)
        .start()
        .expect("it listens");
    let began = Instant::now();
    thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| there_and_back(&mut connect(&link), 100_000));
        }
    });
    assert!(began.elapsed() >= MS(199), "{:?}", began.elapsed());
}

#[test]
fn a_cut_comes_after_exactly_so_many_bytes() {
    for direction in [Direction::ToServer, Direction::ToClient] {
        let (server, ends) = echo();
        let link = Link::to(server)
            .cut(CutAt::Bytes(direction, 70_001), How::End)
            .start()
            .expect("it listens");
        let mut client = connect(&link);
        there_and_back(&mut client, 50_000);
        client.write_all(&[7; 50_000]).expect("it is taken");
        let mut rest = Vec::new();
        client.read_to_end(&mut rest).expect("an orderly end");
        let read = ends.recv().expect("it ends").expect("an orderly end");
        match direction {
            Direction::ToServer => assert_eq!(read, 70_001),
            Direction::ToClient => assert_eq!(rest.len(), 20_001),
        }
    }
}

#[test]
fn a_reset_is_one_for_both_ends() {
    let (server, ends) = echo();
    let link = Link::to(server)
        .cut(CutAt::Bytes(Direction::ToServer, 3), How::Reset)
        .start()
        .expect("it listens");
    let mut client = connect(&link);
    client.write_all(b"four").expect("it is taken");
    let mut rest = Vec::new();
    let error = client.read_to_end(&mut rest).expect_err("a reset");
    assert_eq!(error.kind(), ErrorKind::ConnectionReset);
    assert_eq!(
        ends.recv().expect("it ends"),
        Err(ErrorKind::ConnectionReset)
    );
}

#[test]
fn a_cut_after_a_time_or_on_request_leaves_room_for_new_connections() {
    let (server, ends) = echo();
    let link = Link::to(server)
        .cut(CutAt::After(MS(50)), How::End)
        .start()
        .expect("it listens");
    let began = Instant::now();
    let mut client = connect(&link);
    assert_eq!(client.read(&mut [0; 1]).expect("an end"), 0);
    assert!(began.elapsed() >= MS(50));
    assert_eq!(ends.recv().expect("it ends"), Ok(0));

    let link = Link::to(server).start().expect("it listens");
    let mut client = connect(&link);
    there_and_back(&mut client, 4);
    link.cut_now(How::Reset);
    let error = client.read(&mut [0; 1]).expect_err("a reset");
    assert_eq!(error.kind(), ErrorKind::ConnectionReset);
    there_and_back(&mut connect(&link), 4);
}

#[test]
fn a_black_hole_keeps_bytes_and_ends_until_it_opens() {
    let (server, ends) = echo();
    let link = Link::to(server).start().expect("it listens");
    let mut old = connect(&link);
    there_and_back(&mut old, 4);
    link.block(Direction::ToServer);
    link.block(Direction::ToClient);
    let mut new = connect(&link);
    for client in [&mut old, &mut new] {
        client.write_all(b"late").expect("it is taken");
        client.shutdown(Shutdown::Write).expect("it is open");
        assert!(is_silent(client));
    }
    assert!(ends.try_recv().is_err());
    link.unblock(Direction::ToServer);
    for _ in 0..2 {
        assert!(ends.recv().expect("it ends").is_ok());
    }
    assert!(is_silent(&mut old), "one way is still blocked");
    link.unblock(Direction::ToClient);
    for mut client in [old, new] {
        let mut answer = Vec::new();
        client.read_to_end(&mut answer).expect("an orderly end");
        assert!(!answer.is_empty());
    }
}

#[test]
fn a_half_open_connection_is_silent_to_one_side_and_closed_to_the_other() {
    let (server, ends) = echo();
    let link = Link::to(server).start().expect("it listens");
    let mut client = connect(&link);
    there_and_back(&mut client, 4);
    link.lose(Side::Server);
    assert!(ends.recv().is_ok(), "the server's end is closed");
    client.write_all(b"anyone?").expect("it is taken");
    assert!(is_silent(&mut client));

    let mut client = connect(&link);
    there_and_back(&mut client, 4);
    link.lose(Side::Client);
    assert_eq!(client.read(&mut [0; 1]).unwrap_or(0), 0);
    assert!(
        ends.recv_timeout(QUIET).is_err(),
        "the server's end is open"
    );
}

#[test]
fn a_link_that_is_dropped_closes_its_connections_and_its_port() {
    let (server, ends) = echo();
    let link = Link::to(server).start().expect("it listens");
    let mut client = connect(&link);
    there_and_back(&mut client, 4);
    let address = link.address();
    drop(link);
    assert_eq!(client.read(&mut [0; 1]).unwrap_or(0), 0);
    assert!(ends.recv().is_ok());
    // Its thread closes the port a moment later.
    let until = Instant::now() + MS(10_000);
    while TcpStream::connect(address).is_ok() {
        assert!(Instant::now() < until, "the port is still open");
        thread::sleep(MS(1));
    }
}

#[test]
fn a_server_that_refuses_looks_like_one_that_hangs_up() {
    let link = Link::to(pgdyno_testkit::closed_address())
        .start()
        .expect("it listens");
    assert_eq!(connect(&link).read(&mut [0; 1]).unwrap_or(0), 0);
}

#[test]
fn a_thousand_connections_at_once_keep_their_bytes_apart() {
    let (server, _ends) = echo();
    let link = Link::to(server).threads(2).start().expect("it listens");
    let mut clients: Vec<TcpStream> = (0..1000).map(|_| connect(&link)).collect();
    for (number, client) in clients.iter_mut().enumerate() {
        let sent = (number as u64).to_be_bytes();
        client.write_all(&sent).expect("it is taken");
    }
    for (number, client) in clients.iter_mut().enumerate() {
        let mut received = [0; 8];
        client.read_exact(&mut received).expect("it comes back");
        assert_eq!(u64::from_be_bytes(received), number as u64);
    }
}

#[test]
fn what_a_link_is_like_changes_while_connections_are_open() {
    let (server, _ends) = echo();
    let link = Link::to(server).start().expect("it listens");
    let mut client = connect(&link);
    there_and_back(&mut client, 4);
    // An order is obeyed a moment later: what follows is looked at until it is.
    let mut until = |what: &str, holds: &dyn Fn(Duration) -> bool| {
        let limit = Instant::now() + MS(10_000);
        loop {
            let began = Instant::now();
            there_and_back(&mut client, 4000);
            if holds(began.elapsed()) {
                return;
            }
            assert!(Instant::now() < limit, "{what}");
        }
    };
    link.set_delay(Direction::ToClient, Delay::of(MS(30)));
    until("late", &|took| took >= MS(30));
    link.set_delay(Direction::ToClient, Delay::default());
    until("not late any more", &|took| took < MS(30));
    link.set_bandwidth(Direction::ToServer, Some(40_000));
    until("narrow", &|took| took >= MS(60));
    link.set_bandwidth(Direction::ToServer, None);
    until("not narrow any more", &|took| took < MS(60));
}

#[test]
fn a_server_learns_of_no_client_while_the_way_to_it_is_blocked() {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port is free");
    let link = Link::to(listener.local_addr().expect("it is bound"));
    let link = link.start().expect("it listens");
    link.block(Direction::ToServer);
    let _client = connect(&link);
    thread::sleep(QUIET);
    listener.set_nonblocking(true).expect("allowed");
    assert!(listener.accept().is_err(), "it knows of the client");
    link.unblock(Direction::ToServer);
    listener.set_nonblocking(false).expect("allowed");
    listener.accept().expect("the client comes");
}

#[test]
fn a_server_that_resets_is_one_to_the_client() {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port is free");
    let link = Link::to(listener.local_addr().expect("it is bound"));
    let link = link.start().expect("it listens");
    let mut client = connect(&link);
    client.write_all(b"unread").expect("it is taken");
    let (mut server, _) = listener.accept().expect("the client comes");
    server.read_exact(&mut [0; 1]).expect("it comes");
    // Closed with something unread.
    drop(server);
    let error = client.read(&mut [0; 1]).expect_err("a reset");
    assert_eq!(error.kind(), ErrorKind::ConnectionReset);
}

#[test]
fn a_link_that_is_dropped_has_no_threads_left() {
    let threads = || {
        let tasks = std::fs::read_dir("/proc/self/task").expect("this is Linux");
        let names = tasks.flatten().map(|task| task.path().join("comm"));
        let names = names.filter_map(|path| std::fs::read_to_string(path).ok());
        names.filter(|name| name.trim() == "gone").count()
    };
    let (server, _ends) = echo();
    // A link's threads have the name of who asks for them where that is said.
    let link = Link::to(server).name("gone").threads(3).start();
    let link = link.expect("it listens");
    let mut client = connect(&link);
    there_and_back(&mut client, 4);
    // A thread takes its name when it runs first.
    let deadline = Instant::now() + Duration::from_secs(60);
    while threads() < 3 {
        assert!(Instant::now() < deadline, "{} threads", threads());
        std::thread::yield_now();
    }
    drop(link);
    // A thread that was joined may be in /proc for a moment longer.
    while threads() > 0 {
        assert!(Instant::now() < deadline, "a thread is left");
        std::thread::yield_now();
    }
}

/// `cargo test --release -p pgdyno-link -- --ignored --nocapture measured`
#[test]
#[ignore = "a measurement"]
fn measured() {
    let (server, _ends) = echo();
    let link = Link::to(server).start().expect("it listens");
    let direct = TcpStream::connect(server).expect("it listens");
    direct.set_nodelay(true).expect("it is TCP");
    for (name, mut stream) in [("direct", direct), ("link", connect(&link))] {
        let trips = 20_000;
        let began = Instant::now();
        for _ in 0..trips {
            stream.write_all(b"SELECT 1").expect("it is taken");
            stream.read_exact(&mut [0; 8]).expect("it comes back");
        }
        let trip = began.elapsed() / trips;
        let (began, bytes) = (Instant::now(), 200_000_000);
        there_and_back(&mut stream, bytes);
        let mb_per_s = bytes as f64 / 1e6 / began.elapsed().as_secs_f64();
        println!("{name}: {trip:?} a round trip, {mb_per_s:.0} MB/s each way");
    }
}
