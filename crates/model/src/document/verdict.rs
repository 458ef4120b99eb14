//! The verdict: what limited a trial (or what an experiment or a comparison says), with its evidence.

use serde::Serialize;

#[derive(Debug, Clone, Default, PartialEq, Serialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct Verdict {
    /// The cause's code ([`Cause`]), or `not-known`; of an experiment or a comparison a code of its
    /// own. Those without a colour are drawn in a neutral one.
    pub limit: String,
    /// What limited a trial: one cause; two that cannot be distinguished when it is not known which; or
    /// none.
    pub causes: Vec<Cause>,
    /// Words above the sentence; without it "What limited it".
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(test, ts(optional))]
    pub label: Option<String>,
    pub sentence: String,
    /// What proves it, the strongest first.
    pub evidence: Vec<Proof>,
    /// What would be met next.
    pub second: Option<LimitOf>,
    /// What to try, a sentence each.
    #[serde(rename = "try")]
    pub remedies: Vec<String>,
    /// Of a comparison: that several things changed at once.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(test, ts(optional))]
    pub careful: Option<String>,
    /// Of a comparison: `--fail-if` and what came of it.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(test, ts(optional))]
    pub gate: Option<Gate>,
    /// The verdict's check of itself against what else is known, each with its figures.
    pub checks: Vec<Check>,
    /// Every cause that was examined, in order.
    pub rules: Vec<RuleRow>,
}

/// What can limit a trial (docs/verdict.md).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
#[cfg_attr(test, derive(ts_rs::TS), ts(rename = "LimitCause"))]
pub enum Cause {
    /// Nothing: the asked rate was met.
    RateMet,
    ThinkTime,
    /// pgdyno itself: its threads were busy, or got no CPU.
    Client,
    /// Others used the CPUs that client and server needed.
    OtherProcesses,
    Network,
    /// The way: bytes a second.
    Bandwidth,
    /// Something between client and server that lets few through at a time.
    Pooler,
    /// The server's processes were stopped.
    ServerStopped,
    /// Making connections, or getting none.
    Connections,
    /// The server's CPUs, or the CPU time that each session needs.
    ServerCpu,
    /// The quota of the server's control group.
    CpuQuota,
    DurableCommit,
    /// Locks of transactions, and tries thrown away for each other.
    Contention,
    /// Locks of the server on what its sessions share.
    LightweightLocks,
    /// Blocks that were not in shared buffers, from the kernel's cache.
    BufferMisses,
    /// Blocks that were not cached, from the device.
    DeviceReads,
    /// Blocks that sessions wrote themselves.
    DataWrites,
    /// Sorts and hashes that did not fit `work_mem`.
    TemporaryFiles,
    Slru,
    RelationExtension,
    /// Processes of the server that wait for each other.
    Ipc,
    /// Statements that sleep, or wait for something else.
    OtherWaits,
    /// Checkpoints or vacuums that hold clients up.
    Stalls,
    /// A few transactions that outlast all others.
    Stragglers,
    /// Restarts for clocks that may differ.
    ClockUncertainty,
    /// Few nodes that do the work of all.
    Leaders,
    /// Few ranges or tablets that get the work of all.
    HotRange,
    /// A node that takes far longer than the others for the same.
    SlowNode,
    /// Messages to other copies and back, for each commit.
    Replication,
    /// Requests that one node passes on to another.
    PassedOn,
    /// Transactions that the server restarts by itself.
    Restarts,
    /// Requests that wait until their node admits them.
    Admission,
    /// Writes that the storage engine holds back.
    WriteStalls,
    /// Ranges or tablets that cannot be read or written.
    Unavailable,
}

/// One check of a verdict against what else is known.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct Check {
    /// What holds when it has passed, in some words.
    pub name: String,
    /// Whether it does; `null`: that cannot be said.
    pub passed: Option<bool>,
    pub figures: String,
}

/// A limit and its sentence.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct LimitOf {
    pub limit: String,
    pub sentence: String,
}

#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(test, derive(ts_rs::TS), ts(rename = "Evidence"))]
pub struct Proof {
    /// Ready to be shown, short, with its unit: `99.0 %`, `1.32 s`, `37 ×`, `16 → 32`.
    pub figure: String,
    pub sentence: String,
    /// Where the page shows it.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(test, ts(optional))]
    pub link: Option<Link>,
}

impl Proof {
    pub fn new(figure: impl Into<String>, sentence: impl Into<String>) -> Self {
        Self {
            figure: figure.into(),
            sentence: sentence.into(),
            link: None,
        }
    }

    /// With a link to a section of the page.
    pub fn at(mut self, section: &str, text: &str) -> Self {
        self.link = Some(Link {
            text: text.to_owned(),
            section: Some(section.to_owned()),
            from_us: None,
            to_us: None,
        });
        self
    }
}

/// To a section of the page, or to a stretch of time.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct Link {
    /// What to read on it.
    pub text: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(test, ts(optional))]
    pub section: Option<String>,
    /// From here on, in microseconds on the trial's clock.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(test, ts(optional))]
    pub from_us: Option<i64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(test, ts(optional))]
    pub to_us: Option<i64>,
}

/// What became of a rule.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(test, derive(ts_rs::TS), ts(rename = "Rule"))]
pub struct RuleRow {
    pub code: String,
    pub name: String,
    pub state: RuleState,
    /// The deciding figure, or the reason why there is none.
    pub figure: String,
}

/// What came of a rule.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
#[cfg_attr(test, derive(ts_rs::TS))]
pub enum RuleState {
    /// This is what limited the trial.
    Limit,
    Second,
    RuledOut,
    /// The rule says nothing on a trial of this kind.
    NotApplicable,
    /// What it would need was not recorded.
    NotKnown,
}

/// A gate of a comparison.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct Gate {
    pub condition: String,
    pub result: GateResult,
    /// The same in a sentence.
    pub sentence: String,
}

/// What came of a gate.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
#[cfg_attr(test, derive(ts_rs::TS))]
pub enum GateResult {
    /// The condition does not hold.
    Passed,
    Failed,
    /// Too little was measured to say.
    CannotTell,
}
