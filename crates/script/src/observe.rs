//! `\observe`: what a statement does, in the words of a history of transactions.

use crate::names::{Names, Slot, is_valid_name};

/// What a statement does to a key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Observation {
    /// `append KEY VALUE`: adds a value to the end of a list.
    Append,
    /// `write KEY VALUE`: overwrites a register.
    Write,
    /// `insert KEY VALUE`: inserts a row that the predicate matches.
    Insert,
    /// `list KEY`: reads a list.
    List,
    /// `read KEY`: reads a register.
    Read,
    /// `rows KEY`: reads all rows that the predicate matches.
    Rows,
}

impl Observation {
    pub(crate) fn of(word: &str) -> Option<Self> {
        Some(match word {
            "append" => Self::Append,
            "write" => Self::Write,
            "insert" => Self::Insert,
            "list" => Self::List,
            "read" => Self::Read,
            "rows" => Self::Rows,
            _ => return None,
        })
    }

    /// Whether it is a read, whose value the server tells.
    pub const fn is_read(self) -> bool {
        matches!(self, Self::List | Self::Read | Self::Rows)
    }
}

/// An integer, or the variable that holds one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Operand {
    Int(i64),
    /// The variable's value when the statement is sent.
    Var(Slot),
}

impl Operand {
    pub(crate) fn of(word: &str, names: &mut Names) -> Option<Self> {
        match word.strip_prefix(':') {
            Some(name) => is_valid_name(name).then(|| Self::Var(names.intern(name))),
            None => word.parse().ok().map(Self::Int),
        }
    }
}

/// One `\observe` behind a statement.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Observe {
    pub what: Observation,
    pub key: Operand,
    /// The value that is written; of a read 0.
    pub value: Operand,
}
