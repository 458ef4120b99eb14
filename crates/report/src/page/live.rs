//! The page of a trial that is still running: the report's own, with what is known so far, and what came
//! since as a difference. Who watches for an hour reads no second twice: seconds are put behind those that
//! the page has; all else is small, and made anew.

use std::time::{Duration, Instant};

use pgdyno_measurement::Second;
use pgdyno_model::State;
use pgdyno_model::document::page::{Live, PartOf, Served, Sibling, Timeline};
use pgdyno_model::notebook::{Notebook, TrialRow};
use pgdyno_model::observed::Rows;
use pgdyno_spec::Failure;
use serde::Serialize;
use serde_json::{Map, Value, json};

use super::histogram::{self, Grid};
use super::{delta, timeline, trial};
use crate::documents::{self, stored};
use crate::glance;
use crate::growing::{self, Growing, Grown, Silence};

/// What is small is not made anew before so many times its cost have passed: at most 2 % of a CPU, however long the
/// trial is.
const COST_TIMES: u32 = 50;

/// Columns of the timeline that do not only grow: what the schedule asked for is known when the warm-up has
/// ended, and a class of failures when the first of them comes.
const COMPUTED: [&str; 3] = ["due", "failed_by_class", "committed_by_script"];

pub struct Running {
    row: TrialRow,
    rows: Rows,
    served: Served,
    siblings: Vec<Sibling>,
    growing: Growing,
    silence: Silence,
    silent_s: Option<u64>,
    grid: Grid,
    document: Value,
    /// When what is small was made, and how long that took.
    made: (Instant, Duration),
}

/// What came of looking again.
#[derive(Debug, Clone, PartialEq)]
pub enum Step {
    Same,
    /// The document has changed by this ([`delta`]).
    Changed(Value),
    /// The trial has ended: [`super::trial`] makes its report.
    Over(State),
}

impl Running {
    /// Reads all that there is of a trial that runs. `rows` say what its series are; `served` what a server adds.
    ///
    /// # Errors
    /// The notebook cannot be read.
    pub fn open(
        store: &dyn Notebook,
        row: &TrialRow,
        rows: Rows,
        served: Served,
    ) -> Result<Self, Failure> {
        let growing = if served.together {
            Growing::together(store, row.number)?
        } else {
            Growing::open(store, row.number)?
        };
        let mut running = Self {
            siblings: trial::siblings(store, row)?,
            row: TrialRow {
                // Of all generators together.
                spec: growing.outcome.spec.clone(),
                ..row.clone()
            },
            growing,
            silence: Silence::new(Instant::now()),
            silent_s: None,
            rows,
            served,
            grid: Grid::new(),
            document: Value::Null,
            made: (Instant::now(), Duration::ZERO),
        };
        let mut document = running.small(store)?;
        let rate = running.growing.outcome.spec.rate.as_ref();
        let seconds = &running.growing.outcome.recording.seconds;
        let timeline = value(&timeline::on_grid(seconds, rate, &running.grid))?;
        document.insert("timeline".to_owned(), timeline);
        running.document = Value::Object(document);
        Ok(running)
    }

    /// The page's data, as far as the trial has come.
    pub fn document(&self) -> &Value {
        &self.document
    }

    /// The same, of one that is not followed.
    pub fn into_document(self) -> Value {
        self.document
    }

    /// Reads what has come since.
    ///
    /// # Errors
    /// The notebook cannot be read; the document stays as it is.
    pub fn advance(&mut self, store: &dyn Notebook) -> Result<Step, Failure> {
        let before = self.growing.outcome.recording.seconds.len();
        let count = match self.growing.advance(store)? {
            Grown::Over(state) => return Ok(Step::Over(state)),
            Grown::By(count) => count,
        };
        let seconds = &self.growing.outcome.recording.seconds;
        let (now_us, planned_us) = (growing::now_us(seconds), self.planned_us());
        self.silent_s = self.silence.after(now_us, planned_us, Instant::now());
        let mut changed = Map::new();
        if count > 0 {
            changed.insert("timeline".to_owned(), self.tail(before)?);
        }
        let (made, took) = self.made;
        if made.elapsed() >= took * COST_TIMES {
            self.compare(store, &mut changed)?;
        }
        if changed.is_empty() {
            return Ok(Step::Same);
        }
        let changed = json!({ "o": changed });
        delta::apply(&mut self.document, &changed);
        Ok(Step::Changed(changed))
    }

    /// The seconds from this one on, put behind those that the page has.
    fn tail(&self, from: usize) -> Result<Value, Failure> {
        let outcome = &self.growing.outcome;
        let (seconds, rate) = (&outcome.recording.seconds, outcome.spec.rate.as_ref());
        let Value::Object(columns) = value(&timeline::on_grid(&seconds[from..], rate, &self.grid))?
        else {
            return Ok(json!({}));
        };
        let grown = columns.into_iter().filter(|(name, _)| {
            !COMPUTED.contains(&name.as_str()) && name != "buckets_us" && name != "resolution"
        });
        let mut changed: Map<String, Value> = grown
            .map(|(name, tail)| (name, json!({ "t": tail })))
            .collect();
        let known = &self.document["timeline"];
        for (name, column) in self.computed(seconds)? {
            match known.get(name) {
                Some(known) => changed
                    .extend(delta::between(known, &column).map(|delta| (name.to_owned(), delta))),
                None => {
                    changed.insert(name.to_owned(), json!({ "v": column }));
                }
            }
        }
        Ok(json!({ "o": changed }))
    }

    /// Columns that do not only grow, of all seconds; those that there are.
    fn computed(&self, seconds: &[Second]) -> Result<Vec<(&'static str, Value)>, Failure> {
        let rate = self.growing.outcome.spec.rate.as_ref();
        let classes = timeline::failed_by_class(seconds);
        let columns = [
            value(&rate.map(|rate| timeline::due(seconds, rate)))?,
            value(&(!classes.is_empty()).then_some(classes))?,
            value(&timeline::committed_by_script(seconds))?,
        ];
        let columns = COMPUTED.into_iter().zip(columns);
        Ok(columns.filter(|(_, column)| !column.is_null()).collect())
    }

    /// What has changed beside the seconds.
    fn compare(
        &mut self,
        store: &dyn Notebook,
        changed: &mut Map<String, Value>,
    ) -> Result<(), Failure> {
        let began = Instant::now();
        let new = self.small(store)?;
        let Value::Object(known) = &self.document else {
            return Ok(());
        };
        for (name, new) in &new {
            let delta = match known.get(name) {
                Some(known) => delta::between(known, new),
                None => Some(json!({ "v": new })),
            };
            changed.extend(delta.map(|delta| (name.clone(), delta)));
        }
        // What was there and is not any more has nothing to show.
        let gone = known
            .keys()
            .filter(|name| !new.contains_key(*name) && *name != "timeline");
        for name in gone {
            changed.insert(name.clone(), json!({ "v": null }));
        }
        self.made = (Instant::now(), began.elapsed());
        Ok(())
    }

    /// The page without its seconds.
    fn small(&self, store: &dyn Notebook) -> Result<Map<String, Value>, Failure> {
        let outcome = &self.growing.outcome;
        let mut document = documents::trial(outcome);
        document.run.stored = Some(stored(&self.row));
        // The check of a verdict needs the whole trial.
        document.verdict = None;
        let mut page = trial::of(
            document,
            outcome,
            &self.row,
            self.siblings.clone(),
            self.rows,
            Timeline::default(),
        );
        let all = outcome.recording.measured.all();
        page.histograms.service = histogram::whole_coarse(&all.service);
        page.histograms.response = all.response.as_ref().map(histogram::whole_coarse);
        page.histograms.attempt = all.attempt.as_ref().map(histogram::whole_coarse);
        let part = store.part_of(self.row.number)?;
        page.common.served = Some(Served {
            live: Some(self.live(store, part.as_ref())?),
            part,
            ..self.served.clone()
        });
        match value(&page)? {
            Value::Object(mut page) => {
                page.remove("timeline");
                Ok(page)
            }
            _ => Ok(Map::new()),
        }
    }

    fn planned_us(&self) -> Option<u64> {
        let outcome = &self.growing.outcome;
        let measuring_from_us = growing::measuring_from_us(&outcome.recording.seconds);
        growing::planned_us(&outcome.spec, measuring_from_us)
    }

    fn live(&self, store: &dyn Notebook, part: Option<&PartOf>) -> Result<Live, Failure> {
        let (number, uuid) = self.stopped_by(store, part)?;
        Ok(Live {
            number,
            uuid,
            now_us: growing::now_us(&self.growing.outcome.recording.seconds),
            planned_us: self.planned_us(),
            cannot_stop: store.cannot_stop(number)?,
            silent_s: self.silent_s,
            is_gone: !self.served.together && store.is_gone(number)?,
        })
    }

    /// The trial that is asked to stop. Of several generators one tells the others; this one may be dead.
    fn stopped_by(
        &self,
        store: &dyn Notebook,
        part: Option<&PartOf>,
    ) -> Result<(i64, String), Failure> {
        let own = (self.row.number, self.row.uuid.clone());
        let goes_on = |part: &PartOf, number: i64| {
            let mut parts = part.parts.iter();
            parts.any(|one| one.trial == number && one.goes_on())
        };
        let Some(part) = part.filter(|part| self.served.together && !goes_on(part, own.0)) else {
            return Ok(own);
        };
        let rows = glance::running(store)?;
        let other = rows.into_iter().find(|row| goes_on(part, row.number));
        Ok(other.map_or(own, |row| (row.number, row.uuid)))
    }
}

fn value(of: &impl Serialize) -> Result<Value, Failure> {
    serde_json::to_value(of).map_err(|e| Failure::new(format!("a page that has no JSON: {e}")))
}
