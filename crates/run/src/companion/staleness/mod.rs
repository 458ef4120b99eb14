//! How stale reads are at the endpoints of a role: beside the trial, stamps are written through the primary
//! at a known interval and read everywhere (docs/standbys.md). Threads and connections of its own: nothing
//! of it is in the path of a transaction.
//!
//! Not for: which endpoints have a role (`roles.rs`), words (`crates/report`).

mod books;
mod clients;
mod seconds;
mod table;

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant, SystemTime};

use pgdyno_database::open::Endpoint;
use pgdyno_drive::Drive;
use pgdyno_drive::stamps::STAMP;
use pgdyno_measurement::{EndpointRecord, Interval, Latencies, StampEvent};
use pgdyno_model::document::Staleness;
use pgdyno_model::{Observer, Outcome};
use pgdyno_script::Slot;
use pgdyno_session::Session;
use pgdyno_spec::{Exit, Failure};

use self::books::{Acknowledged, Books, Read, Seen, Stamp, lags};
use self::clients::Clients;
pub use self::clients::stamp;
use crate::companion::{Begun, Companion, Ending, Scene};
use crate::validity;

/// Where stamps lie, a row for each session.
const TABLE: &str = "pgdyno_stamps";
/// Sessions that write by turns.
const SESSIONS: u32 = 4;
/// No answer is waited for longer.
const LIMIT: Duration = Duration::from_secs(5);
/// Before a connection is tried again.
const PAUSE: Duration = Duration::from_millis(100);

/// The probe of a trial; it ends with the trial, or when it is dropped.
struct Probe {
    shared: Arc<Shared>,
    writer: Option<JoinHandle<Written>>,
    readers: Vec<JoinHandle<Vec<Books>>>,
    primary: Endpoint,
    interval: Duration,
    clients: Option<Clients>,
    /// Where clients have the stamp that they write.
    stamps: Option<Slot>,
}

struct Shared {
    origin: Instant,
    acknowledged: Mutex<Acknowledged>,
    /// When clients began to work, in microseconds since the origin.
    begun_us: AtomicU64,
    is_measuring: AtomicBool,
    is_over: AtomicBool,
}

#[derive(Default)]
struct Written {
    acknowledged: u64,
    failed: u64,
    took: Latencies,
}

impl Shared {
    fn now_us(&self) -> u64 {
        self.origin.elapsed().as_micros() as u64
    }

    fn is_over(&self) -> bool {
        self.is_over.load(Ordering::Relaxed)
    }

    fn is_measuring(&self) -> bool {
        self.is_measuring.load(Ordering::Relaxed)
    }

    fn acknowledged(&self) -> MutexGuard<'_, Acknowledged> {
        // A stamp is added whole.
        self.acknowledged
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits for the next turn; false when all is over.
    fn waits(&self, due: &mut Instant, interval: Duration) -> bool {
        // What was missed is not made up for.
        *due = (*due + interval).max(Instant::now());
        thread::sleep(due.saturating_duration_since(Instant::now()));
        !self.is_over()
    }
}

/// Makes the table and begins to write and read, where the trial asks for it.
///
/// # Errors
/// The table is another's or cannot be made; several generators; no threads.
pub fn begin<'a>(scene: &mut Scene<'a>) -> Begun<'a> {
    let Some(interval) = scene.spec.roles.staleness else {
        return Ok(None);
    };
    if scene.share.is_some() {
        let text = "staleness is not measured by several generators: leave --staleness out";
        return Err(Failure::with(Exit::Usage, text));
    }
    Ok(Some(Box::new(Probe::start(scene, interval)?)))
}

impl Probe {
    fn start(scene: &Scene<'_>, interval: Duration) -> Result<Self, Failure> {
        let (spec, prepared, control) = (scene.spec, scene.prepared, scene.control);
        let no_thread = |e: std::io::Error| Failure::no_thread("for stamps", &e);
        let target = &prepared.target;
        let dialect = prepared.product.dialect;
        let mark = table::mark();
        let mut session = target.connect()?;
        table::make(&mut session, dialect, TABLE, (SESSIONS, mark))?;
        session.close();
        let primary = target.endpoints[0].within(LIMIT);
        let shared = Arc::new(Shared {
            origin: Instant::now(),
            acknowledged: Mutex::new(Acknowledged::of(SESSIONS)),
            begun_us: AtomicU64::new(0),
            is_measuring: AtomicBool::new(false),
            is_over: AtomicBool::new(false),
        });
        let mut probe = Self {
            shared: Arc::clone(&shared),
            writer: None,
            readers: Vec::new(),
            primary: primary.clone(),
            interval,
            clients: None,
            stamps: None,
        };
        if spec.roles.client_stamps {
            let clients = Clients::start(target, dialect, spec.clients(), control);
            probe.clients = Some(clients?);
            probe.stamps = prepared.names.get(STAMP);
        }
        let writer = Writer {
            endpoint: primary.clone(),
            position: dialect.cluster.wal_position,
            shared: Arc::clone(&shared),
            interval,
        };
        let thread = thread::Builder::new().name("stamps".to_owned());
        let spawned = thread.spawn(move || writer.run());
        probe.writer = Some(spawned.map_err(no_thread)?);
        let control = std::iter::once((None, vec![primary]));
        let roles = target.roles.iter().map(|role| {
            let endpoints = role.endpoints.iter().map(|endpoint| endpoint.within(LIMIT));
            (Some(role.name.clone()), endpoints.collect())
        });
        for (role, endpoints) in control.chain(roles) {
            let seen = Arc::new(Mutex::new(vec![Seen::default(); SESSIONS as usize]));
            for endpoint in endpoints {
                let reader = Reader {
                    role: role.clone(),
                    endpoint,
                    replayed: dialect.cluster.wal_replayed.filter(|_| role.is_some()),
                    sql: format!("SELECT session, stamp FROM {TABLE} WHERE mark = {mark}"),
                    seen: Arc::clone(&seen),
                    shared: Arc::clone(&shared),
                    interval,
                };
                let thread = thread::Builder::new().name("stamp-reads".to_owned());
                let spawned = thread.spawn(move || reader.run());
                probe.readers.push(spawned.map_err(no_thread)?);
            }
        }
        Ok(probe)
    }

    fn finish(&mut self, servers: &[EndpointRecord]) -> Staleness {
        self.shared.is_over.store(true, Ordering::Relaxed);
        let written = self.writer.take().and_then(|writer| writer.join().ok());
        let written = written.unwrap_or_default();
        let begun_us = self.shared.begun_us.load(Ordering::Relaxed);
        let readers = self.readers.drain(..);
        let books = readers.filter_map(|reader| reader.join().ok()).flatten();
        Staleness {
            interval_us: self.interval.as_micros() as u64,
            sessions: SESSIONS,
            written: written.acknowledged,
            not_written: written.failed,
            write: lags(&written.took),
            endpoints: books.map(|books| books.finish(begun_us)).collect(),
            clients: self.clients.as_mut().map(|clients| clients.end(servers)),
        }
    }
}

impl Companion for Probe {
    fn set_up(&self, drive: &mut Drive) {
        drive.stamps = self.stamps;
    }

    /// What was seen. The table is gone afterwards.
    fn end(mut self: Box<Self>, end: &mut Ending<'_>) {
        let staleness = self.finish(&end.recording.endpoints);
        end.notes.extend(validity::staleness(&staleness));
        end.findings.put(&staleness);
    }
}

impl Drop for Probe {
    fn drop(&mut self) {
        self.shared.is_over.store(true, Ordering::Relaxed);
        table::drop(&self.primary, TABLE);
    }
}

impl Observer<Outcome> for Probe {
    fn begun(&mut self, _started: SystemTime) {
        let now_us = self.shared.now_us();
        self.shared.begun_us.store(now_us, Ordering::Relaxed);
    }

    /// The first second that is not a warm-up is over: what is read from now on counts.
    fn second(&mut self, interval: &Interval) {
        if !interval.warmup {
            self.shared.is_measuring.store(true, Ordering::Relaxed);
        }
    }

    fn stamped(&mut self, events: &[StampEvent]) {
        if let Some(clients) = &mut self.clients {
            clients.book(events);
        }
    }

    fn thread_ended(&mut self, _thread: usize, _at_us: u64) {
        self.shared.is_measuring.store(false, Ordering::Relaxed);
    }
}

/// A connection that is made again when it is lost.
fn connected<'a>(
    session: &'a mut Option<Session>,
    endpoint: &Endpoint,
) -> Result<&'a mut Session, String> {
    if session.as_ref().is_none_or(Session::is_broken) {
        *session = None;
        let mut new = endpoint.connect().map_err(|e| e.to_string())?;
        new.set_answer_timeout(Some(LIMIT));
        *session = Some(new);
    }
    session
        .as_mut()
        .ok_or_else(|| "there is no session".to_owned())
}

/// Writes stamps through the primary.
struct Writer {
    endpoint: Endpoint,
    position: Option<&'static str>,
    shared: Arc<Shared>,
    interval: Duration,
}

impl Writer {
    fn run(self) -> Written {
        let mut written = Written::default();
        let mut session = None;
        let mut due = Instant::now();
        for turn in 0_u64.. {
            let (of, number) = (turn % u64::from(SESSIONS), turn / u64::from(SESSIONS) + 1);
            let stamped = self.write(&mut session, of as u32, number);
            if self.shared.is_measuring() {
                match &stamped {
                    Ok(took_us) => {
                        written.acknowledged += 1;
                        written.took.record(*took_us);
                    }
                    Err(_) => written.failed += 1,
                }
            }
            if stamped.is_err() {
                thread::sleep(PAUSE);
            }
            if !self.shared.waits(&mut due, self.interval) {
                break;
            }
        }
        written
    }

    /// Writes one, and says how long its COMMIT took, in microseconds.
    fn write(&self, session: &mut Option<Session>, of: u32, number: u64) -> Result<u64, String> {
        let session = connected(session, &self.endpoint)?;
        let began_us = self.shared.now_us();
        let sql = format!("UPDATE {TABLE} SET stamp = {number} WHERE session = {of}");
        session.execute(&sql).map_err(|e| e.to_string())?;
        let acknowledged_us = self.shared.now_us();
        let stamp = Stamp {
            number,
            acknowledged_us,
            position: None,
        };
        // Readers know of it at once: its position comes later.
        self.shared.acknowledged().add(of, stamp);
        let position = self
            .position
            .and_then(|sql| session.query_one_value(sql).ok()?);
        if let Some(Ok(position)) = position.map(|position| position.parse()) {
            self.shared.acknowledged().place(of, position);
        }
        Ok(acknowledged_us - began_us)
    }
}

/// Reads stamps at one endpoint.
struct Reader {
    role: Option<String>,
    endpoint: Endpoint,
    replayed: Option<&'static str>,
    sql: String,
    /// What sessions have seen in this role.
    seen: Arc<Mutex<Vec<Seen>>>,
    shared: Arc<Shared>,
    interval: Duration,
}

impl Reader {
    fn run(self) -> Vec<Books> {
        let mut all: Vec<Books> = Vec::new();
        let mut session = None;
        let mut due = Instant::now();
        loop {
            let read = self.read(&mut session);
            // A search may find another server after a failover.
            let name = session.as_ref().map(|session| session.candidate().place());
            let name = name.unwrap_or_else(|| self.endpoint.name.clone());
            let known = all.iter().position(|books| books.name == name);
            let number = known.unwrap_or_else(|| {
                all.push(Books::of(self.role.as_deref(), &name));
                all.len() - 1
            });
            let books = &mut all[number];
            match read {
                Ok((read, before)) => {
                    if self.shared.is_measuring() {
                        books.book(&read, &self.shared.acknowledged(), &before);
                        self.look_at_replay(&mut session, books);
                    }
                    Books::remember(&name, &read, &mut self.seen());
                }
                Err(why) => {
                    if self.shared.is_measuring() {
                        books.failed(why);
                    }
                    thread::sleep(PAUSE);
                }
            }
            if !self.shared.waits(&mut due, self.interval) {
                return all;
            }
        }
    }

    fn seen(&self) -> MutexGuard<'_, Vec<Seen>> {
        self.seen.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Reads the stamps, and what sessions had seen before it began.
    fn read(&self, session: &mut Option<Session>) -> Result<(Read, Vec<Seen>), String> {
        let session = connected(session, &self.endpoint)?;
        let before = self.seen().clone();
        let began_us = self.shared.now_us();
        let outcome = session.query(&self.sql).map_err(|e| e.to_string())?;
        let mut read = Read {
            began_us,
            ended_us: self.shared.now_us(),
            shown: vec![0; SESSIONS as usize],
        };
        for row in outcome.rows {
            let mut numbers = row.into_iter().map(|value| value?.parse::<u64>().ok());
            if let (Some(Some(of)), Some(Some(stamp))) = (numbers.next(), numbers.next())
                && let Some(shown) = read.shown.get_mut(of as usize)
            {
                *shown = stamp;
            }
        }
        Ok((read, before))
    }

    fn look_at_replay(&self, session: &mut Option<Session>, books: &mut Books) {
        let (Some(sql), Some(session)) = (self.replayed, session) else {
            return;
        };
        let at_us = self.shared.now_us();
        let Ok(mut outcome) = session.query(sql) else {
            return;
        };
        let row = outcome.rows.pop().unwrap_or_default();
        let mut row = row.into_iter();
        let position: Option<u64> = row.next().flatten().and_then(|text| text.parse().ok());
        let by_position = position.map(|it| self.shared.acknowledged().behind_us(it, at_us));
        let by_timestamp: Option<i64> = row.next().flatten().and_then(|text| text.parse().ok());
        books.replayed(at_us, by_position, by_timestamp.map(|us| us.max(0) as u64));
    }
}
