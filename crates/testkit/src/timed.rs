//! A server of known latency: it takes the set time for each request, keeps books of
//! it, and does nothing else. What a program says of where its time went is compared with the books.
//!
//! It speaks the simple protocol. A statement says what it takes in words of its own: `work 20` waits 20
//! ms and answers; `fail 20` waits and answers with a serialization failure every other time; `trickle
//! 40` answers with 200 kB that come over 40 ms. What it does not know it answers with an error.

use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use pgdyno_platform::cpu_time::ThreadClock;

use crate::hostile::{complete, described, ready, row, server_message, server_text, started};

/// A trickled answer comes in so many pieces.
const PIECES: u32 = 40;
const PIECE_BYTES: usize = 5_000;

#[derive(Debug, Clone, Copy, Default)]
pub struct Times {
    /// A connection, before the server says that it is ready.
    pub start: Duration,
    /// The way there and back: before every answer.
    pub way: Duration,
}

/// What it has spent, in seconds, for statements that say what they take.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Spent {
    pub starting: f64,
    pub way: f64,
    pub working: f64,
    /// Between the first and the last piece of answers.
    pub trickling: f64,
    /// Waiting for a CPU, in any of these or before or behind them.
    pub starved: f64,
}

pub struct TimedServer {
    address: SocketAddr,
    books: Books,
}

type Books = Arc<Mutex<Spent>>;

impl TimedServer {
    pub fn start(times: Times) -> TimedServer {
        let listener = TcpListener::bind("127.0.0.1:0").expect("loopback is there");
        let address = listener.local_addr().expect("it listens");
        let books = Books::default();
        let of_clients = books.clone();
        thread::spawn(move || {
            for client in listener.incoming().flatten() {
                let books = of_clients.clone();
                // Its end is the client's.
                thread::spawn(move || serve(client, times, &books));
            }
        });
        TimedServer { address, books }
    }

    pub fn url(&self) -> String {
        format!("postgresql://me@{}/d?sslmode=disable", self.address)
    }

    /// What it has spent so far.
    pub fn spent(&self) -> Spent {
        *self.books.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn serve(mut client: TcpStream, times: Times, books: &Books) -> io::Result<()> {
    client.set_nodelay(true)?;
    let length = read_length(&mut client)?;
    read_bytes(&mut client, length)?;
    let took = wait(times.start);
    book(books, |spent| spent.starting += took);
    client.write_all(&started())?;
    let mut asked = 0u64;
    let clock = ThreadClock::of_this_thread();
    let mut starved = starved_s(clock.as_ref());
    loop {
        let mut tag = [0];
        client.read_exact(&mut tag)?;
        let length = read_length(&mut client)?;
        let body = read_bytes(&mut client, length)?;
        if tag != *b"Q" {
            return Ok(());
        }
        let text = String::from_utf8_lossy(&body);
        let text = text.trim_end_matches(['\0', ';', ' ']).to_owned();
        asked += 1;
        answer(&mut client, &text, asked, times, books)?;
        let until_now = starved_s(clock.as_ref());
        book(books, |spent| spent.starved += until_now - starved);
        starved = until_now;
    }
}

/// How long the thread of this clock has been ready and had no CPU, in seconds; 0 where the kernel does not say.
fn starved_s(clock: Option<&ThreadClock>) -> f64 {
    let scheduled = clock.and_then(ThreadClock::read);
    scheduled.map_or(0.0, |it| it.waited_ns as f64 / 1e9)
}

fn answer(
    client: &mut TcpStream,
    text: &str,
    asked: u64,
    times: Times,
    books: &Books,
) -> io::Result<()> {
    let way = wait(times.way);
    let (word, ms) = text.split_once(' ').unwrap_or((text, ""));
    let work = Duration::from_millis(ms.parse().unwrap_or(0));
    let mut out = match word {
        "" => server_message(b'I', b""),
        "SET" => complete("SET"),
        "work" | "fail" => {
            let working = wait(work);
            book(books, |spent| {
                spent.way += way;
                spent.working += working;
            });
            if word == "fail" && asked % 2 == 1 {
                server_text(b'E', "ERROR", "40001", "could not serialize access")
            } else {
                complete("SELECT 0")
            }
        }
        "trickle" => {
            client.write_all(&described(&["x"]))?;
            let begun = Instant::now();
            let piece = row(&["x".repeat(PIECE_BYTES).as_str()]);
            for at in 1..=PIECES {
                let due = begun + work * at / PIECES;
                thread::sleep(due.saturating_duration_since(Instant::now()));
                client.write_all(&piece)?;
            }
            let took = begun.elapsed().as_secs_f64();
            book(books, |spent| {
                spent.way += way;
                spent.trickling += took;
            });
            complete("SELECT 40")
        }
        _ => server_text(b'E', "ERROR", "42601", "this server only takes its time"),
    };
    out.extend(ready(b'I'));
    client.write_all(&out)
}

/// Waits, and says how long it was in seconds.
fn wait(time: Duration) -> f64 {
    let begun = Instant::now();
    if !time.is_zero() {
        thread::sleep(time);
    }
    begun.elapsed().as_secs_f64()
}

fn book(books: &Books, change: impl FnOnce(&mut Spent)) {
    change(&mut books.lock().unwrap_or_else(PoisonError::into_inner));
}

fn read_length(client: &mut TcpStream) -> io::Result<usize> {
    let mut bytes = [0; 4];
    client.read_exact(&mut bytes)?;
    Ok((u32::from_be_bytes(bytes) as usize).saturating_sub(4))
}

fn read_bytes(client: &mut TcpStream, length: usize) -> io::Result<Vec<u8>> {
    let mut bytes = vec![0; length];
    client.read_exact(&mut bytes)?;
    Ok(bytes)
}
