//! Times: measured times, spans, estimates, and times as typed.

use std::time::Duration;

use super::number::{count, fixed, significant, trimmed};

/// The percentiles of every report, in percent.
pub const PERCENTILES: [f64; 5] = [50.0, 90.0, 95.0, 99.0, 99.9];

/// A measured time in microseconds, three digits, the unit by its size: `82.0 µs`, `509 ms`,
/// `1.18 s`.
pub fn time(us: f64) -> String {
    if us == 0.0 {
        return "0 ms".to_owned();
    }
    // What rounds to the next unit belongs to it: 999.9 µs is 1.00 ms.
    let (unit, size_us) = match us.abs() {
        us if us >= 999_500.0 => ("s", 1e6),
        us if us >= 999.5 => ("ms", 1e3),
        _ => ("µs", 1.0),
    };
    format!("{} {unit}", significant(us / size_us, 3))
}

/// A requested time without trailing zeros: `20 ms`, `12.5 ms`, `90 s`.
pub fn asked(time: Duration) -> String {
    let us = time.as_secs_f64() * 1e6;
    let (unit, size_us) = match us {
        0.0 => return "0 ms".to_owned(),
        us if us >= 1e6 => ("s", 1e6),
        us if us >= 1e3 => ("ms", 1e3),
        _ => ("µs", 1.0),
    };
    format!("{} {unit}", trimmed(&significant(us / size_us, 6)))
}

/// Microseconds as milliseconds, for a column: to the microsecond where that is less than a second.
pub fn ms(latency_us: u64) -> String {
    if latency_us < 1_000_000 {
        ms_precisely(latency_us as f64)
    } else {
        format!("{}.{}", count(latency_us / 1000), latency_us % 1000 / 100)
    }
}

/// Microseconds as milliseconds in three digits, as pages show a column of them: `0.123`, `12.3`, `1,230`.
pub fn ms_as_shown(us: f64) -> String {
    match us / 1e3 {
        ms if ms > 0.0 && ms < 0.0005 => "< 0.001".to_owned(),
        ms if ms < 1.0 => fixed(ms, 3),
        ms => significant(ms, 3),
    }
}

/// Microseconds as milliseconds with three decimals, such as means.
pub fn ms_precisely(us: f64) -> String {
    fixed(us / 1e3, 3)
}

/// Microseconds as milliseconds in little room, without zeros at the end: `0.5`, `2`.
pub fn ms_shortly(us: f64) -> String {
    trimmed(&ms_precisely(us)).to_owned()
}

/// A moment or a span in microseconds as seconds with one decimal, without the unit: `4.5`.
pub fn decimal_seconds(us: i64) -> String {
    fixed(us as f64 / 1e6, 1)
}

/// A span of time: `0.25 s`, `10.0 s`, `2 min 05 s`, `3 h 19 min`.
pub fn seconds(seconds: f64) -> String {
    // 59.96 s has three digits as 60.0 s, and is a minute.
    if seconds < 59.95 {
        return format!("{} s", significant(seconds, 3));
    }
    let whole = seconds.round() as u64;
    if whole < 3600 {
        return format!("{} min {:02} s", whole / 60, whole % 60);
    }
    let minutes = (seconds / 60.0).round() as u64;
    format!("{} h {:02} min", count(minutes / 60), minutes % 60)
}

/// An estimate: `45 s`, `12 min`, `3 h 20 min`.
pub fn about(time: Duration) -> String {
    let seconds = time.as_secs_f64().round() as u64;
    let minutes = (seconds + 30) / 60;
    match (minutes / 60, minutes % 60) {
        _ if seconds < 120 => format!("{seconds} s"),
        (0, minutes) => format!("{minutes} min"),
        (hours, 0) => format!("{hours} h"),
        (hours, minutes) => format!("{hours} h {minutes} min"),
    }
}

/// As it is typed, exactly, in the largest unit in which it is whole: `2s`, `5ms`, `1500us`.
pub fn as_typed(time: Duration) -> String {
    let us = time.as_nanos() as f64 / 1e3;
    for (unit, length_us) in [("s", 1e6), ("ms", 1e3)] {
        if us % length_us == 0.0 {
            return format!("{}{unit}", us / length_us);
        }
    }
    format!("{us}us")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_in_a_column_are_milliseconds() {
        assert_eq!(ms(1), "0.001");
        assert_eq!(ms(999_999), "999.999");
        assert_eq!(ms(61_234_567), "61,234.5");
        assert_eq!(ms_precisely(1234.6), "1.235");
        assert_eq!([500.0, 2000.0].map(ms_shortly), ["0.5", "2"]);
        assert_eq!(decimal_seconds(-1_250_000), "-1.3");
    }

    #[test]
    fn estimates_are_no_more_precise_than_they_are() {
        for (seconds, text) in [
            (119, "119 s"),
            (150, "3 min"),
            (7200, "2 h"),
            (9000, "2 h 30 min"),
        ] {
            assert_eq!(about(Duration::from_secs(seconds)), text);
        }
    }

    #[test]
    fn what_was_typed_is_in_the_largest_unit_in_which_it_is_whole() {
        let reported = [2_000_000, 5_000, 1_500].map(|us| as_typed(Duration::from_micros(us)));
        assert_eq!(reported, ["2s", "5ms", "1500us"]);
    }
}
