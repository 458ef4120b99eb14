//! What a run tells while it is under way.

use std::time::SystemTime;

use pgdyno_measurement::{Event, Interval, LoggedTransaction, Message, StampEvent};

/// Who watches a run. Called by the thread that called [`Drive::run`].
pub trait Live {
    /// All clients are connected and none works yet: they begin when this returns, and the clock
    /// with them.
    fn ready(&mut self) {}
    /// All clients are connected; the clock runs, by the wall clock since `started`.
    fn begun(&mut self, _started: SystemTime) {}
    /// A second (or the rest of one) is over, all threads together.
    fn second(&mut self, interval: &Interval);
    /// A client has something to say.
    fn message(&mut self, message: &Message);
    /// Something happened to a client's connection.
    fn event(&mut self, event: &Event);
    /// Transactions of a thread have ended, in this order; only when [`Drive::log`] asks for it.
    fn logged(&mut self, _thread: usize, _transactions: &[LoggedTransaction]) {}
    /// Clients of a thread have written and read their stamps, in this order; only with [`Drive::stamps`].
    fn stamped(&mut self, _events: &[StampEvent]) {}
    /// All clients of a thread have ended, `at_us` microseconds after the start; nothing more comes
    /// from it.
    fn thread_ended(&mut self, _thread: usize, _at_us: u64) {}
}
