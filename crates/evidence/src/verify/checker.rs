//! Keeps count of what was looked at, and of what does not agree.

use std::fmt::Display;

use super::{Checked, Disagreement, NotChecked};

#[derive(Debug, Default)]
pub struct Checker {
    checked: Checked,
    disagreements: Vec<Disagreement>,
    not_checked: Vec<NotChecked>,
    trial: Option<String>,
    place: String,
}

#[derive(Debug)]
pub struct CheckResult {
    pub checked: Checked,
    pub disagreements: Vec<Disagreement>,
    pub not_checked: Vec<NotChecked>,
}

impl Checker {
    /// What follows is of this trial, in this place.
    pub fn of(&mut self, trial: Option<String>, place: impl Into<String>) {
        self.trial = trial;
        self.place = place.into();
    }

    /// A figure that was computed again.
    pub fn figure(
        &mut self,
        what: impl Display,
        shown: impl Display,
        recomputed: impl Display,
        agrees: bool,
    ) {
        self.checked.recomputed += 1;
        self.differs_unless(agrees, what, shown, recomputed);
    }

    /// The same where equal means equal.
    pub fn equal<T: PartialEq + Display>(&mut self, what: impl Display, shown: T, recomputed: T) {
        let agrees = shown == recomputed;
        self.figure(what, shown, recomputed, agrees);
    }

    /// A value that was read again.
    pub fn value(
        &mut self,
        what: impl Display,
        shown: impl Display,
        found: impl Display,
        agrees: bool,
    ) {
        self.checked.read_again += 1;
        self.differs_unless(agrees, what, shown, found);
    }

    pub fn holds(
        &mut self,
        holds: bool,
        what: impl Display,
        shown: impl Display,
        must: impl Display,
    ) {
        self.checked.relations += 1;
        self.differs_unless(holds, what, shown, must);
    }

    pub fn hash(&mut self, what: impl Display, shown: &str, recomputed: &str) {
        self.checked.hashes += 1;
        self.differs_unless(shown == recomputed, what, shown, recomputed);
    }

    fn differs_unless(
        &mut self,
        agrees: bool,
        what: impl Display,
        shown: impl Display,
        found: impl Display,
    ) {
        if !agrees {
            self.disagreements.push(Disagreement {
                trial: self.trial.clone(),
                place: self.place.clone(),
                what: what.to_string(),
                shown: shown.to_string(),
                recomputed: found.to_string(),
            });
        }
    }

    /// Something that is not looked at; said once.
    pub fn not(&mut self, what: &str, why: &str) {
        let one = NotChecked {
            what: what.to_owned(),
            why: why.to_owned(),
        };
        if !self.not_checked.contains(&one) {
            self.not_checked.push(one);
        }
    }

    pub fn finish(self) -> CheckResult {
        CheckResult {
            checked: self.checked,
            disagreements: self.disagreements,
            not_checked: self.not_checked,
        }
    }
}
