//! A log's times: `2026-11-29 12:34:56.789 UTC`.

use pgdyno_platform::calendar::days_since_1970;

/// Offsets of names of time zones that logs of servers have, in minutes. Names that several zones have
/// (`CST`, `IST`) are read as PostgreSQL's default set of abbreviations does.
const ZONES: [(&[u8], i64); 32] = [
    (b"UTC", 0),
    (b"GMT", 0),
    (b"Z", 0),
    (b"WET", 0),
    (b"WEST", 60),
    (b"BST", 60),
    (b"CET", 60),
    (b"CEST", 120),
    (b"EET", 120),
    (b"EEST", 180),
    (b"SAST", 120),
    (b"MSK", 180),
    (b"IST", 120),
    (b"PKT", 300),
    (b"HKT", 480),
    (b"PHT", 480),
    (b"AWST", 480),
    (b"KST", 540),
    (b"JST", 540),
    (b"ACST", 570),
    (b"AEST", 600),
    (b"AEDT", 660),
    (b"NZST", 720),
    (b"NZDT", 780),
    (b"EST", -300),
    (b"EDT", -240),
    (b"CST", -360),
    (b"CDT", -300),
    (b"MST", -420),
    (b"MDT", -360),
    (b"PST", -480),
    (b"PDT", -420),
];

/// A moment, and whether its zone is known; one that is not counts as UTC.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Moment {
    pub us: i64,
    pub is_zone_known: bool,
}

/// Reads times, most of which are within the same second and zone as the one before.
#[derive(Debug, Default)]
pub struct Clock {
    last: Vec<u8>,
    second_us: i64,
    zone: Vec<u8>,
    zone_us: Option<i64>,
}

impl Clock {
    /// The time that `text` is, all of it.
    pub fn read(&mut self, text: &[u8]) -> Option<Moment> {
        let (second, rest) = text.split_at_checked(19)?;
        if second != self.last {
            self.second_us = second_us(second)?;
            self.last.clear();
            self.last.extend_from_slice(second);
        }
        let (fraction_us, zone) = match rest.split_first() {
            Some((b'.', rest)) => fraction(rest)?,
            _ => (0, rest),
        };
        let zone = zone.strip_prefix(b" ").unwrap_or(zone);
        if zone != self.zone || self.last.is_empty() {
            self.zone_us = zone_us(zone);
            self.zone.clear();
            self.zone.extend_from_slice(zone);
        }
        if zone.is_empty() || zone.len() > ZONE_BYTES_MAX {
            return None;
        }
        let us = self.second_us + fraction_us - self.zone_us.unwrap_or(0);
        Some(Moment {
            us,
            is_zone_known: self.zone_us.is_some(),
        })
    }
}

/// Longer names are none.
const ZONE_BYTES_MAX: usize = 16;

/// How long a time at the beginning of a text is, its zone included.
pub fn length(text: &[u8]) -> Option<usize> {
    let (second, rest) = text.split_at_checked(19)?;
    is_second(second).then_some(())?;
    let digits = match rest.split_first() {
        Some((b'.', rest)) => 1 + rest.iter().take_while(|byte| byte.is_ascii_digit()).count(),
        _ => 0,
    };
    let zone = rest.get(digits..)?.strip_prefix(b" ")?;
    let is_zone = |byte: &&u8| {
        byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'-' | b':' | b'<' | b'>')
    };
    let zone = zone.iter().take_while(is_zone).count();
    // `%t:%r`: what follows the name of a zone is no part of it.
    let name = text.get(19 + digits + 1..19 + digits + 1 + zone)?;
    let zone = match name.first() {
        Some(first) if first.is_ascii_alphabetic() => name
            .iter()
            .take_while(|byte| byte.is_ascii_alphabetic())
            .count(),
        Some(_) => {
            let digits = name
                .iter()
                .skip(1)
                .take_while(|byte| byte.is_ascii_digit())
                .count();
            let minutes = name.get(1 + digits..1 + digits + 3).is_some_and(|rest| {
                rest[0] == b':'
                    && rest[1].is_ascii_digit()
                    && rest[2].is_ascii_digit()
                    && name[1..].len() == digits + 3
            });
            1 + digits + if minutes { 3 } else { 0 }
        }
        None => return None,
    };
    Some(19 + digits + 1 + zone)
}

/// Whether these bytes have the form `2026-11-29 12:34:56`.
pub fn is_second(text: &[u8]) -> bool {
    text.len() >= 19
        && text[..19].iter().enumerate().all(|(at, byte)| match at {
            4 | 7 => *byte == b'-',
            10 => matches!(byte, b' ' | b'T'),
            13 | 16 => *byte == b':',
            _ => byte.is_ascii_digit(),
        })
}

fn second_us(text: &[u8]) -> Option<i64> {
    is_second(text).then_some(())?;
    let number = |from: usize, to: usize| {
        let digits = text[from..to].iter();
        digits.fold(0, |number, digit| number * 10 + i64::from(digit - b'0'))
    };
    let (year, month, day) = (number(0, 4), number(5, 7), number(8, 10));
    if !(1..=12).contains(&month) || !(1..=31).contains(&day) {
        return None;
    }
    let seconds = days_since_1970(year, month, day) * 86_400
        + number(11, 13) * 3600
        + number(14, 16) * 60
        + number(17, 19);
    Some(seconds * 1_000_000)
}

/// Microseconds behind a point, and what comes after the digits.
fn fraction(rest: &[u8]) -> Option<(i64, &[u8])> {
    let digits = rest.iter().take_while(|byte| byte.is_ascii_digit()).count();
    if digits == 0 || digits > 9 {
        return None;
    }
    let mut us = 0;
    for place in 0..6 {
        let digit = rest[..digits]
            .get(place)
            .map_or(0, |digit| i64::from(digit - b'0'));
        us = us * 10 + digit;
    }
    Some((us, &rest[digits..]))
}

/// How far a zone is ahead of UTC.
fn zone_us(name: &[u8]) -> Option<i64> {
    if let Some((_, minutes)) = ZONES.iter().find(|(zone, _)| *zone == name) {
        return Some(minutes * 60_000_000);
    }
    let (sign, digits) = match name.split_first()? {
        (b'+', digits) => (1, digits),
        (b'-', digits) => (-1, digits),
        _ => return None,
    };
    let digits: Vec<i64> = digits
        .iter()
        .filter(|byte| **byte != b':')
        .map(|byte| byte.is_ascii_digit().then(|| i64::from(byte - b'0')))
        .collect::<Option<_>>()?;
    let minutes = match digits[..] {
        [a, b] => (a * 10 + b) * 60,
        [a, b, c, d] => (a * 10 + b) * 60 + c * 10 + d,
        _ => return None,
    };
    Some(sign * minutes * 60_000_000)
}

/// A number of seconds since 1970 with a fraction (`%n`).
pub fn epoch_us(text: &[u8]) -> Option<i64> {
    let point = text.iter().position(|byte| *byte == b'.')?;
    let (seconds, rest) = text.split_at(point);
    let seconds: i64 = std::str::from_utf8(seconds).ok()?.parse().ok()?;
    let (us, rest) = fraction(&rest[1..])?;
    rest.is_empty()
        .then_some(seconds.checked_mul(1_000_000)? + us)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn us(text: &str) -> Option<i64> {
        Clock::default()
            .read(text.as_bytes())
            .map(|moment| moment.us)
    }

    #[test]
    fn times_of_logs_are_read() {
        assert_eq!(us("1970-01-01 00:00:00.001 UTC"), Some(1000));
        assert_eq!(us("2000-02-29 00:00:00 GMT"), Some(951_782_400_000_000));
        assert_eq!(
            us("2026-11-29 12:34:56.789 UTC"),
            Some(1_795_955_696_789_000)
        );
        assert_eq!(
            us("2026-11-29 13:34:56.789 CET"),
            us("2026-11-29 12:34:56.789 UTC")
        );
        assert_eq!(
            us("2026-11-29 18:04:56.789 +0530"),
            us("2026-11-29 12:34:56.789 UTC")
        );
        assert_eq!(
            us("2026-11-29 09:34:56.789 -03"),
            us("2026-11-29 12:34:56.789 UTC")
        );
        for wrong in [
            "",
            "2026-11-29",
            "2026-13-29 12:34:56 UTC",
            "2026-11-29 12:34:56. UTC",
            "2026-11-29 12:34:56",
        ] {
            assert_eq!(us(wrong), None, "{wrong}");
        }
        let unknown = Clock::default().read(b"2026-11-29 12:34:56 XYZ").unwrap();
        assert!(!unknown.is_zone_known && unknown.us == us("2026-11-29 12:34:56 UTC").unwrap());
        assert_eq!(epoch_us(b"1795955696.789"), Some(1_795_955_696_789_000));
    }

    #[test]
    fn a_time_ends_behind_its_zone() {
        for (text, time) in [
            (
                "2026-11-29 12:34:56.789 UTC [1]",
                "2026-11-29 12:34:56.789 UTC",
            ),
            (
                "2026-11-29 12:34:56 UTC:10.0.0.1(5)",
                "2026-11-29 12:34:56 UTC",
            ),
            ("2026-11-29 12:34:56 UTC-6afe-", "2026-11-29 12:34:56 UTC"),
            ("2026-11-29 12:34:56 +05:30 x", "2026-11-29 12:34:56 +05:30"),
        ] {
            assert_eq!(length(text.as_bytes()), Some(time.len()), "{text}");
        }
        assert_eq!(length(b"2026-11-29 12:34:56"), None);
    }
}
