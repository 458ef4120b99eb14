//! The rate of a trial as it is asked for: transactions a second that may move with the time, or
//! shares of a capacity that was found before.

use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use super::load::Profile;
use serde::de::Error;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::Value;

use super::profile::Grammar;

/// What may stand in a rate.
pub const GRAMMAR: Grammar = Grammar {
    of: "a rate",
    unit: "transactions a second",
    is_whole: false,
    max: 1e9,
};
/// Between shares and the experiment whose capacity they are of.
const OF: &str = " of ";

/// Transactions a second over all clients. [`kept`] writes it in records.
#[derive(Debug, Clone, PartialEq)]
pub struct Rate {
    profile: Profile,
    /// Whether the profile's numbers are shares, of 1.
    is_share: bool,
    of: Option<String>,
}

impl Rate {
    /// Over the time, in seconds since the measured time began; of shares, 1 is all of the capacity.
    pub fn profile(&self) -> &Profile {
        &self.profile
    }

    /// The number, where it does not move.
    pub fn constant(&self) -> Option<f64> {
        self.profile.constant()
    }

    /// The experiment whose capacity it is shares of, by name or number: nothing can run before
    /// [`Rate::resolved`].
    pub fn of(&self) -> Option<&str> {
        self.of.as_deref()
    }

    /// Whether it is a share of what the database does at most: a laboratory finds that out first, no
    /// single trial does.
    pub fn is_of_maximum(&self) -> bool {
        self.is_share && self.of.is_none()
    }

    /// With the capacity that its shares are of, in transactions a second.
    pub fn resolved(&self, capacity_per_s: f64) -> Self {
        self.profile.times(capacity_per_s).into()
    }

    /// How long a trial lasts to see all of it: pieces to their end, of what repeats two rounds and
    /// at least `least`. `None` where it does not move.
    pub fn length(&self, least: Duration) -> Option<Duration> {
        length(&self.profile, least)
    }

    /// Transactions due between two times in microseconds since the measured time began.
    pub fn due(&self, from_us: i64, to_us: i64) -> f64 {
        let area = |us: i64| self.profile.area(us as f64 / 1e6);
        area(to_us) - area(from_us)
    }

    /// The same with all numbers times this.
    pub fn times(&self, factor: f64) -> Self {
        Self {
            profile: self.profile.times(factor),
            is_share: self.is_share,
            of: self.of.clone(),
        }
    }
}

/// How long a trial lasts to see all of a profile.
pub fn length(profile: &Profile, least: Duration) -> Option<Duration> {
    let length = Duration::from_secs_f64(profile.length_s()?);
    Some(match profile {
        Profile::Straight(straight) if straight.then() != super::load::Then::Repeats => length,
        _ => length.max(least),
    })
}

impl From<Profile> for Rate {
    fn from(profile: Profile) -> Self {
        Self {
            profile,
            is_share: false,
            of: None,
        }
    }
}

impl From<f64> for Rate {
    fn from(per_s: f64) -> Self {
        Profile::Constant(per_s).into()
    }
}

impl FromStr for Rate {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (shares, of) = match text.split_once(OF) {
            Some((shares, of)) if !text.starts_with('@') => (shares, Some(of.trim())),
            _ => (text, None),
        };
        let read = GRAMMAR.read(shares)?;
        match (read.has_shares, of) {
            (true, Some("")) => Err(format!(
                "a share is one of a capacity that was found: \"{shares} of EXPERIMENT\", where \
                 `pgdyno ls` shows the name of a capacity search"
            )),
            (true, None) if read.profile.constant().is_none() => Err(format!(
                "shares that move are those of a capacity that was found: \"{shares} of EXPERIMENT\""
            )),
            (false, Some(of)) => Err(format!(
                "write \"of {of}\" after a share of its capacity: \"80% of {of}\""
            )),
            (_, of) => Ok(Self {
                profile: read.profile,
                is_share: read.has_shares,
                of: of.map(str::to_owned),
            }),
        }
    }
}

impl fmt::Display for Rate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if !self.is_share {
            return self.profile.fmt(f);
        }
        // Each number that is no time, as a percentage.
        let text = self.profile.map(percent).to_string();
        let mut is_time = false;
        let mut was_number = false;
        let mut chars = text.chars().peekable();
        while let Some(c) = chars.next() {
            // Two points are a ramp's.
            let is_point = c == '.' && was_number && chars.peek().is_some_and(char::is_ascii_digit);
            let is_number = c.is_ascii_digit() || is_point;
            if was_number && !is_number && !is_time {
                f.write_str("%")?;
            }
            match c {
                '@' | '/' => is_time = true,
                ',' | '~' | '+' => is_time = false,
                _ => {}
            }
            was_number = is_number;
            write!(f, "{c}")?;
        }
        if was_number && !is_time {
            f.write_str("%")?;
        }
        match &self.of {
            Some(of) => write!(f, "{OF}{of}"),
            None => Ok(()),
        }
    }
}

/// A share as a percentage without the noise of binary fractions.
fn percent(share: f64) -> f64 {
    (share * 1e8).round() / 1e6
}

/// How it is in records.
#[derive(Debug, Clone, Default, Serialize)]
pub struct Fields {
    /// Transactions a second, where they do not move.
    pub rate_per_s: Option<f64>,
    /// How they move, as people type it; left out where they do not.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rate_profile: Option<String>,
}

impl From<&Rate> for Fields {
    fn from(rate: &Rate) -> Self {
        let rate_per_s = rate.constant().filter(|_| !rate.is_share);
        Self {
            rate_per_s,
            rate_profile: rate_per_s.is_none().then(|| rate.to_string()),
        }
    }
}

/// A rate in two fields of a record: a number, as ever, or the text that people type. Either may be
/// read from the first.
pub mod kept {
    use super::*;

    #[derive(Default, Deserialize)]
    #[serde(default)]
    struct Read {
        rate_per_s: Option<Value>,
        rate_profile: Option<String>,
    }

    pub fn serialize<S: Serializer>(rate: &Option<Rate>, to: S) -> Result<S::Ok, S::Error> {
        let fields = rate.as_ref().map(Fields::from);
        fields.unwrap_or_default().serialize(to)
    }

    pub fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Option<Rate>, D::Error> {
        let read = Read::deserialize(from)?;
        let text = |text: String| text.parse().map(Some).map_err(D::Error::custom);
        match (read.rate_profile, read.rate_per_s) {
            (Some(profile), _) => text(profile),
            (None, Some(Value::String(profile))) => text(profile),
            (None, None | Some(Value::Null)) => Ok(None),
            (None, Some(value)) => match value.as_f64() {
                Some(per_s) if per_s > 0.0 => Ok(Some(per_s.into())),
                _ => Err(D::Error::custom(format!("{value} is no rate"))),
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{json, to_value};

    use super::*;
    use crate::TrialSpec;

    #[test]
    fn a_rate_is_kept_as_a_number_or_as_it_is_typed() {
        let of = |kept: &Value| -> Result<TrialSpec, String> {
            let read = serde_json::from_value(kept.clone());
            read.map_err(|why| why.to_string())
        };
        for (text, kept) in [
            ("500", json!(500.0)),
            ("100..2000/60s", json!("100..2000/60s")),
            ("500@30s,1000@0.5,7", json!("500@30s,1000@0.5s,7")),
            ("1000~400/60s", json!("1000~400/60s")),
            ("200+1500@2s/20s", json!("200+1500@2s/20s")),
            ("80% of peak", json!("80% of peak")),
            ("80%", json!("80%")),
            (
                "12.5%..120%/60s,33.3% of my of peak",
                json!("12.5%..120%/60s,33.3% of my of peak"),
            ),
            ("80%~20%/60s of 7", json!("80%~20%/60s of 7")),
            ("20%+100%@2s/20s of 7", json!("20%+100%@2s/20s of 7")),
        ] {
            let rate: Rate = text.parse().unwrap_or_else(|why| panic!("{text}: {why}"));
            let spec = TrialSpec {
                rate: Some(rate),
                ..TrialSpec::of("tpcb")
            };
            let record = to_value(&spec).unwrap();
            let is_moving = kept.is_string();
            let (key, other) = if is_moving {
                ("rate_profile", "rate_per_s")
            } else {
                ("rate_per_s", "rate_profile")
            };
            assert_eq!(record[key], kept, "{text}");
            assert!(record[other].is_null(), "{text}");
            assert_eq!(record.get("rate_profile").is_some(), is_moving);
            let again = of(&record).unwrap();
            let again = again.rate.unwrap().to_string();
            assert_eq!(again, spec.rate.unwrap().to_string());
            // As an experiment's point has it.
            let spec = of(&json!({ "workload": ["tpcb"], "rate_per_s": kept })).unwrap();
            assert_eq!(spec.rate.unwrap().to_string(), again);
        }
        for kept in [json!(-1), json!(true), json!("5x")] {
            assert!(of(&json!({ "rate_per_s": kept })).is_err(), "{kept}");
        }
        assert_eq!(of(&json!({})).unwrap().rate, None);
    }

    #[test]
    fn shares_and_their_experiment_belong_together() {
        for (text, why) in [
            ("80%..90%/9s", "\"80%..90%/9s of EXPERIMENT\""),
            ("80% of ", "\"80% of EXPERIMENT\""),
            ("500 of peak", "\"80% of peak\""),
        ] {
            let said = text.parse::<Rate>().unwrap_err();
            assert!(said.contains(why), "{said}");
        }
        let rate: Rate = "50%..150%/60s of peak".parse().unwrap();
        assert_eq!((rate.of(), rate.is_of_maximum()), (Some("peak"), false));
        let rate: Rate = "60%".parse().unwrap();
        assert!(rate.is_of_maximum());
        let rate: Rate = "50%..150%/60s of peak".parse().unwrap();
        assert_eq!(rate.resolved(400.0).to_string(), "200..600/60s");
    }

    #[test]
    fn a_trial_lasts_as_long_as_its_rate_moves() {
        let of = |text: &str| {
            let rate: Rate = text.parse().unwrap();
            rate.length(Duration::from_secs(10))
                .map(|time| time.as_secs())
        };
        assert_eq!(of("500"), None);
        assert_eq!(of("100..2000/60s"), Some(60));
        assert_eq!(of("500@1s,1000@1s,5"), Some(2));
        assert_eq!(of("1000~400/60s"), Some(120));
        assert_eq!(of("1000~400/1s"), Some(10));
        assert_eq!(of("200+1500@2s/20s"), Some(40));
    }
}
