//! Times of one kind.

use pgdyno_measurement::Latencies;
use serde::Serialize;

use super::Interval;
use pgdyno_spec::text;

/// Latencies in microseconds. A percentile with fewer than ten values beyond it is `null`.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
#[cfg_attr(test, derive(ts_rs::TS), ts(rename = "Latencies"))]
pub struct Latency {
    pub count: u64,
    pub mean_us: Option<f64>,
    /// Their standard deviation, over all of them.
    pub stddev_us: Option<f64>,
    pub p50_us: Option<u64>,
    pub p90_us: Option<u64>,
    pub p95_us: Option<u64>,
    pub p99_us: Option<u64>,
    pub p99_9_us: Option<u64>,
    pub max_us: Option<u64>,
    /// The 95 % intervals of the percentiles that are shown; left out where there are no seconds to tell.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(test, ts(optional))]
    pub intervals: Option<Vec<Interval>>,
}

impl Latency {
    /// The percentiles in the order of every report: 50, 90, 95, 99, 99.9.
    pub fn percentiles_us(&self) -> [Option<u64>; 5] {
        [
            self.p50_us,
            self.p90_us,
            self.p95_us,
            self.p99_us,
            self.p99_9_us,
        ]
    }

    /// One of them (50, 90, 95, 99 or 99.9) in milliseconds as tables show it: `33.614`, with the mark of
    /// doubt `33.614~`, and a dash where fewer than ten values lie beyond it.
    pub fn percentile_ms(&self, percentile: f64) -> String {
        self.percentile_as(percentile, text::ms)
    }

    /// The same in three digits: `33.6~`.
    pub fn percentile_ms_shortly(&self, percentile: f64) -> String {
        self.percentile_as(percentile, |us| text::ms_as_shown(us as f64))
    }

    fn percentile_as(&self, percentile: f64, write: impl Fn(u64) -> String) -> String {
        let at = text::PERCENTILES.iter().position(|it| *it == percentile);
        let value_us = at.and_then(|at| self.percentiles_us()[at]);
        match value_us {
            Some(us) => Interval::marked(write(us), self.interval(percentile)),
            None => text::DASH.to_owned(),
        }
    }

    /// The interval of one of them, where there is one.
    pub fn interval(&self, percentile: f64) -> Option<&Interval> {
        let mut intervals = self.intervals.iter().flatten();
        intervals.find(|it| it.percentile == percentile)
    }
}

impl From<&Latencies> for Latency {
    fn from(latencies: &Latencies) -> Self {
        Self {
            count: latencies.count(),
            mean_us: latencies.mean_us(),
            stddev_us: latencies.stddev_us(),
            p50_us: latencies.percentile_us(50.0),
            p90_us: latencies.percentile_us(90.0),
            p95_us: latencies.percentile_us(95.0),
            p99_us: latencies.percentile_us(99.0),
            p99_9_us: latencies.percentile_us(99.9),
            max_us: (latencies.count() > 0).then(|| latencies.max_us()),
            intervals: None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_percentile_needs_ten_values_beyond_it() {
        let mut latencies = Latencies::default();
        (0..50).for_each(|_| latencies.record(1500));
        let latency = Latency::from(&latencies);
        assert_eq!((latency.p50_us, latency.p90_us), (Some(1500), None));
        assert_eq!(Latency::from(&Latencies::default()), Latency::default());
    }
}
