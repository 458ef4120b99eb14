//! The warm-up of a trial as it is asked for: a time, or until the trial is steady.

use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use pgdyno_stats::WarmUp;
use serde::{Deserialize, Serialize};

use super::duration;
use crate::text::as_typed;

/// The longest that a detected warm-up takes when the user does not say.
const LIMIT_DEFAULT: Duration = Duration::from_secs(60);

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "Recorded", into = "Recorded")]
pub enum Warmup {
    Given(Duration),
    /// Until the trial is steady, at most so long.
    Detected {
        limit: Duration,
    },
}

/// The two fields of a record. (Derived, it could not be flattened.)
#[cfg(feature = "typescript")]
impl ts_rs::TS for Warmup {
    type WithoutGenerics = Self;
    type OptionInnerType = Self;

    fn name(config: &ts_rs::Config) -> String {
        Recorded::name(config)
    }

    fn inline(config: &ts_rs::Config) -> String {
        Recorded::inline(config)
    }

    fn inline_flattened(config: &ts_rs::Config) -> String {
        Recorded::inline_flattened(config)
    }
}

impl Default for Warmup {
    fn default() -> Self {
        Self::Given(Duration::ZERO)
    }
}

impl Warmup {
    /// The longest time it takes.
    pub fn longest(self) -> Duration {
        match self {
            Self::Given(time) => time,
            Self::Detected { limit } => limit,
        }
    }

    /// Whether its end is found while it runs.
    pub fn is_detected(self) -> bool {
        matches!(self, Self::Detected { .. })
    }
}

impl FromStr for Warmup {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let Some(rest) = text.strip_prefix("auto") else {
            return duration::parse(text)
                .map(Self::Given)
                .map_err(|why| format!("{why}; or auto, auto=2m: until it is steady"));
        };
        let limit = match rest.strip_prefix('=') {
            Some(limit) => duration::parse(limit)?,
            None if rest.is_empty() => LIMIT_DEFAULT,
            None => return Err("a limit is written so: auto=2m".to_owned()),
        };
        let least_s = WarmUp::SECONDS_MIN;
        if limit < Duration::from_secs(least_s as u64) {
            return Err(format!(
                "{least_s} s is the minimum to judge steadiness: auto={least_s}s or more"
            ));
        }
        Ok(Self::Detected { limit })
    }
}

impl fmt::Display for Warmup {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Given(time) => f.write_str(&as_typed(*time)),
            Self::Detected { limit } => write!(f, "auto={}", as_typed(*limit)),
        }
    }
}

/// As serialized: two fields of the spec. It is also read by the name and in the form in
/// which it is typed: a number of seconds or a text.
#[derive(Default, Serialize, Deserialize)]
#[serde(default)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
pub(super) struct Recorded {
    warmup_s: f64,
    warmup_detected: bool,
    #[serde(skip_serializing)]
    #[cfg_attr(feature = "typescript", ts(skip))]
    warmup: Option<Typed>,
}

#[derive(Deserialize)]
#[serde(untagged)]
enum Typed {
    Seconds(f64),
    Text(String),
}

impl From<Warmup> for Recorded {
    fn from(warmup: Warmup) -> Self {
        Self {
            warmup_s: warmup.longest().as_secs_f64(),
            warmup_detected: warmup.is_detected(),
            warmup: None,
        }
    }
}

impl TryFrom<Recorded> for Warmup {
    type Error = String;

    fn try_from(recorded: Recorded) -> Result<Self, String> {
        let seconds = match recorded.warmup {
            Some(Typed::Text(text)) => return text.parse(),
            Some(Typed::Seconds(seconds)) => seconds,
            None => recorded.warmup_s,
        };
        let time = Duration::try_from_secs_f64(seconds);
        let time = time.map_err(|why| format!("warmup of {seconds} s: {why}"))?;
        Ok(if recorded.warmup_detected {
            Self::Detected { limit: time }
        } else {
            Self::Given(time)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_warm_up_is_a_time_or_auto_with_a_limit() {
        let seconds = Duration::from_secs;
        let detected = |s| Warmup::Detected { limit: seconds(s) };
        for (text, want, written) in [
            ("0", Warmup::Given(seconds(0)), "0s"),
            ("10s", Warmup::Given(seconds(10)), "10s"),
            ("auto", detected(60), "auto=60s"),
            ("auto=2m", detected(120), "auto=120s"),
            ("auto=10", detected(10), "auto=10s"),
        ] {
            assert_eq!(text.parse(), Ok(want), "{text}");
            assert_eq!(want.to_string(), written);
            let recorded = serde_json::to_value(want).unwrap();
            assert_eq!(serde_json::from_value::<Warmup>(recorded).unwrap(), want);
            let typed = serde_json::json!({ "warmup": written });
            assert_eq!(serde_json::from_value::<Warmup>(typed).unwrap(), want);
        }
        for (text, words) in [
            ("soon", "or auto, auto=2m"),
            ("automatic", "a limit is written so: auto=2m"),
            ("auto 30s", "a limit is written so: auto=2m"),
            ("auto=", "a duration is a number"),
            ("auto=9s", "auto=10s or more"),
        ] {
            let error = text.parse::<Warmup>().unwrap_err();
            assert!(error.contains(words), "{text}: {error}");
        }
    }
}
