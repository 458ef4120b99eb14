//! Sends a recording's statements to a server, each session in its own order and time on a connection of
//! its own, and accounts for every statement that started late.
//!
//! - `schedule.rs` reads the recording in a thread of its own and says when each statement is due.
//! - `engine.rs` is the event loop, over the same sockets ([`pgdyno_platform::io`]) and protocol
//!   ([`pgdyno_wire`]) as the engine of trials. Open loop: the recording's clock decides, not the server.
//! - `client.rs` is one session, `answer.rs` reads what the server answers.
//! - `order.rs` has statements wait for commits that came before them in the recording.
//! - `keys/` learns keys that the server gives from results, and replaces them in later statements.
//! - `lateness.rs` says why a statement was late, and charges it to what caused it.
//!
//! Not here: what is shown to people.

mod answer;
mod client;
mod engine;
mod keys;
mod lateness;
mod order;
mod outcome;
mod schedule;

use std::time::Duration;

pub use engine::{Progress, replay};
pub use lateness::{Slow, Waits};
pub use order::Sync;
pub use outcome::{
    Answers, Errors, KeyCounts, Lateness, OrderCounts, Replayed, TextResult, Times, Worst,
};

/// What is replayed, and how fast.
#[derive(Clone, Debug)]
pub struct Options {
    /// Recorded seconds in a second.
    pub speed: f64,
    /// The part of the recording, from its first statement on.
    pub from: Duration,
    pub to: Option<Duration>,
    /// First words of statements in capitals; empty: all.
    pub only: Vec<String>,
    /// Whether sessions have the users and databases of the recording; else those of the candidate.
    pub recorded_users: bool,
    pub recorded_databases: bool,
    /// What a statement waits for in other sessions.
    pub sync: Sync,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            speed: 1.0,
            from: Duration::ZERO,
            to: None,
            only: Vec::new(),
            recorded_users: false,
            recorded_databases: false,
            sync: Sync::None,
        }
    }
}

/// Why nothing can be replayed.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error(transparent)]
    Recording(#[from] pgdyno_recording::Error),
    #[error("cannot open sockets or a thread: {0}")]
    System(#[from] std::io::Error),
    #[error("there is no statement to replay in this part of the recording")]
    Nothing,
}
