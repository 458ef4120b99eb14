//! A proxy that hands on every byte and records both sides, connection by connection.

use std::io::{self, BufReader, Write};
use std::net::{Ipv4Addr, Shutdown, TcpListener, TcpStream};
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::{Duration, Instant};

use crate::targets::message::Message;
use crate::targets::recording::{Copying, Event};

pub struct Recorder {
    port: u16,
    tapes: Arc<Mutex<Vec<Tape>>>,
}

#[derive(Default)]
struct Tape {
    events: Vec<Event>,
    copying: Option<Copying>,
    sides_open: u32,
}

impl Recorder {
    /// A proxy before the server at this address, `HOST:PORT`.
    pub fn start(server: &str) -> Recorder {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        let port = listener.local_addr().unwrap().port();
        let tapes = Arc::new(Mutex::new(Vec::new()));
        let (shared, server) = (Arc::clone(&tapes), server.to_owned());
        std::thread::spawn(move || {
            for client in listener.incoming().map_while(Result::ok) {
                let number = {
                    let mut tapes = lock(&shared);
                    tapes.push(Tape {
                        sides_open: 2,
                        ..Tape::default()
                    });
                    tapes.len() - 1
                };
                let Ok(upstream) = TcpStream::connect(&server) else {
                    refuse(client, &shared, number);
                    continue;
                };
                let twins = (client.try_clone().unwrap(), upstream.try_clone().unwrap());
                for (from, to, is_client) in [(client, upstream, true), (twins.1, twins.0, false)] {
                    let tapes = Arc::clone(&shared);
                    std::thread::spawn(move || {
                        // A side that breaks off is recorded as one that hung up.
                        let _ = hand_on(from, &to, is_client, &tapes, number);
                        record(&tapes, number, is_client, None);
                        let _ = to.shutdown(Shutdown::Write);
                    });
                }
            }
        });
        Recorder { port, tapes }
    }

    pub fn port(&self) -> u16 {
        self.port
    }

    /// What was said on each connection, when all are closed.
    pub fn ended(self) -> Vec<Vec<Event>> {
        let began = Instant::now();
        while lock(&self.tapes).iter().any(|tape| tape.sides_open > 0) {
            assert!(began.elapsed() < Duration::from_secs(10), "one stays open");
            std::thread::sleep(Duration::from_millis(5));
        }
        let mut tapes = lock(&self.tapes);
        tapes.drain(..).map(|tape| tape.events).collect()
    }
}

fn lock(tapes: &Mutex<Vec<Tape>>) -> MutexGuard<'_, Vec<Tape>> {
    tapes.lock().unwrap_or_else(|e| e.into_inner())
}

/// The server is not there: what the client said first, without an answer.
fn refuse(mut client: TcpStream, tapes: &Mutex<Vec<Tape>>, number: usize) {
    let greeting = Message::read(&mut client, true).ok().flatten();
    let mut tapes = lock(tapes);
    let tape = &mut tapes[number];
    tape.events.extend(greeting.map(Event::Client));
    tape.events
        .extend([Event::ServerClosed, Event::ClientClosed]);
    tape.sides_open = 0;
}

fn hand_on(
    from: TcpStream,
    mut to: &TcpStream,
    is_client: bool,
    tapes: &Mutex<Vec<Tape>>,
    number: usize,
) -> io::Result<()> {
    from.set_nodelay(true)?;
    let mut from = BufReader::new(from);
    let mut is_startup = is_client;
    while let Some(message) = Message::read(&mut from, is_startup)? {
        is_startup = false;
        let bytes = message.bytes();
        // Before it goes on: whatever answers it is recorded behind it.
        record(tapes, number, is_client, Some(message));
        to.write_all(&bytes)?;
    }
    Ok(())
}

/// Notes a message, or that this side hung up.
fn record(tapes: &Mutex<Vec<Tape>>, number: usize, is_client: bool, message: Option<Message>) {
    let mut tapes = lock(tapes);
    let tape = &mut tapes[number];
    match message {
        Some(message) if is_client && message.tag == b'd' => {
            tape.copying.get_or_insert_default().add(&message.body);
        }
        Some(message) if is_client => {
            let copied = tape
                .copying
                .take()
                .map(|copying| Event::Copy(copying.end()));
            tape.events.extend(copied);
            tape.events.push(Event::Client(message));
        }
        Some(message) => tape.events.push(Event::Server(message)),
        None => {
            tape.sides_open -= 1;
            // Once the client is gone it does not matter any more how the server goes.
            match (is_client, tape.sides_open) {
                (true, _) => tape.events.push(Event::ClientClosed),
                (false, 1) => tape.events.push(Event::ServerClosed),
                (false, _) => {}
            }
        }
    }
}
