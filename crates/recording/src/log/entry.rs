//! One message of a log, whatever its form.

use std::io;

use crate::event::SqlState;

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Severity {
    Log,
    /// ERROR, FATAL and PANIC.
    Error,
    #[default]
    Other,
}

impl Severity {
    pub fn of(word: &[u8]) -> Self {
        match word {
            b"LOG" => Self::Log,
            b"ERROR" | b"FATAL" | b"PANIC" => Self::Error,
            _ => Self::Other,
        }
    }
}

/// Its parts are filled anew for each message: they keep their memory.
#[derive(Clone, Debug, Default)]
pub struct Entry {
    /// Microseconds since 1970.
    pub time_us: i64,
    /// What tells sessions apart.
    pub session: Vec<u8>,
    /// When the session began, to the second.
    pub session_start_us: Option<i64>,
    pub user: Vec<u8>,
    pub database: Vec<u8>,
    pub application: Vec<u8>,
    pub severity: Severity,
    pub state: Option<SqlState>,
    pub message: Vec<u8>,
    pub detail: Vec<u8>,
    pub context: Vec<u8>,
    /// The statement that an error belongs to.
    pub statement: Vec<u8>,
}

impl Entry {
    pub fn clear(&mut self) {
        (self.session_start_us, self.state) = (None, None);
        self.severity = Severity::Other;
        for part in [
            &mut self.session,
            &mut self.user,
            &mut self.database,
            &mut self.application,
            &mut self.message,
            &mut self.detail,
            &mut self.context,
            &mut self.statement,
        ] {
            part.clear();
        }
    }
}

/// What of a file could not be read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Lost {
    pub lines: u64,
    /// Lines whose time zone is not known.
    pub zones: u64,
}

/// The messages of a file in order.
pub trait Entries {
    /// Fills in the next one; `false` at the end.
    fn next(&mut self, entry: &mut Entry) -> io::Result<bool>;

    fn lost(&self) -> Lost;
}
