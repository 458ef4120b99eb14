//! Readings as a page has them: hundreds of series times thousands of seconds, so that each digit is a megabyte.
//! Whole numbers stay as they are. Others have six significant digits, which is what the page's tables show of them.

use serde::ser::{Serialize, SerializeSeq, Serializer};

const DIGITS: i32 = 6;
/// Up to here a double has every whole number, and so has JavaScript.
const WHOLE_MAX: f64 = 9_007_199_254_740_992.0;

/// A list of readings, for `serialize_with`.
pub fn list<S: Serializer>(values: &[f64], serializer: S) -> Result<S::Ok, S::Error> {
    let mut list = serializer.serialize_seq(Some(values.len()))?;
    for value in values {
        list.serialize_element(&Reading(*value))?;
    }
    list.end()
}

/// The same where there may be none.
#[allow(clippy::ref_option, reason = "what serde calls it with")]
pub fn list_if_any<S: Serializer>(
    values: &Option<Vec<f64>>,
    serializer: S,
) -> Result<S::Ok, S::Error> {
    match values {
        Some(values) => list(values, serializer),
        None => serializer.serialize_none(),
    }
}

struct Reading(f64);

impl Serialize for Reading {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let value = rounded(self.0);
        if value.fract() == 0.0 && value.abs() <= WHOLE_MAX {
            // Without `.0`.
            serializer.serialize_i64(value as i64)
        } else {
            // A number that JSON does not have becomes null.
            serializer.serialize_f64(value)
        }
    }
}

/// With so many digits, unless it is whole.
fn rounded(value: f64) -> f64 {
    if value.fract() == 0.0 || !value.is_finite() {
        return value;
    }
    let places = DIGITS - 1 - value.abs().log10().floor() as i32;
    match places {
        // The quotient of a whole number and a power of ten that a double has exactly is the double nearest to
        // that decimal fraction, which is printed with as few digits.
        0..=22 => {
            let power = 10_f64.powi(places);
            (value * power).round() / power
        }
        // It has six digits before its point.
        ..0 => value.round(),
        // Less than 10⁻¹⁷: its digits do not matter.
        _ => 0.0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn json(values: &[f64]) -> String {
        let mut text = Vec::new();
        list(values, &mut serde_json::Serializer::new(&mut text)).unwrap();
        String::from_utf8(text).unwrap()
    }

    #[test]
    fn whole_numbers_have_no_point_and_others_six_digits() {
        assert_eq!(json(&[0.0, -0.0, 7.0, -3.0]), "[0,0,7,-3]");
        assert_eq!(
            json(&[1.0 / 3.0, 2e5 / 3.0, -1.0 / 700.0]),
            "[0.333333,66666.7,-0.00142857]"
        );
        assert_eq!(json(&[0.1 + 0.2, 99.999_999_9, 1234.5]), "[0.3,100,1234.5]");
        // Bytes of a large database stay exact.
        assert_eq!(
            json(&[123_456_789_012.0, 1_234_567.8]),
            "[123456789012,1234568]"
        );
        assert_eq!(json(&[f64::NAN, f64::INFINITY, 1e-30]), "[null,null,0]");
        assert_eq!(json(&[1e300]), "[1e+300]");
    }

    #[test]
    fn nothing_is_off_by_more_than_half_of_the_sixth_digit() {
        let mut value = 1.7e-9;
        while value < 1e9 {
            let is = rounded(value);
            assert!((is / value - 1.0).abs() <= 5.1e-6, "{value}: {is}");
            value *= 1.37;
        }
    }
}
