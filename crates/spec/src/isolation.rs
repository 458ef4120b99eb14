//! The isolation level that a trial's transactions are to have.

use std::collections::BTreeMap;

use clap::ValueEnum;
use serde::{Deserialize, Serialize};

/// The levels; records have their names in SQL.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum, Serialize, Deserialize)]
pub enum Isolation {
    /// PostgreSQL treats it as read committed
    #[value(alias = "read uncommitted")]
    #[serde(rename = "read uncommitted")]
    ReadUncommitted,
    /// Each statement sees what was committed before it
    #[value(alias = "read committed")]
    #[serde(rename = "read committed")]
    ReadCommitted,
    /// All statements see what was committed before the first one
    #[value(alias = "repeatable read")]
    #[serde(rename = "repeatable read")]
    RepeatableRead,
    /// As if transactions ran one after the other
    #[serde(rename = "serializable")]
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

    /// The level of this name in SQL.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|level| level.name() == name)
    }

    /// Its name in SQL, in small letters.
    pub fn name(self) -> &'static str {
        match self {
            Self::ReadUncommitted => "read uncommitted",
            Self::ReadCommitted => "read committed",
            Self::RepeatableRead => "repeatable read",
            Self::Serializable => "serializable",
        }
    }

    /// The setting that gives it to a session's transactions.
    pub fn setting(self) -> BTreeMap<String, String> {
        let name = "default_transaction_isolation".to_owned();
        BTreeMap::from([(name, self.name().to_owned())])
    }
}
