//! The stamps of a thread's clients, gathered in memory that was taken before the run and handed over together.

use std::mem;
use std::sync::mpsc::{Receiver, Sender};

use pgdyno_measurement::StampEvent;

use super::Report;

/// So many are handed over at once at most.
const BATCH: usize = 4096;

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
