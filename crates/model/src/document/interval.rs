//! How sure the percentiles of one trial are.

use pgdyno_drive::record::{Latencies, Packed, Recording, ScriptSecond};
use pgdyno_stats::{Block, Certainty};
use serde::Serialize;

use super::{Figures, Latency, Phase};
use crate::text::PERCENTILES;

/// A second that is shorter than this, at the end of a phase, is no block.
const BLOCK_US_MIN: u64 = 900_000;

/// The 95 % interval of a percentile that is shown, its transactions depending on one another.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
#[cfg_attr(test, derive(ts_rs::TS), ts(rename = "PercentileInterval"))]
pub struct Interval {
    /// Such as 99.
    pub percentile: f64,
    /// The lower end; `null` in a trial of less than ten whole seconds.
    pub low_us: Option<u64>,
    /// The upper end; `null` where it is above all that was measured, too.
    pub high_us: Option<u64>,
    /// Whether the figure is of this run only, and has the mark `~`: an end lies more than 25 % away or
    /// is open, the slow transactions came in so few bursts that they count as fewer than ten, or the
    /// trial has less than ten whole seconds.
    pub uncertain: bool,
}

impl Phase {
    /// Gives the measured time's latencies their intervals, from its whole seconds.
    pub fn judge(&mut self, recording: &Recording) {
        judge(&mut self.all, recording, None);
        if let [only] = &mut self.scripts[..] {
            let Figures {
                service,
                attempt,
                response,
                schedule_lag,
                ..
            } = self.all.clone();
            only.figures.service = service;
            only.figures.attempt = attempt;
            only.figures.response = response;
            only.figures.schedule_lag = schedule_lag;
            return;
        }
        for (number, script) in self.scripts.iter_mut().enumerate() {
            judge(&mut script.figures, recording, Some(number));
        }
    }
}

fn judge(figures: &mut Figures, recording: &Recording, script: Option<usize>) {
    let Figures {
        service,
        attempt,
        response,
        schedule_lag,
        ..
    } = figures;
    type Of = fn(&ScriptSecond) -> Option<&Packed>;
    let kinds: [(Option<&mut Latency>, Of); 4] = [
        (Some(service), |second| Some(&second.service)),
        (attempt.as_mut(), |second| second.attempt.as_ref()),
        (response.as_mut(), |second| second.response.as_ref()),
        (schedule_lag.as_mut(), |second| second.lag.as_ref()),
    ];
    for (latency, of) in kinds {
        if let Some(latency) = latency {
            latency.judge(|| seconds(recording, script, of));
        }
    }
}

/// The whole seconds of the measured time, of one script or of all. Unpacked one by one: a trial
/// may have thousands.
fn seconds(
    recording: &Recording,
    script: Option<usize>,
    of: fn(&ScriptSecond) -> Option<&Packed>,
) -> impl Iterator<Item = Latencies> {
    let seconds = recording.seconds.iter();
    let seconds = seconds.filter(|it| !it.warmup && !it.drain && it.length_us >= BLOCK_US_MIN);
    seconds.map(move |second| {
        let mut all = Latencies::default();
        for (number, one) in second.scripts.iter().enumerate() {
            if script.is_none_or(|it| it == number)
                && let Some(packed) = of(one)
            {
                all.merge(&packed.unpack());
            }
        }
        all
    })
}

impl Latency {
    /// By the seconds that it comes from, which are gone through twice.
    fn judge<I: Iterator<Item = Latencies>>(&mut self, seconds: impl Fn() -> I) {
        let mut all = Latencies::default();
        seconds().for_each(|second| all.merge(&second));
        let values_us = self.percentiles_us();
        let mut blocks = PERCENTILES.map(|_| Vec::new());
        for second in seconds() {
            let mut beyond = PERCENTILES.map(|_| 0);
            for bucket in second.histogram().buckets() {
                for (beyond, value_us) in beyond.iter_mut().zip(values_us) {
                    if value_us.is_some_and(|value_us| bucket.lowest_us > value_us) {
                        *beyond += bucket.count;
                    }
                }
            }
            let count = second.count();
            for (blocks, beyond) in blocks.iter_mut().zip(beyond) {
                blocks.push(Block { count, beyond });
            }
        }
        let shown = PERCENTILES.into_iter().zip(values_us).zip(&blocks);
        let intervals = shown.filter_map(|((percentile, value_us), blocks)| {
            Some(Interval::of(percentile, value_us?, &all, blocks))
        });
        self.intervals = Some(intervals.collect());
    }
}

impl Interval {
    fn of(percentile: f64, value_us: u64, all: &Latencies, blocks: &[Block]) -> Self {
        let value = value_us as f64;
        let at = |share: f64| {
            let us = all.histogram().quantile_us(share);
            us.map_or(value, |us| us.min(all.max_us()) as f64)
        };
        let found = Certainty::of(percentile, value, blocks, all.count(), at);
        let whole = |us: f64| us.round() as u64;
        Self {
            percentile,
            low_us: found.low.map(whole),
            high_us: found.high.map(whole),
            uncertain: found.is_uncertain,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn second(slow: u64) -> Latencies {
        let mut latencies = Latencies::default();
        (0..1_000 - slow).for_each(|i| latencies.record(1_000 + i % 100));
        (0..slow).for_each(|i| latencies.record(20_000 + 10 * i));
        latencies
    }

    fn judged(seconds: &[Latencies]) -> Latency {
        let mut all = Latencies::default();
        seconds.iter().for_each(|second| all.merge(second));
        let mut latency = Latency::from(&all);
        latency.judge(|| seconds.iter().cloned());
        latency
    }

    #[test]
    fn slow_transactions_of_every_second_give_the_p99_a_narrow_interval() {
        let latency = judged(&(0..30).map(|i| second(15 + i % 3)).collect::<Vec<_>>());
        let p99 = latency.interval(99.0).unwrap();
        let value_us = latency.p99_us.unwrap();
        assert!(p99.low_us.unwrap() < value_us && value_us < p99.high_us.unwrap());
        assert!(!p99.uncertain, "{p99:?}");
    }

    #[test]
    fn slow_transactions_of_one_second_leave_the_p99_with_its_doubt() {
        let seconds: Vec<_> = (0..30)
            .map(|i| second(if i == 9 { 450 } else { 0 }))
            .collect();
        let latency = judged(&seconds);
        assert!(latency.p50_us.is_some() && latency.p99_us.is_some());
        assert!(latency.interval(99.0).unwrap().uncertain);
        assert!(!latency.interval(50.0).unwrap().uncertain);
    }

    #[test]
    fn the_median_of_two_unlike_halves_is_marked_too() {
        let seconds: Vec<_> = (0..30)
            .map(|i| second(if i < 14 { 900 } else { 100 }))
            .collect();
        let latency = judged(&seconds);
        assert!(latency.p50_us.is_some() && latency.p90_us.is_some());
        assert!(latency.interval(50.0).unwrap().uncertain);
    }

    #[test]
    fn a_trial_of_nine_seconds_has_its_percentiles_without_an_interval() {
        let latency = judged(&(0..9).map(|_| second(15)).collect::<Vec<_>>());
        assert!(latency.p99_us.is_some());
        let p99 = latency.interval(99.0).unwrap();
        assert_eq!((p99.low_us, p99.high_us, p99.uncertain), (None, None, true));
    }

    #[test]
    fn a_percentile_that_is_not_shown_has_no_interval() {
        let latency = judged(&[second(1)]);
        assert_eq!(latency.p99_9_us, None);
        assert_eq!(latency.interval(99.9), None);
    }
}
