//! What a recording must not tell of the cluster that it was made on: passwords, user names, host names, addresses
//! and cluster ids. They are replaced by others, the same each time, so that it still plays back.

use std::collections::{BTreeMap, BTreeSet};

use crate::targets::message::{Message, STARTUP};
use crate::targets::recording::Event;

/// The user of a recording.
pub const USER: &str = "root";

/// What is replaced, and by what.
#[derive(Default)]
pub struct Masks {
    replaced: BTreeMap<String, String>,
    ids: BTreeMap<String, String>,
}

impl Masks {
    /// Those of these words, and of every host and cluster id that the answers name.
    pub fn new(user: &str, words: &[&str], heard: &[Vec<Vec<Event>>]) -> Masks {
        let mut masks = Masks::default();
        let mut hosts: BTreeSet<String> = BTreeSet::new();
        for event in heard.iter().flatten().flatten() {
            let Event::Server(message) = event else {
                continue;
            };
            for text in columns(message).into_iter().flatten() {
                let text = String::from_utf8_lossy(&text).into_owned();
                hosts.extend(host(&text).map(str::to_owned));
                for id in ids(&text) {
                    let number = masks.ids.len() + 1;
                    let masked = format!("00000000-0000-4000-8000-{number:012}");
                    masks.ids.entry(id.to_owned()).or_insert(masked);
                }
            }
        }
        hosts.extend(
            words
                .iter()
                .filter(|word| !word.is_empty())
                .map(|word| (*word).to_owned()),
        );
        for (number, host) in hosts.into_iter().enumerate() {
            masks
                .replaced
                .insert(host, format!("masked-{}", number + 1));
        }
        if user != USER {
            masks.replaced.insert(user.to_owned(), USER.to_owned());
        }
        masks
    }

    /// A text without what must not be reported.
    pub fn text(&self, text: &str) -> String {
        let mut masked = text.to_owned();
        // A name that has another one in it first.
        let mut all: Vec<(&String, &String)> = self.replaced.iter().chain(&self.ids).collect();
        all.sort_by_key(|(from, _)| std::cmp::Reverse(from.len()));
        for (from, to) in all {
            masked = masked.replace(from.as_str(), to);
        }
        masked
    }

    /// A connection without it. A login with a password is replayed without one.
    pub fn connection(&self, events: &[Event]) -> Vec<Event> {
        let is_login = |event: &Event| match event {
            Event::Client(message) => message.tag == b'p',
            Event::Server(message) => message.tag == b'R' && message.body != [0; 4],
            _ => false,
        };
        let mut process = Process::default();
        let events = events.iter().filter(|event| !is_login(event));
        let masked = events.map(|event| match process.masked(event) {
            Some(message) => Event::Server(message),
            None => match event {
                Event::Client(message) => Event::Client(self.message(message)),
                Event::Server(message) if message.tag == b'D' => Event::Server(self.row(message)),
                Event::Server(message) => Event::Server(self.message(message)),
                other => other.clone(),
            },
        });
        masked.collect()
    }

    fn message(&self, message: &Message) -> Message {
        match std::str::from_utf8(&message.body) {
            // Of the others only texts have lengths that are nowhere else.
            Ok(text) if [b'Q', b'E', b'N', b'S', STARTUP].contains(&message.tag) => {
                Message::new(message.tag, self.text(text))
            }
            _ => message.clone(),
        }
    }

    fn row(&self, message: &Message) -> Message {
        let columns = columns(message);
        let mut body = (columns.len() as u16).to_be_bytes().to_vec();
        for column in columns {
            let Some(column) = column else {
                body.extend((-1_i32).to_be_bytes());
                continue;
            };
            let masked = match std::str::from_utf8(&column) {
                Ok(text) => self.text(text).into_bytes(),
                Err(_) => column,
            };
            body.extend((masked.len() as u32).to_be_bytes());
            body.extend(masked);
        }
        Message::new(b'D', body)
    }
}

/// The server's process as a client knows it: from the key to cancel by, which is secret, and by asking.
#[derive(Default)]
struct Process {
    reported: Option<u32>,
    is_asked_for: bool,
}

impl Process {
    /// The process of each connection is 1 where that is what it received, so that a connection is answered alike
    /// whichever recorded one it is; `None` for messages that do not speak of it.
    fn masked(&mut self, event: &Event) -> Option<Message> {
        let message = match event {
            Event::Client(message) => {
                let sql = String::from_utf8_lossy(&message.body);
                self.is_asked_for = sql.contains("pg_backend_pid()");
                return None;
            }
            Event::Server(message) => message,
            _ => return None,
        };
        match message.tag {
            b'K' => {
                let reported = u32::from_be_bytes(*message.body.first_chunk()?);
                self.reported = Some(reported);
                let process = u32::from(reported != 0).to_be_bytes();
                Some(Message::new(b'K', [&process[..], &[0; 4]].concat()))
            }
            b'D' if self.is_asked_for => {
                let reported = columns(message).pop().flatten()?;
                let is_own = self
                    .reported
                    .map(|reported| reported.to_string().into_bytes())
                    == Some(reported);
                let number = if is_own { b'1' } else { b'2' };
                Some(Message::new(b'D', [0, 1, 0, 0, 0, 1, number]))
            }
            _ => None,
        }
    }
}

/// The columns of a row; none of another message.
fn columns(message: &Message) -> Vec<Option<Vec<u8>>> {
    let mut columns = Vec::new();
    let Some((_, mut rest)) = message
        .body
        .split_first_chunk::<2>()
        .filter(|_| message.tag == b'D')
    else {
        return columns;
    };
    while let Some((length, after)) = rest.split_first_chunk::<4>() {
        let length = i32::from_be_bytes(*length);
        let (column, after) = after.split_at(length.max(0) as usize);
        columns.push((length >= 0).then(|| column.to_vec()));
        rest = after;
    }
    columns
}

/// The host of `HOST:PORT`, but for this host's own loopback name.
fn host(text: &str) -> Option<&str> {
    let (host, port) = text.rsplit_once(':')?;
    let is_port = !port.is_empty() && port.len() < 6 && port.bytes().all(|b| b.is_ascii_digit());
    let is_host = !host.is_empty()
        && host
            .bytes()
            .all(|b| b.is_ascii_alphanumeric() || b".-_[]:".contains(&b));
    let is_reported = ["127.0.0.1", "localhost"].contains(&host);
    (is_port && is_host && host.len() > 3 && !is_reported).then_some(host)
}

/// The UUIDs in a text.
fn ids(text: &str) -> impl Iterator<Item = &str> {
    let words = text.split(|c: char| !c.is_ascii_hexdigit() && c != '-');
    words.filter(|word| {
        let lengths: Vec<usize> = word.split('-').map(str::len).collect();
        lengths == [8, 4, 4, 4, 12]
    })
}

#[test]
fn secrets_are_replaced_and_lengths_agree() {
    let row = |texts: &[&str]| {
        let mut body = (texts.len() as u16).to_be_bytes().to_vec();
        for text in texts {
            body.extend((text.len() as u32).to_be_bytes());
            body.extend(text.bytes());
        }
        Event::Server(Message::new(b'D', body))
    };
    let id = "d42d033f-3342-42b2-becb-c43e028f64a2";
    let heard = vec![
        Event::Client(Message::new(STARTUP, *b"\0\x03\0\0user\0alice\0\0")),
        Event::Server(Message::new(b'R', *b"\0\0\0\x03")),
        Event::Client(Message::new(b'p', *b"hunter2\0")),
        Event::Server(Message::new(b'R', [0; 4])),
        row(&["db-7.corp.example:26257", id]),
        row(&["[\"--join=db-7.corp.example\"]", "127.0.0.1:26257"]),
        Event::Server(Message::new(b'E', *b"Mno such host db-7.corp.example\0\0")),
    ];
    let masks = Masks::new("alice", &["hunter2"], &[vec![heard.clone()]]);
    let masked = masks.connection(&heard);
    let text = format!("{masked:?}");
    let all: Vec<u8> = masked
        .iter()
        .flat_map(|event| match event {
            Event::Client(message) | Event::Server(message) => message.body.clone(),
            _ => Vec::new(),
        })
        .collect();
    let said = String::from_utf8_lossy(&all);
    for secret in ["alice", "hunter2", "db-7", "corp", id] {
        assert!(!said.contains(secret), "{secret}: {text}");
    }
    assert_eq!(masked.len(), 5, "no login: {text}");
    let host = masks.text("db-7.corp.example");
    let same = row(&[&format!("{host}:26257"), &masks.text(id)]);
    assert!(masked.contains(&same), "{text}");
    assert!(said.contains("127.0.0.1:26257"), "{said}");
}

#[test]
fn a_process_is_reported_and_requested_by_the_same_number() {
    let connection = |reported: u32, answered: &str| {
        let length = (answered.len() as u32).to_be_bytes();
        let row = [&[0, 1], &length[..], answered.as_bytes()].concat();
        vec![
            Event::Server(Message::new(
                b'K',
                [reported.to_be_bytes(), *b"keys"].concat(),
            )),
            Event::Client(Message::new(b'Q', *b"SELECT pg_catalog.pg_backend_pid()\0")),
            Event::Server(Message::new(b'D', row)),
            Event::Client(Message::new(b'Q', *b"SELECT 4711\0")),
            Event::Server(Message::new(b'D', *b"\0\x01\0\0\0\x044711")),
        ]
    };
    let masks = Masks::default();
    let own = masks.connection(&connection(4711, "4711"));
    assert_eq!(
        own[0],
        Event::Server(Message::new(b'K', [0, 0, 0, 1, 0, 0, 0, 0]))
    );
    assert_eq!(
        own[2],
        Event::Server(Message::new(b'D', *b"\0\x01\0\0\0\x011"))
    );
    // What is asked later is answered as it was.
    assert_eq!(own[4], connection(4711, "4711")[4]);
    let shared = masks.connection(&connection(4711, "12"));
    assert_eq!(
        shared[2],
        Event::Server(Message::new(b'D', *b"\0\x01\0\0\0\x012"))
    );
    let untold = masks.connection(&connection(0, "12"));
    assert_eq!(untold[0], Event::Server(Message::new(b'K', [0; 8])));
}
