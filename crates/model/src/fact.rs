//! Something known, or the reason why it is not: what may not be seen is no failure.

use std::collections::BTreeMap;

use serde::de::DeserializeOwned;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// Something known, or why it is not.
#[derive(Debug, Clone, PartialEq)]
#[cfg_attr(test, derive(ts_rs::TS), ts(untagged))]
pub enum Fact<T> {
    Known(T),
    /// Not known, with the reason.
    Unknown(#[cfg_attr(test, ts(type = "{ unknown: string }"))] String),
}

impl<T> Fact<T> {
    pub fn known(&self) -> Option<&T> {
        match self {
            Fact::Known(value) => Some(value),
            Fact::Unknown(_) => None,
        }
    }

    /// What is known by the value, if that is known.
    pub fn and_then_known<U>(self, f: impl FnOnce(T) -> Fact<U>) -> Fact<U> {
        match self {
            Fact::Known(value) => f(value),
            Fact::Unknown(why) => Fact::Unknown(why),
        }
    }

    /// What is made of the value, if that is known; `None`: the answer was not understood.
    pub fn try_map<U>(self, f: impl FnOnce(T) -> Option<U>) -> Fact<U> {
        match self {
            Fact::Known(value) => f(value).map_or_else(
                || Fact::Unknown("the server's answer is not understood".to_owned()),
                Fact::Known,
            ),
            Fact::Unknown(why) => Fact::Unknown(why),
        }
    }
}

/// The value itself, or `{"unknown": reason}`.
impl<T: Serialize> Serialize for Fact<T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Fact::Known(value) => value.serialize(serializer),
            Fact::Unknown(why) => BTreeMap::from([("unknown", why)]).serialize(serializer),
        }
    }
}

impl<'de, T: DeserializeOwned> Deserialize<'de> for Fact<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let value = serde_json::Value::deserialize(deserializer)?;
        if let Some(why) = value.get("unknown").and_then(|why| why.as_str()) {
            return Ok(Fact::Unknown(why.to_owned()));
        }
        let value = serde_json::from_value(value).map_err(serde::de::Error::custom)?;
        Ok(Fact::Known(value))
    }
}

/// A fact that was not asked for when the others were written down.
impl<T> Default for Fact<T> {
    fn default() -> Self {
        Fact::Unknown("not recorded".to_owned())
    }
}
