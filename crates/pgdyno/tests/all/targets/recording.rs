//! One recorded connection: a file, a line a message.
//!
//! `> Q BEGIN;\00`: the client's message of type Q and what follows its length; bytes that are no
//! printable ASCII are `\` and two hexadecimal digits. `<`: the server's. The start-up message, which
//! has no type, is `> >`. The rows of a COPY are one line, `> copy 2677789 3f5c…`: the number of bytes
//! and their SHA-256. `> close`, `< close`: that side hung up.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use sha2::{Digest, Sha256};

use crate::targets::message::Message;

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

/// Where all recordings are, a folder a server.
pub fn all() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/all/targets/recorded")
}

/// Where those are that the tests know by heart.
pub fn known() -> PathBuf {
    all().join("cockroachdb-19.1")
}

#[derive(Clone)]
pub struct Recorded {
    /// Which server it led to, from 0.
    pub node: usize,
    pub events: Vec<Event>,
}

/// The connections of a case, in the order in which they were made to each server. Files of several
/// servers begin with the server's number.
pub fn read(case: &str) -> Vec<Recorded> {
    read_in(&known().join(case))
}

/// The same of a case in this folder.
pub fn read_in(directory: &Path) -> Vec<Recorded> {
    let entries = std::fs::read_dir(directory)
        .unwrap_or_else(|e| panic!("{}: {e}; see recorded/README.md", directory.display()));
    let files = entries.map(|entry| entry.unwrap().path());
    let is_connection = |file: &PathBuf| file.extension().is_some_and(|end| end == "txt");
    let mut files: Vec<PathBuf> = files.filter(is_connection).collect();
    files.sort();
    let recorded = files.iter().map(|file| {
        let name = file.file_stem().and_then(|name| name.to_str());
        let node = name
            .and_then(|name| name.split_once('-'))
            .map(|(node, _)| node);
        Recorded {
            node: node.map_or(0, |node| node.parse::<usize>().unwrap() - 1),
            events: connection(file),
        }
    });
    recorded.collect()
}

/// Writes the connections of a case into its folder, those of each server by itself.
pub fn write(directory: &Path, servers: &[Vec<Vec<Event>>]) {
    let _ = std::fs::remove_dir_all(directory);
    std::fs::create_dir_all(directory).unwrap();
    for (node, connections) in servers.iter().enumerate() {
        for (at, events) in connections.iter().enumerate() {
            let name = match servers.len() {
                1 => format!("{:03}.txt", at + 1),
                _ => format!("{}-{:03}.txt", node + 1, at + 1),
            };
            std::fs::write(directory.join(name), written(events)).unwrap();
        }
    }
}

fn connection(file: &Path) -> Vec<Event> {
    let text = std::fs::read_to_string(file).unwrap();
    let lines = text.lines().enumerate();
    lines
        .map(|(at, line)| {
            event(line).unwrap_or_else(|| panic!("{}:{}: {line}", file.display(), at + 1))
        })
        .collect()
}

fn event(line: &str) -> Option<Event> {
    let (side, rest) = line.split_once(' ')?;
    let is_client = side == ">";
    if rest == "close" {
        return Some(if is_client {
            Event::ClientClosed
        } else {
            Event::ServerClosed
        });
    }
    let (kind, rest) = rest.split_once(' ')?;
    if kind == "copy" {
        let (bytes, sha256) = rest.split_once(' ')?;
        return Some(Event::Copy(Copied {
            bytes: bytes.parse().ok()?,
            sha256: sha256.to_owned(),
        }));
    }
    let message = Message::new(*kind.as_bytes().first()?, unescaped(rest)?);
    Some(if is_client {
        Event::Client(message)
    } else {
        Event::Server(message)
    })
}

fn escaped(bytes: &[u8]) -> String {
    let mut text = String::new();
    for byte in bytes {
        match byte {
            b' '..=b'~' if *byte != b'\\' => text.push(*byte as char),
            _ => drop(write!(text, "\\{byte:02x}")),
        }
    }
    text
}

fn unescaped(text: &str) -> Option<Vec<u8>> {
    let mut pieces = text.split('\\');
    let mut bytes = pieces.next()?.as_bytes().to_vec();
    for piece in pieces {
        bytes.push(u8::from_str_radix(piece.get(..2)?, 16).ok()?);
        bytes.extend(&piece.as_bytes()[2..]);
    }
    Some(bytes)
}

/// The text of a file.
fn written(events: &[Event]) -> String {
    let message = |side: &str, message: &Message| {
        let body = escaped(&message.body);
        format!("{side} {} {body}\n", message.tag as char)
    };
    let lines = events.iter().map(|event| match event {
        Event::Client(m) => message(">", m),
        Event::Server(m) => message("<", m),
        Event::Copy(copied) => format!("> copy {} {}\n", copied.bytes, copied.sha256),
        Event::ClientClosed => "> close\n".to_owned(),
        Event::ServerClosed => "< close\n".to_owned(),
    });
    lines.collect()
}

#[test]
fn what_is_written_is_read_back() {
    let mut copying = Copying::default();
    copying.add(b"1\t2\n");
    let odd: Vec<u8> = (0..=255).chain(*b" \\ ").collect();
    let events = [
        Event::Server(Message::new(b'D', odd)),
        Event::Client(Message::new(b'X', *b"")),
        Event::Client(Message::new(
            crate::targets::message::STARTUP,
            *b"\0\x03\0\0user\0me\0\0",
        )),
        Event::Server(Message::new(b'T', *b"\0\x01\xff\xff")),
        Event::Copy(copying.end()),
        Event::ClientClosed,
        Event::ServerClosed,
    ];
    let text = written(&events);
    let back: Vec<Event> = text.lines().map(|line| event(line).unwrap()).collect();
    assert_eq!(back, events, "{text}");
}
