//! Durations as people type them: `60`, `60s`, `2m`, `500ms`.

use std::time::Duration;

/// The longest that is taken: a year. Beyond it a number is a typing error.
pub(super) const SECONDS_MAX: f64 = 366.0 * 86_400.0;

/// Reads a duration; a bare number is in seconds.
///
/// # Errors
/// What is wrong with it, and what is allowed.
pub fn parse(text: &str) -> Result<Duration, String> {
    let allowed = "a duration is a number of seconds, or one with a unit: 500ms, 60s, 2m, 1h";
    let digits = text
        .find(|c: char| !(c.is_ascii_digit() || c == '.'))
        .unwrap_or(text.len());
    let (number, unit) = text.split_at(digits);
    let number: f64 = number.parse().map_err(|_| allowed.to_owned())?;
    let unit_s = match unit.trim() {
        "us" => 1e-6,
        "ms" => 1e-3,
        "" | "s" => 1.0,
        "m" | "min" => 60.0,
        "h" => 3600.0,
        _ => return Err(allowed.to_owned()),
    };
    let seconds = number * unit_s;
    if seconds > SECONDS_MAX {
        return Err("that is longer than a year".to_owned());
    }
    Ok(Duration::from_secs_f64(seconds))
}

/// The same, more than nothing.
///
/// # Errors
/// As [`parse`], and for zero.
pub fn parse_positive(text: &str) -> Result<Duration, String> {
    match parse(text)? {
        Duration::ZERO => Err("it must be longer than nothing".to_owned()),
        duration => Ok(duration),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_are_read_as_people_type_them() {
        for (text, ms) in [
            ("60", 60_000),
            ("60s", 60_000),
            ("2m", 120_000),
            ("500ms", 500),
            ("1.5", 1500),
            ("1h", 3_600_000),
        ] {
            assert_eq!(parse(text), Ok(Duration::from_millis(ms)), "{text}");
        }
        assert_eq!(parse("0"), Ok(Duration::ZERO));
    }

    #[test]
    fn what_is_no_duration_is_refused_with_what_is_allowed() {
        for text in ["", "s", "1x", "-1", "1.2.3", "10 s 5", "1e3", "99999999h"] {
            assert!(parse(text).is_err(), "{text}");
        }
        assert!(parse_positive("0").is_err());
    }
}
