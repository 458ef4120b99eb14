//! What a trial came to, as the runner gives it and the notebook keeps it.

use pgdyno_measurement::Recording;

use crate::document::{Facts, Generators, Host, TargetKind, Truth};
use crate::observed::Observed;
use crate::{Fact, Findings, Note};
use pgdyno_spec::TrialSpec;

/// What a trial came to.
pub struct Outcome {
    pub spec: TrialSpec,
    pub workload: String,
    /// The pack's content, when it is a pack.
    pub pack_sha256: Option<String>,
    /// Variables that every client started with.
    pub variables: Vec<(String, String)>,
    /// Where it ran, for people.
    pub target: String,
    pub target_kind: TargetKind,
    /// What is known about the server.
    pub facts: Facts,
    /// The host that pgdyno ran on.
    pub host: Host,
    pub recording: Recording,
    /// What the trial's companions found.
    pub findings: Findings,
    pub observed: Observed,
    /// Who measured it, where several pgdynos did.
    pub generators: Option<Generators>,
    /// What a reader must know.
    pub notes: Vec<Note>,
}

impl Outcome {
    /// Whether the database does not have what it acknowledged.
    pub fn has_lost_writes(&self) -> bool {
        let truth: Option<Fact<Truth>> = self.findings.get();
        let truth = truth.as_ref().and_then(Fact::known);
        truth.is_some_and(|truth| truth.lost > 0)
    }
}
