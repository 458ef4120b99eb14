//! A server that does not keep to the protocol, for what no real one does: it plays a list of steps
//! to a client that connects, or that sends a statement with a mark in it. Until then a real server
//! answers, so that whole commands can be run against it.

use std::io::{self, Read, Write};
use std::net::{Ipv4Addr, Shutdown, SocketAddr, TcpListener, TcpStream};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::thread;
use std::time::Duration;

/// What the server does next.
#[derive(Clone, Debug)]
pub enum Step {
    /// Sends these bytes.
    Send(Vec<u8>),
    /// Sends these bytes one at a time, with a pause before each, again and again until the client
    /// hangs up.
    Trickle(Vec<u8>, Duration),
    /// Sends these bytes as fast as they are taken, again and again until the client hangs up.
    Flood(Vec<u8>),
    /// Sends these bytes as fast as they are taken, so many times.
    Times(usize, Vec<u8>),
    /// Sends nothing until the client hangs up.
    Stall,
    /// Closes the connection.
    Close,
}

/// When the steps begin. A connection that has not closed behind them goes on with the real server.
#[derive(Clone, Debug)]
pub enum When {
    /// As soon as a client has sent its start-up message.
    Connected,
    /// When a client sends a statement with this text in it, in place of the answer. The real server
    /// does not see the statement.
    Asked(&'static str),
}

/// The server, listening on loopback TCP. It ends with the test process.
#[derive(Debug)]
pub struct HostileServer {
    address: SocketAddr,
}

impl HostileServer {
    /// Starts one that lets the server at this Unix socket answer for it outside of its steps.
    ///
    /// # Panics
    /// When it cannot listen.
    pub fn start(server: &Path, when: When, steps: Vec<Step>) -> HostileServer {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("a port is free");
        let address = listener.local_addr().expect("it is bound");
        let play = Arc::new((server.to_owned(), when, steps));
        thread::spawn(move || {
            for client in listener.incoming().map_while(Result::ok) {
                let play = play.clone();
                // To the client a failure looks like a server that hangs up.
                thread::spawn(move || serve(client, &play));
            }
        });
        HostileServer { address }
    }

    /// Where it listens.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// The same for a command line, without TLS.
    pub fn url(&self) -> String {
        let address = self.address;
        format!("postgresql://postgres@{address}/postgres?sslmode=disable")
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

/// ReadyForQuery.
pub fn ready(status: u8) -> Vec<u8> {
    server_message(b'Z', &[status])
}

/// CommandComplete.
pub fn complete(tag: &str) -> Vec<u8> {
    server_message(b'C', format!("{tag}\0").as_bytes())
}

/// RowDescription of text columns.
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

/// DataRow.
pub fn row(values: &[&str]) -> Vec<u8> {
    let mut body = (values.len() as u16).to_be_bytes().to_vec();
    for value in values {
        body.extend((value.len() as u32).to_be_bytes());
        body.extend(value.as_bytes());
    }
    server_message(b'D', &body)
}

fn serve(mut client: TcpStream, play: &(PathBuf, When, Vec<Step>)) -> io::Result<()> {
    let (server, when, steps) = play;
    client.set_nodelay(true)?;
    let startup = startup(&mut client)?;
    if matches!(when, When::Connected) {
        perform(&mut client, steps)?;
    }
    let mut server = UnixStream::connect(server)?;
    server.write_all(&startup)?;
    let (mut from, mut to) = (server.try_clone()?, client.try_clone()?);
    thread::spawn(move || {
        let _ = io::copy(&mut from, &mut to);
        let _ = to.shutdown(Shutdown::Both);
    });
    let result = converse(&mut client, &mut server, when, steps);
    let _ = client.shutdown(Shutdown::Both);
    let _ = server.shutdown(Shutdown::Both);
    result
}

/// Hands on what the client sends, but for what is marked.
fn converse(
    client: &mut TcpStream,
    server: &mut UnixStream,
    when: &When,
    steps: &[Step],
) -> io::Result<()> {
    loop {
        let mut message = message(client)?;
        let When::Asked(mark) = when else {
            server.write_all(&message)?;
            continue;
        };
        let is_marked = message
            .windows(mark.len())
            .any(|part| part == mark.as_bytes());
        if !is_marked {
            server.write_all(&message)?;
            continue;
        }
        // In the extended protocol the request ends with a Sync.
        while !matches!(message[0], b'Q' | b'S') {
            message = self::message(client)?;
        }
        perform(client, steps)?;
    }
}

/// The start-up message, after a refusal of TLS if that is asked for.
pub(crate) fn startup(client: &mut TcpStream) -> io::Result<Vec<u8>> {
    const SSL_REQUEST: [u8; 4] = 80_877_103_u32.to_be_bytes();
    loop {
        let message = body(client, Vec::new())?;
        if message[4..] != SSL_REQUEST {
            return Ok(message);
        }
        client.write_all(b"N")?;
    }
}

pub(crate) fn message(client: &mut TcpStream) -> io::Result<Vec<u8>> {
    let mut tag = vec![0];
    client.read_exact(&mut tag)?;
    body(client, tag)
}

/// Appends a length and what it counts.
fn body(client: &mut TcpStream, mut message: Vec<u8>) -> io::Result<Vec<u8>> {
    let mut length = [0; 4];
    client.read_exact(&mut length)?;
    message.extend(length);
    let rest = (u32::from_be_bytes(length) as usize).saturating_sub(4);
    let begin = message.len();
    message.resize(begin + rest, 0);
    client.read_exact(&mut message[begin..])?;
    Ok(message)
}

fn perform(client: &mut TcpStream, steps: &[Step]) -> io::Result<()> {
    for step in steps {
        match step {
            Step::Send(bytes) => client.write_all(bytes)?,
            Step::Times(times, bytes) => {
                for _ in 0..*times {
                    client.write_all(bytes)?;
                }
            }
            Step::Trickle(bytes, pause) => loop {
                for byte in bytes {
                    thread::sleep(*pause);
                    client.write_all(&[*byte])?;
                }
            },
            Step::Flood(bytes) => {
                let many = bytes.repeat((64 << 10) / bytes.len().max(1) + 1);
                loop {
                    client.write_all(&many)?;
                }
            }
            Step::Stall => while client.read(&mut [0; 1024])? > 0 {},
            Step::Close => return Err(io::ErrorKind::ConnectionAborted.into()),
        }
    }
    Ok(())
}
