//! The warm-up of a trial: given as a time, or ended when the trial is steady. The engine runs it
//! for its time at most; here it is watched second by second and ended early.

use std::time::Duration;

use pgdyno_drive::Control;
use pgdyno_drive::record::{Interval, Phase};
use pgdyno_model::Observer;
use pgdyno_stats::{WarmUp, WarmUpState};
use serde::{Deserialize, Serialize};

use super::duration;
use super::steady::Figure;
use super::trial::Trial;

/// The longest that a detected warm-up takes when the user does not say.
const LIMIT_DEFAULT: Duration = Duration::from_secs(60);

/// What was asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Asked {
    /// So long.
    Given(Duration),
    /// Until the trial is steady, at most so long.
    Detected {
        /// So long.
        limit: Duration,
    },
}

impl Asked {
    /// Reads `10s`, `auto`, `auto=2m`.
    ///
    /// # Errors
    /// What is wrong with it, and what is allowed.
    pub fn parse(text: &str) -> Result<Self, String> {
        let Some(rest) = text.strip_prefix("auto") else {
            return duration::parse(text)
                .map(Self::Given)
                .map_err(|why| format!("{why}; or auto, auto=2m: until it is steady"));
        };
        let limit = match rest.strip_prefix('=') {
            Some(limit) => duration::parse(limit)?,
            None if rest.is_empty() => LIMIT_DEFAULT,
            None => return Err("a limit is written so: auto=2m".to_owned()),
        };
        let least_s = WarmUp::SECONDS_MIN;
        if limit < Duration::from_secs(least_s as u64) {
            return Err(format!(
                "fewer than {least_s} s do not tell whether it is steady: auto={least_s}s or more"
            ));
        }
        Ok(Self::Detected { limit })
    }

    /// The longest that it takes.
    pub fn longest(self) -> Duration {
        match self {
            Self::Given(time) => time,
            Self::Detected { limit } => limit,
        }
    }

    /// Whether its end is found while it runs.
    pub fn is_detected(self) -> bool {
        matches!(self, Self::Detected { .. })
    }
}

/// Why a warm-up whose end was to be found came to it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum By {
    /// The trial was steady.
    Steady,
    /// The limit came first.
    Limit,
    /// The trial ended in it: nothing was measured.
    Trial,
}

/// How such a warm-up ended.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Ended {
    /// Why.
    #[serde(rename = "ended_by")]
    pub by: By,
    /// What was watched.
    pub figure: Figure,
    /// At the limit, what was still going on: the change over the later half, as a share of the
    /// median there. `None` where it makes no share.
    pub change: Option<f64>,
}

/// Watches a trial and ends its warm-up.
pub struct Watch<'a> {
    control: &'a Control,
    /// Nothing to do where the warm-up has its time.
    warmup: Option<WarmUp>,
    figure: Figure,
    state: WarmUpState,
}

impl<'a> Watch<'a> {
    /// For a run of this trial, steered by this control.
    pub fn new(trial: &Trial, control: &'a Control) -> Self {
        let limit_s = trial.drive.warmup.as_secs() as usize;
        Self {
            control,
            warmup: trial.detects_warmup.then(|| WarmUp::new(limit_s)),
            figure: Figure::of_pace(trial.drive.rate),
            state: WarmUpState::Warming,
        }
    }

    /// How it ended, once the run is over; `None` where its time was given. `measured` is what came
    /// after it.
    pub fn ended(&self, measured: &Phase) -> Option<Ended> {
        self.warmup.as_ref()?;
        let (by, change) = match self.state {
            _ if measured.elapsed_us == 0 => (By::Trial, None),
            WarmUpState::Steady { .. } => (By::Steady, None),
            WarmUpState::LimitReached { change, .. } => (By::Limit, change),
            WarmUpState::Warming => (By::Limit, None),
        };
        Some(Ended {
            by,
            figure: self.figure,
            change,
        })
    }
}

impl<O> Observer<O> for Watch<'_> {
    fn second(&mut self, interval: &Interval) {
        if let (Some(warmup), true) = (&mut self.warmup, interval.warmup)
            && let Some(figure) = self.figure.of_interval(interval)
        {
            self.state = warmup.push(figure);
            if let WarmUpState::Steady { .. } = self.state {
                self.control.end_warmup();
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_warm_up_is_a_time_or_auto_with_a_limit() {
        let seconds = Duration::from_secs;
        for (text, want) in [
            ("0", Asked::Given(seconds(0))),
            ("10s", Asked::Given(seconds(10))),
            ("auto", Asked::Detected { limit: seconds(60) }),
            (
                "auto=2m",
                Asked::Detected {
                    limit: seconds(120),
                },
            ),
            ("auto=10", Asked::Detected { limit: seconds(10) }),
        ] {
            assert_eq!(Asked::parse(text), Ok(want), "{text}");
        }
        for (text, words) in [
            ("soon", "or auto, auto=2m"),
            ("automatic", "a limit is written so: auto=2m"),
            ("auto 30s", "a limit is written so: auto=2m"),
            ("auto=", "a duration is a number"),
            ("auto=9s", "auto=10s or more"),
        ] {
            let error = Asked::parse(text).unwrap_err();
            assert!(error.contains(words), "{text}: {error}");
        }
    }
}
