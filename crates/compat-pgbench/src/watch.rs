//! What happens while clients run: their messages, progress lines, logs.

use std::time::SystemTime;

use pgdyno_measurement::{Event, Interval, Level, LoggedTransaction, Message};
use pgdyno_model::Observer;

use super::hdr_log::HdrLog;
use super::log_files::LogFiles;
use super::messages::{Kind, Messages, theirs, write_all};
use super::progress::Progress;

pub struct Watch<'a> {
    pub say: &'a Messages,
    pub progress: Option<Progress>,
    pub logs: Option<LogFiles>,
    pub hdr_log: Option<HdrLog>,
}

impl Watch<'_> {
    /// What could not be written, each with its reason.
    pub fn take_errors(&mut self) -> impl Iterator<Item = String> {
        let logs = self.logs.as_mut().and_then(LogFiles::take_error);
        let hdr_log = self.hdr_log.as_mut().and_then(HdrLog::take_error);
        [logs, hdr_log].into_iter().flatten()
    }
}

impl<O> Observer<O> for Watch<'_> {
    fn begun(&mut self, started: SystemTime) {
        if let Some(progress) = &mut self.progress {
            progress.begin(started);
        }
        if let Some(logs) = &mut self.logs {
            logs.begin(started);
        }
        if let Some(log) = &mut self.hdr_log {
            log.begin(started);
        }
    }

    fn second(&mut self, interval: &Interval) {
        let line = self.progress.as_mut().and_then(|p| p.second(interval));
        if let Some(line) = line {
            write_all(&line);
        }
        if let Some(log) = &mut self.hdr_log {
            log.second(interval);
        }
    }

    fn event(&mut self, event: &Event) {
        self.say.log(Kind::Info, &event.text);
    }

    fn message(&mut self, message: &Message) {
        let text = &message.text;
        match message.level {
            // What a script's debug() and the server say has no name before it.
            Level::Debug | Level::Notice => write_all(&theirs(&format!("{text}\n"))),
            Level::Trace => self.say.log(Kind::Debug, text),
            Level::Info => self.say.log(Kind::Info, text),
            Level::Error => self.say.log(Kind::Error, text),
        }
    }

    fn logged(&mut self, thread: usize, transactions: &[LoggedTransaction]) {
        if let Some(logs) = &mut self.logs {
            logs.logged(thread, transactions);
        }
    }

    fn thread_ended(&mut self, thread: usize, at_us: u64) {
        if let Some(logs) = &mut self.logs {
            logs.thread_ended(thread, at_us);
        }
    }
}
