//! Counts, rates and figures of any size.

use super::{DASH, bytes};

/// A count, all digits, thousands apart: `1,234,567`.
pub fn count(number: u64) -> String {
    grouped(&number.to_string())
}

/// Commas between the thousands of digits.
fn grouped(digits: &str) -> String {
    let mut text = String::with_capacity(digits.len() + digits.len() / 3);
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// `1 client`, `32 clients`, `2 tries`.
pub fn plural(number: u64, word: &str) -> String {
    let number_text = count(number);
    match word.strip_suffix('y') {
        _ if number == 1 => format!("{number_text} {word}"),
        Some(stem) if !stem.ends_with(['a', 'e', 'o', 'u']) => format!("{number_text} {stem}ies"),
        _ => format!("{number_text} {word}s"),
    }
}

/// With so many decimals, thousands apart; halves are rounded away from 0, as the page does.
pub fn fixed(value: f64, decimals: usize) -> String {
    if !value.is_finite() {
        return DASH.to_owned();
    }
    let text = halves_up(value.abs(), decimals);
    let shown = match text.split_once('.') {
        Some((whole, rest)) => format!("{}.{rest}", grouped(whole)),
        None => grouped(&text),
    };
    let is_nothing = text.chars().all(|c| matches!(c, '0' | '.'));
    if value < 0.0 && !is_nothing {
        format!("-{shown}")
    } else {
        shown
    }
}

/// `format!` rounds an exact half to the even digit where JavaScript's `toFixed` rounds it up.
fn halves_up(size: f64, decimals: usize) -> String {
    // More decimals than make a difference between a half and the number next to it.
    const BEYOND: usize = 60;
    let all = format!("{size:.*}", decimals + BEYOND);
    let is_half = all
        .get(all.len() - BEYOND..)
        .and_then(|rest| rest.strip_prefix('5'))
        .is_some_and(|rest| rest.bytes().all(|digit| digit == b'0'));
    if is_half {
        format!("{:.decimals$}", size.next_up())
    } else {
        format!("{size:.decimals$}")
    }
}

/// So many digits that count; digits before the point are never cut: `0.117`, `44.1`, `1,235`.
pub fn significant(value: f64, digits: usize) -> String {
    if value == 0.0 {
        return "0".to_owned();
    }
    // Rounded first, so that 9.996 has the decimals of 10.0.
    let rounded = format!("{:.*e}", digits.saturating_sub(1), value.abs());
    let magnitude: i32 = match rounded.split_once('e') {
        Some((_, exponent)) => exponent.parse().unwrap_or(0),
        None => return DASH.to_owned(),
    };
    let decimals = (digits as i32 - 1 - magnitude).clamp(0, 12);
    fixed(value, decimals as usize)
}

/// Noughts at the end of decimals left out.
pub(super) fn trimmed(text: &str) -> &str {
    if text.contains('.') {
        text.trim_end_matches('0').trim_end_matches('.')
    } else {
        text
    }
}

/// A rate with one decimal and thousands apart: `1,234.5`.
pub fn rate(per_second: f64) -> String {
    let tenths = (per_second * 10.0).round() as u64;
    format!("{}.{}", count(tenths / 10), tenths % 10)
}

/// A rate in a sentence: `12.3/s`, `12,346/s`.
pub fn per_second(rate: f64) -> String {
    format!("{}/s", some(rate))
}

/// A number of sessions or cores, three digits and at most two decimals: `0.49`, `12.3`, `1,234`.
pub fn some(number: f64) -> String {
    match number.abs() {
        n if n < 9.995 => fixed(number, 2),
        n if n < 99.95 => fixed(number, 1),
        _ => fixed(number, 0),
    }
}

/// Any quantity in three digits, with a prefix where it is large: `0.0123`, `12.3`, `1.23k`, `45.6M`.
/// Not for bytes.
pub fn quantity(value: f64) -> String {
    let size = value.abs();
    if size < 1.0 {
        // Three digits that count, however small it is.
        let digits = match size {
            0.0 => return "0".to_owned(),
            size => (2.0 - size.log10().floor()).clamp(0.0, 12.0) as usize,
        };
        let text = format!("{value:.digits$}");
        return trimmed(&text).to_owned();
    }
    let prefixes = ["", "k", "M", "G", "T", "P", "E"];
    let mut value = value;
    for (index, prefix) in prefixes.iter().enumerate() {
        // What would be rounded to 1000 has the next prefix.
        if value.abs() < 999.5 || index + 1 == prefixes.len() {
            let digits = match value.abs() {
                size if size < 9.995 => 2,
                size if size < 99.95 => 1,
                _ => 0,
            };
            let text = format!("{value:.digits$}");
            let text = if prefix.is_empty() {
                trimmed(&text).to_owned()
            } else {
                text
            };
            return format!("{text}{prefix}");
        }
        value /= 1000.0;
    }
    value.to_string()
}

/// A figure beside the name of its unit: bytes and bytes a second as [`bytes`], else a [`quantity`].
pub fn quantity_of(value: f64, unit: &str) -> String {
    match unit {
        "bytes" | "bytes/s" => bytes(value),
        _ => quantity(value),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_grouped_and_rounded_as_people_read_them() {
        assert_eq!(plural(1, "client"), "1 client");
        assert_eq!(plural(1_000, "client"), "1,000 clients");
        let tries = [0, 1, 2].map(|number| plural(number, "try"));
        assert_eq!(tries, ["0 tries", "1 try", "2 tries"]);
        assert_eq!(plural(2, "key"), "2 keys");
        assert_eq!(rate(1234.56), "1,234.6");
        assert_eq!(rate(0.04), "0.0");
        assert_eq!(fixed(-1234.5, 0), "-1,235");
        assert_eq!(fixed(-0.001, 2), "0.00");
        assert_eq!(per_second(12.345), "12.3/s");
        assert_eq!(per_second(12_345.6), "12,346/s");
        assert_eq!([0.49, 1.234].map(some), ["0.49", "1.23"]);
    }

    #[test]
    fn halves_are_rounded_up_and_only_exact_ones_are_halves() {
        assert_eq!([0.5, 1.5, 2.5].map(|n| fixed(n, 0)), ["1", "2", "3"]);
        assert_eq!(fixed(1.125, 2), "1.13");
        // Nearest to it is 1.4499999999999999556.
        assert_eq!(fixed(1.45, 1), "1.4");
        assert_eq!(fixed(0.375f64.next_down(), 2), "0.37");
    }

    #[test]
    fn quantities_have_three_digits_and_bytes_their_own_units() {
        for (value, text) in [
            (0.0, "0"),
            (1.0, "1"),
            (0.012_345, "0.0123"),
            (-0.5, "-0.5"),
            (9.999, "10"),
            (12.34, "12.3"),
            (999.6, "1.00k"),
            (-1234.0, "-1.23k"),
            (45_600_000.0, "45.6M"),
            (1e21, "1000E"),
        ] {
            assert_eq!(quantity(value), text, "{value}");
        }
        assert_eq!(quantity_of(104_857_600.0, "bytes/s"), "100 MB");
        assert_eq!(quantity_of(104_857_600.0, "1/s"), "105M");
    }
}
