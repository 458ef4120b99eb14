//! One direction of a connection: what has been read and is on its way.

use std::collections::VecDeque;
use std::io::{self, ErrorKind, Read, Write};
use std::sync::Arc;
use std::time::Instant;

use super::bandwidth::Bandwidth;
use super::delay::Delay;
use crate::upstream::Socket;

/// Without a bandwidth, so much is read at a time.
const CHUNK_BYTES: usize = 64 << 10;
/// No more is read while so much is on its way.
const UNDER_WAY_MAX_BYTES: usize = 16 << 20;

/// Bytes on their way; none are the end.
#[derive(Debug)]
struct Parcel {
    due: Instant,
    bytes: Vec<u8>,
    /// So many of them have been written.
    written: usize,
}

/// What became of a pipe.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Progress {
    /// It goes on.
    Open,
    /// The end has arrived, or nobody takes what arrives.
    Ended,
    /// It has carried all that it may before the cut.
    Cut,
}

/// One direction of a connection.
#[derive(Debug)]
pub(super) struct Pipe {
    delay: Delay,
    bandwidth: Option<Arc<Bandwidth>>,
    /// Bytes until the cut.
    left: Option<u64>,
    under_way: VecDeque<Parcel>,
    under_way_bytes: usize,
    /// The line is busy with what was read until then.
    line_free: Option<Instant>,
    /// When what was read last arrives.
    last_due: Option<Instant>,
    has_read_end: bool,
    /// The sink takes no more at present.
    is_stuck: bool,
    is_blocked: bool,
    buffer: Vec<u8>,
}

impl Pipe {
    pub(super) fn new(
        delay: Delay,
        bandwidth: Option<Arc<Bandwidth>>,
        bytes_until_cut: Option<u64>,
    ) -> Pipe {
        let chunk = bandwidth
            .as_deref()
            .map_or(CHUNK_BYTES, Bandwidth::chunk_bytes);
        Pipe {
            delay,
            bandwidth,
            left: bytes_until_cut,
            under_way: VecDeque::new(),
            under_way_bytes: 0,
            line_free: None,
            last_due: None,
            has_read_end: false,
            is_stuck: false,
            is_blocked: false,
            buffer: vec![0; chunk.min(CHUNK_BYTES)],
        }
    }

    pub(super) fn block(&mut self, is_blocked: bool) {
        self.is_blocked = is_blocked;
    }

    /// Whether it would read now.
    pub(super) fn is_hungry(&self, now: Instant) -> bool {
        self.may_read() && self.line_free.is_none_or(|free| free <= now)
    }

    /// Whether it waits for its sink to take more.
    pub(super) fn is_stuck(&self) -> bool {
        self.is_stuck && !self.is_blocked
    }

    /// When there is something to do for it even if its sockets are quiet.
    pub(super) fn wakes_at(&self) -> Option<Instant> {
        let due = self.under_way.front().map(|parcel| parcel.due);
        let due = due.filter(|_| !self.is_blocked && !self.is_stuck);
        let free = self.line_free.filter(|_| self.may_read());
        due.into_iter().chain(free).min()
    }

    fn may_read(&self) -> bool {
        !self.has_read_end && !self.is_blocked && self.under_way_bytes < UNDER_WAY_MAX_BYTES
    }

    /// Reads a chunk, if there is one.
    pub(super) fn take_in(&mut self, source: &mut Socket, now: Instant) {
        let count = match source.read(&mut self.buffer) {
            Err(e) if is_for_now(&e) => return,
            Ok(count) => count,
            // It goes on as an end: the other side gets what was sent before.
            Err(_) => 0,
        };
        self.has_read_end = count == 0;
        let through = match &self.bandwidth {
            Some(line) => line.carry(count, now),
            None => now,
        };
        self.line_free = self.bandwidth.as_ref().map(|_| through);
        let due = through + self.delay.draw();
        let due = self.last_due.map_or(due, |last| last.max(due));
        self.last_due = Some(due);
        self.under_way_bytes += count;
        self.under_way.push_back(Parcel {
            due,
            bytes: self.buffer[..count].to_vec(),
            written: 0,
        });
    }

    /// Writes what is due.
    pub(super) fn hand_on(&mut self, sink: &mut Socket, now: Instant) -> Progress {
        self.is_stuck = false;
        if self.left == Some(0) {
            return Progress::Cut;
        }
        while !self.is_blocked
            && let Some(parcel) = self.under_way.front_mut().filter(|it| it.due <= now)
        {
            if parcel.bytes.is_empty() {
                sink.end();
                self.under_way.pop_front();
                return Progress::Ended;
            }
            let rest = &parcel.bytes[parcel.written..];
            let allowed = self
                .left
                .map_or(rest.len(), |left| rest.len().min(left as usize));
            match sink.write(&rest[..allowed]) {
                Err(e) if e.kind() == ErrorKind::Interrupted => continue,
                Err(e) if e.kind() == ErrorKind::WouldBlock => {
                    self.is_stuck = true;
                    return Progress::Open;
                }
                Err(_) => return Progress::Ended,
                Ok(count) => {
                    parcel.written += count;
                    self.under_way_bytes -= count;
                    if parcel.written == parcel.bytes.len() {
                        self.under_way.pop_front();
                    }
                    if let Some(left) = &mut self.left {
                        *left -= count as u64;
                        if *left == 0 {
                            return Progress::Cut;
                        }
                    }
                }
            }
        }
        Progress::Open
    }
}

/// Reads and forgets what there is; false at the end.
pub(super) fn swallow(source: &mut Socket) -> bool {
    match source.read(&mut [0; 4096]) {
        Ok(count) => count > 0,
        Err(e) => is_for_now(&e),
    }
}

fn is_for_now(error: &io::Error) -> bool {
    matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::Interrupted)
}
