//! What is expected of good infrastructure: a range of milliseconds for each line.

use serde::{Deserialize, Serialize};

use pgdyno_model::Fact;
use pgdyno_model::document::calibration::{HostSpeed, Range, What, Yardstick};
use pgdyno_spec::duration;

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
    if high > 0.0 && low < high {
        Ok(Range {
            low_us: low,
            high_us: high,
        })
    } else {
        Err(format!(
            "{text}: the lower end comes first, and the upper end is more than nothing"
        ))
    }
}

/// A bare number is in milliseconds here.
fn us(text: &str) -> Result<f64, String> {
    let text = text.trim();
    let with_unit = if text.ends_with(|c: char| c.is_ascii_digit()) {
        format!("{text}ms")
    } else {
        text.to_owned()
    };
    let time = duration::parse(&with_unit).map_err(|_| {
        format!("{text}: a time is a number of milliseconds, or has a unit: 2, 500us, 2ms")
    })?;
    Ok(time.as_secs_f64() * 1e6)
}

/// A round trip through a database may take so many times that of the host itself …
const ROUND_TRIPS: f64 = 4.0;
/// … and so much more: the mean of a busy host.
const GRACE_US: f64 = 100.0;
/// A durable commit may take so many syncs …
const SYNCS: f64 = 2.0;
/// … and what takes less than this part of a sync has not waited for the disk.
const SYNC_PART_MIN: f64 = 1.0 / 3.0;

/// The article's expectation of a read (`docs/calibrate.md`).
const ARTICLE_READ: Range = ms(1.0, 2.0);
/// The article's expectation of an update.
const ARTICLE_UPDATE: Range = ms(2.0, 4.0);

/// What `--expect` says; for what it does not name, the host or the article.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
pub struct Expectations {
    /// A row read by its primary key.
    pub read: Option<Range>,
    /// A field updated by its primary key.
    pub update: Option<Range>,
    pub round_trip: Option<Range>,
    /// A durable commit of one row.
    pub commit: Option<Range>,
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
            "read" => self.read = Some(range),
            "update" => self.update = Some(range),
            "round-trip" => self.round_trip = Some(range),
            "commit" => self.commit = Some(range),
            other => return Err(format!("unknown line {other}; lines are {NAMES}")),
        }
        Ok(())
    }

    /// What is expected of a line's mean, and where that is from. `host` is known where it is the
    /// yardstick.
    pub fn of(&self, what: What, host: &Fact<HostSpeed>) -> (Range, Yardstick) {
        if let Some(asked) = self.asked(what) {
            return (asked, Yardstick::Asked);
        }
        if let Some(range) = host.known().and_then(|host| by_host(what, host)) {
            return (range, Yardstick::Host);
        }
        let range = match what {
            What::RoundTrip => half(ARTICLE_READ),
            What::Read => ARTICLE_READ,
            What::Commit | What::Update => ARTICLE_UPDATE,
        };
        (range, Yardstick::Article)
    }

    /// What is asked for; of a round trip half of a read, so that the other half is the server's; a
    /// commit of one row is an update.
    fn asked(&self, what: What) -> Option<Range> {
        match what {
            What::RoundTrip => self.round_trip.or(self.read.map(half)),
            What::Commit => self.commit.or(self.update),
            What::Read => self.read,
            What::Update => self.update,
        }
    }
}

/// Up to half of this.
fn half(range: Range) -> Range {
    Range {
        low_us: 0.0,
        high_us: range.high_us / 2.0,
    }
}

/// By what the host can do; `None` where its sync is not known and decides.
fn by_host(what: What, host: &HostSpeed) -> Option<Range> {
    let round_trip_us = ROUND_TRIPS * host.round_trip_us + GRACE_US;
    let read_us = round_trip_us + host.work_us;
    let (low_us, high_us) = match what {
        What::RoundTrip => (0.0, round_trip_us),
        What::Read => (0.0, read_us),
        What::Commit | What::Update => {
            let sync_us = host.sync_us.known()?;
            (SYNC_PART_MIN * sync_us, read_us + SYNCS * sync_us)
        }
    };
    Some(Range { low_us, high_us })
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

    fn elsewhere() -> Fact<HostSpeed> {
        Fact::Unknown("the server is on another host".to_owned())
    }

    #[test]
    fn the_articles_figures_are_expected_of_another_host_unless_others_are_given() {
        use What::{Commit, Read, RoundTrip, Update};
        let article = expect(&[]).unwrap();
        let of = |expected: &Expectations, what| expected.of(what, &elsewhere());
        assert_eq!(of(&article, Read), (ms(1.0, 2.0), Yardstick::Article));
        assert_eq!(of(&article, Update), (ms(2.0, 4.0), Yardstick::Article));
        assert_eq!(of(&article, RoundTrip), (ms(0.0, 1.0), Yardstick::Article));
        assert_eq!(of(&article, Commit), of(&article, Update));
        let own = expect(&["read=500us", "update=1.5-3ms", "commit=1–2"]).unwrap();
        assert_eq!(of(&own, Read), (ms(0.0, 0.5), Yardstick::Asked));
        assert_eq!(of(&own, RoundTrip), (ms(0.0, 0.25), Yardstick::Asked));
        assert_eq!(of(&own, Update), (ms(1.5, 3.0), Yardstick::Asked));
        assert_eq!(of(&own, Commit), (ms(1.0, 2.0), Yardstick::Asked));
        let kept = serde_json::to_value(own).unwrap();
        assert_eq!(serde_json::from_value::<Expectations>(kept).unwrap(), own);
        assert!(serde_json::from_value::<Expectations>(json!({ "read": 1 })).is_err());
    }

    #[test]
    fn on_this_host_its_own_round_trip_and_sync_are_the_yardstick() {
        use What::{Commit, Read, RoundTrip, Update};
        let mut host = HostSpeed {
            round_trip_us: 25.0,
            way: "a Unix socket".to_owned(),
            sync_us: Fact::Known(3000.0),
            work_us: 500.0,
        };
        let of = |what, host: &HostSpeed| {
            let (range, by) = Expectations::default().of(what, &Fact::Known(host.clone()));
            (range.low_us, range.high_us, by)
        };
        assert_eq!(of(RoundTrip, &host), (0.0, 200.0, Yardstick::Host));
        assert_eq!(of(Read, &host), (0.0, 700.0, Yardstick::Host));
        for what in [Commit, Update] {
            assert_eq!(of(what, &host), (1000.0, 6700.0, Yardstick::Host));
        }
        // A disk that cannot be seen: what waits for it is judged by the article.
        host.sync_us = Fact::Unknown("permission denied".to_owned());
        assert_eq!(of(Update, &host), (2000.0, 4000.0, Yardstick::Article));
        assert_eq!(of(Read, &host).2, Yardstick::Host);
        let own = expect(&["read=3ms"]).unwrap();
        assert_eq!(own.of(Read, &Fact::Known(host)).1, Yardstick::Asked);
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
