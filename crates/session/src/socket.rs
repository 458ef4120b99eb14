//! A socket that never blocks on its own: every wait has a deadline and is a `poll`.

use std::io::{self, ErrorKind, Read, Write};
use std::net::TcpStream;
use std::os::fd::{AsFd, BorrowedFd};
use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr, UnixStream};
use std::time::{Duration, Instant};

use pgdyno_wire::{Addr, Candidate};
use rustix::event::{PollFd, PollFlags, Timespec, poll};

pub(crate) enum Socket {
    Tcp(TcpStream),
    Unix(UnixStream),
}

/// Which of the two is possible without waiting.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Ready {
    pub readable: bool,
    pub writable: bool,
}

impl Socket {
    pub(crate) fn connect(candidate: &Candidate, deadline: Option<Instant>) -> io::Result<Socket> {
        let left = deadline.map(|d| d.saturating_duration_since(Instant::now()));
        if left == Some(Duration::ZERO) {
            return Err(ErrorKind::TimedOut.into());
        }
        match &candidate.addr {
            Addr::Tcp(addr) => {
                let stream = match left {
                    Some(left) => TcpStream::connect_timeout(addr, left)?,
                    None => TcpStream::connect(addr)?,
                };
                stream.set_nodelay(true)?;
                candidate.socket.apply(&stream)?;
                stream.set_nonblocking(true)?;
                Ok(Socket::Tcp(stream))
            }
            Addr::Unix(path) => {
                let stream = match candidate.addr.abstract_name() {
                    Some(name) => UnixStream::connect_addr(&SocketAddr::from_abstract_name(name)?)?,
                    None => UnixStream::connect(path)?,
                };
                stream.set_nonblocking(true)?;
                Ok(Socket::Unix(stream))
            }
        }
    }

    pub(crate) fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        match self {
            Socket::Tcp(stream) => stream.read(buffer),
            Socket::Unix(stream) => stream.read(buffer),
        }
    }

    pub(crate) fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            Socket::Tcp(stream) => stream.write(bytes),
            Socket::Unix(stream) => stream.write(bytes),
        }
    }

    fn fd(&self) -> BorrowedFd<'_> {
        match self {
            Socket::Tcp(stream) => stream.as_fd(),
            Socket::Unix(stream) => stream.as_fd(),
        }
    }

    /// Waits until it can be read or, if `write` asks, written. Past the deadline the error is
    /// `TimedOut`, also when there is more to read: a peer may send for ever.
    pub(crate) fn wait(&self, write: bool, deadline: Option<Instant>) -> io::Result<Ready> {
        loop {
            let left = deadline.map(|d| d.saturating_duration_since(Instant::now()));
            if left == Some(Duration::ZERO) {
                return Err(ErrorKind::TimedOut.into());
            }
            let ready = self.poll(write, left)?;
            if ready.readable || ready.writable {
                return Ok(ready);
            }
        }
    }

    /// Whether there is something to read right now.
    pub(crate) fn readable(&self) -> io::Result<bool> {
        Ok(self.poll(false, Some(Duration::ZERO))?.readable)
    }

    fn poll(&self, write: bool, timeout: Option<Duration>) -> io::Result<Ready> {
        let mut events = PollFlags::IN;
        if write {
            events |= PollFlags::OUT;
        }
        let fd = self.fd();
        let mut fds = [PollFd::new(&fd, events)];
        // A timeout too long to express is none.
        let timeout = timeout.and_then(|t| Timespec::try_from(t).ok());
        match poll(&mut fds, timeout.as_ref()) {
            Ok(_) => {}
            Err(rustix::io::Errno::INTR) => return Ok(Ready::default()),
            Err(error) => return Err(error.into()),
        }
        let got = fds[0].revents();
        // Errors and hang-ups show when the socket is read.
        let readable = got.intersects(PollFlags::IN | PollFlags::ERR | PollFlags::HUP);
        Ok(Ready {
            readable,
            writable: got.contains(PollFlags::OUT),
        })
    }
}
