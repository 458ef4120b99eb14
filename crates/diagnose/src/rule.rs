//! What a rule is, and what it may answer.

use super::evidence::Evidence;
use pgdyno_model::document::{Proof, RuleState};
use pgdyno_model::text::roughly;

/// One possible limit.
pub struct Rule {
    /// Stable, for programs.
    pub code: &'static str,
    /// For people.
    pub name: &'static str,
    /// Whether checkpoints without a pause show as this, too.
    pub is_of_checkpoints: bool,
    /// What it makes of the evidence.
    pub examine: fn(&Evidence<'_>) -> Examined,
}

/// A rule's answer.
#[derive(Debug, Clone, PartialEq)]
pub enum Examined {
    /// Which share of the clients' time it stands for, and what shows it.
    Found(Found),
    /// It says nothing on a trial of this kind: why.
    NotApplicable(String),
    /// What it needs was not recorded: why.
    NotKnown(String),
}

/// What a rule has found.
#[derive(Debug, Clone, PartialEq)]
pub struct Found {
    /// The share of the clients' time, 0 to 1.
    pub share: f64,
    /// The figure that decides, where that is not the share.
    pub figure: Option<String>,
    /// What is to be said when this is the limit.
    pub sentence: String,
    /// What shows it, the strongest first.
    pub proofs: Vec<Proof>,
    /// What to try.
    pub remedies: Vec<String>,
}

impl Examined {
    /// The finding, when there is one.
    pub fn found(&self) -> Option<&Found> {
        match self {
            Examined::Found(found) => Some(found),
            _ => None,
        }
    }

    /// Its state when it is neither the limit nor the second.
    pub fn state(&self) -> RuleState {
        match self {
            Examined::Found(_) => RuleState::RuledOut,
            Examined::NotApplicable(_) => RuleState::NotApplicable,
            Examined::NotKnown(_) => RuleState::NotKnown,
        }
    }

    /// For the list of all rules.
    pub fn figure(&self) -> String {
        match self {
            Examined::Found(found) => found.figure(),
            Examined::NotApplicable(why) | Examined::NotKnown(why) => why.clone(),
        }
    }
}

impl Found {
    /// The figure that decides.
    pub fn figure(&self) -> String {
        match &self.figure {
            Some(figure) => figure.clone(),
            None => format!("{} of the clients’ time", roughly(self.share)),
        }
    }
}
