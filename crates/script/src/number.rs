//! Numbers as text: how pgbench reads integers and doubles and how it writes doubles.
//!
//! pgbench leans on C's `strtod` and PostgreSQL's own `printf`; what they accept and print is
//! written out here. No arithmetic: that is in `expr`.

use std::fmt;

/// Why a text is not a 64-bit integer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum BigintError {
    OutOfRange,
    InvalidSyntax,
}

/// What C's `isspace` takes in the C locale.
pub(crate) fn is_space(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t' | b'\n' | 0x0b | 0x0c | b'\r')
}

fn skip_spaces(text: &[u8]) -> &[u8] {
    let spaces = text.iter().take_while(|&&byte| is_space(byte)).count();
    &text[spaces..]
}

fn digits(text: &[u8]) -> usize {
    text.iter().take_while(|byte| byte.is_ascii_digit()).count()
}

/// Reads a signed integer with spaces around it.
pub(crate) fn parse_bigint(text: &[u8]) -> Result<i64, BigintError> {
    let rest = skip_spaces(text);
    let (negative, rest) = match rest.first() {
        Some(b'-') => (true, &rest[1..]),
        Some(b'+') => (false, &rest[1..]),
        _ => (false, rest),
    };
    let count = digits(rest);
    if count == 0 {
        return Err(BigintError::InvalidSyntax);
    }
    // Accumulated as a negative number, whose range is the larger one.
    let mut value = 0_i64;
    for digit in &rest[..count] {
        value = value
            .checked_mul(10)
            .and_then(|value| value.checked_sub(i64::from(digit - b'0')))
            .ok_or(BigintError::OutOfRange)?;
    }
    if !skip_spaces(&rest[count..]).is_empty() {
        return Err(BigintError::InvalidSyntax);
    }
    if negative {
        Ok(value)
    } else {
        value.checked_neg().ok_or(BigintError::OutOfRange)
    }
}

/// Whether pgbench would take `text` for an integer: spaces, a sign, digits and nothing else. The
/// digits may be missing (it then finds out that the integer is malformed).
pub(crate) fn looks_like_int(text: &[u8]) -> bool {
    let rest = skip_spaces(text);
    let rest = match rest.first() {
        Some(b'-' | b'+') => &rest[1..],
        _ => rest,
    };
    digits(rest) == rest.len()
}

/// Reads a double as C's `strtod` does when it must consume the whole text: spaces before it, a
/// sign, then decimal, hexadecimal, infinity or NaN. `None` when it is something else or out of
/// range, at either end.
pub(crate) fn parse_double(text: &[u8]) -> Option<f64> {
    let rest = skip_spaces(text);
    let (sign, rest) = match rest.first() {
        Some(b'-') => (-1.0, &rest[1..]),
        Some(b'+') => (1.0, &rest[1..]),
        _ => (1.0, rest),
    };
    let lower = rest.to_ascii_lowercase();
    let magnitude = match lower.as_slice() {
        b"inf" | b"infinity" => f64::INFINITY,
        b"nan" => f64::NAN,
        [b'n', b'a', b'n', b'(', inside @ .., b')']
            if inside
                .iter()
                .all(|&b| b.is_ascii_alphanumeric() || b == b'_') =>
        {
            f64::NAN
        }
        [b'0', b'x', digits @ ..] => parse_hexadecimal(digits)?,
        decimal => parse_decimal(decimal)?,
    };
    Some(magnitude * sign)
}

fn parse_decimal(text: &[u8]) -> Option<f64> {
    let whole = digits(text);
    let mut end = whole;
    let mut fraction = 0;
    if text.get(end) == Some(&b'.') {
        fraction = digits(&text[end + 1..]);
        end += 1 + fraction;
    }
    if whole + fraction == 0 {
        return None;
    }
    let mantissa = &text[..end];
    if matches!(text.get(end), Some(b'e')) {
        end += 1;
        if matches!(text.get(end), Some(b'-' | b'+')) {
            end += 1;
        }
        let exponent = digits(&text[end..]);
        if exponent == 0 {
            return None;
        }
        end += exponent;
    }
    if end != text.len() {
        return None;
    }
    let value: f64 = std::str::from_utf8(text).ok()?.parse().ok()?;
    let is_zero = !mantissa.iter().any(|byte| matches!(byte, b'1'..=b'9'));
    in_range(value, is_zero)
}

/// Reads `[digits][.digits][p[sign]digits]`, what follows "0x", in lower case.
fn parse_hexadecimal(text: &[u8]) -> Option<f64> {
    let mut mantissa = 0_u64;
    let mut exponent = 0_i64;
    let mut seen_digit = false;
    let mut seen_point = false;
    let mut at = 0;
    while let Some(&byte) = text.get(at) {
        if byte == b'.' && !seen_point {
            seen_point = true;
        } else if let Some(digit) = (byte as char).to_digit(16) {
            seen_digit = true;
            if mantissa >> 60 == 0 {
                mantissa = mantissa << 4 | u64::from(digit);
                exponent -= if seen_point { 4 } else { 0 };
            } else {
                // Beyond 60 bits only "something was there" matters, for rounding.
                mantissa |= u64::from(digit != 0);
                exponent += if seen_point { 0 } else { 4 };
            }
        } else {
            break;
        }
        at += 1;
    }
    if !seen_digit {
        return None;
    }
    if text.get(at) == Some(&b'p') {
        at += 1;
        let (sign, rest) = match text.get(at) {
            Some(b'-') => (-1, &text[at + 1..]),
            Some(b'+') => (1, &text[at + 1..]),
            _ => (1, &text[at..]),
        };
        let count = digits(rest);
        if count == 0 || count != rest.len() {
            return None;
        }
        let given = rest.iter().fold(0_i64, |sum, digit| {
            sum.saturating_mul(10)
                .saturating_add(i64::from(digit - b'0'))
        });
        exponent = exponent.saturating_add(sign * given);
    } else if at != text.len() {
        return None;
    }
    let mut value = mantissa as f64;
    // In steps that cannot overflow before the end, because 2^1100 is no double.
    let mut left = exponent.clamp(-2200, 2200) as i32;
    while left != 0 && value != 0.0 && value.is_finite() {
        let step = left.clamp(-1000, 1000);
        value *= 2_f64.powi(step);
        left -= step;
    }
    in_range(value, mantissa == 0)
}

/// `strtod` reports a result too large or too small for a normal double.
fn in_range(value: f64, is_zero: bool) -> Option<f64> {
    (is_zero || value.is_normal()).then_some(value)
}

/// Reads the leading integer of a text as C's `strtol` does, and says how many bytes it took
/// (none when there is no number). Saturates at the ends of the range.
pub(crate) fn leading_integer(text: &[u8]) -> (i64, usize) {
    let spaces = text.len() - skip_spaces(text).len();
    let mut at = spaces;
    let negative = text.get(at) == Some(&b'-');
    if matches!(text.get(at), Some(b'-' | b'+')) {
        at += 1;
    }
    let count = digits(&text[at..]);
    if count == 0 {
        return (0, 0);
    }
    let mut value = 0_i64;
    for digit in &text[at..at + count] {
        let digit = i64::from(digit - b'0');
        value = value.saturating_mul(10);
        value = if negative {
            value.saturating_sub(digit)
        } else {
            value.saturating_add(digit)
        };
    }
    (value, at + count)
}

/// A double as `%.15g` prints it in PostgreSQL's own `printf`: the form it has in SQL text.
pub(crate) struct General(pub f64);

impl fmt::Display for General {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let value = self.0;
        if !value.is_finite() {
            return fmt::Display::fmt(&Fixed(value), out);
        }
        // "-d.dddddddddddddde-NNN" is at most 22 bytes.
        let mut text = Short::<32>::default();
        fmt::write(&mut text, format_args!("{value:.14e}"))?;
        let text = text.as_str();
        let (mantissa, exponent) = text.split_once('e').unwrap_or((text, "0"));
        let exponent: i32 = exponent.parse().unwrap_or(0);
        let (sign, mantissa) = match mantissa.strip_prefix('-') {
            Some(rest) => ("-", rest),
            None => ("", mantissa),
        };
        let first = &mantissa[..1];
        let rest = mantissa.get(2..).unwrap_or("");
        out.write_str(sign)?;
        if !(-4..15).contains(&exponent) {
            let rest = rest.trim_end_matches('0');
            let point = if rest.is_empty() { "" } else { "." };
            let mark = if exponent < 0 { '-' } else { '+' };
            return write!(out, "{first}{point}{rest}e{mark}{:02}", exponent.abs());
        }
        if exponent < 0 {
            let zeros = (-exponent - 1) as usize;
            let rest = rest.trim_end_matches('0');
            return write!(out, "0.{:0<zeros$}{first}{rest}", "");
        }
        let (whole, fraction) = rest.split_at(exponent as usize);
        let fraction = fraction.trim_end_matches('0');
        let point = if fraction.is_empty() { "" } else { "." };
        write!(out, "{first}{whole}{point}{fraction}")
    }
}

/// A double as `%f` prints it in PostgreSQL's own `printf`: the form it has in error messages.
pub(crate) struct Fixed(pub f64);

impl fmt::Display for Fixed {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.0.is_nan() {
            // Whatever its sign.
            out.write_str("NaN")
        } else if self.0.is_infinite() {
            let sign = if self.0 < 0.0 { "-" } else { "" };
            write!(out, "{sign}Infinity")
        } else {
            write!(out, "{:.6}", self.0)
        }
    }
}

/// A small text on the stack.
struct Short<const N: usize> {
    bytes: [u8; N],
    used: usize,
}

impl<const N: usize> Default for Short<N> {
    fn default() -> Self {
        Self {
            bytes: [0; N],
            used: 0,
        }
    }
}

impl<const N: usize> Short<N> {
    fn as_str(&self) -> &str {
        std::str::from_utf8(&self.bytes[..self.used]).unwrap_or("")
    }
}

impl<const N: usize> fmt::Write for Short<N> {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        let end = self.used + text.len();
        let place = self.bytes.get_mut(self.used..end).ok_or(fmt::Error)?;
        place.copy_from_slice(text.as_bytes());
        self.used = end;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn integers_are_read_with_spaces_and_sign_and_checked() {
        assert_eq!(parse_bigint(b" -42 "), Ok(-42));
        assert_eq!(parse_bigint(b"+7"), Ok(7));
        assert_eq!(parse_bigint(b"-9223372036854775808"), Ok(i64::MIN));
        assert_eq!(parse_bigint(b"9223372036854775807"), Ok(i64::MAX));
        for out in ["9223372036854775808", "-9223372036854775809"] {
            assert_eq!(parse_bigint(out.as_bytes()), Err(BigintError::OutOfRange));
        }
        for bad in ["", "  ", "+", "1x", "1 2", "- 1"] {
            assert_eq!(
                parse_bigint(bad.as_bytes()),
                Err(BigintError::InvalidSyntax),
                "{bad}"
            );
        }
    }

    #[test]
    fn doubles_are_read_as_strtod_reads_them() {
        for (text, value) in [
            ("1.5", 1.5),
            (".5", 0.5),
            ("5.", 5.0),
            (" -1e3", -1000.0),
            ("+2E-1", 0.2),
            ("0x10", 16.0),
            ("0X1.8p1", 3.0),
            ("-0x.8P2", -2.0),
            ("inf", f64::INFINITY),
            ("-Infinity", f64::NEG_INFINITY),
            ("0e999", 0.0),
        ] {
            assert_eq!(parse_double(text.as_bytes()), Some(value), "{text}");
        }
        for text in ["nan", "NaN", "nan(12_a)"] {
            assert!(parse_double(text.as_bytes()).unwrap().is_nan(), "{text}");
        }
        for text in [
            "", "e5", ".", "1e", "1.5 ", "1x", "0x", "0xp1", "0x1p", "in", "1e400", "1e-400",
            "1e-310", "0x1p5000", "nan(", "--1",
        ] {
            assert_eq!(parse_double(text.as_bytes()), None, "{text}");
        }
    }

    #[test]
    fn doubles_are_written_with_fifteen_digits() {
        for (value, text) in [
            (0.0, "0"),
            (-0.0, "-0"),
            (1.0, "1"),
            (-1.5, "-1.5"),
            (0.1 + 0.2, "0.3"),
            (std::f64::consts::PI, "3.14159265358979"),
            (100000.0, "100000"),
            (123456789012345.0, "123456789012345"),
            (1e15, "1e+15"),
            (1234567890123456.0, "1.23456789012346e+15"),
            (1e100, "1e+100"),
            (0.0001, "0.0001"),
            (0.00012345, "0.00012345"),
            (0.00001, "1e-05"),
            (-1.25e-7, "-1.25e-07"),
            (999999999999999.9, "1e+15"),
            (100000000000000.5, "100000000000000"),
            (f64::INFINITY, "Infinity"),
            (f64::NEG_INFINITY, "-Infinity"),
            (f64::NAN, "NaN"),
            (-f64::NAN, "NaN"),
        ] {
            assert_eq!(General(value).to_string(), text);
        }
    }

    #[test]
    fn doubles_in_messages_have_six_decimals() {
        assert_eq!(Fixed(2.0).to_string(), "2.000000");
        assert_eq!(Fixed(1e20).to_string(), "100000000000000000000.000000");
        assert_eq!(Fixed(-f64::NAN).to_string(), "NaN");
    }

    #[test]
    fn leading_integers_stop_at_the_first_other_byte() {
        assert_eq!(leading_integer(b" -12ms"), (-12, 4));
        assert_eq!(leading_integer(b"x"), (0, 0));
        assert_eq!(leading_integer(b"99999999999999999999"), (i64::MAX, 20));
        assert_eq!(leading_integer(b"-99999999999999999999"), (i64::MIN, 21));
    }
}
