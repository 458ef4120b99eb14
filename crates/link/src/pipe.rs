//! One direction of a connection: what has been read and is on its way.

use std::collections::VecDeque;
use std::io::{self, ErrorKind, Read, Write};
use std::time::Instant;

use super::bandwidth::Bandwidth;
use super::delay::Delay;
use super::event_loop::Way;
use super::upstream::Socket;

/// So much is read at a time, or less where the bandwidth is small.
pub(super) const CHUNK_BYTES: usize = 64 << 10;
/// No more is read while so much is on its way: about what the window of a TCP connection grows to
/// (tcp(7), tcp_rmem).
const UNDER_WAY_MAX_BYTES: usize = 4 << 20;

/// What is on its way.
#[derive(Debug)]
enum Parcel {
    Bytes {
        bytes: Vec<u8>,
        /// So many of them have been written.
        written: usize,
    },
    /// The source writes no more.
    End,
    /// The source has gone without an end.
    Reset,
}

/// What became of a pipe.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Progress {
    Open,
    /// The end has arrived, or the sink takes nothing any more.
    Ended,
    /// The source's reset has arrived: it is one for both ends.
    Reset,
    /// It has carried all that it may before the cut.
    Cut,
}

/// One direction of a connection.
#[derive(Debug)]
pub(super) struct Pipe {
    delay: Delay,
    left: Option<u64>,
    under_way: VecDeque<(Instant, Parcel)>,
    under_way_bytes: usize,
    /// The line is busy with what was read until then.
    line_free: Option<Instant>,
    /// When what was read last arrives.
    last_due: Option<Instant>,
    has_read_end: bool,
    /// The sink takes no more at present.
    is_stuck: bool,
}

impl Pipe {
    pub(super) fn new(delay: Delay, bytes_until_cut: Option<u64>) -> Pipe {
        Pipe {
            delay,
            left: bytes_until_cut,
            under_way: VecDeque::new(),
            under_way_bytes: 0,
            line_free: None,
            last_due: None,
            has_read_end: false,
            is_stuck: false,
        }
    }

    /// What is read from now on comes later by that; what is under way is not overtaken.
    pub(super) fn set_delay(&mut self, delay: Delay) {
        self.delay = delay;
    }

    /// The line is another: it is free.
    pub(super) fn free_line(&mut self) {
        self.line_free = None;
    }

    /// Whether it would read now.
    pub(super) fn is_hungry(&self, way: &Way, now: Instant) -> bool {
        self.may_read(way) && self.line_free.is_none_or(|free| free <= now)
    }

    /// Whether it waits for its sink to take more.
    pub(super) fn is_stuck(&self, way: &Way) -> bool {
        self.is_stuck && !way.is_blocked
    }

    /// When there is something to do for it even if its sockets are quiet.
    pub(super) fn wakes_at(&self, way: &Way, now: Instant) -> Option<Instant> {
        let due = self.under_way.front().map(|(due, _)| *due);
        let due = due.filter(|_| !way.is_blocked && !self.is_stuck);
        let free = { self.line_free }.filter(|free| *free > now && self.may_read(way));
        due.into_iter().chain(free).min()
    }

    fn may_read(&self, way: &Way) -> bool {
        !self.has_read_end && !way.is_blocked && self.under_way_bytes < UNDER_WAY_MAX_BYTES
    }

    /// Whether what is read may be written at once.
    fn is_straight(&self, way: &Way) -> bool {
        self.under_way.is_empty()
            && self.left.is_none()
            && way.bandwidth.is_none()
            && self.delay.is_zero()
    }

    /// Hands on what may go at once; the rest is on its way.
    pub(super) fn put(
        &mut self,
        sink: &mut Socket,
        bytes: &[u8],
        way: &Way,
        now: Instant,
    ) -> Progress {
        let mut written = 0;
        if self.is_straight(way) {
            match sink.write(bytes) {
                Ok(all) if all == bytes.len() => return Progress::Open,
                Ok(part) => written = part,
                Err(e) if is_for_now(&e) => {}
                Err(_) => return Progress::Ended,
            }
        }
        let bytes = bytes[written..].to_vec();
        let count = bytes.len();
        self.send(Parcel::Bytes { bytes, written: 0 }, count, way, now);
        Progress::Open
    }

    /// The source writes no more, or has gone without an end.
    pub(super) fn end(&mut self, is_reset: bool, way: &Way, now: Instant) {
        self.has_read_end = true;
        let parcel = if is_reset { Parcel::Reset } else { Parcel::End };
        self.send(parcel, 0, way, now);
    }

    fn send(&mut self, parcel: Parcel, count: usize, way: &Way, now: Instant) {
        let through = match &way.bandwidth {
            Some(line) => line.carry(count, now),
            None => now,
        };
        self.line_free = way.bandwidth.as_ref().map(|_| through);
        let due = through + self.delay.draw();
        let due = self.last_due.map_or(due, |last| last.max(due));
        self.last_due = Some(due);
        self.under_way_bytes += count;
        self.under_way.push_back((due, parcel));
    }

    pub(super) fn hand_on(&mut self, sink: &mut Socket, way: &Way, now: Instant) -> Progress {
        self.is_stuck = false;
        if self.left == Some(0) {
            return Progress::Cut;
        }
        while !way.is_blocked
            && let Some((_, parcel)) = self.under_way.front_mut().filter(|(due, _)| *due <= now)
        {
            let (bytes, written) = match parcel {
                Parcel::Bytes { bytes, written } => (bytes, written),
                Parcel::Reset => return Progress::Reset,
                Parcel::End => {
                    sink.end();
                    return Progress::Ended;
                }
            };
            let rest = &bytes[*written..];
            let allowed = self
                .left
                .map_or(rest.len(), |left| rest.len().min(left as usize));
            match sink.write(&rest[..allowed]) {
                Err(e) if e.kind() == ErrorKind::Interrupted => {}
                Err(e) if e.kind() == ErrorKind::WouldBlock => {
                    self.is_stuck = true;
                    return Progress::Open;
                }
                Err(_) => return Progress::Ended,
                Ok(count) => {
                    *written += count;
                    self.under_way_bytes -= count;
                    if *written == bytes.len() {
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

/// What came of reading from a source.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Taken {
    Nothing,
    /// So many bytes.
    Bytes(usize),
    End,
    Reset,
}

/// Reads a chunk, if there is one.
pub(super) fn take_in(source: &mut Socket, way: &Way, buffer: &mut [u8]) -> Taken {
    let chunk = way.bandwidth.as_deref().map(Bandwidth::chunk_bytes);
    let chunk = chunk.map_or(buffer.len(), |chunk| chunk.min(buffer.len()));
    match source.read(&mut buffer[..chunk]) {
        Err(e) if is_for_now(&e) => Taken::Nothing,
        Ok(0) => Taken::End,
        Err(_) => Taken::Reset,
        Ok(count) => Taken::Bytes(count),
    }
}

/// Reads and forgets what there is; false at the end.
pub(super) fn swallow(source: &mut Socket, buffer: &mut [u8]) -> bool {
    match source.read(buffer) {
        Ok(count) => count > 0,
        Err(e) => is_for_now(&e),
    }
}

fn is_for_now(error: &io::Error) -> bool {
    matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::Interrupted)
}
