//! What a trial came to, as the runner gives it and the notebook keeps it.

use pgdyno_measurement::Recording;

use crate::document::{
    Accounting, ClusterAfter, DataCheck, Disturbed, Facts, Generators, Host, IsolationCheck,
    KeySkew, PackFigure, ServerCounters, Staleness, TargetKind, Truth, WarmupEnd,
};
use crate::observed::Observed;
use crate::{Fact, Note};
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
    /// What the cluster was like after it, where there is more than one node.
    pub cluster_after: Option<ClusterAfter>,
    /// What the server counted of restarts itself.
    pub server_counters: Fact<ServerCounters>,
    /// Whether the database has what it acknowledged, where transactions left receipts.
    pub truth: Option<Fact<Truth>>,
    /// How stale reads were at endpoints with a role, where that was measured.
    pub staleness: Option<Staleness>,
    /// What its history shows, where one was recorded, or why that is not known.
    pub isolation: Option<Fact<IsolationCheck>>,
    /// The host that pgdyno ran on.
    pub host: Host,
    pub recording: Recording,
    /// What its draws came to, where scripts say which rows they are about.
    pub key_skew: Option<KeySkew>,
    /// What the storage layer did, where the workload is about that.
    pub accounting: Option<Accounting>,
    /// What disturbed it, where something was to.
    pub disturbed: Option<Disturbed>,
    /// What must hold of the data, and whether it did.
    pub checks: Vec<DataCheck>,
    /// Figures that the pack makes of it.
    pub figures: Vec<PackFigure>,
    /// How the warm-up ended, where that was to be found.
    pub warmup_ended: Option<WarmupEnd>,
    pub observed: Observed,
    /// Who measured it, where several pgdynos did.
    pub generators: Option<Generators>,
    /// What a reader must know.
    pub notes: Vec<Note>,
}

impl Outcome {
    /// Whether the database does not have what it acknowledged.
    pub fn has_lost_writes(&self) -> bool {
        let truth = self.truth.as_ref().and_then(Fact::known);
        truth.is_some_and(|truth| truth.lost > 0)
    }
}
