//! Numbers as C's library reads them, because pgbench's options are read with it: `atoi` and
//! `atof` take what looks like a number from the beginning and ignore the rest.

use super::messages::Stop;

fn is_space(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t'..=b'\r')
}

fn without_leading_space(text: &str) -> &str {
    let spaces = text.bytes().take_while(|byte| is_space(*byte)).count();
    &text[spaces..]
}

/// A sign and digits at the beginning, and how long they are; `None` without a digit.
fn integer_prefix(text: &str) -> Option<(i128, usize)> {
    let signs = usize::from(text.starts_with(['-', '+']));
    let digits = text[signs..].bytes().take_while(u8::is_ascii_digit).count();
    if digits == 0 {
        return None;
    }
    // Only a number with more digits than any integer has does not fit.
    let number = text[signs..signs + digits].parse().unwrap_or(i128::MAX);
    let number = if text.starts_with('-') {
        -number
    } else {
        number
    };
    Some((number, signs + digits))
}

/// `atoi`: 0 for what is no number; too large a number wraps as it does in glibc.
pub fn atoi(text: &str) -> i32 {
    let number = integer_prefix(without_leading_space(text)).map_or(0, |(number, _)| number);
    number.clamp(i128::from(i64::MIN), i128::from(i64::MAX)) as i64 as i32
}

/// `atof`: 0 for what is no number.
pub fn atof(text: &str) -> f64 {
    let text = without_leading_space(text);
    if let Some(number) = hexadecimal(text) {
        return number;
    }
    let is_part = |byte: &u8| byte.is_ascii_digit() || b"+-.eE".contains(byte);
    let candidates = text.bytes().take_while(is_part).count();
    // The longest beginning that is a number.
    let number = (1..=candidates)
        .rev()
        .find_map(|length| text[..length].parse::<f64>().ok());
    number.unwrap_or(0.0)
}

/// `0x1f`, without the fractions and exponents that are never typed.
fn hexadecimal(text: &str) -> Option<f64> {
    let digits = text.strip_prefix("0x").or(text.strip_prefix("0X"))?;
    let is_digit = |byte: &u8| byte.is_ascii_hexdigit();
    let length = digits.bytes().take_while(is_digit).count();
    let value = |digit: char| f64::from(digit.to_digit(16).unwrap_or(0));
    let number = digits[..length]
        .chars()
        .fold(0.0, |n, d| n * 16.0 + value(d));
    (length > 0).then_some(number)
}

/// A whole number within a range, as the option `name` (`-c/--client`) takes it.
///
/// # Errors
/// In PostgreSQL's words (`src/fe_utils/option_utils.c`).
pub fn option_int(text: &str, name: &str, min: i32, max: i32) -> Result<i32, Stop> {
    let start = without_leading_space(text);
    let (number, rest) = match integer_prefix(start) {
        Some((number, length)) => (number, &start[length..]),
        None => (0, text),
    };
    if !rest.bytes().all(is_space) {
        let text = format!("invalid value \"{text}\" for option {name}");
        return Err(Stop::fatal(text));
    }
    match i32::try_from(number) {
        Ok(number) if (min..=max).contains(&number) => Ok(number),
        _ => Err(Stop::fatal(format!("{name} must be in range {min}..{max}"))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::messages::{Kind, Line};

    #[test]
    fn what_looks_like_a_number_is_one() {
        for (text, number) in [("12", 12), (" -3x", -3), ("+4", 4), ("x", 0), ("", 0)] {
            assert_eq!(atoi(text), number, "{text:?}");
        }
        for (text, number) in [
            ("1.5", 1.5),
            ("1.5ms", 1.5),
            ("  2e3x", 2000.0),
            (".5.5", 0.5),
            ("1e", 1.0),
            ("-1", -1.0),
            ("ms", 0.0),
            ("0x1fz", 31.0),
            ("0x", 0.0),
        ] {
            assert_eq!(atof(text), number, "{text:?}");
        }
    }

    #[test]
    fn an_options_number_has_nothing_after_it_and_keeps_its_range() {
        let read = |text| option_int(text, "-c/--client", 1, i32::MAX);
        assert_eq!(read("7"), Ok(7));
        assert_eq!(read(" 7 \n"), Ok(7));
        let invalid = "invalid value \"7x\" for option -c/--client";
        let range = "-c/--client must be in range 1..2147483647";
        for (text, want) in [
            ("7x", invalid),
            ("0", range),
            ("", range),
            ("2147483648", range),
        ] {
            let stop = read(text).unwrap_err();
            assert_eq!(stop.lines, [Line::Message(Kind::Error, want.to_owned())]);
            assert_eq!(stop.code, 1);
        }
    }
}
