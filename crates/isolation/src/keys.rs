//! Keys of a history: named by a number or a word, interned as a `u32`.

use std::collections::HashMap;
use std::fmt;

/// What a key is called in the workload: a row's number, or a word.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum KeyName {
    /// An integer, as in Elle's own workloads.
    Number(i64),
    /// A keyword or a string.
    Word(String),
}

impl From<i64> for KeyName {
    fn from(number: i64) -> Self {
        Self::Number(number)
    }
}

impl From<&str> for KeyName {
    fn from(word: &str) -> Self {
        Self::Word(word.to_owned())
    }
}

impl fmt::Display for KeyName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Number(number) => number.fmt(f),
            Self::Word(word) => word.fmt(f),
        }
    }
}

/// What the values of a key are. A key has one kind in the whole history.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum KeyKind {
    /// Only read, and nothing was found.
    #[default]
    Unwritten,
    /// A list that transactions append to: each read shows the order of versions.
    List,
    /// A register that transactions overwrite with values of their own.
    Register,
    /// The rows that match a predicate: transactions insert such rows and read them all.
    Group,
}

impl KeyKind {
    pub(crate) const fn word(self) -> &'static str {
        match self {
            Self::Unwritten => "unwritten",
            Self::List => "list",
            Self::Register => "register",
            Self::Group => "group of rows that match a predicate",
        }
    }
}

/// Names by number and numbers by name.
#[derive(Clone, Debug, Default)]
pub(crate) struct Keys {
    names: Vec<KeyName>,
    numbers: HashMap<KeyName, u32>,
}

impl Keys {
    pub fn number(&mut self, name: KeyName) -> u32 {
        let next = u32::try_from(self.names.len()).unwrap_or(u32::MAX);
        *self.numbers.entry(name).or_insert_with_key(|name| {
            self.names.push(name.clone());
            next
        })
    }

    pub fn name(&self, key: u32) -> &KeyName {
        &self.names[key as usize]
    }

    pub fn len(&self) -> usize {
        self.names.len()
    }
}
