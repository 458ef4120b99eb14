//! What `pgdyno lab retries` found: the forms side by side at each point, and what that means.
//!
//! Not for: which trials are run (`model::experiment::retries_lab`).

mod answer;
mod pairs;
mod sections;
#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, BTreeSet};

use pgdyno_measurement::{Latencies, Work};
use pgdyno_stats::{Bootstrap, Sample, Summary};
use serde_json::{Value, json};

use super::lab::{Lab, Trials};
use super::over::Over;
use pgdyno_model::document::answer::Answer;
use pgdyno_model::document::retries_lab::{
    LabForm, LabGoodput, LabPoint, LabRepeat, LabTarget, LabTrial, RetriesLab,
};
use pgdyno_model::document::section::Section;
use pgdyno_model::document::{Facts, ServerCounters};
use pgdyno_model::{Fact, State};
use pgdyno_spec::{Failure, text as figures};

/// Grows when a field changes its meaning or goes.
const FORMAT: u32 = 1;

/// The laboratory of these trials.
///
/// # Errors
/// The store cannot be read.
pub fn lab(trials: &Trials<'_>) -> Result<RetriesLab, Failure> {
    let mut results = Results::default();
    trials.each(|over| results.add(over))?;
    Ok(results.document())
}

impl Lab for RetriesLab {
    fn facts(&self) -> Option<(&'static str, Value)> {
        Some(("retries_lab", json!(self)))
    }

    fn title(&self, workload: &str) -> String {
        let forms = self.points.iter().flat_map(|point| &point.forms);
        let forms: BTreeSet<&str> = forms.map(|form| form.form.as_str()).collect();
        let clients = self
            .points
            .iter()
            .map(|point| point.given["clients"].as_u64().unwrap_or(1));
        let clients: BTreeSet<u64> = clients.collect();
        let clients = match (clients.len(), clients.first()) {
            (1, Some(only)) => figures::plural(*only, "client"),
            _ => format!(
                "{} clients",
                clients
                    .iter()
                    .map(u64::to_string)
                    .collect::<Vec<_>>()
                    .join(" and ")
            ),
        };
        let workload = self.workload.as_deref().unwrap_or(workload);
        format!(
            "{workload} in {}, {clients}",
            figures::plural(forms.len() as u64, "form")
        )
    }

    fn heading(&self) -> String {
        sections::heading(self)
    }

    fn answer(&self) -> Option<Answer> {
        answer::answer(self)
    }

    fn sections(&self) -> Vec<Section> {
        sections::sections(self)
    }

    fn has_repeats(&self) -> bool {
        true
    }
}

/// All points, in the order in which they were first measured.
#[derive(Default)]
struct Results {
    points: Vec<Point>,
    target: Option<Target>,
    /// Trials that were complete so far.
    complete: u64,
}

/// Where it was measured, as its first trial found it.
struct Target {
    title: String,
    facts: Facts,
    /// The workload's name and what its clients started with.
    workload: String,
    variables: BTreeMap<String, String>,
    trial: LabTrial,
}

/// All forms under the same circumstances.
struct Point {
    /// What was the same for all of them.
    given: Value,
    /// The isolation level that was found to be in effect.
    isolation: Option<String>,
    forms: Vec<Form>,
}

/// All trials of a form at a point.
struct Form {
    name: String,
    /// Of each trial that is complete.
    goodputs: Vec<f64>,
    repeats: Vec<LabRepeat>,
    /// Of them all, from the start of each transaction's first try.
    latencies: Latencies,
    committed: u64,
    retries: u64,
    total: u64,
    failed: u64,
    work: Work,
    /// Restarts that the server counted beyond those that clients saw, where it counts.
    server_restarts: Option<u64>,
    /// Why trials came to nothing, each reason once.
    troubles: Vec<String>,
}

impl Results {
    /// Takes a trial that is over.
    fn add(&mut self, over: Over<'_>) {
        let mut given = over.point;
        let name = given.as_object_mut().and_then(|given| given.remove("mix"));
        let name = name.as_ref().and_then(Value::as_str).unwrap_or_default();
        let order = self.complete + 1;
        let is_complete = over.state == State::Complete && over.outcome.is_some();
        self.complete += u64::from(is_complete);
        let point = self.point(&given);
        let form = point.form(name);
        let number = over.number;
        let outcome = match (over.outcome, over.state) {
            (Some(outcome), State::Complete) => outcome,
            (_, State::Aborted | State::Running) => return,
            _ => {
                let why = over.why.unwrap_or_default();
                if !form.troubles.contains(&why) {
                    form.troubles.push(why);
                }
                return;
            }
        };
        let level = outcome.facts.isolation.known();
        let level = level.or(outcome.facts.default_transaction_isolation.known());
        let measured = &outcome.recording.measured;
        let all = measured.all();
        form.goodputs.push(measured.goodput_per_s());
        form.repeats.push(LabRepeat {
            trial: number,
            order,
            p99_us: all.service.percentile_us(99.0),
            retries_per_commit: (all.counts.committed > 0)
                .then(|| all.counts.retries as f64 / all.counts.committed as f64),
            lost_time_share: all.work.lost_time_share(),
        });
        form.latencies.merge(&all.service);
        form.committed += all.counts.committed;
        form.retries += all.counts.retries;
        form.total += all.counts.total();
        form.failed += all.counts.failed_total();
        form.work.merge(&all.work);
        let counters: Option<Fact<ServerCounters>> = outcome.findings.get();
        let counters = counters.as_ref().and_then(Fact::known);
        if let Some(restarts) = counters.and_then(|counters| counters.restarts) {
            let unknown = restarts.saturating_sub(all.work.lost_tries);
            *form.server_restarts.get_or_insert(0) += unknown;
        }
        point.isolation = level.cloned();
        self.target.get_or_insert_with(|| Target {
            title: outcome.target.clone(),
            facts: outcome.facts.clone(),
            workload: outcome.workload.clone(),
            variables: outcome.variables.iter().cloned().collect(),
            trial: LabTrial {
                duration_s: given["duration"].as_f64(),
                transactions_per_client: given["transactions"].as_u64(),
                max_tries: outcome.spec.retry.tries(),
            },
        });
    }

    fn point(&mut self, given: &Value) -> &mut Point {
        let known = self.points.iter().position(|point| point.given == *given);
        let at = known.unwrap_or_else(|| {
            self.points.push(Point {
                given: given.clone(),
                isolation: None,
                forms: Vec::new(),
            });
            self.points.len() - 1
        });
        &mut self.points[at]
    }

    fn document(&self) -> RetriesLab {
        let points = self.points.iter().map(|point| {
            let mut point = LabPoint {
                given: point.given.clone(),
                isolation: point.isolation.clone(),
                forms: point.ranked().into_iter().map(Form::document).collect(),
                pairs: pairs::document(&point.measured()),
                says: None,
            };
            point.says = answer::says(&point);
            point
        });
        let points: Vec<LabPoint> = points.collect();
        let target = self.target.as_ref();
        RetriesLab {
            format: FORMAT,
            lab: "retries".to_owned(),
            pgdyno: env!("CARGO_PKG_VERSION").to_owned(),
            exploratory: true,
            workload: target.map(|t| t.workload.clone()),
            variables: target.map(|t| t.variables.clone()),
            trial: target.map(|t| t.trial.clone()),
            target: target.map(|t| LabTarget {
                title: t.title.clone(),
                facts: t.facts.clone(),
            }),
            says: sections::remarks(&points),
            points,
        }
    }
}

impl Point {
    fn form(&mut self, name: &str) -> &mut Form {
        let known = self.forms.iter().position(|form| form.name == name);
        let at = known.unwrap_or_else(|| {
            self.forms.push(Form {
                name: name.to_owned(),
                goodputs: Vec::new(),
                repeats: Vec::new(),
                latencies: Latencies::default(),
                committed: 0,
                retries: 0,
                total: 0,
                failed: 0,
                work: Work::default(),
                server_restarts: None,
                troubles: Vec::new(),
            });
            self.forms.len() - 1
        });
        &mut self.forms[at]
    }

    /// The forms that were measured, best goodput first, then the others.
    fn ranked(&self) -> Vec<&Form> {
        let mut forms: Vec<&Form> = self.forms.iter().collect();
        // Without a figure below all figures; equals stay in their order.
        let key = |form: &Form| form.goodput().map_or(f64::NEG_INFINITY, |s| s.median);
        forms.sort_by(|a, b| key(b).total_cmp(&key(a)));
        forms
    }

    /// Of the ranked those that committed something.
    fn measured(&self) -> Vec<&Form> {
        let ranked = self.ranked().into_iter();
        ranked
            .filter(|form| form.goodput().is_some_and(|s| s.median > 0.0))
            .collect()
    }
}

impl Form {
    fn sample(&self) -> Option<Sample> {
        Sample::new(&self.goodputs).ok()
    }

    fn goodput(&self) -> Option<Summary> {
        Some(self.sample()?.summary(&Bootstrap::default()))
    }

    /// Retries that clients did not have to make: as the transactions report, or as the server counts.
    fn by_server(&self) -> u64 {
        let counted = self.server_restarts.unwrap_or(0);
        self.work.server_retries.max(counted)
    }

    fn per_commit(&self, count: u64) -> Option<f64> {
        (self.committed > 0).then(|| count as f64 / self.committed as f64)
    }

    fn document(&self) -> LabForm {
        LabForm {
            form: self.name.clone(),
            goodput_per_s: self.goodput().map(|s| LabGoodput {
                median: s.median,
                min: s.min,
                max: s.max,
                interval: s.interval.map(|it| (it.low, it.high)),
                repeats: self.goodputs.clone(),
            }),
            repeats: self.repeats.clone(),
            service: (&self.latencies).into(),
            committed: self.committed,
            failed: self.failed,
            transactions: self.total,
            given_up: self.work.given_up,
            retries: self.retries,
            server_retries: self.by_server(),
            retries_per_commit: self.per_commit(self.retries),
            server_retries_per_commit: self.per_commit(self.by_server()),
            lost_time_share: self.work.lost_time_share(),
            lost_statement_share: self.work.lost_statement_share(),
            not_run: self.troubles.clone(),
        }
    }
}
