//! Collects what the threads of a run report, second by second, until all have ended.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, Sender};
use std::thread;
use std::time::{Duration, Instant, SystemTime};

use pgdyno_platform::io::Used;
use pgdyno_session::{CancelHandle, answers};
use pgdyno_wire::Candidate;

use crate::clock::{Clock, nanos};
use crate::control::{Control, Silence};
use crate::drive::{Drive, operations};
use crate::live::Live;
use crate::places::Places;
use crate::record::{Execution, Report, Seconds, ThreadEnd, executions};
use crate::watchdog::Watchdog;
use pgdyno_measurement::{
    ClientsEnd, DriveError, End, EndpointRecord, Event, GapsOfThread, GeneratorStop, Interval,
    Level, LoggedTransaction, Message, Phase, RecordedHistory, Recording, ScriptInterval,
    ScriptRecord, Second, Stall, StampEvent, client_stalls_max, merge_reasons, order_client_stalls,
    order_worst,
};
use pgdyno_platform::clock::{Nanos, micros};

/// How long it may take to have statements cancelled that were given up.
const CANCEL_MAX: Duration = Duration::from_secs(1);
/// A server that takes longer to answer a new connection hangs.
const ANSWER_MAX: Duration = Duration::from_secs(1);
/// A history that is too long ends so much later.
const HISTORY_ENDS_NS: Nanos = 1_000_000_000;
/// So many of them are cancelled at the same time.
const CANCELLERS_MAX: usize = 16;

/// The collector's end of one thread.
pub(crate) struct Link {
    pub(crate) start: Sender<Nanos>,
    pub(crate) recycle: Sender<Box<Interval>>,
    pub(crate) recycle_log: Sender<Vec<LoggedTransaction>>,
    pub(crate) recycle_executions: Sender<Vec<Execution>>,
    pub(crate) recycle_history: Sender<Vec<u8>>,
    pub(crate) recycle_stamps: Sender<Vec<StampEvent>>,
    /// Up to when this thread has reported, in nanoseconds since the run began.
    pub(crate) progress: Nanos,
}

impl Link {
    /// Gives a thread its memory back.
    fn recycle(&self, mut interval: Box<Interval>) {
        interval.clear();
        // A thread that has ended needs no more memory.
        let _ = self.recycle.send(interval);
    }
}

pub(crate) struct Collector<'run> {
    pub(crate) drive: &'run Drive,
    pub(crate) places: &'run Places,
    pub(crate) clock: Clock,
    pub(crate) watchdog: Option<&'run Watchdog>,
    /// From when on transactions are not kept in the history.
    pub(crate) history_cut_ns: Arc<AtomicU64>,
    pub(crate) links: Vec<Link>,
    pub(crate) inbox: Receiver<Report>,
}

impl Collector<'_> {
    pub(crate) fn collect(
        self,
        io: Used,
        control: &Control,
        live: &mut dyn Live,
    ) -> Result<Recording, DriveError> {
        let mut recording = empty_recording(self.drive, self.places, io);
        recording.connections.initial_us = self.start(&mut recording.events, live)?;
        live.ready();
        // From here on time counts.
        recording.started = SystemTime::now();
        let begin = self.clock.now();
        live.begun(recording.started);
        for link in &self.links {
            // A thread that is gone says so by its `Finished`.
            let _ = link.start.send(begin);
        }
        let watchdog = self.watchdog;
        let mut collected = Collected {
            recording,
            executed: executions::Totals::new(self.drive.commands()),
            gaps: vec![GapsOfThread::default(); self.links.len()],
            endpoint_gaps: Vec::new(),
            links: self.links,
            begin,
            open: BTreeMap::new(),
            seconds: Seconds::default(),
            cancels: Vec::new(),
            control: control.clone(),
            clock: self.clock,
            history: (
                self.drive.history_bytes_max.unwrap_or(0),
                self.history_cut_ns,
            ),
        };
        for report in self.inbox {
            collected.take(report, live);
            collected.close_seconds(live);
        }
        { &mut collected.recording }.generator_stops =
            watchdog.map_or_else(Vec::new, |watchdog| watchdog.stops(begin));
        Ok(collected.finish(self.drive, self.places, live))
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

/// What has been reported so far.
struct Collected {
    recording: Recording,
    executed: executions::Totals,
    links: Vec<Link>,
    gaps: Vec<GapsOfThread>,
    /// By place, and by thread.
    endpoint_gaps: Vec<Vec<GapsOfThread>>,
    begin: Nanos,
    /// Seconds that not all threads have reported, by their start, with the thread that gave the
    /// memory.
    open: BTreeMap<Nanos, (usize, Box<Interval>)>,
    seconds: Seconds,
    /// Cancel the statements that were given up.
    cancels: Vec<CancelHandle>,
    control: Control,
    clock: Clock,
    /// How long it may become, and when it ends.
    history: (usize, Arc<AtomicU64>),
}

impl Collected {
    fn take(&mut self, report: Report, live: &mut dyn Live) {
        let Self {
            recording, links, ..
        } = self;
        match report {
            Report::Connected(_) => {}
            Report::Message(message) => live.message(&message),
            Report::Event(event) => keep_event(&mut recording.events, event, live),
            Report::Interval(thread, interval) => {
                if !interval.warmup {
                    self.gaps[thread].extend_from_slice(&interval.gaps);
                }
                links[thread].progress = interval.start_ns + interval.length_ns;
                add(&mut self.open, thread, interval, links);
            }
            Report::Logged(thread, mut transactions) => {
                live.logged(thread, &transactions);
                transactions.clear();
                // A thread that has ended needs no more memory.
                let _ = links[thread].recycle_log.send(transactions);
            }
            Report::Observed(thread, mut bytes) => {
                if let Some(history) = &mut recording.history {
                    history.keep(&bytes);
                    let (bytes_max, cut_ns) = &self.history;
                    if history.bytes() > *bytes_max && !history.is_cut_off() {
                        // All threads know of it by then.
                        let at_ns = self.clock.monotonic_ns(self.clock.now() + HISTORY_ENDS_NS);
                        cut_ns.store(at_ns, Ordering::Relaxed);
                        history.cut(at_ns);
                    }
                }
                bytes.clear();
                // A thread that has ended needs no more memory.
                let _ = links[thread].recycle_history.send(bytes);
            }
            Report::Stamped(thread, mut events) => {
                live.stamped(&events);
                events.clear();
                // A thread that has ended needs no more memory.
                let _ = links[thread].recycle_stamps.send(events);
            }
            Report::Executed(thread, mut batch) => {
                self.executed.add(&batch);
                batch.clear();
                // A thread that has ended needs no more memory.
                let _ = links[thread].recycle_executions.send(batch);
            }
            Report::ClientAborted(thread) => recording.end = End::ClientAborted { thread },
            Report::InvariantBroken(text) => {
                recording.end = End::InvariantBroken;
                recording.broken_invariant.get_or_insert(text);
            }
            Report::Cancel(statements) => {
                // A server that hangs answers to no cancel either.
                let _ = thread::Builder::new().spawn(move || cancel(statements));
            }
            Report::Ask(places, asked) => {
                for (place, candidate) in places {
                    ask(candidate, Silence { place, asked }, &self.control);
                }
            }
            Report::Finished(thread, mut end) => {
                self.cancels.append(&mut end.cancels);
                links[thread].progress = Nanos::MAX;
                live.thread_ended(thread, micros(end.at.saturating_sub(self.begin)));
                let gaps = std::mem::take(&mut end.finished.endpoint_gaps);
                self.endpoint_gaps
                    .resize_with(gaps.len().max(self.endpoint_gaps.len()), Vec::new);
                for (all, gaps) in self.endpoint_gaps.iter_mut().zip(gaps) {
                    all.push(gaps);
                }
                finish_thread(recording, *end, live);
            }
        }
    }

    /// Closes the seconds that all threads have reported.
    fn close_seconds(&mut self, live: &mut dyn Live) {
        let progress = self.links.iter().map(|link| link.progress).min();
        let progress = progress.unwrap_or(Nanos::MAX);
        while let Some(entry) = self.open.first_entry()
            && *entry.key() < progress
        {
            let (thread, interval) = entry.remove();
            planted!(
                16,
                if interval.drain {
                    self.links[thread].recycle(interval);
                    continue;
                }
            );
            live.second(&interval);
            let phase = match (interval.warmup, &mut self.recording.warmup) {
                (true, Some(warmup)) => warmup,
                _ => &mut self.recording.measured,
            };
            phase.add(&interval);
            self.seconds.push(&Second::from(&*interval));
            self.links[thread].recycle(interval);
        }
    }

    fn finish(self, drive: &Drive, places: &Places, live: &mut dyn Live) -> Recording {
        let (mut recording, loads) = (self.recording, drive.moving_loads());
        cancel(self.cancels);
        recording.statements = self.executed.finish(drive.commands());
        recording.seconds = finish_seconds(self.seconds, live);
        order_worst(&mut recording.worst);
        let begin_us = recording
            .warmup
            .as_ref()
            .map_or(0, |phase| phase.elapsed_us);
        let phase = &recording.measured;
        let when = (self.begin, begin_us);
        recording.stalls = Stall::find(&self.gaps, phase, when, &loads);
        let stops = &recording.generator_stops;
        GeneratorStop::take_own(stops, &mut recording.stalls);
        for (endpoint, gaps) in recording.endpoints.iter_mut().zip(&self.endpoint_gaps) {
            let committed = endpoint.counts.committed;
            endpoint.stalls = Stall::find_at(gaps, phase, when, committed, &loads);
            GeneratorStop::take_own(stops, &mut endpoint.stalls);
        }
        for place in places.joined() {
            recording.endpoints[place].has_joined(places.name(place));
        }
        deal(&mut recording.endpoints, drive, places);
        let limit = client_stalls_max(recording.slots.is_some());
        order_client_stalls(&mut recording.client_stalls, limit);
        keep_endpoints(&mut recording, places);
        recording.by_client.sort_by_key(|client| client.client);
        recording.receipts.sort_by_key(|client| client.client);
        recording.end = if recording.end != End::Complete {
            recording.end
        } else if recording.clients.aborted == recording.clients.total {
            End::AllClientsAborted
        } else if self.control.is_stopping() {
            End::Interrupted
        } else {
            End::Complete
        };
        recording
    }
}

/// Tells the threads when nothing answers at a place. Where there is no thread to ask, nothing is known.
fn ask(candidate: Candidate, silence: Silence, control: &Control) {
    let control = control.clone();
    let _ = thread::Builder::new().spawn(move || {
        if !answers(&candidate, ANSWER_MAX) {
            control.is_silent(silence);
        }
    });
}

/// Cancels statements on the server, several at a time and no longer than [`CANCEL_MAX`]: whether it
/// gets there is beyond what can be done about it.
fn cancel(statements: Vec<CancelHandle>) {
    let until = Instant::now() + CANCEL_MAX;
    let next = AtomicUsize::new(0);
    let work = || {
        while let Some(statement) = statements.get(next.fetch_add(1, Ordering::Relaxed)) {
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() || statement.cancel_within(left).is_err() {
                return;
            }
        }
    };
    thread::scope(|scope| {
        for _ in 1..statements.len().min(CANCELLERS_MAX) {
            // Where there are no more threads, fewer do it.
            if thread::Builder::new().spawn_scoped(scope, work).is_err() {
                break;
            }
        }
        work();
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
    recording.add_due(end.due);
    recording.clients.aborted += end.aborted;
    recording.clients.disconnected += end.disconnected;
    recording.by_client.extend(end.by_client);
    recording.receipts.extend(end.receipts);
    recording.connections.closings.extend(end.closings);
    recording
        .connections
        .latencies
        .merge(&end.finished.connects);
    recording.outages.merge(&end.finished.outages);
    recording.undone += end.finished.undone;
    recording.missing_rows += end.finished.missing_rows;
    merge_reasons(&mut recording.reasons, end.finished.reasons);
    recording.added.merge(&end.finished.added);
    recording.worst.extend(end.finished.worst.finish());
    if let Some(slots) = &end.finished.slots {
        recording.slots.get_or_insert_default().merge(slots);
    }
    recording.client_stalls.extend(end.finished.client_stalls);
    recording.threads.push(end.finished.used);
    let endpoints = recording.endpoints.iter_mut();
    for (mine, theirs) in endpoints.zip(&end.finished.endpoints) {
        mine.merge(theirs);
    }
}

/// All seconds, or none and a message: some of them would make a shorter run of it.
fn finish_seconds(seconds: Seconds, live: &mut dyn Live) -> Vec<Second> {
    seconds.finish().unwrap_or_else(|error| {
        let text = format!(
            "figures by second are missing: cannot read the temporary file that they were in: \
             {error}; TMPDIR names another folder for it"
        );
        live.message(&Message {
            level: Level::Error,
            text,
        });
        Vec::new()
    })
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
        let is_reached = |place: &&usize| {
            let endpoint = &recording.endpoints[**place];
            endpoint.connections > 0 || !endpoint.seconds.errors.is_empty()
        };
        let mut reached = all.iter().filter(is_reached).peekable();
        if reached.peek().is_none() {
            kept[first] = true;
        }
        reached.for_each(|place| kept[*place] = true);
    }
    kept[places.joined()].fill(true);
    let mut kept = kept.into_iter();
    recording.endpoints.retain(|_| kept.next() == Some(true));
}

fn empty_recording(drive: &Drive, places: &Places, io: Used) -> Recording {
    let scripts: Vec<ScriptRecord> = drive.scripts.iter().map(crate::Script::record).collect();
    let phase = || Phase {
        scripts: vec![ScriptInterval::default(); scripts.len()],
        ..Phase::default()
    };
    Recording {
        started: SystemTime::now(),
        warmup: (nanos(drive.warmup) > 0).then(phase),
        measured: phase(),
        scripts,
        operations: operations(&drive.scripts),
        endpoints: endpoints(drive, places),
        io: Some(io),
        history: drive.history_bytes_max.map(|_| RecordedHistory::begun()),
        clients: ClientsEnd {
            total: drive.clients,
            ..ClientsEnd::default()
        },
        ..Recording::default()
    }
}

/// All places, each with the clients that try it first.
fn endpoints(drive: &Drive, places: &Places) -> Vec<EndpointRecord> {
    let record = |place| EndpointRecord {
        name: places.name(place).to_owned(),
        ..EndpointRecord::with_rate(drive.rate.is_some())
    };
    let mut records: Vec<EndpointRecord> = (0..places.count()).map(record).collect();
    deal(&mut records, drive, places);
    records
}

/// Counts the clients that belong to each by now.
fn deal(records: &mut [EndpointRecord], drive: &Drive, places: &Places) {
    records.iter_mut().for_each(|record| record.clients = 0);
    let before = drive.share.map_or(0, |share| share.clients_before);
    for client in before..before + drive.clients {
        for home in drive.homes_of(client, places) {
            records[home.place].clients += 1;
        }
    }
}
