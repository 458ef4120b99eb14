//! A recording in the order of time. A log has a statement when it ends, and it is due when it began:
//! blocks are read by the earliest event of each, which their heads have.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::path::Path;

use crate::block::{BLOCK_MARK, FILE_MARK, HEAD_BYTES, Head, Kind, unpack};
use crate::event::Event;
use crate::reader::decode;
use crate::{About, Ending, Error, Losses, Reader};

/// An event that waits for its turn. Those of one time keep the order of the file.
struct Waiting {
    at_us: i64,
    place: u64,
    event: Event,
}

impl Waiting {
    fn key(&self) -> (i64, u64) {
        (self.at_us, self.place)
    }
}

impl PartialEq for Waiting {
    fn eq(&self, other: &Self) -> bool {
        self.key() == other.key()
    }
}

impl Eq for Waiting {}

impl PartialOrd for Waiting {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Waiting {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        self.key().cmp(&other.key())
    }
}

/// A block that was not read yet.
struct Ahead {
    head: Head,
    /// Of its packed bytes.
    offset: u64,
}

/// Events by the time at which they are due.
pub struct Timeline {
    file: File,
    about: About,
    ending: Option<Ending>,
    losses: Losses,
    /// The earliest one last.
    ahead: Vec<Ahead>,
    waiting: BinaryHeap<Reverse<Waiting>>,
}

impl Timeline {
    /// # Errors
    /// It cannot be read, or is no recording.
    pub fn open(path: &Path) -> Result<Self, Error> {
        let about = Reader::new(File::open(path)?)?.about().clone();
        let mut timeline = Self {
            file: File::open(path)?,
            about,
            ending: None,
            losses: Losses::default(),
            ahead: Vec::new(),
            waiting: BinaryHeap::new(),
        };
        timeline.find_blocks()?;
        let ahead = &mut timeline.ahead;
        ahead.sort_by_key(|block| Reverse((block.head.min_us, block.head.events_before)));
        Ok(timeline)
    }

    pub fn about(&self) -> &About {
        &self.about
    }

    /// The recording's own sums; none where its end is lost.
    pub fn ending(&self) -> Option<&Ending> {
        self.ending.as_ref()
    }

    /// What was lost so far.
    pub fn losses(&self) -> Losses {
        self.losses
    }

    /// The next event; `None` at the end.
    ///
    /// # Errors
    /// Those of the file. Damage is no error.
    pub fn next_event(&mut self) -> Result<Option<Event>, Error> {
        while let Some(next) = self.ahead.last() {
            let first = self.waiting.peek().map(|Reverse(waiting)| waiting.at_us);
            if first.is_some_and(|first| first < next.head.min_us) {
                break;
            }
            self.read_block()?;
        }
        Ok(self.waiting.pop().map(|Reverse(waiting)| waiting.event))
    }

    /// Heads alone; of damaged ones the bytes up to the next one are lost.
    fn find_blocks(&mut self) -> Result<(), Error> {
        let length = self.file.metadata()?.len();
        let mut at = FILE_MARK.len() as u64;
        let (mut next_sequence, mut next_events) = (0, 0);
        while let Some((offset, head)) = self.head_from(at, length)? {
            self.losses.bytes += offset - at;
            self.losses.blocks += u64::from(head.sequence.saturating_sub(next_sequence));
            self.losses.events += head.events_before.saturating_sub(next_events);
            next_sequence = head.sequence.saturating_add(1);
            next_events = head.events_before.saturating_add(head.events.into());
            let offset = offset + HEAD_BYTES as u64;
            at = offset + u64::from(head.packed_bytes);
            if at > length {
                self.losses.blocks += 1;
                self.losses.events += u64::from(head.events);
                at = length;
                break;
            }
            match head.kind {
                Kind::About => {}
                Kind::Events => self.ahead.push(Ahead { head, offset }),
                Kind::Ending => {
                    let bytes = self.bytes_of(&Ahead { head, offset })?;
                    let ending = bytes.and_then(|bytes| serde_json::from_slice(&bytes).ok());
                    self.ending = ending;
                }
            }
        }
        self.losses.is_torn = self.ending.is_none();
        if self.losses.is_torn {
            self.losses.bytes += length.saturating_sub(at);
        }
        Ok(())
    }

    /// The first head from a place on.
    fn head_from(&mut self, mut at: u64, length: u64) -> Result<Option<(u64, Head)>, Error> {
        let mut bytes = [0; HEAD_BYTES];
        while at + HEAD_BYTES as u64 <= length {
            self.file.seek(SeekFrom::Start(at))?;
            self.file.read_exact(&mut bytes)?;
            if let Some(head) = Head::read(&bytes) {
                return Ok(Some((at, head)));
            }
            // Damaged: the next mark is looked for in large pieces.
            let mut piece = Vec::new();
            self.file.seek(SeekFrom::Start(at + 1))?;
            (&self.file).take(1 << 20).read_to_end(&mut piece)?;
            let overlap = BLOCK_MARK.len() - 1;
            let skipped = memchr::memmem::find(&piece, BLOCK_MARK)
                .unwrap_or(piece.len().saturating_sub(overlap));
            at += 1 + skipped as u64;
        }
        Ok(None)
    }

    fn bytes_of(&mut self, block: &Ahead) -> Result<Option<Vec<u8>>, Error> {
        let mut packed = vec![0; block.head.packed_bytes as usize];
        self.file.seek(SeekFrom::Start(block.offset))?;
        self.file.read_exact(&mut packed)?;
        Ok(unpack(&block.head, &packed))
    }

    fn read_block(&mut self) -> Result<(), Error> {
        let Some(block) = self.ahead.pop() else {
            return Ok(());
        };
        let events = match self.bytes_of(&block)? {
            Some(bytes) => decode(&bytes).events,
            None => Vec::new(),
        };
        let lost = u64::from(block.head.events).saturating_sub(events.len() as u64);
        self.losses.blocks += u64::from(lost > 0);
        self.losses.events += lost;
        for (place, event) in (block.head.events_before..).zip(events) {
            let at_us = event.at_us();
            self.waiting.push(Reverse(Waiting {
                at_us,
                place,
                event,
            }));
        }
        Ok(())
    }
}
