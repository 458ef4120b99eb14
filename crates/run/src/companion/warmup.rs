//! The warm-up of a trial: given as a time, or ended when the trial is steady. The engine runs it
//! for its time at most; here it is watched second by second and ended early.

use pgdyno_drive::Control;
use pgdyno_measurement::Interval;
use pgdyno_model::document::steadiness;
use pgdyno_model::document::{EndedBy, Figure, WarmupEnd};
use pgdyno_model::{Observer, Outcome};
use pgdyno_stats::{WarmUp, WarmUpState};

use crate::companion::{Begun, Companion, Ending, Scene};

/// Watches a trial and ends its warm-up.
struct Watch<'a> {
    control: &'a Control,
    warmup: WarmUp,
    figure: Figure,
    state: WarmUpState,
}

/// Where the end is to be found; a warm-up that has its time is not watched.
pub fn begin<'a>(scene: &mut Scene<'a>) -> Begun<'a> {
    let spec = scene.spec;
    if !spec.warmup.is_detected() {
        return Ok(None);
    }
    Ok(Some(Box::new(Watch {
        control: scene.control,
        warmup: WarmUp::new(spec.warmup.longest().as_secs() as usize),
        figure: Figure::of_pace(spec.rate.as_ref()),
        state: WarmUpState::Warming,
    })))
}

impl Companion for Watch<'_> {
    fn end(self: Box<Self>, end: &mut Ending<'_>) {
        let (by, change) = match self.state {
            _ if end.recording.measured.elapsed_us == 0 => (EndedBy::Trial, None),
            WarmUpState::Steady { .. } => (EndedBy::Steady, None),
            WarmUpState::LimitReached { change, .. } => (EndedBy::Limit, change),
            WarmUpState::Warming => (EndedBy::Limit, None),
        };
        end.findings.put(&WarmupEnd {
            by,
            figure: self.figure,
            change,
        });
    }
}

impl Observer<Outcome> for Watch<'_> {
    fn second(&mut self, interval: &Interval) {
        if interval.warmup
            && let Some(figure) = steadiness::of_interval(self.figure, interval)
        {
            self.state = self.warmup.push(figure);
            if let WarmUpState::Steady { .. } = self.state {
                self.control.end_warmup();
            }
        }
    }
}
