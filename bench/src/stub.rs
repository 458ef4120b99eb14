//! `pgdyno-bench stub`: a server that answers at once and always the same, so that what is measured
//! is the client. It knows as much of the protocol as pgbench and pgdyno need for a prepared SELECT.

use std::os::unix::net::{UnixListener, UnixStream};
use std::path::Path;
use std::sync::mpsc::{Sender, channel};

use pgdyno_platform::io::{Choice, Event, Io, Key, Sockets, Waker};

use crate::Error;
use crate::wire::{Pieces, message};

/// Listens on this socket until it is killed.
pub fn open(socket: &Path) -> Result<(), Error> {
    let _ = pgdyno_platform::limits::raise_open_files();
    let listener = UnixListener::bind(socket)?;
    let (sockets, _) = Choice::Auto.open(1)?;
    match sockets {
        Sockets::Epoll(loops) => loops
            .into_iter()
            .try_for_each(|io| serve(io, listener.try_clone()?)),
        Sockets::Uring(loops) => loops
            .into_iter()
            .try_for_each(|io| serve(io, listener.try_clone()?)),
    }
}

fn accept(listener: &UnixListener, sockets: &Sender<UnixStream>, waker: &Waker) {
    while let Ok((socket, _)) = listener.accept() {
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
}

fn serve(mut io: impl Io, listener: UnixListener) -> Result<(), Error> {
    let (sockets, accepted) = channel();
    let waker = io.waker();
    std::thread::spawn(move || accept(&listener, &sockets, &waker));
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
            // A client that is gone is told of by an event.
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
        self.pieces.take(bytes, |tag, _| match tag {
            b'P' => message(out, b'1', b""),
            b'B' => message(out, b'2', b""),
            b'D' => message(out, b'T', &columns()),
            b'E' => out.extend_from_slice(row),
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

fn started(out: &mut Vec<u8>) {
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
