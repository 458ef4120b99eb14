//! What the report's page is given.

mod compare;
mod experiment;
mod observed;
mod timeline;
mod trial;

pub use compare::{
    Changed, ComparePage, ComparedStatement, Difference, OrderedTrial, OverTime, Pair, Side,
    SideFigures, TimePerCommit,
};
pub use experiment::{Axis, ExperimentPage, Point, PointLimit, TrialLimit, TrialRef, Zones};
pub use observed::{Event, Gap, Instrument, InstrumentOf, Series, WaitEvent, Waits, Worst};
pub use timeline::{NamedCounts, Timeline};
pub use trial::{
    AccountingRow, Balance, Histograms, ServerStatement, Setting, Sibling, SlobTrial,
    SlowestStatement, StatementRow, StatementWait, TrialPage,
};

use serde::Serialize;

/// A page, by its kind.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(untagged)]
#[cfg_attr(test, derive(ts_rs::TS), ts(rename = "Data"))]
pub enum Page {
    /// Of a trial.
    Trial(Box<TrialPage>),
    /// Of an experiment.
    Experiment(Box<ExperimentPage>),
    /// Of a comparison.
    Compare(Box<ComparePage>),
}
