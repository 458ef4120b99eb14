//! One thread: its clients, their sockets and deadlines, its randomness and its books.

use std::collections::{BTreeMap, VecDeque};
use std::sync::mpsc::Receiver;

use pgdyno_platform::affinity;
use pgdyno_platform::io::{Event, Io, Key};
use pgdyno_wire::Candidate;

use crate::client::{Client, Wait};
use crate::clock::nanos;
use crate::context::{Context, Setup};
use crate::control::{Control, Silence, Stop};
use crate::record::{Delay, Report, ThreadEnd};
use crate::schedule::Schedule;
use pgdyno_measurement::DriveError;
use pgdyno_platform::clock::Nanos;
use pgdyno_spec::Until;

/// Received bytes pass through one buffer a thread, so that it stays in the cache.
const BUFFER_BYTES: usize = 64 << 10;
/// So many clients of a thread connect at the same time before a run: more would only overflow the
/// server's queue.
const CONNECTING_MAX: usize = 32;

/// After so many events it is looked whether a deadline has come or the run is to stop: a server may
/// send faster than it is read, for ever.
const EVENTS_MAX: usize = 1024;
/// Runs one thread's clients from connecting to the end, on this CPU if one is named. The run begins at the moment
/// that `go` gives, or not when it is closed.
pub(crate) fn run<I: Io>(
    setup: Setup<'_>,
    mut clients: Vec<Client>,
    cpu: Option<usize>,
    go: Receiver<Nanos>,
    io: I,
) {
    let reports = setup.reports.clone();
    if let Some(cpu) = cpu
        && let Err(error) = affinity::keep_this_thread_on(&[cpu])
    {
        let error = DriveError::NotPinned { cpu, error };
        let _ = reports.send(Report::Connected(Err(error)));
        return;
    }
    let mut event_loop = EventLoop::new(setup, clients.len(), io);
    let connected = event_loop.connect(&mut clients);
    let failed = connected.is_err();
    let _ = reports.send(Report::Connected(connected));
    let begin = if failed { None } else { go.recv().ok() };
    let error = begin.and_then(|begin| event_loop.work(&mut clients, begin).err());
    event_loop.finish(clients, error);
}

pub(crate) struct EventLoop<'run, I> {
    pub(crate) cx: Context<'run, I>,
    control: Control,
    /// Clients that wait for nothing.
    pub(crate) ready: VecDeque<u32>,
    is_ended: Vec<bool>,
    ended: usize,
    buffer: Vec<u8>,
    /// When the transactions in flight are given up, once the run is to stop.
    give_up_at: Option<Nanos>,
    is_given_up: bool,
    /// When it is looked next for clients that have waited too long.
    impatient_at: Nanos,
    /// When it was found out last whether servers still answer, once the time is over.
    asked: Option<Nanos>,
    /// So many servers that do not have been seen.
    silences: usize,
}

/// What is under way when the time is over may take so long before it is asked whether its server still
/// answers; then that is asked again and again.
const ASK_EACH_NS: Nanos = 1_000_000_000;

/// Of the time that a client waits for an answer it is looked so many times whether it is over.
const LOOKS_WITHIN_TIMEOUT: u32 = 8;

impl<'run, I: Io> EventLoop<'run, I> {
    pub(crate) fn new(setup: Setup<'run>, clients: usize, io: I) -> Self {
        setup.control.wakes(io.waker());
        Self {
            control: setup.control.clone(),
            cx: Context::new(setup, io, clients),
            ready: VecDeque::new(),
            is_ended: vec![false; clients],
            ended: 0,
            buffer: vec![0; BUFFER_BYTES],
            give_up_at: None,
            is_given_up: false,
            impatient_at: Nanos::MAX,
            asked: None,
            silences: 0,
        }
    }

    /// Connects all clients, a few at a time.
    pub(crate) fn connect(&mut self, clients: &mut [Client]) -> Result<(), DriveError> {
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
        self.begin(clients, begin);
        while self.goes_on() {
            self.step(clients)?;
        }
        Ok(())
    }

    pub(crate) fn goes_on(&self) -> bool {
        self.ended < self.is_ended.len()
    }

    /// Whether the run has ended because of a client, and the others are to be given up next.
    fn is_at_end(&self) -> bool {
        self.cx.is_over && !self.is_given_up
    }

    pub(crate) fn begin(&mut self, clients: &mut [Client], begin: Nanos) {
        let drive = self.cx.drive;
        let warmup = nanos(drive.warmup);
        self.cx.now = self.cx.clock_now();
        let count = clients.len();
        let duration = match drive.until {
            Until::Elapsed(duration) => Some(nanos(duration)),
            Until::Transactions(_) => None,
        };
        let recorder = &mut self.cx.recorder;
        recorder.begin(count, begin, warmup, duration, &self.control);
        if let Some(schedule) = &mut self.cx.schedule {
            let duration = duration.map(std::time::Duration::from_nanos);
            schedule.begin(begin, drive.warmup, duration);
        }
        if let Some(crew) = &mut self.cx.crew {
            crew.begin(begin, drive.warmup);
        }
        if let Some(duration) = duration {
            self.cx.end = begin + warmup + duration;
        }
        if drive.statement_timeout.is_some() {
            self.impatient_at = self.cx.now;
        }
        // A warm-up of its own has had its own.
        self.silences = self.control.silences_after(0).len();
        for (index, client) in clients.iter_mut().enumerate() {
            client.begin(begin);
            self.ready.push_back(index as u32);
        }
    }

    /// One time around: clients that wait for nothing, then the next event or deadline.
    pub(crate) fn step(&mut self, clients: &mut [Client]) -> std::io::Result<()> {
        let drive = self.cx.drive;
        self.cx.stop = self.control.stop();
        if self.cx.stop > Stop::No && self.give_up_at.is_none() {
            self.cx.now = self.cx.clock_now();
            self.give_up_at = Some(self.cx.now + nanos(drive.grace));
            // Those that only wait for their next transaction need not.
            self.ready.extend(0..clients.len() as u32);
        }
        if let Some(late_max) = drive.late_max
            && self.give_up_at.is_none()
            && self.cx.is_past_end()
        {
            self.give_up_at = Some(self.cx.end.saturating_add(nanos(late_max)));
        }
        planted!(14, self.give_up_at = self.give_up_at.map(|_| Nanos::MAX));
        let is_due =
            self.cx.stop == Stop::Now || self.give_up_at.is_some_and(|at| self.cx.now >= at);
        if is_due && !std::mem::replace(&mut self.is_given_up, true) {
            self.cx.now = self.cx.clock_now();
            for (index, client) in clients.iter_mut().enumerate() {
                let wait = client.give_up(&mut self.cx);
                self.note(index as u32, wait);
                self.goes(client);
            }
            self.cancel_apart();
        }
        if std::mem::take(&mut self.cx.end_has_moved) {
            self.ready.extend(0..clients.len() as u32);
        }
        self.redistribute(clients);
        for silence in self.control.silences_after(self.silences) {
            self.silences += 1;
            self.leave_silent(clients, silence);
        }
        for _ in 0..self.ready.len() {
            if self.is_at_end() {
                break;
            }
            let Some(index) = self.ready.pop_front() else {
                break;
            };
            self.cx.now = self.cx.clock_now();
            let client = &mut clients[index as usize];
            let wait = client.advance(&mut self.cx);
            self.note(index, wait);
            self.goes(client);
        }
        let give_up_at = self.give_up_at.filter(|_| !self.is_given_up);
        self.turn(clients, give_up_at)
    }

    /// A client that is to rest has given back the start that it waited for: those that work are to wait
    /// for the earliest ones.
    fn redistribute(&mut self, clients: &mut [Client]) {
        let schedule = self.cx.schedule.as_ref();
        if !schedule.is_some_and(Schedule::is_to_be_dealt) {
            return;
        }
        for (key, client) in (0u32..).zip(clients) {
            if client.gives_start_back(&mut self.cx) {
                self.cx.deadlines.clear(key);
                self.ready.push_back(key);
            }
        }
        if let Some(schedule) = &mut self.cx.schedule {
            schedule.all_are_back();
        }
    }

    /// Waits for the next event or deadline, or until `limit`, and lets the clients concerned go on.
    fn turn(&mut self, clients: &mut [Client], limit: Option<Nanos>) -> std::io::Result<()> {
        if self.ended == clients.len() || self.is_at_end() {
            return Ok(());
        }
        // The clock was read at the end of the last turn, or since.
        let clock = self.cx.clock;
        let deadline = self.deadline(limit).map(|at| clock.monotonic_ns(at));
        self.cx.io.wait(clock.monotonic_ns(self.cx.now), deadline)?;
        // When the first event was handed over.
        let mut since = self.cx.now;
        let mut events = 0;
        while events < EVENTS_MAX {
            let Some((key, event)) = self.cx.io.next(&mut self.buffer) else {
                break;
            };
            events += 1;
            self.cx.now = self.cx.clock_now();
            let is_first = events == 1;
            if is_first {
                since = self.cx.now;
                self.cx.recorder.probe.turn(since);
                self.cx.turns(since);
            }
            planted!(
                1,
                if self.cx.now.is_multiple_of(7) {
                    continue;
                }
            );
            // A client's connections are as many numbers of clients apart, and the first is mostly the only one.
            let (socket, mut key) = (key, key);
            if key as usize >= clients.len() {
                key %= clients.len() as u32;
            }
            let client = &mut clients[key as usize];
            match self.cx.recorder.probe.delay(self.cx.now - since, is_first) {
                None => client.comes_late(None),
                Some(delay) => {
                    self.cx.recorder.attended(delay.estimate_ns);
                    client.comes_late(Some(delay));
                }
            }
            if !client.uses(socket) {
                self.happens_on_parked(client, socket, event);
                continue;
            }
            let wait = match event {
                Event::Received(length) => client.received(&mut self.cx, &self.buffer[..length]),
                Event::Connected => self.opens(client),
                Event::Closed => client.closed(&mut self.cx, None),
                Event::Failed(error) => client.closed(&mut self.cx, Some(&error)),
            };
            self.note(key, wait);
            self.goes(client);
            if self.is_at_end() {
                return Ok(());
            }
        }
        // One event was at hand a microsecond ago.
        if events != 1 {
            self.cx.now = self.cx.clock_now();
        }
        if events == 0 {
            self.cx.turns(self.cx.now);
        }
        while let Some((index, at)) = self.cx.deadlines.due(self.cx.now) {
            let client = &mut clients[index as usize];
            let lag = self.cx.now - at;
            self.cx.rotate(self.cx.now);
            self.cx.recorder.lagged(client.activity, self.cx.now, lag);
            client.was_delayed(Some(Delay {
                estimate_ns: lag,
                max_ns: lag,
                ..Delay::default()
            }));
            let wait = client.due(&mut self.cx);
            self.note(index, wait);
            self.goes(client);
            self.cx.now = self.cx.clock_now();
        }
        self.cx.rotate(self.cx.now);
        if self.cx.now >= self.impatient_at {
            self.lose_patience(clients);
        }
        if self.cx.now >= self.asks_at() {
            self.ask(clients);
        }
        Ok(())
    }

    /// A client's connection is open.
    #[cold]
    #[inline(never)]
    fn opens(&mut self, client: &mut Client) -> Wait {
        client.connection_open(&mut self.cx);
        client.advance(&mut self.cx)
    }

    /// Something has come on a connection that a client does not use now.
    #[cold]
    #[inline(never)]
    fn happens_on_parked(&mut self, client: &mut Client, socket: Key, event: Event) {
        match event {
            Event::Received(length) => {
                client.parked_received(&mut self.cx, socket, &self.buffer[..length]);
            }
            Event::Closed | Event::Failed(_) => client.parked_closed(&mut self.cx, socket),
            Event::Connected => {}
        }
    }

    /// When to find out whether the servers that clients wait for still answer. Who has no end, or is
    /// stopped, ends in another way.
    fn asks_at(&self) -> Nanos {
        self.asked
            .unwrap_or(self.cx.end)
            .saturating_add(ASK_EACH_NS)
    }

    /// The time is over, and clients still wait: for something slow, or for what will never come.
    fn ask(&mut self, clients: &[Client]) {
        self.asked = Some(self.cx.now);
        let (drive, places) = (self.cx.drive, self.cx.places);
        let waits = clients.iter().filter_map(Client::waits_for);
        let asked: BTreeMap<usize, Candidate> = waits
            .map(|((endpoint, candidate), _)| {
                let place = places.number(endpoint, candidate);
                (
                    place,
                    drive.all_endpoints().candidates(endpoint)[candidate].clone(),
                )
            })
            .collect();
        if !asked.is_empty() {
            let asked = asked.into_iter().collect();
            let _ = self.cx.reports.send(Report::Ask(asked, self.cx.now));
        }
    }

    /// Gives up the connections of clients that have waited for a server since before it was found not
    /// to answer.
    fn leave_silent(&mut self, clients: &mut [Client], silence: Silence) {
        self.cx.now = self.cx.clock_now();
        for (index, client) in clients.iter_mut().enumerate() {
            let is_concerned = client
                .waits_for()
                .is_some_and(|((endpoint, candidate), since)| {
                    let place = self.cx.places.number(endpoint, candidate);
                    place == silence.place && since <= silence.asked
                });
            if is_concerned {
                let wait = client.is_left_alone(&mut self.cx);
                self.note(index as u32, wait);
                self.goes(client);
            }
        }
        self.cancel_apart();
    }

    /// Has statements cancelled that were given up, without waiting for it.
    fn cancel_apart(&mut self) {
        if !self.cx.cancels.is_empty() {
            let cancels = std::mem::take(&mut self.cx.cancels);
            let _ = self.cx.reports.send(Report::Cancel(cancels));
        }
    }

    /// Gives up the connections of clients that have waited too long for an answer.
    fn lose_patience(&mut self, clients: &mut [Client]) {
        let Some(timeout) = self.cx.drive.statement_timeout else {
            return;
        };
        for (index, client) in clients.iter_mut().enumerate() {
            let sent = client.waits_since();
            if sent.is_none_or(|sent| self.cx.now.saturating_sub(sent) < nanos(timeout)) {
                continue;
            }
            let reason = format!("no answer within {timeout:?}");
            let wait = client.loses_patience(&mut self.cx, reason);
            self.note(index as u32, wait);
            self.goes(client);
        }
        self.cancel_apart();
        self.impatient_at = self.cx.now + nanos(timeout / LOOKS_WITHIN_TIMEOUT);
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
            Some(self.impatient_at),
            Some(self.asks_at()),
        ];
        next.into_iter()
            .flatten()
            .min()
            .filter(|at| *at < Nanos::MAX)
    }

    /// Books where a client's time goes from now on.
    #[inline]
    fn goes(&mut self, client: &mut Client) {
        let now = client.present_activity();
        if client.activity != now {
            let before = std::mem::replace(&mut client.activity, now);
            self.cx.goes(before, now);
        }
    }

    #[inline]
    fn note(&mut self, index: u32, wait: Wait) {
        if wait != Wait::Input {
            self.note_other(index, wait);
        }
    }

    #[inline(never)]
    fn note_other(&mut self, index: u32, wait: Wait) {
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

    /// What was scheduled within the run and no client came to: it is due all the same.
    fn book_unstarted(&mut self) {
        let until = self.cx.end.min(self.cx.now);
        let Some(schedule) = &mut self.cx.schedule else {
            return;
        };
        while self.cx.recorder.has_slots() && self.cx.recorder.has_begun() {
            let scheduled = schedule.next(until);
            if scheduled > until {
                return;
            }
            self.cx.recorder.due(scheduled);
        }
    }

    /// Ends the clients and the books; gives the sockets back.
    pub(crate) fn finish(mut self, mut clients: Vec<Client>, error: Option<std::io::Error>) -> I {
        let thread = self.cx.recorder.thread();
        self.cx.now = self.cx.clock_now();
        let mut aborted = clients.iter().filter(|client| client.is_aborted()).count();
        if error.is_some() {
            aborted += clients.len() - self.ended;
            for client in &mut clients {
                client.give_up(&mut self.cx);
            }
        }
        clients
            .iter_mut()
            .for_each(|client| client.disconnect_all(&mut self.cx));
        self.cx.tell_unsaid();
        if let Some(own) = &mut self.cx.history {
            own.hand_over(thread, &self.cx.reports);
        }
        self.cx.hand_over_stamps();
        self.book_unstarted();
        let schedule = self.cx.schedule.take();
        let end = ThreadEnd {
            aborted,
            disconnected: clients
                .iter()
                .filter(|client| client.is_disconnected)
                .count(),
            cancels: std::mem::take(&mut self.cx.cancels),
            by_client: clients.iter().filter_map(Client::work_units).collect(),
            receipts: clients
                .iter_mut()
                .filter_map(|client| client.take_receipts(self.cx.recorder.at_us(self.cx.now)))
                .collect(),
            closings: clients.iter().filter_map(Client::closing).collect(),
            due: schedule.and_then(|schedule| schedule.due(self.cx.now)),
            error,
            at: self.cx.now,
            finished: self.cx.recorder.finish(self.cx.now),
        };
        let _ = self
            .cx
            .reports
            .send(Report::Finished(thread, Box::new(end)));
        self.cx.io
    }
}
