//! One thread: its clients, their sockets and deadlines, its randomness and its books.

use std::collections::VecDeque;
use std::num::NonZeroU64;
use std::sync::mpsc::{Receiver, Sender};

use pgdyno_platform::io::{Event, Io};
use pgdyno_script::Prng;
use pgdyno_session::CancelHandle;
use pgdyno_wire::ServerError;

use crate::client::{Client, Wait};
use crate::clock::{Clock, Nanos, nanos};
use crate::control::{Control, Stop};
use crate::deadlines::Deadlines;
use crate::drive::{Drive, Until};
use crate::message::{Level, Message};
use crate::places::Places;
use crate::program::Program;
use crate::record::{
    ClientUnits, Event as Happened, EventKind, Execution, Finished, Interval, LoggedTransaction,
    Recorder,
};
use crate::run::DriveError;
use crate::schedule::Schedule;

/// Received bytes pass through one buffer a thread, so that it stays in the cache.
const BUFFER_BYTES: usize = 64 << 10;
/// So many clients of a thread connect at the same time before a run: more would only overflow the
/// server's queue.
const CONNECTING_MAX: usize = 32;

/// After so many events it is looked whether a deadline has come or the run is to stop: a server may
/// send faster than it is read, for ever.
const EVENTS_MAX: usize = 1024;
/// Bytes of notices that a thread passes on; beyond them notices are counted. A server may send them
/// for ever.
pub const NOTICE_BYTES_MAX: usize = 1 << 20;

/// What a thread tells the collector.
pub(crate) enum Report {
    /// All clients of this thread are connected, or one could not be.
    Connected(Result<(), DriveError>),
    /// A client says something.
    Message(Message),
    /// Something happened to a client's connection.
    Event(Happened),
    /// An interval of this thread is over.
    Interval(usize, Box<Interval>),
    /// Transactions of this thread have ended, in this order.
    Logged(usize, Vec<LoggedTransaction>),
    /// Commands were executed on this thread.
    Executed(usize, Vec<Execution>),
    /// A client of this thread has ended before its time, and ends the run.
    ClientAborted(usize),
    /// A script found an invariant broken, which ends the run: where, and what it says.
    InvariantBroken(String),
    /// All clients of the thread have ended.
    Finished(usize, Box<ThreadEnd>),
}

/// A thread's last words.
pub(crate) struct ThreadEnd {
    pub(crate) finished: Finished,
    /// When that was.
    pub(crate) at: Nanos,
    pub(crate) aborted: usize,
    pub(crate) disconnected: usize,
    pub(crate) by_client: Vec<ClientUnits>,
    /// Cancel the statements that were given up.
    pub(crate) cancels: Vec<CancelHandle>,
    /// The event loop itself broke.
    pub(crate) error: Option<std::io::Error>,
}

/// What a thread needs to begin.
pub(crate) struct Setup<'run> {
    pub(crate) drive: &'run Drive,
    pub(crate) places: &'run Places,
    pub(crate) clients: Vec<Client>,
    pub(crate) clock: Clock,
    pub(crate) control: Control,
    pub(crate) choose: Prng,
    pub(crate) schedule: Option<Schedule>,
    pub(crate) recorder: Recorder,
    pub(crate) reports: Sender<Report>,
    /// The moment at which the run begins; closed when it does not.
    pub(crate) go: Receiver<Nanos>,
}

/// What clients share with their event loop.
pub(crate) struct Context<'run, I> {
    pub(crate) drive: &'run Drive,
    pub(crate) places: &'run Places,
    pub(crate) io: I,
    pub(crate) clock: Clock,
    /// The time, as of the last event; read once for all that follows from it.
    pub(crate) now: Nanos,
    /// No transaction starts after this. A warm-up that ends before its time brings it nearer.
    pub(crate) end: Nanos,
    /// It has come nearer, and clients that wait may have to end.
    end_has_moved: bool,
    pub(crate) latency_limit: Option<Nanos>,
    pub(crate) transactions: Option<NonZeroU64>,
    pub(crate) schedule: Option<Schedule>,
    pub(crate) recorder: Recorder,
    pub(crate) deadlines: Deadlines,
    /// Bytes on their way to the socket that are not a link's own.
    pub(crate) sealed: Vec<u8>,
    /// Decrypted bytes that are being read.
    pub(crate) opened: Vec<u8>,
    /// Cancel the statements that were given up; empty until then.
    pub(crate) cancels: Vec<CancelHandle>,
    choose: Prng,
    weights: u64,
    stop: Stop,
    control: Control,
    /// A client's end has ended the run: nothing more is said.
    is_over: bool,
    reports: Sender<Report>,
    /// Bytes of notices that are still passed on.
    notice_bytes: usize,
    /// Notices that were not.
    notices_unsaid: u64,
    connected: usize,
    connect_error: Option<DriveError>,
}

impl<'run, I: Io> Context<'run, I> {
    pub(crate) fn program(&self, script: usize) -> &'run Program {
        &self.drive.scripts[script].program
    }

    /// A script, by weight; drawn as pgbench draws it.
    pub(crate) fn choose_script(&mut self) -> usize {
        let scripts = &self.drive.scripts;
        if scripts.len() == 1 {
            return 0;
        }
        let mut left = self.choose.range(0, self.weights as i64 - 1) as u64;
        for (index, script) in scripts.iter().enumerate() {
            if left < script.weight {
                return index;
            }
            left -= script.weight;
        }
        scripts.len() - 1
    }

    /// Closes the books of the seconds that are over by `now`.
    #[inline]
    pub(crate) fn rotate(&mut self, now: Nanos) {
        if now < self.recorder.boundary {
            return;
        }
        let warmup_end = self.recorder.rotate(now);
        if let (Some(at), Until::Elapsed(duration)) = (warmup_end, self.drive.until) {
            let end = at + nanos(duration);
            self.end_has_moved = end < self.end;
            self.end = end;
        }
    }

    /// Whether the time that [`Until::Elapsed`] gives is over.
    pub(crate) fn is_past_end(&self) -> bool {
        self.now >= self.end
    }

    /// Whether no transaction may start any more.
    pub(crate) fn is_time_up(&self) -> bool {
        self.is_past_end() || self.stop > Stop::No
    }

    pub(crate) fn say(&self, level: Level, text: String) {
        if self.is_over {
            return;
        }
        // The collector outlives the threads; if it is gone, there is no receiver.
        let _ = self.reports.send(Report::Message(Message { level, text }));
    }

    /// Passes a notice of the server on, as long as there are not too many.
    pub(crate) fn notice(&mut self, notice: impl FnOnce() -> ServerError) {
        if self.notice_bytes == 0 {
            self.notices_unsaid += 1;
            return;
        }
        let text = notice().libpq_notice_text();
        match self.notice_bytes.checked_sub(text.len()) {
            Some(left) => {
                self.notice_bytes = left;
                self.say(Level::Notice, text);
            }
            None => (self.notice_bytes, self.notices_unsaid) = (0, 1),
        }
    }

    /// Says how many notices were not passed on.
    fn tell_unsaid(&self) {
        if self.notices_unsaid > 0 {
            let text = format!(
                "{} notices of the server are not shown: those before had {NOTICE_BYTES_MAX} bytes; \
                 client_min_messages keeps the server from sending them",
                self.notices_unsaid
            );
            self.say(Level::Notice, text);
        }
    }

    /// Tells what has happened to a connection.
    pub(crate) fn happened(&self, kind: EventKind, text: String) {
        if self.is_over {
            return;
        }
        let at_us = self.recorder.at_us(self.now);
        let event = Happened { at_us, kind, text };
        let _ = self.reports.send(Report::Event(event));
    }

    /// Tells a step, when all steps are asked for.
    #[inline]
    pub(crate) fn trace(&self, text: impl FnOnce() -> String) {
        if self.drive.debug {
            self.say(Level::Trace, text());
        }
    }

    /// A client has ended before its time.
    pub(crate) fn client_aborted(&mut self) {
        if self.drive.exit_on_abort && !self.is_over {
            let thread = self.recorder.thread();
            let _ = self.reports.send(Report::ClientAborted(thread));
            self.is_over = true;
            self.control.stop_now();
        }
    }

    /// A script says that the run must end.
    pub(crate) fn end_run(&mut self, reason: String) {
        if !self.is_over {
            let _ = self.reports.send(Report::InvariantBroken(reason));
            self.is_over = true;
            self.control.stop_now();
        }
    }

    pub(crate) fn client_connected(&mut self) {
        self.connected += 1;
    }

    pub(crate) fn client_not_connected(&mut self, error: DriveError) {
        self.connect_error.get_or_insert(error);
    }
}

/// Runs one thread's clients from connecting to the end.
pub(crate) fn run<I: Io>(setup: Setup<'_>, io: I) {
    setup.control.wakes(io.waker());
    let Setup {
        drive,
        places,
        mut clients,
        clock,
        control,
        choose,
        schedule,
        recorder,
        reports,
        go,
    } = setup;
    let transactions = match drive.until {
        Until::Transactions(count) => Some(count),
        Until::Elapsed(_) => drive.transactions_max,
    };
    let context = Context {
        drive,
        places,
        io,
        clock,
        now: clock.now(),
        end: Nanos::MAX,
        end_has_moved: false,
        latency_limit: drive.latency_limit.map(nanos),
        transactions,
        schedule,
        recorder,
        deadlines: Deadlines::for_clients(clients.len()),
        sealed: Vec::new(),
        opened: Vec::new(),
        cancels: Vec::new(),
        choose,
        weights: drive.scripts.iter().map(|script| script.weight).sum(),
        stop: Stop::No,
        control: control.clone(),
        is_over: false,
        reports: reports.clone(),
        notice_bytes: NOTICE_BYTES_MAX,
        notices_unsaid: 0,
        connected: 0,
        connect_error: None,
    };
    let mut event_loop = EventLoop {
        cx: context,
        control,
        ready: VecDeque::new(),
        is_ended: vec![false; clients.len()],
        ended: 0,
        buffer: vec![0; BUFFER_BYTES],
    };
    let connected = event_loop.connect(&mut clients);
    let failed = connected.is_err();
    let _ = reports.send(Report::Connected(connected));
    let begin = if failed { None } else { go.recv().ok() };
    let error = begin.and_then(|begin| event_loop.work(&mut clients, begin).err());
    event_loop.finish(clients, error);
}

struct EventLoop<'run, I> {
    cx: Context<'run, I>,
    control: Control,
    /// Clients that wait for nothing.
    ready: VecDeque<u32>,
    is_ended: Vec<bool>,
    /// How many have ended.
    ended: usize,
    buffer: Vec<u8>,
}

impl<I: Io> EventLoop<'_, I> {
    /// Connects all clients, a few at a time.
    fn connect(&mut self, clients: &mut [Client]) -> Result<(), DriveError> {
        if self.cx.drive.connection_per_transaction {
            return Ok(());
        }
        let mut begun = 0;
        while self.cx.connected < clients.len() {
            while begun < clients.len() && begun - self.cx.connected < CONNECTING_MAX {
                clients[begun].connect_before_run(&mut self.cx);
                let wait = clients[begun].advance(&mut self.cx);
                self.note(begun as u32, wait);
                begun += 1;
            }
            if self.control.is_stopping() {
                return Err(DriveError::Interrupted);
            }
            if let Some(error) = self.cx.connect_error.take() {
                return Err(error);
            }
            if self.cx.connected < clients.len() {
                self.turn(clients, None).map_err(DriveError::EventLoop)?;
            }
        }
        Ok(())
    }

    /// From the start of the run until all clients have ended.
    fn work(&mut self, clients: &mut [Client], begin: Nanos) -> std::io::Result<()> {
        let drive = self.cx.drive;
        let warmup = nanos(drive.warmup);
        self.cx.now = self.cx.clock.now();
        self.cx.recorder.begin(begin, warmup, &self.control);
        if let Some(schedule) = &mut self.cx.schedule {
            schedule.begin(begin);
        }
        if let Until::Elapsed(duration) = drive.until {
            self.cx.end = begin + warmup + nanos(duration);
        }
        for (index, client) in clients.iter_mut().enumerate() {
            client.begin();
            self.ready.push_back(index as u32);
        }
        let mut give_up_at = None;
        while self.ended < clients.len() {
            self.cx.stop = self.control.stop();
            if self.cx.stop > Stop::No && give_up_at.is_none() {
                self.cx.now = self.cx.clock.now();
                give_up_at = Some(self.cx.now + nanos(drive.grace));
                // Those that only wait for their next transaction need not.
                self.ready.extend(0..clients.len() as u32);
            }
            if self.cx.stop == Stop::Now || give_up_at.is_some_and(|at| self.cx.now >= at) {
                self.cx.now = self.cx.clock.now();
                for client in clients.iter_mut() {
                    client.give_up(&mut self.cx);
                }
                break;
            }
            if std::mem::take(&mut self.cx.end_has_moved) {
                self.ready.extend(0..clients.len() as u32);
            }
            for _ in 0..self.ready.len() {
                if self.cx.is_over {
                    break;
                }
                let Some(index) = self.ready.pop_front() else {
                    break;
                };
                self.cx.now = self.cx.clock.now();
                let wait = clients[index as usize].advance(&mut self.cx);
                self.note(index, wait);
            }
            self.turn(clients, give_up_at)?;
        }
        Ok(())
    }

    /// Waits for the next event or deadline, or until `limit`, and lets the clients concerned go on.
    fn turn(&mut self, clients: &mut [Client], limit: Option<Nanos>) -> std::io::Result<()> {
        if self.ended == clients.len() || self.cx.is_over {
            return Ok(());
        }
        // The clock was read at the end of the last turn, or since.
        let clock = self.cx.clock;
        let deadline = self.deadline(limit).map(|at| clock.monotonic_ns(at));
        self.cx.io.wait(clock.monotonic_ns(self.cx.now), deadline)?;
        // The clock is read for each event as it is: the first one stands for the batch.
        let mut handed_over = None;
        for _ in 0..EVENTS_MAX {
            let Some((key, event)) = self.cx.io.next(&mut self.buffer) else {
                break;
            };
            self.cx.now = self.cx.clock.now();
            let since = *handed_over.get_or_insert(self.cx.now);
            self.cx.recorder.attended(self.cx.now - since);
            let client = &mut clients[key as usize];
            let wait = match event {
                Event::Received(length) => client.received(&mut self.cx, &self.buffer[..length]),
                Event::Connected => {
                    client.connection_open(&mut self.cx);
                    client.advance(&mut self.cx)
                }
                Event::Closed => client.closed(&mut self.cx, None),
                Event::Failed(error) => client.closed(&mut self.cx, Some(&error)),
            };
            self.note(key, wait);
            if self.cx.is_over {
                return Ok(());
            }
        }
        self.cx.now = self.cx.clock.now();
        while let Some((index, at)) = self.cx.deadlines.due(self.cx.now) {
            self.cx.recorder.lagged(self.cx.now - at);
            let wait = clients[index as usize].due(&mut self.cx);
            self.note(index, wait);
            self.cx.now = self.cx.clock.now();
        }
        self.cx.rotate(self.cx.now);
        Ok(())
    }

    /// When to look again, whatever happens.
    fn deadline(&mut self, limit: Option<Nanos>) -> Option<Nanos> {
        if !self.ready.is_empty() {
            return Some(self.cx.now);
        }
        let next = [
            self.cx.deadlines.next(),
            limit,
            Some(self.cx.recorder.boundary),
        ];
        next.into_iter()
            .flatten()
            .min()
            .filter(|at| *at < Nanos::MAX)
    }

    fn note(&mut self, index: u32, wait: Wait) {
        match wait {
            Wait::Input => {}
            Wait::Until(at) => self.cx.deadlines.set(index, at),
            Wait::Turn => self.ready.push_back(index),
            Wait::Ended => {
                let was_ended = std::mem::replace(&mut self.is_ended[index as usize], true);
                self.ended += usize::from(!was_ended);
            }
        }
    }

    fn finish(mut self, mut clients: Vec<Client>, error: Option<std::io::Error>) {
        let thread = self.cx.recorder.thread();
        self.cx.now = self.cx.clock.now();
        let mut aborted = clients.iter().filter(|client| client.is_aborted()).count();
        if error.is_some() {
            aborted += clients.len() - self.ended;
            clients
                .iter_mut()
                .for_each(|client| client.give_up(&mut self.cx));
        }
        clients
            .iter_mut()
            .for_each(|client| client.disconnect(&mut self.cx));
        self.cx.tell_unsaid();
        let end = ThreadEnd {
            aborted,
            disconnected: clients
                .iter()
                .filter(|client| client.is_disconnected)
                .count(),
            cancels: std::mem::take(&mut self.cx.cancels),
            by_client: clients.iter().filter_map(Client::work_units).collect(),
            error,
            at: self.cx.now,
            finished: self.cx.recorder.finish(self.cx.now),
        };
        let _ = self
            .cx
            .reports
            .send(Report::Finished(thread, Box::new(end)));
    }
}
