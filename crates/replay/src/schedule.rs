//! Reads a recording in a thread of its own and says when each event is due, so that unpacking never
//! makes a statement late.

use std::collections::BTreeMap;
use std::io;
use std::path::Path;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, SyncSender, TryRecvError, sync_channel};
use std::thread::JoinHandle;

use pgdyno_recording::{Event, Losses, Obstacle, Session, Statement, Timeline};

use crate::{Error, Options};

/// Events that are handed over at once, and how many such batches wait.
const BATCH: usize = 256;
const BATCHES: usize = 64;

/// What is due.
#[derive(Debug)]
pub enum Due {
    /// A session; whether its time is that of the connection.
    Begin(Arc<Session>, bool),
    Statement(Box<Statement>),
    End(Arc<Session>),
}

#[derive(Debug)]
pub struct Planned {
    /// Nanoseconds of the replay.
    pub at_ns: u64,
    pub due: Due,
}

/// What the reader has left out, and lost.
#[derive(Debug, Default)]
pub struct LeftOut {
    pub obstacles: BTreeMap<Obstacle, u64>,
    /// Statements that other words than those asked for begin.
    pub others: u64,
    pub losses: Losses,
}

pub struct Schedule {
    batches: Receiver<Vec<Planned>>,
    thread: Option<JoinHandle<Result<LeftOut, pgdyno_recording::Error>>>,
}

/// What a schedule has at this moment.
pub enum Batch {
    Some(Vec<Planned>),
    /// The reader is not as far yet.
    NotYet,
    End,
}

impl Schedule {
    /// # Errors
    /// The recording cannot be read, or there is no thread.
    pub fn open(path: &Path, options: &Options) -> Result<Self, Error> {
        let timeline = Timeline::open(path)?;
        let (sender, batches) = sync_channel(BATCHES);
        let reading = Reading {
            timeline,
            options: options.clone(),
            sender,
            batch: Vec::new(),
            left_out: LeftOut::default(),
        };
        let thread = std::thread::Builder::new()
            .name("recording".to_owned())
            .spawn(move || reading.run())?;
        let thread = Some(thread);
        Ok(Self { batches, thread })
    }

    pub fn next_batch(&self) -> Batch {
        match self.batches.try_recv() {
            Ok(batch) => Batch::Some(batch),
            Err(TryRecvError::Empty) => Batch::NotYet,
            Err(TryRecvError::Disconnected) => Batch::End,
        }
    }

    /// Waits for the next one.
    pub fn wait_for_batch(&self) -> Batch {
        self.batches.recv().map_or(Batch::End, Batch::Some)
    }

    /// Ends the reader.
    ///
    /// # Errors
    /// The recording could not be read to its end.
    pub fn finish(mut self) -> Result<LeftOut, Error> {
        // A reader that waits for room ends.
        let (_, batches) = sync_channel(0);
        self.batches = batches;
        match self.thread.take().map(JoinHandle::join) {
            Some(Ok(left_out)) => Ok(left_out?),
            _ => Err(Error::System(io::Error::other(
                "the thread that reads the recording panicked",
            ))),
        }
    }
}

struct Reading {
    timeline: Timeline,
    options: Options,
    sender: SyncSender<Vec<Planned>>,
    batch: Vec<Planned>,
    left_out: LeftOut,
}

impl Reading {
    fn run(mut self) -> Result<LeftOut, pgdyno_recording::Error> {
        self.read()?;
        let batch = std::mem::take(&mut self.batch);
        let _ = self.sender.send(batch);
        self.left_out.losses = self.timeline.losses();
        Ok(self.left_out)
    }

    fn read(&mut self) -> Result<(), pgdyno_recording::Error> {
        // Sessions that are there before the first statement that is replayed.
        let mut early: BTreeMap<u32, Arc<Session>> = BTreeMap::new();
        let mut zero_us = self.timeline.ending().map(|ending| ending.begin_us);
        let us =
            |duration: std::time::Duration| i64::try_from(duration.as_micros()).unwrap_or(i64::MAX);
        let from_us = us(self.options.from);
        let to_us = self.options.to.map(us);
        while let Some(event) = self.timeline.next_event()? {
            let begin_us = match (zero_us, &event) {
                (Some(zero_us), _) => zero_us,
                (None, Event::Statement(statement)) => *zero_us.insert(statement.start_us),
                (None, _) => i64::MAX,
            };
            let at_us = event.at_us().saturating_sub(begin_us);
            if to_us.is_some_and(|to_us| at_us >= to_us && begin_us < i64::MAX) {
                return Ok(());
            }
            let at_us = at_us.saturating_sub(from_us);
            if at_us < 0 {
                match event {
                    Event::Begin(begin) => drop(early.insert(begin.session.number, begin.session)),
                    Event::End(end) => drop(early.remove(&end.session.number)),
                    Event::Statement(statement) => {
                        early
                            .entry(statement.session.number)
                            .or_insert(statement.session);
                    }
                }
                continue;
            }
            for (_, session) in std::mem::take(&mut early) {
                let due = Due::Begin(session, false);
                if !self.hand_over(Planned { at_ns: 0, due }) {
                    return Ok(());
                }
            }
            let at_ns = (at_us as f64 * 1000.0 / self.options.speed) as u64;
            let due = match event {
                Event::Begin(begin) => Due::Begin(begin.session, begin.is_known),
                Event::End(end) => Due::End(end.session),
                Event::Statement(statement) if self.is_wanted(&statement) => {
                    Due::Statement(Box::new(statement))
                }
                Event::Statement(_) => continue,
            };
            if !self.hand_over(Planned { at_ns, due }) {
                return Ok(());
            }
        }
        Ok(())
    }

    fn is_wanted(&mut self, statement: &Statement) -> bool {
        let only = &self.options.only;
        if !only.is_empty() && !only.contains(&statement.text.command()) {
            self.left_out.others += 1;
            return false;
        }
        if let Some(obstacle) = statement.obstacle {
            *self.left_out.obstacles.entry(obstacle).or_default() += 1;
            return false;
        }
        true
    }

    /// False after the engine has ended.
    fn hand_over(&mut self, planned: Planned) -> bool {
        self.batch.push(planned);
        self.batch.len() < BATCH || self.sender.send(std::mem::take(&mut self.batch)).is_ok()
    }
}
