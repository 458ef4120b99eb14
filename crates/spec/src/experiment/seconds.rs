//! Durations as seconds: in the values of parameters, and in serde's forms.

use std::time::Duration;

use serde::{Deserialize, Deserializer, Serializer};
use serde_json::Value;

/// A time as the value of a parameter: seconds, as a number with a fraction.
pub fn seconds(time: Duration) -> Value {
    Value::from(time.as_secs_f64())
}

pub fn serialize<S: Serializer>(time: &Duration, to: S) -> Result<S::Ok, S::Error> {
    to.serialize_f64(time.as_secs_f64())
}

pub fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Duration, D::Error> {
    let seconds = f64::deserialize(from)?;
    Duration::try_from_secs_f64(seconds).map_err(serde::de::Error::custom)
}
