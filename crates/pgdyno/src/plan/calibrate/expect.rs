//! What is expected of good infrastructure: a range of milliseconds for each line.

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use pgdyno_model::spec::duration;

/// Between which times a mean is to lie.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Range {
    /// Below it is better than expected.
    pub low_us: f64,
    /// Above it the expectation is missed.
    pub high_us: f64,
}

impl Range {
    const fn ms(low: f64, high: f64) -> Range {
        Range {
            low_us: low * 1e3,
            high_us: high * 1e3,
        }
    }

    fn read(text: &str) -> Result<Range, String> {
        let (low, high) = match text.split_once(['-', '–']) {
            Some((low, high)) => (us(low)?, us(high)?),
            None => (0.0, us(text)?),
        };
        match high > 0.0 && low < high {
            true => Ok(Range {
                low_us: low,
                high_us: high,
            }),
            false => Err(format!(
                "{text}: the lower end comes first, and the upper end is more than nothing"
            )),
        }
    }
}

/// A bare number is in milliseconds here.
fn us(text: &str) -> Result<f64, String> {
    let text = text.trim();
    let with_unit = match text.ends_with(|c: char| c.is_ascii_digit()) {
        true => format!("{text}ms"),
        false => text.to_owned(),
    };
    let time = duration::parse(&with_unit).map_err(|_| {
        format!("{text}: a time is a number of milliseconds, or has a unit: 2, 500us, 2ms")
    })?;
    Ok(time.as_secs_f64() * 1e6)
}

/// What is expected. Read and update are the article's (`docs/calibrate.md`); the other two follow
/// from them unless they are given.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Expectations {
    /// A row read by its primary key.
    pub read: Range,
    /// A field updated by its primary key.
    pub update: Range,
    /// Where it is given.
    pub round_trip: Option<Range>,
    /// Where it is given.
    pub commit: Option<Range>,
}

impl Default for Expectations {
    fn default() -> Self {
        Self {
            read: Range::ms(1.0, 2.0),
            update: Range::ms(2.0, 4.0),
            round_trip: None,
            commit: None,
        }
    }
}

/// The lines that can be expected something of.
const NAMES: &str = "read, update, round-trip, commit";

impl Expectations {
    /// Takes `read=1-2ms` and the like over what is there.
    ///
    /// # Errors
    /// What is wrong with it, and what is allowed.
    pub fn set(&mut self, text: &str) -> Result<(), String> {
        let Some((name, range)) = text.split_once('=') else {
            return Err(format!(
                "{text}: it must be LINE=TIME or LINE=LOW-HIGH, such as read=1-2ms; lines are {NAMES}"
            ));
        };
        let range = Range::read(range)?;
        match name.trim() {
            "read" => self.read = range,
            "update" => self.update = range,
            "round-trip" => self.round_trip = Some(range),
            "commit" => self.commit = Some(range),
            other => return Err(format!("there is no line {other}; lines are {NAMES}")),
        }
        Ok(())
    }

    /// Of a round trip: half of what a read may take, so that the other half is the server's.
    pub fn round_trip(&self) -> Range {
        self.round_trip.unwrap_or(Range {
            low_us: 0.0,
            high_us: self.read.high_us / 2.0,
        })
    }

    /// Of a durable commit of one row: what an update may take, as it is one.
    pub fn commit(&self) -> Range {
        self.commit.unwrap_or(self.update)
    }

    /// As it is kept.
    pub fn to_json(self) -> Value {
        json!({
            "read": self.read,
            "update": self.update,
            "round_trip": self.round_trip,
            "commit": self.commit,
        })
    }

    /// As it was kept; `None` when it was not.
    pub fn from_json(value: &Value) -> Option<Self> {
        let range = |name: &str| serde_json::from_value(value[name].clone()).ok();
        Some(Self {
            read: range("read")?,
            update: range("update")?,
            round_trip: range("round_trip"),
            commit: range("commit"),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn expect(texts: &[&str]) -> Result<Expectations, String> {
        let mut expectations = Expectations::default();
        for text in texts {
            expectations.set(text)?;
        }
        Ok(expectations)
    }

    #[test]
    fn the_articles_figures_are_expected_unless_others_are_given() {
        let article = expect(&[]).unwrap();
        assert_eq!(article.read, Range::ms(1.0, 2.0));
        assert_eq!(article.update, Range::ms(2.0, 4.0));
        assert_eq!(article.round_trip(), Range::ms(0.0, 1.0));
        assert_eq!(article.commit(), article.update);
        let own = expect(&["read=500us", "update=1.5-3ms", "commit=1–2"]).unwrap();
        assert_eq!(own.read, Range::ms(0.0, 0.5));
        assert_eq!(own.round_trip(), Range::ms(0.0, 0.25));
        assert_eq!(own.update, Range::ms(1.5, 3.0));
        assert_eq!(own.commit(), Range::ms(1.0, 2.0));
        assert_eq!(Expectations::from_json(&own.to_json()), Some(own));
        assert_eq!(Expectations::from_json(&json!({ "read": 1 })), None);
    }

    #[test]
    fn what_cannot_be_expected_is_refused_with_what_can() {
        for (text, want) in [
            ("read", "LINE=TIME"),
            ("raed=2ms", "lines are read, update"),
            ("read=", "a number of milliseconds"),
            ("read=fast", "a number of milliseconds"),
            ("read=2-1", "the lower end comes first"),
            ("read=0", "more than nothing"),
            ("read=-2", "a number of milliseconds"),
        ] {
            let e = expect(&[text]).unwrap_err();
            assert!(e.contains(want), "{text}: {e}");
        }
    }
}
