//! A server that says what it is asked to, for what no server at hand says: it takes one connection
//! and fails on any query that it does not expect.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::thread::{self, JoinHandle};

/// An answer: messages, and the status of the transaction behind them.
pub struct Answer(Vec<u8>, u8);

/// A command that went well.
pub fn done(tag: &str, status: u8) -> Answer {
    Answer(message(b'C', &[tag.as_bytes(), b"\0"].concat()), status)
}

pub fn error(sqlstate: &str, text: &str, status: u8) -> Answer {
    Answer(
        message(b'E', fields("ERROR", sqlstate, text).as_bytes()),
        status,
    )
}

/// Words after which the server closes the connection.
pub fn last_words(sqlstate: &str, text: &str) -> Answer {
    Answer(
        message(b'E', fields("FATAL", sqlstate, text).as_bytes()),
        b'X',
    )
}

fn fields(severity: &str, sqlstate: &str, text: &str) -> String {
    format!("S{severity}\0V{severity}\0C{sqlstate}\0M{text}\0\0")
}

fn message(tag: u8, body: &[u8]) -> Vec<u8> {
    let length = (body.len() as u32 + 4).to_be_bytes();
    [&[tag], &length[..], body].concat()
}

/// The server, and whether it heard what it expected.
pub struct Scripted {
    pub address: SocketAddr,
    thread: JoinHandle<Result<(), String>>,
}

impl Scripted {
    /// Answers these queries of the simple protocol, in this order.
    pub fn start(conversation: Vec<(&'static str, Answer)>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let thread = thread::spawn(move || {
            let (stream, _) = listener.accept().unwrap();
            converse(stream, conversation)
        });
        Self { address, thread }
    }

    /// All was said and heard.
    pub fn check(self) {
        assert_eq!(self.thread.join().unwrap(), Ok(()));
    }
}

fn converse(mut stream: TcpStream, conversation: Vec<(&str, Answer)>) -> Result<(), String> {
    body(&mut stream)?;
    let ready = |status| message(b'Z', &[status]);
    let started = [message(b'R', &[0; 4]), ready(b'I')].concat();
    stream.write_all(&started).map_err(|e| e.to_string())?;
    for (expected, Answer(mut bytes, status)) in conversation {
        let heard = query(&mut stream)?;
        if heard != expected {
            return Err(format!("heard {heard:?}, not {expected:?}"));
        }
        if status != b'X' {
            bytes.extend(ready(status));
        }
        stream.write_all(&bytes).map_err(|e| e.to_string())?;
        if status == b'X' {
            return Ok(());
        }
    }
    match query(&mut stream) {
        Ok(text) => Err(format!("heard {text:?} at the end")),
        Err(_) => Ok(()),
    }
}

fn query(stream: &mut TcpStream) -> Result<String, String> {
    let mut tag = [0];
    stream.read_exact(&mut tag).map_err(|e| e.to_string())?;
    let body = body(stream)?;
    let text = String::from_utf8_lossy(&body)
        .trim_end_matches('\0')
        .to_owned();
    match tag[0] {
        b'Q' => Ok(text),
        tag => Err(format!("a message {:?}", char::from(tag))),
    }
}

fn body(stream: &mut TcpStream) -> Result<Vec<u8>, String> {
    let mut length = [0; 4];
    stream.read_exact(&mut length).map_err(|e| e.to_string())?;
    let mut body = vec![0; (u32::from_be_bytes(length) as usize).saturating_sub(4)];
    stream.read_exact(&mut body).map_err(|e| e.to_string())?;
    Ok(body)
}
