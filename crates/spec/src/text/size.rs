//! Bytes, by PostgreSQL's convention.

use super::DASH;
use super::number::{significant, trimmed};

/// As `pg_size_pretty` and the units of settings name them, each 1,024 of the one before.
const UNITS: [&str; 6] = ["bytes", "kB", "MB", "GB", "TB", "PB"];

/// Bytes as PostgreSQL counts and names them: 1 kB is 1,024 bytes.
///
/// Rounded to three digits that count, without zeros at the end, in the largest unit of which
/// there is one: `1,023 bytes`, `1.5 kB`, `128 MB`, `7.92 GB`. What would be rounded to 1,024 is 1 of
/// the next unit.
pub fn bytes(number: f64) -> String {
    if !number.is_finite() {
        return DASH.to_owned();
    }
    let mut scaled = number;
    let mut units = UNITS.iter();
    let mut unit = units.next().copied().unwrap_or_default();
    for next in units {
        if scaled.abs() < 1023.5 {
            break;
        }
        scaled /= 1024.0;
        unit = next;
    }
    format!("{} {unit}", trimmed(&significant(scaled, 3)))
}

/// Bytes a second: `100 MB/s` are 104,857,600 of them.
pub fn bytes_per_s(number: f64) -> String {
    if number.is_finite() {
        format!("{}/s", bytes(number))
    } else {
        DASH.to_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_number_is_a_dash() {
        assert_eq!(bytes(f64::NAN), "–");
        assert_eq!(bytes_per_s(f64::INFINITY), "–");
        assert_eq!(bytes(-1536.0), "-1.5 kB");
    }
}
