//! Latencies of many transactions: a histogram, and exact sums beside it.
//!
//! Short latencies have a bucket for each microsecond, so the histogram itself tells their sums exactly;
//! only of longer ones sums are kept. One that is as short is booked with a few instructions.

use std::fmt;

use super::Histogram;
use super::histogram::EXACT_BELOW_US;

/// Latencies in microseconds. The maximum and the sums are exact, percentiles have three digits.
#[derive(Clone, Default, PartialEq)]
pub struct Latencies {
    histogram: Histogram,
    /// The sum minus that of [`Histogram::exact_sums`]. Below 0 when [`Latencies::record_counted`] was given a
    /// smaller sum than its counts have.
    more_us: i128,
    more_us2: i128,
    max_us: u64,
}

/// Not the thousands of buckets.
impl fmt::Debug for Latencies {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Latencies")
            .field("count", &self.count())
            .field("sum_us", &self.sum_us())
            .field("max_us", &self.max_us)
            .finish_non_exhaustive()
    }
}

impl Latencies {
    /// Adds one latency in microseconds.
    #[inline]
    pub fn record(&mut self, latency_us: u64) {
        if !self.histogram.counts(latency_us) {
            self.record_longer(latency_us);
        }
    }

    /// One that is long, or the longest of the short ones so far.
    #[inline(never)]
    fn record_longer(&mut self, latency_us: u64) {
        match u32::try_from(latency_us) {
            Ok(long_us)
                if latency_us >= EXACT_BELOW_US && self.histogram.counts_beyond(long_us) =>
            {
                // Nothing of 32 bits fills 128.
                self.more_us += i128::from(latency_us);
                self.more_us2 += i128::from(latency_us * latency_us);
                self.max_us = self.max_us.max(latency_us);
            }
            _ => self.record_first(latency_us),
        }
    }

    /// One that is the first of its kind, or longer than an hour.
    #[cold]
    fn record_first(&mut self, latency_us: u64) {
        self.histogram.record_n(latency_us, 1);
        self.max_us = self.max_us.max(latency_us);
        if latency_us >= EXACT_BELOW_US {
            self.more_us = self.more_us.saturating_add(latency_us.into());
            self.more_us2 = self.more_us2.saturating_add(square(latency_us));
        }
    }

    /// Adds latencies that the server has counted by size, in microseconds each with how many;
    /// their sum and maximum are given exactly, and no counted size is above the maximum.
    pub fn record_counted(
        &mut self,
        counted: impl Iterator<Item = (u64, u64)>,
        sum_us: u64,
        max_us: u64,
    ) {
        let (all_us, mut all_us2) = self.sums();
        for (latency_us, count) in counted {
            self.histogram.record_n(latency_us, count);
            let squares = square(latency_us).saturating_mul(count.into());
            all_us2 = all_us2.saturating_add(squares);
        }
        self.set_sums(all_us.saturating_add(sum_us.into()), all_us2);
        self.max_us = self.max_us.max(max_us);
    }

    pub fn count(&self) -> u64 {
        self.histogram.count()
    }

    /// The sum in microseconds, exact.
    pub fn sum_us(&self) -> u64 {
        let (all_us, _) = self.sums();
        u64::try_from(all_us.max(0)).unwrap_or(u64::MAX)
    }

    /// The sum of the squares, exact.
    fn sum_squares_us2(&self) -> u128 {
        let (_, all_us2) = self.sums();
        u128::try_from(all_us2).unwrap_or(0)
    }

    fn sums(&self) -> (i128, i128) {
        let (exact_us, exact_us2) = self.histogram.exact_sums();
        (
            signed(exact_us).saturating_add(self.more_us),
            signed(exact_us2).saturating_add(self.more_us2),
        )
    }

    fn set_sums(&mut self, all_us: i128, all_us2: i128) {
        let (exact_us, exact_us2) = self.histogram.exact_sums();
        self.more_us = all_us.saturating_sub(signed(exact_us));
        self.more_us2 = all_us2.saturating_sub(signed(exact_us2));
    }

    /// The longest in microseconds, exact; 0 when there is none.
    pub fn max_us(&self) -> u64 {
        self.max_us
    }

    /// The mean in microseconds, from the exact sum.
    pub fn mean_us(&self) -> Option<f64> {
        let count = self.count();
        (count > 0).then(|| self.sum_us() as f64 / count as f64)
    }

    /// The standard deviation in microseconds over all values (not an estimate from a sample), as
    /// pgbench prints it.
    pub fn stddev_us(&self) -> Option<f64> {
        self.variance_us2().map(f64::sqrt)
    }

    /// The square of the standard deviation, as YCSB prints it.
    pub fn variance_us2(&self) -> Option<f64> {
        let mean = self.mean_us()?;
        let mean_square = self.sum_squares_us2() as f64 / self.count() as f64;
        Some((mean_square - mean * mean).max(0.0))
    }

    /// The `percent`ile in microseconds, when at least ten values lie beyond it: with fewer it
    /// would say more about chance than about the server.
    pub fn percentile_us(&self, percent: f64) -> Option<u64> {
        let beyond = self.count() as f64 * (1.0 - percent / 100.0);
        // A tolerance for products such as 1000 × 0.01, which floating point puts below ten.
        if beyond + 1e-6 < 10.0 {
            return None;
        }
        let value_us = self.histogram.quantile_us(percent / 100.0)?;
        Some(value_us.min(self.max_us))
    }

    /// The histogram, for readers that need all of it.
    pub fn histogram(&self) -> &Histogram {
        &self.histogram
    }

    /// Adds another's values, which may come from a damaged notebook.
    pub fn merge(&mut self, other: &Self) {
        self.histogram.merge(&other.histogram);
        self.more_us = self.more_us.saturating_add(other.more_us);
        self.more_us2 = self.more_us2.saturating_add(other.more_us2);
        self.max_us = self.max_us.max(other.max_us);
    }

    /// Forgets all values and keeps the memory.
    pub fn clear(&mut self) {
        self.histogram.clear();
        (self.more_us, self.more_us2, self.max_us) = (0, 0, 0);
    }

    /// The same values in little memory.
    pub fn pack(&self) -> Packed {
        let histogram = if self.histogram.is_empty() {
            Vec::new()
        } else {
            self.histogram.encode()
        };
        Packed {
            histogram,
            sum_us: self.sum_us(),
            sum_squares_us2: self.sum_squares_us2(),
            max_us: self.max_us,
        }
    }
}

fn square(latency_us: u64) -> i128 {
    signed(u128::from(latency_us) * u128::from(latency_us))
}

fn signed(sum: u128) -> i128 {
    i128::try_from(sum).unwrap_or(i128::MAX)
}

/// [`Latencies`] as they are kept for each second: HdrHistogram's V2 encoding, which leaves empty
/// buckets out.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Packed {
    histogram: Vec<u8>,
    sum_us: u64,
    sum_squares_us2: u128,
    max_us: u64,
}

impl Packed {
    pub fn unpack(&self) -> Latencies {
        let histogram = if self.histogram.is_empty() {
            Histogram::default()
        } else {
            // `pack` made the bytes, or `from_parts` has tried them.
            Histogram::decode(&self.histogram).expect("bytes of a histogram")
        };
        let mut latencies = Latencies {
            histogram,
            max_us: self.max_us,
            ..Latencies::default()
        };
        latencies.set_sums(self.sum_us.into(), signed(self.sum_squares_us2));
        latencies
    }

    /// HdrHistogram's V2 encoding; nothing when there is no value.
    pub fn bytes(&self) -> &[u8] {
        &self.histogram
    }

    /// The sum in microseconds, exact.
    pub fn sum_us(&self) -> u64 {
        self.sum_us
    }

    /// The sum of the squares, exact.
    pub fn sum_squares_us2(&self) -> u128 {
        self.sum_squares_us2
    }

    /// The longest in microseconds, exact; 0 when there is none.
    pub fn max_us(&self) -> u64 {
        self.max_us
    }

    /// What was kept as [`Packed::bytes`] and sums; `None` when the bytes are no histogram of these
    /// bounds.
    pub fn from_parts(
        bytes: Vec<u8>,
        sum_us: u64,
        sum_squares_us2: u128,
        max_us: u64,
    ) -> Option<Self> {
        if !bytes.is_empty() {
            Histogram::decode(&bytes)?;
        }
        Some(Self {
            histogram: bytes,
            sum_us,
            sum_squares_us2,
            max_us,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const HOUR_US: u64 = 3_600_000_000;

    #[test]
    fn a_percentile_needs_ten_values_beyond_it() {
        let mut latencies = Latencies::default();
        for latency_us in 1..=999 {
            latencies.record(latency_us);
        }
        assert_eq!(latencies.percentile_us(99.0), None);
        latencies.record(1000);
        assert_eq!(latencies.percentile_us(99.0), Some(990));
        assert_eq!(latencies.percentile_us(50.0), Some(500));
        assert_eq!(latencies.percentile_us(99.9), None);
    }

    #[test]
    fn sums_are_exact_and_a_percentile_never_exceeds_the_maximum() {
        let mut latencies = Latencies::default();
        for _ in 0..100 {
            latencies.record(1_000_001);
        }
        latencies.record(2 * HOUR_US);
        assert_eq!(latencies.sum_us(), 100 * 1_000_001 + 2 * HOUR_US);
        assert_eq!(latencies.max_us(), 2 * HOUR_US);
        let mut even = Latencies::default();
        (0..1000).for_each(|_| even.record(1_000_001));
        assert_eq!(even.percentile_us(50.0), Some(1_000_001));
        assert_eq!(even.stddev_us(), Some(0.0));
    }

    #[test]
    fn sums_are_exact_though_the_histogram_rounds() {
        // On both sides of what has a bucket for each microsecond, in no order.
        let values = || (0..3000_u64).map(|i| i * i * 7919 % 4099);
        let (mut all, mut halves) = (Latencies::default(), <[Latencies; 2]>::default());
        for (at, latency_us) in values().enumerate() {
            all.record(latency_us);
            halves[at % 2].record(latency_us);
        }
        let [mut merged, other] = halves;
        merged.merge(&other);
        assert_eq!(merged, all);
        let squares = values().map(|us| u128::from(us) * u128::from(us)).sum();
        let of = |of: &Packed| (of.sum_us(), of.sum_squares_us2(), of.max_us());
        let expected = (values().sum(), squares, values().max().unwrap());
        assert_eq!(of(&all.pack()), expected);
        assert_eq!((all.count(), all.sum_us()), (3000, expected.0));
        // Less than the histogram would tell, whose middles are too long here.
        all.record_counted([(1000, 2), (3000, 1)].into_iter(), 4600, 4099);
        let squares = squares + 2 * 1_000_000 + 9_000_000;
        assert_eq!(of(&all.pack()), (expected.0 + 4600, squares, 4099));
        assert_eq!(all.pack().unpack(), all);
    }

    #[test]
    fn packed_latencies_unpack_to_the_same() {
        let mut latencies = Latencies::default();
        for latency_us in [0, 1, 17, 1000, 123_456, 9_999_999] {
            latencies.record(latency_us);
        }
        let packed = latencies.pack();
        assert!(packed.bytes().len() < 200, "{} bytes", packed.bytes().len());
        let unpacked = packed.unpack();
        assert_eq!(unpacked.count(), 6);
        assert_eq!(unpacked.max_us(), 9_999_999);
        assert_eq!(unpacked, latencies);
        let nothing = Latencies::default();
        assert_eq!(nothing.pack().unpack(), nothing);
        let bytes = packed.bytes().to_vec();
        let (sum, squares) = (packed.sum_us(), packed.sum_squares_us2());
        assert_eq!(
            Packed::from_parts(bytes.clone(), sum, squares, packed.max_us()),
            Some(packed)
        );
        assert_eq!(Packed::from_parts(bytes[..9].to_vec(), 1, 1, 1), None);
        assert_eq!(Packed::from_parts(b"no histogram".to_vec(), 1, 1, 1), None);
        let mut cleared = unpacked;
        cleared.clear();
        assert_eq!(
            (
                cleared.count(),
                cleared.sum_us(),
                cleared.percentile_us(0.0)
            ),
            (0, 0, None)
        );
    }
}
