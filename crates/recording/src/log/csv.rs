//! csvlog: a record a message, over several lines where a value has line ends.

use std::io::{self, Read};

use super::entry::{Entries, Entry, Lost, Severity};
use super::feed::{Feed, RECORD_BYTES_MAX};
use super::time::{Clock, is_second};

/// Columns of PostgreSQL 13; later versions have more behind them.
const COLUMNS_MIN: usize = 23;

pub struct Csv<R> {
    feed: Feed<R>,
    clock: Clock,
    start_clock: Clock,
    lost: Lost,
}

impl<R: Read> Csv<R> {
    pub fn new(feed: Feed<R>) -> Self {
        Self {
            feed,
            clock: Clock::default(),
            start_clock: Clock::default(),
            lost: Lost::default(),
        }
    }

    /// The length of the next record; 0 at the end.
    fn record(&mut self) -> io::Result<usize> {
        loop {
            let rest = self.feed.rest();
            if let Some(end) = record_end(rest) {
                return Ok(end);
            }
            if rest.len() > RECORD_BYTES_MAX || !self.feed.more()? {
                return Ok(self.feed.rest().len());
            }
        }
    }
}

impl<R: Read> Entries for Csv<R> {
    fn next(&mut self, entry: &mut Entry) -> io::Result<bool> {
        loop {
            let length = self.record()?;
            if length == 0 {
                return Ok(false);
            }
            let record = &self.feed.rest()[..length];
            entry.clear();
            let read = read(record, entry, &mut self.clock, &mut self.start_clock);
            let Some(is_zone_known) = read else {
                // A quote is missing: a record that begins within this one is whole.
                let next = begin_within(record).unwrap_or(length);
                self.lost.lines += 1;
                self.feed.take(next);
                continue;
            };
            self.lost.zones += u64::from(!is_zone_known);
            self.feed.take(length);
            return Ok(true);
        }
    }

    fn lost(&self) -> Lost {
        self.lost
    }
}

/// Whether a file that begins so is a csvlog.
pub fn is_csv(begin: &[u8]) -> bool {
    let end = record_end(begin).unwrap_or(begin.len());
    let mut fields = Fields(Some(&begin[..end]));
    let mut count = 0;
    while let Some(field) = fields.next() {
        if field.is_none() {
            return false;
        }
        count += 1;
    }
    // A file that was rotated in the middle of a record begins with a part of it.
    count >= COLUMNS_MIN && is_second(begin)
        || begin_within(begin).is_some_and(|at| is_csv(&begin[at..]))
}

/// Behind the line end that is in no quotes.
fn record_end(bytes: &[u8]) -> Option<usize> {
    let mut is_quoted = false;
    for at in memchr::memchr2_iter(b'"', b'\n', bytes) {
        if bytes[at] == b'"' {
            is_quoted = !is_quoted;
        } else if !is_quoted {
            return Some(at + 1);
        }
    }
    None
}

/// Where a line begins with a time.
fn begin_within(record: &[u8]) -> Option<usize> {
    let mut ends = memchr::memchr_iter(b'\n', record).map(|at| at + 1);
    ends.find(|at| is_second(&record[*at..]) && record[*at..].len() > 20)
}

/// The fields of a record; `Some(None)` for one that is torn.
struct Fields<'a>(Option<&'a [u8]>);

/// A field as it is in the file, without its quotes; whether there were some.
struct Field<'a> {
    bytes: &'a [u8],
    is_quoted: bool,
}

impl<'a> Fields<'a> {
    fn next(&mut self) -> Option<Option<Field<'a>>> {
        let rest = self.0.take()?;
        if rest.first() != Some(&b'"') {
            let end = memchr::memchr2(b',', b'\n', rest).unwrap_or(rest.len());
            let (bytes, is_quoted) = (&rest[..end], false);
            if rest.get(end) == Some(&b',') {
                self.0 = Some(&rest[end + 1..]);
            }
            return Some(Some(Field { bytes, is_quoted }));
        }
        let mut at = 1;
        loop {
            let Some(quote) = rest.get(at..).and_then(|rest| memchr::memchr(b'"', rest)) else {
                return Some(None);
            };
            at += quote + 1;
            match rest.get(at) {
                Some(b'"') => at += 1,
                Some(b',') => {
                    self.0 = Some(&rest[at + 1..]);
                    break;
                }
                None | Some(b'\n' | b'\r') => break,
                Some(_) => return Some(None),
            }
        }
        let (bytes, is_quoted) = (&rest[1..at - 1], true);
        Some(Some(Field { bytes, is_quoted }))
    }
}

impl Field<'_> {
    fn copy_to(&self, out: &mut Vec<u8>) {
        let mut rest = self.bytes;
        if self.is_quoted {
            // Of two quotes one.
            while let Some(at) = memchr::memchr(b'"', rest) {
                out.extend_from_slice(&rest[..=at]);
                rest = rest.get(at + 2..).unwrap_or_default();
            }
        }
        out.extend_from_slice(rest);
    }
}

/// Fills in an entry; whether its time zone is known. `None` where it is no record.
fn read(record: &[u8], entry: &mut Entry, clock: &mut Clock, start: &mut Clock) -> Option<bool> {
    let mut fields = Fields(Some(record));
    let mut column = 0;
    let mut is_zone_known = true;
    while let Some(field) = fields.next() {
        let field = field?;
        let part = match column {
            0 => {
                let moment = clock.read(field.bytes)?;
                (entry.time_us, is_zone_known) = (moment.us, moment.is_zone_known);
                None
            }
            8 => {
                entry.session_start_us = start.read(field.bytes).map(|moment| moment.us);
                None
            }
            11 => {
                entry.severity = Severity::of(field.bytes);
                None
            }
            12 => {
                entry.state = field.bytes.try_into().ok();
                None
            }
            1 => Some(&mut entry.user),
            2 => Some(&mut entry.database),
            5 => Some(&mut entry.session),
            13 => Some(&mut entry.message),
            14 => Some(&mut entry.detail),
            18 => Some(&mut entry.context),
            19 => Some(&mut entry.statement),
            22 => Some(&mut entry.application),
            _ => None,
        };
        if let Some(part) = part {
            field.copy_to(part);
        }
        column += 1;
    }
    (column >= COLUMNS_MIN).then_some(is_zone_known)
}
