//! One recorded connection: a file, a line of JSON a message.
//!
//! `{"from": "client", "type": "Q", "text": "BEGIN;\u0000"}`: what follows the message's length,
//! as text, or as `hex` where it is no text. The rows of a COPY are one line,
//! `{"from": "client", "type": "copy", "bytes": 2677789, "sha256": "…"}`: millions of bytes that
//! the hash stands for. `{"from": "server", "type": "close"}`: that side hung up.

use std::path::{Path, PathBuf};

use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use crate::message::Message;

/// What happened on a connection.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Event {
    Client(Message),
    /// All CopyData of a COPY.
    Copy(Copied),
    Server(Message),
    ServerClosed,
    ClientClosed,
}

/// The rows of a COPY, as their number of bytes and their hash.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Copied {
    pub bytes: usize,
    pub sha256: String,
}

/// Puts the rows of a COPY together.
#[derive(Default)]
pub struct Copying(usize, Sha256);

impl Copying {
    pub fn add(&mut self, data: &[u8]) {
        self.0 += data.len();
        self.1.update(data);
    }

    pub fn end(self) -> Copied {
        let hash = self.1.finalize();
        Copied {
            bytes: self.0,
            sha256: hash.iter().map(|byte| format!("{byte:02x}")).collect(),
        }
    }
}

/// Where the recordings of a case are.
pub fn directory(case: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests/targets/recorded/cockroachdb-19.1")
        .join(case)
}

/// The connections of a case, in the order in which they were made.
pub fn read(case: &str) -> Vec<Vec<Event>> {
    let directory = directory(case);
    let entries = std::fs::read_dir(&directory)
        .unwrap_or_else(|e| panic!("{}: {e}; see recorded/README.md", directory.display()));
    let mut files: Vec<PathBuf> = entries.map(|entry| entry.unwrap().path()).collect();
    files.sort();
    files.iter().map(|file| connection(file)).collect()
}

fn connection(file: &Path) -> Vec<Event> {
    let text = std::fs::read_to_string(file).unwrap();
    let lines = text.lines().enumerate();
    lines
        .map(|(at, line)| {
            let value = serde_json::from_str(line).unwrap_or_default();
            event(&value).unwrap_or_else(|| panic!("{}:{}: {line}", file.display(), at + 1))
        })
        .collect()
}

fn event(line: &Value) -> Option<Event> {
    let is_client = line["from"] == "client";
    let kind = line["type"].as_str()?;
    if kind == "close" {
        return Some(if is_client {
            Event::ClientClosed
        } else {
            Event::ServerClosed
        });
    }
    if kind == "copy" {
        return Some(Event::Copy(Copied {
            bytes: usize::try_from(line["bytes"].as_u64()?).ok()?,
            sha256: line["sha256"].as_str()?.to_owned(),
        }));
    }
    let body = match line["text"].as_str() {
        Some(text) => text.as_bytes().to_vec(),
        None => from_hex(line["hex"].as_str()?)?,
    };
    let message = Message::new(*kind.as_bytes().first()?, body);
    Some(if is_client {
        Event::Client(message)
    } else {
        Event::Server(message)
    })
}

fn from_hex(hex: &str) -> Option<Vec<u8>> {
    let pairs = hex.as_bytes().chunks(2);
    pairs
        .map(|pair| u8::from_str_radix(std::str::from_utf8(pair).ok()?, 16).ok())
        .collect()
}

/// The text of a file.
pub fn written(events: &[Event]) -> String {
    let line = |event: &Event| match event {
        Event::Client(message) => written_message("client", message),
        Event::Server(message) => written_message("server", message),
        Event::Copy(copied) => json!({
            "from": "client", "type": "copy", "bytes": copied.bytes, "sha256": copied.sha256,
        }),
        Event::ClientClosed => json!({"from": "client", "type": "close"}),
        Event::ServerClosed => json!({"from": "server", "type": "close"}),
    };
    events.iter().map(|e| format!("{}\n", line(e))).collect()
}

fn written_message(from: &str, message: &Message) -> Value {
    let kind = (message.tag as char).to_string();
    match std::str::from_utf8(&message.body) {
        Ok(text) => json!({"from": from, "type": kind, "text": text}),
        Err(_) => {
            let hex: String = message.body.iter().map(|b| format!("{b:02x}")).collect();
            json!({"from": from, "type": kind, "hex": hex})
        }
    }
}

#[test]
fn what_is_written_is_read_back() {
    let mut copying = Copying::default();
    copying.add(b"1\t2\n");
    let events = [
        Event::Client(Message::new(
            crate::message::STARTUP,
            *b"\0\x03\0\0user\0me\0\0",
        )),
        Event::Server(Message::new(b'T', *b"\0\x01\xff\xff")),
        Event::Copy(copying.end()),
        Event::ClientClosed,
        Event::ServerClosed,
    ];
    let text = written(&events);
    let back: Vec<Event> = text
        .lines()
        .map(|line| event(&serde_json::from_str(line).unwrap()).unwrap())
        .collect();
    assert_eq!(back, events, "{text}");
}
