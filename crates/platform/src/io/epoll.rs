//! [`Io`] over epoll, edge-triggered: one registration a connection, and after that one system
//! call to send, one to wait and one to receive.

mod alarm;

use std::io;
use std::os::fd::OwnedFd;
use std::time::Duration;

use rustix::buffer::spare_capacity;
use rustix::event::{Timespec, epoll};
use rustix::io::Errno;
use rustix::net::{RecvFlags, SendFlags, recv, send};

use alarm::Alarm;

use super::{Event, Io, Key, Socket, Waker};

/// How many events one wait may bring; more wait for the next.
const EVENTS_MAX: usize = 256;
/// The waker's token; no connection has one as low, because generations start at 1.
const WAKER: u64 = 0;
const ALARM: u64 = 1;

/// The sockets of one event loop, watched by epoll.
pub struct Epoll {
    epoll: OwnedFd,
    waker: Waker,
    alarm: Alarm,
    connections: Vec<Connection>,
    /// What the last wait brought, and how much of it has been looked at.
    events: Vec<epoll::Event>,
    seen: usize,
}

// SAFETY: the events' data are numbers; that the kernel's type for them may also hold a pointer is what
// keeps it from being `Send` by itself.
unsafe impl Send for Epoll {}

/// One connection's place in the table. `generation` grows with each socket that has this key, so
/// that an event of an earlier socket is distinguished.
#[derive(Debug, Default)]
struct Connection {
    socket: Option<OwnedFd>,
    generation: u32,
    connecting: bool,
    /// What the kernel has not taken yet.
    unsent: Vec<u8>,
    /// Whether epoll tells when there is room to send.
    awaits_room: bool,
}

/// What a connection is watched for. Room to send only while something waits for it: a server that
/// reads from a Unix socket makes room each time, and each time would wake us for nothing.
fn interest(awaits_room: bool) -> epoll::EventFlags {
    let always = epoll::EventFlags::IN | epoll::EventFlags::RDHUP | epoll::EventFlags::ET;
    if awaits_room {
        always | epoll::EventFlags::OUT
    } else {
        always
    }
}

fn token(key: Key, generation: u32) -> u64 {
    u64::from(generation) << 32 | u64::from(key)
}

impl Epoll {
    /// # Errors
    /// No file descriptor to be had.
    pub fn new() -> io::Result<Self> {
        let epoll = epoll::create(epoll::CreateFlags::CLOEXEC)?;
        let waker = Waker::new()?;
        epoll::add(
            &epoll,
            waker.fd(),
            epoll::EventData::new_u64(WAKER),
            epoll::EventFlags::IN,
        )?;
        let alarm = Alarm::new()?;
        epoll::add(
            &epoll,
            alarm.fd(),
            epoll::EventData::new_u64(ALARM),
            epoll::EventFlags::IN | epoll::EventFlags::ET,
        )?;
        let events = Vec::with_capacity(EVENTS_MAX);
        Ok(Self {
            epoll,
            waker,
            alarm,
            connections: Vec::new(),
            events,
            seen: 0,
        })
    }

    /// The kernel was not asked to take all of these bytes, or has not taken it.
    #[cold]
    #[inline(never)]
    fn send_rest(&mut self, key: Key, bytes: &[u8], sent: Result<usize, Errno>) -> io::Result<()> {
        let connection = &mut self.connections[key as usize];
        let Some(socket) = &connection.socket else {
            return Err(io::ErrorKind::NotConnected.into());
        };
        let mut rest = match sent {
            Ok(sent) => &bytes[sent..],
            Err(Errno::AGAIN | Errno::INTR) => bytes,
            Err(error) => return Err(error.into()),
        };
        if connection.unsent.is_empty() && !connection.connecting {
            rest = &rest[send_some(socket, rest)?..];
        }
        if !rest.is_empty() {
            connection.unsent.extend_from_slice(rest);
            connection.watch(&self.epoll, key)?;
        }
        Ok(())
    }

    /// The socket that a token speaks of, unless it is gone or not connected yet.
    #[inline]
    fn open_socket(&self, token: u64) -> Option<&OwnedFd> {
        let connection = self.connections.get(token as u32 as usize)?;
        let is_it = connection.generation == (token >> 32) as u32 && !connection.connecting;
        connection.socket.as_ref().filter(|_| is_it)
    }

    /// What an event is that is not bytes of an open connection alone, if anyone waits for it.
    #[cold]
    #[inline(never)]
    fn other_event(
        &mut self,
        token: u64,
        flags: epoll::EventFlags,
        buffer: &mut [u8],
    ) -> Option<Event> {
        // Until it is known that there is more to it.
        self.seen += 1;
        if token == WAKER {
            self.waker.drain();
            return None;
        }
        if token == ALARM {
            self.alarm.rang();
            return None;
        }
        let key = token as u32;
        let connection = &mut self.connections[key as usize];
        let socket = connection.socket.as_ref()?;
        if connection.generation != (token >> 32) as u32 {
            return None;
        }
        if connection.connecting {
            connection.connecting = false;
            return Some(match Socket::pending_error(socket) {
                Ok(()) => {
                    self.seen -= 1;
                    Event::Connected
                }
                Err(error) => Event::Failed(error),
            });
        }
        if flags.contains(epoll::EventFlags::OUT)
            && let Err(error) = connection
                .flush()
                .and_then(|()| connection.watch(&self.epoll, key))
        {
            return Some(Event::Failed(error));
        }
        let has_hung_up = flags
            .intersects(epoll::EventFlags::RDHUP | epoll::EventFlags::HUP | epoll::EventFlags::ERR);
        if !has_hung_up && !flags.contains(epoll::EventFlags::IN) {
            return None;
        }
        let socket = connection.socket.as_ref()?;
        self.seen -= 1;
        let received = recv(socket, &mut *buffer, RecvFlags::empty());
        let received = received.map(|(_, count)| count);
        self.otherwise_received(received, buffer.len(), has_hung_up)
    }

    /// What a receive has come to, unless it is some bytes and then no more: an end, an error, perhaps more bytes.
    #[cold]
    #[inline(never)]
    fn otherwise_received(
        &mut self,
        received: Result<usize, Errno>,
        room: usize,
        has_hung_up: bool,
    ) -> Option<Event> {
        // A full buffer, or a peer that has hung up behind its last words, is looked at again, and so is what was
        // interrupted.
        let is_over = match received {
            Ok(count) => count == 0 || (count < room && !has_hung_up),
            Err(error) => error != Errno::INTR,
        };
        self.seen += usize::from(is_over);
        match received {
            Ok(0) => Some(Event::Closed),
            Ok(count) => Some(Event::Received(count)),
            Err(Errno::AGAIN | Errno::INTR) => None,
            Err(error) => Some(Event::Failed(error.into())),
        }
    }

    fn connection(&mut self, key: Key) -> &mut Connection {
        let index = key as usize;
        if index >= self.connections.len() {
            self.connections.resize_with(index + 1, Connection::default);
        }
        &mut self.connections[index]
    }
}

impl Connection {
    fn flush(&mut self) -> io::Result<()> {
        let Some(socket) = &self.socket else {
            return Ok(());
        };
        let sent = send_some(socket, &self.unsent)?;
        self.unsent.drain(..sent);
        Ok(())
    }

    /// Makes epoll tell of room to send while there is something to send, and no longer.
    fn watch(&mut self, epoll: &OwnedFd, key: Key) -> io::Result<()> {
        let awaits_room = self.connecting || !self.unsent.is_empty();
        if let Some(socket) = &self.socket
            && awaits_room != self.awaits_room
        {
            let data = epoll::EventData::new_u64(token(key, self.generation));
            // What is ready already is reported again: no edge is lost in between.
            epoll::modify(epoll, socket, data, interest(awaits_room))?;
            self.awaits_room = awaits_room;
        }
        Ok(())
    }
}

fn timespec(ns: u64) -> Timespec {
    let time = Duration::from_nanos(ns);
    Timespec {
        tv_sec: i64::try_from(time.as_secs()).unwrap_or(i64::MAX),
        tv_nsec: time.subsec_nanos().into(),
    }
}

/// Sends what the kernel takes now and says how much that was.
fn send_some(socket: &OwnedFd, bytes: &[u8]) -> io::Result<usize> {
    let mut sent = 0;
    while sent < bytes.len() {
        match send(socket, &bytes[sent..], SendFlags::NOSIGNAL) {
            Ok(count) => sent += count,
            Err(Errno::AGAIN) => break,
            Err(Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
    }
    Ok(sent)
}

impl Io for Epoll {
    fn open(&mut self, key: Key, socket: Socket) -> io::Result<()> {
        self.close(key);
        let connection = self.connection(key);
        connection.generation = connection.generation.wrapping_add(1).max(1);
        connection.connecting = socket.connecting;
        connection.awaits_room = socket.connecting;
        let generation = connection.generation;
        let flags = interest(socket.connecting);
        epoll::add(
            &self.epoll,
            &socket.fd,
            epoll::EventData::new_u64(token(key, generation)),
            flags,
        )?;
        self.connection(key).socket = Some(socket.fd);
        Ok(())
    }

    fn close(&mut self, key: Key) {
        let connection = self.connection(key);
        // Closing the last descriptor takes it out of epoll's set as well.
        connection.socket = None;
        connection.unsent.clear();
    }

    #[inline]
    fn send(&mut self, key: Key, bytes: &[u8]) -> io::Result<()> {
        let connection = &self.connections[key as usize];
        let mut sent = Ok(0);
        if let Some(socket) = &connection.socket
            && connection.unsent.is_empty()
            && !connection.connecting
        {
            sent = send(socket, bytes, SendFlags::NOSIGNAL);
            if sent == Ok(bytes.len()) {
                return Ok(());
            }
        }
        self.send_rest(key, bytes, sent)
    }

    fn wait(&mut self, now_ns: u64, deadline_ns: Option<u64>) -> io::Result<()> {
        if self.seen < self.events.len() {
            return Ok(());
        }
        self.events.clear();
        self.seen = 0;
        let timeout = match deadline_ns {
            Some(at_ns) if !self.alarm.is_set_for(now_ns, at_ns)? => {
                Some(timespec(at_ns.saturating_sub(now_ns)))
            }
            _ => None,
        };
        match epoll::wait(
            &self.epoll,
            spare_capacity(&mut self.events),
            timeout.as_ref(),
        ) {
            Ok(_) | Err(Errno::INTR) => Ok(()),
            Err(error) => Err(error.into()),
        }
    }

    #[inline]
    fn next(&mut self, buffer: &mut [u8]) -> Option<(Key, Event)> {
        while let Some(event) = self.events.get(self.seen) {
            let (token, flags) = (event.data.u64(), event.flags);
            let key = token as u32;
            let open = if flags == epoll::EventFlags::IN {
                self.open_socket(token)
            } else {
                None
            };
            let Some(socket) = open else {
                if let Some(event) = self.other_event(token, flags, buffer) {
                    return Some((key, event));
                }
                continue;
            };
            let received = recv(socket, &mut *buffer, RecvFlags::empty());
            // A buffer not filled means that the socket is empty: with edge triggering the next byte makes a new
            // event.
            if let Ok((_, count)) = received
                && count > 0
                && count < buffer.len()
            {
                self.seen += 1;
                return Some((key, Event::Received(count)));
            }
            let received = received.map(|(_, count)| count);
            if let Some(event) = self.otherwise_received(received, buffer.len(), false) {
                return Some((key, event));
            }
        }
        None
    }

    fn waker(&self) -> Waker {
        self.waker.clone()
    }
}
