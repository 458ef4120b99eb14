//! Latencies as a Prometheus histogram: a fixed set of cumulative buckets, counted from those of an
//! [`Histogram`](pgdyno_measurement::Histogram). They are the same for all metrics and in every scrape, so
//! that they can be added up over scripts, generators and time.

use std::sync::LazyLock;

use pgdyno_measurement::Latencies;

use crate::exposition::Exposition;

/// Bounds in a decade, in hundredths: neighbours differ by a quarter.
const STEPS: [u64; 10] = [100, 125, 160, 200, 250, 320, 400, 500, 630, 800];
/// From 10 µs to below 100 s.
const DECADES: u32 = 7;
/// How many bounds there are; the last one is 100 s, and what is longer has no bucket but `+Inf`.
pub const BOUNDS: usize = STEPS.len() * DECADES as usize + 1;

/// The longest latency of each bucket, in nanoseconds: 12.5 µs is one of them.
static BOUNDS_NS: LazyLock<[u64; BOUNDS]> = LazyLock::new(|| {
    std::array::from_fn(|index| {
        let decade = 10_u64.pow((index / STEPS.len()) as u32);
        STEPS[index % STEPS.len()] * 100 * decade
    })
});

/// The same in seconds, as labels: in both formats with a point, so that a change of format makes no
/// other series.
static LABELS: LazyLock<[String; BOUNDS]> = LazyLock::new(|| {
    BOUNDS_NS.map(|bound_ns| {
        let bound_s = (bound_ns as f64 / 1e9).to_string();
        if bound_s.contains('.') {
            bound_s
        } else {
            bound_s + ".0"
        }
    })
});

#[derive(Debug, Clone)]
pub struct Buckets {
    /// Not cumulative; those above all bounds are in `count` only.
    counts: [u64; BOUNDS],
    count: u64,
    sum_us: u64,
}

impl Default for Buckets {
    fn default() -> Self {
        Self {
            counts: [0; BOUNDS],
            count: 0,
            sum_us: 0,
        }
    }
}

impl Buckets {
    /// Adds these. Where a bucket of theirs lies across a bound it counts above it, so a bucket never
    /// has a latency beyond its bound; it may lack those within 0.1 % of it.
    pub fn add(&mut self, latencies: &Latencies) {
        let mut at = 0;
        for theirs in latencies.histogram().buckets() {
            let highest_ns = theirs.highest_us.saturating_mul(1000);
            // Theirs come in their order.
            at += BOUNDS_NS[at..].partition_point(|bound_ns| *bound_ns < highest_ns);
            match self.counts.get_mut(at) {
                Some(mine) => *mine += theirs.count,
                None => break,
            }
        }
        self.count += latencies.count();
        self.sum_us += latencies.sum_us();
    }

    /// Writes them as samples of this family, with a label.
    pub fn write(&self, page: &mut Exposition, name: &str, label: (&str, &str)) {
        let bucket = format!("{name}_bucket");
        let mut below = 0;
        for (bound_s, count) in LABELS.iter().zip(&self.counts) {
            below += count;
            page.sample(&bucket, &[label, ("le", bound_s)], below as f64);
        }
        page.sample(&bucket, &[label, ("le", "+Inf")], self.count as f64);
        page.sample(&format!("{name}_sum"), &[label], self.sum_us as f64 / 1e6);
        page.sample(&format!("{name}_count"), &[label], self.count as f64);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::exposition::Format;

    fn written(buckets: &Buckets) -> Vec<(String, f64)> {
        let mut page = Exposition::new(Format::Text);
        buckets.write(&mut page, "x", ("a", "b"));
        let text = page.end();
        let lines = text.lines().map(|line| line.rsplit_once(' ').unwrap());
        lines
            .map(|(name, value)| (name.to_owned(), value.parse().unwrap()))
            .collect()
    }

    #[test]
    fn bounds_are_seconds_in_steps_of_a_quarter() {
        let some = [0, 1, 9, 10, 20, 50, 70].map(|index| LABELS[index].as_str());
        assert_eq!(
            some,
            [
                "0.00001",
                "0.0000125",
                "0.00008",
                "0.0001",
                "0.001",
                "1.0",
                "100.0"
            ]
        );
        for pair in BOUNDS_NS.windows(2) {
            let factor = pair[1] as f64 / pair[0] as f64;
            assert!((1.25..=1.29).contains(&factor), "{pair:?}");
        }
    }

    #[test]
    fn buckets_add_up_and_have_nothing_beyond_their_bound() {
        let mut latencies = Latencies::default();
        let all_us = [
            0,
            10,
            11,
            12,
            13,
            999,
            1000,
            1001,
            99_000_000,
            3_000_000_000,
        ];
        all_us.iter().for_each(|us| latencies.record(*us));
        let mut buckets = Buckets::default();
        buckets.add(&latencies);
        buckets.add(&Latencies::default());
        buckets.add(&latencies);
        let samples = written(&buckets);
        assert_eq!(samples.len(), BOUNDS + 3);
        let value = |name: &str| samples.iter().find(|(n, _)| n == name).unwrap().1;
        let at = |le: &str| value(&format!("x_bucket{{a=\"b\",le=\"{le}\"}}"));
        assert_eq!(at("0.00001"), 4.0);
        assert_eq!(at("0.0000125"), 8.0);
        assert_eq!(at("0.000016"), 10.0);
        assert_eq!(
            (at("0.0008"), at("0.001"), at("0.00125")),
            (10.0, 14.0, 16.0)
        );
        assert_eq!((at("80.0"), at("100.0"), at("+Inf")), (16.0, 18.0, 20.0));
        assert_eq!(value("x_count{a=\"b\"}"), 20.0);
        let sum_us: u64 = all_us.iter().sum();
        assert_eq!(value("x_sum{a=\"b\"}"), 2.0 * sum_us as f64 / 1e6);
        assert!(
            samples[..=BOUNDS]
                .windows(2)
                .all(|two| two[0].1 <= two[1].1)
        );
    }

    #[test]
    fn what_buckets_say_of_a_share_is_within_a_step_of_the_histogram() {
        let mut latencies = Latencies::default();
        // A small generator: every run the same latencies, over six decades.
        let mut state = 0x2545_f491_4f6c_dd1d_u64;
        for _ in 0..100_000 {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            let share = (state >> 11) as f64 / (1_u64 << 53) as f64;
            latencies.record((15.0 * 10_f64.powf(share * 6.0)) as u64);
        }
        let mut buckets = Buckets::default();
        buckets.add(&latencies);
        for share in [0.01, 0.5, 0.9, 0.99, 0.999] {
            let exact_ns = latencies.histogram().quantile_us(share).unwrap() * 1000;
            let wanted = (share * buckets.count as f64).ceil() as u64;
            let mut below = 0;
            let at = buckets.counts.iter().position(|count| {
                below += count;
                below >= wanted
            });
            let upper_ns = BOUNDS_NS[at.unwrap()];
            assert!(
                exact_ns <= upper_ns && upper_ns <= exact_ns * 13 / 10,
                "{share}"
            );
        }
    }
}
