//! How long what was due waited for its thread: the event loop's lag.
//!
//! Booked for each answer that the kernel hands over and for each deadline, so it is made to cost
//! next to nothing: no float, no allocation, a few hundred counters that stay in the cache. Its
//! resolution is an eighth; latencies, which results are made of, have [`super::Latencies`].

use pgdyno_platform::clock::Nanos;

/// Each doubling has so many buckets.
const PARTS: usize = 8;
const PART_BITS: u32 = PARTS.trailing_zeros();
/// Lags from 2^36 ns (69 s) on are one bucket.
const DOUBLINGS: usize = 37;
const BUCKETS: usize = DOUBLINGS * PARTS;

/// The lags of one thread's event loop.
///
/// The lag of an answer is what it is estimated to have waited for its thread: for a CPU, and for those
/// before it in its turn (`probe.rs`); of many turns those are reported that were followed. The lag of a
/// deadline is how late it was attended to, whatever the reason.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Lags {
    counts: Box<[u32; BUCKETS]>,
    max_ns: Nanos,
}

impl Default for Lags {
    fn default() -> Self {
        Self {
            counts: Box::new([0; BUCKETS]),
            max_ns: 0,
        }
    }
}

impl Lags {
    #[inline]
    pub fn record(&mut self, lag: Nanos) {
        let count = &mut self.counts[bucket(lag)];
        *count = count.saturating_add(1);
        self.max_ns = self.max_ns.max(lag);
    }

    pub fn count(&self) -> u64 {
        self.counts.iter().map(|count| u64::from(*count)).sum()
    }

    /// The longest in microseconds, exact; 0 when there is none.
    pub fn max_us(&self) -> f64 {
        self.max_ns as f64 / 1000.0
    }

    /// The `percent`ile in microseconds, at most an eighth too high, when at least ten lags lie
    /// beyond it.
    pub fn percentile_us(&self, percent: f64) -> Option<f64> {
        let count = self.count() as f64;
        if count * (1.0 - percent / 100.0) + 1e-6 < 10.0 {
            return None;
        }
        let wanted = count * percent / 100.0;
        let mut seen = 0;
        for (bucket, count) in self.counts.iter().enumerate() {
            seen += u64::from(*count);
            if seen as f64 >= wanted && seen > 0 {
                return Some(highest(bucket).min(self.max_ns) as f64 / 1000.0);
            }
        }
        None
    }

    pub fn merge(&mut self, other: &Self) {
        for (mine, theirs) in self.counts.iter_mut().zip(other.counts.iter()) {
            *mine = mine.saturating_add(*theirs);
        }
        self.max_ns = self.max_ns.max(other.max_ns);
    }

    pub fn clear(&mut self) {
        self.counts.fill(0);
        self.max_ns = 0;
    }
}

#[inline]
fn bucket(lag: Nanos) -> usize {
    if lag < PARTS as u64 {
        return lag as usize;
    }
    let doubling = lag.ilog2();
    let part = (lag >> (doubling - PART_BITS)) as usize & (PARTS - 1);
    let bucket = (doubling - PART_BITS + 1) as usize * PARTS + part;
    bucket.min(BUCKETS - 1)
}

/// The highest lag that belongs to a bucket, but for the last.
fn highest(bucket: usize) -> Nanos {
    let (doubling, part) = (bucket / PARTS, (bucket % PARTS) as u64);
    match doubling {
        0 => part,
        _ if bucket == BUCKETS - 1 => Nanos::MAX,
        _ => ((PARTS as u64 + part + 1) << (doubling - 1)) - 1,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_lag_has_a_bucket_that_reaches_to_it_and_little_further() {
        let lags = (0..64).flat_map(|bit| [0, 1, 3].map(|more| (1u64 << bit).saturating_add(more)));
        for lag in lags.chain(0..5000).chain([Nanos::MAX]) {
            let bucket = bucket(lag);
            assert!(lag <= highest(bucket), "{lag}");
            let is_first = bucket == 0;
            assert!(is_first || lag > highest(bucket - 1), "{lag}");
            if bucket < BUCKETS - 1 {
                assert!(highest(bucket) as f64 <= lag as f64 * 1.125, "{lag}");
            }
        }
    }

    #[test]
    fn a_percentile_needs_ten_lags_beyond_it() {
        let mut lags = Lags::default();
        assert_eq!((lags.count(), lags.percentile_us(50.0)), (0, None));
        for _ in 0..990 {
            lags.record(100);
        }
        assert_eq!(lags.percentile_us(99.0), None);
        for _ in 0..11 {
            lags.record(1_000_000);
        }
        assert_eq!((lags.count(), lags.max_us()), (1001, 1000.0));
        assert_eq!(lags.percentile_us(99.0), Some(1000.0));
        let median = lags.percentile_us(50.0).unwrap();
        assert!((0.1..0.1125).contains(&median), "{median}");
        let mut both = Lags::default();
        both.merge(&lags);
        both.merge(&lags);
        assert_eq!(
            (both.count(), both.percentile_us(50.0)),
            (2002, Some(median))
        );
        both.clear();
        assert_eq!(both, Lags::default());
    }
}
