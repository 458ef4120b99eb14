//! What the report's page is given.

mod compare;
mod digits;
mod experiment;
mod notebook;
mod observed;
mod served;
mod timeline;
mod trial;

pub use compare::{
    ComparePage, ComparedStatement, Difference, OrderedTrial, OverTime, Pair, Side, SideFigures,
    TimePerCommit,
};
pub use experiment::{
    Axis, AxisKind, ExperimentPage, Missing, Point, PointLimit, TargetRow, TrialLimit, TrialRef,
    Zones,
};
pub use notebook::{
    ExperimentItem, GeneratorNow, GrowingExperiment, GrowingPoint, GrowingRepeat, NotebookPage,
    Query, RunningTrial, TrialItem,
};
pub use observed::{Event, Gap, Instrument, InstrumentOf, Series, WaitEvent, Waits, Worst};
pub use served::{GeneratorPart, Live, PartOf, Served};
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
    Trial(Box<TrialPage>),
    Experiment(Box<ExperimentPage>),
    Compare(Box<ComparePage>),
    Notebook(Box<NotebookPage>),
}
