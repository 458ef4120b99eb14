//! Where trials are written down, and what a sweep must find there to go on after an interruption.

use serde_json::{Value, json};

use super::schedule::{Key, Slot};
use crate::exit::Failure;
use crate::plan::hygiene;
use crate::plan::trial::Outcome;

/// What tells one experiment from another.
#[derive(Debug, Clone, PartialEq)]
pub struct Identity {
    /// What it is called.
    pub name: String,
    /// Over its points, its workloads' content and its hygiene; more repeats do not change it.
    pub sha256: String,
    /// Where order and trials take their random numbers from.
    pub seed: i64,
    /// How many trials it has.
    pub trials: usize,
    /// All of it, for readers.
    pub definition: Value,
}

/// How a trial ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum State {
    /// It was measured to its end.
    Complete,
    /// Something went wrong; its figures, if there are any, are no result.
    Failed,
    /// Somebody ended it early.
    Aborted,
}

impl State {
    /// Its word in records.
    pub fn word(self) -> &'static str {
        match self {
            State::Complete => "complete",
            State::Failed => "failed",
            State::Aborted => "aborted",
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
    /// What was tidied up.
    pub hygiene: Option<hygiene::Record>,
}

impl Circumstances {
    /// For records.
    pub fn to_json(&self) -> Value {
        let settings = self.settings.iter();
        let settings =
            settings.map(|(name, value, way)| (name.clone(), json!({ "value": value, "by": way })));
        json!({
            "loaded": self.loaded.map(|(rows, elapsed_s)| json!({ "rows": rows, "elapsed_s": elapsed_s })),
            "settings": settings.collect::<serde_json::Map<_, _>>(),
            "hygiene": self.hygiene,
        })
    }
}

/// A trial that is over.
pub struct Finished<'a> {
    /// How it ended.
    pub state: State,
    /// What was measured, if anything was.
    pub outcome: Option<&'a Outcome>,
    /// What went wrong.
    pub error: Option<String>,
    /// What happened before it.
    pub circumstances: &'a Circumstances,
}

/// A trial that need not be run again.
#[derive(Debug, Clone, PartialEq)]
pub struct Done {
    /// Which.
    pub key: Key,
    /// What it came to.
    pub goodput_per_s: f64,
}

/// Where an experiment is written down.
pub trait Notebook {
    /// The seed of the experiment that is in it already.
    fn seed(&self) -> Option<i64>;

    /// Begins the experiment or goes on with it; tells which trials are complete.
    ///
    /// # Errors
    /// Another experiment is in it, or it cannot be written.
    fn begin_experiment(&mut self, identity: &Identity) -> Result<Vec<Done>, Failure>;

    /// A trial is about to begin.
    ///
    /// # Errors
    /// It cannot be written.
    fn begin_trial(&mut self, slot: &Slot) -> Result<(), Failure>;

    /// A trial is over. It is on the disk when this returns.
    ///
    /// # Errors
    /// It cannot be written.
    fn finish_trial(&mut self, slot: &Slot, finished: &Finished<'_>) -> Result<(), Failure>;
}
