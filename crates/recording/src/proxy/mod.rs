//! Recordings from the wire: a proxy that any client of PostgreSQL connects to, and that knows the protocol.
//!
//! - `relay.rs` is the start of a connection: encryption on both sides, cancel requests, logins.
//! - `tap.rs` takes what goes through an open one, with its time; carrying it ([`pgdyno_link`]) waits for nothing.
//! - `talk.rs` makes statements of it, in a thread of the recorder's.

mod message;
mod relay;
mod talk;
mod tap;
mod unsaid;

use std::collections::HashMap;
use std::io::{self, Write};
use std::net::{SocketAddr, TcpListener};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use pgdyno_link::{Link, LinkProxy, Relays, Upstream};
use pgdyno_platform::host;
use pgdyno_wire::tls::ServerTls;
use pgdyno_wire::{Addr, Candidate};

use crate::about::{About, Ending};
use crate::event::Session;
use crate::{FORMAT, Writer, secret};

use relay::Common;
use talk::Talk;
use tap::{Kind, Piece, Tap};
use unsaid::Unsaid;

/// How often the recorder looks for what was said.
const LOOK: Duration = Duration::from_millis(5);
/// Without anything said it looks less often.
const LOOK_IDLE: Duration = Duration::from_millis(25);
/// What was recorded is in the file after this time, at the latest.
const FLUSH: Duration = Duration::from_millis(800);
/// A buffer that grew beyond this is given back.
const BUFFER_BYTES: usize = 8 << 20;
/// One of so many of the host's CPUs carries connections, up to so many threads.
const CPUS_PER_THREAD: usize = 4;
const THREADS_MAX: usize = 4;

/// Where clients connect, and where that leads.
#[derive(Debug)]
pub struct Options<'a> {
    pub listen: SocketAddr,
    /// Its login is the clients' business: the way and its encryption count.
    pub server: &'a Candidate,
    /// For clients that want TLS.
    pub tls: Option<ServerTls>,
    pub made_by: &'a str,
}

/// How far a recording is.
#[derive(Clone, Copy, Debug, Default)]
pub struct Progress {
    pub statements: u64,
    pub sessions: u64,
    pub open: u64,
    /// For how long traffic has waited for the recorder.
    pub held: Duration,
}

#[derive(Debug, Default)]
struct Counts {
    statements: AtomicU64,
    sessions: AtomicU64,
    open: AtomicU64,
    is_ending: AtomicBool,
    has_failed: AtomicBool,
}

/// A proxy at work. When dropped, its connections end, and what was not finished is a torn recording.
#[derive(Debug)]
pub struct Recorder<W> {
    link: Option<LinkProxy>,
    tap: Arc<Tap>,
    counts: Arc<Counts>,
    thread: Option<JoinHandle<io::Result<(W, Ending)>>>,
}

#[derive(Debug)]
struct AllRelays(Arc<Common>);

impl Relays for AllRelays {
    fn relay(&self, connection: u64) -> Box<dyn pgdyno_link::Relay> {
        Box::new(relay::Relay::new(connection, self.0.clone()))
    }
}

impl<W: Write + Send + 'static> Recorder<W> {
    /// # Errors
    /// It cannot listen there, the recording cannot be written, or there are no threads.
    pub fn start(options: Options<'_>, out: W) -> io::Result<Self> {
        // Several threads share a port, which would be shared with another process as well.
        drop(TcpListener::bind(options.listen)?);
        let tap = Arc::new(Tap::new());
        let counts = Arc::<Counts>::default();
        let about = About {
            format: FORMAT,
            made_by: options.made_by.to_owned(),
            sources: vec![format!("the wire to {}", options.server.place())],
            clock_us: 1,
        };
        let mut writer = Writer::new(out, &about)?;
        writer.flush()?;
        let of_thread = (tap.clone(), counts.clone());
        let thread = std::thread::Builder::new()
            .name("recorder".to_owned())
            .spawn(move || {
                let (tap, counts) = of_thread;
                let recording = Recording {
                    writer,
                    tap,
                    counts,
                    talks: HashMap::new(),
                    unsaid: Unsaid::default(),
                };
                recording.run()
            })?;
        let common = Common {
            tap: tap.clone(),
            encryption: options.server.login.encryption.clone(),
            tls: options.tls,
        };
        let server = match options.server.dialled() {
            Addr::Tcp(address) => Upstream::Tcp(address),
            Addr::Unix(path) => Upstream::Unix(path),
        };
        let mut recorder = Self {
            link: None,
            tap,
            counts,
            thread: Some(thread),
        };
        let link = Link::to(server)
            .listen(options.listen)
            .relays(Arc::new(AllRelays(Arc::new(common))))
            .name("record")
            .threads((host::cpus() as usize / CPUS_PER_THREAD).clamp(1, THREADS_MAX));
        recorder.link = Some(link.start()?);
        Ok(recorder)
    }

    /// Where clients connect.
    pub fn address(&self) -> Option<SocketAddr> {
        self.link.as_ref().map(LinkProxy::address)
    }

    pub fn progress(&self) -> Progress {
        let load = |count: &AtomicU64| count.load(Ordering::Relaxed);
        Progress {
            statements: load(&self.counts.statements),
            sessions: load(&self.counts.sessions),
            open: load(&self.counts.open),
            held: Duration::from_nanos(self.tap.held_ns()),
        }
    }

    /// Whether the recording cannot be written; [`Self::finish`] says why.
    pub fn has_failed(&self) -> bool {
        self.counts.has_failed.load(Ordering::Relaxed)
    }

    /// Ends all connections, and the recording. Gives back where it was written to.
    ///
    /// # Errors
    /// Those of the file.
    pub fn finish(mut self) -> io::Result<(W, Ending)> {
        self.end()
            .unwrap_or_else(|| Err(io::Error::other("the thread that records panicked")))
    }
}

impl<W> Recorder<W> {
    fn end(&mut self) -> Option<io::Result<(W, Ending)>> {
        self.counts.is_ending.store(true, Ordering::Relaxed);
        self.link = None;
        let thread = self.thread.take()?;
        thread.thread().unpark();
        thread.join().ok()
    }
}

impl<W> Drop for Recorder<W> {
    fn drop(&mut self) {
        let _ = self.end();
    }
}

/// The recorder's thread.
struct Recording<W: Write> {
    writer: Writer<W>,
    tap: Arc<Tap>,
    counts: Arc<Counts>,
    talks: HashMap<u64, Talk>,
    unsaid: Unsaid,
}

impl<W: Write> Recording<W> {
    fn run(mut self) -> io::Result<(W, Ending)> {
        match self.record() {
            Ok(()) => self.finish(),
            Err(error) => {
                // Connections go on until their owner ends them.
                self.counts.has_failed.store(true, Ordering::Relaxed);
                let mut buffer = Vec::new();
                while !self.counts.is_ending.load(Ordering::Relaxed) {
                    buffer.clear();
                    self.tap.swap(&mut buffer);
                    std::thread::park_timeout(LOOK);
                }
                Err(error)
            }
        }
    }

    fn record(&mut self) -> io::Result<()> {
        let mut buffer = Vec::new();
        let mut flush_at = Instant::now() + FLUSH;
        loop {
            // Looked at first: what comes before it is in the buffer.
            let is_ending = self.counts.is_ending.load(Ordering::Relaxed);
            buffer.clear();
            buffer.shrink_to(BUFFER_BYTES);
            self.tap.swap(&mut buffer);
            let mut rest = &buffer[..];
            while let Some((piece, after)) = tap::next(rest) {
                rest = after;
                // Those that end are cut by the owner.
                if !(is_ending && piece.kind == Kind::End) {
                    self.take(piece)?;
                }
            }
            if is_ending && buffer.is_empty() {
                return Ok(());
            }
            if Instant::now() >= flush_at {
                self.writer.flush()?;
                flush_at = Instant::now() + FLUSH;
            }
            let is_idle = buffer.is_empty();
            std::thread::park_timeout(if is_idle { LOOK_IDLE } else { LOOK });
        }
    }

    fn take(&mut self, piece: Piece<'_>) -> io::Result<()> {
        let Self {
            writer,
            counts,
            talks,
            unsaid,
            ..
        } = self;
        let written = match piece.kind {
            Kind::Begin => {
                let number = counts.sessions.fetch_add(1, Ordering::Relaxed) as u32;
                let session = session_of(number, piece.bytes);
                if session
                    .settings
                    .iter()
                    .any(|(name, _)| name == "replication")
                {
                    unsaid.add(unsaid::REPLICATION);
                    return Ok(());
                }
                writer.begin(&session, piece.at_us, true)?;
                talks.insert(piece.connection, Talk::new(session));
                counts.open.fetch_add(1, Ordering::Relaxed);
                0
            }
            Kind::FromClient => {
                if let Some(talk) = talks.get_mut(&piece.connection) {
                    talk.client(piece.bytes, piece.at_us, unsaid);
                }
                0
            }
            Kind::FromServer => match talks.get_mut(&piece.connection) {
                Some(talk) => talk.server(piece.bytes, piece.at_us, writer, unsaid)?,
                None => 0,
            },
            Kind::End => match talks.remove(&piece.connection) {
                Some(mut talk) => {
                    counts.open.fetch_sub(1, Ordering::Relaxed);
                    let written = talk.end(writer, unsaid)?;
                    writer.end(&talk.session, piece.at_us.max(talk.free_us()))?;
                    written
                }
                None => 0,
            },
            Kind::Refused => {
                unsaid.add(unsaid::REFUSED);
                0
            }
        };
        counts.statements.fetch_add(written, Ordering::Relaxed);
        Ok(())
    }

    fn finish(mut self) -> io::Result<(W, Ending)> {
        for (_, mut talk) in std::mem::take(&mut self.talks) {
            talk.end(&mut self.writer, &mut self.unsaid)?;
            self.unsaid.add(unsaid::OPEN);
        }
        self.writer.finish(self.unsaid.by_kind())
    }
}

/// Who begins a session, by its start-up message.
fn session_of(number: u32, startup: &[u8]) -> Session {
    let mut session = Session {
        number,
        ..Session::default()
    };
    for (name, value) in message::settings(startup) {
        match name.as_str() {
            "user" => session.user = value,
            "database" => session.database = value,
            "application_name" => session.application = value,
            _ if secret::is_within(value.as_bytes()) => {}
            _ => session.settings.push((name, value)),
        }
    }
    if session.database.is_empty() {
        session.database.clone_from(&session.user);
    }
    session
}
