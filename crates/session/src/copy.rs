//! `COPY … FROM STDIN`: rows out in large pieces, the server's verdict back.

use pgdyno_wire::ServerError;
use pgdyno_wire::backend::Message;
use pgdyno_wire::frontend::{self, COPY_DATA_BEGINNING};

use crate::error::Error;
use crate::session::{Session, usage};

/// Bytes collected before they are sent as one message.
const PIECE_BYTES: usize = 256 * 1024;

impl Session {
    /// Starts a `COPY … FROM STDIN`. Other statements may stand before it in `sql`.
    pub fn copy_in(&mut self, sql: &str) -> Result<CopyIn<'_>, Error> {
        self.start_query(sql)?;
        let mut failed: Option<Error> = None;
        loop {
            let range = self.next_after(&mut failed)?;
            match self.parse(&range)? {
                Message::CopyInResponse { .. } => return Ok(CopyIn::new(self)),
                Message::ReadyForQuery(status) => {
                    self.set_status(status);
                    return Err(failed.unwrap_or_else(|| {
                        usage(&format!("the statement is not a COPY FROM STDIN: {sql}"))
                    }));
                }
                Message::ErrorResponse(fields) => {
                    let error = self.refused(ServerError::new(fields));
                    failed.get_or_insert(error);
                }
                Message::CommandComplete(_)
                | Message::EmptyQueryResponse
                | Message::RowDescription(_)
                | Message::DataRow(_)
                | Message::CopyOutResponse { .. }
                | Message::CopyData(_)
                | Message::CopyDone => {}
                _ => return Err(self.unexpected(&range)),
            }
        }
    }

    /// Runs a statement or replication command that sends data (COPY … TO STDOUT, BASE_BACKUP), and gives
    /// them to `take` as they come; rows are left out. Returns the number of bytes.
    ///
    /// # Errors
    /// The server refuses it, or the connection is lost.
    pub fn copy_out(&mut self, sql: &str, take: &mut dyn FnMut(&[u8])) -> Result<u64, Error> {
        self.start_query(sql)?;
        let (mut failed, mut bytes) = (None, 0);
        loop {
            let range = self.next_after(&mut failed)?;
            match self.parse(&range)? {
                Message::CopyData(data) => {
                    bytes += data.len() as u64;
                    take(data);
                }
                Message::ReadyForQuery(status) => {
                    self.set_status(status);
                    return failed.map_or(Ok(bytes), Err);
                }
                Message::ErrorResponse(fields) => {
                    let error = self.refused(ServerError::new(fields));
                    failed.get_or_insert(error);
                }
                Message::CommandComplete(_)
                | Message::EmptyQueryResponse
                | Message::RowDescription(_)
                | Message::DataRow(_)
                | Message::CopyOutResponse { .. }
                | Message::CopyDone => {}
                _ => return Err(self.unexpected(&range)),
            }
        }
    }
}

/// A copy under way. Dropping it unfinished abandons it: nothing is stored.
pub struct CopyIn<'a> {
    session: &'a mut Session,
    /// A message under way: its beginning, and what is collected for it.
    buffer: Vec<u8>,
    /// Whether the server has had its last word.
    over: bool,
}

impl<'a> CopyIn<'a> {
    fn new(session: &'a mut Session) -> CopyIn<'a> {
        let mut buffer = Vec::with_capacity(PIECE_BYTES + 4096);
        buffer.extend_from_slice(&COPY_DATA_BEGINNING);
        CopyIn {
            session,
            buffer,
            over: false,
        }
    }

    /// Adds bytes in COPY's format. Rows need not end where a call ends. An error of the server
    /// may be about any row sent so far; after it nothing more is accepted.
    pub fn write(&mut self, bytes: &[u8]) -> Result<(), Error> {
        self.write_with(|buffer| buffer.extend_from_slice(bytes))
    }

    /// Adds bytes that `write` appends to the buffer in place.
    pub fn write_with(&mut self, write: impl FnOnce(&mut Vec<u8>)) -> Result<(), Error> {
        write(&mut self.buffer);
        if self.buffer.len() >= PIECE_BYTES {
            self.flush()
        } else {
            Ok(())
        }
    }

    fn flush(&mut self) -> Result<(), Error> {
        if self.over {
            return Err(Error::Usage("the copy has failed already".to_owned()));
        }
        self.session.heed_interrupts()?;
        // The server reports an error while rows are still being sent: there is no use in sending
        // the rest.
        if let Some(range) = self.session.answer_is_here()? {
            return match self.verdict(Some(range)) {
                Err(error) => Err(error),
                Ok(_) => Err(Error::Protocol(
                    "the server ended the copy early".to_owned(),
                )),
            };
        }
        let CopyIn {
            session, buffer, ..
        } = self;
        frontend::end_copy_data(buffer);
        // Nothing is left to be sent from before: the whole message changes places with that buffer.
        session.send(|out| {
            if out.is_empty() {
                std::mem::swap(out, buffer)
            } else {
                out.append(buffer)
            }
        })?;
        session.request_goes_on();
        buffer.clear();
        buffer.extend_from_slice(&COPY_DATA_BEGINNING);
        Ok(())
    }

    /// Sends what is left and returns how many rows the server stored.
    pub fn finish(mut self) -> Result<u64, Error> {
        if self.buffer.len() > COPY_DATA_BEGINNING.len() {
            self.flush()?;
        }
        if self.over {
            return Err(Error::Usage("the copy has failed already".to_owned()));
        }
        self.session.send(frontend::copy_done)?;
        self.verdict(None)
    }

    /// Gives up: nothing is stored. The session can be used again.
    pub fn abort(mut self, reason: &str) -> Result<(), Error> {
        self.give_up(reason)
    }

    fn give_up(&mut self, reason: &str) -> Result<(), Error> {
        if self.over {
            return Ok(());
        }
        self.session.is_given_up();
        self.session.send(|out| frontend::copy_fail(out, reason))?;
        match self.verdict(None) {
            Err(Error::Interrupted { said: Some(_), .. }) => Ok(()),
            // 57014, query_canceled, is how the server confirms it.
            Err(Error::Server(error)) if error.sqlstate() == "57014" => Ok(()),
            Err(error) => Err(error),
            Ok(_) => Err(Error::Protocol(
                "the server stored a copy that was given up".to_owned(),
            )),
        }
    }

    /// Reads to the end of the request. `first` is an answer that is here already.
    fn verdict(&mut self, first: Option<std::ops::Range<usize>>) -> Result<u64, Error> {
        self.over = true;
        let mut next = first;
        let mut rows = 0;
        let mut failed: Option<Error> = None;
        loop {
            let range = match next.take() {
                Some(range) => range,
                None => self.session.next_after(&mut failed)?,
            };
            match self.session.parse(&range)? {
                Message::ReadyForQuery(status) => {
                    self.session.set_status(status);
                    return match failed {
                        Some(error) => Err(error),
                        None => Ok(rows),
                    };
                }
                Message::ErrorResponse(fields) => {
                    let error = self.session.refused(ServerError::new(fields));
                    failed.get_or_insert(error);
                }
                Message::CommandComplete(complete) => rows = complete.rows().unwrap_or(rows),
                _ => return Err(self.session.unexpected(&range)),
            }
        }
    }
}

impl Drop for CopyIn<'_> {
    fn drop(&mut self) {
        if !self.over && !self.session.is_broken() {
            // Who cares for the outcome calls finish or abort.
            let _ = self.give_up("the client gave up the copy");
        }
    }
}
