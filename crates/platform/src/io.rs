//! Sockets as seen by an event loop: a small trait that readiness (epoll) and completion (io_uring)
//! both fit, and the two backends.
//!
//! The trait speaks of bytes that have arrived and bytes to be sent, never of readiness, so that a
//! completion-based backend (io_uring) needs no change above it. A backend belongs to one thread; only its
//! [`Waker`] may be used from another.

mod backend;
mod epoll;
mod socket;
#[cfg(test)]
mod tests;
mod uring;
mod waker;

pub use backend::{Backend, Choice, Sockets, Used};
pub use epoll::Epoll;
pub use socket::{Socket, TcpOptions, connect_tcp, connect_unix};
pub use uring::Uring;
pub use waker::Waker;

use std::io;
use std::net::SocketAddr;
use std::path::Path;
use std::time::Duration;

use crate::clock::monotonic_ns;

/// Names a connection within one event loop. The user of the loop chooses it, small and dense
/// (it indexes a table).
pub type Key = u32;

/// What became of a connection since it was last looked at.
#[derive(Debug)]
pub enum Event {
    /// A connection that was being opened is open.
    Connected,
    /// So many bytes have arrived and stand at the start of the buffer given to [`Io::next`].
    Received(usize),
    /// The peer has closed the connection; nothing more will arrive.
    Closed,
    /// The connection could not be opened, or broke.
    Failed(io::Error),
}

#[derive(Clone, Copy, Debug)]
pub enum Address<'a> {
    /// TCP, with the options of the socket.
    Tcp(SocketAddr, &'a TcpOptions),
    /// A Unix socket, as [`connect_unix`] takes it, and the user that its server must run as.
    Unix(&'a Path, Option<&'a str>),
}

/// The sockets of one event loop, and its clock. All that an event loop knows of the world comes
/// through here: a simulation implements all of it, the backends all but the clock and how to
/// connect, which are the operating system's.
pub trait Io {
    /// The clock that the loop's times are of: [`monotonic_ns`].
    #[inline]
    fn now_ns(&self) -> u64 {
        monotonic_ns()
    }

    /// Begins a connection under `key`; whether it is still being made, as [`Io::open`] then
    /// reports.
    ///
    /// # Errors
    /// As [`connect_tcp`] and [`connect_unix`].
    fn connect(&mut self, key: Key, address: Address<'_>) -> io::Result<bool> {
        let socket = match address {
            Address::Tcp(address, options) => connect_tcp(address, options),
            Address::Unix(path, peer) => connect_unix(path, peer),
        }?;
        let is_connecting = socket.is_connecting();
        self.open(key, socket).map(|()| is_connecting)
    }

    /// Takes over a socket under `key`. A socket that is still connecting is reported by
    /// [`Event::Connected`] or [`Event::Failed`].
    ///
    /// # Errors
    /// What the operating system says when the socket cannot be watched.
    fn open(&mut self, key: Key, socket: Socket) -> io::Result<()>;

    /// Closes the socket under `key`, if there is one. Events that it still had are dropped, also
    /// when `key` is used again at once.
    fn close(&mut self, key: Key);

    /// Sends `bytes`, in order, behind all that was sent before. What the kernel does not take now
    /// is kept and sent when it does.
    ///
    /// # Errors
    /// The connection is broken. The caller closes it.
    fn send(&mut self, key: Key, bytes: &[u8]) -> io::Result<()>;

    /// Waits until something happens, at most until `deadline_ns` (for ever without one); it may end
    /// earlier without anything having happened. Both times are those of
    /// [`monotonic_ns`](crate::clock::monotonic_ns), `now_ns` as it was read last: a deadline that is
    /// not after it is not waited for. It does not wait while [`Io::next`] has more to give.
    ///
    /// # Errors
    /// What the operating system says; an interrupted wait is no error.
    fn wait(&mut self, now_ns: u64, deadline_ns: Option<u64>) -> io::Result<()>;

    /// As [`Io::wait`], at most for `timeout`.
    ///
    /// # Errors
    /// As [`Io::wait`].
    fn wait_for(&mut self, timeout: Duration) -> io::Result<()> {
        let now_ns = self.now_ns();
        let timeout_ns = u64::try_from(timeout.as_nanos()).unwrap_or(u64::MAX);
        self.wait(now_ns, Some(now_ns.saturating_add(timeout_ns)))
    }

    /// The next thing that happened, its bytes in `buffer`.
    fn next(&mut self, buffer: &mut [u8]) -> Option<(Key, Event)>;

    /// Ends a [`Io::wait`] from another thread.
    fn waker(&self) -> Waker;
}
