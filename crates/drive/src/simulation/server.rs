//! A server that speaks the wire protocol and keeps rows: as much of it as the scripts of the
//! simulation need. No time and no network: bytes in, bytes out.

use std::collections::{BTreeMap, HashMap};

/// A statement of the scripts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Sql {
    Begin,
    /// With the number of its transaction; none where that is a parameter.
    Insert(Option<u64>),
    Select,
    Commit,
    Rollback,
}

impl Sql {
    fn of(text: &str) -> Self {
        let word = text.split([' ', ';']).next().unwrap_or_default();
        match word.to_ascii_lowercase().as_str() {
            "begin" => Self::Begin,
            "commit" | "end" => Self::Commit,
            "rollback" => Self::Rollback,
            "select" => Self::Select,
            "insert" => {
                let digits = text.rsplit('(').next().unwrap_or_default();
                Self::Insert(digits.trim_end_matches([')', ';', ' ']).parse().ok())
            }
            _ => panic!("no statement of the simulation: {text}"),
        }
    }
}

/// What a client asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Asked {
    Startup,
    Query(Sql),
    Parse,
    Bind,
    Describe,
    Execute(Sql),
    Sync,
    Terminate,
}

/// Takes the messages of a connection apart, however its bytes come.
#[derive(Debug, Default)]
pub(super) struct Decoder {
    bytes: Vec<u8>,
    is_started: bool,
    prepared: HashMap<Vec<u8>, Sql>,
    portal: Option<Sql>,
}

fn string(body: &[u8], at: usize) -> (&[u8], usize) {
    let length = body[at..].iter().position(|byte| *byte == 0);
    let end = at + length.expect("strings end with a zero");
    (&body[at..end], end + 1)
}

impl Decoder {
    pub(super) fn push(&mut self, bytes: &[u8]) {
        self.bytes.extend_from_slice(bytes);
    }

    pub(super) fn next(&mut self) -> Option<Asked> {
        let head = usize::from(self.is_started);
        let length: [u8; 4] = self.bytes.get(head..head + 4)?.try_into().ok()?;
        let end = head + u32::from_be_bytes(length) as usize;
        if self.bytes.len() < end {
            return None;
        }
        let message: Vec<u8> = self.bytes.drain(..end).collect();
        if !std::mem::replace(&mut self.is_started, true) {
            return Some(Asked::Startup);
        }
        let body = &message[5..];
        let text = |bytes: &[u8]| Sql::of(&String::from_utf8_lossy(bytes));
        Some(match message[0] {
            b'Q' => Asked::Query(text(string(body, 0).0)),
            b'P' => {
                let (name, at) = string(body, 0);
                self.prepared
                    .insert(name.to_vec(), text(string(body, at).0));
                Asked::Parse
            }
            b'B' => {
                let (_, at) = string(body, 0);
                let (name, at) = string(body, at);
                let sql = self.prepared.get(name).copied();
                self.portal = sql.map(|sql| match sql {
                    Sql::Insert(None) => Sql::Insert(parameter(&body[at..])),
                    other => other,
                });
                Asked::Bind
            }
            b'D' => Asked::Describe,
            b'E' => Asked::Execute(self.portal.expect("Bind before Execute")),
            b'S' => Asked::Sync,
            b'X' => Asked::Terminate,
            other => panic!("no message of the simulation: {}", other as char),
        })
    }

    /// What the bound statement is.
    fn portal(&self) -> Option<Sql> {
        self.portal
    }
}

/// The first parameter of a Bind, in text, behind its names.
fn parameter(rest: &[u8]) -> Option<u64> {
    let number = |at: usize| usize::from(u16::from_be_bytes([rest[at], rest[at + 1]]));
    let at = 2 + 2 * number(0) + 2;
    let length = u32::from_be_bytes(rest.get(at..at + 4)?.try_into().ok()?) as usize;
    let text = rest.get(at + 4..at + 4 + length)?;
    String::from_utf8_lossy(text).parse().ok()
}

/// What is wrong with a statement.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Trouble {
    /// An error with this SQLSTATE; nothing was done.
    Error(&'static str),
    /// An error with this SQLSTATE; whether it was done.
    Ambiguous(bool),
    /// COMMIT rolls back, and says so.
    RollsBack,
    /// The session ends with these last words.
    Fatal,
}

/// All rows that were committed: how often each transaction has its row.
pub(super) type Rows = BTreeMap<u64, u32>;

#[derive(Debug, Default)]
pub(super) struct Session {
    pub(super) decoder: Decoder,
    /// Rows of the open transaction.
    open: Vec<u64>,
    is_in_block: bool,
    has_failed: bool,
    /// After an error in the extended protocol, until Sync.
    skips: bool,
    pub(super) is_over: bool,
}

pub(super) fn message(out: &mut Vec<u8>, tag: u8, body: &[u8]) {
    out.push(tag);
    out.extend_from_slice(&(body.len() as u32 + 4).to_be_bytes());
    out.extend_from_slice(body);
}

pub(super) fn error(out: &mut Vec<u8>, tag: u8, severity: &str, sqlstate: &str) {
    let text = format!("S{severity}\0V{severity}\0C{sqlstate}\0Msimulated\0\0");
    message(out, tag, text.as_bytes());
}

impl Session {
    /// Does what is asked for and answers; false when there is no more to do.
    pub(super) fn answer(
        &mut self,
        rows: &mut Rows,
        out: &mut Vec<u8>,
        mut trouble: impl FnMut(Sql) -> Option<Trouble>,
    ) -> bool {
        let Some(asked) = self.decoder.next().filter(|_| !self.is_over) else {
            return false;
        };
        if self.skips && !matches!(asked, Asked::Sync | Asked::Terminate) {
            return true;
        }
        match asked {
            Asked::Startup => {
                message(out, b'R', &[0; 4]);
                message(out, b'S', b"server_version\x0018.0\0");
                message(out, b'K', &[0, 0, 0, 1, 0, 0, 0, 2]);
                self.ready(out);
            }
            Asked::Query(sql) => {
                if sql == Sql::Select {
                    describe(out);
                }
                self.execute(sql, rows, out, trouble(sql));
                if !self.is_over {
                    self.ready(out);
                }
            }
            Asked::Parse => message(out, b'1', &[]),
            Asked::Bind => message(out, b'2', &[]),
            Asked::Describe if self.decoder.portal() == Some(Sql::Select) => describe(out),
            Asked::Describe => message(out, b'n', &[]),
            Asked::Execute(sql) => {
                self.skips = !self.execute(sql, rows, out, trouble(sql));
            }
            Asked::Sync => {
                self.skips = false;
                self.ready(out);
            }
            Asked::Terminate => self.is_over = true,
        }
        true
    }

    fn ready(&self, out: &mut Vec<u8>) {
        let status = match (self.is_in_block, self.has_failed) {
            (false, _) => b'I',
            (true, false) => b'T',
            (true, true) => b'E',
        };
        message(out, b'Z', &[status]);
    }

    fn ends_block(&mut self) {
        self.open.clear();
        (self.is_in_block, self.has_failed) = (false, false);
    }

    fn commit(&mut self, rows: &mut Rows) {
        for row in &self.open {
            *rows.entry(*row).or_default() += 1;
        }
        self.ends_block();
    }

    fn execute(
        &mut self,
        sql: Sql,
        rows: &mut Rows,
        out: &mut Vec<u8>,
        trouble: Option<Trouble>,
    ) -> bool {
        let done = |out: &mut Vec<u8>, tag: &str| {
            message(out, b'C', format!("{tag}\0").as_bytes());
            true
        };
        let is_end = matches!(sql, Sql::Commit | Sql::Rollback);
        if self.has_failed && is_end {
            self.ends_block();
            return done(out, "ROLLBACK");
        }
        let mut fails = |session: &mut Self, sqlstate: &str| {
            error(out, b'E', "ERROR", sqlstate);
            if is_end || !session.is_in_block {
                session.ends_block();
            } else {
                session.has_failed = true;
            }
            false
        };
        if self.has_failed {
            return fails(self, "25P02");
        }
        match trouble {
            Some(Trouble::Error(sqlstate)) => return fails(self, sqlstate),
            Some(Trouble::Ambiguous(is_committed)) => {
                if is_committed {
                    self.commit(rows);
                }
                return fails(self, "40003");
            }
            Some(Trouble::RollsBack) => {
                self.ends_block();
                return done(out, "ROLLBACK");
            }
            Some(Trouble::Fatal) => {
                error(out, b'E', "FATAL", "57P01");
                self.is_over = true;
                return false;
            }
            None => {}
        }
        match sql {
            Sql::Begin => {
                self.is_in_block = true;
                done(out, "BEGIN")
            }
            Sql::Insert(row) => {
                self.open.push(row.expect("a row has a number"));
                if !self.is_in_block {
                    self.commit(rows);
                }
                done(out, "INSERT 0 1")
            }
            Sql::Select => {
                message(out, b'D', b"\0\x01\0\0\0\x017");
                done(out, "SELECT 1")
            }
            Sql::Commit => {
                self.commit(rows);
                done(out, "COMMIT")
            }
            Sql::Rollback => {
                self.ends_block();
                done(out, "ROLLBACK")
            }
        }
    }
}

/// The columns of the one SELECT.
fn describe(out: &mut Vec<u8>) {
    let mut body = b"\0\x01v\0".to_vec();
    body.extend_from_slice(&[
        0, 0, 0, 0, 0, 0, 0, 0, 0, 23, 0, 4, 255, 255, 255, 255, 0, 0,
    ]);
    message(out, b'T', &body);
}
