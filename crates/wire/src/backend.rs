//! Messages from the server, taken apart without copying. No byte sequence can make this panic.

use std::borrow::Cow;

use crate::limits::{ASIDES_BYTES_MAX, DATA_BYTES_MAX, OTHER_BYTES_MAX, TEXT_BYTES_MAX};

/// What the server sends is not what protocol 3.0 has it send, or more than is taken of it.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ProtocolError {
    /// A length that no message of this type can have.
    #[error(
        "lost synchronization with server: got message type \"{}\", length {length}",
        printable(*.tag)
    )]
    Length {
        tag: u8,
        /// The length it announced, which counts itself.
        length: i32,
    },
    /// A message that is too long to be kept.
    #[error(
        "the server sent a message of type \"{}\" with {bytes} bytes, and {limit} bytes is the \
         limit: is this a server of PostgreSQL's protocol?",
        printable(*.tag)
    )]
    TooLong {
        tag: u8,
        bytes: usize,
        /// The longest that is taken.
        limit: usize,
    },
    /// Too much beside the data of one answer.
    #[error(
        "the server sent more than {ASIDES_BYTES_MAX} bytes of messages without data in one answer, \
         the last one of type \"{}\": if they are notices, raise client_min_messages",
        printable(*.tag)
    )]
    Flood {
        /// The last message's type byte.
        tag: u8,
    },
    /// A row before its columns.
    #[error("server sent data (\"D\" message) without prior row description (\"T\" message)")]
    NoDescription,
    /// A row with other columns than were described.
    #[error("unexpected field count in \"D\" message: {columns} columns in place of {wanted}")]
    Columns { wanted: u16, columns: u16 },
    /// ReadyForQuery, and the statement has neither ended nor failed.
    #[error(
        "the server is ready for the next query (\"Z\" message) and has not completed this one \
         (\"C\" message)"
    )]
    Incomplete,
    /// An answer that nothing was asked for.
    #[error("message type \"{}\" arrived from server while idle", printable(*.tag))]
    Unasked { tag: u8 },
    /// A message that no answer has.
    #[error(
        "unexpected response from server; first received character was \"{}\"",
        printable(*.tag)
    )]
    Unexpected { tag: u8 },
    /// The body does not have the form that its type prescribes.
    #[error(
        "message contents do not agree with length in message type \"{}\"",
        printable(*.tag)
    )]
    Body { tag: u8 },
}

fn printable(tag: u8) -> String {
    tag.escape_ascii().to_string()
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Frame<'a> {
    /// Its type byte, one of [`tag`].
    pub tag: u8,
    /// Its contents, after type and length.
    pub body: &'a [u8],
    /// Bytes of the whole message in the input, tag and length included.
    pub len: usize,
}

/// Type bytes of server messages.
pub mod tag {
    pub const AUTHENTICATION: u8 = b'R';
    pub const BACKEND_KEY_DATA: u8 = b'K';
    pub const BIND_COMPLETE: u8 = b'2';
    pub const CLOSE_COMPLETE: u8 = b'3';
    pub const COMMAND_COMPLETE: u8 = b'C';
    pub const COPY_BOTH_RESPONSE: u8 = b'W';
    pub const COPY_DATA: u8 = b'd';
    pub const COPY_DONE: u8 = b'c';
    pub const COPY_IN_RESPONSE: u8 = b'G';
    pub const COPY_OUT_RESPONSE: u8 = b'H';
    pub const DATA_ROW: u8 = b'D';
    pub const EMPTY_QUERY_RESPONSE: u8 = b'I';
    pub const ERROR_RESPONSE: u8 = b'E';
    pub const FUNCTION_CALL_RESPONSE: u8 = b'V';
    pub const NEGOTIATE_PROTOCOL_VERSION: u8 = b'v';
    pub const NO_DATA: u8 = b'n';
    pub const NOTICE_RESPONSE: u8 = b'N';
    pub const NOTIFICATION_RESPONSE: u8 = b'A';
    pub const PARAMETER_DESCRIPTION: u8 = b't';
    pub const PARAMETER_STATUS: u8 = b'S';
    pub const PARSE_COMPLETE: u8 = b'1';
    pub const PORTAL_SUSPENDED: u8 = b's';
    pub const READY_FOR_QUERY: u8 = b'Z';
    pub const ROW_DESCRIPTION: u8 = b'T';
}

/// The first message in `input`, or `None` while it is incomplete. The next one starts
/// [`Frame::len`] bytes further.
#[inline]
pub fn split(input: &[u8]) -> Result<Option<Frame<'_>>, ProtocolError> {
    let Some((head, _)) = input.split_first_chunk::<5>() else {
        return Ok(None);
    };
    let tag = head[0];
    let bytes = u32::from_be_bytes([head[1], head[2], head[3], head[4]]) as usize;
    // Any message may be that long; nearly all are.
    if !(4..=OTHER_BYTES_MAX).contains(&bytes) {
        let length = bytes as u32 as i32;
        let bad = ProtocolError::Length { tag, length };
        let bytes = usize::try_from(length).unwrap_or(0);
        long(tag, bytes).map_err(|error| error.unwrap_or(bad))?;
    }
    Ok(input.get(..1 + bytes).map(|message| Frame {
        tag,
        body: &message[5..],
        len: 1 + bytes,
    }))
}

/// Whether a message of this type may have a length that not all may have; the error is `None` where it
/// can be none of the protocol.
#[cold]
fn long(tag: u8, bytes: usize) -> Result<(), Option<ProtocolError>> {
    let limit = match tag {
        tag::DATA_ROW | tag::COPY_DATA | tag::FUNCTION_CALL_RESPONSE => DATA_BYTES_MAX,
        tag::ROW_DESCRIPTION
        | tag::PARAMETER_DESCRIPTION
        | tag::ERROR_RESPONSE
        | tag::NOTICE_RESPONSE
        | tag::NOTIFICATION_RESPONSE => TEXT_BYTES_MAX,
        _ => OTHER_BYTES_MAX,
    };
    // Beyond what a server can send at all it is not the protocol.
    match bytes {
        4.. if bytes <= limit => Ok(()),
        4..=DATA_BYTES_MAX if limit == TEXT_BYTES_MAX => {
            Err(Some(ProtocolError::TooLong { tag, bytes, limit }))
        }
        _ => Err(None),
    }
}

/// How many bytes the first message in `input` still lacks at least; a hint for how much to read.
pub fn missing(input: &[u8]) -> usize {
    match input.split_first_chunk::<5>() {
        None => 5 - input.len(),
        Some((h, _)) => {
            let length = u32::from_be_bytes([h[1], h[2], h[3], h[4]]) as usize;
            (1 + length.min(DATA_BYTES_MAX)).saturating_sub(input.len())
        }
    }
}

impl<'a> Frame<'a> {
    /// What a ReadyForQuery says, without the detour of [`Frame::parse`].
    #[inline]
    pub fn status(&self) -> Result<TransactionStatus, ProtocolError> {
        let status = self.body.first().copied().and_then(TransactionStatus::of);
        status.ok_or(ProtocolError::Body { tag: self.tag })
    }

    #[inline]
    pub(crate) fn row(&self) -> Result<DataRow<'a>, ProtocolError> {
        let (columns, rest) = self.counted()?;
        Ok(DataRow { columns, rest })
    }

    #[inline]
    pub(crate) fn columns(&self) -> Result<RowDescription<'a>, ProtocolError> {
        let (columns, rest) = self.counted()?;
        Ok(RowDescription { columns, rest })
    }

    /// A number of columns and what follows it.
    #[inline]
    fn counted(&self) -> Result<(u16, &'a [u8]), ProtocolError> {
        let Some((count, rest)) = self.body.split_first_chunk::<2>() else {
            return Err(ProtocolError::Body { tag: self.tag });
        };
        Ok((u16::from_be_bytes(*count), rest))
    }

    /// The message in its typed form. Checks the form of fixed parts; rows and fields are checked
    /// when they are walked.
    pub fn parse(&self) -> Result<Message<'a>, ProtocolError> {
        let mut r = Reader {
            tag: self.tag,
            rest: self.body,
        };
        Ok(match self.tag {
            tag::AUTHENTICATION => Message::Authentication(authentication(&mut r)?),
            tag::BACKEND_KEY_DATA => Message::BackendKeyData {
                pid: r.i32()?,
                key: r.rest,
            },
            tag::BIND_COMPLETE => Message::BindComplete,
            tag::CLOSE_COMPLETE => Message::CloseComplete,
            tag::COMMAND_COMPLETE => Message::CommandComplete(CommandComplete { tag: r.c_str()? }),
            tag::COPY_BOTH_RESPONSE => Message::CopyBothResponse,
            tag::COPY_DATA => Message::CopyData(self.body),
            tag::COPY_DONE => Message::CopyDone,
            tag::COPY_IN_RESPONSE => Message::CopyInResponse {
                binary: r.u8()? != 0,
            },
            tag::COPY_OUT_RESPONSE => Message::CopyOutResponse {
                binary: r.u8()? != 0,
            },
            tag::DATA_ROW => Message::DataRow(self.row()?),
            tag::EMPTY_QUERY_RESPONSE => Message::EmptyQueryResponse,
            tag::ERROR_RESPONSE => Message::ErrorResponse(ErrorFields { rest: self.body }),
            tag::FUNCTION_CALL_RESPONSE => Message::FunctionCallResponse(self.body),
            tag::NEGOTIATE_PROTOCOL_VERSION => Message::NegotiateProtocolVersion {
                version: r.i32()?,
                options: r.i32()?,
                names: r.rest,
            },
            tag::NO_DATA => Message::NoData,
            tag::NOTICE_RESPONSE => Message::NoticeResponse(ErrorFields { rest: self.body }),
            tag::NOTIFICATION_RESPONSE => Message::NotificationResponse {
                pid: r.i32()?,
                channel: r.c_str()?,
                payload: r.c_str()?,
            },
            tag::PARAMETER_DESCRIPTION => {
                let count = r.u16()?;
                if r.rest.len() != usize::from(count) * 4 {
                    return Err(r.bad());
                }
                Message::ParameterDescription(ParameterDescription { oids: r.rest })
            }
            tag::PARAMETER_STATUS => Message::ParameterStatus {
                name: r.c_str()?,
                value: r.c_str()?,
            },
            tag::PARSE_COMPLETE => Message::ParseComplete,
            tag::PORTAL_SUSPENDED => Message::PortalSuspended,
            tag::READY_FOR_QUERY => Message::ReadyForQuery(self.status()?),
            tag::ROW_DESCRIPTION => Message::RowDescription(self.columns()?),
            _ => Message::Unknown {
                tag: self.tag,
                body: self.body,
            },
        })
    }
}

/// A server message in its typed form.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub enum Message<'a> {
    /// A request of the authentication exchange, or its success.
    Authentication(Authentication<'a>),
    /// What a cancel request must show.
    BackendKeyData {
        pid: i32,
        /// The secret key, 4 bytes in protocol 3.0 and up to 256 in later ones.
        key: &'a [u8],
    },
    BindComplete,
    CloseComplete,
    CommandComplete(CommandComplete<'a>),
    /// Start of a replication stream.
    CopyBothResponse,
    CopyData(&'a [u8]),
    /// End of a COPY's rows.
    CopyDone,
    /// The server is ready to take a COPY's rows.
    CopyInResponse {
        /// Whether the format is binary.
        binary: bool,
    },
    /// The server is about to send a COPY's rows.
    CopyOutResponse {
        /// Whether the format is binary.
        binary: bool,
    },
    DataRow(DataRow<'a>),
    EmptyQueryResponse,
    /// A statement, or the session, failed.
    ErrorResponse(ErrorFields<'a>),
    /// Answer to a function call.
    FunctionCallResponse(&'a [u8]),
    /// The server does not know the requested minor version or protocol options.
    NegotiateProtocolVersion {
        /// The newest version it knows, as major × 65536 + minor.
        version: i32,
        /// How many options it does not know.
        options: i32,
        /// Their names, each ended by a zero byte.
        names: &'a [u8],
    },
    /// A described statement returns no rows.
    NoData,
    NoticeResponse(ErrorFields<'a>),
    NotificationResponse {
        pid: i32,
        channel: &'a [u8],
        payload: &'a [u8],
    },
    /// Types of a described statement's parameters.
    ParameterDescription(ParameterDescription<'a>),
    /// A setting that the server reports.
    ParameterStatus {
        name: &'a [u8],
        value: &'a [u8],
    },
    ParseComplete,
    /// Execute reached its row limit.
    PortalSuspended,
    /// The server waits for the next query.
    ReadyForQuery(TransactionStatus),
    /// The columns of the rows that follow.
    RowDescription(RowDescription<'a>),
    /// A message of a type not known here.
    Unknown {
        tag: u8,
        body: &'a [u8],
    },
}

/// Where a session is between statements.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TransactionStatus {
    /// Not in a transaction block.
    Idle,
    InTransaction,
    /// In a transaction block that failed.
    Failed,
}

impl TransactionStatus {
    /// What the byte of a ReadyForQuery says; `None` where it can be none.
    #[inline]
    pub(crate) fn of(byte: u8) -> Option<Self> {
        match byte {
            b'I' => Some(Self::Idle),
            b'T' => Some(Self::InTransaction),
            b'E' => Some(Self::Failed),
            _ => None,
        }
    }
}

/// A request of the authentication exchange.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Authentication<'a> {
    Ok,
    /// The password in clear text.
    CleartextPassword,
    /// An MD5 hash with this salt.
    Md5Password {
        salt: [u8; 4],
    },
    /// One of these SASL mechanisms.
    Sasl(Mechanisms<'a>),
    SaslContinue(&'a [u8]),
    SaslFinal(&'a [u8]),
    /// Another method, by its code.
    Other(i32),
}

/// Names of SASL mechanisms in the server's order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Mechanisms<'a>(&'a [u8]);

impl<'a> Iterator for Mechanisms<'a> {
    type Item = &'a [u8];

    fn next(&mut self) -> Option<&'a [u8]> {
        let end = self.0.iter().position(|&b| b == 0)?;
        if end == 0 {
            return None;
        }
        let name = &self.0[..end];
        self.0 = &self.0[end + 1..];
        Some(name)
    }
}

fn authentication<'a>(r: &mut Reader<'a>) -> Result<Authentication<'a>, ProtocolError> {
    Ok(match r.i32()? {
        0 => Authentication::Ok,
        3 => Authentication::CleartextPassword,
        5 => Authentication::Md5Password { salt: r.take()? },
        10 => Authentication::Sasl(Mechanisms(r.rest)),
        11 => Authentication::SaslContinue(r.rest),
        12 => Authentication::SaslFinal(r.rest),
        other => Authentication::Other(other),
    })
}

/// A command tag such as `UPDATE 1`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CommandComplete<'a> {
    /// The tag, without its zero byte.
    pub tag: &'a [u8],
}

impl CommandComplete<'_> {
    /// Rows affected or returned, where the tag says so (its last word is a number).
    pub fn rows(&self) -> Option<u64> {
        let last = self.tag.rsplit(|&b| b == b' ').next()?;
        if last.len() == self.tag.len() {
            return None;
        }
        std::str::from_utf8(last).ok()?.parse().ok()
    }

    pub fn text(&self) -> Cow<'_, str> {
        String::from_utf8_lossy(self.tag)
    }
}

/// One row: an iterator over its values in text format, `None` for NULL. A malformed row yields an
/// error once and then ends.
#[derive(Clone, Copy, Debug)]
pub struct DataRow<'a> {
    columns: u16,
    rest: &'a [u8],
}

impl<'a> DataRow<'a> {
    pub fn columns(&self) -> usize {
        usize::from(self.columns)
    }

    /// Whether it has so many columns, and its values take up the whole message.
    #[inline]
    pub(crate) fn check(self, wanted: u16) -> Result<(), ProtocolError> {
        let Self { columns, mut rest } = self;
        if columns != wanted {
            return Err(ProtocolError::Columns { wanted, columns });
        }
        const BAD: ProtocolError = ProtocolError::Body { tag: tag::DATA_ROW };
        // Each step passes over the value before and takes the next one's length.
        let mut length = 0;
        for _ in 0..columns {
            let next = length + 4;
            let bytes = rest.get(length..next).and_then(<[u8]>::first_chunk);
            length = match u32::from_be_bytes(*bytes.ok_or(BAD)?) {
                // NULL, which is -1 and has no bytes. Other negative lengths are longer than any row.
                u32::MAX => 0,
                length => length as usize,
            };
            rest = &rest[next..];
        }
        if rest.len() == length {
            Ok(())
        } else {
            Err(BAD)
        }
    }

    fn value(r: &mut Reader<'a>) -> Result<Option<&'a [u8]>, ProtocolError> {
        match r.i32()? {
            -1 => Ok(None),
            len => {
                let len = usize::try_from(len).map_err(|_| r.bad())?;
                r.bytes(len).map(Some)
            }
        }
    }
}

impl<'a> Iterator for DataRow<'a> {
    type Item = Result<Option<&'a [u8]>, ProtocolError>;

    fn next(&mut self) -> Option<Self::Item> {
        self.columns = self.columns.checked_sub(1)?;
        let mut r = Reader {
            tag: tag::DATA_ROW,
            rest: self.rest,
        };
        let value = DataRow::value(&mut r);
        self.rest = r.rest;
        if value.is_err() {
            self.columns = 0;
        }
        Some(value)
    }
}

/// A column of a result.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Column<'a> {
    pub name: &'a [u8],
    /// The table it comes from, or 0.
    pub table_oid: u32,
    /// Its number in that table, or 0.
    pub table_column: i16,
    pub type_oid: u32,
    /// Bytes of the type, negative when variable.
    pub type_size: i16,
    pub type_modifier: i32,
    pub format: i16,
}

/// Bytes of a column behind its name and the zero byte: table, column, type, size, modifier, format.
const COLUMN_BYTES: usize = 4 + 2 + 4 + 2 + 4 + 2;

/// The columns of a result: an iterator that yields an error once if malformed, and then ends.
#[derive(Clone, Copy, Debug)]
pub struct RowDescription<'a> {
    columns: u16,
    rest: &'a [u8],
}

impl RowDescription<'_> {
    pub fn columns(&self) -> usize {
        usize::from(self.columns)
    }

    /// Whether every column is there.
    pub(crate) fn check(self) -> Result<(), ProtocolError> {
        const BAD: ProtocolError = ProtocolError::Body {
            tag: tag::ROW_DESCRIPTION,
        };
        let mut rest = self.rest;
        for _ in 0..self.columns {
            let name = zero_at(rest).ok_or(BAD)?;
            rest = rest.get(name + 1 + COLUMN_BYTES..).ok_or(BAD)?;
        }
        Ok(())
    }
}

impl<'a> Iterator for RowDescription<'a> {
    type Item = Result<Column<'a>, ProtocolError>;

    fn next(&mut self) -> Option<Self::Item> {
        self.columns = self.columns.checked_sub(1)?;
        let mut r = Reader {
            tag: tag::ROW_DESCRIPTION,
            rest: self.rest,
        };
        let column = (|| {
            Ok(Column {
                name: r.c_str()?,
                table_oid: r.u32()?,
                table_column: r.i16()?,
                type_oid: r.u32()?,
                type_size: r.i16()?,
                type_modifier: r.i32()?,
                format: r.i16()?,
            })
        })();
        self.rest = r.rest;
        if column.is_err() {
            self.columns = 0;
        }
        Some(column)
    }
}

/// Types of a statement's parameters: an iterator over OIDs.
#[derive(Clone, Copy, Debug)]
pub struct ParameterDescription<'a> {
    oids: &'a [u8],
}

impl Iterator for ParameterDescription<'_> {
    type Item = u32;

    fn next(&mut self) -> Option<u32> {
        let (oid, rest) = self.oids.split_first_chunk::<4>()?;
        self.oids = rest;
        Some(u32::from_be_bytes(*oid))
    }
}

/// The fields of an error or notice: an iterator over code and value, in the server's order, ones
/// of unknown code included. A truncated field ends it.
#[derive(Clone, Copy, Debug)]
pub struct ErrorFields<'a> {
    rest: &'a [u8],
}

impl<'a> ErrorFields<'a> {
    /// The value of one field, by its code.
    pub fn get(&self, code: u8) -> Option<&'a [u8]> {
        { *self }.find(|&(c, _)| c == code).map(|(_, value)| value)
    }

    /// The five characters of the SQLSTATE; a server that sends none, or a malformed one, gives
    /// `None`.
    pub fn sqlstate(&self) -> Option<&'a str> {
        let code = std::str::from_utf8(self.get(b'C')?).ok()?;
        (code.len() == 5).then_some(code)
    }
}

impl<'a> Iterator for ErrorFields<'a> {
    type Item = (u8, &'a [u8]);

    fn next(&mut self) -> Option<Self::Item> {
        let (&code, rest) = self.rest.split_first()?;
        let end = rest.iter().position(|&b| b == 0);
        match end {
            Some(end) if code != 0 => {
                self.rest = &rest[end + 1..];
                Some((code, &rest[..end]))
            }
            _ => {
                self.rest = &[];
                None
            }
        }
    }
}

/// Where the first zero byte is: eight bytes at a time, as every result's columns have names.
#[inline]
pub(crate) fn zero_at(bytes: &[u8]) -> Option<usize> {
    const LOW: u64 = 0x0101_0101_0101_0101;
    const HIGH: u64 = LOW << 7;
    let mut at = 0;
    while let Some(eight) = bytes[at..].first_chunk::<8>() {
        let eight = u64::from_le_bytes(*eight);
        // The lowest bit that is left is that of the first byte that was zero.
        let zeroes = eight.wrapping_sub(LOW) & !eight & HIGH;
        if zeroes != 0 {
            return Some(at + (zeroes.trailing_zeros() / 8) as usize);
        }
        at += 8;
    }
    let rest = bytes[at..].iter().position(|byte| *byte == 0)?;
    Some(at + rest)
}

/// Reads the parts of one message's body.
struct Reader<'a> {
    tag: u8,
    rest: &'a [u8],
}

impl<'a> Reader<'a> {
    fn bad(&self) -> ProtocolError {
        ProtocolError::Body { tag: self.tag }
    }

    fn bytes(&mut self, len: usize) -> Result<&'a [u8], ProtocolError> {
        let (bytes, rest) = self.rest.split_at_checked(len).ok_or_else(|| self.bad())?;
        self.rest = rest;
        Ok(bytes)
    }

    fn take<const N: usize>(&mut self) -> Result<[u8; N], ProtocolError> {
        let (bytes, rest) = self
            .rest
            .split_first_chunk::<N>()
            .ok_or_else(|| self.bad())?;
        self.rest = rest;
        Ok(*bytes)
    }

    fn u8(&mut self) -> Result<u8, ProtocolError> {
        self.take::<1>().map(|b| b[0])
    }

    fn u16(&mut self) -> Result<u16, ProtocolError> {
        self.take().map(u16::from_be_bytes)
    }

    fn i16(&mut self) -> Result<i16, ProtocolError> {
        self.take().map(i16::from_be_bytes)
    }

    fn u32(&mut self) -> Result<u32, ProtocolError> {
        self.take().map(u32::from_be_bytes)
    }

    fn i32(&mut self) -> Result<i32, ProtocolError> {
        self.take().map(i32::from_be_bytes)
    }

    fn c_str(&mut self) -> Result<&'a [u8], ProtocolError> {
        let end = zero_at(self.rest).ok_or_else(|| self.bad())?;
        let text = &self.rest[..end];
        self.rest = &self.rest[end + 1..];
        Ok(text)
    }
}
