//! Which isolation level did a database keep? A history of what transactions wrote and read goes in, the
//! anomalies that it shows and the levels that these break come out, each with its smallest example. No I/O,
//! and nothing known of trials or databases.
//!
//! Begin with [`read`] or [`Builder`], then [`check`]. `docs/isolation.md` explains every anomaly.
//!
//! No anomaly is reported that is not in the history. That none is reported proves nothing: writes that no read shows
//! have no place in their key's order, and hide what they were part of.

mod builder;
mod check;
mod cycles;
mod dependencies;
mod finds;
mod forms;
mod graph;
mod hash;
mod history;
mod keys;
mod level;
mod lost;
mod read;
mod reads;
mod rows;
mod sessions;
mod snapshots;
mod story;
mod updates;
mod versions;
mod weak;
mod write;

pub use builder::{Builder, HistoryError};
pub use check::{Counts, Depth, LevelVerdict, NOTHING_OVERWRITTEN, Progress, Report, check};
pub use finds::{Example, Link, LinkKind, Occurrences};
pub use history::{ClockStep, CutOff, History, Operation, Status, Transaction};
pub use keys::{KeyKind, KeyName};
pub use level::{Anomaly, Closing, Cycle, CycleClass, Level};
pub use read::{ReadError, read, read_with};
pub use write::{Format, write};
