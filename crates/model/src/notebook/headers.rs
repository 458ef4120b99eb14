//! What is kept of experiments and trials before they begin.

use std::collections::BTreeMap;

use pgdyno_measurement::ScriptRecord;

use crate::Note;
use crate::document::{Facts, Host, TargetKind};
use pgdyno_spec::{Exit, Failure, TrialSpec};

/// An experiment, before its first trial.
#[derive(Debug, Clone)]
pub struct ExperimentHeader {
    /// What people call it; need not be unique.
    pub name: String,
    /// The text that defines it: the file of a sweep.
    pub definition: String,
}

/// All that is known of a trial before it begins.
#[derive(Debug, Clone)]
pub struct TrialHeader {
    /// The number of its experiment, if it belongs to one.
    pub experiment: Option<i64>,
    /// The swept parameters at its point, as a JSON object.
    pub point: Option<serde_json::Value>,
    /// Which repeat of that point it is, from 1.
    pub repeat: Option<u32>,
    /// Its place in the order of the experiment, from 1.
    pub position: Option<u32>,
    /// Marks to find it by.
    pub tags: Vec<String>,
    /// What there is to say of it.
    pub note: Option<String>,
    pub workload: String,
    /// The pack's content, when it is a pack.
    pub pack_sha256: Option<String>,
    /// What every client starts with.
    pub variables: BTreeMap<String, String>,
    /// Where it runs, for people, without secrets.
    pub target: String,
    pub target_kind: TargetKind,
    /// What is known about the server.
    pub facts: Facts,
    /// The host that pgdyno runs on.
    pub host: Host,
    /// What a reader must know, as far as it is known before.
    pub notes: Vec<Note>,
    /// What was typed, without secrets.
    pub command: String,
    pub spec: TrialSpec,
    pub scripts: Vec<ScriptRecord>,
    /// The operations whose work units these count.
    pub operations: Vec<String>,
}

/// A tag is a word, so that lists of them can be read.
///
/// # Errors
/// It is none.
pub fn check_tag(tag: &str) -> Result<(), Failure> {
    if tag.is_empty() || tag.starts_with('-') || tag.chars().any(|c| c.is_whitespace() || c == ',')
    {
        let text = format!("\"{tag}\" cannot be a tag");
        return Err(Failure::with(Exit::Usage, text)
            .hint("a tag is a word without spaces and commas: baseline, before-upgrade"));
    }
    Ok(())
}
