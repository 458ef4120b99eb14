//! What a recording is made of: sessions that begin and end, and their statements.

use std::sync::Arc;

use crate::bytes::Cut;
use crate::result::Sum;
use crate::shape::{Text, fill};

/// The five characters of an error code; zero bytes where only that it failed is known.
pub type SqlState = [u8; 5];

/// Who sent statements.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Session {
    /// Unique in the recording.
    pub number: u32,
    pub user: String,
    pub database: String,
    pub application: String,
    /// Other settings that it began with, by name: from the wire.
    pub settings: Vec<(String, String)>,
}

/// How a statement was sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Protocol {
    Simple,
    /// Parse, Bind and Execute, with or without a name ([`Statement::name`]).
    Extended,
}

/// Why a statement cannot be sent again.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Obstacle {
    /// It had a password, which is not recorded.
    Secret,
    /// The values of its parameters are missing.
    NoParameters,
    /// Values were cut off (`log_parameter_max_length`).
    CutParameters,
    /// Rows that a client sent are not recorded.
    CopyData,
    /// More rows of a portal: how many is not recorded.
    Fetch,
    /// The text is longer than is recorded.
    TooLong,
    /// A statement before it in its pipeline failed, and the server passed over it.
    Skipped,
}

impl Obstacle {
    pub const ALL: [Self; 7] = [
        Self::Secret,
        Self::NoParameters,
        Self::CutParameters,
        Self::CopyData,
        Self::Fetch,
        Self::TooLong,
        Self::Skipped,
    ];

    /// In words, for "cannot be replayed: …".
    pub fn words(self) -> &'static str {
        match self {
            Self::Secret => "has a password, which is not recorded",
            Self::NoParameters => "values of parameters are missing",
            Self::CutParameters => "values of parameters were cut (log_parameter_max_length)",
            Self::CopyData => "COPY FROM STDIN: its rows are not recorded",
            Self::Fetch => "fetches more rows of a portal",
            Self::TooLong => "is longer than 8 MiB",
            Self::Skipped => "passed over by the server: one before it in its pipeline failed",
        }
    }

    pub(crate) fn code(self) -> u8 {
        Self::ALL
            .iter()
            .position(|other| *other == self)
            .unwrap_or(0) as u8
    }

    pub(crate) fn of(code: u8) -> Option<Self> {
        Self::ALL.get(usize::from(code)).copied()
    }
}

/// Times are microseconds since 1970 (UTC).
#[derive(Clone, Debug, PartialEq)]
pub struct Statement {
    pub session: Arc<Session>,
    pub start_us: i64,
    /// Where it is known.
    pub duration_us: Option<u64>,
    pub protocol: Protocol,
    /// Of the prepared statement; empty where it had none.
    pub name: Box<[u8]>,
    pub text: Arc<Text>,
    /// The values that the text leaves out ([`crate::fill`]).
    pub literals: Box<[u8]>,
    /// Bound values, packed.
    pub(crate) parameters: Box<[u8]>,
    /// Rows affected or returned, where they are known.
    pub rows: Option<u64>,
    /// That it failed, and how.
    pub failed: Option<SqlState>,
    pub obstacle: Option<Obstacle>,
    /// What a log does not have.
    pub wire: Option<Box<Wire>>,
}

/// What only the wire shows of a statement.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Wire {
    /// Types of parameters as the client named them, the first ones; 0: the server infers it.
    pub types: Vec<u32>,
    /// By parameter, whether its value is in binary format; fewer than parameters: the rest is not.
    pub binary: Vec<bool>,
    /// Formats that were asked for, as in Bind: none (text), one for all columns, or one each.
    pub results: Vec<bool>,
    /// Rows that Execute asked for; 0: all.
    pub limit: u32,
    /// Without a Sync behind it: the next statement of the session is in the same implicit transaction.
    pub is_pipelined: bool,
    /// Whether a transaction is open after it.
    pub is_in_transaction: bool,
    /// What the server said that it did, such as `INSERT 0 1`; of several statements `;` between.
    pub tag: Vec<u8>,
    pub result: Option<Sum>,
}

impl Statement {
    /// Its text as it was sent.
    pub fn sql(&self) -> Vec<u8> {
        let mut sql = Vec::new();
        fill(&self.text.shape, &self.literals, &mut sql);
        sql
    }

    /// The values and comments that its text leaves out, in order.
    pub fn literals(&self) -> impl Iterator<Item = &[u8]> {
        let mut cut = Cut(&self.literals);
        std::iter::from_fn(move || cut.bytes())
    }

    /// The bound values in order, `None` for NULL.
    pub fn parameters(&self) -> impl Iterator<Item = Option<&[u8]>> {
        let mut cut = Cut(&self.parameters);
        std::iter::from_fn(move || match cut.number()? {
            0 => Some(None),
            length => cut.take(usize::try_from(length - 1).ok()?).map(Some),
        })
    }
}

/// A session begins.
#[derive(Clone, Debug, PartialEq)]
pub struct Begin {
    pub session: Arc<Session>,
    pub at_us: i64,
    /// Whether the time is that of the connection; else it is that of what it sent first.
    pub is_known: bool,
}

/// A session ends.
#[derive(Clone, Debug, PartialEq)]
pub struct End {
    pub session: Arc<Session>,
    pub at_us: i64,
}

#[derive(Clone, Debug, PartialEq)]
pub enum Event {
    Begin(Begin),
    Statement(Statement),
    End(End),
}

impl Event {
    /// When it is due.
    pub fn at_us(&self) -> i64 {
        match self {
            Self::Begin(begin) => begin.at_us,
            Self::Statement(statement) => statement.start_us,
            Self::End(end) => end.at_us,
        }
    }

    pub fn session(&self) -> &Arc<Session> {
        match self {
            Self::Begin(begin) => &begin.session,
            Self::Statement(statement) => &statement.session,
            Self::End(end) => &end.session,
        }
    }
}
