//! The warm-up of a trial: given as a time, or ended when the trial is steady. The engine runs it
//! for its time at most; here it is watched second by second and ended early.

use pgdyno_drive::Control;
use pgdyno_measurement::{Interval, Phase};
use pgdyno_model::Observer;
use pgdyno_model::document::steadiness;
use pgdyno_model::document::{EndedBy, Figure, WarmupEnd};
use pgdyno_spec::TrialSpec;
use pgdyno_stats::{WarmUp, WarmUpState};

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
            figure: Figure::of_pace(spec.rate.as_ref()),
            state: WarmUpState::Warming,
        }
    }

    /// How it ended, once the run is over; `None` where its time was given. `measured` is what came
    /// after it.
    pub fn ended(&self, measured: &Phase) -> Option<WarmupEnd> {
        self.warmup.as_ref()?;
        let (by, change) = match self.state {
            _ if measured.elapsed_us == 0 => (EndedBy::Trial, None),
            WarmUpState::Steady { .. } => (EndedBy::Steady, None),
            WarmUpState::LimitReached { change, .. } => (EndedBy::Limit, change),
            WarmUpState::Warming => (EndedBy::Limit, None),
        };
        Some(WarmupEnd {
            by,
            figure: self.figure,
            change,
        })
    }
}

impl<O> Observer<O> for Watch<'_> {
    fn second(&mut self, interval: &Interval) {
        if let (Some(warmup), true) = (&mut self.warmup, interval.warmup)
            && let Some(figure) = steadiness::of_interval(self.figure, interval)
        {
            self.state = warmup.push(figure);
            if let WarmUpState::Steady { .. } = self.state {
                self.control.end_warmup();
            }
        }
    }
}
