//! What a rule is, and what it may answer.

use super::blocks;
use super::evidence::Evidence;
use pgdyno_model::document::{Cause, Check, Proof};
use pgdyno_spec::text::roughly;

pub struct Rule {
    pub cause: Cause,
    /// For programs: the same word as in JSON.
    pub code: &'static str,
    pub name: &'static str,
    /// Whether checkpoints without a pause show as this, too.
    pub is_of_checkpoints: bool,
    /// What it makes of the evidence.
    pub examine: fn(&Evidence<'_>) -> Examined,
}

#[derive(Debug, Clone, PartialEq)]
pub enum Examined {
    /// Which share of the clients' time it represents, and what shows it.
    Found(Box<Assessment>),
    /// It says nothing on a trial of this kind: why.
    NotApplicable(String),
    /// What it needs was not recorded: why.
    NotKnown(String),
}

/// What a rule has found.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Assessment {
    /// The share of the clients' time, by block, 0 to 1.
    pub shares: Vec<f64>,
    /// Whether it says by itself what limited the trial, whatever the shares of others.
    pub is_decisive: bool,
    /// The figure that decides, where that is not the share.
    pub figure: Option<String>,
    /// What is to be said when this is the limit.
    pub sentence: String,
    /// What shows it, the strongest first.
    pub proofs: Vec<Proof>,
    pub remedies: Vec<String>,
    /// What must hold beside the share, or this is not shown as the limit.
    pub checks: Vec<Check>,
}

impl Examined {
    pub fn assessed(found: Assessment) -> Self {
        Examined::Found(Box::new(found))
    }

    /// It is not this, and this figure says so.
    pub fn nothing(evidence: &Evidence<'_>, figure: impl Into<String>) -> Self {
        Examined::assessed(Assessment {
            shares: evidence.constant(0.0),
            figure: Some(figure.into()),
            ..Assessment::default()
        })
    }

    /// For the list of all rules.
    pub fn figure(&self) -> String {
        match self {
            Examined::Found(found) => found.figure(),
            Examined::NotApplicable(why) | Examined::NotKnown(why) => why.clone(),
        }
    }
}

impl Assessment {
    pub fn share(&self) -> f64 {
        blocks::mean(&self.shares).0
    }

    pub fn figure(&self) -> String {
        match &self.figure {
            Some(figure) => figure.clone(),
            None => format!("{} of the clients’ time", roughly(self.share())),
        }
    }
}

/// A check with its figures.
pub fn check(name: &str, passed: impl Into<Option<bool>>, figures: impl Into<String>) -> Check {
    Check {
        name: name.to_owned(),
        passed: passed.into(),
        figures: figures.into(),
    }
}
