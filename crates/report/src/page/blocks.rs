//! What is beside an experiment's matrix, or in its place: slob's cache fit, the laboratory for
//! retries, capacity. Each is what its own command has shown, from the store.

use pgdyno_model::notebook::{ExperimentRow, Notebook, TrialRow};
use serde::Deserialize;
use serde_json::Value;

use super::slob_sweep::document as cache_fit;
use crate::over::Over;
use crate::{capacity, disturb, isolation, retries_lab, slob_sweep};
use pgdyno_diagnose::capacity::seconds_over;
use pgdyno_model::document::Accounting;
use pgdyno_model::document::capacity::Capacity;
use pgdyno_model::document::disturb_lab::DisturbLab;
use pgdyno_model::document::isolation_lab::IsolationLab;
use pgdyno_model::document::points::PointResult;
use pgdyno_model::document::retries_lab::RetriesLab;
use pgdyno_model::document::slob_sweep::SlobSweep;
use pgdyno_model::{Outcome, State};
use pgdyno_spec::{
    Failure,
    experiment::{
        self, Kind, point::Point, retries_lab::FORMS, retries_lab::WORKLOADS, slob_sweep::Room,
        slob_sweep::SlobVary,
    },
};

/// An experiment as it was defined.
pub struct Defined {
    /// Which answer is looked for in it.
    pub kind: Kind,
    points: Vec<Value>,
    /// The limit of p99, where a capacity was asked for.
    pub slo_us: Option<f64>,
    asked: Option<experiment::Capacity>,
}

impl Defined {
    /// By its row in the store.
    pub fn of(row: &ExperimentRow) -> Self {
        let definition: Value = serde_json::from_str(&row.definition).unwrap_or_default();
        let definition = &definition["definition"];
        let kind = Kind::deserialize(&definition["kind"]);
        Self {
            kind: kind.unwrap_or_else(|_| Kind::by_name(&row.name)),
            points: definition["points"].as_array().cloned().unwrap_or_default(),
            slo_us: definition["capacity_slo_us"].as_f64(),
            asked: serde_json::from_value(definition["capacity"].clone()).ok(),
        }
    }

    /// The cache fit of `pgdyno slob sweep`. `all` are its trials in the order of their numbers.
    ///
    /// # Errors
    /// The store cannot be read.
    pub fn slob(
        &self,
        store: &dyn Notebook,
        all: &[TrialRow],
    ) -> Result<Option<SlobSweep>, Failure> {
        if self.kind != Kind::Slob {
            return Ok(None);
        }
        let Some(vary) = SlobVary::in_points(&self.points) else {
            return Ok(None);
        };
        let mut results: Option<slob_sweep::Results> = None;
        for row in all {
            let outcome = store.outcome(row.number)?;
            let Some(over) = Over::stored(row, &outcome) else {
                continue;
            };
            if results.is_none() {
                results = room(&outcome).map(|room| slob_sweep::Results::new(vary, room));
            }
            if let Some(results) = &mut results {
                results.add(&over);
            }
        }
        Ok(results.as_ref().map(cache_fit))
    }

    /// What `pgdyno lab retries` found.
    ///
    /// # Errors
    /// The store cannot be read.
    pub fn retries_lab(
        &self,
        store: &dyn Notebook,
        all: &[TrialRow],
    ) -> Result<Option<RetriesLab>, Failure> {
        let is_form = |point: &Value| {
            let workload = match point["workload"].as_array().map(Vec::as_slice) {
                Some([only]) => only.as_str(),
                _ => None,
            };
            let is_known = workload.is_some_and(|name| WORKLOADS.contains(&name));
            is_known && FORMS.iter().any(|form| point["mix"] == *form)
        };
        if self.kind != Kind::Retries || !self.points.iter().all(is_form) {
            return Ok(None);
        }
        let mut results = retries_lab::Results::default();
        for row in all {
            let outcome = store.outcome(row.number)?;
            if let Some(over) = Over::stored(row, &outcome) {
                results.add(over);
            }
        }
        Ok(Some(results.document()))
    }

    /// What `pgdyno lab disturb` found.
    ///
    /// # Errors
    /// The store cannot be read.
    pub fn disturb_lab(
        &self,
        store: &dyn Notebook,
        all: &[TrialRow],
    ) -> Result<Option<DisturbLab>, Failure> {
        if !matches!(self.kind, Kind::Disturb | Kind::Failover | Kind::Migrate) {
            return Ok(None);
        }
        disturb::lab(store, all).map(Some)
    }

    /// What `pgdyno lab isolation` found.
    ///
    /// # Errors
    /// The store cannot be read.
    pub fn isolation_lab(
        &self,
        store: &dyn Notebook,
        all: &[TrialRow],
    ) -> Result<Option<IsolationLab>, Failure> {
        if self.kind != Kind::Isolation {
            return Ok(None);
        }
        isolation::lab(store, all).map(Some)
    }

    /// How much load keeps the limit; `measured` are the points of these trials.
    ///
    /// # Errors
    /// The store cannot be read.
    pub fn capacity(
        &self,
        store: &dyn Notebook,
        all: &[TrialRow],
        measured: &[PointResult],
    ) -> Result<Option<Capacity>, Failure> {
        let points: Option<Vec<Point>> = self.points.iter().map(Point::from_json).collect();
        let Some((asked, points)) = self.asked.zip(points) else {
            return Ok(None);
        };
        let counts = |row: &&TrialRow| row.state == State::Complete && row.excluded.is_none();
        // The newest first, as the sweep has them.
        let trials: Vec<TrialRow> = all.iter().rev().filter(counts).cloned().collect();
        let varied = Point::varied(&points);
        let seconds = seconds_over(store, &trials, asked)?;
        let mut found = capacity::document(&points, &varied, asked, &trials, &seconds);
        capacity::take_percentiles(&mut found, measured);
        Ok(Some(found))
    }
}

/// What a trial knows of its server.
fn room(outcome: &Outcome) -> Option<Room> {
    let facts = &outcome.facts;
    let is_here = facts.same_host.known().is_some_and(|here| *here);
    let accounting: Accounting = outcome.findings.get()?;
    let counters = accounting.buffers.known()?;
    Some(Room {
        shared_buffers: *facts.shared_buffers_bytes.known()?,
        block: counters.block_bytes,
        memory: outcome.host.memory_bytes.filter(|_| is_here),
        disk_free: None,
        cpus: is_here.then_some(outcome.host.cpus),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn the_kind_is_the_one_that_was_kept_or_in_older_notebooks_the_commands() {
        let kind = |name: &str, definition: Value| {
            let definition = json!({ "definition": definition }).to_string();
            let row = ExperimentRow {
                number: 1,
                uuid: String::new(),
                name: name.to_owned(),
                created: String::new(),
                definition,
            };
            Defined::of(&row).kind
        };
        assert_eq!(kind("lab-retries", json!({ "kind": "sweep" })), Kind::Sweep);
        assert_eq!(kind("mine", json!({ "kind": "retries" })), Kind::Retries);
        assert_eq!(kind("lab-retries", json!({})), Kind::Retries);
        assert_eq!(kind("lab-failover", json!({})), Kind::Failover);
        assert_eq!(kind("mine", json!({})), Kind::Sweep);
    }
}
