//! A server that does not keep to the protocol, for what no real one does: it plays a list of steps
//! to a client at a point of its start-up, or to one that sends a statement with a mark in it. Until then a real server
//! answers, so that whole commands can be run against it.

use std::io::{self, Read, Write};
use std::net::{Ipv4Addr, Shutdown, SocketAddr, TcpListener, TcpStream};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;
use std::time::Duration;

/// What the server does next.
#[derive(Clone, Debug)]
pub enum Step {
    Send(Vec<u8>),
    /// Sends these bytes one at a time, with a pause before each.
    Slowly(Vec<u8>, Duration),
    /// Sends these bytes one at a time, with a pause before each, again and again until the client
    /// hangs up.
    Trickle(Vec<u8>, Duration),
    /// Sends these bytes as fast as they are taken, again and again until the client hangs up.
    Flood(Vec<u8>),
    /// Sends these bytes as fast as they are taken, so many times.
    Times(usize, Vec<u8>),
    /// Sends nothing until the client hangs up.
    Stall,
    /// Sends nothing and takes nothing: what the client sends fills the buffers.
    Deaf,
    /// Waits for a message that the client wants answered: a Query, a Sync, one with a password.
    Await,
    /// Waits for bytes of the client, whatever they mean.
    Hear,
    /// Sends this challenge of SCRAM, with the client's nonce, from the message awaited last, in
    /// place of `{nonce}`.
    Challenge(&'static str),
    /// Has the real server start the session, out of the client's sight.
    StartUnseen,
    Close,
    /// Closes it with a TCP reset.
    Reset,
}

/// When the steps begin. A connection that has not closed behind them goes on with the real server.
#[derive(Clone, Debug)]
pub enum When {
    /// As soon as there is a client, whatever it says.
    Accepted,
    /// When a client asks for TLS, in place of the answer.
    TlsAsked,
    /// As soon as a client has sent its start-up message.
    Connected,
    /// The same for the connection of this number, counted from 0, and later ones.
    ConnectedFrom(usize),
    /// When a client sends a statement with this text in it, in place of the answer. The real server
    /// does not see the statement.
    Asked(&'static str),
}

/// The server, listening on loopback TCP. It ends with the test process.
#[derive(Debug)]
pub struct HostileServer {
    address: SocketAddr,
    play: Arc<Play>,
}

/// What it does, and how often it has.
#[derive(Debug)]
struct Play {
    server: PathBuf,
    when: When,
    steps: Vec<Step>,
    connections: AtomicUsize,
    times: AtomicUsize,
}

impl HostileServer {
    /// Starts one that lets the server at this Unix socket answer for it outside of its steps.
    ///
    /// # Panics
    /// When it cannot listen.
    pub fn start(server: &Path, when: When, steps: Vec<Step>) -> HostileServer {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("a port is free");
        let address = listener.local_addr().expect("it is bound");
        let play = Arc::new(Play {
            server: server.to_owned(),
            when,
            steps,
            connections: AtomicUsize::new(0),
            times: AtomicUsize::new(0),
        });
        let shared = play.clone();
        thread::spawn(move || {
            for client in listener.incoming().map_while(Result::ok) {
                let play = shared.clone();
                let number = play.connections.fetch_add(1, Ordering::Relaxed);
                // To the client a failure looks like a server that hangs up.
                thread::spawn(move || Conversation::new(client, play).hold(number));
            }
        });
        HostileServer { address, play }
    }

    /// How often it has begun with its steps.
    pub fn times_played(&self) -> usize {
        self.play.times.load(Ordering::Relaxed)
    }

    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// The same for a command line, with these parameters.
    pub fn url_with(&self, parameters: &str) -> String {
        let address = self.address;
        format!("postgresql://postgres@{address}/postgres?{parameters}")
    }

    pub fn url(&self) -> String {
        self.url_with("sslmode=disable")
    }
}

/// A message of a server.
pub fn server_message(tag: u8, body: &[u8]) -> Vec<u8> {
    let length = (body.len() as u32 + 4).to_be_bytes();
    [&[tag], &length[..], body].concat()
}

/// ErrorResponse (`E`) or NoticeResponse (`N`).
pub fn server_text(tag: u8, severity: &str, sqlstate: &str, text: &str) -> Vec<u8> {
    let fields = format!("S{severity}\0V{severity}\0C{sqlstate}\0M{text}\0\0");
    server_message(tag, fields.as_bytes())
}

/// What a server without passwords says at the start, up to its first ReadyForQuery.
pub fn started() -> Vec<u8> {
    [
        server_message(b'R', &[0; 4]),
        server_message(b'S', b"server_version\x0018.0\0"),
        server_message(b'K', &[0, 0, 0, 1, 0, 0, 0, 2]),
        ready(b'I'),
    ]
    .concat()
}

pub fn ready(status: u8) -> Vec<u8> {
    server_message(b'Z', &[status])
}

pub fn complete(tag: &str) -> Vec<u8> {
    server_message(b'C', format!("{tag}\0").as_bytes())
}

pub fn described(columns: &[&str]) -> Vec<u8> {
    let mut body = (columns.len() as u16).to_be_bytes().to_vec();
    for name in columns {
        body.extend(name.as_bytes());
        // No table, the type text, of any length.
        body.extend([
            0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 25, 255, 255, 255, 255, 255, 255, 0, 0,
        ]);
    }
    server_message(b'T', &body)
}

pub fn row(values: &[&str]) -> Vec<u8> {
    let mut body = (values.len() as u16).to_be_bytes().to_vec();
    for value in values {
        body.extend((value.len() as u32).to_be_bytes());
        body.extend(value.as_bytes());
    }
    server_message(b'D', &body)
}

struct Conversation {
    client: TcpStream,
    server: Option<UnixStream>,
    play: Arc<Play>,
    startup: Vec<u8>,
    /// The client's message that was awaited last.
    awaited: Vec<u8>,
    /// Whether the connection ends with a reset, and is not to be closed in another way before.
    is_reset: Arc<AtomicBool>,
}

impl Conversation {
    fn new(client: TcpStream, play: Arc<Play>) -> Conversation {
        Conversation {
            client,
            server: None,
            play,
            startup: Vec::new(),
            awaited: Vec::new(),
            is_reset: Arc::default(),
        }
    }

    fn hold(&mut self, number: usize) {
        // Which of the two has hung up does not matter.
        let _ = self.converse(number);
        if let Some(server) = &self.server {
            let _ = server.shutdown(Shutdown::Both);
        }
        if !self.is_reset.load(Ordering::Relaxed) {
            let _ = self.client.shutdown(Shutdown::Both);
        }
    }

    fn converse(&mut self, number: usize) -> io::Result<()> {
        self.client.set_nodelay(true)?;
        if matches!(self.play.when, When::Accepted) {
            self.perform()?;
        }
        while self.startup.is_empty() {
            let message = body(&mut self.client, Vec::new())?;
            match is_ssl_request(&message) {
                true if matches!(self.play.when, When::TlsAsked) => self.perform()?,
                true => self.client.write_all(b"N")?,
                false => self.startup = message,
            }
        }
        let is_now = match self.play.when {
            When::Connected => true,
            When::ConnectedFrom(first) => number >= first,
            When::Accepted | When::TlsAsked | When::Asked(_) => false,
        };
        if is_now {
            self.perform()?;
        }
        if self.server.is_none() {
            self.connect()?;
            self.hand_on()?;
        }
        loop {
            let message = message(&mut self.client)?;
            self.ask(&message)?;
        }
    }

    /// Connects to the real server.
    fn connect(&mut self) -> io::Result<()> {
        let mut server = UnixStream::connect(&self.play.server)?;
        server.write_all(&self.startup)?;
        self.server = Some(server);
        Ok(())
    }

    /// Has all that the real server sends handed on from here on.
    fn hand_on(&self) -> io::Result<()> {
        let Some(server) = &self.server else {
            return Ok(());
        };
        let (mut from, mut to) = (server.try_clone()?, self.client.try_clone()?);
        let is_reset = self.is_reset.clone();
        thread::spawn(move || {
            let _ = io::copy(&mut from, &mut to);
            if !is_reset.load(Ordering::Relaxed) {
                let _ = to.shutdown(Shutdown::Both);
            }
        });
        Ok(())
    }

    /// Hands on a message of the client's, unless it is marked.
    fn ask(&mut self, message: &[u8]) -> io::Result<()> {
        let is_marked = match self.play.when {
            When::Asked(mark) => message
                .windows(mark.len())
                .any(|part| part == mark.as_bytes()),
            _ => false,
        };
        if !is_marked {
            return match &mut self.server {
                Some(server) => server.write_all(message),
                None => Ok(()),
            };
        }
        // In the extended protocol the request ends with a Sync.
        if !wants_an_answer(message) {
            self.await_message()?;
        }
        self.perform()
    }

    fn await_message(&mut self) -> io::Result<()> {
        loop {
            let message = message(&mut self.client)?;
            if wants_an_answer(&message) {
                self.awaited = message;
                return Ok(());
            }
        }
    }

    fn perform(&mut self) -> io::Result<()> {
        let play = self.play.clone();
        play.times.fetch_add(1, Ordering::Relaxed);
        play.steps.iter().try_for_each(|step| self.step(step))
    }

    fn step(&mut self, step: &Step) -> io::Result<()> {
        let client = &mut self.client;
        match step {
            Step::Send(bytes) => client.write_all(bytes)?,
            Step::Slowly(bytes, pause) => slowly(client, bytes, *pause)?,
            Step::Times(times, bytes) => {
                for _ in 0..*times {
                    client.write_all(bytes)?;
                }
            }
            Step::Trickle(bytes, pause) => loop {
                slowly(client, bytes, *pause)?;
            },
            Step::Flood(bytes) => {
                let many = bytes.repeat((64 << 10) / bytes.len().max(1) + 1);
                loop {
                    client.write_all(&many)?;
                }
            }
            Step::Stall => while client.read(&mut [0; 1024])? > 0 {},
            Step::Deaf => loop {
                // Nothing tells of the client's end that would not take what it has sent.
                thread::park();
            },
            Step::Await => self.await_message()?,
            Step::Hear => drop(client.read(&mut [0; 16 << 10])?),
            Step::Challenge(text) => {
                let text = text.replace("{nonce}", &nonce(&self.awaited));
                let body = [&11_u32.to_be_bytes()[..], text.as_bytes()].concat();
                client.write_all(&server_message(b'R', &body))?;
            }
            Step::StartUnseen => {
                self.connect()?;
                self.skip_start()?;
                self.hand_on()?;
            }
            Step::Close => return Err(io::ErrorKind::ConnectionAborted.into()),
            Step::Reset => {
                self.is_reset.store(true, Ordering::Relaxed);
                rustix::net::sockopt::set_socket_linger(client, Some(Duration::ZERO))?;
                return Err(io::ErrorKind::ConnectionReset.into());
            }
        }
        Ok(())
    }

    /// Takes what the real server says up to its first ReadyForQuery.
    fn skip_start(&mut self) -> io::Result<()> {
        let Some(server) = &mut self.server else {
            return Ok(());
        };
        while message(server)?[0] != b'Z' {}
        Ok(())
    }
}

fn slowly(client: &mut TcpStream, bytes: &[u8], pause: Duration) -> io::Result<()> {
    bytes.iter().try_for_each(|byte| {
        thread::sleep(pause);
        client.write_all(&[*byte])
    })
}

/// Whether a client waits for an answer once it has sent this: a query, the end of a request in the
/// extended protocol, a password.
fn wants_an_answer(message: &[u8]) -> bool {
    matches!(message[0], b'Q' | b'S' | b'p')
}

/// What follows `r=` in a client's first message of SCRAM.
fn nonce(message: &[u8]) -> String {
    let text = String::from_utf8_lossy(message);
    let nonce = text.split_once(",r=").map_or("", |(_, nonce)| nonce);
    nonce.to_owned()
}

fn is_ssl_request(startup: &[u8]) -> bool {
    startup[4..] == 80_877_103_u32.to_be_bytes()
}

/// The start-up message, after a refusal of TLS if that is asked for.
pub(crate) fn startup(client: &mut TcpStream) -> io::Result<Vec<u8>> {
    loop {
        let message = body(client, Vec::new())?;
        if !is_ssl_request(&message) {
            return Ok(message);
        }
        client.write_all(b"N")?;
    }
}

pub(crate) fn message(client: &mut impl Read) -> io::Result<Vec<u8>> {
    let mut tag = vec![0];
    client.read_exact(&mut tag)?;
    body(client, tag)
}

/// Appends a length and what it counts.
fn body(client: &mut impl Read, mut message: Vec<u8>) -> io::Result<Vec<u8>> {
    let mut length = [0; 4];
    client.read_exact(&mut length)?;
    message.extend(length);
    let rest = (u32::from_be_bytes(length) as usize).saturating_sub(4);
    let begin = message.len();
    message.resize(begin + rest, 0);
    client.read_exact(&mut message[begin..])?;
    Ok(message)
}
