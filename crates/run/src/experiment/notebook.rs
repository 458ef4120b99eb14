//! An experiment in the store: which of its trials are complete, and a place for those to come.

use std::cell::OnceCell;

use crate::{header, reset};
use pgdyno_model::notebook::{
    ExperimentHeader, ExperimentRow, Filter, KeptTrial, Notebook, TrialHeader, TrialRow,
};

use serde_json::{Value, json};

use super::schedule::{Key, Slot};
use crate::prepare::Prepared;

use pgdyno_database::open::Target;

use pgdyno_model::State;
use pgdyno_model::event::Role;
use pgdyno_spec::{Exit, Failure, TrialSpec};

/// Marks trials that find a maximum.
const TAG_OF_MAXIMUM: &str = "maximum";

/// What tells one experiment from another.
#[derive(Debug, Clone, PartialEq)]
pub struct Identity {
    pub name: String,
    /// Over its points, its workloads' content and its `[reset]`; more repeats do not change it.
    pub sha256: String,
    /// Where order and trials take their random numbers from.
    pub seed: i64,
    /// All of it, for readers.
    pub definition: Value,
}

impl Identity {
    fn header(&self) -> ExperimentHeader {
        let definition = json!({
            "sha256": self.sha256,
            "seed": self.seed,
            "definition": self.definition,
        });
        ExperimentHeader {
            name: self.name.clone(),
            definition: definition.to_string(),
        }
    }
}

/// What happened before a trial.
#[derive(Debug, Clone, Default)]
pub struct Circumstances {
    /// Rows loaded for it and the seconds that took, when tables had to be loaded.
    pub loaded: Option<(u64, f64)>,
    /// Settings of the server that it ran with, with the way each was set.
    pub settings: Vec<(String, String, &'static str)>,
    pub reset: Option<reset::Record>,
}

impl Circumstances {
    pub fn to_json(&self) -> Value {
        let settings = self.settings.iter();
        let settings =
            settings.map(|(name, value, way)| (name.clone(), json!({ "value": value, "by": way })));
        json!({
            "loaded": self.loaded.map(|(rows, elapsed_s)| json!({ "rows": rows, "elapsed_s": elapsed_s })),
            "settings": settings.collect::<serde_json::Map<_, _>>(),
            "reset": self.reset,
        })
    }
}

/// A trial that need not be run again.
#[derive(Debug, Clone, PartialEq)]
pub struct Done {
    pub key: Key,
    pub goodput_per_s: f64,
}

/// An experiment in the notebook.
pub struct StoredExperiment<'a> {
    notebook: &'a dyn Notebook,
    /// What is written when it begins.
    header: ExperimentHeader,
    /// Its row there, once it has begun.
    row: OnceCell<ExperimentRow>,
    done: Vec<Done>,
    /// Mark all of its trials.
    tags: Vec<String>,
}

/// An experiment that was begun before, and what it was begun with.
pub struct Begun<'a> {
    pub notebook: StoredExperiment<'a>,
    pub seed: i64,
}

impl<'a> StoredExperiment<'a> {
    /// A new experiment. Nothing is written until [`StoredExperiment::begin`]: one that is refused before its first trial
    /// leaves nothing behind.
    pub fn new(notebook: &'a dyn Notebook, identity: &Identity) -> Self {
        Self {
            notebook,
            header: identity.header(),
            row: OnceCell::new(),
            done: Vec::new(),
            tags: Vec::new(),
        }
    }

    /// Begins the experiment, unless it has begun.
    ///
    /// # Errors
    /// The store cannot be written.
    pub fn begin(&self) -> Result<&ExperimentRow, Failure> {
        if let Some(row) = self.row.get() {
            return Ok(row);
        }
        let begun = self.notebook.begin_experiment(&self.header)?;
        Ok(self.row.get_or_init(|| begun))
    }

    /// Whether it is in the store.
    pub fn has_begun(&self) -> bool {
        self.row.get().is_some()
    }

    /// With these marks on all trials to come.
    pub fn tagged(self, tags: Vec<String>) -> Self {
        Self { tags, ..self }
    }

    /// The newest experiment of this name with the same points, workloads and `[reset]`, to go on
    /// with it; `None` when the store has none of this name. Who takes over from a generator that died
    /// does so beside the trial that it left running.
    ///
    /// # Errors
    /// All of this name are others; another pgdyno is at work on it; the store cannot be read.
    pub fn resume(
        notebook: &'a dyn Notebook,
        identity: &Identity,
        takes_over: bool,
    ) -> Result<Option<Begun<'a>>, Failure> {
        let place = notebook.place();
        let name = &identity.name;
        let named = notebook.experiments_named(name)?;
        let same = named.iter().find_map(|row| {
            let definition: Value = serde_json::from_str(&row.definition).ok()?;
            let is_same = definition["sha256"] == identity.sha256.as_str();
            is_same.then(|| Some((row, definition["seed"].as_i64()?)))?
        });
        let Some((row, seed)) = same else {
            if named.is_empty() {
                return Ok(None);
            }
            return Err(Failure::new(format!(
                "{name} in {place} is another experiment: its points, workloads or [reset] differ"
            ))
            .hint("without --resume a new experiment is started"));
        };
        let trials = notebook.trials(&Filter {
            experiment: Some(row.uuid.clone()),
            ..Filter::default()
        })?;
        let mut running = trials.iter().filter(|trial| trial.state == State::Running);
        if let Some(running) = running.next().filter(|_| !takes_over) {
            let number = running.number;
            return Err(Failure::new(format!(
                "another pgdyno is at work on {name}: trial {number} in {place} runs"
            )));
        }
        // What does not count is to be measured again.
        let done = trials
            .iter()
            .filter(|trial| counts(trial))
            .filter_map(|trial| {
                let (role, repeat) = match trial.repeat {
                    Some(repeat) => (Role::Point, repeat),
                    None => (Role::Maximum, 0),
                };
                Some(Done {
                    key: (role, trial.point.as_ref()?.to_string(), repeat),
                    goodput_per_s: trial.goodput_per_s.unwrap_or(0.0),
                })
            });
        let notebook = Self {
            notebook,
            header: identity.header(),
            row: OnceCell::from(row.clone()),
            done: done.collect(),
            tags: Vec::new(),
        };
        Ok(Some(Begun { notebook, seed }))
    }

    pub fn notebook(&self) -> &'a dyn Notebook {
        self.notebook
    }

    /// Its UUID in the store, where it begins if it has not yet.
    ///
    /// # Errors
    /// The store cannot be written.
    pub fn uuid(&self) -> Result<&str, Failure> {
        Ok(&self.begin()?.uuid)
    }

    /// The experiment's trials that are complete, and count; the newest first.
    ///
    /// # Errors
    /// The store cannot be read.
    pub fn results(&self) -> Result<Vec<TrialRow>, Failure> {
        let mut trials = self.notebook.trials(&Filter {
            experiment: Some(self.uuid()?.to_owned()),
            ..Filter::default()
        })?;
        trials.retain(counts);
        Ok(trials)
    }

    /// Trials that are complete, and count, from the sessions before this one.
    pub fn done(&self) -> &[Done] {
        &self.done
    }

    /// A trial is about to begin; `position` is its place in the order, from 1.
    ///
    /// # Errors
    /// The store cannot be written.
    pub fn begin_trial(
        &self,
        (slot, position): (&Slot, u32),
        spec: &TrialSpec,
        prepared: &mut Prepared,
    ) -> Result<Box<dyn KeptTrial>, Failure> {
        prepared.is_kept_in(self.notebook);
        let header = self.placed((slot, position), header::header(spec, prepared))?;
        self.notebook.begin(&header)
    }

    /// A trial came to nothing before it could begin.
    ///
    /// # Errors
    /// The store cannot be written.
    pub fn not_begun(
        &self,
        (slot, position): (&Slot, u32),
        spec: &TrialSpec,
        target: Option<&Target>,
        before: &Circumstances,
        why: &Failure,
    ) -> Result<(), Failure> {
        let header = self.placed((slot, position), header::not_begun(spec, target))?;
        let mut writer = self.notebook.begin(&header)?;
        writer.keep_event("before", 0, &before.to_json().to_string());
        writer.end_with(why)
    }

    fn placed(
        &self,
        (slot, position): (&Slot, u32),
        header: TrialHeader,
    ) -> Result<TrialHeader, Failure> {
        let is_maximum = slot.role == Role::Maximum;
        let of_maximum = is_maximum.then(|| TAG_OF_MAXIMUM.to_owned());
        let mut tags = header.tags;
        tags.extend(of_maximum.into_iter().chain(self.tags.iter().cloned()));
        Ok(TrialHeader {
            experiment: Some(self.begin()?.number),
            point: Some(slot.point.to_json()),
            repeat: (!is_maximum).then_some(slot.repeat),
            position: Some(position),
            tags,
            ..header
        })
    }
}

fn counts(trial: &TrialRow) -> bool {
    trial.state == State::Complete && trial.excluded.is_none()
}

/// The state of a trial that came to nothing because of this.
pub fn state_after(failure: &Failure) -> State {
    match failure.exit {
        Exit::Interrupted(_) => State::Aborted,
        _ => State::Failed,
    }
}
