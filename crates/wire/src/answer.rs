//! Whether what a server sends is an answer: that columns come before rows, that rows have them all,
//! and that a statement is complete before the server is ready for the next one. A server that gets
//! this wrong has not done what it was asked, whatever it says afterwards.
//!
//! Not here: what the answer means, and which of several requests it belongs to.

use crate::backend::{Frame, Message, ProtocolError, TransactionStatus, tag};
use crate::limits::{ASIDES_BYTES_MAX, DATA_BYTES_MAX};

/// What a request must have before the server is ready for the next one, unless it failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Due {
    Nothing,
    Parsed,
    Executed,
    /// An error: a statement has not been answered.
    Failed,
}

/// Descriptions of columns up to this length are remembered.
const DESCRIPTION_BYTES_MAX: usize = 4096;

/// Messages that are always the same.
const BIND_COMPLETE: &[u8; 5] = b"2\0\0\0\x04";
const NO_DATA: &[u8; 5] = b"n\0\0\0\x04";

/// One answer as it comes, up to ReadyForQuery.
#[derive(Clone, Debug, Default)]
pub struct Answer {
    /// How many columns the rows of the present result have.
    columns: Option<u16>,
    is_parsed: bool,
    is_executed: bool,
    has_failed: bool,
    is_copying: bool,
    asides_bytes: u64,
    /// The last description of columns that had its form, as a message: the same one again need not be walked.
    described: Vec<u8>,
    /// How many columns it has.
    described_columns: u16,
}

impl Answer {
    /// How many columns the rows of the present result have, once they are described.
    pub fn columns(&self) -> Option<u16> {
        self.columns
    }

    /// The request is not over yet: more rows of a COPY were sent, which may be remarked upon.
    pub fn goes_on(&mut self) {
        self.asides_bytes = 0;
    }

    /// Takes note of a message.
    ///
    /// # Errors
    /// It cannot stand where it is, or its contents are not what its type asks for.
    #[inline]
    pub fn take(&mut self, frame: &Frame<'_>) -> Result<(), ProtocolError> {
        // Those of nearly all answers, without taking them apart.
        match frame.tag {
            tag::DATA_ROW => self.row(frame),
            tag::BIND_COMPLETE => self.aside(frame),
            tag::NO_DATA => self.no_columns(frame),
            tag::ROW_DESCRIPTION => self.description(frame),
            // Its text, which few read, ends with a zero byte.
            tag::COMMAND_COMPLETE if frame.body.ends_with(b"\0") => {
                self.executed();
                self.aside(frame)
            }
            tag::READY_FOR_QUERY => {
                frame.status()?;
                self.aside(frame)
            }
            _ => self.take_other(frame),
        }
    }

    /// [`Answer::take`] for all messages at the beginning of `input` that are whole and of which nothing is read: says
    /// how long they are together. It stops before any other message, and before each that might be wrong.
    #[inline]
    pub fn pass_over(&mut self, input: &[u8]) -> usize {
        let mut rest = self.pass_head(input);
        while let Some(&[tag, a, b, c, d]) = rest.first_chunk::<5>() {
            let len = 1 + u32::from_be_bytes([a, b, c, d]) as usize;
            let Some(body) = rest.get(5..len) else { break };
            match tag {
                tag::DATA_ROW if len <= DATA_BYTES_MAX => {
                    if self.row(&Frame { tag, body, len }).is_err() {
                        break;
                    }
                    rest = &rest[len..];
                    continue;
                }
                tag::BIND_COMPLETE if body.is_empty() => {}
                tag::NO_DATA if body.is_empty() => self.columns = None,
                tag::ROW_DESCRIPTION if rest[..len] == self.described => {
                    self.columns = Some(self.described_columns);
                }
                _ => break,
            }
            // One too many is left, to be reported.
            let asides_bytes = self.asides_bytes + len as u64;
            if asides_bytes > ASIDES_BYTES_MAX {
                break;
            }
            self.asides_bytes = asides_bytes;
            rest = &rest[len..];
        }
        input.len() - rest.len()
    }

    /// [`Answer::pass_over`] for what nearly all answers of the extended protocol begin with, at once: says what is left.
    #[inline]
    fn pass_head<'a>(&mut self, input: &'a [u8]) -> &'a [u8] {
        let Some(bound) = input.strip_prefix(BIND_COMPLETE) else {
            return input;
        };
        let (columns, rest) = match bound.strip_prefix(NO_DATA) {
            Some(rest) => (None, rest),
            None => match bound.strip_prefix(&self.described[..]) {
                Some(rest) if !self.described.is_empty() => (Some(self.described_columns), rest),
                _ => return input,
            },
        };
        let asides_bytes = self.asides_bytes + (input.len() - rest.len()) as u64;
        if asides_bytes > ASIDES_BYTES_MAX {
            return input;
        }
        (self.columns, self.asides_bytes) = (columns, asides_bytes);
        rest
    }

    /// [`Answer::pass_over`], and [`Answer::take`] and [`Answer::ready`] for the end of nearly all answers to a
    /// statement: its CommandComplete and the ReadyForQuery behind it, whole, with nothing after them. Says how much was
    /// taken; without an end there may be more to take.
    #[inline]
    pub fn take_whole<'a>(&mut self, input: &'a [u8]) -> (usize, Option<Ending<'a>>) {
        let used = self.pass_over(input);
        match self.end(&input[used..]) {
            Some(ending) => (input.len(), Some(ending)),
            None => (used, None),
        }
    }

    #[inline]
    fn end<'a>(&mut self, input: &'a [u8]) -> Option<Ending<'a>> {
        let (complete, ready) = input.split_last_chunk::<6>()?;
        let &[tag::READY_FOR_QUERY, 0, 0, 0, 5, status] = ready else {
            return None;
        };
        let [tag::COMMAND_COMPLETE, 0, 0, 0, length, done @ .., 0] = complete else {
            return None;
        };
        // The length counts itself and the zero byte.
        let is_whole = usize::from(*length) == done.len() + 5;
        let asides_bytes = self.asides_bytes + input.len() as u64;
        if !is_whole || asides_bytes > ASIDES_BYTES_MAX {
            return None;
        }
        let status = TransactionStatus::of(status)?;
        self.is_over();
        Some(Ending { done, status })
    }

    #[inline]
    fn row(&mut self, frame: &Frame<'_>) -> Result<(), ProtocolError> {
        let row = frame.row()?;
        row.check(self.columns.ok_or(ProtocolError::NoDescription)?)
    }

    #[inline]
    fn no_columns(&mut self, frame: &Frame<'_>) -> Result<(), ProtocolError> {
        self.columns = None;
        self.aside(frame)
    }

    fn description(&mut self, frame: &Frame<'_>) -> Result<(), ProtocolError> {
        let columns = frame.columns()?;
        let count = columns.columns() as u16;
        columns.check()?;
        self.columns = Some(count);
        self.described.clear();
        if frame.body.len() <= DESCRIPTION_BYTES_MAX {
            let length = frame.body.len() as u32 + 4;
            self.described.push(frame.tag);
            self.described.extend_from_slice(&length.to_be_bytes());
            self.described.extend_from_slice(frame.body);
            self.described_columns = count;
        }
        self.aside(frame)
    }

    /// A statement has been executed.
    fn executed(&mut self) {
        (self.columns, self.is_executed, self.is_copying) = (None, true, false);
    }

    /// Takes note of a message that is not one of the most frequent ones.
    fn take_other(&mut self, frame: &Frame<'_>) -> Result<(), ProtocolError> {
        match frame.parse()? {
            Message::CommandComplete(_) | Message::EmptyQueryResponse => self.executed(),
            Message::ParseComplete => self.is_parsed = true,
            Message::ErrorResponse(_) => {
                (self.columns, self.has_failed, self.is_copying) = (None, true, false);
            }
            Message::CloseComplete
            | Message::ParameterDescription(_)
            | Message::NoticeResponse(_)
            | Message::NotificationResponse { .. }
            | Message::ParameterStatus { .. } => {}
            Message::CopyInResponse { .. }
            | Message::CopyOutResponse { .. }
            | Message::CopyBothResponse => self.is_copying = true,
            Message::CopyData(_) | Message::CopyDone if self.is_copying => {}
            // That a portal is suspended, too: no Execute is sent with a limit.
            _ => return Err(ProtocolError::Unexpected { tag: frame.tag }),
        }
        match frame.tag {
            tag::COPY_DATA => Ok(()),
            _ => self.aside(frame),
        }
    }

    /// The server is ready for the next query: this answer is over, and another one begins.
    ///
    /// # Errors
    /// What was due has neither come nor failed.
    #[inline]
    pub fn ready(&mut self, due: Due) -> Result<(), ProtocolError> {
        let is_there = match due {
            Due::Nothing => true,
            Due::Parsed => self.is_parsed,
            Due::Executed => self.is_executed,
            Due::Failed => false,
        };
        let is_over = is_there || self.has_failed;
        self.is_over();
        if is_over {
            Ok(())
        } else {
            Err(ProtocolError::Incomplete)
        }
    }

    #[inline]
    fn is_over(&mut self) {
        (self.columns, self.asides_bytes) = (None, 0);
        (self.is_parsed, self.is_executed) = (false, false);
        (self.has_failed, self.is_copying) = (false, false);
    }

    /// A message without data. Small ones may be sent for ever.
    #[inline]
    fn aside(&mut self, frame: &Frame<'_>) -> Result<(), ProtocolError> {
        self.asides_bytes += frame.len as u64;
        if self.asides_bytes > ASIDES_BYTES_MAX {
            Err(ProtocolError::Flood { tag: frame.tag })
        } else {
            Ok(())
        }
    }
}

/// How an answer to a statement has ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ending<'a> {
    /// The text of its CommandComplete, without the zero byte.
    pub done: &'a [u8],
    pub status: TransactionStatus,
}

/// A row that is too long to be kept: checked as its bytes arrive, none of which stays.
#[derive(Clone, Copy, Debug)]
pub struct LongRow {
    /// Bytes of the message that are still to come.
    left: usize,
    /// Columns that are still to begin.
    columns: u16,
    /// Bytes of the present value that are still to come.
    in_value: usize,
    /// As much of the next value's length as has come.
    length: [u8; 4],
    length_bytes: usize,
}

impl LongRow {
    /// Bytes of a row from which on it is worth not to keep it.
    pub const BYTES_MIN: usize = 64 << 10;

    /// The row whose beginning is in `input`, and how many bytes of it were taken; `None` when
    /// what is there is not the beginning of a long row.
    ///
    /// # Errors
    /// It has not as many columns as the answer says.
    pub fn begin(input: &[u8], answer: &Answer) -> Result<Option<(LongRow, usize)>, ProtocolError> {
        let Some((&[kind, a, b, c, d, high, low], _)) = input.split_first_chunk::<7>() else {
            return Ok(None);
        };
        let length = u32::from_be_bytes([a, b, c, d]) as usize;
        if kind != tag::DATA_ROW || length < LongRow::BYTES_MIN {
            return Ok(None);
        }
        let wanted = answer.columns.ok_or(ProtocolError::NoDescription)?;
        let columns = u16::from_be_bytes([high, low]);
        if columns != wanted {
            return Err(ProtocolError::Columns { wanted, columns });
        }
        let row = LongRow {
            // The length counts itself, and the number of columns has come.
            left: length - 6,
            columns,
            in_value: 0,
            length: [0; 4],
            length_bytes: 0,
        };
        Ok(Some((row, 7)))
    }

    /// Takes the part of `bytes` that belongs to this row, and says how long it is.
    ///
    /// # Errors
    /// Its values do not fit its length.
    pub fn take(&mut self, bytes: &[u8]) -> Result<usize, ProtocolError> {
        const BAD: ProtocolError = ProtocolError::Body { tag: tag::DATA_ROW };
        let mut used = 0;
        while self.left > 0 && used < bytes.len() {
            if self.in_value > 0 {
                let some = self.in_value.min(bytes.len() - used);
                self.in_value -= some;
                self.left -= some;
                used += some;
                continue;
            }
            self.length[self.length_bytes] = bytes[used];
            self.length_bytes += 1;
            self.left -= 1;
            used += 1;
            if self.length_bytes == 4 {
                self.length_bytes = 0;
                self.columns = self.columns.checked_sub(1).ok_or(BAD)?;
                self.in_value = match i32::from_be_bytes(self.length) {
                    -1 => 0,
                    length => usize::try_from(length).map_err(|_| BAD)?,
                };
                if self.in_value > self.left {
                    return Err(BAD);
                }
            }
        }
        if self.is_over() && (self.columns > 0 || self.length_bytes > 0) {
            return Err(BAD);
        }
        Ok(used)
    }

    /// Whether all of it has come.
    pub fn is_over(&self) -> bool {
        self.left == 0
    }
}
