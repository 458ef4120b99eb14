//! Histograms as the page has them.

use serde::Serialize;

/// Counts of values by bucket: flat pairs `[gap, count, gap, count, …]`. The first gap is the index of
/// the first bucket, each further one the distance to the bucket before. Counts are above 0.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct Packed(pub Vec<u64>);

/// A histogram with buckets of its own: bucket `i` ends at `value_us[i]` (HdrHistogram's highest
/// equivalent value), ascending; same length as `count`. Sum of `count` is the number of values.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct Histogram {
    /// Where each bucket ends, in microseconds.
    pub value_us: Vec<u64>,
    /// How many values it has.
    pub count: Vec<u64>,
    /// The longest, exact; `null` without any.
    pub max_us: Option<u64>,
}
