//! Whether a trial was steady: a figure of each of its seconds, put before `pgdyno_stats`. What is
//! measured of a second depends on the trial's pace: in a closed loop its throughput; under a rate,
//! where throughput is that of the schedule, response times too.

use pgdyno_drive::record::{Interval, Recording, Second, Units};
use pgdyno_stats::{Steadiness, steadiness};
use serde::{Deserialize, Serialize};

/// Shorter intervals are the rest of a second at the end of a phase: they are no second's figure.
const SECOND_MIN_S: f64 = 0.999;

/// A figure of a second.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Figure {
    /// Committed transactions a second; where a workload counts work units, units.
    Throughput,
    /// The mean response time of the committed transactions that ended in it, in microseconds; none
    /// of a second in which none did.
    ResponseTime,
}

impl Figure {
    /// The one that tells most about a trial at this pace.
    pub fn of_pace(rate: Option<f64>) -> Self {
        match rate {
            None => Self::Throughput,
            Some(_) => Self::ResponseTime,
        }
    }

    /// In sentences.
    pub fn name(self) -> &'static str {
        match self {
            Self::Throughput => "throughput",
            Self::ResponseTime => "response time",
        }
    }

    /// Of a second while the trial runs; `None` of less than one. A figure that the second does not
    /// have is not a number.
    pub fn of_interval(self, interval: &Interval) -> Option<f64> {
        let scripts = interval.scripts.iter().map(|script| {
            let response_us = script.response.as_ref().map(|response| response.sum_us());
            Done {
                committed: script.counts.committed,
                units: script.units.iter().map(Units::count).sum(),
                response_us: response_us.unwrap_or(0),
            }
        });
        self.of(interval.length_s(), scripts)
    }

    /// The same of a second that was kept.
    fn of_second(self, second: &Second) -> Option<f64> {
        let scripts = second.scripts.iter().map(|script| {
            let response_us = script.response.as_ref().map(|response| response.sum_us());
            let units = script.units.iter();
            Done {
                committed: script.counts.committed,
                units: units.map(|units| units.unpack().count()).sum(),
                response_us: response_us.unwrap_or(0),
            }
        });
        self.of(second.length_us as f64 / 1e6, scripts)
    }

    fn of(self, length_s: f64, scripts: impl Iterator<Item = Done>) -> Option<f64> {
        if length_s < SECOND_MIN_S {
            return None;
        }
        let all = scripts.fold(Done::default(), |all, script| Done {
            committed: all.committed + script.committed,
            units: all.units + script.units,
            response_us: all.response_us + script.response_us,
        });
        Some(match self {
            Self::Throughput if all.units > 0 => all.units as f64 / length_s,
            Self::Throughput => all.committed as f64 / length_s,
            Self::ResponseTime => all.response_us as f64 / all.committed as f64,
        })
    }
}

/// What a script did in a second.
#[derive(Debug, Clone, Copy, Default)]
struct Done {
    committed: u64,
    units: u64,
    response_us: u64,
}

/// What the seconds of the measured time tell of a figure.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Course {
    /// Of which.
    pub figure: Figure,
    /// Whole seconds that were looked at.
    pub seconds: usize,
    /// What was found.
    pub steadiness: Steadiness,
}

impl Course {
    /// In words.
    pub fn sentence(&self) -> String {
        self.steadiness.sentence(self.figure.name())
    }
}

/// Throughput, and response time under a rate.
pub fn courses(recording: &Recording) -> Vec<Course> {
    let mut scripts = recording.seconds.iter().flat_map(|second| &second.scripts);
    let has_schedule = scripts.any(|script| script.response.is_some());
    let response = has_schedule.then_some(Figure::ResponseTime);
    let figures = [Figure::Throughput].into_iter().chain(response);
    let course = |figure: Figure| {
        let measured = recording.seconds.iter().filter(|second| !second.warmup);
        let series: Vec<f64> = measured.filter_map(|s| figure.of_second(s)).collect();
        Course {
            figure,
            seconds: series.len(),
            steadiness: steadiness(&series),
        }
    };
    figures.map(course).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn throughput_is_of_units_where_they_are_counted() {
        let done = |units| Done {
            committed: 4,
            units,
            response_us: 400,
        };
        let figure = |figure: Figure, units| figure.of(2.0, [done(units), done(units)].into_iter());
        assert_eq!(figure(Figure::Throughput, 0), Some(4.0));
        assert_eq!(figure(Figure::Throughput, 500), Some(500.0));
        assert_eq!(figure(Figure::ResponseTime, 500), Some(100.0));
        assert_eq!(Figure::Throughput.of(0.5, [done(1)].into_iter()), None);
    }
}
