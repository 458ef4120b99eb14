//! How sure the percentiles of one trial are.

use pgdyno_measurement::{Latencies, Packed, Recording, ScriptSecond, Second};
use pgdyno_stats::{Block, Certainty, WIDE};
use serde::Serialize;

use super::{Figures, Latency, Phase};
use crate::notebook::{SecondLatencies, is_whole};
use pgdyno_spec::text::{self, PERCENTILES};

/// The 95 % interval of a percentile that is shown, its transactions depending on one another.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
#[cfg_attr(test, derive(ts_rs::TS), ts(rename = "PercentileInterval"))]
pub struct Interval {
    pub percentile: f64,
    /// The lower end; `null` in a trial of less than ten whole seconds.
    pub low_us: Option<u64>,
    /// The upper end; `null` where it is above all that was measured, too.
    pub high_us: Option<u64>,
    /// So many independent transactions would show the figure as surely; `null` in a trial of less than ten whole
    /// seconds.
    pub effective: Option<f64>,
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
            latency.judge(whole(&recording.seconds, script, of));
        }
    }
}

/// The whole seconds of the measured time, of one script or of all. Unpacked one by one: a trial
/// may have thousands.
pub(super) fn whole<'a>(
    seconds: impl IntoIterator<Item = &'a Second>,
    script: Option<usize>,
    of: fn(&ScriptSecond) -> Option<&Packed>,
) -> impl Iterator<Item = Latencies> {
    let seconds = seconds.into_iter();
    let seconds = seconds.filter(|it| !it.warmup && is_whole(it.length_us, it.drain));
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
    /// By the seconds that it comes from.
    pub(super) fn judge(&mut self, seconds: impl Iterator<Item = Latencies>) {
        let values_us = PERCENTILES.into_iter().zip(self.percentiles_us());
        let shown: Vec<(f64, u64)> = values_us
            .filter_map(|(percentile, value_us)| Some((percentile, value_us?)))
            .collect();
        let mut intervals = Intervals::new(shown);
        seconds.for_each(|second| intervals.add(&second));
        self.intervals = Some(intervals.sorted());
    }
}

/// The intervals of percentiles, from the whole seconds of one trial, or of the repeats of one point in the order in
/// which they ran: repeats that differ are seconds that are like their neighbours.
#[derive(Debug)]
pub struct Intervals {
    values_us: Vec<(f64, u64)>,
    all: Latencies,
    blocks: Vec<Vec<Block>>,
}

impl Intervals {
    /// Of these percentiles (50, 99 …, rising) with their values in microseconds.
    fn new(values_us: Vec<(f64, u64)>) -> Self {
        Self {
            all: Latencies::default(),
            blocks: vec![Vec::new(); values_us.len()],
            values_us,
        }
    }

    /// Of all percentiles that these latencies have: one that is not shown bounds those beyond it, too.
    pub fn of_all(latencies: &Latencies) -> Self {
        let values_us = PERCENTILES.into_iter();
        let values_us =
            values_us.filter_map(|percent| Some((percent, latencies.percentile_us(percent)?)));
        Self::new(values_us.collect())
    }

    /// Those of a trial's seconds.
    pub fn of_seconds(seconds: &[SecondLatencies]) -> Vec<Interval> {
        let mut all = Latencies::default();
        seconds
            .iter()
            .for_each(|second| all.merge(&second.latencies));
        let mut intervals = Self::of_all(&all);
        let whole = seconds.iter().filter(|second| second.is_whole);
        whole.for_each(|second| intervals.add(&second.latencies));
        intervals.sorted()
    }

    /// Takes the next whole second.
    pub fn add(&mut self, second: &Latencies) {
        let mut beyond = vec![0; self.values_us.len()];
        for bucket in second.histogram().buckets() {
            for (beyond, (_, value_us)) in beyond.iter_mut().zip(&self.values_us) {
                if bucket.lowest_us > *value_us {
                    *beyond += bucket.count;
                }
            }
        }
        let count = second.count();
        for (blocks, beyond) in self.blocks.iter_mut().zip(beyond) {
            blocks.push(Block { count, beyond });
        }
        self.all.merge(second);
    }

    /// Those of all percentiles, in order.
    pub fn sorted(&self) -> Vec<Interval> {
        let mut found: Vec<Interval> = self
            .values_us
            .iter()
            .zip(&self.blocks)
            .map(|((percentile, value_us), blocks)| {
                Interval::of(*percentile, *value_us, &self.all, blocks)
            })
            .collect();
        in_order(&mut found, &self.values_us);
        found
    }
}

/// A higher percentile has no lower value: each end is at least that of the percentile before it, no lower end is below
/// the median of the trial, and where one is open, the next ones are.
fn in_order(intervals: &mut [Interval], values_us: &[(f64, u64)]) {
    let (mut low_us, mut high_us) = (None, Some(0));
    for (it, (percentile, value_us)) in intervals.iter_mut().zip(values_us) {
        it.low_us = it.low_us.map(|low| low.max(low_us.unwrap_or(0)));
        it.high_us = it
            .high_us
            .zip(high_us)
            .map(|(high, before)| high.max(before));
        let wide = *value_us as f64 * (1.0 + WIDE);
        it.uncertain |= it.high_us.is_none_or(|high| high as f64 > wide);
        low_us = match *percentile {
            50.0 => Some(*value_us),
            _ => it.low_us,
        };
        high_us = it.high_us;
    }
}

impl Interval {
    /// That of the response times' p99 of a trial, as its document has it; `None` where no p99 is shown.
    pub fn of_response_p99(recording: &Recording) -> Option<Self> {
        let all = recording.measured.all();
        let mut latency = Latency::from(all.response.as_ref()?);
        latency.judge(whole(&recording.seconds, None, |script| {
            script.response.as_ref()
        }));
        latency.interval(99.0).copied()
    }

    /// A figure as it is shown, with the mark of doubt `~` where its interval has it.
    pub fn marked(shown: String, interval: Option<&Self>) -> String {
        match interval {
            Some(interval) if interval.uncertain => format!("{shown}{}", text::UNCERTAIN),
            _ => shown,
        }
    }

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
            effective: found.effective,
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
        latency.judge(seconds.iter().cloned());
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

    #[test]
    fn a_higher_percentile_has_no_lower_interval() {
        // p90 is of one burst, and may lie anywhere; p99 would be narrow by itself.
        let bursts = |i: u64| if i == 3 { 900 } else { 20 };
        let latency = judged(&(0..12).map(|i| second(bursts(i))).collect::<Vec<_>>());
        let all = latency.intervals.as_ref().unwrap();
        assert!(all.len() >= 4, "{all:?}");
        let high = |it: &Interval| it.high_us.unwrap_or(u64::MAX);
        for pair in all.windows(2) {
            assert!(pair[0].low_us <= pair[1].low_us, "{pair:?}");
            assert!(high(&pair[0]) <= high(&pair[1]), "{pair:?}");
        }
        let p50_us = latency.p50_us.unwrap();
        assert!(
            all[1..].iter().all(|it| it.low_us >= Some(p50_us)),
            "{all:?}"
        );
        let narrow = |it: &Interval| high(it) as f64 <= 1.25 * latency.p99_us.unwrap() as f64;
        assert!(all.iter().all(|it| it.uncertain || narrow(it)), "{all:?}");
    }
}
