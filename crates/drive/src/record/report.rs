//! What the threads of a run tell the one that collects.

use std::io;

use pgdyno_measurement::{
    ClientReceipts, ClientUnits, Closing, DriveError, Event, Interval, LoggedTransaction, Message,
    StampEvent,
};
use pgdyno_platform::clock::Nanos;
use pgdyno_session::CancelHandle;
use pgdyno_wire::Candidate;

use super::{Execution, Finished};

/// What a thread tells the collector.
pub(crate) enum Report {
    /// All clients of this thread are connected, or one could not be.
    Connected(Result<(), DriveError>),
    Message(Message),
    /// Something happened to a client's connection.
    Event(Event),
    /// An interval of this thread is over.
    Interval(usize, Box<Interval>),
    /// Transactions of this thread have ended, in this order.
    Logged(usize, Vec<LoggedTransaction>),
    /// What transactions of this thread observed.
    Observed(usize, Vec<u8>),
    /// Clients of this thread have written and read stamps, in this order.
    Stamped(usize, Vec<StampEvent>),
    /// Commands were executed on this thread.
    Executed(usize, Vec<Execution>),
    /// A client of this thread has ended before its time, and ends the run.
    ClientAborted(usize),
    /// A script found an invariant broken, which ends the run: where, and what it says.
    InvariantBroken(String),
    /// Cancel these statements at once: nothing waits for them any more.
    Cancel(Vec<CancelHandle>),
    /// Clients still wait at these places though the run's time is over: find out whether anything
    /// answers there; asked at that time.
    Ask(Vec<(usize, Candidate)>, Nanos),
    /// All clients of the thread have ended.
    Finished(usize, Box<ThreadEnd>),
}

pub(crate) struct ThreadEnd {
    pub(crate) finished: Finished,
    pub(crate) at: Nanos,
    pub(crate) aborted: usize,
    pub(crate) disconnected: usize,
    pub(crate) by_client: Vec<ClientUnits>,
    pub(crate) receipts: Vec<ClientReceipts>,
    pub(crate) closings: Vec<Closing>,
    /// Transactions that its schedule had for the measured time; `None` without one.
    pub(crate) due: Option<u64>,
    /// Cancel the statements that were given up.
    pub(crate) cancels: Vec<CancelHandle>,
    /// The event loop itself broke.
    pub(crate) error: Option<io::Error>,
}
