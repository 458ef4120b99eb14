//! What instruments saw beside a trial, as plain data.
//!
//! A [`Batch`] is what came in a second, [`Observed`] all of a trial. Figures belong to a [`Series`];
//! what could not be seen is a [`Gap`].
//!
//! Not here: reading anything, which series there are, where readings are kept.

mod all;
mod batch;
mod explained;
mod gap;
mod pattern;
mod series;

pub use all::{Course, Observed, SERVER_CPU, mean};
pub use batch::{
    Batch, InstrumentRow, NewSeries, ObservedEvent, Sample, ServerStatement, Span, Total,
};
pub use explained::{EXPLAINED, Explained};
pub use gap::Gap;
pub use pattern::fits;
pub use series::{Chapter, Kind, Row, Rows, Series};
