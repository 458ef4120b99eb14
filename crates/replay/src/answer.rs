//! What the server answers to one statement. Rows are counted and not kept.

use pgdyno_wire::backend::{Message, ProtocolError, split, tag};
use pgdyno_wire::limits::DATA_BYTES_MAX;

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
    /// Rows returned or affected.
    pub rows: u64,
    pub error: Option<Failed>,
    /// The server waits for rows of a COPY.
    pub wants_rows: bool,
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

    /// Takes messages up to the next one that something follows from.
    ///
    /// # Errors
    /// They are none of the protocol.
    pub fn read(&mut self, answer: &mut Answer) -> Result<Next, ProtocolError> {
        let mut at = 0;
        let mut next = Next::More;
        while next == Next::More {
            let rest = &self.bytes[at..];
            let Some(frame) = split(rest)? else {
                if let Some((&[tag::DATA_ROW | tag::COPY_DATA, a, b, c, d], _)) =
                    rest.split_first_chunk()
                {
                    let length =
                        (1 + u32::from_be_bytes([a, b, c, d]) as usize).min(DATA_BYTES_MAX);
                    answer.rows += u64::from(rest[0] == tag::DATA_ROW);
                    self.skip = length - rest.len();
                    at = self.bytes.len();
                }
                break;
            };
            at += frame.len;
            match frame.tag {
                tag::DATA_ROW => answer.rows += 1,
                tag::READY_FOR_QUERY => next = Next::Ready,
                tag::COMMAND_COMPLETE => {
                    if let Message::CommandComplete(complete) = frame.parse()?
                        && let Some(rows) = complete.rows()
                        && !complete.tag.starts_with(b"SELECT")
                        && !complete.tag.starts_with(b"FETCH")
                    {
                        // Those returned by RETURNING are the same ones.
                        answer.rows = answer.rows.max(rows);
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
                next = inbox.read(&mut answer).unwrap();
                assert!(inbox.bytes.len() < 40_100);
            }
            assert_eq!((next, answer.rows), (Next::Ready, 2), "{size}");
        }
    }

    #[test]
    fn an_error_is_taken_with_its_code_and_nonsense_is_refused() {
        let (mut inbox, mut answer) = (Inbox::default(), Answer::default());
        inbox.push(&message(b'E', b"SERROR\0C40001\0Mno\0\0"));
        inbox.push(&message(b'Z', b"E"));
        assert_eq!(inbox.read(&mut answer), Ok(Next::Ready));
        assert_eq!(
            answer.error.as_ref().map(|error| &*error.state),
            Some("40001")
        );
        inbox.push(&message(b'C', b"UPDATE 3\0"));
        inbox.push(&message(b'G', &[0, 0, 0]));
        let mut answer = Answer::default();
        assert_eq!(inbox.read(&mut answer), Ok(Next::CopyIn));
        assert_eq!(answer.rows, 3);
        inbox.push(&[b'Z', 0, 0, 0, 1]);
        assert!(inbox.read(&mut answer).is_err());
    }
}
