//! What both backends promise, tried with each of them.

use std::io::{self, Read, Write};
use std::net::TcpListener;
use std::os::unix::net::UnixListener;
use std::time::Duration;

use super::{Epoll, Event, Io, Key, Socket, TcpOptions, Uring, connect_tcp, connect_unix};

/// Runs a test with epoll and, where the kernel has it, with io_uring.
macro_rules! with_both {
    ($($name:ident),* $(,)?) => {
        mod epoll {
            $(#[test] fn $name() { super::$name(super::Epoll::new().unwrap()); })*
        }
        mod uring {
            $(#[test] fn $name() {
                if let Err(reason) = super::Uring::probe() {
                    pgdyno_testkit::skip!(stringify!($name), format!("no io_uring: {reason}"));
                }
                super::$name(super::Uring::new().unwrap());
            })*
        }
    };
}

with_both!(
    more_than_the_socket_holds_is_sent_in_order_and_received_whole,
    streams_that_arrive_at_the_same_time_are_whole_each,
    last_words_before_a_hang_up_are_delivered_before_the_end,
    what_is_sent_while_there_is_no_room_keeps_its_order,
    a_closed_connection_is_closed_for_its_peer_after_its_last_words,
    nothing_can_be_sent_on_a_closed_connection,
    many_connections_are_served_at_once,
    events_that_were_not_taken_come_with_the_next_wait,
    a_wait_ends_with_its_time,
    a_nearer_deadline_takes_the_place_of_a_further_one,
    a_refused_connection_is_an_event_or_an_immediate_error,
    events_of_a_closed_socket_do_not_reach_its_successor,
    a_waker_ends_a_wait_without_an_event,
);

fn until(io: &mut impl Io, buffer: &mut [u8], mut stop: impl FnMut(Key, &Event, &[u8]) -> bool) {
    for _ in 0..10_000 {
        io.wait_for(Duration::from_secs(5)).unwrap();
        while let Some((key, event)) = io.next(buffer) {
            let got = if let Event::Received(count) = event {
                count
            } else {
                0
            };
            if stop(key, &event, &buffer[..got]) {
                return;
            }
        }
    }
    panic!("the event that was waited for never came");
}

fn more_than_the_socket_holds_is_sent_in_order_and_received_whole(mut io: impl Io) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let echo = std::thread::spawn(move || {
        let (mut peer, _) = listener.accept().unwrap();
        let mut all = vec![0; 8 << 20];
        peer.read_exact(&mut all).unwrap();
        peer.write_all(&all).unwrap();
    });
    let mut buffer = vec![0; 4096];
    io.open(7, connect_tcp(address, &TcpOptions::default()).unwrap())
        .unwrap();
    let sent: Vec<u8> = (0..8usize << 20).map(|i| (i % 251) as u8).collect();
    // Sent before the connection is established: kept until then.
    io.send(7, &sent).unwrap();
    let mut got = Vec::new();
    until(&mut io, &mut buffer, |key, event, bytes| {
        assert_eq!(key, 7);
        assert!(!matches!(event, Event::Failed(_)), "{event:?}");
        got.extend_from_slice(bytes);
        matches!(event, Event::Closed)
    });
    assert!(got == sent, "what came back differs");
    echo.join().unwrap();
}

fn streams_that_arrive_at_the_same_time_are_whole_each(mut io: impl Io) {
    streams(&mut io, 1, |_| {});
}

/// A buffer that is counted twice, or not at all, would be filled while it is read, or never again.
#[test]
fn the_kernel_has_used_as_many_buffers_as_it_reported() {
    if let Err(reason) = Uring::probe() {
        pgdyno_testkit::skip!(
            "the_kernel_has_used_as_many_buffers_as_it_reported",
            format!("no io_uring: {reason}")
        );
    }
    for seed in 2..4 {
        streams(&mut Uring::new().unwrap(), seed, |io| {
            let (ours, kernels) = io.buffers_used();
            // Kernels before 6.8 do not say.
            assert!(
                kernels.is_none_or(|kernels| kernels == ours),
                "{ours}, by the kernel {kernels:?}"
            );
        });
    }
}

/// More than all buffers hold, by TCP and Unix sockets, in pieces of any size, read with buffers of any size and not
/// always to the last; some connections end while the kernel fills buffers for them. `drained` is called whenever all
/// that was reported has been read.
fn streams<I: Io>(io: &mut I, seed: u64, mut drained: impl FnMut(&I)) {
    const STREAM_BYTES: usize = 2 << 20;
    const STREAMS: u32 = 10;
    let byte = |key: u32, at: usize| ((at / 7) as u32).wrapping_add(key * 31) as u8;
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("s");
    let listener = UnixListener::bind(&path).unwrap();
    let tcp = TcpListener::bind("127.0.0.1:0").unwrap();
    let mut senders = Vec::new();
    for key in 0..STREAMS {
        let mut peer: Box<dyn Write + Send> = if key % 2 == 0 {
            io.open(key, connect_unix(&path, None).unwrap()).unwrap();
            Box::new(listener.accept().unwrap().0)
        } else {
            let stream = std::net::TcpStream::connect(tcp.local_addr().unwrap()).unwrap();
            let socket = Socket {
                fd: stream.into(),
                connecting: false,
            };
            io.open(key, socket).unwrap();
            Box::new(tcp.accept().unwrap().0)
        };
        senders.push(std::thread::spawn(move || {
            let stream: Vec<u8> = (0..STREAM_BYTES).map(|at| byte(key, at)).collect();
            let mut random = pgdyno_testkit::SplitMix64(seed << 32 | u64::from(key));
            let mut rest = &stream[..];
            while !rest.is_empty() {
                // Now small answers, now large ones.
                let most = 1 << (random.next() % 16);
                let (piece, after) =
                    rest.split_at(rest.len().min(random.next() as usize % most + 1));
                if peer.write_all(piece).is_err() {
                    return;
                }
                rest = after;
            }
        }));
    }
    let mut random = pgdyno_testkit::SplitMix64(seed);
    let mut buffer = vec![0; 64 << 10];
    let mut got = [0; STREAMS as usize];
    let mut left = STREAMS;
    while left > 0 {
        io.wait_for(Duration::from_secs(5)).unwrap();
        let most = if random.next().is_multiple_of(4) {
            random.next() % 8
        } else {
            u64::MAX
        };
        for taken in 0.. {
            if taken == most {
                break;
            }
            let size = random.next() as usize % buffer.len() + 1;
            let Some((key, event)) = io.next(&mut buffer[..size]) else {
                drained(io);
                break;
            };
            let got = &mut got[key as usize];
            match event {
                Event::Received(count) => {
                    let has_come = |(at, seen): (usize, &u8)| *seen == byte(key, *got + at);
                    let is_whole = buffer[..count].iter().enumerate().all(has_come);
                    assert!(is_whole, "{key} after {got}");
                    *got += count;
                    if key < 2 && *got > STREAM_BYTES / 2 {
                        io.close(key);
                        left -= 1;
                    }
                }
                Event::Closed => {
                    assert_eq!(*got, STREAM_BYTES, "{key}");
                    io.close(key);
                    left -= 1;
                }
                other => panic!("{key}: {other:?}"),
            }
        }
    }
    senders
        .into_iter()
        .for_each(|sender| sender.join().unwrap());
}

fn last_words_before_a_hang_up_are_delivered_before_the_end(mut io: impl Io) {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("s");
    let listener = UnixListener::bind(&path).unwrap();
    io.open(0, connect_unix(&path, None).unwrap()).unwrap();
    let (mut peer, _) = listener.accept().unwrap();
    peer.write_all(b"FATAL").unwrap();
    drop(peer);
    let mut words = Vec::new();
    until(&mut io, &mut [0; 64], |_, event, bytes| {
        words.extend_from_slice(bytes);
        matches!(event, Event::Closed)
    });
    assert_eq!(words, b"FATAL");
}

fn a_refused_connection_is_an_event_or_an_immediate_error(mut io: impl Io) {
    let closed = pgdyno_testkit::closed_address();
    let error = match connect_tcp(closed, &TcpOptions::default()) {
        Err(error) => error,
        Ok(socket) => {
            io.open(0, socket).unwrap();
            let mut error = None;
            until(&mut io, &mut [0; 64], |_, event, _| {
                if let Event::Failed(reason) = event {
                    error = Some(io::Error::from(reason.kind()));
                }
                true
            });
            error.expect("a failure")
        }
    };
    assert_eq!(error.kind(), io::ErrorKind::ConnectionRefused);
}

fn events_of_a_closed_socket_do_not_reach_its_successor(mut io: impl Io) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    io.open(0, connect_tcp(address, &TcpOptions::default()).unwrap())
        .unwrap();
    until(&mut io, &mut [0; 64], |_, event, _| {
        matches!(event, Event::Connected)
    });
    while io.next(&mut [0; 64]).is_some() {}
    let (mut first, _) = listener.accept().unwrap();
    first.write_all(b"old").unwrap();
    std::thread::sleep(Duration::from_millis(20));
    io.wait_for(Duration::from_secs(5)).unwrap();
    io.open(0, connect_tcp(address, &TcpOptions::default()).unwrap())
        .unwrap();
    let (mut second, _) = listener.accept().unwrap();
    second.write_all(b"new").unwrap();
    let mut buffer = [0; 64];
    while io.next(&mut buffer).is_some() {}
    let mut got = Vec::new();
    until(&mut io, &mut buffer, |_, event, bytes| {
        got.extend_from_slice(bytes);
        matches!(event, Event::Received(_))
    });
    assert_eq!(got, b"new");
}

fn a_waker_ends_a_wait_without_an_event(mut io: impl Io) {
    let waker = io.waker();
    let other = std::thread::spawn(move || waker.wake());
    io.wait_for(Duration::from_secs(60)).unwrap();
    assert!(io.next(&mut [0; 8]).is_none());
    other.join().unwrap();
}

fn what_is_sent_while_there_is_no_room_keeps_its_order(mut io: impl Io) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    io.open(0, connect_tcp(address, &TcpOptions::default()).unwrap())
        .unwrap();
    let (mut peer, _) = listener.accept().unwrap();
    let mut sent = Vec::new();
    let mut sequence = 0u32;
    let mut buffer = [0; 64];
    // Far more than the sockets hold, in pieces of all sizes, while the peer does not read.
    while sent.len() < 16 << 20 {
        let piece: Vec<u8> = (0..sequence % 9000).map(|i| (sequence ^ i) as u8).collect();
        io.send(0, &piece).unwrap();
        sent.extend_from_slice(&piece);
        sequence += 1;
        io.wait_for(Duration::ZERO).unwrap();
        while io.next(&mut buffer).is_some() {}
    }
    let expected = sent.len();
    let reader = std::thread::spawn(move || {
        let mut got = vec![0; expected];
        peer.read_exact(&mut got).unwrap();
        peer.write_all(b"all").unwrap();
        got
    });
    until(&mut io, &mut buffer, |_, event, bytes| {
        assert!(!matches!(event, Event::Failed(_)), "{event:?}");
        bytes == b"all"
    });
    assert!(reader.join().unwrap() == sent, "what arrived differs");
}

fn a_closed_connection_is_closed_for_its_peer_after_its_last_words(mut io: impl Io) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let mut buffer = [0; 64];
    for round in 0..3 {
        io.open(5, connect_tcp(address, &TcpOptions::default()).unwrap())
            .unwrap();
        let (mut peer, _) = listener.accept().unwrap();
        peer.write_all(b"hello").unwrap();
        until(&mut io, &mut buffer, |_, event, _| {
            matches!(event, Event::Received(5))
        });
        while io.next(&mut buffer).is_some() {}
        io.send(5, b"goodbye").unwrap();
        io.close(5);
        let mut words = String::new();
        peer.read_to_string(&mut words).unwrap();
        assert_eq!(words, "goodbye", "round {round}");
    }
}

fn nothing_can_be_sent_on_a_closed_connection(mut io: impl Io) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    io.open(0, connect_tcp(address, &TcpOptions::default()).unwrap())
        .unwrap();
    io.close(0);
    let error = io.send(0, b"?").unwrap_err();
    assert_eq!(error.kind(), io::ErrorKind::NotConnected);
}

fn many_connections_are_served_at_once(mut io: impl Io) {
    const CONNECTIONS: u32 = 700;
    const BYTES: usize = 10_000;
    let (mut peers, mut got) = (Vec::new(), vec![0; CONNECTIONS as usize]);
    for key in 0..CONNECTIONS {
        let (near, far) = Socket::pair().unwrap();
        io.open(key, near).unwrap();
        io.send(key, &key.to_be_bytes()).unwrap();
        peers.push(std::os::unix::net::UnixStream::from(far));
    }
    io.wait_for(Duration::ZERO).unwrap();
    let mut buffer = [0; 4096];
    while io.next(&mut buffer).is_some() {}
    for (key, peer) in (0u32..).zip(&mut peers) {
        let mut number = [0; 4];
        peer.set_nonblocking(false).unwrap();
        peer.read_exact(&mut number).unwrap();
        assert_eq!(u32::from_be_bytes(number), key);
        peer.write_all(&[key as u8; BYTES]).unwrap();
    }
    until(&mut io, &mut buffer, |key, event, bytes| {
        assert!(matches!(event, Event::Received(_)), "{event:?}");
        assert!(bytes.iter().all(|byte| *byte == key as u8));
        got[key as usize] += bytes.len();
        got.iter().all(|count| *count == BYTES)
    });
}

fn events_that_were_not_taken_come_with_the_next_wait(mut io: impl Io) {
    const CONNECTIONS: u32 = 20;
    const BYTES: usize = 10;
    let mut peers = Vec::new();
    for key in 0..CONNECTIONS {
        let (near, far) = Socket::pair().unwrap();
        io.open(key, near).unwrap();
        let mut peer = std::os::unix::net::UnixStream::from(far);
        peer.write_all(&[key as u8; BYTES]).unwrap();
        peers.push(peer);
    }
    // One event a wait, of less than has arrived.
    let mut got = 0;
    let begun = std::time::Instant::now();
    while got < CONNECTIONS as usize * BYTES {
        io.wait_for(Duration::from_secs(60)).unwrap();
        if let Some((_, Event::Received(count))) = io.next(&mut [0; 4]) {
            got += count;
        }
    }
    assert!(begun.elapsed() < Duration::from_secs(30));
}

fn a_nearer_deadline_takes_the_place_of_a_further_one(mut io: impl Io) {
    let (near, far) = Socket::pair().unwrap();
    io.open(0, near).unwrap();
    let mut far = std::os::unix::net::UnixStream::from(far);
    far.write_all(b"!").unwrap();
    let begun = std::time::Instant::now();
    // Ends at once, because something arrives; the deadline is still to come.
    io.wait_for(Duration::from_secs(60)).unwrap();
    while io.next(&mut [0; 8]).is_some() {}
    // Near and far ones, each more than once.
    for time_ms in [40, 40, 5, 5, 25, 1, 30] {
        let (before, time) = (std::time::Instant::now(), Duration::from_millis(time_ms));
        io.wait_for(time).unwrap();
        assert!(before.elapsed() >= time, "{time:?}");
        assert!(io.next(&mut [0; 8]).is_none());
    }
    assert!(begun.elapsed() < Duration::from_secs(30));
}

fn a_wait_ends_with_its_time(mut io: impl Io) {
    let before = std::time::Instant::now();
    io.wait_for(Duration::from_millis(20)).unwrap();
    assert!(before.elapsed() >= Duration::from_millis(20));
    assert!(io.next(&mut [0; 8]).is_none());
}
