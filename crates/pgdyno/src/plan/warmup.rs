//! The warm-up of a trial: given as a time, or ended when the trial is steady. The engine runs it
//! for its time at most; here it is watched second by second and ended early.

use pgdyno_drive::Control;
use pgdyno_drive::record::{Interval, Phase};
use pgdyno_model::{Observer, TrialSpec};
use pgdyno_stats::{WarmUp, WarmUpState};
use serde::{Deserialize, Serialize};

use super::steady::Figure;

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
    pub fn new(spec: &TrialSpec, control: &'a Control) -> Self {
        let limit_s = spec.warmup.longest().as_secs() as usize;
        Self {
            control,
            warmup: spec.warmup.is_detected().then(|| WarmUp::new(limit_s)),
            figure: Figure::of_pace(spec.rate),
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
