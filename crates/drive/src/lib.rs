//! The engine: event loops, clients as state machines, pacing, retries, and what they record.
//!
//! [`Drive`] says what to do (programs, clients, pace, when to stop) and [`Drive::run`] does it and
//! gives a [`Recording`]. The way through:
//!
//! - `program`: a script compiled to messages ready to be sent; only values are patched in.
//! - `client`: one client's state machine, over a sans-I/O connection.
//! - `event_loop`: the clients of one thread, their sockets, deadlines and randomness.
//! - `rules`, `retry`: what errors mean, and what follows them.
//! - `record`: what happened, in histograms and counts, handed over once a second.
//! - `run`: starts the threads, collects what they record, and stops them.
//!
//! Not here: what a workload is, how a target was named, how results look.

mod apart;
mod client;
mod clock;
mod control;
mod deadlines;
mod drive;
mod effects;
mod event_loop;
mod message;
mod places;
mod program;
pub mod record;
mod retry;
mod rules;
mod run;
mod savepoint;
mod schedule;

pub use control::Control;
pub use drive::{
    Drive, OnConnectionLoss, OnError, OnLastTry, QueryMode, Script, Setup, Until, operations,
};
pub use message::{Level, Message};
pub use program::{CompileError, Program};
pub use record::Recording;
pub use retry::{Backoff, Jitter, Retry};
pub use rules::{ErrorClass, ErrorRule, PGBENCH_RULES};
pub use run::{DriveError, Live};
