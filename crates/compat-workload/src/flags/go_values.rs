//! Values as Go reads them from a command line, with the texts of its errors: a user who types
//! `--duration 10` is answered as cockroach answers. (Facts: Go's strconv and time packages.)

use std::time::Duration;

/// `true`, `false` and what else counts as one of them.
///
/// # Errors
/// strconv's text.
pub fn bool(text: &str) -> Result<bool, String> {
    match text {
        "1" | "t" | "T" | "TRUE" | "true" | "True" => Ok(true),
        "0" | "f" | "F" | "FALSE" | "false" | "False" => Ok(false),
        _ => Err(strconv("ParseBool", text, SYNTAX)),
    }
}

const SYNTAX: &str = "invalid syntax";
const RANGE: &str = "value out of range";

/// A whole number; `0x`, `0o`, `0b` and a leading 0 choose its base, as they do in Go.
///
/// # Errors
/// strconv's text.
pub fn int(text: &str) -> Result<i64, String> {
    let digits = text.strip_prefix(['+', '-']).unwrap_or(text);
    let size = magnitude(digits).map_err(|why| strconv("ParseInt", text, why))?;
    let value = if text.starts_with('-') {
        -i128::from(size)
    } else {
        i128::from(size)
    };
    i64::try_from(value).map_err(|_| strconv("ParseInt", text, RANGE))
}

/// A whole number that is not negative.
///
/// # Errors
/// strconv's text.
pub fn uint(text: &str) -> Result<u64, String> {
    magnitude(text).map_err(|why| strconv("ParseUint", text, why))
}

/// A number with a fraction or exponent.
///
/// # Errors
/// strconv's text.
pub fn float(text: &str) -> Result<f64, String> {
    // Rust reads the same numbers; the words for infinity are the same too.
    let read = text.parse::<f64>();
    let value = read.map_err(|_| strconv("ParseFloat", text, SYNTAX))?;
    let is_word = text.contains(['n', 'N']);
    if value.is_infinite() && !is_word {
        return Err(strconv("ParseFloat", text, RANGE));
    }
    Ok(value)
}

fn magnitude(text: &str) -> Result<u64, &'static str> {
    let lower = text.to_ascii_lowercase();
    let (base, digits) = match lower.as_bytes() {
        [b'0', b'x', ..] => (16, &lower[2..]),
        [b'0', b'b', ..] => (2, &lower[2..]),
        [b'0', b'o', ..] => (8, &lower[2..]),
        [b'0', _, ..] => (8, &lower[1..]),
        _ => (10, lower.as_str()),
    };
    if digits.is_empty() || !digits.chars().all(|c| c.is_digit(base)) {
        return Err(SYNTAX);
    }
    u64::from_str_radix(digits, base).map_err(|_| RANGE)
}

fn strconv(function: &str, text: &str, why: &str) -> String {
    format!("strconv.{function}: parsing {}: {why}", quoted(text))
}

/// A duration: `1m30s`, `1.5h`, `300ms`; a number needs its unit, but for 0. It may be negative, of
/// which only the sign is kept apart.
///
/// # Errors
/// The time package's text.
pub fn duration(text: &str) -> Result<(bool, Duration), String> {
    let invalid = || format!("time: invalid duration {}", quoted(text));
    let is_negative = text.starts_with('-');
    let mut rest = text.strip_prefix(['+', '-']).unwrap_or(text);
    if rest == "0" {
        return Ok((false, Duration::ZERO));
    }
    if rest.is_empty() {
        return Err(invalid());
    }
    let mut total_ns = 0.0;
    while !rest.is_empty() {
        let end = rest.find(|c: char| !c.is_ascii_digit());
        let (whole, after) = rest.split_at(end.unwrap_or(rest.len()));
        let (fraction, after) = match after.strip_prefix('.') {
            Some(after) => {
                let end = after.find(|c: char| !c.is_ascii_digit());
                after.split_at(end.unwrap_or(after.len()))
            }
            None => ("", after),
        };
        if whole.is_empty() && fraction.is_empty() {
            return Err(invalid());
        }
        let end = after.find(|c: char| c == '.' || c.is_ascii_digit());
        let (unit, after) = after.split_at(end.unwrap_or(after.len()));
        if unit.is_empty() {
            let quoted = quoted(text);
            return Err(format!("time: missing unit in duration {quoted}"));
        }
        let Some(unit_ns) = unit_ns(unit) else {
            let (unit, quoted) = (quoted(unit), quoted(text));
            return Err(format!("time: unknown unit {unit} in duration {quoted}"));
        };
        let number: f64 = format!("{whole}.{fraction}0")
            .parse()
            .or_else(|_| format!("0.{fraction}").parse())
            .map_err(|_| invalid())?;
        total_ns += number * unit_ns;
        rest = after;
    }
    // Go's durations are 64-bit numbers of nanoseconds.
    if total_ns > i64::MAX as f64 {
        return Err(invalid());
    }
    Ok((is_negative, Duration::from_nanos(total_ns.round() as u64)))
}

fn unit_ns(unit: &str) -> Option<f64> {
    Some(match unit {
        "ns" => 1.0,
        "us" | "µs" | "μs" => 1e3,
        "ms" => 1e6,
        "s" => 1e9,
        "m" => 60e9,
        "h" => 3600e9,
        _ => return None,
    })
}

/// A text in quotes, as Go's `%q` writes it.
pub fn quoted(text: &str) -> String {
    let mut quoted = String::from("\"");
    for c in text.chars() {
        match c {
            '"' => quoted.push_str("\\\""),
            '\\' => quoted.push_str("\\\\"),
            '\n' => quoted.push_str("\\n"),
            '\r' => quoted.push_str("\\r"),
            '\t' => quoted.push_str("\\t"),
            c if c.is_ascii_control() => quoted.push_str(&format!("\\x{:02x}", u32::from(c))),
            c => quoted.push(c),
        }
    }
    quoted.push('"');
    quoted
}

/// A duration as Go prints whole seconds: `5s`, `1m0s`, `1h0m0s`.
pub fn whole_seconds(seconds: u64) -> String {
    let (hours, minutes, rest) = (seconds / 3600, seconds / 60 % 60, seconds % 60);
    match (hours, minutes) {
        (0, 0) => format!("{rest}s"),
        (0, _) => format!("{minutes}m{rest}s"),
        _ => format!("{hours}h{minutes}m{rest}s"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_are_read_as_go_reads_them() {
        for (text, ms) in [
            ("10s", 10_000),
            ("1m30s", 90_000),
            ("1.5h", 5_400_000),
            (".5s", 500),
            ("1.s", 1000),
            ("300ms", 300),
            ("2h45m0.25s", 9_900_250),
            ("0", 0),
            ("+3s", 3000),
        ] {
            let read = duration(text);
            assert_eq!(read, Ok((false, Duration::from_millis(ms))), "{text}");
        }
        assert_eq!(duration("1500us").unwrap().1, Duration::from_micros(1500));
        assert_eq!(duration("-2s"), Ok((true, Duration::from_secs(2))));
        assert_eq!(duration("-0"), Ok((false, Duration::ZERO)));
    }

    /// All texts but the last two are what cockroach 19.1 answered.
    #[test]
    fn what_is_no_value_is_refused_in_gos_words() {
        let said = |text: &str| duration(text).unwrap_err();
        assert_eq!(said("10"), "time: missing unit in duration \"10\"");
        assert_eq!(said("1.5.3s"), "time: missing unit in duration \"1.5.3s\"");
        assert_eq!(said("5x"), "time: unknown unit \"x\" in duration \"5x\"");
        assert_eq!(said(""), "time: invalid duration \"\"");
        assert_eq!(said("9999999h"), "time: invalid duration \"9999999h\"");
        assert_eq!(
            int("x").unwrap_err(),
            "strconv.ParseInt: parsing \"x\": invalid syntax"
        );
        assert_eq!(
            uint("-4").unwrap_err(),
            "strconv.ParseUint: parsing \"-4\": invalid syntax"
        );
        assert_eq!(
            uint("99999999999999999999").unwrap_err(),
            "strconv.ParseUint: parsing \"99999999999999999999\": value out of range"
        );
        assert_eq!(
            float("abc").unwrap_err(),
            "strconv.ParseFloat: parsing \"abc\": invalid syntax"
        );
        assert_eq!(
            bool("maybe").unwrap_err(),
            "strconv.ParseBool: parsing \"maybe\": invalid syntax"
        );
        assert_eq!(said(".s"), "time: invalid duration \".s\"");
        assert_eq!(
            float("1e999").unwrap_err(),
            "strconv.ParseFloat: parsing \"1e999\": value out of range"
        );
    }

    #[test]
    fn numbers_may_be_written_in_other_bases() {
        for (text, value) in [
            ("0x10", 16),
            ("0b11", 3),
            ("0o17", 15),
            ("010", 8),
            ("0", 0),
        ] {
            assert_eq!(int(text), Ok(value), "{text}");
        }
        assert_eq!(int("-9223372036854775808"), Ok(i64::MIN));
        assert!(
            int("9223372036854775808")
                .unwrap_err()
                .ends_with("of range")
        );
        for text in ["", "-", "1e3", "08", "0x", " 1", "--1"] {
            assert!(int(text).is_err(), "{text}");
        }
        assert_eq!(float("1e3"), Ok(1000.0));
        assert_eq!(float("inf"), Ok(f64::INFINITY));
    }

    #[test]
    fn whole_seconds_print_as_go_prints_them() {
        for (seconds, text) in [(0, "0s"), (59, "59s"), (60, "1m0s"), (3605, "1h0m5s")] {
            assert_eq!(whole_seconds(seconds), text);
        }
    }
}
