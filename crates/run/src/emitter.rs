//! A trial at work: what the engine and the instruments report becomes the events of its observers.
//!
//! Not for: what observers make of them.

mod samples;

use std::io;
use std::time::{Instant, SystemTime};

use pgdyno_drive::{Control, Drive, Live};
use pgdyno_measurement::{
    DriveError, Event, Interval, Level, LoggedTransaction, Message, Recording, StampEvent,
};
use pgdyno_model::event::Title;
use pgdyno_model::observed::{Batch, Observed};
use pgdyno_model::{Observer, Observers, Outcome};

use self::samples::Samples;
use pgdyno_observe::{Instruments, Watch};

/// Where a trial's events come from.
pub struct Emitter<'a> {
    observers: Observers<'a, Outcome>,
    instruments: Watch,
    observed: Observed,
    samples: Samples,
}

impl<'a> Emitter<'a> {
    /// Starts the instruments; see [`Watch::start`].
    pub fn start(
        title: &Title,
        instruments: Instruments,
        control: &Control,
        mut observers: Observers<'a, Outcome>,
    ) -> Self {
        observers.starting(title);
        Self {
            observers,
            instruments: Watch::start(instruments, &|| control.is_stopping()),
            observed: Observed::default(),
            samples: Samples::default(),
        }
    }

    /// Runs the clients to their end, and then ends the instruments; see [`Watch::end`].
    ///
    /// # Errors
    /// As [`Drive::run`]. Instruments are left to themselves then.
    pub fn run(
        mut self,
        drive: &Drive,
        control: &Control,
    ) -> Result<(Recording, Observed), DriveError> {
        let result = drive.run(control, &mut self);
        if result.is_ok() {
            let batch = self.instruments.end();
            self.emit(batch);
            self.observed.close(self.instruments.collecting_us());
            let samples = std::mem::take(&mut self.samples);
            if let Err(error) = samples.restore(&mut self.observed) {
                self.observers.message(&missing(&error));
            }
        }
        self.observers.ended(result.as_ref());
        result.map(|recording| (recording, self.observed))
    }

    fn emit(&mut self, mut batch: Batch) {
        if batch != Batch::default() {
            self.observers.observed(&batch);
            self.samples.keep(&batch.samples);
            batch.samples.clear();
            self.observed.add(batch);
        }
    }
}

fn missing(error: &io::Error) -> Message {
    let text = format!(
        "what instruments read is missing: cannot read the temporary file that it was in: {error}; \
         TMPDIR names another folder for it"
    );
    Message {
        level: Level::Error,
        text,
    }
}

impl Live for Emitter<'_> {
    fn ready(&mut self) {
        self.observers.ready();
    }

    fn begun(&mut self, started: SystemTime) {
        // Before any observer takes its time: readings count from this moment.
        self.instruments.begun(Instant::now());
        self.observers.begun(started);
    }

    fn second(&mut self, interval: &Interval) {
        // The second goes first: it may end the warm-up, and must be kept even if pgdyno dies while
        // readings are collected.
        self.observers.second(interval);
        let batch = self.instruments.drain();
        self.emit(batch);
    }

    fn message(&mut self, message: &Message) {
        self.observers.message(message);
    }

    fn event(&mut self, event: &Event) {
        self.observers.event(event);
    }

    fn logged(&mut self, thread: usize, transactions: &[LoggedTransaction]) {
        self.observers.logged(thread, transactions);
    }

    fn stamped(&mut self, events: &[StampEvent]) {
        self.observers.stamped(events);
    }

    fn thread_ended(&mut self, thread: usize, at_us: u64) {
        self.observers.thread_ended(thread, at_us);
    }
}

#[cfg(test)]
mod tests;
