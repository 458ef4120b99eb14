//! How far the percentiles of one trial can be trusted.

use pgdyno_drive::record::{Latencies, Packed, Recording, ScriptSecond};
use pgdyno_stats::{Block, Dependence};
use serde::Serialize;

use super::{Figures, Latency, Phase};
use crate::text::PERCENTILES;

/// A second that is shorter than this, at the end of a phase, is no block.
const BLOCK_US_MIN: u64 = 900_000;
/// So many effective transactions must lie beyond a percentile that is shown.
const NEEDED_BEYOND: f64 = 10.0;

/// How far a percentile can be trusted, its transactions depending on one another.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
#[cfg_attr(test, derive(ts_rs::TS), ts(rename = "PercentileInterval"))]
pub struct Interval {
    /// Such as 99.
    pub percentile: f64,
    /// So many independent transactions would show it as surely.
    pub effective: f64,
    /// The lower end of its 95 % interval; `null` where this trial does not show it.
    pub low_us: Option<u64>,
    /// The upper end; `null` where it is above all that was measured, too.
    pub high_us: Option<u64>,
    /// About how long a trial shows it; `null` where this one does.
    pub needs_s: Option<f64>,
}

impl Phase {
    /// Gives the measured time's latencies their intervals, and withholds the percentiles above the
    /// median that fewer than ten effective transactions lie beyond. A trial of less than ten whole seconds
    /// stays as it is: how its transactions depend on one another is not known.
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
        let values_us = PERCENTILES.map(|percent| all.histogram().quantile_us(percent / 100.0));
        let mut blocks = PERCENTILES.map(|_| Vec::new());
        for second in seconds() {
            let mut beyond = PERCENTILES.map(|_| 0);
            for bucket in second.histogram().buckets() {
                for (beyond, value_us) in beyond.iter_mut().zip(values_us) {
                    if value_us.is_some_and(|value_us| bucket.highest_us > value_us) {
                        *beyond += bucket.count;
                    }
                }
            }
            let count = second.count();
            for (blocks, beyond) in blocks.iter_mut().zip(beyond) {
                blocks.push(Block { count, beyond });
            }
        }
        let intervals = PERCENTILES.into_iter().zip(&blocks);
        let intervals = intervals.map(|(percent, blocks)| Interval::of(percent, &all, blocks));
        let Some(intervals) = intervals.collect::<Option<Vec<_>>>() else {
            return;
        };
        self.withhold(&intervals);
        self.intervals = Some(intervals);
    }

    /// Withholds the percentiles that these withhold, save the median: it is about no tail, and says
    /// what half of these transactions took, if not how sure that is.
    pub fn withhold(&mut self, intervals: &[Interval]) {
        let shown = [
            &mut self.p50_us,
            &mut self.p90_us,
            &mut self.p95_us,
            &mut self.p99_us,
            &mut self.p99_9_us,
        ];
        for (shown, interval) in shown.into_iter().zip(intervals).skip(1) {
            *shown = shown.filter(|_| interval.needs_s.is_none());
        }
    }
}

impl Interval {
    fn of(percentile: f64, all: &Latencies, blocks: &[Block]) -> Option<Self> {
        let dependence = Dependence::alone(percentile, blocks)?;
        let beyond = dependence.effective * (1.0 - percentile / 100.0);
        let is_shown = dependence.supports(percentile);
        let (low, high) = dependence.shares;
        let is_reached = (1.0 - high) * all.count() as f64 >= 1.0;
        let end_us = |share: f64| {
            let end_us = all.histogram().quantile_us(share);
            end_us.map(|us| us.min(all.max_us()))
        };
        Some(Self {
            percentile,
            effective: dependence.effective,
            low_us: end_us(low).filter(|_| is_shown),
            high_us: end_us(high).filter(|_| is_shown && is_reached),
            needs_s: (!is_shown).then(|| blocks.len() as f64 * NEEDED_BEYOND / beyond),
        })
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
    fn slow_transactions_of_every_second_show_the_p99_with_its_interval() {
        let latency = judged(&(0..30).map(|i| second(15 + i % 3)).collect::<Vec<_>>());
        let p99 = latency.intervals.as_ref().unwrap()[3];
        let value_us = latency.p99_us.unwrap();
        assert_eq!((p99.percentile, p99.needs_s), (99.0, None));
        assert!(p99.low_us.unwrap() < value_us && value_us < p99.high_us.unwrap());
        assert!(p99.effective > 1_000.0, "{p99:?}");
    }

    #[test]
    fn slow_transactions_of_one_second_withhold_the_p99_but_not_the_median() {
        let seconds: Vec<_> = (0..30)
            .map(|i| second(if i == 9 { 450 } else { 0 }))
            .collect();
        let latency = judged(&seconds);
        assert!(latency.p50_us.is_some() && latency.p99_us.is_none());
        let p99 = latency.intervals.unwrap()[3];
        assert_eq!((p99.low_us, p99.high_us), (None, None));
        assert!(p99.needs_s.unwrap() > 60.0, "{p99:?}");
    }

    #[test]
    fn the_median_is_shown_in_any_case_and_its_interval_only_where_it_is_known() {
        let seconds: Vec<_> = (0..30)
            .map(|i| second(if i < 14 { 900 } else { 100 }))
            .collect();
        let latency = judged(&seconds);
        assert!(latency.p50_us.is_some() && latency.p90_us.is_none());
        let p50 = latency.intervals.unwrap()[0];
        assert_eq!((p50.low_us, p50.needs_s.is_some()), (None, true));
    }

    #[test]
    fn a_trial_of_nine_seconds_is_not_judged() {
        let latency = judged(&(0..9).map(|_| second(15)).collect::<Vec<_>>());
        assert!(latency.p99_us.is_some());
        assert_eq!(latency.intervals, None);
    }
}
