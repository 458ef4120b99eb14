//! Pauses between tries as people type them: `none`, `exponential=1ms,1s,full`.

use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use crate::text::as_typed;

use super::duration;

/// Exponential pauses before tries: before the *n*-th retry (from 1) the pause is
/// *p* = min(`cap`, `base` · 2^(n-1)), or what [`Jitter`] makes of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Backoff {
    pub base: Duration,
    pub cap: Duration,
    pub jitter: Jitter,
}

/// How chance changes a pause *p* (the names are those of M. Brooker, "Exponential Backoff And
/// Jitter", AWS Architecture Blog, 2015).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Jitter {
    None,
    /// Uniform between *p*/2 and *p*.
    Equal,
    /// Uniform between nothing and *p*.
    #[default]
    Full,
}

impl Jitter {
    pub const ALL: [Self; 3] = [Self::None, Self::Equal, Self::Full];

    pub fn name(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Equal => "equal",
            Self::Full => "full",
        }
    }
}

/// Pauses between tries as the command line and records have them; `none` is typed too.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Pauses(pub Option<Backoff>);

impl FromStr for Pauses {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        parse(text).map(Self)
    }
}

impl fmt::Display for Pauses {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&text(self.0.as_ref()))
    }
}

pub const DEFAULT: Backoff = Backoff {
    base: Duration::from_millis(1),
    cap: Duration::from_secs(1),
    jitter: Jitter::Full,
};

const ALLOWED: &str = "none, exponential, or exponential=BASE,CAP,JITTER with two times and one of \
                       none, equal, full: exponential=1ms,1s,full";

/// Reads one; `None` for none.
///
/// # Errors
/// What is wrong with it, and what is allowed.
pub fn parse(text: &str) -> Result<Option<Backoff>, String> {
    let wrong = || format!("a backoff is {ALLOWED}");
    let (kind, values) = match text.split_once('=') {
        Some((kind, values)) => (kind, Some(values)),
        None => (text, None),
    };
    match (kind.trim(), values) {
        ("none", None) => return Ok(None),
        ("exponential", None) => return Ok(Some(DEFAULT)),
        ("exponential", Some(_)) => {}
        _ => return Err(wrong()),
    }
    let mut values = values.unwrap_or_default().split(',').map(str::trim);
    let mut backoff = DEFAULT;
    backoff.base = duration::parse_positive(values.next().unwrap_or_default())
        .map_err(|why| format!("the first pause: {why}"))?;
    backoff.cap = match values.next() {
        Some(cap) => duration::parse_positive(cap).map_err(|why| format!("the cap: {why}"))?,
        None => DEFAULT.cap.max(backoff.base),
    };
    if let Some(word) = values.next() {
        let known = Jitter::ALL.into_iter().find(|jitter| jitter.name() == word);
        backoff.jitter = known.ok_or_else(wrong)?;
    }
    if values.next().is_some() {
        return Err(wrong());
    }
    if backoff.cap < backoff.base {
        return Err("the cap of a backoff cannot be shorter than its first pause".to_owned());
    }
    Ok(Some(backoff))
}

/// What [`parse`] reads as the same.
pub fn text(backoff: Option<&Backoff>) -> String {
    backoff.map_or_else(
        || "none".to_owned(),
        |backoff| {
            let (base, cap) = (as_typed(backoff.base), as_typed(backoff.cap));
            format!("exponential={base},{cap},{}", backoff.jitter.name())
        },
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_backoff_is_read_as_it_is_written() {
        for (typed, written) in [
            ("none", "none"),
            ("exponential", "exponential=1ms,1s,full"),
            ("exponential=5ms", "exponential=5ms,1s,full"),
            ("exponential=2", "exponential=2s,2s,full"),
            ("exponential=1ms,1s", "exponential=1ms,1s,full"),
            (
                "exponential=1.5ms, 90s,equal",
                "exponential=1500us,90s,equal",
            ),
            ("exponential=500us,2m,none", "exponential=500us,120s,none"),
        ] {
            let read = parse(typed).unwrap();
            assert_eq!(text(read.as_ref()), written, "{typed}");
            assert_eq!(parse(written).unwrap(), read, "{typed}");
        }
    }

    #[test]
    fn what_is_no_backoff_is_refused_with_what_is_allowed() {
        for (typed, why) in [
            ("", "exponential=1ms,1s,full"),
            ("linear", "exponential=1ms,1s,full"),
            ("none=1ms", "a backoff is"),
            ("exponential=", "the first pause"),
            ("exponential=0", "longer than nothing"),
            ("exponential=1ms,x", "the cap"),
            ("exponential=1ms,1s,some", "one of none, equal, full"),
            ("exponential=1ms,1s,full,1", "a backoff is"),
            ("exponential=1s,1ms", "cannot be shorter"),
        ] {
            let e = parse(typed).unwrap_err();
            assert!(e.contains(why), "{typed}: {e}");
        }
    }
}
