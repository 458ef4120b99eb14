//! Something known, or the reason why it is not: what may not be seen is no failure.

use std::collections::BTreeMap;

use serde::de::DeserializeOwned;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// Something known, or why it is not.
#[derive(Debug, Clone, PartialEq)]
#[cfg_attr(test, derive(ts_rs::TS), ts(untagged))]
pub enum Fact<T> {
    /// Known.
    Seen(T),
    /// Not known, with the reason.
    Unseen(#[cfg_attr(test, ts(type = "{ unseen: string }"))] String),
}

impl<T> Fact<T> {
    /// The value, if known.
    pub fn seen(&self) -> Option<&T> {
        match self {
            Fact::Seen(value) => Some(value),
            Fact::Unseen(_) => None,
        }
    }

    /// What is known by the value, if that is known.
    pub fn and_then_seen<U>(self, f: impl FnOnce(T) -> Fact<U>) -> Fact<U> {
        match self {
            Fact::Seen(value) => f(value),
            Fact::Unseen(why) => Fact::Unseen(why),
        }
    }

    /// What is made of the value, if that is known; `None`: the answer was not understood.
    pub fn try_map<U>(self, f: impl FnOnce(T) -> Option<U>) -> Fact<U> {
        match self {
            Fact::Seen(value) => f(value).map_or_else(
                || Fact::Unseen("the server's answer is not understood".to_owned()),
                Fact::Seen,
            ),
            Fact::Unseen(why) => Fact::Unseen(why),
        }
    }
}

/// The value itself, or `{"unseen": reason}`.
impl<T: Serialize> Serialize for Fact<T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Fact::Seen(value) => value.serialize(serializer),
            Fact::Unseen(why) => BTreeMap::from([("unseen", why)]).serialize(serializer),
        }
    }
}

/// As it was serialized.
impl<'de, T: DeserializeOwned> Deserialize<'de> for Fact<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let value = serde_json::Value::deserialize(deserializer)?;
        if let Some(why) = value.get("unseen").and_then(|why| why.as_str()) {
            return Ok(Fact::Unseen(why.to_owned()));
        }
        let value = serde_json::from_value(value).map_err(serde::de::Error::custom)?;
        Ok(Fact::Seen(value))
    }
}

/// A fact that was not asked for when the others were written down.
impl<T> Default for Fact<T> {
    fn default() -> Self {
        Fact::Unseen("not recorded".to_owned())
    }
}
