//! Making an experiment in Rust.

use std::time::Duration;

use serde_json::Value;

use super::{Axis, Capacity, Exclude, Experiment, Kind, Order};

impl Experiment {
    pub fn kind(mut self, kind: Kind) -> Experiment {
        self.kind = kind;
        self
    }

    /// Gives all points this value of a parameter.
    pub fn fix(mut self, name: impl Into<String>, value: impl Into<Value>) -> Experiment {
        self.fixed.insert(name.into(), value.into());
        self
    }

    /// Adds an axis: one parameter with each of these values. There must be one at least.
    pub fn axis<V: Into<Value>>(
        mut self,
        name: &str,
        values: impl IntoIterator<Item = V>,
    ) -> Experiment {
        let steps = values.into_iter();
        let steps = steps.map(|value| vec![(name.to_owned(), value.into())]);
        self.axes.push(Axis(steps.collect()));
        self
    }

    /// Adds an axis of several parameters that go together; each step has a value for each of them.
    pub fn zip<const N: usize, V: Into<Value>>(
        mut self,
        names: [&str; N],
        steps: impl IntoIterator<Item = [V; N]>,
    ) -> Experiment {
        let steps = steps.into_iter().map(|values| {
            let values = names.into_iter().zip(values);
            let values = values.map(|(name, value)| (name.to_owned(), value.into()));
            values.collect()
        });
        self.axes.push(Axis(steps.collect()));
        self
    }

    /// Adds an axis of points that set parameters of their own; all else of them is what is fixed.
    pub fn points(mut self, points: impl IntoIterator<Item = Vec<(String, Value)>>) -> Experiment {
        self.axes.push(Axis(points.into_iter().collect()));
        self
    }

    /// Leaves out the points that have, for each of these parameters, one of its values.
    pub fn exclude<const N: usize>(mut self, values: [(&str, Vec<Value>); N]) -> Experiment {
        let values = values.into_iter();
        let values = values.map(|(name, values)| (name.to_owned(), values));
        self.excludes.push(Exclude {
            values: values.collect(),
            place: None,
        });
        self
    }

    /// So many trials of each point.
    pub fn repeats(mut self, repeats: u32) -> Experiment {
        self.repeats = repeats;
        self
    }

    pub fn order(mut self, order: Order) -> Experiment {
        self.order = order;
        self
    }

    /// Restarts the server with this shell command where a setting needs it.
    pub fn restart(mut self, command: &str) -> Experiment {
        self.restart = Some(command.to_owned());
        self
    }

    /// Random numbers from this seed; `None`: from the clock.
    pub fn seed(mut self, seed: Option<i64>) -> Experiment {
        self.seed = seed;
        self
    }

    /// Waits so long before each trial, when all else is done.
    pub fn settle(mut self, time: Duration) -> Experiment {
        self.reset.settle = time;
        self
    }

    /// Replaces tables of `pgbench -i` that were made with other parameters than a point has.
    pub fn replace_pgbench_tables(mut self) -> Experiment {
        self.reset.replace_pgbench_tables = true;
        self
    }

    /// Finds out how much load keeps p99 within this limit.
    pub fn slo(mut self, slo: Duration) -> Experiment {
        self.capacity = Some(Capacity::within(slo));
        self
    }
}

/// A parameter's value as the command line has it: a whole number, `true` and `false` are what
/// they look like, all else is a text.
pub fn scalar(text: &str) -> Value {
    let number = text.parse::<i64>().ok();
    match (number, text) {
        // 007 and +7 are kept as they were typed.
        (Some(number), _) if number.to_string() == text => Value::from(number),
        (_, "true") => Value::from(true),
        (_, "false") => Value::from(false),
        _ => Value::from(text),
    }
}

/// Several values of a parameter.
pub fn values<V: Into<Value>>(values: impl IntoIterator<Item = V>) -> Vec<Value> {
    values.into_iter().map(Into::into).collect()
}
