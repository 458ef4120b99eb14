//! `pgdyno history`: a figure over the trials of a notebook, with the changes of its level.
//!
//! Trials are only mixed when nothing differs but time: one load (with the pack's content), one target, one machine,
//! the same settings. Versions may differ: their changes are what is looked for.

mod chart;
mod page;
mod text;

pub use page::page;
pub use text::text;

use std::collections::BTreeMap;

use serde_json::Value;

use pgdyno_model::document::history::{Change, HistoryTrial, LeftOut};
use pgdyno_model::notebook::TrialRow;
use pgdyno_spec::{Experiment, TrialSpec};
use pgdyno_stats::{ChangeOptions, change_points};

use crate::comparison::{METRICS, Metric};
use crate::points::values;

/// What must be the same in all trials of a history.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Group {
    load: (String, Option<String>, String),
    target: String,
    settings: String,
    host: String,
}

impl Group {
    /// That of a trial which ran on this host.
    pub fn of(trial: &TrialRow, host: &str) -> Self {
        let swept = values(trial);
        let settings = swept
            .iter()
            .filter(|(name, _)| name.starts_with("settings."));
        let settings: BTreeMap<_, _> = settings.collect();
        let own = &trial.spec.target.own;
        // Each repeat has a seed of its own.
        let load = TrialSpec {
            seed: None,
            ..trial.spec.clone()
        };
        Self {
            load: (
                load.load_sha256(),
                trial.pack_sha256.clone(),
                trial.workload.clone(),
            ),
            target: target(trial),
            settings: serde_json::json!([settings, own.pg_set]).to_string(),
            host: host.to_owned(),
        }
    }

    /// The first thing in which another one differs.
    fn differs(&self, other: &Self) -> Option<&'static str> {
        [
            (self.load != other.load, "another load"),
            (self.target != other.target, "another target"),
            (self.settings != other.settings, "other settings"),
            (self.host != other.host, "another machine"),
        ]
        .into_iter()
        .find_map(|(differs, why)| differs.then_some(why))
    }
}

/// Where it ran. A private server is called by its version, which may change.
pub fn target(trial: &TrialRow) -> String {
    if trial.target.contains(", started for this run") {
        "a private server".to_owned()
    } else {
        trial.target.clone()
    }
}

/// A figure by its name in gates.
pub fn figure(name: &str) -> Option<&'static Metric> {
    METRICS.iter().find(|metric| metric.figure.name == name)
}

/// The options of a trial by name, as experiments have them: also of one that belongs to none.
pub fn options(trial: &TrialRow) -> BTreeMap<String, Value> {
    let mut all = Experiment::of_trial("", &trial.spec).fixed;
    all.extend(values(trial));
    all.remove("seed");
    // Also where it is the default.
    let clients = || Value::from(trial.spec.clients());
    all.entry("clients".to_owned()).or_insert_with(clients);
    all
}

/// The trials that go together with the newest one, which come first to last, and how many were left out why.
pub fn together(trials: Vec<(Group, TrialRow)>, metric: &Metric) -> (Vec<TrialRow>, Vec<LeftOut>) {
    let newest = trials.last().map(|(group, _)| group.clone());
    let mut of_it = Vec::new();
    let mut left_out: BTreeMap<&'static str, usize> = BTreeMap::new();
    for (group, trial) in trials {
        let why = newest.as_ref().and_then(|newest| newest.differs(&group));
        let why = why.or_else(|| metric.of(&trial).is_none().then_some("without the figure"));
        match why {
            Some(why) => *left_out.entry(why).or_default() += 1,
            None => of_it.push(trial),
        }
    }
    let left_out = left_out
        .into_iter()
        .map(|(why, trials)| LeftOut { why, trials });
    (of_it, left_out.collect())
}

/// The figures of trials, for the document.
pub fn series(trials: &[TrialRow], metric: &Metric) -> Vec<HistoryTrial> {
    let of_trial = |trial: &TrialRow| {
        Some(HistoryTrial {
            number: trial.number,
            started: trial.started.clone(),
            value: metric.of(trial)?,
            version: trial.server_version.clone(),
        })
    };
    trials.iter().filter_map(of_trial).collect()
}

/// Changes of the level, and the correlation that masks any (`masked_by` of the document).
pub fn changes(trials: &[HistoryTrial]) -> (Vec<Change>, Option<f64>) {
    let values: Vec<f64> = trials.iter().map(|trial| trial.value).collect();
    let found = change_points(&values, &ChangeOptions::default());
    let of_point = |found: pgdyno_stats::ChangePoint| {
        let first = trials.get(found.index)?;
        let last = trials.get(found.index.checked_sub(1)?)?;
        let versions = last.version.clone().zip(first.version.clone());
        Some(Change {
            index: found.index,
            first_after: first.number,
            started: first.started.clone(),
            before: found.before,
            after: found.after,
            change: found.ratio.map(|ratio| ratio - 1.0),
            interval: found.interval.map(|(low, high)| [low - 1.0, high - 1.0]),
            p: found.p,
            versions: versions
                .filter(|(before, after)| before != after)
                .map(|(before, after)| [before, after]),
        })
    };
    let changes = found.points.into_iter().filter_map(of_point);
    (changes.collect(), found.masked_by)
}

#[cfg(test)]
mod tests;
