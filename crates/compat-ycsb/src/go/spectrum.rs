//! `histogram.percentiles.export`: how latencies are distributed, a file for each operation, in the text that plotters
//! of HdrHistogram read. (Facts: PercentilesPrint of hdrhistogram-go 1.1.2, as go-ycsb calls it.)

use pgdyno_measurement::Histogram;

/// Of go-ycsb's histogram, which has latencies of up to a day: how many ranges there are, each twice as long as the
/// one before it, and how many parts each has.
const RANGES: u32 = 27;
const PARTS: u32 = 2048;

/// The lines: value in microseconds, share from 0 to 1, and how many latencies are not above the value. Each share is
/// half as far from 1 as the one before it.
fn steps(histogram: &Histogram) -> Vec<(u64, f64, u64)> {
    let total = histogram.count();
    let (mut steps, mut seen, mut next_percent) = (Vec::new(), 0u64, 0.0f64);
    for bucket in histogram.buckets() {
        seen = seen.saturating_add(bucket.count);
        let percent = 100.0 * seen as f64 / total as f64;
        while next_percent <= percent {
            steps.push((bucket.highest_us, next_percent / 100.0, seen));
            let halvings = (100.0 / (100.0 - next_percent)).log2().trunc() + 1.0;
            next_percent += 100.0 / 2f64.powf(halvings).trunc();
            // The last value has one of these, and then the line of all.
            if seen >= total {
                steps.push((bucket.highest_us, 1.0, seen));
                break;
            }
        }
    }
    steps
}

/// The text of a histogram.
pub fn text(histogram: &Histogram) -> String {
    let total = histogram.count();
    let mut text = " Value\tPercentile\tTotalCount\t1/(1-Percentile)\n\n".to_owned();
    for (value_us, share, seen) in steps(histogram) {
        let inverse = match share {
            1.0.. => "inf".to_owned(),
            _ => format!("{:.2}", 1.0 / (1.0 - share)),
        };
        let value_us = value_us as f64;
        text += &format!("{value_us:>12.3} {share:>12.6} {seen:>12} {inverse:>12}\n");
    }
    // Latencies stand in the middles of their buckets, as there.
    let mean = |of: &dyn Fn(f64) -> f64| {
        let sums = histogram.buckets();
        let sums = sums.map(|bucket| of(bucket.middle_us() as f64) * bucket.count as f64);
        sums.sum::<f64>() / total.max(1) as f64
    };
    let mean_us = mean(&|us| us);
    let deviation_us = mean(&|us| (us - mean_us).powi(2)).sqrt();
    let last = histogram.buckets().last();
    let max_us = last.map_or(0, |bucket| bucket.highest_us) as f64;
    text + &format!(
        "#[Mean    = {mean_us:>12.3}, StdDeviation   = {deviation_us:>12.3}]\n\
         #[Max     = {max_us:>12.3}, Total count    = {total:>12}]\n\
         #[Buckets = {RANGES:>12}, SubBuckets     = {PARTS:>12}]\n"
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use pgdyno_measurement::Latencies;

    /// Ten latencies, by the rules of PercentilesPrint.
    #[test]
    fn lines_halve_the_way_to_all() {
        let mut latencies = Latencies::default();
        for latency_us in [1, 2, 3, 4, 5, 6, 7, 8, 9, 4096] {
            latencies.record(latency_us);
        }
        assert_eq!(
            text(latencies.histogram()),
            " Value\tPercentile\tTotalCount\t1/(1-Percentile)\n\n\
             \x20      1.000     0.000000            1         1.00\n\
             \x20      5.000     0.500000            5         2.00\n\
             \x20      8.000     0.750000            8         4.00\n\
             \x20      9.000     0.875000            9         8.00\n\
             \x20   4099.000     0.937500           10        16.00\n\
             \x20   4099.000     1.000000           10          inf\n\
             #[Mean    =      414.300, StdDeviation   =     1227.902]\n\
             #[Max     =     4099.000, Total count    =           10]\n\
             #[Buckets =           27, SubBuckets     =         2048]\n"
        );
    }
}
