//! What is expected of good infrastructure: a range of milliseconds for each line.

use serde::{Deserialize, Serialize};

use pgdyno_model::document::calibration::Range;
use pgdyno_model::spec::duration;

const fn ms(low: f64, high: f64) -> Range {
    Range {
        low_us: low * 1e3,
        high_us: high * 1e3,
    }
}

fn range(text: &str) -> Result<Range, String> {
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
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
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
            read: ms(1.0, 2.0),
            update: ms(2.0, 4.0),
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
        let Some((name, of)) = text.split_once('=') else {
            return Err(format!(
                "{text}: it must be LINE=TIME or LINE=LOW-HIGH, such as read=1-2ms; lines are {NAMES}"
            ));
        };
        let range = range(of)?;
        match name.trim() {
            "read" => self.read = range,
            "update" => self.update = range,
            "round-trip" => self.round_trip = Some(range),
            "commit" => self.commit = Some(range),
            other => return Err(format!("unknown line {other}; lines are {NAMES}")),
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
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

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
        assert_eq!(article.read, ms(1.0, 2.0));
        assert_eq!(article.update, ms(2.0, 4.0));
        assert_eq!(article.round_trip(), ms(0.0, 1.0));
        assert_eq!(article.commit(), article.update);
        let own = expect(&["read=500us", "update=1.5-3ms", "commit=1–2"]).unwrap();
        assert_eq!(own.read, ms(0.0, 0.5));
        assert_eq!(own.round_trip(), ms(0.0, 0.25));
        assert_eq!(own.update, ms(1.5, 3.0));
        assert_eq!(own.commit(), ms(1.0, 2.0));
        let kept = serde_json::to_value(own).unwrap();
        assert_eq!(serde_json::from_value::<Expectations>(kept).unwrap(), own);
        assert!(serde_json::from_value::<Expectations>(json!({ "read": 1 })).is_err());
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
