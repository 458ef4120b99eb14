//! Writes a recording, a block at a time.

use std::collections::HashMap;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use crate::about::{About, Ending};
use crate::block::{BLOCK_BYTES, FILE_MARK, Head, Kind, crc, pack};
use crate::bytes::{put, put_bytes, put_signed};
use crate::event::{Obstacle, Protocol, Session, SqlState, Wire};
use crate::secret;
use crate::shape::{Text, split};

/// Statements that take as long are in blocks of their own: those who read in the order of time need to
/// know of them long before they end.
const LONG_US: u64 = 10_000_000;
/// A longer text is not recorded.
const TEXT_BYTES_MAX: usize = 8 << 20;

/// What an event begins with.
pub(crate) mod tag {
    pub const TEXT: u8 = 1;
    pub const SESSION: u8 = 2;
    pub const BEGIN: u8 = 3;
    pub const END: u8 = 4;
    pub const STATEMENT: u8 = 5;
}

/// Bits of a statement's flags.
pub(crate) mod flag {
    pub const EXTENDED: u8 = 1;
    pub const NAME: u8 = 2;
    pub const PARAMETERS: u8 = 4;
    pub const ROWS: u8 = 8;
    pub const FAILED: u8 = 16;
    pub const OBSTACLE: u8 = 32;
    pub const WIRE: u8 = 64;
}

/// Bits of what only the wire shows.
pub(crate) mod wire_flag {
    pub const TYPES: u8 = 1;
    pub const BINARY: u8 = 2;
    pub const RESULTS: u8 = 4;
    pub const LIMIT: u8 = 8;
    pub const PIPELINED: u8 = 16;
    pub const IN_TRANSACTION: u8 = 32;
    pub const TAG: u8 = 64;
    pub const RESULT: u8 = 128;
}

/// A statement as it is written. Secrets are left out here, for every source.
#[derive(Clone, Copy, Debug)]
pub struct NewStatement<'a> {
    pub session: &'a Session,
    pub start_us: i64,
    pub duration_us: Option<u64>,
    pub protocol: Protocol,
    pub name: &'a [u8],
    pub sql: &'a [u8],
    pub parameters: &'a [Option<&'a [u8]>],
    pub rows: Option<u64>,
    pub failed: Option<SqlState>,
    pub obstacle: Option<Obstacle>,
    pub wire: Option<&'a Wire>,
}

/// A block that grows.
#[derive(Default)]
struct Open {
    bytes: Vec<u8>,
    events: u32,
    min_us: i64,
    max_us: i64,
    last_us: i64,
    texts: HashMap<Vec<u8>, u32>,
    sessions: HashMap<u32, u32>,
}

impl Open {
    fn at(&mut self, us: i64) {
        if self.events == 0 {
            (self.min_us, self.max_us, self.last_us) = (us, us, 0);
        }
        self.min_us = self.min_us.min(us);
        self.max_us = self.max_us.max(us);
        self.events += 1;
    }

    /// The time of an event, against the one before.
    fn put_time(&mut self, us: i64) {
        put_signed(&mut self.bytes, us.wrapping_sub(self.last_us));
        self.last_us = us;
    }

    fn session(&mut self, session: &Session) -> u32 {
        let next = self.sessions.len() as u32;
        *self.sessions.entry(session.number).or_insert_with(|| {
            self.bytes.push(tag::SESSION);
            put(&mut self.bytes, session.number.into());
            for text in [&session.user, &session.database, &session.application] {
                put_bytes(&mut self.bytes, text.as_bytes());
            }
            put(&mut self.bytes, session.settings.len() as u64);
            for (name, value) in &session.settings {
                put_bytes(&mut self.bytes, name.as_bytes());
                put_bytes(&mut self.bytes, value.as_bytes());
            }
            next
        })
    }

    fn text(&mut self, shape: &[u8]) -> u32 {
        if let Some(number) = self.texts.get(shape) {
            return *number;
        }
        let number = self.texts.len() as u32;
        self.texts.insert(shape.to_vec(), number);
        let text = Text::new(shape.to_vec());
        self.bytes.push(tag::TEXT);
        self.bytes
            .extend_from_slice(&text.fingerprint.to_le_bytes());
        put_bytes(&mut self.bytes, shape);
        number
    }
}

/// Writes a recording; [`Writer::finish`] ends it. Without that it lacks its end and is read as a torn one.
pub struct Writer<W: Write> {
    out: W,
    sequence: u32,
    events: u64,
    short: Open,
    long: Open,
    shape: Vec<u8>,
    literals: Vec<u8>,
    ending: Ending,
}

/// A file that has its name once it is whole. Parameters are personal data: others cannot read it.
pub struct NewFile {
    path: PathBuf,
    part: PathBuf,
    file: File,
}

impl NewFile {
    /// # Errors
    /// The file cannot be created.
    pub fn create(path: &Path) -> io::Result<Self> {
        let part = part_of(path);
        // One that was left by an interrupted recording may have other rights.
        match fs::remove_file(&part) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            _ => {}
        }
        Self::open(path, part)
    }

    /// The same for what cannot be recorded again: a part that an interrupted recording has left stays.
    ///
    /// # Errors
    /// The file cannot be created, or there is such a part.
    pub fn create_beside(path: &Path) -> io::Result<Self> {
        Self::open(path, part_of(path))
    }

    fn open(path: &Path, part: PathBuf) -> io::Result<Self> {
        let file = OpenOptions::new()
            .write(true)
            .create_new(true)
            .mode(0o600)
            .open(&part)?;
        let path = path.to_owned();
        Ok(Self { path, part, file })
    }

    /// # Errors
    /// It cannot be renamed.
    pub fn finish(self) -> io::Result<()> {
        self.file.sync_all()?;
        fs::rename(&self.part, &self.path)
    }
}

/// What a file is called until it is whole.
pub fn part_of(path: &Path) -> PathBuf {
    let mut part = path.as_os_str().to_owned();
    part.push(".part");
    part.into()
}

impl Write for NewFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.file.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }
}

impl<W: Write> Writer<W> {
    /// # Errors
    /// Those of the file.
    pub fn new(mut out: W, about: &About) -> io::Result<Self> {
        out.write_all(FILE_MARK)?;
        let mut writer = Self {
            out,
            sequence: 0,
            events: 0,
            short: Open::default(),
            long: Open::default(),
            shape: Vec::new(),
            literals: Vec::new(),
            ending: Ending {
                begin_us: i64::MAX,
                end_us: i64::MIN,
                ..Ending::default()
            },
        };
        writer.put_block(Kind::About, &serde_json::to_vec(about)?, (0, 0, 0))?;
        Ok(writer)
    }

    /// A session begins; whether the time is that of its connection.
    ///
    /// # Errors
    /// Those of the file.
    pub fn begin(&mut self, session: &Session, at_us: i64, is_known: bool) -> io::Result<()> {
        let open = &mut self.short;
        open.at(at_us);
        let index = open.session(session);
        open.bytes.push(tag::BEGIN);
        put(&mut open.bytes, index.into());
        open.put_time(at_us);
        open.bytes.push(is_known.into());
        self.ending.sessions += 1;
        self.put_full()
    }

    /// # Errors
    /// Those of the file.
    pub fn end(&mut self, session: &Session, at_us: i64) -> io::Result<()> {
        let open = &mut self.short;
        open.at(at_us);
        let index = open.session(session);
        open.bytes.push(tag::END);
        put(&mut open.bytes, index.into());
        open.put_time(at_us);
        self.put_full()
    }

    /// # Errors
    /// Those of the file.
    pub fn statement(&mut self, new: &NewStatement<'_>) -> io::Result<()> {
        self.shape.clear();
        self.literals.clear();
        let mut obstacle = new.obstacle;
        let mut parameters = new.parameters;
        if new.sql.len() > TEXT_BYTES_MAX || parameters_bytes(parameters) > TEXT_BYTES_MAX {
            obstacle = Some(Obstacle::TooLong);
            parameters = &[];
        } else {
            let parts = split(new.sql, &mut self.shape, &mut self.literals);
            let hides = |value: &Option<&[u8]>| {
                value.is_some_and(|value| secret::is_suspect(value) && secret::is_within(value))
            };
            if parts.secret || parameters.iter().any(hides) {
                obstacle = Some(Obstacle::Secret);
                parameters = &[];
            } else if usize::from(parts.parameters) > parameters.len()
                && new.protocol == Protocol::Extended
            {
                obstacle = obstacle.or(Some(Obstacle::NoParameters));
            }
        }
        let is_long = new.duration_us.is_some_and(|us| us >= LONG_US);
        let open = if is_long {
            &mut self.long
        } else {
            &mut self.short
        };
        open.at(new.start_us);
        let session = open.session(new.session);
        let text = open.text(&self.shape);
        let is = |condition: bool, flag: u8| if condition { flag } else { 0 };
        let flags = is(new.protocol == Protocol::Extended, flag::EXTENDED)
            | is(!new.name.is_empty(), flag::NAME)
            | is(!parameters.is_empty(), flag::PARAMETERS)
            | is(new.rows.is_some(), flag::ROWS)
            | is(new.failed.is_some(), flag::FAILED)
            | is(obstacle.is_some(), flag::OBSTACLE)
            | is(new.wire.is_some(), flag::WIRE);
        open.bytes.extend_from_slice(&[tag::STATEMENT, flags]);
        put(&mut open.bytes, session.into());
        open.put_time(new.start_us);
        let out = &mut open.bytes;
        put(out, new.duration_us.map_or(0, |us| us.saturating_add(1)));
        put(out, text.into());
        put_bytes(out, &self.literals);
        if !new.name.is_empty() {
            put_bytes(out, new.name);
        }
        if !parameters.is_empty() {
            // Packed in place, behind their length.
            self.literals.clear();
            for value in parameters {
                put(
                    &mut self.literals,
                    value.map_or(0, |value| value.len() as u64 + 1),
                );
                self.literals.extend_from_slice(value.unwrap_or_default());
            }
            put_bytes(out, &self.literals);
        }
        if let Some(rows) = new.rows {
            put(out, rows);
        }
        out.extend_from_slice(new.failed.as_ref().map_or(&[], |state| &state[..]));
        if let Some(obstacle) = obstacle {
            out.push(obstacle.code());
        }
        if let Some(wire) = new.wire {
            put_wire(out, wire);
        }
        self.count(new);
        self.put_full()
    }

    fn count(&mut self, new: &NewStatement<'_>) {
        let ending = &mut self.ending;
        ending.statements += 1;
        ending.begin_us = ending.begin_us.min(new.start_us);
        let lasts = i64::try_from(new.duration_us.unwrap_or(0)).unwrap_or(i64::MAX);
        ending.end_us = ending.end_us.max(new.start_us.saturating_add(lasts));
        add(&mut ending.databases, &new.session.database);
        add(&mut ending.users, &new.session.user);
    }

    /// Writes blocks that are large enough.
    fn put_full(&mut self) -> io::Result<()> {
        for is_long in [false, true] {
            let open = if is_long {
                &mut self.long
            } else {
                &mut self.short
            };
            if open.bytes.len() >= BLOCK_BYTES {
                let open = std::mem::take(open);
                self.put_events(&open)?;
            }
        }
        Ok(())
    }

    fn put_events(&mut self, open: &Open) -> io::Result<()> {
        let of = (open.events, open.min_us, open.max_us);
        self.put_block(Kind::Events, &open.bytes, of)
    }

    fn put_block(
        &mut self,
        kind: Kind,
        bytes: &[u8],
        (events, min_us, max_us): (u32, i64, i64),
    ) -> io::Result<()> {
        let packed = pack(bytes)?;
        let head = Head {
            kind,
            sequence: self.sequence,
            events_before: self.events,
            events,
            min_us,
            max_us,
            bytes: bytes.len() as u32,
            packed_bytes: packed.len() as u32,
            packed_crc: crc(&packed),
        };
        self.out.write_all(&head.write())?;
        self.out.write_all(&packed)?;
        self.sequence += 1;
        self.events += u64::from(events);
        Ok(())
    }

    /// Writes what there is: it is safe from the end of the process.
    ///
    /// # Errors
    /// Those of the file.
    pub fn flush(&mut self) -> io::Result<()> {
        for open in [
            std::mem::take(&mut self.short),
            std::mem::take(&mut self.long),
        ] {
            if open.events > 0 {
                self.put_events(&open)?;
            }
        }
        self.out.flush()
    }

    /// Ends the recording, with what its source could not say, by kind. Gives back where it was written to.
    ///
    /// # Errors
    /// Those of the file.
    pub fn finish(
        mut self,
        unsaid: std::collections::BTreeMap<String, u64>,
    ) -> io::Result<(W, Ending)> {
        self.flush()?;
        let mut ending = std::mem::take(&mut self.ending);
        if ending.statements == 0 {
            (ending.begin_us, ending.end_us) = (0, 0);
        }
        ending.unsaid = unsaid;
        self.put_block(Kind::Ending, &serde_json::to_vec(&ending)?, (0, 0, 0))?;
        self.out.flush()?;
        Ok((self.out, ending))
    }
}

fn put_wire(out: &mut Vec<u8>, wire: &Wire) {
    let is = |condition: bool, flag: u8| if condition { flag } else { 0 };
    out.push(
        is(!wire.types.is_empty(), wire_flag::TYPES)
            | is(wire.binary.contains(&true), wire_flag::BINARY)
            | is(wire.results.contains(&true), wire_flag::RESULTS)
            | is(wire.limit > 0, wire_flag::LIMIT)
            | is(wire.is_pipelined, wire_flag::PIPELINED)
            | is(wire.is_in_transaction, wire_flag::IN_TRANSACTION)
            | is(!wire.tag.is_empty(), wire_flag::TAG)
            | is(wire.result.is_some(), wire_flag::RESULT),
    );
    if !wire.types.is_empty() {
        put(out, wire.types.len() as u64);
        wire.types.iter().for_each(|oid| put(out, (*oid).into()));
    }
    for formats in [&wire.binary, &wire.results] {
        if formats.contains(&true) {
            put(out, formats.len() as u64);
            out.extend(formats.iter().map(|is_binary| u8::from(*is_binary)));
        }
    }
    if wire.limit > 0 {
        put(out, wire.limit.into());
    }
    if !wire.tag.is_empty() {
        put_bytes(out, &wire.tag);
    }
    if let Some(sum) = &wire.result {
        out.extend_from_slice(&sum.checksum.to_le_bytes());
        put(out, sum.columns.len() as u64);
        sum.columns
            .iter()
            .for_each(|column| put(out, (*column).into()));
        put(out, sum.hashes.len() as u64);
        let hashes = sum.hashes.iter().flat_map(|hash| hash.to_le_bytes());
        out.extend(hashes);
    }
}

fn parameters_bytes(parameters: &[Option<&[u8]>]) -> usize {
    parameters.iter().flatten().map(|value| value.len()).sum()
}

fn add(counts: &mut std::collections::BTreeMap<String, u64>, name: &str) {
    match counts.get_mut(name) {
        Some(count) => *count += 1,
        None => {
            counts.insert(name.to_owned(), 1);
        }
    }
}
