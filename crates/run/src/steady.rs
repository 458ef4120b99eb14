//! Whether a trial was steady: a figure of each of its seconds, put before `pgdyno_stats`. What is
//! measured of a second depends on the trial's pace: in a closed loop its throughput; under a rate,
//! where throughput is that of the schedule, response times too.

use pgdyno_drive::record::{Interval, Recording, Second, Units};
use pgdyno_model::document::Figure;
use pgdyno_stats::{Steadiness, steadiness};

/// Shorter intervals are the rest of a second at the end of a phase: they are no second's figure.
const SECOND_MIN_S: f64 = 0.999;

/// Of a second while the trial runs; `None` of less than one. A figure that the second does not
/// have is not a number.
pub fn of_interval(figure: Figure, interval: &Interval) -> Option<f64> {
    let scripts = interval.scripts.iter().map(|script| {
        let response_us = script.response.as_ref().map(|response| response.sum_us());
        Done {
            committed: script.counts.committed,
            units: script.units.iter().map(Units::count).sum(),
            response_us: response_us.unwrap_or(0),
        }
    });
    of(figure, interval.length_s(), scripts)
}

/// The same of a second that was kept.
fn of_second(figure: Figure, second: &Second) -> Option<f64> {
    let scripts = second.scripts.iter().map(|script| {
        let response_us = script.response.as_ref().map(|response| response.sum_us());
        let units = script.units.iter();
        Done {
            committed: script.counts.committed,
            units: units.map(|units| units.unpack().count()).sum(),
            response_us: response_us.unwrap_or(0),
        }
    });
    of(figure, second.length_us as f64 / 1e6, scripts)
}

fn of(figure: Figure, length_s: f64, scripts: impl Iterator<Item = Done>) -> Option<f64> {
    if length_s < SECOND_MIN_S {
        return None;
    }
    let all = scripts.fold(Done::default(), |all, script| Done {
        committed: all.committed + script.committed,
        units: all.units + script.units,
        response_us: all.response_us + script.response_us,
    });
    Some(match figure {
        Figure::Throughput if all.units > 0 => all.units as f64 / length_s,
        Figure::Throughput => all.committed as f64 / length_s,
        Figure::ResponseTime => all.response_us as f64 / all.committed as f64,
    })
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
        let series: Vec<f64> = measured.filter_map(|s| of_second(figure, s)).collect();
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
        let figure =
            |figure: Figure, units| of(figure, 2.0, [done(units), done(units)].into_iter());
        assert_eq!(figure(Figure::Throughput, 0), Some(4.0));
        assert_eq!(figure(Figure::Throughput, 500), Some(500.0));
        assert_eq!(figure(Figure::ResponseTime, 500), Some(100.0));
        assert_eq!(of(Figure::Throughput, 0.5, [done(1)].into_iter()), None);
    }
}
