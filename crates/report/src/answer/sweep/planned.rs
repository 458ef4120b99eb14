//! What an experiment was to measure, and what of it there is.

use pgdyno_model::document::points::PointResult;
use pgdyno_model::notebook::{ExperimentRow, TrialRow};
use pgdyno_spec::experiment::{Order, point::Point};
use pgdyno_stats::Drawn;
use serde_json::Value;

use std::collections::BTreeMap;

use crate::points::{TARGET, Targets, nested};
use pgdyno_spec::experiment::words;

/// What was planned; empty where no experiment holds the trials together.
#[derive(Debug, Clone, Default)]
pub struct Planned {
    points: Vec<Value>,
    repeats: u64,
    order: Option<String>,
}

/// How far it has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Progress {
    /// Trials that have ended, whatever their end.
    pub done: u64,
    pub of: u64,
}

impl Planned {
    /// By its row in the notebook.
    pub fn of(row: &ExperimentRow) -> Self {
        let definition: Value = serde_json::from_str(&row.definition).unwrap_or_default();
        let definition = &definition["definition"];
        Self {
            points: definition["points"].as_array().cloned().unwrap_or_default(),
            repeats: definition["repeats"].as_u64().unwrap_or(0),
            order: definition["order"].as_str().map(str::to_owned),
        }
    }

    /// The values of its points.
    pub fn values(&self) -> Vec<BTreeMap<String, Value>> {
        self.points.iter().map(nested).collect()
    }

    /// In which order: `drawn`; `None` where it was not planned.
    pub fn order(&self) -> Option<&str> {
        self.order.as_deref()
    }

    /// How the order was drawn in which these trials of different points ran; `None` where it was not.
    pub fn drawn(&self, a: &[&TrialRow], b: &[&TrialRow]) -> Option<Drawn> {
        let order = Order::of(self.order()?)?;
        let planned = u32::try_from(self.repeats).ok()?;
        let is_of_a = |trial: &&TrialRow| a.iter().any(|of_a| of_a.point == trial.point);
        if b.iter().any(is_of_a) {
            return None;
        }
        let blocks = |side: &[&TrialRow]| -> Option<Vec<u32>> {
            let block = |trial: &&TrialRow| order.block_of(trial.repeat?, planned);
            side.iter().map(block).collect()
        };
        Some(Drawn {
            a: blocks(a)?,
            b: blocks(b)?,
            is_mirrored: order == Order::Mirrored,
        })
    }

    /// The points of which no trial was begun, and their values.
    pub fn waiting(&self, trials: &[TrialRow]) -> Vec<&Value> {
        let begun = |point: &&Value| {
            trials
                .iter()
                .any(|trial| trial.point.as_ref() == Some(point))
        };
        let waiting = self.points.iter().filter(|point| !begun(point));
        waiting.collect()
    }

    /// How many of its trials have ended; `None` where none was planned.
    pub fn progress(&self, trials: &[TrialRow]) -> Option<Progress> {
        let of = self.points.len() as u64 * self.repeats;
        let done = trials
            .iter()
            .filter(|trial| trial.repeat.is_some() && trial.state != pgdyno_model::State::Running);
        let mut places: Vec<(String, u32)> = done
            .map(|trial| {
                let point = trial
                    .point
                    .as_ref()
                    .map_or_else(String::new, Value::to_string);
                (point, trial.repeat.unwrap_or(0))
            })
            .collect();
        places.sort_unstable();
        places.dedup();
        let done = (places.len() as u64).min(of);
        (of > 0).then_some(Progress { done, of })
    }

    /// What a waiting point is called among these.
    pub fn title(&self, point: &Value, among: &[PointResult], targets: &Targets) -> String {
        let Some(all) = Point::from_json(point) else {
            return String::new();
        };
        let every: Vec<Point> = self.points.iter().filter_map(Point::from_json).collect();
        let varied = Point::varied(&every);
        let mut names: Vec<&str> = varied.iter().map(String::as_str).collect();
        // As the points that were measured: the workload first.
        names.sort_by_key(|name| (*name != "workload", !name.starts_with("params.")));
        if let Some(measured) = among.first() {
            names.retain(|name| measured.varied.contains_key(*name) || among.len() == 1);
        }
        let target = point.get(TARGET).map(words::plain);
        let label = all.label(&names);
        match target {
            Some(address) => label.replace(
                &format!("target {address}"),
                &targets.name(&address.clone().into()),
            ),
            None => label,
        }
    }
}
