//! One session of the recording on its own connection.

use std::collections::{HashMap, VecDeque};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::rc::Rc;
use std::sync::Arc;

use pgdyno_recording::{Protocol, Session, Statement, Wire};
use pgdyno_wire::{Candidate, Channel, Connecting, frontend};

use crate::answer::{Answer, Inbox};
use crate::keys::{Domain, Keys, Learned, Uses, type_there};
use crate::lateness::{Before, Nanos, Slow};
use crate::order::Point;

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
    Busy(Box<InFlight>),
}

/// A statement that the server has not answered yet.
#[derive(Debug)]
pub struct InFlight {
    pub slow: Slow,
    pub sent: Nanos,
    pub statement: Box<Statement>,
    pub uses: Rc<Uses>,
    /// What the columns of its result are.
    pub domains: Vec<Domain>,
    /// What others wait for.
    pub point: Option<Point>,
    /// The name that it asked to be prepared.
    pub preparing: Option<Box<[u8]>>,
    pub answer: Answer,
}

/// A statement and when it is due.
#[derive(Debug)]
pub struct Waiting {
    pub planned: Nanos,
    pub statement: Box<Statement>,
    pub point: Option<Point>,
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
    /// Whether its next statement waits for other sessions, and when that was over.
    pub is_parked: bool,
    pub released_at: Nanos,
    /// Whether its transaction waits for none of them any more: they wait for each other.
    pub is_forced: bool,
    pub is_in_transaction: bool,
    /// Whether its transaction may hold locks.
    pub holds_locks: bool,
    /// Keys that differ from the recording's for this session.
    pub learned: Learned,
    /// What its last INSERT was given.
    pub last_insert: Domain,
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
            is_parked: false,
            released_at: 0,
            is_forced: false,
            is_in_transaction: false,
            holds_locks: false,
            learned: Learned::default(),
            last_insert: 0,
            prepared: HashMap::new(),
        }
    }

    /// The connection is gone, and what was prepared on it.
    pub fn is_lost(&mut self) {
        self.state = State::Away;
        self.is_in_transaction = false;
        self.holds_locks = false;
        self.is_forced = false;
        self.prepared.clear();
    }

    /// Whether the server has something to answer, or something is due.
    pub fn is_at_work(&self) -> bool {
        matches!(self.state, State::Busy(_)) || !self.backlog.is_empty()
    }

    /// Writes a statement's messages as its client sent them, with the keys of now, and returns the name that they
    /// prepare.
    pub fn write(
        &mut self,
        statement: &Statement,
        uses: &Uses,
        keys: &mut Keys,
        out: &mut Vec<u8>,
    ) -> Option<Box<[u8]>> {
        let sql = keys.sql(&self.learned, statement, uses);
        if uses.inserts != 0 {
            self.last_insert = uses.inserts;
        }
        if statement.protocol == Protocol::Simple {
            frontend::query(out, &sql);
            self.forget_prepared(statement);
            return None;
        }
        let none = Wire::default();
        let wire = statement.wire.as_deref().unwrap_or(&none);
        // What cannot be sent is refused by the server: it has fewer parameters than the text asks for.
        let name = String::from_utf8_lossy(&statement.name);
        let preparing = self.prepare(&statement.name, &sql, &wire.types, out);
        let formats = frontend::Formats {
            values: &wire.binary,
            results: &wire.results,
        };
        let bound = frontend::bind_with(out, "", &name, formats, |values| {
            for (index, value) in statement.parameters().enumerate() {
                let Some(value) = value else {
                    values.null();
                    continue;
                };
                let used = u16::try_from(index + 1).ok();
                let used = used.and_then(|number| uses.parameter(number));
                let type_oid = wire.types.get(index).copied().unwrap_or(0);
                let is_binary = wire.binary.get(index).copied().unwrap_or(false);
                let now = keys.parameter(&self.learned, used, value, type_oid, is_binary);
                values.value(now.as_deref().unwrap_or(value));
            }
        });
        if bound.is_ok() {
            frontend::describe(out, frontend::Target::Portal, "");
            frontend::execute(out, "", wire.limit);
        }
        if wire.is_pipelined {
            frontend::flush(out);
        } else {
            frontend::sync(out);
        }
        self.forget_prepared(statement);
        preparing
    }

    /// Parse, where the server does not have it.
    fn prepare(
        &mut self,
        name: &[u8],
        sql: &[u8],
        types: &[u32],
        out: &mut Vec<u8>,
    ) -> Option<Box<[u8]>> {
        let mut hasher = DefaultHasher::new();
        (sql, types).hash(&mut hasher);
        let hash = hasher.finish();
        let text = String::from_utf8_lossy(name);
        if !name.is_empty() {
            match self.prepared.insert(name.into(), hash) {
                Some(before) if before == hash => return None,
                Some(_) => frontend::close(out, frontend::Target::Statement, &text),
                None => {}
            }
        }
        let types: Vec<u32> = types.iter().map(|oid| type_there(*oid)).collect();
        let _ = frontend::parse(out, &text, sql, &types);
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
