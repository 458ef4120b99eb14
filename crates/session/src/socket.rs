//! A socket that never blocks on its own: every wait has a deadline and is a `poll`.

use std::io::{self, ErrorKind, Read, Write};
use std::net::{SocketAddr as SocketAddrOfTcp, TcpStream};
use std::os::fd::{AsFd, BorrowedFd};
use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr, UnixStream};
use std::time::{Duration, Instant};

use pgdyno_platform::peer;
use pgdyno_platform::tcp_info::{self, TcpInfo};
use pgdyno_wire::{Addr, Candidate};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::net::{AddressFamily, SocketFlags, SocketType, connect, socket_with};

use crate::patience::Brake;

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
    pub(crate) fn connect(
        candidate: &Candidate,
        deadline: Option<Instant>,
        brake: Brake,
    ) -> io::Result<Socket> {
        let left = deadline.map(|d| d.saturating_duration_since(Instant::now()));
        if left == Some(Duration::ZERO) {
            return Err(ErrorKind::TimedOut.into());
        }
        match &candidate.dialled() {
            Addr::Tcp(addr) => {
                let socket = open(addr)?;
                if let Socket::Tcp(stream) = &socket {
                    socket.wait(true, deadline, brake)?;
                    if let Some(error) = stream.take_error()? {
                        return Err(error);
                    }
                    stream.set_nodelay(true)?;
                    candidate.socket.apply(stream)?;
                }
                Ok(socket)
            }
            Addr::Unix(path) => {
                let stream = match candidate.addr.abstract_name() {
                    Some(name) => UnixStream::connect_addr(&SocketAddr::from_abstract_name(name)?)?,
                    None => UnixStream::connect(path)?,
                };
                if let Some(wanted) = &candidate.require_peer {
                    peer::check(&stream, wanted)?;
                }
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

    pub(crate) fn tcp_info(&self) -> Option<TcpInfo> {
        tcp_info::of(self.fd())
    }

    fn fd(&self) -> BorrowedFd<'_> {
        match self {
            Socket::Tcp(stream) => stream.as_fd(),
            Socket::Unix(stream) => stream.as_fd(),
        }
    }

    /// Waits until it can be read or, if `write` asks, written. Past the deadline the error is
    /// `TimedOut`, also when there is more to read: a peer may send for ever. At an interrupt it is
    /// `Interrupted`.
    pub(crate) fn wait(
        &self,
        write: bool,
        deadline: Option<Instant>,
        brake: Brake,
    ) -> io::Result<Ready> {
        loop {
            if brake.pulled().is_some() {
                return Err(ErrorKind::Interrupted.into());
            }
            if deadline.is_some_and(|deadline| Instant::now() >= deadline) {
                return Err(ErrorKind::TimedOut.into());
            }
            let (interrupts, look_again) = brake.watch();
            let until = [deadline, look_again].into_iter().flatten().min();
            let ready = self.poll_until(write, until, interrupts)?;
            if ready.readable || ready.writable {
                return Ok(ready);
            }
        }
    }

    /// Waits for the same, or until then, or until `other` can be read.
    pub(crate) fn poll_until(
        &self,
        write: bool,
        until: Option<Instant>,
        other: Option<BorrowedFd<'_>>,
    ) -> io::Result<Ready> {
        let left = until.map(|until| until.saturating_duration_since(Instant::now()));
        self.poll(write, left, other)
    }

    /// Whether there is something to read right now.
    pub(crate) fn readable(&self) -> io::Result<bool> {
        Ok(self.poll(false, Some(Duration::ZERO), None)?.readable)
    }

    fn poll(
        &self,
        write: bool,
        timeout: Option<Duration>,
        other: Option<BorrowedFd<'_>>,
    ) -> io::Result<Ready> {
        let mut events = PollFlags::IN;
        if write {
            events |= PollFlags::OUT;
        }
        let fd = self.fd();
        let other = other
            .as_ref()
            .map(|other| PollFd::new(other, PollFlags::IN));
        let mut fds: Vec<PollFd<'_>> = [PollFd::new(&fd, events)]
            .into_iter()
            .chain(other)
            .collect();
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

/// A TCP connection that is on its way.
fn open(address: &SocketAddrOfTcp) -> io::Result<Socket> {
    let family = match address {
        SocketAddrOfTcp::V4(_) => AddressFamily::INET,
        SocketAddrOfTcp::V6(_) => AddressFamily::INET6,
    };
    let flags = SocketFlags::NONBLOCK | SocketFlags::CLOEXEC;
    let socket = socket_with(family, SocketType::STREAM, flags, None)?;
    match connect(&socket, address) {
        Ok(()) | Err(rustix::io::Errno::INPROGRESS) => Ok(Socket::Tcp(socket.into())),
        Err(error) => Err(error.into()),
    }
}
