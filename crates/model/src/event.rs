//! What the runner says of a trial and of an experiment, as far as it is more than one of the
//! engine's own types. [`Observer`](crate::Observer) says when each event comes.

use std::fmt;
use std::time::Duration;

use pgdyno_spec::Until;

use crate::State;
use pgdyno_spec::Failure;

/// A trial that is about to run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Title {
    pub workload: String,
    /// Where it runs, without secrets.
    pub target: String,
    pub clients: usize,
    /// Its scripts, in the order in which seconds have them.
    pub scripts: Vec<String>,
    /// The longest that its warm-up takes.
    pub warmup: Duration,
    /// When the measured time is over.
    pub until: Until,
}

/// What a trial of an experiment is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Role {
    /// A point of the matrix.
    Point,
    /// Finds out how fast a point can go, for the rates that are a share of it.
    Maximum,
}

impl Role {
    pub fn word(self) -> &'static str {
        match self {
            Role::Point => "point",
            Role::Maximum => "maximum",
        }
    }
}

/// A trial of an experiment.
#[derive(Debug, Clone, PartialEq)]
pub struct PlannedTrial {
    /// Its place in the order, from 1.
    pub position: usize,
    /// How many trials the experiment has; `None`: more may follow from those that are over.
    pub trials: Option<usize>,
    /// For people: what differs from the other trials, and which repeat it is.
    pub label: String,
    pub role: Role,
    /// Its point, as records have it.
    pub point: serde_json::Value,
    /// From 1; 0 for a maximum.
    pub repeat: u32,
}

/// A trial of an experiment that is over. `O` is what a trial comes to.
#[derive(Debug)]
pub struct Finished<'a, O> {
    pub trial: &'a PlannedTrial,
    pub state: State,
    /// What was measured, or why nothing was.
    pub outcome: Result<&'a O, &'a Failure>,
    /// What went wrong, in a sentence; also of a trial that has an outcome.
    pub error: Option<&'a str>,
    /// What happened before it, as records have it: loading, settings, the reset.
    pub before: &'a serde_json::Value,
}

/// Something between the trials of an experiment that people should know.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Notice {
    /// Figures may mean something else than they seem to.
    Warning(String),
    Note(String),
    /// Something was done that this experiment did not request.
    Done(String),
}

impl fmt::Display for Notice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Warning(text) => write!(f, "warning: {text}"),
            Self::Note(text) => write!(f, "note: {text}"),
            Self::Done(text) => f.write_str(text),
        }
    }
}
