//! Sums and maxima beside the histogram that has the same values.

use std::fmt::Display;

use pgdyno_measurement::Packed;

use super::checker::Checker;

/// The longest latency that has a bucket of its own.
const HOUR_US: u64 = 3_600_000_000;

/// Whether so many values have these sums and this maximum: within what the buckets leave open.
pub fn check(checker: &mut Checker, what: impl Display, packed: &Packed, count: u64) {
    let latencies = packed.unpack();
    checker.equal(
        format!("{what}: values in the histogram"),
        latencies.count(),
        count,
    );
    let (sum_us, max_us) = (latencies.sum_us(), latencies.max_us());
    let (mut low, mut high) = (0u128, 0u128);
    let (mut squares_low, mut squares_high) = (0u128, 0u128);
    let mut last = None;
    for bucket in latencies.histogram().buckets() {
        let number = u128::from(bucket.count);
        let (lowest, highest) = (u128::from(bucket.lowest_us), u128::from(bucket.highest_us));
        // Less than a microsecond is in the first bucket.
        let lowest = if lowest <= 1 { 0 } else { lowest };
        low = low.saturating_add(number.saturating_mul(lowest));
        high = high.saturating_add(number.saturating_mul(highest));
        squares_low = squares_low.saturating_add(number.saturating_mul(lowest * lowest));
        squares_high = squares_high.saturating_add(number.saturating_mul(highest * highest));
        last = Some((lowest as u64, bucket.highest_us));
    }
    // What is longer than an hour is in the last bucket, and its sums are exact.
    if max_us >= HOUR_US {
        return;
    }
    let within = |low: u128, value: u128, high: u128| low <= value && value <= high;
    checker.holds(
        within(low, sum_us.into(), high),
        format!("{what}: sum in µs"),
        sum_us,
        format!("{low} to {high} by the histogram"),
    );
    let (lowest, highest) = last.unwrap_or((0, 0));
    checker.holds(
        lowest <= max_us && max_us <= highest,
        format!("{what}: longest in µs"),
        max_us,
        format!("{lowest} to {highest} by the histogram"),
    );
    let squares = packed.sum_squares_us2();
    checker.holds(
        within(squares_low, squares, squares_high),
        format!("{what}: sum of squares in µs²"),
        squares,
        format!("{squares_low} to {squares_high} by the histogram"),
    );
}
