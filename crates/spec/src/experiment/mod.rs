//! What an experiment is: a matrix of trials, their order, and what happens between them.
//!
//! An [`Experiment`] is made by the builder below or read from a file; [`Experiment::to_toml`]
//! writes it as a file that reads back as the same experiment.
//!
//! Not here: what each parameter takes, carrying an experiment out.

mod build;
pub mod calibration;
pub mod disturb_lab;
pub mod isolation_lab;
mod kind;
pub mod migrate_lab;
mod of_trial;
mod order;
pub mod point;
mod reset;
pub mod retries_lab;
mod seconds;
pub mod slob_sweep;
mod toml;
pub mod words;

use std::collections::BTreeMap;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::command::masked;
use crate::secret::{MASK, is_secret_name};

pub use build::{scalar, values};
pub use kind::Kind;
pub use order::Order;
pub use reset::{Reset, Vacuum};
pub use seconds::seconds;
pub use toml::{Commented, Comments};

/// A matrix of trials.
///
/// Parameters are named as in files; those of the workload and the server are `params.NAME` and
/// `settings.NAME`. Values have one form each: a workload is a list of a pack or script files, times
/// are seconds with a fraction, rates are numbers with a fraction.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Experiment {
    pub name: String,
    /// Which answer is looked for in it.
    #[serde(default)]
    pub kind: Kind,
    pub fixed: BTreeMap<String, Value>,
    /// Parameters with several; axes multiply, and the first turns slowest.
    pub axes: Vec<Axis>,
    pub excludes: Vec<Exclude>,
    pub repeats: u32,
    pub order: Order,
    /// Where order and trials take their random numbers from.
    pub seed: Option<i64>,
    pub reset: Reset,
    /// A shell command that restarts the server, for settings that need it.
    #[serde(default)]
    pub restart: Option<String>,
    /// Whether to find out how much load the system takes.
    pub capacity: Option<Capacity>,
}

/// One dimension of the matrix: each step sets one parameter, or several that go together. Steps
/// that set different parameters are points of their own; a file has room for one such axis.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Axis(pub Vec<Vec<(String, Value)>>);

impl Axis {
    /// Whether each step is a point with a name.
    pub fn is_named(&self) -> bool {
        let has_name =
            |step: &Vec<(String, Value)>| step.iter().any(|(name, _)| name == POINT_NAME);
        self.0.iter().all(has_name)
    }

    /// The parameters that its steps set, in the order in which they come first.
    pub fn names(&self) -> Vec<&str> {
        let mut names: Vec<&str> = Vec::new();
        for (name, _) in self.0.iter().flatten() {
            if !names.contains(&name.as_str()) {
                names.push(name);
            }
        }
        names
    }

    /// Whether its steps are lists that go together: all set the same parameters in the same order,
    /// and none is a point with a name.
    pub fn is_even(&self) -> bool {
        let names = self.names();
        if names.contains(&POINT_NAME) {
            return false;
        }
        let mut steps = self.0.iter();
        steps.all(|step| {
            step.iter()
                .map(|(name, _)| name.as_str())
                .eq(names.iter().copied())
        })
    }
}

/// Points that have, for each of these parameters, one of these values.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Exclude {
    pub values: BTreeMap<String, Vec<Value>>,
    /// Where it is in a file, for messages.
    #[serde(skip)]
    pub place: Option<String>,
}

/// By what they leave out, wherever that is written.
impl PartialEq for Exclude {
    fn eq(&self, other: &Self) -> bool {
        self.values == other.values
    }
}

/// What a point of its own is called, beside its parameters: points that have a name are known by it.
pub const POINT_NAME: &str = "name";

/// How much load a system takes while p99 keeps a limit.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Capacity {
    /// The limit of p99, counted from when transactions were to start.
    #[serde(rename = "slo_s", with = "seconds")]
    pub slo: Duration,
    /// How narrow the interval is to be: its half as a share of the capacity.
    #[serde(default = "Capacity::width_default")]
    pub width: f64,
    /// The search may take so long for each ladder of rates, warm-ups included.
    #[serde(
        rename = "time_s",
        with = "seconds",
        default = "Capacity::time_default"
    )]
    pub time: Duration,
}

impl Capacity {
    /// The half width that is asked for unless said otherwise: 5 %.
    pub const WIDTH: f64 = 0.05;
    /// The time unless said otherwise.
    pub const TIME: Duration = Duration::from_secs(20 * 60);

    /// With this limit, and as precise and long as is usual.
    pub fn within(slo: Duration) -> Self {
        Self {
            slo,
            width: Self::WIDTH,
            time: Self::TIME,
        }
    }

    fn width_default() -> f64 {
        Self::WIDTH
    }

    fn time_default() -> Duration {
        Self::TIME
    }

    pub fn slo_us(&self) -> f64 {
        self.slo.as_secs_f64() * 1e6
    }
}

/// Whether a parameter of the workload is named like a secret.
fn is_secret(name: &str) -> bool {
    name.strip_prefix("params.").is_some_and(is_secret_name)
}

impl Experiment {
    /// More trials of each point are a mistake.
    pub const REPEATS_MAX: u32 = 10_000;

    /// The same with secrets among the workload's parameters masked, to be kept.
    pub fn without_secrets(mut self) -> Experiment {
        let steps = self.axes.iter_mut().flat_map(|axis| &mut axis.0).flatten();
        let steps = steps.map(|(name, value)| (&*name, value));
        for (name, value) in self.fixed.iter_mut().chain(steps) {
            if is_secret(name) {
                *value = Value::from(MASK);
            } else if let Some(text) = value.as_str().filter(|_| name.starts_with("disturb.")) {
                *value = Value::from(masked(text));
            }
        }
        self
    }

    /// The first secret parameter with several values: afterwards the notebook could not tell which
    /// one a trial had.
    pub fn varied_secret(&self) -> Option<&str> {
        let several = self.axes.iter().filter(|Axis(steps)| steps.len() > 1);
        several.flat_map(Axis::names).find(|name| is_secret(name))
    }

    /// Whether it sets this parameter.
    pub fn gives(&self, name: &str) -> bool {
        let mut of_axes = self.axes.iter().flat_map(Axis::names);
        self.fixed.contains_key(name) || of_axes.any(|other| other == name)
    }

    /// The same with each value of this parameter as `change` makes it, wherever it is used.
    ///
    /// # Errors
    /// The first of `change`.
    pub fn with_each<E>(
        mut self,
        name: &str,
        mut change: impl FnMut(&Value) -> Result<Value, E>,
    ) -> Result<Experiment, E> {
        let of_axes = self
            .axes
            .iter_mut()
            .flat_map(|axis| axis.0.iter_mut().flatten());
        let of_axes = of_axes.filter_map(|(other, value)| (other == name).then_some(value));
        let excluded = self.excludes.iter_mut();
        let excluded = excluded
            .filter_map(|exclude| exclude.values.get_mut(name))
            .flatten();
        for value in self
            .fixed
            .get_mut(name)
            .into_iter()
            .chain(of_axes)
            .chain(excluded)
        {
            *value = change(value)?;
        }
        Ok(self)
    }

    /// An experiment of this name, with nothing chosen: one trial of each point, in an order that is drawn.
    pub fn named(name: impl Into<String>) -> Experiment {
        Experiment {
            name: name.into(),
            kind: Kind::Sweep,
            fixed: BTreeMap::new(),
            axes: Vec::new(),
            excludes: Vec::new(),
            repeats: 1,
            order: Order::Drawn,
            seed: None,
            reset: Reset::default(),
            restart: None,
            capacity: None,
        }
    }
}
