//! Options of a disturbance: `key=value`, checked against what it takes.

use std::collections::BTreeMap;
use std::time::Duration;

use pgdyno_spec::{duration, network::rate_of, suggest::nearest, text};
use serde::Serialize;

use super::Entry;

#[derive(Debug, Serialize)]
pub struct Key {
    pub name: &'static str,
    /// Its value when the user gives none; empty: chosen by what the server has.
    pub default: &'static str,
    #[serde(skip)]
    pub kind: Kind,
    pub help: &'static str,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// A time such as `5s`.
    Time,
    /// A whole number, at least 1.
    Count,
    /// A whole number from one to another.
    Between(u64, u64),
    /// Bytes a second, as [`rate_of`] reads them.
    Rate,
    Name,
    Words(&'static [&'static str]),
}

pub(super) const fn lasting(default: &'static str) -> Key {
    Key {
        name: "for",
        default,
        kind: Kind::Time,
        help: "how long it lasts",
    }
}

/// The table that it is about.
pub(super) const TABLE: Key = Key {
    name: "table",
    default: "",
    kind: Kind::Name,
    help: "the table; unless given, one of the workload's",
};

impl Kind {
    fn check(self, value: &str) -> Result<(), String> {
        match self {
            Kind::Time => duration::parse_positive(value).map(drop),
            Kind::Count => match value.parse::<u64>() {
                Ok(1..) => Ok(()),
                _ => Err("expected a whole number from 1 on".to_owned()),
            },
            Kind::Between(least, most) => match value.parse::<u64>() {
                Ok(number) if (least..=most).contains(&number) => Ok(()),
                _ => Err(format!("expected a whole number from {least} to {most}")),
            },
            Kind::Rate => rate_of(value).map(drop),
            Kind::Name if value.is_empty() => Err("expected a name".to_owned()),
            Kind::Name => Ok(()),
            Kind::Words(words) if words.contains(&value) => Ok(()),
            Kind::Words(words) => Err(format!("it is one of {}", words.join(", "))),
        }
    }
}

/// The values of all options.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Given(BTreeMap<&'static str, String>);

impl Given {
    /// Reads `key=value key=value`.
    ///
    /// # Errors
    /// An option that the entry does not have, or a value that it does not take; in a clause.
    pub fn read(entry: &Entry, text: &str) -> Result<Self, String> {
        let defaults = entry.keys.iter();
        let mut given: BTreeMap<_, _> = defaults
            .map(|key| (key.name, key.default.to_owned()))
            .collect();
        let mut named = Vec::new();
        for word in text.split_whitespace() {
            let (name, value) = word
                .split_once('=')
                .ok_or_else(|| format!("expected key=value, not \"{word}\""))?;
            let Some(key) = entry.keys.iter().find(|key| key.name == name) else {
                let known = entry.keys.iter().map(|key| key.name);
                return Err(match (nearest(name, known.clone()), entry.keys) {
                    (Some(word), _) => {
                        format!("it has no option \"{name}\"; did you mean \"{word}\"?")
                    }
                    (None, []) => format!("it has no option \"{name}\", nor any other"),
                    (None, _) => {
                        let known: Vec<_> = known.collect();
                        format!("it has no option \"{name}\", only {}", known.join(", "))
                    }
                });
            };
            if named.contains(&name) {
                return Err(format!("{name} is given twice"));
            }
            named.push(name);
            key.kind
                .check(value)
                .map_err(|why| format!("{name}: {why}"))?;
            given.insert(key.name, value.to_owned());
        }
        Ok(Self(given))
    }

    /// The value of an option; empty when it is open.
    pub fn text(&self, name: &str) -> &str {
        self.0.get(name).map_or("", String::as_str)
    }

    /// Those that have a value, by name.
    pub fn set(&self) -> impl Iterator<Item = (&'static str, &str)> {
        let all = self.0.iter().map(|(key, value)| (*key, value.as_str()));
        all.filter(|(_, value)| !value.is_empty())
    }

    /// A time, which was checked.
    pub fn time(&self, name: &str) -> Duration {
        duration::parse(self.text(name)).unwrap_or_default()
    }

    pub fn last(&mut self, time: Duration) {
        self.0.insert("for", text::as_typed(time));
    }

    /// A number, which was checked.
    pub fn count(&self, name: &str) -> u64 {
        self.text(name).parse().unwrap_or(1)
    }
}
