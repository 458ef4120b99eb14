//! The isolation level that a trial's transactions are to have.

use std::collections::BTreeMap;

use clap::ValueEnum;

/// The levels by their names in SQL.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Isolation {
    /// PostgreSQL gives the next one
    ReadUncommitted,
    /// Each statement sees what was committed before it
    ReadCommitted,
    /// All statements see what was committed before the first
    RepeatableRead,
    /// As if one transaction came after the other
    Serializable,
}

impl Isolation {
    /// All of them.
    pub const ALL: [Self; 4] = [
        Self::ReadUncommitted,
        Self::ReadCommitted,
        Self::RepeatableRead,
        Self::Serializable,
    ];

    /// Its name in SQL, in small letters.
    pub fn name(self) -> &'static str {
        match self {
            Self::ReadUncommitted => "read uncommitted",
            Self::ReadCommitted => "read committed",
            Self::RepeatableRead => "repeatable read",
            Self::Serializable => "serializable",
        }
    }

    /// The level of this name in SQL.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|level| level.name() == name)
    }

    /// The setting that gives it to a session's transactions.
    pub fn setting(self) -> BTreeMap<String, String> {
        let name = "default_transaction_isolation".to_owned();
        BTreeMap::from([(name, self.name().to_owned())])
    }
}
