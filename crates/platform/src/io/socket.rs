//! Opening a socket without waiting for it.

use std::ffi::OsStr;
use std::io;
use std::net::SocketAddr;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::time::Duration;

use rustix::io::Errno;
use rustix::net::{
    AddressFamily, SocketAddrUnix, SocketFlags, SocketType, connect, ipproto, socket_with,
    socketpair, sockopt,
};

/// A non-blocking stream socket on its way to a server, or already there.
#[derive(Debug)]
pub struct Socket {
    pub(super) fd: OwnedFd,
    pub(super) connecting: bool,
}

const FLAGS: SocketFlags = SocketFlags::CLOEXEC.union(SocketFlags::NONBLOCK);

/// How a TCP connection notices that its peer has vanished. What is zero stays the system's default.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TcpOptions {
    pub keepalives: bool,
    /// Silence before the first one.
    pub keepalives_idle: Duration,
    pub keepalives_interval: Duration,
    /// How many may stay unanswered.
    pub keepalives_count: u32,
    /// How long sent data may stay unacknowledged.
    pub user_timeout: Duration,
}

impl Default for TcpOptions {
    /// libpq's: keepalives at the system's intervals.
    fn default() -> Self {
        Self {
            keepalives: true,
            keepalives_idle: Duration::ZERO,
            keepalives_interval: Duration::ZERO,
            keepalives_count: 0,
            user_timeout: Duration::ZERO,
        }
    }
}

impl TcpOptions {
    /// Sets them on a TCP socket.
    ///
    /// # Errors
    /// What the operating system says to a value it does not take.
    pub fn apply(&self, socket: impl AsFd) -> io::Result<()> {
        let socket = socket.as_fd();
        sockopt::set_socket_keepalive(socket, self.keepalives)?;
        if self.keepalives {
            if !self.keepalives_idle.is_zero() {
                sockopt::set_tcp_keepidle(socket, self.keepalives_idle)?;
            }
            if !self.keepalives_interval.is_zero() {
                sockopt::set_tcp_keepintvl(socket, self.keepalives_interval)?;
            }
            if self.keepalives_count > 0 {
                sockopt::set_tcp_keepcnt(socket, self.keepalives_count)?;
            }
        }
        if !self.user_timeout.is_zero() {
            let ms = u32::try_from(self.user_timeout.as_millis()).unwrap_or(u32::MAX);
            sockopt::set_tcp_user_timeout(socket, ms)?;
        }
        Ok(())
    }
}

/// Begins a TCP connection. Small messages are sent at once (`TCP_NODELAY`), as with libpq.
///
/// # Errors
/// No socket to be had, or the kernel refuses at once (no route, refused on loopback).
pub fn connect_tcp(address: SocketAddr, options: &TcpOptions) -> io::Result<Socket> {
    let family = if address.is_ipv4() {
        AddressFamily::INET
    } else {
        AddressFamily::INET6
    };
    let fd = socket_with(family, SocketType::STREAM, FLAGS, Some(ipproto::TCP))?;
    sockopt::set_tcp_nodelay(&fd, true)?;
    options.apply(&fd)?;
    let connecting = match connect(&fd, &address) {
        Ok(()) => false,
        Err(Errno::INPROGRESS) => true,
        Err(error) => return Err(error.into()),
    };
    Ok(Socket { fd, connecting })
}

/// Begins a connection to a Unix socket; a path that begins with `@` is one in Linux's abstract
/// name space. With a `peer` the server must run as the user of that name.
///
/// # Errors
/// As [`connect_tcp`]; [`WrongPeer`](crate::peer::WrongPeer); `WouldBlock` when the server's queue of waiting connections is full, which
/// for Unix sockets the kernel reports instead of waiting: try again a little later.
pub fn connect_unix(path: &Path, peer: Option<&str>) -> io::Result<Socket> {
    let name = path.as_os_str().as_bytes();
    let address = match name.strip_prefix(b"@") {
        Some(hidden) => SocketAddrUnix::new_abstract_name(hidden)?,
        None => SocketAddrUnix::new(Path::new(OsStr::from_bytes(name)))?,
    };
    let fd = socket_with(AddressFamily::UNIX, SocketType::STREAM, FLAGS, None)?;
    connect(&fd, &address)?;
    if let Some(wanted) = peer {
        crate::peer::check(&fd, wanted)?;
    }
    Ok(Socket {
        fd,
        connecting: false,
    })
}

impl From<UnixStream> for Socket {
    fn from(stream: UnixStream) -> Self {
        Self {
            fd: stream.into(),
            connecting: false,
        }
    }
}

impl Socket {
    /// Two that are connected with each other, the second as the operating system knows it.
    pub(super) fn pair() -> io::Result<(Self, OwnedFd)> {
        let (near, far) = socketpair(AddressFamily::UNIX, SocketType::STREAM, FLAGS, None)?;
        let connecting = false;
        Ok((
            Self {
                fd: near,
                connecting,
            },
            far,
        ))
    }

    /// Whether the connection is still being made.
    pub fn is_connecting(&self) -> bool {
        self.connecting
    }

    /// The error a finished attempt to connect ended with, if it did not succeed.
    pub(super) fn pending_error(fd: &OwnedFd) -> io::Result<()> {
        match sockopt::socket_error(fd)? {
            Ok(()) => Ok(()),
            Err(error) => Err(error.into()),
        }
    }
}
