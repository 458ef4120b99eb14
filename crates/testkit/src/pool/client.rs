//! One client of a pool: a thread that hands its messages to a session of the server while it is in
//! a transaction.

use std::io::{self, ErrorKind, Read, Write};
use std::net::TcpStream;

use rustix::event::{PollFd, PollFlags, poll};

use super::message::{first_length, server_message};
use super::sessions::{Pool, Pools, Session};
use super::startup::{Refusal, Request, request};
use crate::upstream::Socket;

/// No more is read for a side that does not take what it has.
const PENDING_MAX_BYTES: usize = 1 << 20;

/// Serves a client until it ends.
pub(super) fn serve(client: TcpStream, pools: &Pools) -> io::Result<()> {
    let mut socket = Socket::Tcp(client);
    let startup = match request(&mut socket)? {
        Request::Session(startup) => startup,
        Request::Cancel(key) => return pools.cancel(&key),
    };
    let pool = pools.pool(startup);
    let (welcome, key) = match pools.welcome(&pool) {
        Ok(welcome) => welcome,
        Err(refusal) => return refuse(&mut socket, refusal),
    };
    let answer = [
        welcome.messages,
        server_message(b'K', &key),
        server_message(b'Z', b"I"),
    ];
    socket.write_all(&answer.concat())?;
    socket.set_nonblocking(true)?;
    let mut client = Client {
        socket,
        key,
        pools,
        pool: &pool,
        received: Vec::new(),
        to_client: Vec::new(),
    };
    client.work()
}

fn refuse(client: &mut Socket, refusal: Refusal) -> io::Result<()> {
    match refusal {
        Refusal::Message(message) => client.write_all(&message),
        Refusal::Io => Err(ErrorKind::ConnectionAborted.into()),
    }
}

struct Client<'a> {
    socket: Socket,
    /// What it cancels its statements with.
    key: Vec<u8>,
    pools: &'a Pools,
    pool: &'a Pool,
    /// What has come from it and was not handed on.
    received: Vec<u8>,
    to_client: Vec<u8>,
}

/// What is under way in a session.
#[derive(Debug, Default)]
struct Course {
    awaited: u64,
    /// Messages were sent that no Sync has followed yet.
    is_unsynced: bool,
    /// The last request was a simple query.
    is_simple: bool,
    /// The last ReadyForQuery was outside of a transaction.
    is_idle: bool,
}

impl Course {
    /// A message from the client.
    fn sent(&mut self, tag: u8) {
        match tag {
            b'Q' | b'F' | b'S' => {
                self.awaited += 1;
                self.is_unsynced = false;
                self.is_simple = tag == b'Q';
            }
            b'd' => {}
            // A server in copy mode ignores the Sync that came before ("COPY Operations").
            b'c' | b'f' if !self.is_simple => self.awaited = 0,
            b'c' | b'f' => {}
            _ => {
                self.is_unsynced = true;
                self.is_simple = false;
            }
        }
    }

    /// A message of the server.
    fn answered(&mut self, message: &[u8]) {
        if message[0] == b'Z' {
            self.awaited = self.awaited.saturating_sub(1);
            self.is_idle = message.get(5) == Some(&b'I');
        }
    }

    /// Whether everything is answered, outside of a transaction.
    fn is_over(&self) -> bool {
        self.is_idle && self.awaited == 0 && !self.is_unsynced
    }
}

impl Client<'_> {
    /// Transaction by transaction, until the client ends; an error is an end that cannot be decided
    /// it.
    fn work(&mut self) -> io::Result<()> {
        loop {
            let tag = self.next_tag()?;
            match tag {
                b'X' => return Ok(()),
                // The rest of a copy that has failed.
                b'd' | b'c' | b'f' => {
                    self.take_message()?;
                }
                _ => {
                    let session = match self.pools.take(self.pool) {
                        Ok(session) => session,
                        Err(refusal) => return refuse(&mut self.socket, refusal),
                    };
                    self.pools.set_cancel_key(&self.key, Some(&session.key));
                    let left = self.transaction(session);
                    self.pools.set_cancel_key(&self.key, None);
                    // One that is still in a transaction is closed: the server rolls back.
                    let (session, result) = match left {
                        Ok(session) => (Some(session), Ok(())),
                        Err(error) => (None, Err(error)),
                    };
                    self.pool.give_back(session);
                    result?;
                }
            }
        }
    }

    /// Waits for a whole message of a client that has no session; its tag.
    fn next_tag(&mut self) -> io::Result<u8> {
        while first_length(&self.received)?.is_none() {
            let mut wanted = PollFlags::IN;
            if !self.to_client.is_empty() {
                wanted |= PollFlags::OUT;
            }
            let _ = poll(&mut [PollFd::new(&self.socket, wanted)], None);
            flush(&mut self.socket, &mut self.to_client)?;
            fill(&mut self.socket, &mut self.received)?;
        }
        Ok(self.received[0])
    }

    fn take_message(&mut self) -> io::Result<Option<Vec<u8>>> {
        let length = first_length(&self.received)?;
        Ok(length.map(|length| self.received.drain(..length).collect()))
    }

    /// Joins client and session until the session is free; then gives it back.
    fn transaction(&mut self, mut session: Session) -> io::Result<Session> {
        let mut course = Course::default();
        let (mut to_server, mut from_server) = (Vec::new(), Vec::new());
        loop {
            while to_server.len() < PENDING_MAX_BYTES
                && let Some(message) = self.take_message()?
            {
                if message[0] == b'X' {
                    return Err(ErrorKind::ConnectionAborted.into());
                }
                course.sent(message[0]);
                to_server.extend(message);
            }
            flush(&mut session.socket, &mut to_server)?;
            flush(&mut self.socket, &mut self.to_client)?;

            let wanted = |pending_in: &[u8], pending_out: &[u8]| {
                let mut flags = PollFlags::empty();
                flags.set(PollFlags::IN, pending_in.len() < PENDING_MAX_BYTES);
                flags.set(PollFlags::OUT, !pending_out.is_empty());
                flags
            };
            let mut fds = [
                PollFd::new(&self.socket, wanted(&to_server, &self.to_client)),
                PollFd::new(&session.socket, wanted(&self.to_client, &to_server)),
            ];
            let _ = poll(&mut fds, None);
            let can_read = [0, 1].map(|at: usize| {
                let ends = PollFlags::IN | PollFlags::HUP | PollFlags::ERR;
                fds[at].revents().intersects(ends)
            });
            if can_read[0] {
                fill(&mut self.socket, &mut self.received)?;
            }
            if can_read[1] {
                let end = fill(&mut session.socket, &mut from_server);
                while let Some(length) = first_length(&from_server)? {
                    course.answered(&from_server[..length]);
                    self.to_client.extend(from_server.drain(..length));
                }
                if end.is_err() {
                    // The client reads what the server said last, then the end.
                    let _ = self.socket.set_nonblocking(false);
                    self.socket.write_all(&self.to_client)?;
                }
                end?;
                if course.is_over() && to_server.is_empty() && from_server.is_empty() {
                    return Ok(session);
                }
            }
        }
    }
}

/// Reads what there is; an end is an error.
fn fill(from: &mut Socket, to: &mut Vec<u8>) -> io::Result<()> {
    let mut buffer = [0; 16 << 10];
    match from.read(&mut buffer) {
        Ok(0) => Err(ErrorKind::UnexpectedEof.into()),
        Ok(count) => {
            to.extend_from_slice(&buffer[..count]);
            Ok(())
        }
        Err(e) if is_for_now(&e) => Ok(()),
        Err(e) => Err(e),
    }
}

/// Writes as much as is taken.
fn flush(to: &mut Socket, pending: &mut Vec<u8>) -> io::Result<()> {
    if pending.is_empty() {
        return Ok(());
    }
    match to.write(pending) {
        Ok(count) => {
            pending.drain(..count);
            Ok(())
        }
        Err(e) if is_for_now(&e) => Ok(()),
        Err(e) => Err(e),
    }
}

fn is_for_now(error: &io::Error) -> bool {
    matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::Interrupted)
}

#[cfg(test)]
mod tests {
    use super::*;

    const IDLE: &[u8] = b"Z\0\0\0\x05I";
    const IN_BLOCK: &[u8] = b"Z\0\0\0\x05T";

    fn is_over(sent: &[u8], answers: &[&[u8]]) -> bool {
        let mut course = Course::default();
        sent.iter().for_each(|tag| course.sent(*tag));
        answers.iter().for_each(|answer| course.answered(answer));
        course.is_over()
    }

    #[test]
    fn a_session_is_free_when_everything_is_answered_outside_of_a_transaction() {
        let complete = b"C\0\0\0\x04";
        assert!(is_over(b"Q", &[complete, IDLE]));
        assert!(!is_over(b"Q", &[complete]));
        assert!(!is_over(b"Q", &[IN_BLOCK]));
        assert!(!is_over(b"PBESQ", &[IDLE]));
        assert!(is_over(b"PBESQ", &[IDLE, IDLE]));
        // Another request has begun.
        assert!(!is_over(b"QP", &[IDLE]));
        // What a server says by itself changes nothing.
        assert!(is_over(b"Q", &[IDLE, b"N\0\0\0\x04"]));
    }

    #[test]
    fn a_copy_is_one_request_in_either_protocol() {
        assert!(is_over(b"Qddc", &[IDLE]));
        // Sync before the data, which the server ignores, and after them.
        assert!(is_over(b"PBESddcS", &[IDLE]));
    }
}
