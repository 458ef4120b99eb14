//! One session of the recording on its own connection.

use std::collections::{HashMap, VecDeque};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::Arc;

use pgdyno_recording::{Protocol, Session, Statement};
use pgdyno_wire::{Candidate, Channel, Connecting, frontend};

use crate::answer::{Answer, Inbox};
use crate::lateness::{Before, Nanos, Slow};

/// Where a session is.
#[derive(Debug)]
pub enum State {
    /// Not connected. It connects when a statement is due.
    Away,
    /// The server's part of the start-up, since then.
    Connecting(Box<Connecting>, Nanos),
    /// The next statement, until it is due.
    Idle,
    /// The answer to a statement.
    Busy(InFlight),
}

/// A statement that the server has not answered yet.
#[derive(Debug)]
pub struct InFlight {
    pub slow: Slow,
    pub sent: Nanos,
    pub has_recorded_failure: bool,
    /// The name that it asked to be prepared.
    pub preparing: Option<Box<[u8]>>,
    pub is_extended: bool,
    pub answer: Answer,
}

/// A statement and when it is due.
#[derive(Debug)]
pub struct Waiting {
    pub planned: Nanos,
    pub statement: Box<Statement>,
}

#[derive(Debug)]
pub struct Client {
    pub session: Arc<Session>,
    pub candidate: Candidate,
    pub state: State,
    /// Statements that are due and wait for the session.
    pub backlog: VecDeque<Waiting>,
    pub is_ending: bool,
    pub connected_at: Nanos,
    pub before: Before,
    pub channel: Channel,
    pub cancel: (i32, Vec<u8>),
    pub inbox: Inbox,
    /// By name, what is prepared on the server.
    prepared: HashMap<Box<[u8]>, u64>,
}

impl Client {
    pub fn new(session: Arc<Session>, candidate: Candidate) -> Self {
        Self {
            session,
            candidate,
            state: State::Away,
            backlog: VecDeque::new(),
            is_ending: false,
            connected_at: 0,
            before: Before::default(),
            channel: Channel::plain(),
            cancel: (0, Vec::new()),
            inbox: Inbox::default(),
            prepared: HashMap::new(),
        }
    }

    /// The connection is gone, and what was prepared on it.
    pub fn is_lost(&mut self) {
        self.state = State::Away;
        self.prepared.clear();
    }

    /// Whether the server has something to answer, or something is due.
    pub fn is_at_work(&self) -> bool {
        matches!(self.state, State::Busy(_)) || !self.backlog.is_empty()
    }

    /// Writes a statement's messages as its client sent them, and returns the name that they prepare.
    pub fn write(&mut self, statement: &Statement, out: &mut Vec<u8>) -> Option<Box<[u8]>> {
        let sql = statement.sql();
        if statement.protocol == Protocol::Simple {
            frontend::query(out, &sql);
            self.forget_prepared(statement);
            return None;
        }
        // What cannot be sent is refused by the server: it has fewer parameters than the text asks for.
        let name = String::from_utf8_lossy(&statement.name);
        let preparing = self.prepare(&statement.name, &sql, out);
        let bound = frontend::bind(out, "", &name, |values| {
            for value in statement.parameters() {
                match value {
                    Some(value) => values.value(value),
                    None => values.null(),
                }
            }
        });
        if bound.is_ok() {
            frontend::describe(out, frontend::Target::Portal, "");
            frontend::execute(out, "", 0);
        }
        frontend::sync(out);
        self.forget_prepared(statement);
        preparing
    }

    /// Parse, where the server does not have it.
    fn prepare(&mut self, name: &[u8], sql: &[u8], out: &mut Vec<u8>) -> Option<Box<[u8]>> {
        let mut hasher = DefaultHasher::new();
        sql.hash(&mut hasher);
        let hash = hasher.finish();
        let text = String::from_utf8_lossy(name);
        if !name.is_empty() {
            match self.prepared.insert(name.into(), hash) {
                Some(before) if before == hash => return None,
                Some(_) => frontend::close(out, frontend::Target::Statement, &text),
                None => {}
            }
        }
        // No types: the server infers them, as it did for most clients.
        let _ = frontend::parse(out, &text, sql, &[]);
        (!name.is_empty()).then(|| name.into())
    }

    /// A statement that could not be prepared is not there.
    pub fn not_prepared(&mut self, name: &[u8]) {
        self.prepared.remove(name);
    }

    /// `DEALLOCATE` and `DISCARD ALL` take prepared statements away.
    fn forget_prepared(&mut self, statement: &Statement) {
        if !self.prepared.is_empty()
            && matches!(&*statement.text.command(), "DEALLOCATE" | "DISCARD")
        {
            self.prepared.clear();
        }
    }
}
