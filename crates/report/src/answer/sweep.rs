//! What a sweep says: who is ahead where categories were held against each other, else where a workload
//! does most and what limits it there. One workload is never held against another, and what no test of
//! `pgdyno-stats` bears out is not said: then the answer is that it is undecided, and what would tell.

mod contest;
mod duel;
mod peak;
mod planned;
mod shape;
mod sure;
#[cfg(test)]
mod tests;
mod words;

use std::collections::BTreeMap;

use pgdyno_model::document::answer::{Answer, AnswerState};
use pgdyno_model::document::page::PointLimit;
use pgdyno_model::document::points::PointResult;
use pgdyno_model::document::repeats::Summary;
use pgdyno_model::notebook::TrialRow;
use pgdyno_spec::Failure;

use crate::points::Targets;
pub use planned::{Planned, Progress};
pub use shape::{kind, number};
pub use sure::drift;
pub use words::matrix;

/// Looks up what limited a point.
pub type LimitOf<'a> = dyn FnMut(&PointResult) -> Result<Option<PointLimit>, Failure> + 'a;

/// The points of an experiment, and what they are made of.
pub struct Sweep<'a> {
    points: &'a [PointResult],
    all: &'a [TrialRow],
    trials: BTreeMap<i64, &'a TrialRow>,
    planned: &'a Planned,
    targets: &'a Targets,
}

impl<'a> Sweep<'a> {
    /// Of these points; `trials` are all of the experiment, in the order of their numbers.
    pub fn new(
        points: &'a [PointResult],
        trials: &'a [TrialRow],
        planned: &'a Planned,
        targets: &'a Targets,
    ) -> Self {
        Self {
            points,
            all: trials,
            trials: trials.iter().map(|trial| (trial.number, trial)).collect(),
            planned,
            targets,
        }
    }

    /// What it says; `None` without any trial. `limit_of` is asked for few points.
    ///
    /// # Errors
    /// Those of `limit_of`.
    pub fn answer(&self, limit_of: &mut LimitOf<'_>) -> Result<Option<Answer>, Failure> {
        if self.points.is_empty() && self.planned.waiting(self.all).is_empty() {
            return Ok(None);
        }
        let groups = shape::groups(self.points);
        let question = words::question(self, &groups);
        if self
            .points
            .iter()
            .all(|point| self.goodput(point).is_none())
        {
            return Ok(Some(self.nothing(question)));
        }
        let contests = contest::contests(self, &groups);
        let mut answer = if contests.iter().any(|of| !of.is_empty()) {
            words::of_contests(self, &groups, &contests)
        } else {
            let peaks = peak::peaks(self, &groups);
            let mut limits = Vec::new();
            for peak in &peaks {
                limits.push(match peak {
                    Some(peak) => limit_of(peak.best)?,
                    None => None,
                });
            }
            words::of_peaks(self, &peaks, &limits)
        };
        answer.question = question;
        sure::common(self, &mut answer);
        Ok(Some(answer))
    }

    /// Where no point has a figure.
    fn nothing(&self, question: String) -> Answer {
        let mut answer = Answer {
            question,
            sentence: "Not known: no trial counts".to_owned(),
            state: AnswerState::NotKnown,
            ..Answer::default()
        };
        sure::common(self, &mut answer);
        answer
    }

    /// A point's goodput over its repeats.
    fn goodput(&self, point: &'a PointResult) -> Option<&'a Summary> {
        let of = point.figures.get("goodput")?.over_repeats.as_ref()?;
        Some(&of.over)
    }

    /// The trials that a point's figures are made of.
    fn repeats(&self, point: &PointResult) -> Vec<&'a TrialRow> {
        let numbers = point.trials.iter().map(|repeat| repeat.trial);
        numbers
            .filter_map(|number| self.trials.get(&number).copied())
            .collect()
    }
}
