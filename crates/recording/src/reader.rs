//! Reads a recording block by block, from a stream. What is damaged is passed over, and what was lost
//! with it is counted.

use std::io::{self, Read};
use std::sync::Arc;

use crate::about::{About, Ending};
use crate::block::{BLOCK_MARK, FILE_MARK, HEAD_BYTES, Head, Kind, unpack};
use crate::bytes::Cut;
use crate::event::{Begin, End, Event, Obstacle, Protocol, Session, Statement, Wire};
use crate::result::Sum;
use crate::shape::Text;
use crate::writer::{flag, tag, wire_flag};
use crate::{Error, FORMAT};

/// Bytes read at once.
const READ_BYTES: usize = 64 << 10;

/// What could not be read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Losses {
    pub blocks: u64,
    /// Those of lost blocks that a later block knows of.
    pub events: u64,
    /// Bytes that belong to no block.
    pub bytes: u64,
    /// Whether the end is missing: what was lost there is not known.
    pub is_torn: bool,
}

impl Losses {
    pub fn is_none(&self) -> bool {
        *self == Self::default()
    }
}

/// Events of one block, in the order in which they were written.
#[derive(Debug)]
pub struct Block {
    pub events: Vec<Event>,
}

/// A recording from its beginning to its end.
pub struct Reader<R> {
    input: R,
    buffer: Vec<u8>,
    /// How much of the buffer was taken.
    taken: usize,
    is_at_end: bool,
    next_sequence: u32,
    next_events: u64,
    losses: Losses,
    about: About,
    ending: Option<Ending>,
}

impl<R: Read> Reader<R> {
    /// # Errors
    /// It cannot be read, is no recording, or one of a newer format.
    pub fn new(mut input: R) -> Result<Self, Error> {
        let mut mark = [0; FILE_MARK.len()];
        input
            .read_exact(&mut mark)
            .map_err(|error| match error.kind() {
                io::ErrorKind::UnexpectedEof => Error::NotARecording,
                _ => Error::Io(error),
            })?;
        if mark != *FILE_MARK {
            return Err(Error::NotARecording);
        }
        let mut reader = Self {
            input,
            buffer: Vec::new(),
            taken: 0,
            is_at_end: false,
            next_sequence: 0,
            next_events: 0,
            losses: Losses::default(),
            about: About::default(),
            ending: None,
        };
        // It is small, and its block the first one; damaged, nothing is known of where it comes from.
        if let Some(head) = reader.peek_head()?
            && head.kind == Kind::About
            && let Some(bytes) = reader.take_block(&head)?
        {
            reader.about = serde_json::from_slice(&bytes).unwrap_or_default();
            if reader.about.format != FORMAT {
                return Err(Error::Format(reader.about.format));
            }
        }
        Ok(reader)
    }

    pub fn about(&self) -> &About {
        &self.about
    }

    /// The recording's own sums, once all blocks were read.
    pub fn ending(&self) -> Option<&Ending> {
        self.ending.as_ref()
    }

    /// What was lost so far.
    pub fn losses(&self) -> Losses {
        self.losses
    }

    /// The next block that is whole; `None` at the end.
    ///
    /// # Errors
    /// Those of the file. Damage is no error.
    pub fn next_block(&mut self) -> Result<Option<Block>, Error> {
        while self.ending.is_none() {
            let Some(head) = self.find_head()? else {
                self.losses.is_torn = true;
                return Ok(None);
            };
            let Some(bytes) = self.take_block(&head)? else {
                continue;
            };
            match head.kind {
                Kind::About => {}
                Kind::Events => {
                    let block = decode(&bytes);
                    let lost = u64::from(head.events).saturating_sub(block.events.len() as u64);
                    self.losses.events += lost;
                    return Ok(Some(block));
                }
                Kind::Ending => {
                    self.ending = Some(serde_json::from_slice(&bytes).unwrap_or_default());
                }
            }
        }
        Ok(None)
    }

    /// Has so many bytes at hand; whether there are as many.
    fn fill(&mut self, wanted: usize) -> io::Result<bool> {
        if self.taken > 0 && self.buffer.len() - self.taken < wanted {
            self.buffer.drain(..self.taken);
            self.taken = 0;
        }
        while !self.is_at_end && self.buffer.len() - self.taken < wanted {
            let length = self.buffer.len();
            self.buffer.resize(length + READ_BYTES, 0);
            let read = match self.input.read(&mut self.buffer[length..]) {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => Ok(None),
                read => read.map(Some),
            };
            self.buffer
                .truncate(length + *read.as_ref().ok().and_then(Option::as_ref).unwrap_or(&0));
            self.is_at_end = read? == Some(0);
        }
        Ok(self.buffer.len() - self.taken >= wanted)
    }

    /// The head at this place, if one is there.
    fn peek_head(&mut self) -> io::Result<Option<Head>> {
        if !self.fill(HEAD_BYTES)? {
            return Ok(None);
        }
        let bytes = self.buffer[self.taken..].first_chunk::<HEAD_BYTES>();
        Ok(bytes.and_then(Head::read))
    }

    /// Goes to the next head. What lies before it is lost.
    fn find_head(&mut self) -> io::Result<Option<Head>> {
        loop {
            if let Some(head) = self.peek_head()? {
                return Ok(Some(head));
            }
            if !self.fill(HEAD_BYTES)? {
                self.losses.bytes += (self.buffer.len() - self.taken) as u64;
                self.taken = self.buffer.len();
                return Ok(None);
            }
            let rest = &self.buffer[self.taken + 1..];
            // The beginning of a mark may be at the end of what was read.
            let next = memchr::memmem::find(rest, BLOCK_MARK);
            let skipped = next.unwrap_or(rest.len().saturating_sub(BLOCK_MARK.len() - 1)) + 1;
            self.losses.bytes += skipped as u64;
            self.taken += skipped;
        }
    }

    /// The bytes of the block whose head is at this place; `None` where they are damaged.
    fn take_block(&mut self, head: &Head) -> io::Result<Option<Vec<u8>>> {
        self.count_missing(head);
        self.taken += HEAD_BYTES;
        let length = head.packed_bytes as usize;
        if !self.fill(length)? {
            self.lose(head);
            self.losses.bytes += (self.buffer.len() - self.taken) as u64;
            self.taken = self.buffer.len();
            return Ok(None);
        }
        let packed = &self.buffer[self.taken..self.taken + length];
        let bytes = unpack(head, packed);
        if bytes.is_some() {
            self.taken += length;
        } else {
            // Not even its length is sure to be followed by another block: one is looked for.
            self.lose(head);
        }
        Ok(bytes)
    }

    fn lose(&mut self, head: &Head) {
        self.losses.blocks += 1;
        self.losses.events += u64::from(head.events);
    }

    /// Blocks that must have been before this one, and were not seen.
    fn count_missing(&mut self, head: &Head) {
        self.losses.blocks += u64::from(head.sequence.saturating_sub(self.next_sequence));
        self.losses.events += head.events_before.saturating_sub(self.next_events);
        self.next_sequence = head.sequence.saturating_add(1);
        self.next_events = head.events_before.saturating_add(head.events.into());
    }
}

/// The events of a block, up to what is no event.
pub(crate) fn decode(bytes: &[u8]) -> Block {
    let mut decoder = Decoder {
        cut: Cut(bytes),
        texts: Vec::new(),
        sessions: Vec::new(),
        last_us: 0,
    };
    let mut events = Vec::new();
    while let Some(item) = decoder.item() {
        events.extend(item);
    }
    Block { events }
}

struct Decoder<'a> {
    cut: Cut<'a>,
    texts: Vec<Arc<Text>>,
    sessions: Vec<Arc<Session>>,
    last_us: i64,
}

impl Decoder<'_> {
    /// The next event, or nothing where a text or a session was read.
    fn item(&mut self) -> Option<Option<Event>> {
        match self.cut.byte()? {
            tag::TEXT => {
                let fingerprint = u64::from_le_bytes(self.cut.array()?);
                let shape = self.cut.bytes()?.to_vec();
                self.texts.push(Arc::new(Text { shape, fingerprint }));
                Some(None)
            }
            tag::SESSION => {
                let mut session = Session {
                    number: u32::try_from(self.cut.number()?).ok()?,
                    user: self.cut.text()?,
                    database: self.cut.text()?,
                    application: self.cut.text()?,
                    settings: Vec::new(),
                };
                for _ in 0..self.cut.number()? {
                    session.settings.push((self.cut.text()?, self.cut.text()?));
                }
                self.sessions.push(Arc::new(session));
                Some(None)
            }
            tag::BEGIN => {
                let (session, at_us) = (self.session()?, self.time()?);
                let is_known = self.cut.byte()? != 0;
                Some(Some(Event::Begin(Begin {
                    session,
                    at_us,
                    is_known,
                })))
            }
            tag::END => {
                let (session, at_us) = (self.session()?, self.time()?);
                Some(Some(Event::End(End { session, at_us })))
            }
            tag::STATEMENT => self.statement().map(Event::Statement).map(Some),
            _ => None,
        }
    }

    fn statement(&mut self) -> Option<Statement> {
        let flags = self.cut.byte()?;
        let has = |flag: u8| flags & flag != 0;
        let session = self.session()?;
        let start_us = self.time()?;
        let duration_us = self.cut.number()?.checked_sub(1);
        let text = usize::try_from(self.cut.number()?).ok()?;
        let text = self.texts.get(text)?.clone();
        let cut = &mut self.cut;
        let literals = cut.bytes()?.into();
        let mut bytes_if = |flag: u8| {
            if has(flag) {
                cut.bytes()
            } else {
                Some(Default::default())
            }
        };
        let name = bytes_if(flag::NAME)?.into();
        let parameters = bytes_if(flag::PARAMETERS)?.into();
        let rows = if has(flag::ROWS) {
            Some(cut.number()?)
        } else {
            None
        };
        let failed = if has(flag::FAILED) {
            Some(cut.array()?)
        } else {
            None
        };
        let obstacle = if has(flag::OBSTACLE) {
            Some(Obstacle::of(cut.byte()?)?)
        } else {
            None
        };
        let wire = if has(flag::WIRE) {
            Some(Box::new(wire(cut)?))
        } else {
            None
        };
        Some(Statement {
            session,
            start_us,
            duration_us,
            protocol: if has(flag::EXTENDED) {
                Protocol::Extended
            } else {
                Protocol::Simple
            },
            name,
            text,
            literals,
            parameters,
            rows,
            failed,
            obstacle,
            wire,
        })
    }

    fn session(&mut self) -> Option<Arc<Session>> {
        let index = usize::try_from(self.cut.number()?).ok()?;
        self.sessions.get(index).cloned()
    }

    fn time(&mut self) -> Option<i64> {
        self.last_us = self.last_us.wrapping_add(self.cut.signed()?);
        Some(self.last_us)
    }
}

/// What only the wire shows.
fn wire(cut: &mut Cut<'_>) -> Option<Wire> {
    let flags = cut.byte()?;
    let has = |flag: u8| flags & flag != 0;
    let mut wire = Wire {
        is_pipelined: has(wire_flag::PIPELINED),
        is_in_transaction: has(wire_flag::IN_TRANSACTION),
        ..Wire::default()
    };
    if has(wire_flag::TYPES) {
        for _ in 0..cut.number()? {
            wire.types.push(u32::try_from(cut.number()?).ok()?);
        }
    }
    let formats = |cut: &mut Cut<'_>| {
        let bytes = cut.bytes()?;
        Some(bytes.iter().map(|byte| *byte != 0).collect())
    };
    if has(wire_flag::BINARY) {
        wire.binary = formats(cut)?;
    }
    if has(wire_flag::RESULTS) {
        wire.results = formats(cut)?;
    }
    if has(wire_flag::LIMIT) {
        wire.limit = u32::try_from(cut.number()?).ok()?;
    }
    if has(wire_flag::TAG) {
        wire.tag = cut.bytes()?.to_vec();
    }
    if has(wire_flag::RESULT) {
        let mut sum = Sum {
            checksum: u64::from_le_bytes(cut.array()?),
            ..Sum::default()
        };
        for _ in 0..cut.number()? {
            sum.columns.push(u16::try_from(cut.number()?).ok()?);
        }
        for _ in 0..cut.number()? {
            sum.hashes.push(u32::from_le_bytes(cut.array()?));
        }
        wire.result = Some(sum);
    }
    Some(wire)
}
