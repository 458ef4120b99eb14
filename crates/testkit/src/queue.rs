//! A server with a queue whose capacity is known: one statement at a time, for exponential times.

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

/// When the one server behind the queue is free, and its random numbers.
struct Desk {
    free: Instant,
    random: u64,
}

impl QueueServer {
    /// Starts one that serves statements with [`MARK`] in them one after the other, so many a second
    /// on average, and lets the server at this Unix socket answer all others.
    ///
    /// # Panics
    /// When it cannot listen.
    pub fn start(server: &Path, served_per_s: f64, seed: u64) -> QueueServer {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("a port is free");
        let address = listener.local_addr().expect("it is bound");
        let desk = Desk {
            free: Instant::now(),
            random: seed,
        };
        let shared = Arc::new((server.to_owned(), served_per_s, Mutex::new(desk)));
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

fn serve(mut client: TcpStream, shared: &(PathBuf, f64, Mutex<Desk>)) -> io::Result<()> {
    client.set_nodelay(true)?;
    let (path, served_per_s, desk) = shared;
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
        let done = desk
            .lock()
            .expect("no thread has panicked")
            .take(*served_per_s);
        // What sleeps too long delays one answer, never the queue: `free` is by the clock.
        thread::sleep(done.saturating_duration_since(Instant::now()));
        client.write_all(&[complete("CALL"), ready(b'I')].concat())?;
    }
}

impl Desk {
    /// When the next statement is done, if it comes now.
    fn take(&mut self, served_per_s: f64) -> Instant {
        // SplitMix64.
        self.random = self.random.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.random;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^= z >> 31;
        let uniform = ((z >> 11) as f64 + 0.5) / (1u64 << 53) as f64;
        let service = Duration::from_secs_f64(-uniform.ln() / served_per_s);
        self.free = self.free.max(Instant::now()) + service;
        self.free
    }
}
