//! The engine: event loops, clients as state machines, pacing, retries, and what they record.
//!
//! [`Drive`] says what to do (programs, clients, pace, when to stop) and [`Drive::run`] does it and
//! gives a [`Recording`](pgdyno_measurement::Recording). The way through:
//!
//! - `program`: a script compiled to messages ready to be sent; only values are patched in.
//! - `client`: one client's state machine, over a sans-I/O connection.
//! - `event_loop`: the clients of one thread, their sockets and deadlines; `context`: what they share.
//! - `rules`, `retry`: what errors mean, and what follows them.
//! - `schedule`: when transactions are due; `crew`: which clients work; `deal`: who has which of their starts.
//! - `record`: what happened, in histograms and counts, handed over once a second.
//! - `watchdog`: whether pgdyno itself ran.
//! - `run`: starts the threads; `collect`: adds up what they record until they have ended.
//!
//! Not here: what a workload is, how a target was named, how results look.

#[macro_use]
mod planted;

mod apart;
mod client;
mod clock;
mod collect;
mod context;
mod control;
mod crew;
mod deadlines;
mod deal;
mod drive;
mod effects;
mod endpoints;
mod event_loop;
mod homes;
mod insertion;
mod live;
mod observed;
mod places;
mod program;
pub mod receipts;
mod record;
mod retry;
mod rules;
mod run;
mod savepoint;
mod schedule;
#[cfg(test)]
mod simulation;
pub mod stamps;
mod watchdog;

pub use control::Control;
pub use drive::{Commits, Drive, KeptSlots, Script, Setup, operations};
pub use effects::plainly_selects;
pub use endpoints::Newcomers;
pub use live::Live;
pub use program::{CompileError, Program, StatementNames};
pub use watchdog::OwnStops;
