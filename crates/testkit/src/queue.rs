//! A server with a queue whose capacity is known: one statement at a time, each for the same time
//! (M/D/1).

use std::io::{self, Write};
use std::net::{Ipv4Addr, Shutdown, SocketAddr, TcpListener, TcpStream};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
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
    queue: Arc<Queue>,
}

#[derive(Debug)]
struct Queue {
    /// The Unix socket of the server that answers everything else.
    server: PathBuf,
    service: Duration,
    /// When the one server behind the queue is free.
    free: Mutex<Instant>,
    /// Answers, and by how much they were late altogether, in microseconds.
    answers: AtomicU64,
    late_us: AtomicU64,
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
        let queue = Arc::new(Queue {
            server: server.to_owned(),
            service,
            free: Mutex::new(Instant::now()),
            answers: AtomicU64::new(0),
            late_us: AtomicU64::new(0),
        });
        let shared = queue.clone();
        thread::spawn(move || {
            for client in listener.incoming().map_while(Result::ok) {
                let shared = shared.clone();
                // To the client a failure looks like a server that hangs up.
                thread::spawn(move || serve(client, &shared));
            }
        });
        QueueServer { address, queue }
    }

    /// A connection string for it.
    pub fn url(&self) -> String {
        format!(
            "postgresql://postgres@{}/postgres?sslmode=disable",
            self.address
        )
    }

    /// By how much this host was late with an answer on average. The queue does not grow by that.
    pub fn late(&self) -> Duration {
        let answers = self.queue.answers.load(Ordering::Relaxed).max(1);
        Duration::from_micros(self.queue.late_us.load(Ordering::Relaxed) / answers)
    }
}

fn serve(mut client: TcpStream, queue: &Queue) -> io::Result<()> {
    client.set_nodelay(true)?;
    let startup = hostile::startup(&mut client)?;
    let mut server = UnixStream::connect(&queue.server)?;
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
            let mut free = queue.free.lock().expect("no thread has panicked");
            *free = (*free).max(Instant::now()) + queue.service;
            *free
        };
        // What sleeps too long delays one answer, never the queue: `free` is by the clock.
        thread::sleep(done.saturating_duration_since(Instant::now()));
        client.write_all(&[complete("CALL"), ready(b'I')].concat())?;
        let late = Instant::now().saturating_duration_since(done);
        queue.answers.fetch_add(1, Ordering::Relaxed);
        queue
            .late_us
            .fetch_add(late.as_micros() as u64, Ordering::Relaxed);
    }
}
