//! Gates for continuous integration: `p99 > +5%` says which change is too much, and
//! a [`Comparison`] decides.
//!
//! ```text
//! gate      = all { "," all }            bad: it fails when one of them is met
//!                                        required: it passes when all of them are shown
//! all       = condition { "and" condition }   met when each of them is
//! condition = figure (">" | "<") threshold
//! threshold = sign number "%"            change from A to B, as a share of A
//!           | sign number [unit]         change from A to B, in the figure's unit
//!           | number [unit]              B's median itself
//! unit      = "us" | "ms" | "s" for times, "/s" for rates
//! ```
//!
//! Not for: exit codes (the caller decides), which figures there are (the caller tells).

mod decide;
mod evaluate;
mod parse;

use std::fmt;

pub use evaluate::{Outcome, Tested};
pub use parse::GateError;

use crate::compare::{Comparison, Direction};

/// A figure that a gate may name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Figure<'a> {
    /// As it is written, such as `p99`.
    pub name: &'a str,
    pub unit: Unit,
}

/// What the numbers of a figure are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unit {
    TimeUs,
    PerSecond,
    Number,
}

impl Unit {
    /// A number with its unit, as people read it.
    fn words(self, value: f64) -> String {
        match self {
            Self::TimeUs => format!("{:.3} ms", value / 1e3),
            Self::PerSecond => format!("{value:.1}/s"),
            Self::Number => format!("{value}"),
        }
    }
}

/// What a condition compares with.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Threshold {
    /// A change from A to B, as a share of A: 0.05 for `+5%`.
    Relative(f64),
    /// A change from A to B, in microseconds for times.
    Change(f64),
    /// B's median itself, in microseconds for times.
    Level(f64),
}

/// What the conditions of a gate are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Sense {
    /// The gate fails when they are met.
    Bad,
    /// The gate passes only when they are shown.
    Required,
}

#[derive(Debug, Clone, PartialEq)]
pub struct Condition {
    pub figure: String,
    pub unit: Unit,
    /// The side that is bad, or required: higher for `>`.
    pub side: Direction,
    pub threshold: Threshold,
    pub text: String,
}

/// A gate: fails when every condition of one of its groups is met, or passes only when every one is
/// shown.
#[derive(Debug, Clone, PartialEq)]
pub struct Gate {
    groups: Vec<Vec<Condition>>,
    sense: Sense,
}

impl Gate {
    /// Reads a gate of what is bad; `figures` are those that there are.
    pub fn parse(text: &str, figures: &[Figure<'_>]) -> Result<Self, GateError> {
        Self::of(text, figures, Sense::Bad)
    }

    /// Reads a gate of what is required.
    pub fn parse_required(text: &str, figures: &[Figure<'_>]) -> Result<Self, GateError> {
        Self::of(text, figures, Sense::Required)
    }

    fn of(text: &str, figures: &[Figure<'_>], sense: Sense) -> Result<Self, GateError> {
        parse::gate(text, figures, sense).map(|groups| Self { groups, sense })
    }

    /// All conditions, in the order in which they were written.
    pub fn conditions(&self) -> impl Iterator<Item = &Condition> {
        self.groups.iter().flatten()
    }

    /// Tests the conditions against the comparison of each figure, `None` where one has none, and
    /// says what comes of it with the evidence for each.
    pub fn evaluate<'c>(
        &self,
        comparison: impl Fn(&str) -> Option<&'c Comparison>,
    ) -> (Outcome, Vec<Tested>) {
        match self.sense {
            Sense::Bad => evaluate::any_of(&self.groups, |condition| {
                evaluate::condition(condition, comparison(&condition.figure))
            }),
            Sense::Required => evaluate::all_of(&self.groups.concat(), |condition| {
                evaluate::requirement(condition, comparison(&condition.figure))
            }),
        }
    }

    /// The same of a comparison that may still grow: where nothing is decided yet, or never will be as `is_last`
    /// says, it cannot tell.
    pub fn decide<'c>(
        &self,
        comparison: impl Fn(&str) -> Option<&'c Comparison>,
        is_last: bool,
    ) -> (Outcome, Vec<Tested>) {
        let test = |condition: &Condition| {
            let comparison = comparison(&condition.figure);
            decide::condition(condition, self.sense, comparison, is_last)
        };
        match self.sense {
            Sense::Bad => evaluate::any_of(&self.groups, test),
            Sense::Required => evaluate::all_of(&self.groups.concat(), test),
        }
    }

    /// The figures that it names, each once, in the order in which they come first.
    pub fn figures(&self) -> Vec<&str> {
        let mut names: Vec<&str> = Vec::new();
        for condition in self.conditions() {
            if !names.contains(&condition.figure.as_str()) {
                names.push(&condition.figure);
            }
        }
        names
    }
}

impl fmt::Display for Condition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.text)
    }
}
