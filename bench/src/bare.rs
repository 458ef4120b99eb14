//! `pgdyno-bench bare`: select-only in a loop that does nothing but send and receive, on the same
//! sockets as pgdyno's engine. It measures nothing and makes no mistakes: the floor.

use std::path::Path;
use std::time::{Duration, Instant};

use pgdyno_platform::io::{
    Epoll, Event, Io, Key, Socket, TcpOptions, Uring, connect_tcp, connect_unix,
};

use crate::Error;
use crate::wire::startup;
use pgdyno_server::instant::pieces::{Pieces, message};

/// The loop that the arguments ask for: `epoll|uring PLACE CLIENTS SECONDS ROWS`. Prints the
/// transactions, the seconds they took, and those that connecting took.
pub fn open(arguments: &[String]) -> Result<(), Error> {
    let [io, place, numbers @ ..] = arguments else {
        return Err("bare: io, place, clients, seconds, rows".into());
    };
    let numbers: Vec<u32> = numbers
        .iter()
        .map(|n| n.parse())
        .collect::<Result<_, _>>()?;
    let &[clients, seconds, rows] = numbers.as_slice() else {
        return Err("bare: clients, seconds, rows".into());
    };
    let _ = pgdyno_platform::limits::raise_open_files();
    match io.as_str() {
        "epoll" => run(Epoll::new()?, place, clients, seconds, rows),
        "uring" => {
            Uring::probe()?;
            run(Uring::new()?, place, clients, seconds, rows)
        }
        other => Err(format!("bare: no {other}").into()),
    }
}

#[derive(Default)]
struct Client {
    pieces: Pieces,
    /// Answers to come before it works: to the start, and to the statement's preparation.
    preparing: u32,
}

fn connect(place: &str) -> Result<Socket, Error> {
    Ok(match place.parse() {
        Ok(address) => connect_tcp(address, &TcpOptions::default())?,
        Err(_) => connect_unix(Path::new(place), None)?,
    })
}

fn run(mut io: impl Io, place: &str, clients: u32, seconds: u32, rows: u32) -> Result<(), Error> {
    let begun = Instant::now();
    let mut buffer = vec![0; 64 << 10];
    let mut states = Vec::new();
    for key in 0..clients {
        io.open(key, connect(place)?)?;
        io.send(key, &startup())?;
        let (pieces, preparing) = (Pieces::default(), 2);
        states.push(Client { pieces, preparing });
        // One after the other: a server's queue is short.
        until(&mut io, &mut buffer, &mut states, |io, client, key| {
            if client.preparing == 1 {
                io.send(key, &prepare())?;
            }
            Ok(client.preparing == 0)
        })?;
    }
    let connecting = begun.elapsed();
    let (begun, mut random) = (Instant::now(), 0x9e37_79b9_7f4a_7c15_u64);
    let end = begun + Duration::from_secs(seconds.into());
    let mut request = Vec::new();
    let mut ask = |io: &mut _, key| -> Result<(), Error> {
        random ^= random << 13;
        random ^= random >> 7;
        random ^= random << 17;
        request.clear();
        execute(&mut request, 1 + random % u64::from(rows));
        Ok(Io::send(io, key, &request)?)
    };
    for key in 0..clients {
        ask(&mut io, key)?;
    }
    let mut transactions = 0_u64;
    until(&mut io, &mut buffer, &mut states, |io, _, key| {
        transactions += 1;
        ask(io, key)?;
        Ok(transactions.is_multiple_of(64) && Instant::now() >= end)
    })?;
    let (worked, connecting) = (begun.elapsed().as_secs_f64(), connecting.as_secs_f64());
    println!("{transactions} {worked} {connecting}");
    Ok(())
}

/// Goes on until a client, told of each ReadyForQuery, says that this was all.
fn until<I: Io>(
    io: &mut I,
    buffer: &mut [u8],
    clients: &mut [Client],
    mut ready: impl FnMut(&mut I, &mut Client, Key) -> Result<bool, Error>,
) -> Result<(), Error> {
    loop {
        io.wait(0, None)?;
        let mut is_over = false;
        while let Some((key, event)) = io.next(buffer) {
            let client = &mut clients[key as usize];
            match event {
                Event::Connected => {}
                Event::Received(count) => {
                    let mut answers = 0;
                    let mut error = None;
                    client.pieces.take(&buffer[..count], |tag, body| match tag {
                        b'Z' => answers += 1,
                        b'E' => error = Some(String::from_utf8_lossy(body).into_owned()),
                        _ => {}
                    });
                    if let Some(error) = error {
                        return Err(format!("bare: the server says {error}").into());
                    }
                    for _ in 0..answers {
                        client.preparing = client.preparing.saturating_sub(1);
                        is_over |= ready(io, client, key)?;
                    }
                }
                Event::Closed => return Err("bare: the server closed a connection".into()),
                Event::Failed(error) => return Err(error.into()),
            }
        }
        if is_over {
            return Ok(());
        }
    }
}

fn prepare() -> Vec<u8> {
    let mut out = Vec::new();
    let parse = b"s\0SELECT abalance FROM pgbench_accounts WHERE aid = $1\0\0\0";
    message(&mut out, b'P', parse);
    message(&mut out, b'S', b"");
    out
}

/// Bind, Describe, Execute and Sync: what libpq sends too.
fn execute(out: &mut Vec<u8>, aid: u64) {
    let aid = aid.to_string();
    let mut bind = b"\0s\0\0\0\0\x01".to_vec();
    bind.extend_from_slice(&(aid.len() as u32).to_be_bytes());
    bind.extend_from_slice(aid.as_bytes());
    bind.extend_from_slice(b"\0\0");
    message(out, b'B', &bind);
    message(out, b'D', b"P\0");
    message(out, b'E', b"\0\0\0\0\0");
    message(out, b'S', b"");
}
