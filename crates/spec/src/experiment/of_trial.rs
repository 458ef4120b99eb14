//! A trial as an experiment of one point: what laboratories and `pgdyno run --repeat` begin with.

use crate::Until;

use super::disturb_lab::disturbance;
use super::{Experiment, scalar, seconds};
use crate::TrialSpec;

impl Experiment {
    /// This trial, once, under this name. Where the server is and what is observed are no part of it. Commands
    /// that disturb it have their secrets.
    pub fn of_trial(name: impl Into<String>, spec: &TrialSpec) -> Experiment {
        let mut experiment = Experiment::named(name)
            .fix("workload", spec.workload.clone())
            .seed(spec.seed);
        experiment = match spec.until() {
            Until::Elapsed(time) => experiment.fix("duration", seconds(time)),
            Until::Transactions(count) => experiment.fix("transactions", count.get()),
        };
        for (name, value) in spec.typed_options() {
            experiment = experiment.fix(name, value);
        }
        for given in &spec.params {
            let (name, value) = given.split_once('=').unwrap_or((given, ""));
            experiment = experiment.fix(format!("params.{name}"), scalar(value));
        }
        if !spec.disturb.is_empty() {
            for (name, value) in disturbance(spec) {
                experiment = experiment.fix(format!("disturb.{name}"), value);
            }
        }
        experiment
    }
}
