//! Logs of stderr and syslog-like files: a line a message, further ones behind a tab, details in lines of
//! their own.

use std::io::{self, Read};

use super::entry::{Entries, Entry, Lost, Severity};
use super::feed::Feed;
use super::prefix::{Prefix, severity};
use super::time::{self, Clock};

/// Which part of a message a line is.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Part {
    Message,
    Detail,
    Context,
    Statement,
    /// HINT, LOCATION, QUERY.
    Unused,
}

pub struct Stderr<R> {
    feed: Feed<R>,
    prefix: Prefix,
    clock: Clock,
    start_clock: Clock,
    lost: Lost,
    /// The first line of the next message, which was read already.
    ahead: Entry,
    has_ahead: bool,
    line: Entry,
}

impl<R: Read> Stderr<R> {
    pub fn new(feed: Feed<R>, prefix: Prefix) -> Self {
        Self {
            feed,
            prefix,
            clock: Clock::default(),
            start_clock: Clock::default(),
            lost: Lost::default(),
            ahead: Entry::default(),
            has_ahead: false,
            line: Entry::default(),
        }
    }

    /// The part of an entry that lines go on with.
    fn part(entry: &mut Entry, part: Part) -> Option<&mut Vec<u8>> {
        match part {
            Part::Message => Some(&mut entry.message),
            Part::Detail => Some(&mut entry.detail),
            Part::Context => Some(&mut entry.context),
            Part::Statement => Some(&mut entry.statement),
            Part::Unused => None,
        }
    }
}

impl<R: Read> Entries for Stderr<R> {
    fn next(&mut self, entry: &mut Entry) -> io::Result<bool> {
        let mut has_entry = std::mem::take(&mut self.has_ahead);
        if has_entry {
            std::mem::swap(entry, &mut self.ahead);
        }
        let mut part = Part::Message;
        loop {
            let length = self.feed.line()?;
            if length == 0 {
                return Ok(has_entry);
            }
            let bytes = &self.feed.rest()[..length];
            let bytes = bytes.strip_suffix(b"\n").unwrap_or(bytes);
            self.line.clear();
            let read = self.prefix.read(
                bytes,
                &mut self.line,
                &mut self.clock,
                &mut self.start_clock,
            );
            let Some((rest, is_zone_known)) = read else {
                if time::is_second(bytes) {
                    // It is a message, and not one with this prefix.
                    self.lost.lines += 1;
                    part = Part::Unused;
                } else if has_entry {
                    if let Some(part) = Self::part(entry, part) {
                        part.push(b'\n');
                        part.extend_from_slice(bytes.strip_prefix(b"\t").unwrap_or(bytes));
                    }
                } else {
                    self.lost.lines += u64::from(!bytes.trim_ascii().is_empty());
                }
                self.feed.take(length);
                continue;
            };
            self.lost.zones += u64::from(!is_zone_known);
            let (word, text) = severity(rest).unwrap_or_default();
            let next = match word {
                b"DETAIL" => Part::Detail,
                b"CONTEXT" => Part::Context,
                b"STATEMENT" => Part::Statement,
                b"HINT" | b"LOCATION" | b"QUERY" => Part::Unused,
                _ => Part::Message,
            };
            if next == Part::Message {
                self.line.severity = Severity::of(word);
                self.line.message.extend_from_slice(text);
                self.feed.take(length);
                if has_entry {
                    std::mem::swap(&mut self.line, &mut self.ahead);
                    self.has_ahead = true;
                    return Ok(true);
                }
                std::mem::swap(entry, &mut self.line);
                (has_entry, part) = (true, Part::Message);
                continue;
            }
            if has_entry && self.line.session == entry.session {
                part = next;
                if let Some(part) = Self::part(entry, part) {
                    part.extend_from_slice(text);
                }
            } else {
                // Its message is in the file before.
                self.lost.lines += 1;
                part = Part::Unused;
            }
            self.feed.take(length);
        }
    }

    fn lost(&self) -> Lost {
        self.lost
    }
}
