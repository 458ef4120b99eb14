//! Numbers and orders as Java has them. (Facts: Double.toString, DecimalFormat, String.hashCode and
//! ConcurrentHashMap as documented; recordings.)

pub fn double(value: f64) -> String {
    let is_plain = value == 0.0 || (1e-3..1e7).contains(&value.abs());
    if is_plain || !value.is_finite() {
        return match value {
            value if value.is_nan() => "NaN".to_owned(),
            value if value.is_infinite() => "Infinity".to_owned(),
            value => format!("{value:?}"),
        };
    }
    let text = format!("{value:e}");
    let (digits, exponent) = text.split_once('e').unwrap_or((&text, "0"));
    let point = if digits.contains('.') { "" } else { ".0" };
    format!("{digits}{point}E{exponent}")
}

/// With at most two digits behind the point, as the pattern `#.##` prints it.
pub fn two_digits(value: f64) -> String {
    let text = format!("{value:.2}");
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

/// 50 is `50th`, 99.9 stays `99.9`.
pub fn ordinal(number: f64) -> String {
    if number.fract() != 0.0 {
        return double(number);
    }
    let whole = number as u64;
    let ending = match (whole % 100, whole % 10) {
        (11..=13, _) => "th",
        (_, 1) => "st",
        (_, 2) => "nd",
        (_, 3) => "rd",
        _ => "th",
    };
    format!("{whole}{ending}")
}

/// Where a name comes in one of Java's hash tables with so many names: with twelve it grows.
pub fn place(name: &str, count: usize) -> u32 {
    let hash = name.encode_utf16().fold(0u32, |hash, unit| {
        hash.wrapping_mul(31).wrapping_add(u32::from(unit))
    });
    let places = if count < 12 { 16 } else { 32 };
    (hash ^ (hash >> 16)) & (places - 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn doubles_are_printed_as_java_prints_them() {
        for (value, text) in [
            (0.0, "0.0"),
            (838.0, "838.0"),
            (1639.344262295082, "1639.344262295082"),
            (0.9836065573770493, "0.9836065573770493"),
            (0.0005, "5.0E-4"),
            (12_345_678.0, "1.2345678E7"),
            (1e7, "1.0E7"),
            (f64::NAN, "NaN"),
        ] {
            assert_eq!(double(value), text);
        }
        let short = [
            (2966.529, "2966.53"),
            (749.0, "749"),
            (199.8, "199.8"),
            (0.0, "0"),
        ];
        for (value, text) in short {
            assert_eq!(two_digits(value), text);
        }
        let ordinals = [50.0, 1.0, 2.0, 3.0, 11.0, 21.0, 99.9].map(ordinal);
        assert_eq!(
            ordinals,
            ["50th", "1st", "2nd", "3rd", "11th", "21st", "99.9"]
        );
    }

    /// The orders that YCSB 0.18 printed with the mixes a, d and f.
    #[test]
    fn operations_come_in_the_recorded_order() {
        for recorded in [
            &["READ", "CLEANUP", "UPDATE"][..],
            &["READ", "CLEANUP", "INSERT"],
            &["READ", "READ-MODIFY-WRITE", "CLEANUP", "UPDATE"],
            &[
                "READ",
                "READ-NOT_FOUND",
                "UPDATE-ERROR",
                "CLEANUP",
                "UPDATE-UNEXPECTED_STATE",
                "UPDATE",
            ],
        ] {
            let mut names = recorded.to_vec();
            names.sort_unstable();
            names.sort_by_key(|name| place(name, recorded.len()));
            assert_eq!(names, recorded);
        }
    }
}
