//! What the server answers to one statement. Rows are summed up and not kept, but for keys.

use pgdyno_recording::result::{Column, Summing, canonical, columns, row_sum};
use pgdyno_wire::backend::{DataRow, Message, ProtocolError, split, tag};
use pgdyno_wire::limits::DATA_BYTES_MAX;

/// A longer row is passed over while it comes.
const ROW_BYTES_MAX: usize = 1 << 20;
/// More values than any recorded result has are of no use.
const VALUES_MAX: usize = 500;

/// Bytes of a server's messages up to where they were taken apart.
#[derive(Debug, Default)]
pub struct Inbox {
    bytes: Vec<u8>,
    /// Bytes of a row that are still to come.
    skip: usize,
}

/// What has come of a statement so far.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Answer {
    pub summing: Summing,
    pub error: Option<Failed>,
    /// It ends with the command's end: no Sync was sent.
    pub is_flushed: bool,
    /// What the server says of the transaction at its end.
    pub is_in_transaction: bool,
    columns: Vec<Column>,
    /// Columns whose values are wanted, in order, and their values row by row.
    wanted: Vec<u16>,
    pub values: Vec<Option<Vec<u8>>>,
    /// Hashes of all values but times, row by row, where values are wanted.
    hashes: Vec<u32>,
}

/// Who knows which keys differ from the recording's.
pub trait Translate {
    /// The columns of a result.
    fn described(&mut self, columns: &[Column]);
    /// The recorded hash of a column's value.
    fn then(&self, column: usize, hash: u32) -> u32;
}

/// Takes values as they are.
#[cfg(test)]
pub struct Same;

#[cfg(test)]
impl Translate for Same {
    fn described(&mut self, _: &[Column]) {}

    fn then(&self, _: usize, hash: u32) -> u32 {
        hash
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Failed {
    pub state: String,
    pub message: String,
}

/// What follows from the bytes that came.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Next {
    More,
    /// The server waits for rows, of which there are none.
    CopyIn,
    /// It failed without a Sync, for which the server waits.
    WantsSync,
    Ready,
}

impl Inbox {
    pub fn new(leftover: Vec<u8>) -> Self {
        Self {
            bytes: leftover,
            skip: 0,
        }
    }

    pub fn push(&mut self, mut bytes: &[u8]) {
        let skipped = self.skip.min(bytes.len());
        self.skip -= skipped;
        bytes = &bytes[skipped..];
        self.bytes.extend_from_slice(bytes);
    }

    /// Passes over messages that answer nothing.
    ///
    /// # Errors
    /// They are none of the protocol.
    pub fn pass_over(&mut self) -> Result<Next, ProtocolError> {
        let mut at = 0;
        while let Some(frame) = split(&self.bytes[at..])? {
            at += frame.len;
        }
        self.bytes.drain(..at);
        Ok(Next::More)
    }

    /// Takes messages up to the next one that something follows from.
    ///
    /// # Errors
    /// They are none of the protocol.
    pub fn read(
        &mut self,
        answer: &mut Answer,
        translate: &mut impl Translate,
    ) -> Result<Next, ProtocolError> {
        let mut at = 0;
        let mut next = Next::More;
        while next == Next::More {
            let rest = &self.bytes[at..];
            let Some(frame) = split(rest)? else {
                if let Some((&[tag::DATA_ROW | tag::COPY_DATA, a, b, c, d], _)) =
                    rest.split_first_chunk()
                    && u32::from_be_bytes([a, b, c, d]) as usize > ROW_BYTES_MAX
                {
                    let length =
                        (1 + u32::from_be_bytes([a, b, c, d]) as usize).min(DATA_BYTES_MAX);
                    if rest[0] == tag::DATA_ROW {
                        answer.summing.pass_over();
                    }
                    self.skip = length - rest.len();
                    at = self.bytes.len();
                }
                break;
            };
            at += frame.len;
            match frame.tag {
                tag::DATA_ROW => {
                    if let Message::DataRow(row) = frame.parse()? {
                        answer.keep(row);
                        let keeps_values = answer.keeps_values();
                        let then = |column: usize, hash: u32| {
                            if keeps_values {
                                answer.hashes.push(hash);
                            }
                            translate.then(column, hash)
                        };
                        answer.summing.add(&answer.columns, row, then);
                    }
                }
                tag::ROW_DESCRIPTION => {
                    if let Message::RowDescription(description) = frame.parse()? {
                        answer.columns = columns(description).unwrap_or_default();
                        translate.described(&answer.columns);
                    }
                }
                tag::READY_FOR_QUERY => {
                    answer.is_in_transaction = frame.body.first() != Some(&b'I');
                    next = Next::Ready;
                }
                tag::COMMAND_COMPLETE => {
                    if let Message::CommandComplete(complete) = frame.parse()? {
                        answer.summing.ended(complete.rows());
                    }
                    if answer.is_flushed {
                        answer.is_in_transaction = true;
                        next = Next::Ready;
                    }
                }
                tag::EMPTY_QUERY_RESPONSE | tag::PORTAL_SUSPENDED => {
                    answer.summing.ended(None);
                    if answer.is_flushed {
                        answer.is_in_transaction = true;
                        next = Next::Ready;
                    }
                }
                tag::ERROR_RESPONSE => {
                    if let Message::ErrorResponse(fields) = frame.parse()? {
                        let error = pgdyno_wire::ServerError::new(fields);
                        answer.error.get_or_insert(Failed {
                            state: error.sqlstate().to_owned(),
                            message: error.message().to_owned(),
                        });
                    }
                    if std::mem::take(&mut answer.is_flushed) {
                        next = Next::WantsSync;
                    }
                }
                tag::COPY_IN_RESPONSE => next = Next::CopyIn,
                tag::COPY_BOTH_RESPONSE => {
                    return Err(ProtocolError::Unexpected { tag: frame.tag });
                }
                _ => {}
            }
        }
        self.bytes.drain(..at);
        Ok(next)
    }
}

impl Answer {
    /// Of a statement with or without a Sync, and the columns whose values are wanted.
    pub fn new(is_flushed: bool, wanted: Vec<u16>) -> Self {
        Self {
            is_flushed,
            wanted,
            ..Self::default()
        }
    }

    fn keeps_values(&self) -> bool {
        !self.wanted.is_empty() && self.values.len() <= VALUES_MAX
    }

    /// The sum of its result with the recorded hashes of keys, also of those that it has itself brought to light.
    pub fn checksum(&self, then: impl Fn(usize, u32) -> u32) -> Option<u64> {
        let sum = self.summing.clone().finish()?;
        let places = self.columns.iter().enumerate();
        let places: Vec<usize> = places
            .filter_map(|(place, column)| (!column.is_time()).then_some(place))
            .collect();
        if places.is_empty() || !self.keeps_values() {
            return Some(sum.checksum);
        }
        let rows = self.hashes.chunks(places.len());
        let rows =
            rows.map(|row| row_sum(row.iter().zip(&places).map(|(hash, at)| then(*at, *hash))));
        Some(rows.fold(0, u64::wrapping_add))
    }

    fn keep(&mut self, row: DataRow<'_>) {
        if !self.keeps_values() {
            return;
        }
        let mut wanted = self.wanted.iter().peekable();
        let columns = self.columns.iter().zip(row).enumerate();
        for (index, (column, value)) in columns {
            if wanted
                .next_if(|next| usize::from(**next) == index)
                .is_some()
            {
                let mut buffer = [0; 36];
                let value = value.ok().flatten();
                let text = value.map(|value| canonical(column, value, &mut buffer).to_vec());
                self.values.push(text);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn message(tag: u8, body: &[u8]) -> Vec<u8> {
        let length = (body.len() as u32 + 4).to_be_bytes();
        [&[tag][..], &length, body].concat()
    }

    #[test]
    fn rows_are_counted_however_the_bytes_come() {
        let row = message(
            b'D',
            &[&[0, 1, 0, 0, 0x9c, 0x40][..], &[b'x'; 40_000]].concat(),
        );
        let all = [
            row.clone(),
            row,
            message(b'C', b"SELECT 2\0"),
            message(b'Z', b"I"),
        ]
        .concat();
        for size in [1, 7, 39_000, 1 << 20] {
            let (mut inbox, mut answer) = (Inbox::default(), Answer::default());
            let mut next = Next::More;
            for piece in all.chunks(size) {
                assert_eq!(next, Next::More);
                inbox.push(piece);
                next = inbox.read(&mut answer, &mut Same).unwrap();
                assert!(inbox.bytes.len() < 40_100);
            }
            assert_eq!((next, answer.summing.rows()), (Next::Ready, 2), "{size}");
        }
    }

    #[test]
    fn an_error_is_taken_with_its_code_and_nonsense_is_refused() {
        let (mut inbox, mut answer) = (Inbox::default(), Answer::default());
        inbox.push(&message(b'E', b"SERROR\0C40001\0Mno\0\0"));
        inbox.push(&message(b'Z', b"E"));
        assert_eq!(inbox.read(&mut answer, &mut Same), Ok(Next::Ready));
        assert_eq!(
            answer.error.as_ref().map(|error| &*error.state),
            Some("40001")
        );
        inbox.push(&message(b'C', b"UPDATE 3\0"));
        inbox.push(&message(b'G', &[0, 0, 0]));
        let mut answer = Answer::default();
        assert_eq!(inbox.read(&mut answer, &mut Same), Ok(Next::CopyIn));
        assert_eq!(answer.summing.rows(), 3);
        inbox.push(&[b'Z', 0, 0, 0, 1]);
        assert!(inbox.read(&mut answer, &mut Same).is_err());
    }
}
