//! The event loop: sends what is due, takes what is answered, and writes down why something was late.
//!
//! It is one thread. A turn begins with a wait for sockets or for the next statement; a wait that ended
//! later than it was to is time in which the generator did not run.

mod sessions;

use std::collections::{HashMap, VecDeque};
use std::io;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use pgdyno_platform::cpu_time::{self, ThreadClock};
use pgdyno_platform::interrupt::Interrupts;
use pgdyno_platform::io::{Epoll, Event, Io};
use pgdyno_recording::Session;
use pgdyno_session::CancelHandle;
use pgdyno_wire::Candidate;

use crate::client::{Client, State, Waiting};
use crate::keys::{self, Keys};
use crate::lateness::Nanos;
use crate::order::Order;
use crate::outcome::Replayed;
use crate::schedule::{Batch, Due, Planned, Schedule};
use crate::{Error, Options};

const BUFFER_BYTES: usize = 256 << 10;
/// Events that are at hand: those of so much time.
const AHEAD_NS: Nanos = 1_000_000_000;
/// A wait is no longer than this while an answer is due, so that it is known when the generator stopped.
const BEAT_NS: Nanos = 5_000_000;
/// A wait is never longer than this: an interrupt has nothing else to end it.
const WAIT_NS: Nanos = 100_000_000;
/// A wait that ends so much too late is time in which the generator did not run.
const OVERSLEPT_NS: Nanos = 1_000_000;
/// A wait that is shorter was none: something was there already.
const SLEPT_NS: Nanos = 100_000;
/// How often sessions without a connection are looked after.
const LOOK_NS: Nanos = 20_000_000;
/// For how long a connection may be made.
const CONNECT_NS: Nanos = 30_000_000_000;
/// For how long sessions that are open at the beginning may take to connect, all together.
const BEFORE_NS: Nanos = 30_000_000_000;
/// A statement that takes longer than twice its recorded time and this may wait for a lock.
const SLOW_NS: Nanos = 10_000_000;
/// Without any answer for so long it is looked whether sessions wait for each other; for so long, they do.
const BROKEN_NS: Nanos = 2_000_000;
const STALL_NS: Nanos = 1_000_000_000;
/// For how long the next answer is waited for at the end, and all of them after an interrupt.
const PATIENCE_NS: Nanos = 60_000_000_000;
const GRACE_NS: Nanos = 1_000_000_000;

/// How far a replay is.
#[derive(Clone, Copy, Debug)]
pub struct Progress {
    /// The time of the replay.
    pub at: Duration,
    pub sent: u64,
    pub on_time: u64,
    pub busy: usize,
    /// Whether all was sent, and answers are waited for.
    pub is_waiting: bool,
}

/// Replays a recording against the server that `candidate` leads to. `progress` is called once a second.
///
/// # Errors
/// The recording cannot be read, or nothing of it can be replayed. What goes wrong with the server is a
/// result.
pub fn replay(
    recording: &Path,
    candidate: &Candidate,
    options: &Options,
    interrupts: &Interrupts,
    progress: &mut dyn FnMut(Progress),
) -> Result<Replayed, Error> {
    let schedule = Schedule::open(recording, options)?;
    let mut engine = Engine::new(Epoll::new()?, schedule, candidate, options);
    engine.know_keys(recording)?;
    engine.interrupts_before = interrupts.count();
    engine.run(interrupts, progress)?;
    let Engine {
        schedule,
        mut replayed,
        keys,
        order,
        ..
    } = engine;
    replayed.keys.replaced = keys.replaced;
    replayed.keys.differed = keys.differed;
    replayed.order.undetermined = order.undetermined;
    let left_out = schedule.finish()?;
    if replayed.sent + replayed.unsent == 0 {
        return Err(Error::Nothing);
    }
    replayed.obstacles = left_out.obstacles;
    replayed.others = left_out.others;
    replayed.losses = left_out.losses;
    replayed.finish();
    Ok(replayed)
}

struct Engine<'a, I: Io> {
    io: I,
    schedule: Schedule,
    has_more: bool,
    candidate: &'a Candidate,
    options: &'a Options,
    upcoming: VecDeque<Planned>,
    clients: Vec<Option<Client>>,
    free: Vec<u32>,
    by_session: HashMap<u32, u32>,
    replayed: Replayed,
    keys: Keys,
    order: Order,
    /// When the last answer came, or the last wait was broken.
    moved_at: Nanos,
    /// When the replay began, by the loop's clock.
    begin: Nanos,
    now: Nanos,
    /// When the answers of the present turn were there, at the latest.
    answers_at: Nanos,
    /// When the present turn began.
    woken: Nanos,
    /// How long the thread could have run and had no CPU.
    clock: Option<ThreadClock>,
    look_at: Nanos,
    busy: usize,
    executions: u64,
    interrupts_before: u32,
    out: Vec<u8>,
    sealed: Vec<u8>,
    plain: Vec<u8>,
    cancels: Vec<CancelHandle>,
}

impl<'a, I: Io> Engine<'a, I> {
    fn new(io: I, schedule: Schedule, candidate: &'a Candidate, options: &'a Options) -> Self {
        let now = io.now_ns();
        Self {
            io,
            schedule,
            has_more: true,
            candidate,
            options,
            upcoming: VecDeque::new(),
            clients: Vec::new(),
            free: Vec::new(),
            by_session: HashMap::new(),
            replayed: Replayed::default(),
            keys: Keys::default(),
            order: Order::new(options.sync),
            moved_at: now,
            begin: now,
            now,
            answers_at: now,
            woken: now,
            clock: ThreadClock::of_this_thread(),
            look_at: now,
            busy: 0,
            executions: 0,
            interrupts_before: 0,
            out: Vec::new(),
            sealed: Vec::new(),
            plain: Vec::new(),
            cancels: Vec::new(),
        }
    }

    fn run(
        &mut self,
        interrupts: &Interrupts,
        progress: &mut dyn FnMut(Progress),
    ) -> io::Result<()> {
        let mut buffer = vec![0; BUFFER_BYTES];
        let cpu_before = cpu_time::thread().total_us();
        self.connect_first(&mut buffer, interrupts)?;
        self.begin = self.io.now_ns();
        (self.now, self.woken) = (self.begin, self.begin);
        let mut report_at = self.begin + 1_000_000_000;
        let mut stop_at = None;
        let mut sent_at = None;
        loop {
            if interrupts.count() > self.interrupts_before && !self.replayed.is_interrupted {
                self.replayed.is_interrupted = true;
                self.stop_sending();
                stop_at = Some(self.now + GRACE_NS);
            }
            self.read_ahead();
            self.send_due();
            if self.is_over() {
                break;
            }
            if !self.has_more && self.upcoming.is_empty() {
                sent_at = sent_at.or(Some(self.now));
            }
            // A server that is slower than the recording's may take longer, while it answers.
            let gives_up_at = sent_at.map(|sent_at| sent_at.max(self.moved_at) + PATIENCE_NS);
            if stop_at.or(gives_up_at).is_some_and(|at| self.now >= at) {
                break;
            }
            self.turn(&mut buffer)?;
            if self.now >= report_at {
                report_at = self.now + 1_000_000_000;
                progress(Progress {
                    at: Duration::from_nanos(self.now - self.begin),
                    sent: self.replayed.sent,
                    on_time: self.replayed.lateness.on_time,
                    busy: self.busy,
                    is_waiting: sent_at.is_some(),
                });
            }
        }
        self.replayed.length = Duration::from_nanos(self.io.now_ns() - self.begin);
        self.replayed.cpu_us = cpu_time::thread().total_us().saturating_sub(cpu_before);
        self.end_all();
        Ok(())
    }

    /// Connects the sessions that are there before the first statement.
    fn connect_first(&mut self, buffer: &mut [u8], interrupts: &Interrupts) -> io::Result<()> {
        while self.upcoming.is_empty()
            && let Batch::Some(batch) = self.schedule.wait_for_batch()
        {
            self.upcoming.extend(batch);
            let is_first =
                |first: &mut Planned| first.at_ns == 0 && matches!(first.due, Due::Begin(..));
            while let Some(first) = self.upcoming.pop_front_if(is_first) {
                if let Due::Begin(session, _) = first.due {
                    self.begins(session);
                }
            }
        }
        self.connect_soon(0);
        let until = self.io.now_ns() + BEFORE_NS;
        while self.connecting() > 0
            && self.now < until
            && interrupts.count() == self.interrupts_before
        {
            self.turn(buffer)?;
        }
        Ok(())
    }

    fn connecting(&self) -> usize {
        let is_one = |client: &&Client| matches!(client.state, State::Connecting(..));
        self.clients.iter().flatten().filter(is_one).count()
    }

    /// Has the events of the next second at hand.
    fn read_ahead(&mut self) {
        let until = (self.now - self.begin).saturating_add(AHEAD_NS);
        while self.has_more && self.upcoming.back().is_none_or(|last| last.at_ns < until) {
            let from = self.upcoming.len();
            match self.schedule.next_batch() {
                Batch::Some(batch) => self.upcoming.extend(batch),
                Batch::NotYet => return,
                Batch::End => self.has_more = false,
            }
            self.connect_soon(from);
        }
    }

    /// Sessions whose beginning was not recorded connect before their first statement is due. Those before
    /// `from` were looked at.
    fn connect_soon(&mut self, from: usize) {
        let unknown = self
            .upcoming
            .range(from..)
            .filter_map(|planned| match &planned.due {
                Due::Begin(session, false) => Some(session.clone()),
                _ => None,
            });
        let unknown: Vec<Arc<Session>> = unknown.collect();
        for session in unknown {
            self.begins(session);
        }
    }

    /// Sends what is due.
    fn send_due(&mut self) {
        loop {
            let at = self.now - self.begin;
            let Some(planned) = self.upcoming.pop_front_if(|first| first.at_ns <= at) else {
                return;
            };
            match planned.due {
                Due::Begin(session, _) => self.begins(session),
                Due::Statement(statement) => {
                    let key = self.client_of(&statement.session);
                    let planned = self.begin + planned.at_ns;
                    let point = self.order.due(&statement);
                    if let Some(client) = self.client(key) {
                        client.backlog.push_back(Waiting {
                            planned,
                            statement,
                            point,
                        });
                        let is_first = client.backlog.len() == 1;
                        match client.state {
                            State::Idle if is_first => self.send_next(key),
                            State::Away if is_first => self.connect(key),
                            _ => {}
                        }
                    }
                }
                Due::End(session) => self.ends(&session),
            }
            self.now = self.io.now_ns();
        }
    }

    /// Nothing more is sent.
    fn stop_sending(&mut self) {
        let is_statement = |planned: &&Planned| matches!(planned.due, Due::Statement(_));
        let due_by = self.now - self.begin;
        let due = self
            .upcoming
            .iter()
            .take_while(|planned| planned.at_ns <= due_by);
        self.replayed.unsent += due.filter(is_statement).count() as u64;
        self.upcoming.clear();
        self.has_more = false;
        for client in self.clients.iter_mut().flatten() {
            self.replayed.unsent += client.backlog.len() as u64;
            client.backlog.clear();
        }
        self.order = Order::default();
    }

    fn is_over(&self) -> bool {
        let is_sent = !self.has_more && self.upcoming.is_empty() && self.busy == 0;
        is_sent && !self.clients.iter().flatten().any(Client::is_at_work)
    }

    /// Waits for the next thing that happens, and for what is due.
    fn turn(&mut self, buffer: &mut [u8]) -> io::Result<()> {
        let mut deadline = self.now + if self.busy > 0 { BEAT_NS } else { WAIT_NS };
        if let Some(first) = self.upcoming.front() {
            deadline = deadline.min(self.begin + first.at_ns);
        } else if self.has_more {
            deadline = deadline.min(self.now + 1_000_000);
        }
        let before = self.woken;
        let slept_from = self.now;
        let waited_before_ns = self.waited_for_cpu_ns();
        self.io.wait(self.now, Some(deadline))?;
        self.now = self.io.now_ns();
        self.woken = self.now;
        // From then on it could have run, and another had the CPU.
        let waited_ns = self.waited_for_cpu_ns().saturating_sub(waited_before_ns);
        let runnable = self.now.saturating_sub(waited_ns).max(slept_from);
        // Without a sleep, it was busy since the last time around.
        let has_slept = self.now > slept_from + SLEPT_NS;
        let expected = if has_slept { deadline } else { before };
        // Later than that it was stopped, frozen, or busy.
        let is_late = runnable > expected + OVERSLEPT_NS;
        self.answers_at = if is_late { expected } else { runnable };
        if is_late {
            // A wait that SIGCONT interrupted has looked at nothing.
            self.io.wait(self.now, Some(self.now))?;
        }
        while let Some((key, event)) = self.io.next(buffer) {
            match event {
                Event::Connected => self.is_open(key),
                Event::Received(length) => self.received(key, &buffer[..length]),
                Event::Closed => self.closed(key, None),
                Event::Failed(error) => self.closed(key, Some(&error)),
            }
        }
        self.break_cycle();
        if self.now >= self.look_at {
            self.look_at = self.now + LOOK_NS;
            self.look_after();
        }
        Ok(())
    }

    fn waited_for_cpu_ns(&self) -> Nanos {
        let scheduled = self.clock.as_ref().and_then(ThreadClock::read);
        scheduled.map_or(0, |scheduled| scheduled.waited_ns)
    }

    /// A session that waits for a commit, while that commit's session waits for its locks, waits for ever. What all
    /// wait for at most is the first commit that is not there. If its session's statement takes long, the first session
    /// that waits and holds locks goes on, unless it may need a key that is not there; when nothing moves, it goes on
    /// in any case.
    fn break_cycle(&mut self) {
        if self.now < self.moved_at + BROKEN_NS {
            return;
        }
        let Some(first) = self.order.first() else {
            return;
        };
        let holder = self.by_session.get(&first.session).copied();
        let holder = holder.and_then(|key| self.clients.get(key as usize)?.as_ref());
        let is_slow = match holder.map(|client| &client.state) {
            Some(State::Busy(in_flight)) => {
                let recorded_ns = in_flight.slow.recorded_ns.unwrap_or(0);
                self.now > in_flight.sent + recorded_ns.saturating_mul(2) + SLOW_NS
            }
            _ => false,
        };
        let is_stalled = self.busy > 0 && self.now >= self.moved_at + STALL_NS;
        if !is_slow && !is_stalled {
            return;
        }
        let may_go_on = |parked: &(i64, u32)| {
            let client = self.clients.get(parked.1 as usize).and_then(Option::as_ref);
            client.is_some_and(|client| {
                let needs_key = |waiting: &Waiting| {
                    let hashes = keys::hashes(&waiting.statement);
                    self.order.is_expected(hashes)
                };
                client.holds_locks && (is_stalled || !client.backlog.front().is_some_and(needs_key))
            })
        };
        let Some((start_us, key)) = self.order.parked().find(may_go_on) else {
            return;
        };
        self.moved_at = self.now;
        self.replayed.order.broken += 1;
        self.order.unpark(start_us, key);
        if let Some(client) = self.client(key) {
            client.is_forced = true;
        }
        self.release(key);
    }

    /// Sessions that have something to send and no connection, or wait too long for one.
    fn look_after(&mut self) {
        for key in 0..self.clients.len() as u32 {
            let now = self.now;
            let Some(client) = self.client(key) else {
                continue;
            };
            match &client.state {
                State::Away if !client.backlog.is_empty() => self.connect(key),
                State::Connecting(_, since) if now > since + CONNECT_NS => {
                    self.refused(key, "the server did not answer in 30 s".to_owned());
                }
                _ => {}
            }
        }
    }
}
