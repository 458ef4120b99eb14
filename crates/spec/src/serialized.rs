//! How fields of a spec stand in records: times as numbers whose name has the unit, words as text.

use std::time::Duration;

use serde::de::Error;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

fn time<E: Error>(seconds: f64) -> Result<Duration, E> {
    Duration::try_from_secs_f64(seconds).map_err(|why| E::custom(format!("{seconds} s: {why}")))
}

/// `Option<Duration>` as a number of seconds.
pub mod s {
    use super::*;

    pub fn serialize<S: Serializer>(value: &Option<Duration>, to: S) -> Result<S::Ok, S::Error> {
        value.map(|time| time.as_secs_f64()).serialize(to)
    }

    pub fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Option<Duration>, D::Error> {
        let seconds = Option::<f64>::deserialize(from)?;
        seconds.map(time).transpose()
    }
}

/// `Option<Duration>` as a whole number of microseconds.
pub mod us {
    use super::*;

    pub fn serialize<S: Serializer>(value: &Option<Duration>, to: S) -> Result<S::Ok, S::Error> {
        value.map(|time| time.as_micros() as u64).serialize(to)
    }

    pub fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Option<Duration>, D::Error> {
        Ok(Option::<u64>::deserialize(from)?.map(Duration::from_micros))
    }
}

/// An optional value by the text that it is typed as.
pub mod text {
    use std::fmt::Display;
    use std::str::FromStr;

    use super::*;

    pub fn serialize<T: Display, S: Serializer>(
        value: &Option<T>,
        to: S,
    ) -> Result<S::Ok, S::Error> {
        value.as_ref().map(T::to_string).serialize(to)
    }

    pub fn deserialize<'de, T, D>(from: D) -> Result<Option<T>, D::Error>
    where
        T: FromStr<Err = String>,
        D: Deserializer<'de>,
    {
        let text = Option::<String>::deserialize(from)?;
        text.map(|text| text.parse().map_err(D::Error::custom))
            .transpose()
    }
}

/// The engine's way to wait for sockets by its word.
pub mod io {
    use pgdyno_platform::io::Choice;

    use super::*;

    pub fn serialize<S: Serializer>(value: &Choice, to: S) -> Result<S::Ok, S::Error> {
        value.name().serialize(to)
    }

    pub fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Choice, D::Error> {
        let word = String::deserialize(from)?;
        Choice::named(&word).ok_or_else(|| D::Error::custom(format!("io: {word}")))
    }
}

/// `NAME=VALUE` texts as an object, secrets masked; values may be read as any scalar.
pub mod named {
    use std::collections::BTreeMap;

    use serde_json::Value;

    use super::*;
    use crate::secret::masked;

    pub fn serialize<S: Serializer>(given: &[String], to: S) -> Result<S::Ok, S::Error> {
        let pairs = given
            .iter()
            .map(|text| text.split_once('=').unwrap_or((text, "")))
            .map(|(name, value)| (name, masked(name, value)));
        pairs.collect::<BTreeMap<&str, &str>>().serialize(to)
    }

    pub fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Vec<String>, D::Error> {
        let pairs = BTreeMap::<String, Value>::deserialize(from)?.into_iter();
        let text = |(name, value)| match value {
            Value::String(value) => format!("{name}={value}"),
            value => format!("{name}={value}"),
        };
        Ok(pairs.map(text).collect())
    }
}

/// Settings; values may be read as any scalar.
pub mod settings {
    use std::collections::BTreeMap;

    use serde_json::Value;

    use super::*;

    pub fn deserialize<'de, D: Deserializer<'de>>(
        from: D,
    ) -> Result<BTreeMap<String, String>, D::Error> {
        let pairs = BTreeMap::<String, Value>::deserialize(from)?.into_iter();
        let text = |(name, value)| match value {
            Value::String(value) => (name, value),
            value => (name, value.to_string()),
        };
        Ok(pairs.map(text).collect())
    }
}
