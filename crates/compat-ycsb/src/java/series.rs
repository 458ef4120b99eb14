//! Averages over time, for `measurementtype=timeseries`: of whole seconds from the engine's, of parts of them from
//! single operations.

use std::collections::BTreeMap;

use pgdyno_measurement::Latencies;

use super::figures::Named;

/// Latencies of an interval, as far as an average needs them.
#[derive(Debug, Clone, Copy, Default)]
struct SeriesSum {
    count: u64,
    sum_us: u64,
}

/// By name and start of the interval in milliseconds.
#[derive(Debug, Default)]
pub struct Series {
    sums: BTreeMap<String, BTreeMap<u64, [SeriesSum; 2]>>,
}

impl SeriesSum {
    fn add(&mut self, latencies: &Latencies) {
        self.count += latencies.count();
        self.sum_us += latencies.sum_us();
    }
}

impl Series {
    /// Adds what was done in a second that began then.
    pub fn add(&mut self, start_s: f64, granularity_ms: u64, second: &Named) {
        let slot_ms = (start_s * 1000.0).round() as u64 / granularity_ms * granularity_ms;
        for (name, figures) in second {
            let slots = self.sums.entry(name.clone()).or_default();
            let [service, response] = slots.entry(slot_ms).or_default();
            service.add(&figures.service);
            response.add(&figures.response);
        }
    }

    /// Adds an operation that ended then.
    pub fn record(
        &mut self,
        name: String,
        at_ms: u64,
        granularity_ms: u64,
        [service_us, response_us]: [u64; 2],
    ) {
        let slots = self.sums.entry(name).or_default();
        let both = slots
            .entry(at_ms / granularity_ms * granularity_ms)
            .or_default();
        for (sum, latency_us) in both.iter_mut().zip([service_us, response_us]) {
            sum.count += 1;
            sum.sum_us += latency_us;
        }
    }

    /// Start in milliseconds and average in microseconds, where there was an operation.
    pub fn averages(&self, name: &str, is_of_schedule: bool) -> Vec<(u64, f64)> {
        let slots = self.sums.get(name).into_iter().flatten();
        let sums = slots.map(|(start_ms, sums)| (*start_ms, sums[usize::from(is_of_schedule)]));
        let done = sums.filter(|(_, sum)| sum.count > 0);
        done.map(|(start_ms, sum)| (start_ms, sum.sum_us as f64 / sum.count as f64))
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn seconds_are_averaged_by_granularity() {
        let mut series = Series::default();
        for (start_s, latency_us) in [(0.0, 100), (1.0, 300), (2.0001, 50)] {
            let mut second = Named::new();
            let figures = second.entry("READ".to_owned()).or_default();
            figures.service.record(latency_us);
            figures.response.record(latency_us * 2);
            series.add(start_s, 2000, &second);
        }
        assert_eq!(series.averages("READ", false), [(0, 200.0), (2000, 50.0)]);
        assert_eq!(series.averages("READ", true), [(0, 400.0), (2000, 100.0)]);
        assert!(series.averages("SCAN", false).is_empty());
    }

    #[test]
    fn parts_of_a_second_are_averaged_from_single_operations() {
        let mut series = Series::default();
        for (at_ms, latency_us) in [(0, 100), (249, 300), (250, 50), (1_999, 7)] {
            let both = [latency_us, latency_us * 2];
            series.record("READ".to_owned(), at_ms, 250, both);
        }
        assert_eq!(
            series.averages("READ", false),
            [(0, 200.0), (250, 50.0), (1750, 7.0)]
        );
        assert_eq!(series.averages("READ", true)[0], (0, 400.0));
    }
}
