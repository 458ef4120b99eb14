//! How a system answers when the rate jumps: how long until response times are steady again, and what
//! was missed meanwhile.
//!
//! That is the settling time of control engineering (K. Ogata, Modern Control Engineering, 5th ed.
//! 2010, section 5-3: until the response stays within a band around its final value), of the response
//! times of a system under an open load, as N. R. Herbst, S. Kounev and R. Reussner measure elasticity
//! by how long a system is short of what is asked (Elasticity in Cloud Computing, ICAC 2013). Its
//! resolution is a second.

use pgdyno_measurement::{Latencies, Recording, Second};
use serde::Serialize;

use super::course::Step;
use super::phases::measured_from_us;
use pgdyno_spec::Rate;

/// Seconds that a level needs: half of them say what it is.
const SECONDS_MIN: usize = 8;
/// The percentiles that may be followed: the first that every second of the step has.
const PERCENTILES: [f64; 3] = [95.0, 90.0, 50.0];
/// The band around the level: so many standard deviations of a second's percentile, and at least so
/// much of it, and so many microseconds.
const DEVIATIONS: f64 = 3.0;
const BAND_SHARE: f64 = 0.1;
const BAND_US: f64 = 500.0;
/// From the moment on that response times are steady, so many of the seconds lie within the band: one
/// of ten may be out of it.
const WITHIN_SHARE: f64 = 0.9;
/// Successive differences of independent normal values: the median distance from their median times
/// this estimates the standard deviation of the values (1 / (0.6745 · √2)), whatever straight course
/// these have.
const DEVIATION_OF_DIFFERENCES: f64 = 1.0484;

/// A jump of the rate, and what followed.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct RateStep {
    /// When, in microseconds since clients began to work.
    pub at_us: u64,
    /// Transactions a second before it.
    pub from_per_s: f64,
    /// Transactions a second after it.
    pub to_per_s: f64,
    /// Which percentile of response time was followed, second by second: the highest of 95, 90 and 50
    /// that each second has.
    pub percentile: Option<f64>,
    /// Its level before the step: the median of the last seconds.
    pub before_us: Option<u64>,
    /// Its level after it, once steady.
    pub after_us: Option<u64>,
    /// From the step until it was steady; `null` where it never was, or where that is not known.
    pub settled_us: Option<u64>,
    /// Why that is not known.
    pub not_known: Option<String>,
    /// Transactions that were due and not committed from the step until it was steady, or until the
    /// next step.
    pub missed: Option<f64>,
}

impl RateStep {
    /// Each jump of the rate of a trial; none where it does not jump.
    pub fn all(recording: &Recording, rate: &Rate) -> Vec<Self> {
        let length_us = recording.measured.asked_us();
        let steps = super::course::steps(rate.profile(), length_us);
        let mut begun_us = 0;
        let mut all = Vec::new();
        for step in steps {
            all.push(Self::of(recording, rate, &step, begun_us));
            begun_us = step.at_us;
        }
        all
    }

    fn of(recording: &Recording, rate: &Rate, step: &Step, begun_us: u64) -> Self {
        let origin_us = measured_from_us(&recording.seconds);
        let at_us = origin_us + step.at_us;
        let blank = Self {
            at_us,
            from_per_s: step.from,
            to_per_s: step.to,
            ..Self::default()
        };
        let after = whole_seconds(recording, at_us, origin_us + step.until_us);
        if after.len() < SECONDS_MIN {
            let why = format!(
                "fewer than {SECONDS_MIN} seconds at one rate follow: no level can be judged"
            );
            return Self {
                not_known: Some(why),
                ..blank
            };
        }
        let until_us = origin_us + step.until_us;
        let stopped = recording.generator_stops.iter();
        let stopped_us: u64 = stopped.map(|stop| stop.within_us(at_us, until_us)).sum();
        if stopped_us > 0 {
            let why = format!(
                "pgdyno itself did not run for {} of it",
                pgdyno_spec::text::seconds(stopped_us as f64 / 1e6)
            );
            return Self {
                not_known: Some(why),
                ..blank
            };
        }
        let answers: Vec<Latencies> = after.iter().map(|second| response(second)).collect();
        let course = PERCENTILES.into_iter().find_map(|percent| {
            let course = answers.iter().map(|one| match one.count() {
                // Nothing was answered: worse than any answer.
                0 => Some(f64::INFINITY),
                _ => one.percentile_us(percent).map(|us| us as f64),
            });
            Some((percent, course.collect::<Option<Vec<f64>>>()?))
        });
        let Some((percent, course)) = course else {
            let why = "seconds have too few transactions for a percentile".to_owned();
            return Self {
                not_known: Some(why),
                ..blank
            };
        };
        let before = whole_seconds(recording, origin_us + begun_us, at_us);
        let last = &before[before.len() - before.len().div_ceil(2)..];
        let last = last.iter().map(|one| response(one).percentile_us(percent));
        let last: Option<Vec<f64>> = last.map(|us| us.map(|us| us as f64)).collect();
        let settled = settled(&course);
        let until = settled.map_or(after.len(), |(at, _)| at);
        let missed = after[..until].iter().map(|second| {
            let since = |us: u64| us as i64 - origin_us as i64;
            let end_us = second.end_us();
            rate.due(since(second.start_us), since(end_us)) - second.committed() as f64
        });
        Self {
            percentile: Some(percent),
            before_us: last.and_then(|last| median(&last)).map(|us| us as u64),
            after_us: settled.map(|(_, level_us)| level_us as u64),
            settled_us: settled.map(|(at, _)| after[at].start_us.saturating_sub(at_us)),
            missed: Some(missed.fold(0.0, |sum: f64, one| sum + one).max(0.0)),
            ..blank
        }
    }
}

/// The measured seconds that lie within; at its ends those whose greater part does.
fn whole_seconds(recording: &Recording, from_us: u64, to_us: u64) -> Vec<&Second> {
    let phase = super::phases::Phase::new("", from_us, to_us);
    let seconds = recording.seconds.iter();
    seconds
        .filter(|second| phase.has(second) && second.length_us >= 500_000)
        .collect()
}

fn response(second: &Second) -> Latencies {
    let mut all = Latencies::default();
    for script in &second.scripts {
        if let Some(response) = &script.response {
            all.merge(&response.unpack());
        }
    }
    all
}

/// At which second a course is steady, and at what level; `None` where it never is: in the first
/// half of the time it must have come to where it is in the second half.
fn settled(course: &[f64]) -> Option<(usize, f64)> {
    let half = &course[course.len() / 2..];
    let level = median(half).filter(|level| level.is_finite())?;
    let differences = half.windows(2).map(|pair| pair[1] - pair[0]);
    let differences: Vec<f64> = differences.filter(|one| one.is_finite()).collect();
    let trend = median(&differences)?;
    let distances: Vec<f64> = differences.iter().map(|one| (one - trend).abs()).collect();
    let deviation = median(&distances)? * DEVIATION_OF_DIFFERENCES;
    let band = (DEVIATIONS * deviation)
        .max(BAND_SHARE * level)
        .max(BAND_US);
    let is_within = |value: &f64| (value - level).abs() <= band;
    let is_steady = |at: &usize| {
        let rest = &course[*at..];
        let within = rest.iter().filter(|value| is_within(value)).count() as f64;
        rest.iter().take(3).all(is_within) && within >= WITHIN_SHARE * rest.len() as f64
    };
    let at = (0..=course.len() / 2).find(is_steady)?;
    Some((at, level))
}

fn median(values: &[f64]) -> Option<f64> {
    let mut values = values.to_vec();
    values.sort_by(f64::total_cmp);
    let middle = values.len() / 2;
    match values.len() {
        0 => None,
        count if count % 2 == 0 => Some(f64::midpoint(values[middle - 1], values[middle])),
        _ => Some(values[middle]),
    }
}

#[cfg(test)]
mod tests {
    use pgdyno_measurement::{Drain, Outcome, Phase, ScriptInterval, ScriptSecond};

    use super::*;

    /// Seconds with so many commits each, which took so many milliseconds, a little more or less.
    fn recording(seconds: &[(u64, f64)]) -> Recording {
        let second = |(at, (committed, ms)): (usize, &(u64, f64))| {
            let mut script = ScriptInterval::default();
            let response = script.response.get_or_insert_default();
            for number in 0..*committed {
                script.counts.book(Outcome::Committed, 1);
                let noise = ((number * 7919 + at as u64 * 104_729) % 1000) as f64 / 1000.0;
                response.record((ms * 1000.0 * (0.8 + 0.4 * noise)) as u64);
            }
            Second {
                start_us: at as u64 * 1_000_000,
                length_us: 1_000_000,
                warmup: at < 2,
                time: Default::default(),
                drain: false,
                scripts: vec![ScriptSecond::from(&script)],
            }
        };
        let all = seconds.iter().enumerate().map(second);
        Recording {
            measured: Phase {
                elapsed_us: (seconds.len() as u64 - 2) * 1_000_000,
                drain: Drain::default(),
                ..Phase::default()
            },
            seconds: all.collect(),
            ..Recording::default()
        }
    }

    /// Two seconds of warm-up, 20 at 300 a second and 5 ms, then these.
    fn with(after: impl IntoIterator<Item = (u64, f64)>) -> Vec<RateStep> {
        let before = std::iter::repeat_n((300, 5.0), 22);
        let all: Vec<(u64, f64)> = before.chain(after).collect();
        let rate: Rate = "300@20s,600@20s".parse().unwrap();
        RateStep::all(&recording(&all), &rate)
    }

    #[test]
    fn response_that_stays_is_steady_at_once() {
        let steps = with(std::iter::repeat_n((600, 5.0), 20));
        let [step] = &steps[..] else {
            panic!("{steps:?}")
        };
        assert_eq!(
            (step.at_us, step.from_per_s, step.to_per_s),
            (22_000_000, 300.0, 600.0)
        );
        assert_eq!((step.settled_us, step.missed), (Some(0), Some(0.0)));
        assert_eq!(step.percentile, Some(95.0));
        assert!(step.before_us.unwrap().abs_diff(step.after_us.unwrap()) < 500);
    }

    #[test]
    fn response_that_comes_back_after_seven_seconds_says_so_and_what_was_missed() {
        let slow = (0..7).map(|at| (500, 900.0 - 100.0 * f64::from(at)));
        let steps = with(slow.chain(std::iter::repeat_n((600, 5.0), 13)));
        assert_eq!(steps[0].settled_us, Some(7_000_000));
        assert_eq!(steps[0].missed, Some(700.0));
    }

    #[test]
    fn response_that_grows_is_never_steady() {
        let steps = with((0..20).map(|at| (400, 50.0 + 300.0 * f64::from(at))));
        assert_eq!((steps[0].settled_us, steps[0].after_us), (None, None));
        assert_eq!(steps[0].not_known, None);
        assert_eq!(steps[0].missed, Some(4000.0));
        // Not even where there are few seconds to tell.
        let steps = with((0..8).map(|at| (400, 50.0 + 300.0 * f64::from(at))));
        assert_eq!(steps[0].settled_us, None);
        // Nor is one that answers nothing, and one that swings.
        let steps = with(std::iter::repeat_n((0, 1.0), 20));
        assert_eq!(
            (steps[0].settled_us, steps[0].missed),
            (None, Some(12_000.0))
        );
        let steps = with((0..20).map(|at| (600, if at % 10 < 5 { 5.0 } else { 500.0 })));
        assert_eq!(steps[0].settled_us, None);
    }

    #[test]
    fn one_slow_second_is_no_lack_of_steadiness() {
        let steps = with((0..20).map(|at| (600, if at == 13 { 80.0 } else { 5.0 })));
        assert_eq!(steps[0].settled_us, Some(0));
    }

    #[test]
    fn what_is_too_short_or_too_rare_is_not_known() {
        let steps = with(std::iter::repeat_n((600, 5.0), 5));
        let why = steps[0].not_known.as_deref().unwrap();
        assert!(why.contains("fewer than 8 seconds"), "{why}");
        assert_eq!((steps[0].settled_us, steps[0].missed), (None, None));
        let steps = with(std::iter::repeat_n((7, 5.0), 20));
        let why = steps[0].not_known.as_deref().unwrap();
        assert!(why.contains("too few transactions"), "{why}");
        // The median needs fewer.
        let steps = with(std::iter::repeat_n((30, 5.0), 20));
        assert_eq!(steps[0].percentile, Some(50.0));
        assert_eq!(steps[0].settled_us, Some(0));
    }
}
