//! The file of `--histograms` in OpenMetrics, as cockroach's exporter writes it: each operation's tick
//! as a summary and three gauges, in nanoseconds. (Facts: pkg/workload/histogram/exporter; numbers as
//! Prometheus' expfmt writes them.)

use std::fmt::Write;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use pgdyno_measurement::Latencies;

/// The labels of every line: `a="b",c="d"`, or nothing.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct MetricLabels(String);

impl MetricLabels {
    /// From `NAME=VALUE, NAME=VALUE`.
    ///
    /// # Errors
    /// What is no pair.
    pub fn parse(text: &str) -> Result<Self, String> {
        let mut labels = String::new();
        for pair in text
            .split(',')
            .map(str::trim)
            .filter(|pair| !pair.is_empty())
        {
            let Some((name, value)) = pair.split_once('=') else {
                return Err(format!("--openmetrics-labels: {pair} is no NAME=VALUE"));
            };
            let name = allowed(name.trim());
            let value = value.trim().replace('\\', "\\\\").replace('"', "\\\"");
            let comma = if labels.is_empty() { "" } else { "," };
            labels += &format!("{comma}{name}=\"{}\"", value.replace('\n', "\\n"));
        }
        Ok(Self(labels))
    }

    /// In braces, with one more.
    fn with(&self, more: &str) -> String {
        match (self.0.as_str(), more) {
            ("", "") => String::new(),
            (own, "") | ("", own) => format!("{{{own}}}"),
            (own, more) => format!("{{{own},{more}}}"),
        }
    }
}

/// A name of letters, digits and underscores that does not begin with a digit.
fn allowed(name: &str) -> String {
    let mut text: String = name
        .chars()
        .map(|c| if c.is_ascii_alphanumeric() { c } else { '_' })
        .collect();
    if text.starts_with(|c: char| c.is_ascii_digit()) {
        text.replace_range(..1, "_");
    }
    text
}

pub fn tick(
    name: &str,
    latencies: &Latencies,
    length: Duration,
    now: SystemTime,
    labels: &MetricLabels,
) -> String {
    let (at, name) = (timestamp(now), allowed(name));
    // Writing to a string does not fail.
    let mut text = format!("# TYPE {name} summary\n");
    let max_us = latencies.max_us();
    for (quantile, shown) in [(0.5, "0.5"), (0.95, "0.95"), (0.99, "0.99"), (1.0, "1.0")] {
        let value_us = latencies.histogram().quantile_us(quantile);
        let value_us = match quantile {
            1.0 => max_us,
            _ => value_us.unwrap_or(0).min(max_us),
        };
        if value_us > 0 {
            let label = labels.with(&format!("quantile=\"{shown}\""));
            let value = number(value_us as f64 * 1e3);
            let _ = writeln!(text, "{name}{label} {value} {at}");
        }
    }
    let label = labels.with("");
    let count = latencies.count();
    // The exporter of cockroach leaves the sum at 0.
    let _ = writeln!(
        text,
        "{name}_sum{label} 0.0 {at}\n{name}_count{label} {count} {at}"
    );
    for (what, value) in [
        ("elapsed", length.as_millis() as f64),
        ("max", max_us as f64 * 1e3),
        ("mean", latencies.mean_us().unwrap_or(0.0) * 1e3),
    ] {
        text += &gauge(&format!("{name}_{what}"), value, now, labels);
    }
    text
}

/// What the file ends with: for each operation how high its values go, and when it was first there.
pub fn end(operations: &[(String, SystemTime)], highest_ns: u64, labels: &MetricLabels) -> String {
    let gauges = operations.iter().map(|(name, first)| {
        let name = format!("{}_highest_trackable_value", allowed(name));
        gauge(&name, highest_ns as f64, *first, labels)
    });
    gauges.collect::<String>() + "# EOF\n"
}

fn gauge(name: &str, value: f64, at: SystemTime, labels: &MetricLabels) -> String {
    let (value, at, label) = (number(value), timestamp(at), labels.with(""));
    format!("# TYPE {name} gauge\n{name}{label} {value} {at}\n")
}

/// Seconds since 1970, to the millisecond.
fn timestamp(time: SystemTime) -> String {
    let since = time.duration_since(UNIX_EPOCH).unwrap_or_default();
    number(since.as_millis() as f64 / 1e3)
}

/// A number as Go's `%g` writes it, with a point in any case: with an exponent of two digits from a
/// million on.
fn number(value: f64) -> String {
    let scientific = format!("{value:e}");
    let (digits, exponent) = scientific.split_once('e').unwrap_or((&scientific, "0"));
    let size: i32 = exponent.parse().unwrap_or(0);
    if value != 0.0 && !(-4..6).contains(&size) {
        let sign = if size < 0 { '-' } else { '+' };
        return format!("{digits}e{sign}{:02}", size.abs());
    }
    let plain = format!("{value}");
    if plain.contains('.') {
        plain
    } else {
        plain + ".0"
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_as_go_writes_them() {
        for (value, text) in [
            (0.0, "0.0"),
            (1.0, "1.0"),
            (5031.0, "5031.0"),
            (1e11, "1e+11"),
            (3_276_000.0, "3.276e+06"),
            (123_456.0, "123456.0"),
            (0.00001, "1e-05"),
            (12.5, "12.5"),
        ] {
            assert_eq!(number(value), text);
        }
        let time = UNIX_EPOCH + Duration::from_millis(1_719_236_333_446);
        assert_eq!(timestamp(time), "1.719236333446e+09");
    }

    /// The form of a file that cockroach 24.2 wrote.
    #[test]
    fn a_tick_is_a_summary_and_three_gauges() {
        let mut latencies = Latencies::default();
        (0..100).for_each(|_| latencies.record(3000));
        let now = UNIX_EPOCH + Duration::from_millis(1_719_236_333_446);
        let labels = MetricLabels::parse("cloud=aws, my-workload=kv").unwrap();
        let text = tick(
            "write",
            &latencies,
            Duration::from_millis(5031),
            now,
            &labels,
        );
        let own = "cloud=\"aws\",my_workload=\"kv\"";
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(lines[0], "# TYPE write summary");
        assert!(
            lines[1].starts_with(&format!("write{{{own},quantile=\"0.5\"}} ")),
            "{text}"
        );
        assert_eq!(
            lines[4],
            format!("write{{{own},quantile=\"1.0\"}} 3e+06 1.719236333446e+09")
        );
        assert_eq!(
            lines[5],
            format!("write_sum{{{own}}} 0.0 1.719236333446e+09")
        );
        assert_eq!(
            lines[6],
            format!("write_count{{{own}}} 100 1.719236333446e+09")
        );
        assert_eq!(lines[7], "# TYPE write_elapsed gauge");
        assert_eq!(
            lines[8],
            format!("write_elapsed{{{own}}} 5031.0 1.719236333446e+09")
        );
        assert_eq!(lines.len(), 13);
        let none = tick(
            "del",
            &Latencies::default(),
            Duration::ZERO,
            now,
            &MetricLabels::default(),
        );
        assert!(
            !none.contains("quantile") && none.contains("del_count 0 "),
            "{none}"
        );
        let end = end(
            &[("write".to_owned(), now)],
            100_000_000_000,
            &MetricLabels::default(),
        );
        assert_eq!(
            end,
            "# TYPE write_highest_trackable_value gauge\nwrite_highest_trackable_value 1e+11 \
             1.719236333446e+09\n# EOF\n"
        );
        let wrong = MetricLabels::parse("cloud").unwrap_err();
        assert_eq!(wrong, "--openmetrics-labels: cloud is no NAME=VALUE");
    }
}
