//! What came of a trial, of an experiment, of a comparison: documents that are shown. The terminal,
//! `--json`, Markdown and the report's page are renderers of them; the page's types
//! (`web/src/data.ts`) are generated from these ones.
//!
//! - [`Trial`]: what came of a trial, and [`WholeTrial`] with its seconds: what `--json` prints.
//! - [`TimeBudget`]: where the clients' time went.
//! - [`Verdict`]: what limited it, with its evidence.
//! - [`answer`]: what an experiment says, with how sure it is; [`section`]: what it shows below.
//! - [`repeats`], [`points`], [`capacity`]: what an experiment came to.
//! - [`comparison`]: two sets of trials beside each other.
//! - [`calibration`], [`retries_lab`], [`slob_sweep`], [`sweep`], [`target`]: what the verbs of these
//!   names find.
//! - [`phases`]: figures by phase of a trial.
//! - [`page`]: what the report's page is given beside; [`Common`] is what every page begins with.
//!
//! A field is `null` where something is not known, and left out where it was not recorded or there
//! is nothing of the kind. Units are in the names.

pub mod accounting;
pub mod answer;
mod budget;
pub mod calibration;
pub mod capacity;
pub mod ceiling;
mod checks;
pub mod ci;
pub mod client_course;
mod cluster;
mod common;
pub mod comparison;
mod counts;
pub mod course;
mod disturb;
pub mod disturb_lab;
mod facts;
mod figures;
mod found;
mod generators;
mod histogram;
pub mod history;
mod interval;
pub mod isolation;
pub mod isolation_lab;
mod latency;
mod migration;
mod named_finding;
mod observed;
mod pack_figure;
pub mod page;
pub mod phases;
pub mod points;
mod rate_step;
pub mod repeats;
pub mod retries_lab;
mod run;
pub mod section;
pub mod slob_sweep;
mod staleness;
mod stalls;
pub mod steadiness;
pub mod sweep;
pub mod target;
mod trial;
mod truth;
mod verdict;

pub use accounting::{
    Accounted, Accounting, AccountingFigures, BufferCounters, DeviceUse, Expected, IoRow,
    NodeFigures, UnitCount,
};
pub use budget::{AddedRow, BudgetPart, BudgetPhase, Part, TimeBudget};
pub use ceiling::{Ceiling, CeilingRow, GeneratorShare, SelfCalibration};
pub use checks::DataCheck;
pub use client_course::{ClientCourse, ClientSecond};
pub use cluster::{
    Cluster, ClusterAfter, Member, Placed, Placement, Replication, RoundTrip, Standby,
    TablePlacement,
};
pub use common::{Common, PageNote};
pub use counts::{Counts, Reason, Work};
pub use disturb::{
    CommandEnd, CommandRun, DisturbCourse, DisturbEndpoint, DisturbErrors, DisturbFigures,
    DisturbSecond, Disturbed, DisturbedTrial, Metastable,
};
pub use facts::{Facts, Node, Reached, TableShape, TargetKind};
pub use figures::{Figures, Phase, ScriptFigures, ScriptSecond, Second, UnitFigures, Warmup};
pub use found::{EndedBy, Figure, KeySkew, ServerCounters, WarmupEnd};
pub use generators::{ClockReading, Generator, GeneratorEnd, Generators};
pub use histogram::{Histogram, Packed};
pub use interval::{Interval, Intervals};
pub use isolation::IsolationCheck;
pub use latency::Latency;
pub use migration::{
    MigrationHolder, MigrationLock, MigrationRun, MigrationStandby, MigrationStatement,
    MigrationVictim,
};
pub use named_finding::NamedFinding;
pub use observed::{
    Observed, ObservedBy, ObservedEvent, ObservedGap, ObservedSeries, ObservedStatement,
};
pub use pack_figure::PackFigure;
pub use rate_step::RateStep;
pub use run::{
    ClientCpu, ClientThread, Clients, ConnectionEvent, Connections, End, Endpoint, Host, Outages,
    ScriptStatements, SlowTransaction, Statement, Stored, Target, Workload, in_pipeline,
};
pub use staleness::{
    ClientStaleness, Lags, OwnUnseen, Replay, SessionReads, StaleBucket, StaleEndpoint,
    StaleSecond, Staleness, WentBack,
};
pub use stalls::{ClientStall, GeneratorStop, Stall, Stalls};
pub use steadiness::{Steadiness, SteadinessVerdict};
pub use trial::{Run, Trial, WholeTrial};
pub use truth::{InDoubt, LostWrite, Sums, Truth};
pub use verdict::{
    Cause, Check, Gate, GateResult, LimitOf, Link, Proof, RuleRow, RuleState, Verdict,
};

/// The version of the page's documents. It grows when a field changes its meaning or goes; a page
/// refuses what it does not know.
pub const FORMAT: u32 = 1;
