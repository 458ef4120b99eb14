//! Laboratories and searches: experiments with an answer of their own. Each makes its document from its trials;
//! [`of`] is the only place that knows them all.

use pgdyno_diagnose::calibration::read;
use pgdyno_model::Outcome;
use pgdyno_model::document::answer::Answer;
use pgdyno_model::document::section::Section;
use pgdyno_model::notebook::{ExperimentRow, Filter, Notebook, TrialRow};
use pgdyno_spec::Failure;
use pgdyno_spec::experiment::Kind;
use serde::Deserialize;
use serde_json::Value;

use crate::over::Over;
use crate::{answer, calibration, capacity, disturb, isolation, retries_lab, sections, slob_sweep};

/// What a laboratory found.
pub trait Lab {
    /// All of it as data, and its name in the document of the experiment's page; `None`: each page has it.
    fn facts(&self) -> Option<(&'static str, Value)>;

    /// What its page is called, as people would say it: `tpcb in 6 forms, 8 clients`.
    fn title(&self, workload: &str) -> String;

    /// `None`: nothing was measured that says anything.
    fn answer(&self) -> Option<Answer>;

    /// What a terminal shows above the answer: where it was measured, and what.
    fn heading(&self) -> String {
        String::new()
    }

    fn sections(&self) -> Vec<Section> {
        Vec::new()
    }

    /// Whether the page also shows its points as those of a sweep.
    fn has_points(&self) -> bool {
        false
    }

    /// Whether its trials in the order in which they ran say more: there are repeats.
    fn has_repeats(&self) -> bool {
        false
    }
}

/// The trials of an experiment.
pub struct Trials<'a> {
    pub store: &'a dyn Notebook,
    pub experiment: &'a ExperimentRow,
    /// In the order of their numbers.
    pub all: Vec<TrialRow>,
}

impl<'a> Trials<'a> {
    /// # Errors
    /// The store cannot be read.
    pub fn of(store: &'a dyn Notebook, experiment: &'a ExperimentRow) -> Result<Self, Failure> {
        let filter = Filter {
            experiment: Some(experiment.uuid.clone()),
            ..Filter::default()
        };
        let mut all = store.trials(&filter)?;
        all.sort_by_key(|trial| trial.number);
        Ok(Self {
            store,
            experiment,
            all,
        })
    }

    /// Gives each trial that belongs to a point and is not excluded.
    ///
    /// # Errors
    /// The store cannot be read.
    pub fn each(&self, mut take: impl FnMut(Over<'_>)) -> Result<(), Failure> {
        self.each_with(|over, _| take(over))
    }

    /// The same, with its outcome, complete or not.
    ///
    /// # Errors
    /// The store cannot be read.
    pub fn each_with(&self, mut take: impl FnMut(Over<'_>, &Outcome)) -> Result<(), Failure> {
        for row in &self.all {
            let outcome = self.store.outcome(row.number)?;
            if let Some(over) = Over::stored(row, &outcome) {
                take(over, &outcome);
            }
        }
        Ok(())
    }

    /// What was defined, as it is kept.
    pub(crate) fn definition(&self) -> Value {
        definition(self.experiment)
    }
}

fn definition(experiment: &ExperimentRow) -> Value {
    let kept: Value = serde_json::from_str(&experiment.definition).unwrap_or_default();
    kept["definition"].clone()
}

/// As it is kept; in notebooks of before kinds were kept, that of the command that gave the name.
pub(crate) fn kind(experiment: &ExperimentRow) -> Kind {
    let kept = Kind::deserialize(&definition(experiment)["kind"]);
    kept.unwrap_or_else(|_| Kind::by_name(&experiment.name))
}

/// The laboratory that these trials are of; `None`: they are a sweep. `search` is what a search for a capacity among
/// them found.
///
/// # Errors
/// The store cannot be read.
pub fn of(
    trials: &Trials<'_>,
    search: Option<capacity::Searched>,
) -> Result<Option<Box<dyn Lab>>, Failure> {
    fn boxed<T: Lab + 'static>(lab: T) -> Option<Box<dyn Lab>> {
        Some(Box::new(lab))
    }
    Ok(match kind(trials.experiment) {
        Kind::Retries => boxed(retries_lab::lab(trials)?),
        Kind::Disturb | Kind::Failover | Kind::Migrate => boxed(disturb::lab(trials)?),
        Kind::Isolation => boxed(isolation::lab(trials)?),
        Kind::Slob => slob_sweep::lab(trials)?.and_then(boxed),
        Kind::Sweep => match read::of_experiment(trials.store, trials.experiment)? {
            Some(found) => boxed(calibration::document(&found)),
            None => search.and_then(boxed),
        },
    })
}

/// All of a laboratory, ready to be printed.
pub fn text(lab: &dyn Lab, width: usize) -> String {
    let mut parts: Vec<String> = vec![lab.heading()];
    parts.extend(lab.answer().map(|answer| answer::text(&answer)));
    parts.retain(|part| !part.is_empty());
    parts.join("\n") + &sections::text(&lab.sections(), width)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn the_kind_is_the_one_that_was_kept_or_in_older_notebooks_the_commands() {
        let kind = |name: &str, definition: Value| {
            kind(&ExperimentRow {
                number: 1,
                uuid: String::new(),
                name: name.to_owned(),
                created: String::new(),
                definition: json!({ "definition": definition }).to_string(),
            })
        };
        assert_eq!(kind("lab-retries", json!({ "kind": "sweep" })), Kind::Sweep);
        assert_eq!(kind("mine", json!({ "kind": "retries" })), Kind::Retries);
        assert_eq!(kind("lab-retries", json!({})), Kind::Retries);
        assert_eq!(kind("lab-failover", json!({})), Kind::Failover);
        assert_eq!(kind("mine", json!({})), Kind::Sweep);
    }
}
