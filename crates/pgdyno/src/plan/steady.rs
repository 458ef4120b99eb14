//! Whether a trial was steady: a figure of each of its seconds, put before `pgdyno_stats`. What is
//! measured of a second depends on the trial's pace: in a closed loop its throughput; under a rate,
//! where throughput is that of the schedule, response times too.

use pgdyno_drive::record::{Interval, Recording, Second};
use pgdyno_stats::{Steadiness, steadiness};
use serde::{Deserialize, Serialize};

/// Shorter intervals are the rest of a second at the end of a phase: they are no second's figure.
const SECOND_MIN_S: f64 = 0.999;

/// A figure of a second.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Figure {
    /// Committed transactions a second.
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
            (script.counts.committed, response_us.unwrap_or(0))
        });
        self.of(interval.length_s(), scripts)
    }

    /// The same of a second that was kept.
    fn of_second(self, second: &Second) -> Option<f64> {
        let scripts = second.scripts.iter().map(|script| {
            let response_us = script.response.as_ref().map(|response| response.sum_us());
            (script.counts.committed, response_us.unwrap_or(0))
        });
        self.of(second.length_us as f64 / 1e6, scripts)
    }

    fn of(self, length_s: f64, scripts: impl Iterator<Item = (u64, u64)>) -> Option<f64> {
        if length_s < SECOND_MIN_S {
            return None;
        }
        let (committed, response_us) =
            scripts.fold((0, 0), |all, script| (all.0 + script.0, all.1 + script.1));
        Some(match self {
            Self::Throughput => committed as f64 / length_s,
            Self::ResponseTime => response_us as f64 / committed as f64,
        })
    }
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
