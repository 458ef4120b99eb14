//! What the server, the cluster, the host and the client were doing while a trial ran.
//!
//! An [`Instrument`] reads one thing (a view of the server, a file of the kernel, an endpoint) on a
//! thread and connections of its own. [`Watch`] starts them before the clients and ends them after;
//! what they read goes, on the clock of the trial's seconds, into [`Batch`]es for whatever keeps or
//! shows it. What an instrument may not or cannot see is a [`Gap`]: never a failure, never a wait.
//!
//! Not for: how a product tells something (`target/dialect`), where readings are kept (store), what
//! they mean for a result (`validity.rs`).

mod asked;
mod batch;
mod beside;
pub mod board;
pub mod catalog;
mod choose;
pub mod cluster;
mod gap;
pub mod host;
mod instrument;
pub mod listen;
mod observed;
pub mod postgresql;
pub mod prometheus;
mod readings;
mod recorder;
pub mod scrape;
mod series;
#[cfg(test)]
pub mod testing;
mod watch;

pub use asked::Asked;
#[cfg(test)]
pub use batch::Sample;
pub use batch::{Batch, InstrumentRow, NewSeries, ObservedEvent, Span, Total};
pub use beside::{Beside, Onlooker};
pub use choose::{Instruments, Scene, choose};
pub use gap::Gap;
pub use instrument::Instrument;
pub use observed::{Course, Observed, SERVER_CPU};
pub use readings::{Readings, ServerStatement};
pub use series::{Kind, Row, Series};
pub use watch::Watch;
