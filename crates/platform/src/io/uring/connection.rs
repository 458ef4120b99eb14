//! One connection's place in the table: what is to be sent, and what the kernel has been asked for.

use std::io;
use std::os::fd::{AsRawFd, OwnedFd};

use io_uring::types::Fd;
use io_uring::{opcode, squeue};

use super::super::{Event, Key, Socket};
use super::buffers::GROUP;

const GENERATIONS: u32 = 1 << 30;

/// Whose completion it is, and of what: 2 bits for the kind, 30 for the generation, 32 for the key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Token {
    pub(super) kind: Kind,
    pub(super) generation: u32,
    pub(super) key: Key,
}

/// What the kernel was asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// To receive, until further notice.
    Receive,
    /// To send; it tells only of what it could not send.
    Send,
    /// To report when there is room to send, or the connection is established.
    Room,
}

impl From<u64> for Token {
    fn from(number: u64) -> Self {
        let kind = match number >> 62 {
            0 => Kind::Receive,
            1 => Kind::Send,
            _ => Kind::Room,
        };
        Self {
            kind,
            generation: (number >> 32) as u32 % GENERATIONS,
            key: number as u32,
        }
    }
}

impl From<Token> for u64 {
    fn from(token: Token) -> Self {
        (token.kind as u64) << 62 | u64::from(token.generation) << 32 | u64::from(token.key)
    }
}

/// One connection. `generation` grows with each socket that has this key, so that a completion of an
/// earlier one is distinguished.
#[derive(Debug, Default)]
pub(super) struct Connection {
    pub(super) socket: Option<OwnedFd>,
    pub(super) generation: u32,
    connecting: bool,
    /// Whether it is in the list of those to register with the kernel.
    pub(super) is_dirty: bool,
    /// Whether the kernel has been asked to receive.
    receives: bool,
    is_at_end: bool,
    /// Nothing can be sent before the kernel says so.
    awaits_room: bool,
    /// Whether it has been asked to.
    asks_for_room: bool,
    /// What was handed to the kernel last. It reads from here during a wait only, and leaves
    /// nothing unread when it says nothing.
    flying: Vec<u8>,
    /// How much of it the kernel has, as far as is known, and where the last send began.
    sent: usize,
    resumed: usize,
    /// What is to be sent next.
    pub(super) unsent: Vec<u8>,
}

impl Connection {
    pub(super) fn open(&mut self, socket: Socket) {
        let mut memory = std::mem::take(self);
        memory.flying.clear();
        memory.unsent.clear();
        *self = Self {
            generation: (memory.generation + 1) % GENERATIONS,
            connecting: socket.connecting,
            awaits_room: socket.connecting,
            socket: Some(socket.fd),
            is_dirty: memory.is_dirty,
            flying: memory.flying,
            unsent: memory.unsent,
            ..Self::default()
        };
    }

    /// Takes the socket out. What the kernel has not taken yet is offered to it once more.
    pub(super) fn close(&mut self) {
        let Some(socket) = self.socket.take() else {
            return;
        };
        if !self.awaits_room && !self.unsent.is_empty() {
            use rustix::net::SendFlags;
            let flags = SendFlags::NOSIGNAL | SendFlags::DONTWAIT;
            // The connection ends; who does not take its last words does not get them.
            let _ = rustix::net::send(&socket, &self.unsent, flags);
        }
        // The request to receive holds the socket open beyond its descriptor's end.
        let _ = rustix::net::shutdown(&socket, rustix::net::Shutdown::Both);
        self.unsent.clear();
    }

    /// The next request to the kernel. What is received is bundled where the kernel does that well.
    pub(super) fn next_entry(&mut self, key: Key, bundles: bool) -> Option<squeue::Entry> {
        let fd = Fd(self.socket.as_ref()?.as_raw_fd());
        let token = |kind| {
            let generation = self.generation;
            u64::from(Token {
                kind,
                generation,
                key,
            })
        };
        if !(self.connecting || self.receives || self.is_at_end) {
            self.receives = true;
            let receive = if bundles {
                opcode::RecvMultiBundle::new(fd, GROUP).build()
            } else {
                opcode::RecvMulti::new(fd, GROUP).build()
            };
            return Some(receive.user_data(token(Kind::Receive)));
        }
        if self.awaits_room {
            let is_asked = std::mem::replace(&mut self.asks_for_room, true);
            let poll = || opcode::PollAdd::new(fd, libc::POLLOUT as u32).build();
            return (!is_asked).then(|| poll().user_data(token(Kind::Room)));
        }
        if self.sent == self.flying.len() && !self.unsent.is_empty() {
            self.flying.clear();
            std::mem::swap(&mut self.flying, &mut self.unsent);
            self.sent = 0;
        }
        let bytes = &self.flying[self.sent..];
        if bytes.is_empty() {
            return None;
        }
        let length = u32::try_from(bytes.len()).unwrap_or(u32::MAX);
        // All of it or, where there is no room, as much as there is, and to say so.
        let flags = libc::MSG_NOSIGNAL | libc::MSG_DONTWAIT | libc::MSG_WAITALL;
        let send = opcode::Send::new(fd, bytes.as_ptr(), length)
            .flags(flags)
            .build()
            .flags(squeue::Flags::SKIP_SUCCESS)
            .user_data(token(Kind::Send));
        self.resumed = self.sent;
        self.sent += length as usize;
        Some(send)
    }

    /// Whether the kernel needs a new request. What is to be sent says so itself.
    pub(super) fn has_entry(&self) -> bool {
        let asks_to_receive = !(self.connecting || self.receives || self.is_at_end);
        let asks_for_room = self.awaits_room && !self.asks_for_room;
        asks_to_receive || asks_for_room || self.sent < self.flying.len() || !self.unsent.is_empty()
    }

    /// Bytes have arrived (where they are is reported elsewhere), the peer's end, or an error; the kernel
    /// goes on receiving or not.
    pub(super) fn received(&mut self, result: i32, goes_on: bool) -> Option<Event> {
        self.receives &= goes_on;
        match -result {
            // All buffers were taken; it is asked again, and they have been given back by then.
            libc::ENOBUFS | libc::EINTR | libc::EAGAIN => None,
            0 => {
                self.is_at_end = true;
                Some(Event::Closed)
            }
            ..0 => None,
            error => {
                self.is_at_end = true;
                Some(Event::Failed(io::Error::from_raw_os_error(error)))
            }
        }
    }

    /// The kernel has not taken all that it was to send: `result` says how much, or why nothing.
    pub(super) fn not_sent(&mut self, result: i32) -> Option<Event> {
        let error = io::Error::from_raw_os_error(-result);
        let is_wait = matches!(-result, libc::EAGAIN | libc::EINTR | libc::ENOBUFS);
        if result >= 0 || is_wait {
            self.sent = self.resumed + usize::try_from(result).unwrap_or(0);
            self.awaits_room = true;
            return None;
        }
        // The peer is gone. Its last words are still to be received, and then its end.
        let is_reported_later = matches!(-result, libc::EPIPE | libc::ECONNRESET) && self.receives;
        (!is_reported_later).then_some(Event::Failed(error))
    }

    /// There is room to send, or the connection is established or has failed.
    pub(super) fn has_room(&mut self) -> Option<Event> {
        (self.awaits_room, self.asks_for_room) = (false, false);
        if !std::mem::take(&mut self.connecting) {
            return None;
        }
        match Socket::pending_error(self.socket.as_ref()?) {
            Ok(()) => Some(Event::Connected),
            Err(error) => {
                self.is_at_end = true;
                Some(Event::Failed(error))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_keeps_what_it_was_made_of() {
        for kind in [Kind::Receive, Kind::Send, Kind::Room] {
            for (generation, key) in [(0, 0), (GENERATIONS - 1, u32::MAX), (7, 1)] {
                let token = Token {
                    kind,
                    generation,
                    key,
                };
                assert_eq!(Token::from(u64::from(token)), token);
            }
        }
    }
}
