//! A server that answers at once and always the same, so that what is measured is the client. It
//! knows as much of the protocol as a client needs for a SELECT: simple, extended, prepared. Every
//! statement is answered with one row of one integer; of a COPY FROM STDIN it counts the rows and throws them
//! away. `pgdyno calibrate --self` and `make bench` use it.
//!
//! Not for: tests of anything but the load generator; it knows no SQL and no errors.

pub mod pieces;

use std::io;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::Path;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread;

use pgdyno_platform::io::{Choice, Event, Io, Key, Sockets, Waker};

use pieces::{Pieces, message};

/// Listens on this socket, a file that is not there yet, with so many threads, until it is killed.
///
/// # Errors
/// The socket cannot be made; there are no event loops.
pub fn open(socket: &Path, threads: usize) -> io::Result<()> {
    serve(UnixListener::bind(socket)?, threads)
}

/// Answers all that connect there with so many threads, until the process ends.
///
/// # Errors
/// There are no event loops or threads; an event loop fails.
pub fn serve(listener: UnixListener, threads: usize) -> io::Result<()> {
    // Where it cannot be raised, clients say that they get no connection.
    let _ = pgdyno_platform::limits::raise_open_files();
    let (sockets, _) = Choice::Auto.open(threads.max(1), usize::MAX)?;
    match sockets {
        Sockets::Epoll(loops) => serve_with(loops, listener),
        Sockets::Uring(loops) => serve_with(loops, listener),
    }
}

fn serve_with<I: Io + Send>(loops: Vec<I>, listener: UnixListener) -> io::Result<()> {
    let (dealt, inboxes): (Vec<_>, Vec<_>) = loops
        .into_iter()
        .map(|io| {
            let (sockets, accepted) = channel();
            ((sockets, io.waker()), (io, accepted))
        })
        .unzip();
    thread::Builder::new().spawn(move || deal(&listener, &dealt))?;
    thread::scope(|scope| {
        let threads = inboxes.into_iter().map(|(io, accepted)| {
            thread::Builder::new().spawn_scoped(scope, move || answer_all(io, &accepted))
        });
        let threads: Vec<_> = threads.collect::<io::Result<_>>()?;
        let ended = threads.into_iter().map(|thread| thread.join());
        // A loop ends only when it fails.
        ended.flatten().collect()
    })
}

/// Gives the event loops their connections in turn, as the engine deals its clients.
fn deal(listener: &UnixListener, loops: &[(Sender<UnixStream>, Waker)]) {
    for (sockets, waker) in loops.iter().cycle() {
        let Ok((socket, _)) = listener.accept() else {
            return;
        };
        if sockets.send(socket).is_err() {
            return;
        }
        waker.wake();
    }
}

#[derive(Default)]
struct Client {
    pieces: Pieces,
    has_started: bool,
    /// Rows of the COPY under way.
    copied: u64,
}

fn answer_all(mut io: impl Io, accepted: &Receiver<UnixStream>) -> io::Result<()> {
    let mut clients: Vec<Client> = Vec::new();
    let mut free: Vec<Key> = Vec::new();
    let (mut buffer, mut answer) = (vec![0; 64 << 10], Vec::new());
    let row = row();
    loop {
        io.wait(0, None)?;
        while let Some((key, event)) = io.next(&mut buffer) {
            let Event::Received(count) = event else {
                if !matches!(event, Event::Connected) {
                    io.close(key);
                    clients[key as usize] = Client::default();
                    free.push(key);
                }
                continue;
            };
            answer.clear();
            clients[key as usize].answer(&buffer[..count], &row, &mut answer);
            // An event reports a client that is gone.
            let _ = io.send(key, &answer);
        }
        while let Ok(socket) = accepted.try_recv() {
            let key = free.pop().unwrap_or(clients.len() as Key);
            if key as usize == clients.len() {
                clients.push(Client::default());
            }
            io.open(key, socket.into())?;
        }
    }
}

impl Client {
    fn answer(&mut self, bytes: &[u8], row: &[u8], out: &mut Vec<u8>) {
        if !self.has_started {
            // The first message has no tag; it comes whole, and nothing behind it before an answer.
            let code = bytes
                .get(4..8)
                .map(|code| [code[0], code[1], code[2], code[3]]);
            match code.map(u32::from_be_bytes) {
                // Neither TLS nor GSS.
                Some(80_877_103 | 80_877_104) => out.push(b'N'),
                _ => {
                    self.has_started = true;
                    started(out);
                }
            }
            return;
        }
        let copied = &mut self.copied;
        self.pieces.take(bytes, |tag, body| match tag {
            b'P' => message(out, b'1', b""),
            b'C' => message(out, b'3', b""),
            b'B' => message(out, b'2', b""),
            b'D' => {
                // Of a statement its parameters come first: none.
                if body.first() == Some(&b'S') {
                    message(out, b't', &[0; 2]);
                }
                message(out, b'T', &columns());
            }
            b'E' => out.extend_from_slice(row),
            b'd' => *copied += body.iter().filter(|byte| **byte == b'\n').count() as u64,
            b'c' => {
                let complete = format!("COPY {}\0", std::mem::take(copied));
                message(out, b'C', complete.as_bytes());
                message(out, b'Z', b"I");
            }
            // Text, without described columns.
            b'Q' if body.starts_with(b"COPY ") => message(out, b'G', &[0; 3]),
            b'Q' => {
                message(out, b'T', &columns());
                out.extend_from_slice(row);
                message(out, b'Z', b"I");
            }
            b'S' => message(out, b'Z', b"I"),
            _ => {}
        });
    }
}

/// Appends what a server says before the first question: no password, settings, ready.
pub fn started(out: &mut Vec<u8>) {
    message(out, b'R', &0_u32.to_be_bytes());
    for setting in [
        "server_version\x0018.0\0",
        "client_encoding\0UTF8\0",
        "server_encoding\0UTF8\0",
        "standard_conforming_strings\0on\0",
        "integer_datetimes\0on\0",
        "DateStyle\0ISO, MDY\0",
    ] {
        message(out, b'S', setting.as_bytes());
    }
    message(out, b'K', &[0, 0, 0, 1, 0, 0, 0, 2]);
    message(out, b'Z', b"I");
}

/// One column of type integer.
fn columns() -> Vec<u8> {
    let mut body = b"\0\x01abalance\0".to_vec();
    body.extend_from_slice(&[0; 6]);
    body.extend_from_slice(&23_u32.to_be_bytes());
    body.extend_from_slice(&4_u16.to_be_bytes());
    body.extend_from_slice(&(-1_i32).to_be_bytes());
    body.extend_from_slice(&[0; 2]);
    body
}

/// One row, and the command's end.
fn row() -> Vec<u8> {
    let mut out = Vec::new();
    message(&mut out, b'D', b"\0\x01\0\0\0\x010");
    message(&mut out, b'C', b"SELECT 1\0");
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::Command;

    #[test]
    fn rows_of_a_copy_are_counted_however_they_arrive() {
        let mut sent = Vec::new();
        message(&mut sent, b'Q', b"COPY t FROM STDIN\0");
        message(&mut sent, b'd', b"1\ta\n2\tb\n3");
        message(&mut sent, b'd', b"\tc\n");
        message(&mut sent, b'c', b"");
        let mut expected = Vec::new();
        message(&mut expected, b'G', &[0; 3]);
        message(&mut expected, b'C', b"COPY 3\0");
        message(&mut expected, b'Z', b"I");
        for step in 1..=sent.len() {
            let mut client = Client {
                has_started: true,
                ..Client::default()
            };
            // One COPY after another.
            for _ in 0..2 {
                let mut answer = Vec::new();
                for piece in sent.chunks(step) {
                    client.answer(piece, &[], &mut answer);
                }
                assert_eq!(answer, expected, "{step}");
            }
        }
    }

    #[test]
    fn psql_gets_its_row() {
        if Command::new("psql").arg("--version").output().is_err() {
            pgdyno_testkit::skip!("psql_gets_its_row", "no psql");
        }
        let directory = tempfile::tempdir().unwrap();
        let listener = UnixListener::bind(directory.path().join(".s.PGSQL.5432")).unwrap();
        // Ends with the tests.
        thread::spawn(move || serve(listener, 2));
        let url = format!("postgresql://me@/db?host={}", directory.path().display());
        for _ in 0..3 {
            let mut psql = Command::new("psql");
            psql.args([
                "--no-psqlrc",
                "--tuples-only",
                "--no-align",
                "--dbname",
                &url,
            ]);
            let said = psql.args(["--command", "SELECT 1"]).output().unwrap();
            assert!(said.status.success(), "{said:?}");
            assert_eq!(String::from_utf8_lossy(&said.stdout), "0\n");
        }
    }
}
