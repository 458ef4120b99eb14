//! Whether a trial was steady: a figure of each of its seconds, judged by `pgdyno_stats`. What is
//! measured of a second depends on the trial's pace: in a closed loop its throughput; under a rate,
//! where throughput is that of the schedule, response times too.

use pgdyno_measurement::{Interval, Recording, Second, Units};
use pgdyno_stats::{Steadiness as Judged, steadiness};
use serde::Serialize;

use super::Figure;
use pgdyno_spec::text;

/// Shorter intervals are the rest of a second at the end of a phase: they are no second's figure.
const SECOND_MIN_S: f64 = 0.999;
/// A stall that is no longer does not make a trial unsteady.
const STALL_MIN_US: u64 = 1_000_000;

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

/// Whether a figure was steady over the seconds of the measured time.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct Steadiness {
    pub figure: Figure,
    /// How many seconds were judged.
    pub seconds: usize,
    pub verdict: SteadinessVerdict,
    /// From the first to the last quarter, as a share.
    pub change: Option<f64>,
    pub p: Option<f64>,
    /// From which second on, after a warm-up.
    pub steady_from_s: Option<usize>,
    pub sentence: String,
}

/// What was found of a figure's seconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
#[cfg_attr(test, derive(ts_rs::TS))]
pub enum SteadinessVerdict {
    Steady,
    Drifts,
    /// It begins with a warm-up.
    WarmUp,
    /// Single seconds lie far below the others.
    Holes,
    /// It goes up and down.
    Alternates,
    /// For a while it was on another level.
    Level,
    /// Too few seconds to say.
    TooShort,
    Incomplete,
}

impl Steadiness {
    /// Of throughput, and of response time under a rate.
    pub fn all(recording: &Recording) -> Vec<Self> {
        let mut scripts = recording.seconds.iter().flat_map(|second| &second.scripts);
        let has_schedule = scripts.any(|script| script.response.is_some());
        let response = has_schedule.then_some(Figure::ResponseTime);
        let figures = [Figure::Throughput].into_iter().chain(response);
        let longest_us = recording.stalls.iter().map(|stall| stall.length_us);
        let longest_us = longest_us.max().unwrap_or(0);
        let of = |figure: Figure| {
            let measured = recording.seconds.iter();
            let measured = measured.filter(|second| !second.warmup && !second.drain);
            let series: Vec<f64> = measured.filter_map(|s| of_second(figure, s)).collect();
            Self::of(figure, &series).unless_stalled(figure, longest_us)
        };
        figures.map(of).collect()
    }

    /// Where nothing was committed for a second and longer, nothing is steady, whatever a test of the
    /// seconds finds.
    fn unless_stalled(mut self, figure: Figure, longest_us: u64) -> Self {
        if self.verdict == SteadinessVerdict::Steady && longest_us >= STALL_MIN_US {
            let (name, longest) = (figure.name(), text::time(longest_us as f64));
            self.verdict = SteadinessVerdict::Holes;
            self.sentence = format!("{name} was not steady: nothing was committed for {longest}");
        }
        self
    }

    /// Of a figure of each second.
    pub fn of(figure: Figure, series: &[f64]) -> Self {
        let found = steadiness(series);
        let (verdict, trend, steady_from_s) = match found {
            Judged::TooShort { .. } => (SteadinessVerdict::TooShort, None, None),
            Judged::Incomplete { .. } => (SteadinessVerdict::Incomplete, None, None),
            Judged::Steady { quarters, p } => {
                (SteadinessVerdict::Steady, Some((quarters, p)), None)
            }
            Judged::WarmUp { steady_from, .. } => {
                (SteadinessVerdict::WarmUp, None, Some(steady_from))
            }
            Judged::Drifts { quarters, p } => {
                (SteadinessVerdict::Drifts, Some((quarters, p)), None)
            }
            Judged::Holes { .. } => (SteadinessVerdict::Holes, None, None),
            Judged::Alternates { .. } => (SteadinessVerdict::Alternates, None, None),
            Judged::Level { .. } => (SteadinessVerdict::Level, None, None),
        };
        Self {
            figure,
            seconds: series.len(),
            verdict,
            change: trend.map(|(quarters, _)| quarters.change()),
            p: trend.map(|(_, p)| p),
            steady_from_s,
            sentence: found.sentence(figure.name()),
        }
    }
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

    #[test]
    fn a_trial_in_which_nothing_was_committed_for_a_second_is_not_steady() {
        let steady = || Steadiness::of(Figure::Throughput, &[100.0; 60]);
        assert_eq!(steady().verdict, SteadinessVerdict::Steady);
        let short = steady().unless_stalled(Figure::Throughput, 999_999);
        assert_eq!(short, steady());
        let stalled = steady().unless_stalled(Figure::Throughput, 1_000_000);
        assert_eq!(stalled.verdict, SteadinessVerdict::Holes);
        assert_eq!(
            stalled.sentence,
            "throughput was not steady: nothing was committed for 1.00 s"
        );
    }
}
