//! What a recording is made of: sessions that begin and end, and their statements.

use std::sync::Arc;

use crate::bytes::Cut;
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
}

impl Obstacle {
    pub const ALL: [Self; 6] = [
        Self::Secret,
        Self::NoParameters,
        Self::CutParameters,
        Self::CopyData,
        Self::Fetch,
        Self::TooLong,
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
}

impl Statement {
    /// Its text as it was sent.
    pub fn sql(&self) -> Vec<u8> {
        let mut sql = Vec::new();
        fill(&self.text.shape, &self.literals, &mut sql);
        sql
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
