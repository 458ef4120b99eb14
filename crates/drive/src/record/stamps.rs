//! The stamps of clients, one by one: which were acknowledged when, and which were shown by reads. They are
//! gathered in memory that was taken before the run and handed over together.
//!
//! Not for: what becomes of them (`run::staleness`).

use std::mem;
use std::sync::mpsc::{Receiver, Sender};

use super::Report;

/// So many are handed over at once at most.
const BATCH: usize = 4096;

/// What happened to a stamp. Times are microseconds since clients began to work.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StampEvent {
    /// A transaction that wrote the client's stamp was acknowledged.
    Acknowledged {
        client: usize,
        /// Which of its stamps, from 1.
        number: u64,
        at_us: u64,
    },
    /// The client has read its stamp.
    Read {
        client: usize,
        /// The stamp that it was shown; 0: none.
        shown: u64,
        /// When the statement was sent.
        began_us: u64,
        ended_us: u64,
        /// The number of the role of the endpoint; 0: it has none.
        role: usize,
        /// The number of the server among [`super::Recording::endpoints`].
        place: usize,
        /// Whether it ended in the measured time.
        is_measured: bool,
    },
}

/// What one thread has not handed over yet.
pub(crate) struct OwnStamps {
    events: Vec<StampEvent>,
    recycled: Receiver<Vec<StampEvent>>,
}

impl OwnStamps {
    /// Emptied memory comes back by `recycled`.
    pub(crate) fn new(recycled: Receiver<Vec<StampEvent>>) -> Self {
        Self {
            events: Vec::with_capacity(BATCH),
            recycled,
        }
    }

    /// Takes note of an event of `thread`.
    pub(crate) fn add(&mut self, event: StampEvent, thread: usize, reports: &Sender<Report>) {
        self.events.push(event);
        if self.events.len() == BATCH {
            self.hand_over(thread, reports);
        }
    }

    /// Hands over what there is.
    pub(crate) fn hand_over(&mut self, thread: usize, reports: &Sender<Report>) {
        if self.events.is_empty() {
            return;
        }
        let next = self.recycled.try_recv();
        let next = next.unwrap_or_else(|_| Vec::with_capacity(BATCH));
        let events = mem::replace(&mut self.events, next);
        // The collector outlives the threads; if it is gone, there is no receiver.
        let _ = reports.send(Report::Stamped(thread, events));
    }
}
