//! Numbers as people read them, and which percentiles are shown.

use pgdyno_drive::record::Latencies;

/// The percentiles of every report.
pub const PERCENTILES: [f64; 5] = [50.0, 90.0, 95.0, 99.0, 99.9];

/// `p50`, `p99.9`.
pub fn percentile_name(percent: f64) -> String {
    format!("p{percent}")
}

/// A count with thousands apart: `1,234,567`.
pub fn count(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::with_capacity(digits.len() + digits.len() / 3);
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// `1 client`, `32 clients`.
pub fn plural(number: u64, word: &str) -> String {
    let s = if number == 1 { "" } else { "s" };
    format!("{} {word}{s}", count(number))
}

/// A rate with one decimal and thousands apart: `1,234.5`.
pub fn rate(per_second: f64) -> String {
    let tenths = (per_second * 10.0).round() as u64;
    format!("{}.{}", count(tenths / 10), tenths % 10)
}

/// Microseconds as milliseconds, to the microsecond where that is less than a second.
pub fn ms(latency_us: u64) -> String {
    if latency_us < 1_000_000 {
        format!("{:.3}", latency_us as f64 / 1e3)
    } else {
        format!("{}.{}", count(latency_us / 1000), latency_us % 1000 / 100)
    }
}

/// A percentile in milliseconds, or a dash where too few values lie beyond it.
pub fn percentile_ms(latencies: &Latencies, percent: f64) -> String {
    latencies
        .percentile_us(percent)
        .map_or_else(|| "–".to_owned(), ms)
}

/// A share in percent, with enough digits not to look like nothing.
pub fn percent(part: u64, whole: u64) -> String {
    if whole == 0 {
        return "0 %".to_owned();
    }
    let percent = part as f64 * 100.0 / whole as f64;
    if part == 0 {
        "0 %".to_owned()
    } else if percent < 0.01 {
        "<0.01 %".to_owned()
    } else {
        format!("{percent:.2} %")
    }
}

/// Any quantity in three digits, with a prefix where it is large: `0.0123`, `12.3`, `1.23k`, `45.6M`.
pub fn quantity(value: f64) -> String {
    let size = value.abs();
    if size < 1.0 {
        // Three digits that count, however small it is.
        let digits = match size {
            0.0 => return "0".to_owned(),
            size => (2.0 - size.log10().floor()).clamp(0.0, 12.0) as usize,
        };
        let text = format!("{value:.digits$}");
        return text.trim_end_matches('0').trim_end_matches('.').to_owned();
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
            let text = match text.contains('.') && prefix.is_empty() {
                true => text.trim_end_matches('0').trim_end_matches('.').to_owned(),
                false => text,
            };
            return format!("{text}{prefix}");
        }
        value /= 1000.0;
    }
    value.to_string()
}

/// `10.0 s`, `2 min 5 s`.
pub fn seconds(seconds: f64) -> String {
    if seconds < 120.0 {
        format!("{seconds:.1} s")
    } else {
        let whole = seconds.round() as u64;
        format!("{} min {} s", whole / 60, whole % 60)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_grouped_and_rounded_as_people_read_them() {
        assert_eq!(count(0), "0");
        assert_eq!(count(999), "999");
        assert_eq!(count(1_000), "1,000");
        assert_eq!(count(1_234_567), "1,234,567");
        assert_eq!(rate(1234.56), "1,234.6");
        assert_eq!(rate(0.04), "0.0");
        assert_eq!(ms(1), "0.001");
        assert_eq!(ms(999_999), "999.999");
        assert_eq!(ms(61_234_567), "61,234.5");
        assert_eq!(percent(1, 3), "33.33 %");
        assert_eq!(percent(1, 1_000_000), "<0.01 %");
        assert_eq!(percent(0, 5), "0 %");
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
        assert_eq!(seconds(10.0), "10.0 s");
        assert_eq!(seconds(125.4), "2 min 5 s");
    }

    #[test]
    fn a_percentile_without_ten_values_beyond_it_is_a_dash() {
        let mut latencies = Latencies::default();
        (0..50).for_each(|_| latencies.record(1500));
        assert_eq!(percentile_ms(&latencies, 50.0), "1.500");
        assert_eq!(percentile_ms(&latencies, 90.0), "–");
    }
}
