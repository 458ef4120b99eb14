//! A run from beginning to end: threads are started, what they record is collected, and what a
//! person wants to see meanwhile is told to a [`Live`].

use std::collections::BTreeMap;
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread;
use std::time::{Duration, Instant, SystemTime};

use pgdyno_platform::io::{Sockets, Used};
use pgdyno_script::{Counters, Draws, Seeds, Vars};
use pgdyno_session::CancelHandle;

use crate::client::Client;
use crate::clock::{Clock, Nanos, micros, nanos};
use crate::control::Control;
use crate::drive::{Drive, Setup as Variable, operations};
use crate::event_loop::{self, Report, Setup, ThreadEnd};
use crate::message::{Level, Message};
use crate::places::Places;
use crate::record::{
    ClientsEnd, Connections, End, EndpointRecord, Event, Execution, Executions, Interval,
    LoggedTransaction, Outages, Phase, Recorder, Recording, ScriptInterval, ScriptRecord, Second,
    StatementTotals, ThreadUse, TransactionLog, executions, order_worst, reasons,
};
use crate::retry::random_of_pauses;
use crate::schedule::Schedule;

/// How long it may take to have statements cancelled that were given up.
const CANCEL_MAX: Duration = Duration::from_secs(1);
/// So many of them are cancelled at the same time.
const CANCELLERS_MAX: usize = 16;

/// Why there is nothing to show for a run.
#[derive(Debug, thiserror::Error)]
pub enum DriveError {
    /// A client could not be connected before the run.
    #[error("could not create connection for client {client}: {text}")]
    Connect {
        /// The client's number.
        client: usize,
        /// Endpoint and reason.
        text: String,
    },
    /// It was stopped before it began.
    #[error("interrupted before the run began")]
    Interrupted,
    /// The operating system did not give what an event loop needs.
    #[error("the event loop cannot work: {0}")]
    EventLoop(#[source] io::Error),
    /// io_uring was asked for, and cannot be used.
    #[error("{0}")]
    NoUring(io::Error),
    /// It is not valid.
    #[error("{0}")]
    Invalid(String),
}

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
    /// All clients of a thread have ended, `at_us` microseconds after the start; nothing more comes
    /// from it.
    fn thread_ended(&mut self, _thread: usize, _at_us: u64) {}
}

impl Drive {
    /// Does it. Returns when all clients have ended.
    ///
    /// # Errors
    /// [`DriveError`] only when nothing was measured; whatever goes wrong later is in the
    /// [`Recording`].
    pub fn run(&self, control: &Control, live: &mut dyn Live) -> Result<Recording, DriveError> {
        self.check()?;
        if self.warmup_apart && !self.warmup.is_zero() {
            return self.run_apart(control, live);
        }
        let threads = self.threads.min(self.clients);
        let places = Places::of(&self.endpoints);
        let clock = Clock::start();
        let given = |name: &str| self.variables.iter().any(|(given, _)| given == name);
        let seeds = Seeds::deal(
            self.seed as u64,
            self.clients,
            threads,
            given("default_seed"),
        );
        let counters = Counters::new(&self.names);
        let (mut sockets, io) = self.io.open(threads).map_err(|error| match error.kind() {
            io::ErrorKind::Unsupported => DriveError::NoUring(error),
            _ => DriveError::EventLoop(error),
        })?;
        let (reports, inbox) = channel();
        thread::scope(|scope| {
            let mut clients = seeds.clients.iter().enumerate();
            let mut links = Vec::with_capacity(threads);
            for (index, seeds_of_thread) in seeds.threads.iter().enumerate() {
                // As pgbench deals clients: the first threads get one more when they do not divide.
                let share = clients.len().div_ceil(threads - index);
                let clients =
                    (0u32..)
                        .zip(clients.by_ref().take(share))
                        .map(|(key, (id, random))| {
                            let place = places.number(id % self.endpoints.len(), 0);
                            let vars = self.vars(id, &seeds);
                            let pauses = random_of_pauses(self.seed, id);
                            let draws = Draws::new(Arc::clone(&counters));
                            let random = (random.clone(), pauses);
                            Client::new(id, key, place, vars, random, draws)
                        });
                let clients: Vec<Client> = clients.collect();
                let (recycle, recycled) = channel();
                let (recycle_log, recycled_log) = channel();
                let (recycle_executions, recycled_executions) = channel();
                let (start, go) = channel();
                let recorder = Recorder::new(
                    index,
                    (self.scripts.len(), places.count()),
                    (self.rate.is_some(), self.max_tries != 1),
                    self.latency_limit.map(|limit| limit.as_micros() as u64),
                    self.log.map(|share| {
                        TransactionLog::new(share, seeds_of_thread.sample.clone(), recycled_log)
                    }),
                    Executions::new(recycled_executions),
                    (reports.clone(), recycled),
                );
                let schedule = self
                    .rate
                    .map(|rate| Schedule::new(rate, threads, seeds_of_thread.throttle.clone()));
                let setup = Setup {
                    drive: self,
                    places: &places,
                    clients,
                    clock,
                    control: control.clone(),
                    choose: seeds_of_thread.choose.clone(),
                    schedule,
                    recorder,
                    reports: reports.clone(),
                    go,
                };
                let thread = thread::Builder::new().name(format!("clients-{index}"));
                // There are as many as threads.
                let spawned = match &mut sockets {
                    Sockets::Epoll(loops) => loops
                        .pop()
                        .map(|io| thread.spawn_scoped(scope, || event_loop::run(setup, io))),
                    Sockets::Uring(loops) => loops
                        .pop()
                        .map(|io| thread.spawn_scoped(scope, || event_loop::run(setup, io))),
                };
                spawned.transpose().map_err(DriveError::EventLoop)?;
                links.push(Link {
                    start,
                    recycle,
                    recycle_log,
                    recycle_executions,
                    progress: 0,
                });
            }
            drop(reports);
            let collector = Collector {
                drive: self,
                places: &places,
                clock,
                links,
                inbox,
            };
            let mut recording = collector.collect(io, control, live)?;
            let drawn = counters.drawn();
            recording.drawn = drawn
                .map(|(name, count)| (name.to_owned(), count))
                .collect();
            Ok(recording)
        })
    }

    fn check(&self) -> Result<(), DriveError> {
        let invalid = |text: &str| Err(DriveError::Invalid(text.to_owned()));
        if self.scripts.iter().all(|script| script.weight == 0) {
            return invalid("there is no script to run: every weight is zero");
        }
        if self.endpoints.is_empty() || self.endpoints.iter().any(Vec::is_empty) {
            return invalid("there is no endpoint to connect to");
        }
        if self.clients == 0 || self.threads == 0 {
            return invalid("there must be at least one client and one thread");
        }
        if self
            .rate
            .is_some_and(|rate| !(rate > 0.0 && rate.is_finite()))
        {
            return invalid("the rate must be a positive number of transactions a second");
        }
        Ok(())
    }

    /// One client's variables at the start.
    fn vars(&self, client: usize, seeds: &Seeds) -> Vars {
        let mut vars = Vars::new(&self.names);
        let own = [
            ("client_id", Some(client as i64)),
            ("random_seed", Some(seeds.random_seed)),
            ("default_seed", seeds.default_seed),
        ];
        for (name, value) in own {
            if let (Some(slot), Some(value)) = (self.names.get(name), value) {
                vars.set(slot, pgdyno_script::Value::Int(value));
            }
        }
        for (name, variable) in &self.variables {
            // A variable without a slot is one that no script speaks of.
            let Some(slot) = self.names.get(name) else {
                continue;
            };
            match variable {
                Variable::Value(value) => vars.set(slot, *value),
                Variable::Text(text) => vars.set_text(slot, text),
            }
        }
        vars
    }
}

/// The collector's end of one thread.
struct Link {
    start: Sender<Nanos>,
    recycle: Sender<Box<Interval>>,
    recycle_log: Sender<Vec<LoggedTransaction>>,
    recycle_executions: Sender<Vec<Execution>>,
    /// Up to when this thread has reported, in nanoseconds since the run began.
    progress: Nanos,
}

impl Link {
    /// Gives a thread its memory back.
    fn recycle(&self, mut interval: Box<Interval>) {
        interval.clear();
        // A thread that has ended needs no more memory.
        let _ = self.recycle.send(interval);
    }
}

struct Collector<'run> {
    drive: &'run Drive,
    places: &'run Places,
    clock: Clock,
    links: Vec<Link>,
    inbox: Receiver<Report>,
}

impl Collector<'_> {
    fn collect(
        self,
        io: Used,
        control: &Control,
        live: &mut dyn Live,
    ) -> Result<Recording, DriveError> {
        let mut recording = empty_recording(self.drive, self.places, io);
        recording.connections.initial_us = self.start(&mut recording.events, live)?;
        let Self {
            places,
            clock,
            mut links,
            inbox,
            ..
        } = self;
        let mut open = BTreeMap::new();
        let mut cancels = Vec::new();
        live.ready();
        // From here on time counts.
        recording.started = SystemTime::now();
        let begin = clock.now();
        live.begun(recording.started);
        for link in &links {
            // A thread that is gone says so by its `Finished`.
            let _ = link.start.send(begin);
        }
        for report in inbox {
            match report {
                Report::Connected(_) => {}
                Report::Message(message) => live.message(&message),
                Report::Event(event) => keep_event(&mut recording.events, event, live),
                Report::Interval(thread, interval) => {
                    links[thread].progress = interval.start_ns + interval.length_ns;
                    add(&mut open, thread, interval, &links);
                }
                Report::Logged(thread, mut transactions) => {
                    live.logged(thread, &transactions);
                    transactions.clear();
                    // A thread that has ended needs no more memory.
                    let _ = links[thread].recycle_log.send(transactions);
                }
                Report::Executed(thread, mut batch) => {
                    executions::add_up(&mut recording.statements, &batch);
                    batch.clear();
                    // A thread that has ended needs no more memory.
                    let _ = links[thread].recycle_executions.send(batch);
                }
                Report::ClientAborted(thread) => {
                    recording.end = End::ClientAborted { thread };
                }
                Report::InvariantBroken(text) => {
                    recording.end = End::InvariantBroken;
                    recording.broken_invariant.get_or_insert(text);
                }
                Report::Finished(thread, mut end) => {
                    cancels.append(&mut end.cancels);
                    links[thread].progress = Nanos::MAX;
                    live.thread_ended(thread, micros(end.at.saturating_sub(begin)));
                    finish_thread(&mut recording, *end, live);
                }
            }
            let progress = links
                .iter()
                .map(|link| link.progress)
                .min()
                .unwrap_or(Nanos::MAX);
            while let Some(entry) = open.first_entry()
                && *entry.key() < progress
            {
                let (thread, interval) = entry.remove();
                live.second(&interval);
                let phase = match (interval.warmup, &mut recording.warmup) {
                    (true, Some(warmup)) => warmup,
                    _ => &mut recording.measured,
                };
                phase.add(&interval);
                recording.seconds.push(Second::from(&*interval));
                links[thread].recycle(interval);
            }
        }
        cancel(cancels);
        order_worst(&mut recording.worst);
        keep_endpoints(&mut recording, places);
        recording.by_client.sort_by_key(|client| client.client);
        recording.end = if recording.end != End::Complete {
            recording.end
        } else if recording.clients.aborted == recording.clients.total {
            End::AllClientsAborted
        } else if control.is_stopping() {
            End::Interrupted
        } else {
            End::Complete
        };
        Ok(recording)
    }

    /// Waits until all threads are connected and says how many microseconds that took.
    fn start(&self, events: &mut Vec<Event>, live: &mut dyn Live) -> Result<u64, DriveError> {
        let mut failure = None;
        for _ in 0..self.links.len() {
            match self.inbox.recv() {
                Ok(Report::Connected(Ok(()))) => {}
                Ok(Report::Connected(Err(error))) => {
                    failure.get_or_insert(error);
                }
                Ok(Report::Message(message)) => live.message(&message),
                Ok(Report::Event(event)) => keep_event(events, event, live),
                Ok(_) | Err(_) => {}
            }
        }
        let now = self.clock.now();
        let initial_us = if self.drive.connection_per_transaction {
            0
        } else {
            now / 1000
        };
        failure.map_or(Ok(initial_us), Err)
    }
}

/// Cancels statements on the server, several at a time and no longer than [`CANCEL_MAX`]: whether it
/// gets there is beyond what can be done about it.
fn cancel(statements: Vec<CancelHandle>) {
    let until = Instant::now() + CANCEL_MAX;
    let next = AtomicUsize::new(0);
    thread::scope(|scope| {
        for _ in 0..statements.len().min(CANCELLERS_MAX) {
            scope.spawn(|| {
                while let Some(statement) = statements.get(next.fetch_add(1, Ordering::Relaxed)) {
                    let left = until.saturating_duration_since(Instant::now());
                    if left.is_zero() || statement.cancel_within(left).is_err() {
                        return;
                    }
                }
            });
        }
    });
}

/// Adds a thread's interval to those of the same time.
fn add(
    open: &mut BTreeMap<Nanos, (usize, Box<Interval>)>,
    thread: usize,
    interval: Box<Interval>,
    links: &[Link],
) {
    match open.get_mut(&interval.start_ns) {
        None => {
            open.insert(interval.start_ns, (thread, interval));
        }
        Some((_, all)) => {
            all.merge(&interval);
            all.length_ns = all.length_ns.max(interval.length_ns);
            links[thread].recycle(interval);
        }
    }
}

fn finish_thread(recording: &mut Recording, end: ThreadEnd, live: &mut dyn Live) {
    if let Some(error) = end.error {
        let text = format!("an event loop broke, its clients ended: {error}");
        live.message(&Message {
            level: Level::Error,
            text,
        });
    }
    recording.clients.aborted += end.aborted;
    recording.clients.disconnected += end.disconnected;
    recording.by_client.extend(end.by_client);
    recording
        .connections
        .latencies
        .merge(&end.finished.connects);
    recording.outages.merge(&end.finished.outages);
    reasons::merge(&mut recording.reasons, end.finished.reasons);
    recording.worst.extend(end.finished.worst.finish());
    recording.threads.push(end.finished.used);
    let endpoints = recording.endpoints.iter_mut();
    for (mine, theirs) in endpoints.zip(&end.finished.endpoints) {
        mine.merge(theirs);
    }
}

fn keep_event(events: &mut Vec<Event>, event: Event, live: &mut dyn Live) {
    live.event(&event);
    if events.len() < Recording::EVENTS_MAX {
        events.push(event);
    }
}

/// Leaves out addresses that no client reached, unless an endpoint has no others; all threads have
/// ended.
fn keep_endpoints(recording: &mut Recording, places: &Places) {
    if let [only] = recording.endpoints.as_mut_slice() {
        let all = recording.measured.all();
        (only.counts, only.service, only.response) = (all.counts, all.service, all.response);
    }
    let mut kept = vec![false; places.count()];
    for (first, all) in places.by_endpoint() {
        let is_reached = |place: &&usize| recording.endpoints[**place].connections > 0;
        let mut reached = all.iter().filter(is_reached).peekable();
        if reached.peek().is_none() {
            kept[first] = true;
        }
        reached.for_each(|place| kept[*place] = true);
    }
    let mut kept = kept.into_iter();
    recording.endpoints.retain(|_| kept.next() == Some(true));
}

fn empty_recording(drive: &Drive, places: &Places, io: Used) -> Recording {
    let scripts: Vec<ScriptRecord> = drive.scripts.iter().map(ScriptRecord::of).collect();
    let phase = || Phase {
        scripts: vec![ScriptInterval::default(); scripts.len()],
        ..Phase::default()
    };
    let totals = |script: &ScriptRecord| vec![StatementTotals::default(); script.statements.len()];
    Recording {
        started: SystemTime::now(),
        statements: scripts.iter().map(totals).collect(),
        warmup: (nanos(drive.warmup) > 0).then(phase),
        measured: phase(),
        seconds: Vec::new(),
        scripts,
        operations: operations(&drive.scripts),
        reasons: Vec::new(),
        connections: Connections::default(),
        outages: Outages::default(),
        endpoints: endpoints(drive, places),
        events: Vec::new(),
        threads: Vec::<ThreadUse>::new(),
        worst: Vec::new(),
        io: Some(io),
        clients: ClientsEnd {
            total: drive.clients,
            ..ClientsEnd::default()
        },
        by_client: Vec::new(),
        drawn: BTreeMap::new(),
        end: End::Complete,
        broken_invariant: None,
    }
}

/// All places, each with the clients that try it first.
fn endpoints(drive: &Drive, places: &Places) -> Vec<EndpointRecord> {
    let record = |place| EndpointRecord {
        name: places.name(place).to_owned(),
        ..EndpointRecord::with_rate(drive.rate.is_some())
    };
    let mut records: Vec<EndpointRecord> = (0..places.count()).map(record).collect();
    for (first, _) in places.by_endpoint().cycle().take(drive.clients) {
        records[first].clients += 1;
    }
    records
}
