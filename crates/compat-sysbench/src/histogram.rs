//! Latencies in sysbench's buckets: 1024 of them, even on a logarithmic scale from 1 µs to 100 s.
//! (Facts: sb_histogram.c.)

use std::fmt::Write;

use pgdyno_measurement::Latencies;

const SIZE: usize = 1024;
const LOWEST_MS: f64 = 0.001;
const HIGHEST_MS: f64 = 100_000.0;
const WIDTH: f64 = 40.0;

/// How many latencies there are in each bucket.
#[derive(Debug, Clone)]
pub struct SysbenchHistogram {
    counts: Vec<u64>,
    count: u64,
}

impl Default for SysbenchHistogram {
    fn default() -> Self {
        Self {
            counts: vec![0; SIZE],
            count: 0,
        }
    }
}

fn per_e() -> f64 {
    (SIZE - 1) as f64 / (HIGHEST_MS.ln() - LOWEST_MS.ln())
}

/// The latency shown for a whole bucket, in milliseconds.
fn value_ms(bucket: usize) -> f64 {
    (bucket as f64 / per_e() + LOWEST_MS.ln()).exp()
}

impl SysbenchHistogram {
    /// Adds some of one length.
    pub fn add(&mut self, latency_us: u64, count: u64) {
        let place = ((latency_us as f64 / 1000.0).ln() - LOWEST_MS.ln()) * per_e();
        // Less than a microsecond is minus infinity, and the first one.
        let bucket = (place + 0.5).floor().clamp(0.0, (SIZE - 1) as f64) as usize;
        self.counts[bucket] += count;
        self.count += count;
    }

    pub fn add_all(&mut self, latencies: &Latencies) {
        for bucket in latencies.histogram().buckets() {
            self.add(bucket.middle_us().min(latencies.max_us()), bucket.count);
        }
    }

    /// A percentile in milliseconds; without latencies that of the first bucket.
    pub fn percentile_ms(&self, percent: u64) -> f64 {
        let wanted = (self.count as f64 * percent as f64 / 100.0 + 0.5).floor() as u64;
        let mut seen = 0;
        let found = self.counts.iter().position(|count| {
            seen += count;
            seen >= wanted
        });
        value_ms(found.unwrap_or(SIZE))
    }

    /// The table of `--histogram`; nothing when there are no latencies.
    pub fn table(&self) -> String {
        let most = self.counts.iter().copied().max().unwrap_or(0);
        if most == 0 {
            return String::new();
        }
        let mut text = String::from(
            "Latency histogram (values are in milliseconds)\n       value  ------------- distribution ------------- count\n",
        );
        for (bucket, count) in self
            .counts
            .iter()
            .enumerate()
            .filter(|(_, count)| **count > 0)
        {
            let width = (*count as f64 * WIDTH / most as f64 + 0.5).floor() as usize;
            let bar = "*".repeat(width);
            // Writing to a string does not fail.
            let _ = writeln!(text, "{:12.3} |{bar:<40} {count}", value_ms(bucket));
        }
        text + " \n"
    }

    pub fn clear(&mut self) {
        *self = Self::default();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_and_bars_are_those_that_sysbench_printed() {
        let mut histogram = SysbenchHistogram::default();
        // Values of a table that 1.0.20 printed, with its counts.
        for (ms, count) in [
            (1.227, 1),
            (1.367, 2),
            (12.524, 1),
            (846.572, 5),
            (1013.597, 2),
        ] {
            histogram.add((ms * 1000.0) as u64, count);
        }
        assert_eq!(
            histogram.table(),
            "Latency histogram (values are in milliseconds)\n       \
             value  ------------- distribution ------------- count\n       \
             1.227 |********                                 1\n       \
             1.367 |****************                         2\n      \
             12.524 |********                                 1\n     \
             846.572 |**************************************** 5\n    \
             1013.597 |****************                         2\n \n"
        );
        assert_eq!(format!("{:.2}", histogram.percentile_ms(99)), "1013.60");
        histogram.clear();
        assert_eq!(histogram.table(), "");
        assert_eq!(format!("{:.2}", histogram.percentile_ms(95)), "0.00");
    }

    #[test]
    fn what_is_too_short_or_too_long_is_in_the_outermost_buckets() {
        let mut histogram = SysbenchHistogram::default();
        histogram.add(0, 1);
        assert_eq!(format!("{:.3}", histogram.percentile_ms(100)), "0.001");
        histogram.add(u64::MAX, 3);
        assert_eq!(format!("{:.0}", histogram.percentile_ms(95)), "100000");
    }
}
