//! Percentiles of the last seconds, for progress lines: of as few seconds as have them.

use std::collections::VecDeque;

use pgdyno_measurement::Latencies;
use pgdyno_spec::text as figures;

/// No more seconds are put together: an older one says little of now.
const SECONDS_MAX: usize = 10;
/// The percentiles of a progress line.
const PERCENTS: [f64; 2] = [50.0, 99.0];

/// The latencies of the last seconds.
#[derive(Debug, Default)]
pub(super) struct Recent {
    seconds: VecDeque<Latencies>,
}

impl Recent {
    pub(super) fn second(&mut self, latencies: &Latencies) {
        self.seconds.push_front(latencies.clone());
        self.seconds.truncate(SECONDS_MAX);
    }

    /// `p50 8.55  p99 33.6 ms`, with `of 5 s` where one second does not have them; only the percentiles
    /// that ten values lie beyond, and nothing without any.
    pub(super) fn text(&self) -> String {
        let mut all = Latencies::default();
        let mut best = (Vec::new(), 0);
        for (at, second) in self.seconds.iter().enumerate() {
            all.merge(second);
            let shown: Vec<String> = PERCENTS
                .iter()
                .filter_map(|percent| {
                    let name = figures::percentile_name(*percent);
                    Some(format!(
                        "{name} {}",
                        figures::ms(all.percentile_us(*percent)?)
                    ))
                })
                .collect();
            if shown.len() > best.0.len() {
                best = (shown, at + 1);
            }
        }
        match best {
            (shown, _) if shown.is_empty() => String::new(),
            (shown, 1) => format!("  {} ms", shown.join("  ")),
            (shown, seconds) => format!("  {} ms of {seconds} s", shown.join("  ")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn second(count: u64) -> Latencies {
        let mut latencies = Latencies::default();
        (0..count).for_each(|_| latencies.record(1500));
        latencies
    }

    #[test]
    fn as_few_seconds_are_put_together_as_have_the_percentiles() {
        let mut recent = Recent::default();
        assert_eq!(recent.text(), "");
        recent.second(&second(300));
        assert_eq!(recent.text(), "  p50 1.500 ms");
        for _ in 0..5 {
            recent.second(&second(300));
        }
        assert_eq!(recent.text(), "  p50 1.500  p99 1.500 ms of 4 s");
        recent.second(&second(2_000));
        assert_eq!(recent.text(), "  p50 1.500  p99 1.500 ms");
        for _ in 0..10 {
            recent.second(&second(0));
        }
        assert_eq!(recent.text(), "", "what is long ago is not of now");
    }
}
