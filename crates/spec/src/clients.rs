//! How many clients a trial has: a number, or one that moves with the time.

use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use super::load::Profile;
use serde::de::Error;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::Value;

use super::profile::Grammar;
use super::rate;

const CLIENTS_MAX: u32 = 100_000;
/// What may stand in a number of clients.
const GRAMMAR: Grammar = Grammar {
    of: "a number of clients",
    unit: "clients",
    is_whole: true,
    max: CLIENTS_MAX as f64,
};
/// How often a second it is looked how many clients are to work, where that is averaged.
const LOOKS_PER_S: f64 = 100.0;

/// Clients of a trial. In records they stand as [`kept`] has them.
#[derive(Debug, Clone, PartialEq)]
pub struct Clients {
    /// Connections: as many as ever work at the same time, or this generator's part of them.
    most: u32,
    /// How many of them work, those of all generators.
    profile: Profile,
}

impl Clients {
    /// Clients that there are, whether they work or rest.
    pub fn most(&self) -> u32 {
        self.most
    }

    /// How many work over the time, in seconds since the measured time began, rounded at each moment;
    /// `None` where all do, always.
    pub fn moving(&self) -> Option<&Profile> {
        match self.profile {
            Profile::Constant(_) => None,
            _ => Some(&self.profile),
        }
    }

    /// Whether these are all of them, not the part of one of several generators.
    pub fn are_all(&self) -> bool {
        f64::from(self.most) >= self.profile.max().round()
    }

    /// How long a trial lasts to see all of it, as [`rate::length`].
    pub fn length(&self, least: Duration) -> Option<Duration> {
        rate::length(&self.profile, least)
    }

    /// How many are asked for, on average, between two times in microseconds since the measured time
    /// began.
    pub fn asked(&self, from_us: i64, to_us: i64) -> f64 {
        let length_s = (to_us - from_us) as f64 / 1e6;
        let looks = (length_s * LOOKS_PER_S).round().max(1.0) as u64;
        let at_s = |look: u64| from_us as f64 / 1e6 + length_s * (look as f64 + 0.5) / looks as f64;
        let sum: f64 = (0..looks)
            .map(|look| self.profile.value(at_s(look)).round())
            .sum();
        sum / looks as f64
    }

    /// So many of these clients: what one of several generators has.
    pub fn part(&self, own: u32) -> Self {
        match self.profile {
            Profile::Constant(_) => own.into(),
            _ => Self {
                most: own,
                profile: self.profile.clone(),
            },
        }
    }
}

impl From<u32> for Clients {
    fn from(clients: u32) -> Self {
        Self {
            most: clients,
            profile: Profile::Constant(clients.into()),
        }
    }
}

impl From<Profile> for Clients {
    fn from(profile: Profile) -> Self {
        Self {
            most: profile.max().round() as u32,
            profile,
        }
    }
}

impl FromStr for Clients {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        if let Ok(clients) = text.parse::<i64>() {
            return match u32::try_from(clients) {
                Ok(clients @ 1..=CLIENTS_MAX) => Ok(clients.into()),
                _ => Err(format!("it must be a whole number from 1 to {CLIENTS_MAX}")),
            };
        }
        let read = GRAMMAR.read(text)?;
        if read.has_shares {
            Err("give the number of clients, not a share of a capacity: 8..64/60s".to_owned())
        } else {
            Ok(read.profile.into())
        }
    }
}

impl fmt::Display for Clients {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.moving() {
            None => self.most.fmt(f),
            Some(profile) => profile.fmt(f),
        }
    }
}

/// How they stand in records.
#[derive(Debug, Clone, Default, Serialize)]
pub struct Fields {
    /// Concurrent clients, each with its own connection: the most that ever work.
    pub clients: Option<u32>,
    /// How the number of clients that work moves, as people type it; left out where it does not.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub clients_profile: Option<String>,
}

impl From<&Clients> for Fields {
    fn from(clients: &Clients) -> Self {
        Self {
            clients: Some(clients.most),
            clients_profile: clients.moving().map(ToString::to_string),
        }
    }
}

/// Clients in two fields of a record: how many there are, and the text that people type where their
/// number moves. That may also stand in the first.
pub mod kept {
    use super::*;

    #[derive(Default, Deserialize)]
    #[serde(default)]
    struct Read {
        clients: Option<Value>,
        clients_profile: Option<String>,
    }

    pub fn serialize<S: Serializer>(clients: &Option<Clients>, to: S) -> Result<S::Ok, S::Error> {
        let fields = clients.as_ref().map(Fields::from);
        fields.unwrap_or_default().serialize(to)
    }

    pub fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Option<Clients>, D::Error> {
        let read = Read::deserialize(from)?;
        let text = match (read.clients_profile, &read.clients) {
            (Some(profile), _) => profile,
            (None, None | Some(Value::Null)) => return Ok(None),
            (None, Some(Value::String(text))) => text.clone(),
            (None, Some(value)) => value.to_string(),
        };
        let clients: Clients = text.parse().map_err(D::Error::custom)?;
        let own = read.clients.as_ref().and_then(Value::as_u64);
        let own = own.and_then(|own| u32::try_from(own).ok());
        Ok(Some(clients.part(own.unwrap_or(clients.most))))
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{json, to_value};

    use super::*;
    use crate::TrialSpec;

    #[test]
    fn clients_are_kept_as_their_number_and_as_they_are_typed() {
        let of = |kept: &Value| -> Result<TrialSpec, String> {
            let read = serde_json::from_value(kept.clone());
            read.map_err(|why| why.to_string())
        };
        for (text, most, profile) in [
            ("8", 8, None),
            ("8..64/60s", 64, Some("8..64/60s")),
            ("8@30,64@0.5m", 64, Some("8@30s,64@30s")),
            ("8@30s,64@30s,100", 100, Some("8@30s,64@30s,100")),
            ("40~20/60s", 60, Some("40~20/60s")),
            ("8+56@2s/20s", 64, Some("8+56@2s/20s")),
        ] {
            let clients: Clients = text.parse().unwrap_or_else(|why| panic!("{text}: {why}"));
            let spec = TrialSpec {
                clients: Some(clients),
                ..TrialSpec::of("tpcb")
            };
            let record = to_value(&spec).unwrap();
            assert_eq!(record["clients"], most, "{text}");
            let kept = record.get("clients_profile");
            assert_eq!(kept.and_then(Value::as_str), profile, "{text}");
            assert_eq!(of(&record).unwrap(), spec);
            // As an experiment's point has it.
            let typed = profile.map_or(json!(most), Value::from);
            let point = of(&json!({ "workload": ["tpcb"], "clients": typed })).unwrap();
            assert_eq!(point.clients, spec.clients);
            // As it is typed again.
            let words = spec.words();
            let typed = profile.map_or(most.to_string(), str::to_owned);
            assert!(words.contains(&format!("--clients={typed}")), "{words:?}");
            // The part of a generator.
            let part = TrialSpec {
                clients: spec.clients.as_ref().map(|clients| clients.part(3)),
                ..spec.clone()
            };
            assert_eq!(part.clients(), 3);
            assert_eq!(
                part.clients.as_ref().map(Clients::are_all),
                Some(profile.is_none())
            );
            assert_eq!(of(&to_value(&part).unwrap()).unwrap(), part);
        }
        for kept in [json!(0), json!(1.5), json!(true), json!("5x")] {
            assert!(of(&json!({ "clients": kept })).is_err(), "{kept}");
        }
        assert_eq!(of(&json!({})).unwrap().clients, None);
    }

    #[test]
    fn what_is_no_number_of_clients_is_refused_with_the_way_out() {
        for (text, why) in [
            ("0", "it must be a whole number from 1 to 100000"),
            ("-1", "it must be a whole number from 1 to 100000"),
            ("100001", "it must be a whole number from 1 to 100000"),
            ("x", "a number of clients is a positive whole number"),
            ("1.5", "a number of clients is a whole number"),
            ("8..64", "how long it takes"),
            ("8.5@3s", "whole number, at column 1"),
            ("8..200000/60s", "at most 100000, at column 4"),
            ("0@10s", "0 all the time"),
            ("50%..80%/60s", "not a share of a capacity"),
        ] {
            let said = text.parse::<Clients>().expect_err(text);
            assert!(said.contains(why), "{text}: {said}");
        }
    }

    #[test]
    fn as_many_are_asked_for_as_the_rounded_number_is_on_average() {
        let of = |text: &str, from_s: i64, to_s: i64| {
            let clients: Clients = text.parse().unwrap();
            clients.asked(from_s * 1_000_000, to_s * 1_000_000)
        };
        assert_eq!(of("8", 0, 5), 8.0);
        assert_eq!(of("8@3s,64@3s", 2, 4), 36.0);
        assert_eq!(of("8@3s,64@3s", -2, 0), 8.0);
        assert!((of("8..64/60s", 0, 60) - 36.0).abs() < 0.01);
        // From 0 to half a client no client works.
        assert_eq!(of("0..1/2s", 0, 1), 0.0);
        assert_eq!(of("0..1/2s", 1, 2), 1.0);
    }
}
