//! What is printed, to the byte: rows of a tick, totals, the result, and incremental JSON. Figures
//! come in, text goes out. (Facts: captured output of 19.1, published output of 24.1, and
//! pkg/workload/cli/format.go.)

use std::fmt::Write;
use std::time::SystemTime;

use pgdyno_measurement::Latencies;
use time::OffsetDateTime;

use super::flags::go_values::whole_seconds;

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Format {
    /// A table, as cockroach prints it since 19.2.
    #[default]
    Simple,
    /// The same as 19.1 printed it.
    Simple191,
    /// A JSON object an operation and tick; no totals.
    IncrementalJson,
}

impl Format {
    /// The format of this name.
    pub fn named(name: &str) -> Option<Self> {
        match name {
            "simple" => Some(Self::Simple),
            "simple-19.1" => Some(Self::Simple191),
            "incremental-json" => Some(Self::IncrementalJson),
            _ => None,
        }
    }
}

const TICK_HEADER: &str =
    "_elapsed___errors__ops/sec(inst)___ops/sec(cum)__p50(ms)__p95(ms)__p99(ms)_pMax(ms)\n";
const TOTAL_HEADER: &str = "\n_elapsed___errors_____ops(total)___ops/sec(cum)__avg(ms)__p50(ms)__p95(ms)__p99(ms)_pMax(ms)";
const ROWS_A_HEADER: u64 = 20;

/// One operation's part of a tick.
#[derive(Debug)]
pub struct Tick<'a> {
    pub name: &'a str,
    /// What it did in the tick.
    pub latencies: &'a Latencies,
    pub length_s: f64,
    /// How often it was done since the beginning, this tick included.
    pub count: u64,
    /// From the beginning until now.
    pub elapsed_s: f64,
    /// By the clock on the wall.
    pub now: SystemTime,
}

#[derive(Debug, Default)]
pub struct Printer {
    format: Format,
    rows: u64,
    /// Errors so far, of all operations.
    pub errors: u64,
}

impl Printer {
    pub fn new(format: Format) -> Self {
        Self {
            format,
            ..Self::default()
        }
    }

    /// The ramp is over: what follows begins with a header.
    pub fn restart(&mut self) {
        self.rows = 0;
    }

    /// The row of an operation's tick.
    pub fn tick(&mut self, tick: &Tick) -> String {
        let Tick { name, .. } = tick;
        let inst = tick.latencies.count() as f64 / tick.length_s;
        let cum = tick.count as f64 / tick.elapsed_s;
        let [p50, p95, p99, max] = quantiles_ms(tick.latencies);
        let errors = self.errors;
        if self.format == Format::IncrementalJson {
            let now = rfc3339(tick.now);
            return format!(
                "{{\"time\":\"{now}\",\"errs\":{errors},\"avgt\":{inst:.1},\"avgl\":{cum:.1},\
                 \"p50l\":{p50:.1},\"p95l\":{p95:.1},\"p99l\":{p99:.1},\"maxl\":{max:.1},\
                 \"type\":\"{name}\"}}\n"
            );
        }
        let mut text = String::new();
        if self.rows.is_multiple_of(ROWS_A_HEADER) {
            text.push_str(TICK_HEADER);
        }
        self.rows += 1;
        let elapsed = match self.format {
            Format::Simple191 => whole_seconds(tick.elapsed_s.round() as u64),
            _ => format!("{:.1}s", tick.elapsed_s),
        };
        // Writing to a string does not fail.
        let _ = writeln!(
            text,
            "{elapsed:>8} {errors:8} {inst:14.1} {cum:14.1} {p50:8.1} {p95:8.1} {p99:8.1} {max:8.1} {name}"
        );
        text
    }

    /// All that follows the last tick: each operation's total, and the result over all of them.
    pub fn totals(&self, elapsed_s: f64, operations: &[(&str, &Latencies)]) -> String {
        let mut text = String::new();
        if self.format == Format::IncrementalJson {
            return text;
        }
        let total = format!("{TOTAL_HEADER}__total\n");
        if self.format == Format::Simple191 {
            text.push_str(&total);
        }
        let mut all = Latencies::default();
        for (name, latencies) in operations {
            if self.format == Format::Simple {
                text.push_str(&total);
            }
            self.total(&mut text, elapsed_s, name, latencies);
            all.merge(latencies);
        }
        text.push_str(&format!("{TOTAL_HEADER}__result\n"));
        self.total(&mut text, elapsed_s, "", &all);
        text
    }

    fn total(&self, text: &mut String, elapsed_s: f64, name: &str, latencies: &Latencies) {
        let Some(mean_us) = latencies.mean_us() else {
            return;
        };
        let (errors, count) = (self.errors, latencies.count());
        let (cum, avg) = (count as f64 / elapsed_s, mean_us / 1e3);
        let [p50, p95, p99, max] = quantiles_ms(latencies);
        let _ = writeln!(
            text,
            "{elapsed_s:7.1}s {errors:8} {count:14} {cum:14.1} {avg:8.1} {p50:8.1} {p95:8.1} {p99:8.1} {max:8.1}  {name}"
        );
    }
}

/// p50, p95, p99 and the maximum in milliseconds. The table has no way to leave one out, however
/// few operations stand behind it: of none it says 0.0.
fn quantiles_ms(latencies: &Latencies) -> [f64; 4] {
    let max_us = latencies.max_us();
    let at = |quantile| {
        let value_us = latencies.histogram().quantile_us(quantile).unwrap_or(0);
        value_us.min(max_us) as f64 / 1e3
    };
    [at(0.5), at(0.95), at(0.99), max_us as f64 / 1e3]
}

/// A time as Go writes it in JSON: UTC, with the digits of the second that are not zeros at its end.
pub fn rfc3339(time: SystemTime) -> String {
    let time = OffsetDateTime::from(time);
    let (date, hour, minute, second) = (time.date(), time.hour(), time.minute(), time.second());
    let (year, month, day) = (date.year(), u8::from(date.month()), date.day());
    let fraction = format!(".{:09}", time.nanosecond());
    let fraction = fraction.trim_end_matches('0').trim_end_matches('.');
    format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}{fraction}Z")
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::{Duration, UNIX_EPOCH};

    /// Latencies whose p50, p95, p99 and maximum are these.
    fn with(count: u64, [p50, p95, p99, max]: [u64; 4]) -> Latencies {
        let mut latencies = Latencies::default();
        for number in 1..=count {
            let share = number as f64 / count as f64;
            latencies.record(match share {
                s if s <= 0.945 => p50,
                s if s <= 0.985 => p95,
                s if s < 1.0 => p99,
                _ => max,
            });
        }
        latencies
    }

    fn tick<'a>(name: &'a str, latencies: &'a Latencies) -> Tick<'a> {
        Tick {
            name,
            latencies,
            length_s: 1.0,
            count: latencies.count(),
            elapsed_s: 1.0,
            now: UNIX_EPOCH,
        }
    }

    /// Lines as captured from 19.1: `workload run ycsb`, a mix of reads and updates.
    #[test]
    fn rows_of_19_1_are_the_captured_ones() {
        let mut printer = Printer::new(Format::Simple191);
        let read = with(23688, [400, 500, 600, 3000]);
        let captured = "_elapsed___errors__ops/sec(inst)___ops/sec(cum)__p50(ms)__p95(ms)__p99(ms)_pMax(ms)\n      1s        0         2368.8         2391.2      0.4      0.5      0.6      3.0 read\n";
        let printed = printer.tick(&Tick {
            length_s: 10.0,
            count: 23912,
            elapsed_s: 10.0,
            ..tick("read", &read)
        });
        assert_eq!(printed, captured.replace("      1s", "     10s"));
        let update = with(1010, [1000, 1400, 1600, 1900]);
        let printed = printer.tick(&Tick {
            length_s: 10.0,
            count: 1020,
            elapsed_s: 10.0,
            ..tick("update", &update)
        });
        assert_eq!(
            printed,
            "     10s        0          101.0          102.0      1.0      1.4      1.6      1.9 update\n"
        );
        let printed = printer.tick(&Tick {
            elapsed_s: 3661.3,
            ..tick("read", &read)
        });
        assert!(printed.starts_with("  1h1m1s        0 "), "{printed}");
    }

    #[test]
    fn totals_of_19_1_have_the_captured_form() {
        let printer = Printer::new(Format::Simple191);
        let read = with(42872, [400, 600, 700, 9400]);
        let update = with(2207, [1200, 1700, 2400, 8900]);
        let text = printer.totals(20.001, &[("read", &read), ("update", &update)]);
        let captured = "
_elapsed___errors_____ops(total)___ops/sec(cum)__avg(ms)__p50(ms)__p95(ms)__p99(ms)_pMax(ms)__total
   20.0s        0          42872         2143.5      0.4      0.4      0.6      0.7      9.4  read
   20.0s        0           2207          110.3      1.2      1.2      1.7      2.4      8.9  update

_elapsed___errors_____ops(total)___ops/sec(cum)__avg(ms)__p50(ms)__p95(ms)__p99(ms)_pMax(ms)__result
   20.0s        0          45079         2253.8      0.5      0.4      0.7      1.2      9.4  \n";
        assert_eq!(text, captured);
    }

    /// As 24.1 prints it (a published run): a header for each operation, tenths of a second.
    #[test]
    fn the_table_is_the_one_of_later_versions() {
        let mut printer = Printer::new(Format::Simple);
        let read = with(100, [15_200, 39_800, 56_600, 79_700]);
        let row = Tick {
            elapsed_s: 114.0,
            ..tick("transfer", &read)
        };
        let printed = printer.tick(&row);
        assert!(printed.ends_with("\n  114.0s        0          100.0            0.9     15.2     39.8     56.6     79.7 transfer\n"), "{printed}");
        printer.errors = 3;
        let text = printer.totals(120.0, &[("read", &read), ("none", &Latencies::default())]);
        let header = "\n_elapsed___errors_____ops(total)___ops/sec(cum)__avg(ms)__p50(ms)__p95(ms)__p99(ms)_pMax(ms)__total\n";
        assert_eq!(text.matches(header).count(), 2);
        assert!(text.ends_with("__result\n  120.0s        3            100            0.8     17.2     15.2     39.8     56.6     79.7  \n"), "{text}");
    }

    #[test]
    fn a_header_is_printed_every_twenty_rows_and_after_the_ramp() {
        let mut printer = Printer::new(Format::Simple);
        let read = with(1, [1, 1, 1, 1]);
        let has_header: Vec<bool> = (0..41)
            .map(|_| printer.tick(&tick("read", &read)).starts_with('_'))
            .collect();
        let at: Vec<usize> = (0..41).filter(|at| has_header[*at]).collect();
        assert_eq!(at, [0, 20, 40]);
        printer.restart();
        assert!(printer.tick(&tick("read", &read)).starts_with('_'));
    }

    #[test]
    fn a_tick_without_operations_says_zero() {
        let mut printer = Printer::new(Format::Simple);
        let row = printer.tick(&tick("scan", &Latencies::default()));
        assert!(row.ends_with("\n    1.0s        0            0.0            0.0      0.0      0.0      0.0      0.0 scan\n"), "{row}");
    }

    #[test]
    fn incremental_json_is_an_object_a_row_and_nothing_more() {
        let mut printer = Printer::new(Format::IncrementalJson);
        printer.errors = 2;
        let read = with(1000, [400, 500, 600, 3000]);
        let now = UNIX_EPOCH + Duration::from_millis(1_574_000_000_120);
        let text = printer.tick(&Tick {
            now,
            ..tick("read", &read)
        });
        assert_eq!(
            text,
            "{\"time\":\"2019-11-17T14:13:20.12Z\",\"errs\":2,\"avgt\":1000.0,\"avgl\":1000.0,\
             \"p50l\":0.4,\"p95l\":0.5,\"p99l\":0.6,\"maxl\":3.0,\"type\":\"read\"}\n"
        );
        assert!(serde_json::from_str::<serde_json::Value>(&text).is_ok());
        assert_eq!(printer.totals(1.0, &[("read", &read)]), "");
        assert_eq!(rfc3339(UNIX_EPOCH), "1970-01-01T00:00:00Z");
    }
}
