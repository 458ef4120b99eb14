//! A server with a queue whose capacity is known: one statement at a time, each for the same time
//! (M/D/1).

use std::io::{self, Write};
use std::net::{Ipv4Addr, Shutdown, SocketAddr, TcpListener, TcpStream};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};

use crate::hostile::{self, complete, ready};

/// The mark of statements that queue.
pub const MARK: &str = "queue";

/// The server, listening on loopback TCP. It ends with the test process.
#[derive(Debug)]
pub struct QueueServer {
    address: SocketAddr,
}

impl QueueServer {
    /// Starts one that serves statements with [`MARK`] in them one after the other, each for so
    /// long, and lets the server at this Unix socket answer all others.
    ///
    /// # Panics
    /// When it cannot listen.
    pub fn start(server: &Path, service: Duration) -> QueueServer {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("a port is free");
        let address = listener.local_addr().expect("it is bound");
        // When the one server behind the queue is free.
        let free = Mutex::new(Instant::now());
        let shared = Arc::new((server.to_owned(), service, free));
        thread::spawn(move || {
            for client in listener.incoming().map_while(Result::ok) {
                let shared = shared.clone();
                // To the client a failure looks like a server that hangs up.
                thread::spawn(move || serve(client, &shared));
            }
        });
        QueueServer { address }
    }

    /// A connection string for it.
    pub fn url(&self) -> String {
        format!(
            "postgresql://postgres@{}/postgres?sslmode=disable",
            self.address
        )
    }
}

fn serve(mut client: TcpStream, shared: &(PathBuf, Duration, Mutex<Instant>)) -> io::Result<()> {
    client.set_nodelay(true)?;
    let (path, service, free) = shared;
    let startup = hostile::startup(&mut client)?;
    let mut server = UnixStream::connect(path)?;
    server.write_all(&startup)?;
    let (mut from, mut to) = (server.try_clone()?, client.try_clone()?);
    thread::spawn(move || {
        let _ = io::copy(&mut from, &mut to);
        let _ = to.shutdown(Shutdown::Both);
    });
    loop {
        let message = hostile::message(&mut client)?;
        let is_marked = message
            .windows(MARK.len())
            .any(|part| part == MARK.as_bytes());
        if message[0] != b'Q' || !is_marked {
            server.write_all(&message)?;
            continue;
        }
        let done = {
            let mut free = free.lock().expect("no thread has panicked");
            *free = (*free).max(Instant::now()) + *service;
            *free
        };
        // What sleeps too long delays one answer, never the queue: `free` is by the clock.
        thread::sleep(done.saturating_duration_since(Instant::now()));
        client.write_all(&[complete("CALL"), ready(b'I')].concat())?;
    }
}
