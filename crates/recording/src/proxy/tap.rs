//! What connections hand to the recorder: bytes with their times, in one buffer. The thread that carries them copies
//! and does nothing else.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Instant, SystemTime};

/// When so much waits for the recorder, connections wait as well: nothing is left out.
const WAITING_BYTES_MAX: usize = 64 << 20;
const HEAD_BYTES: usize = 21;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A session begins; the bytes are its start-up message.
    Begin,
    FromClient,
    FromServer,
    End,
    /// The server has refused a login.
    Refused,
}

const KINDS: [Kind; 5] = [
    Kind::Begin,
    Kind::FromClient,
    Kind::FromServer,
    Kind::End,
    Kind::Refused,
];

/// One of them, as it is taken from the buffer.
#[derive(Clone, Copy, Debug)]
pub struct Piece<'a> {
    pub kind: Kind,
    pub connection: u64,
    /// Microseconds since 1970 (UTC), by a clock that never goes back.
    pub at_us: i64,
    pub bytes: &'a [u8],
}

#[derive(Debug)]
pub struct Tap {
    waiting: Mutex<Vec<u8>>,
    room: Condvar,
    began: Instant,
    began_us: i64,
    /// For how long connections have waited for the recorder.
    held_ns: AtomicU64,
}

impl Tap {
    pub fn new() -> Self {
        let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
        let began_us = since.map_or(0, |since| since.as_micros());
        Self {
            waiting: Mutex::default(),
            room: Condvar::new(),
            began: Instant::now(),
            began_us: i64::try_from(began_us).unwrap_or(0),
            held_ns: AtomicU64::new(0),
        }
    }

    pub fn now_us(&self) -> i64 {
        let us = i64::try_from(self.began.elapsed().as_micros()).unwrap_or(i64::MAX);
        self.began_us.saturating_add(us)
    }

    pub fn held_ns(&self) -> u64 {
        self.held_ns.load(Ordering::Relaxed)
    }

    fn waiting(&self) -> MutexGuard<'_, Vec<u8>> {
        // A piece is whole, or its thread has ended the process.
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub fn push(&self, kind: Kind, connection: u64, at_us: i64, bytes: &[u8]) {
        let mut waiting = self.waiting();
        if waiting.len() > WAITING_BYTES_MAX {
            let from = Instant::now();
            while waiting.len() > WAITING_BYTES_MAX {
                waiting = self
                    .room
                    .wait(waiting)
                    .unwrap_or_else(PoisonError::into_inner);
            }
            let held_ns = from.elapsed().as_nanos() as u64;
            self.held_ns.fetch_add(held_ns, Ordering::Relaxed);
        }
        let mut head = [0; HEAD_BYTES];
        head[0] = kind as u8;
        head[1..9].copy_from_slice(&connection.to_le_bytes());
        head[9..17].copy_from_slice(&at_us.to_le_bytes());
        head[17..].copy_from_slice(&(bytes.len() as u32).to_le_bytes());
        waiting.extend_from_slice(&head);
        waiting.extend_from_slice(bytes);
    }

    /// Takes what waits, for an empty buffer.
    pub fn swap(&self, buffer: &mut Vec<u8>) {
        std::mem::swap(&mut *self.waiting(), buffer);
        self.room.notify_all();
    }
}

/// The first piece of a buffer, and the rest.
pub fn next(buffer: &[u8]) -> Option<(Piece<'_>, &[u8])> {
    let (head, rest) = buffer.split_first_chunk::<HEAD_BYTES>()?;
    let number = |from: usize| {
        let bytes = head[from..].first_chunk::<8>().copied();
        u64::from_le_bytes(bytes.unwrap_or_default())
    };
    let length = u32::from_le_bytes(head[17..].first_chunk().copied().unwrap_or_default());
    let (bytes, rest) = rest.split_at_checked(length as usize)?;
    let piece = Piece {
        kind: *KINDS.get(usize::from(head[0]))?,
        connection: number(1),
        at_us: number(9) as i64,
        bytes,
    };
    Some((piece, rest))
}
