//! What the report's page is given.

mod observed;
mod timeline;
mod trial;

pub use observed::{Event, Gap, Instrument, InstrumentOf, Series, WaitEvent, Waits, Worst};
pub use timeline::{NamedCounts, Timeline};
pub use trial::{
    AccountingRow, Books, Histograms, ServerStatement, Setting, Sibling, SlobTrial,
    SlowestStatement, StatementRow, StatementWait, TrialPage,
};
