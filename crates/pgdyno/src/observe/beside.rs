//! Instruments beside the drive: stands before whatever shows a run, and hands on what they read
//! second by second.

use std::sync::Arc;
use std::time::{Instant, SystemTime};

use pgdyno_drive::record::{Event, Interval, LoggedTransaction};
use pgdyno_drive::{Live, Message};

use super::board::{Board, Title};
use super::host::ThreadLags;
use super::{Instruments, Watch};
use pgdyno_model::observed::{Batch, Observed};

/// Who watches a run, and what instruments read meanwhile.
pub trait Onlooker: Live {
    /// Instruments have read something. Comes about once a second while clients are at work, and a
    /// last time after them.
    fn observed(&mut self, _batch: &Batch) {}
}

/// A run with its instruments.
pub struct Beside<'a> {
    live: &'a mut dyn Onlooker,
    watch: Watch,
    observed: Observed,
    board: Option<(Arc<Board>, Title)>,
    lags: ThreadLags,
}

impl<'a> Beside<'a> {
    /// Starts the instruments; see [`Watch::start`]. A board shows the run under its title; the
    /// event loops' lags of each second are left in `lags`.
    pub fn start(
        instruments: Instruments,
        board: Option<(Arc<Board>, Title)>,
        lags: ThreadLags,
        is_stopping: &dyn Fn() -> bool,
        live: &'a mut dyn Onlooker,
    ) -> Self {
        Self {
            live,
            watch: Watch::start(instruments, is_stopping),
            observed: Observed::default(),
            board,
            lags,
        }
    }

    fn pass_on(&mut self, batch: Batch) {
        if batch != Batch::default() {
            self.live.observed(&batch);
            if let Some((board, _)) = &self.board {
                board.observed(&batch);
            }
            self.observed.add(batch);
        }
    }

    /// Clients have gone: ends the instruments (see [`Watch::end`]) and gives all that they saw.
    pub fn end(mut self) -> Observed {
        let batch = self.watch.end();
        self.pass_on(batch);
        let mut observed = std::mem::take(&mut self.observed);
        observed.close(self.watch.collecting_us());
        observed
    }
}

impl Drop for Beside<'_> {
    fn drop(&mut self) {
        if let Some((board, _)) = &self.board {
            board.end();
        }
    }
}

impl Live for Beside<'_> {
    fn ready(&mut self) {
        self.live.ready();
    }

    fn begun(&mut self, started: SystemTime) {
        self.watch.begun(Instant::now());
        if let Some((board, title)) = &self.board {
            board.begin(title);
        }
        self.live.begun(started);
    }

    fn second(&mut self, interval: &Interval) {
        self.live.second(interval);
        if let Some((board, _)) = &self.board {
            board.second(interval);
        }
        self.lags.second(interval);
        let batch = self.watch.drain();
        self.pass_on(batch);
    }

    fn message(&mut self, message: &Message) {
        self.live.message(message);
    }

    fn event(&mut self, event: &Event) {
        self.live.event(event);
    }

    fn logged(&mut self, thread: usize, transactions: &[LoggedTransaction]) {
        self.live.logged(thread, transactions);
    }

    fn thread_ended(&mut self, thread: usize, at_us: u64) {
        self.live.thread_ended(thread, at_us);
    }
}
