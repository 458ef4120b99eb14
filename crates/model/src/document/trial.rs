//! The document of a trial.

use serde::Serialize;

use super::phases::PhaseFigures;
use super::{
    Accounted, ClientCourse, ClientCpu, Clients, Cluster, ConnectionEvent, Connections, DataCheck,
    DisturbedTrial, End, Endpoint, GeneratorShare, Generators, Host, IsolationCheck, KeySkew,
    NamedFinding, Observed, Outages, PackFigure, Phase, RateStep, Reason, ScriptStatements, Second,
    ServerCounters, SlowTransaction, Staleness, Stalls, Steadiness, Stored, Target, TimeBudget,
    Truth, Verdict, Warmup, Workload,
};
use crate::{Fact, Note};
use pgdyno_spec::TrialSpec;

/// What was run, and what came of it: of `--json` all but its series and seconds (docs/json.md).
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct Run {
    /// Grows when a field changes its meaning or goes.
    pub format: u32,
    /// The version of pgdyno.
    pub pgdyno: String,
    /// When clients began to work, UTC.
    pub started: String,
    pub workload: Workload,
    /// All options, with defaults filled in and without passwords.
    pub trial: TrialSpec,
    /// The server: facts, changed settings, nodes, tables.
    pub target: Target,
    /// Where pgdyno ran.
    pub host: Host,
    /// Figures by phase: of the steps, bursts, parts of ramps or periods of a rate, or number of
    /// clients, that moves; left out of other trials.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[cfg_attr(test, ts(optional, as = "Option<Vec<PhaseFigures>>"))]
    pub phases: Vec<PhaseFigures>,
    /// How many clients worked where their number moves; left out where it does not.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(test, ts(optional))]
    pub client_course: Option<ClientCourse>,
    /// Where the rate jumped, and how long response times were not steady then; left out where it
    /// did not.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[cfg_attr(test, ts(optional, as = "Option<Vec<RateStep>>"))]
    pub rate_steps: Vec<RateStep>,
    /// How it ended.
    pub end: End,
    /// What `\error` said, behind its script and line.
    pub broken_invariant: Option<String>,
    /// The figures, without the warm-up.
    pub measured: Phase,
    /// The warm-up's, apart from all others.
    pub warmup: Option<Warmup>,
    /// What the draws came to, where scripts say which row they are about.
    pub key_skew: Option<KeySkew>,
    /// What the storage layer did, where the workload is about that.
    pub accounting: Option<Accounted>,
    /// What disturbed it; left out of other trials.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(test, ts(optional))]
    pub disturbed: Option<DisturbedTrial>,
    /// What must hold of the data, by the workload's pack; empty without any, or where none was asked.
    pub checks: Vec<DataCheck>,
    /// Figures that the workload's pack makes of it; empty without any.
    pub figures: Vec<PackFigure>,
    /// Of throughput, and with a rate of response time.
    pub steadiness: Vec<Steadiness>,
    /// Why tries of the measured time failed, most frequent first.
    pub reasons: Vec<Reason>,
    /// What the server counted itself during the run, warm-up included.
    pub server_counters: Fact<ServerCounters>,
    /// Whether the database has what it acknowledged, or why that is not known; left out where
    /// transactions leave no receipts.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(test, ts(optional))]
    pub truth: Option<Fact<Truth>>,
    /// How stale reads were at endpoints with a role; left out where that was not measured.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(test, ts(optional))]
    pub staleness: Option<Staleness>,
    /// What its history shows, or why that is not known; left out where none was recorded.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(test, ts(optional))]
    pub isolation: Option<Fact<IsolationCheck>>,
    /// What else accompanied the trial and found something; left out where nothing did.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[cfg_attr(test, ts(optional, as = "Option<Vec<NamedFinding>>"))]
    pub findings: Vec<NamedFinding>,
    /// Times of each statement, by script.
    pub statements: Vec<ScriptStatements>,
    /// How long connecting took.
    pub connections: Connections,
    /// Lost connections, with `reconnect`.
    pub outages: Outages,
    /// By server that clients connected to.
    pub endpoints: Vec<Endpoint>,
    /// The cluster before and after; `null` where there is but one node.
    pub cluster: Option<Cluster>,
    /// What happened to connections, the first thousand.
    pub events: Vec<ConnectionEvent>,
    /// Times without service.
    pub stalls: Stalls,
    /// The committed transactions of the measured time that took longest, the longest first.
    pub worst: Vec<SlowTransaction>,
    /// How many clients there were, and how many ended early.
    pub clients: Clients,
    /// CPU time and delays of pgdyno's threads.
    pub client_cpu: ClientCpu,
    /// How much of what its generator can do that was; `null` when nothing was measured.
    pub generator_share: Option<GeneratorShare>,
    /// Who measured it, where several pgdynos did; left out of other trials.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(test, ts(optional))]
    pub generators: Option<Generators>,
    /// What a reader must know before believing it.
    pub notes: Vec<Note>,
    /// What the notebook knows beside; left out of a trial that is not read from one.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(test, ts(optional))]
    pub stored: Option<Stored>,
}

/// A trial as its reports show it.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct Trial {
    /// What was run, and what came of it.
    #[serde(flatten)]
    pub run: Run,
    /// What instruments saw; `null` when there was none.
    pub observed: Option<Observed>,
    /// Where the clients' time went; `null` when nothing was measured.
    pub budget: Option<TimeBudget>,
    /// What limited it; `null` when nothing was measured that could be judged.
    pub verdict: Option<Verdict>,
}

/// What `--json` prints of a trial.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct WholeTrial {
    #[serde(flatten)]
    pub trial: Trial,
    /// By second, warm-up included and marked.
    pub seconds: Vec<Second>,
}
