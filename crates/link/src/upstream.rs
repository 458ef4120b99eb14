//! The server behind a link, and a socket of either kind.

use std::io::{self, Read, Write};
use std::net::{Shutdown, SocketAddr, TcpStream};
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::time::Duration;

use rustix::io::Errno;
use rustix::net::sockopt::{set_socket_linger, set_tcp_nodelay, socket_error};
use rustix::net::{AddressFamily, SocketAddrUnix, SocketFlags, SocketType, connect, socket_with};

/// The server behind a proxy.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Upstream {
    /// Its Unix socket; a path that begins with `@` names an abstract one.
    Unix(PathBuf),
    Tcp(SocketAddr),
}

impl From<PathBuf> for Upstream {
    fn from(path: PathBuf) -> Upstream {
        Upstream::Unix(path)
    }
}

impl From<&Path> for Upstream {
    fn from(path: &Path) -> Upstream {
        Upstream::Unix(path.to_owned())
    }
}

impl From<&str> for Upstream {
    fn from(path: &str) -> Upstream {
        Upstream::Unix(path.into())
    }
}

impl From<SocketAddr> for Upstream {
    fn from(address: SocketAddr) -> Upstream {
        Upstream::Tcp(address)
    }
}

/// A connection that was begun.
#[derive(Debug)]
pub(crate) enum Begun {
    /// It is there, or will be once it can be written to ([`Socket::opened`]).
    Socket(Socket),
    /// The server has too many who wait for it: to be begun again.
    Later,
}

impl Upstream {
    /// Begins a new connection to it, and waits for nothing.
    ///
    /// # Errors
    /// It refuses, or there are no more sockets.
    pub(crate) fn begin(&self) -> io::Result<Begun> {
        let flags = SocketFlags::NONBLOCK | SocketFlags::CLOEXEC;
        let family = match self {
            Upstream::Unix(_) => AddressFamily::UNIX,
            Upstream::Tcp(SocketAddr::V4(_)) => AddressFamily::INET,
            Upstream::Tcp(SocketAddr::V6(_)) => AddressFamily::INET6,
        };
        let socket = socket_with(family, SocketType::STREAM, flags, None)?;
        let begun = match self {
            Upstream::Unix(path) => {
                let bytes = path.as_os_str().as_bytes();
                let address = match bytes.strip_prefix(b"@") {
                    Some(name) => SocketAddrUnix::new_abstract_name(name)?,
                    None => SocketAddrUnix::new(bytes)?,
                };
                connect(&socket, &address)
            }
            Upstream::Tcp(address) => {
                // Statements are small and each waits for its answer.
                set_tcp_nodelay(&socket, true)?;
                connect(&socket, address)
            }
        };
        match begun {
            Ok(()) | Err(Errno::INPROGRESS) => Ok(Begun::Socket(match self {
                Upstream::Unix(_) => Socket::Unix(socket.into()),
                Upstream::Tcp(_) => Socket::Tcp(socket.into()),
            })),
            // A Unix socket's queue is full: connect(2).
            Err(Errno::AGAIN) => Ok(Begun::Later),
            Err(e) => Err(e.into()),
        }
    }
}

/// A socket that never blocks.
#[derive(Debug)]
pub(crate) enum Socket {
    Tcp(TcpStream),
    Unix(UnixStream),
}

impl Socket {
    /// What became of the attempt to connect, once it can be written to.
    pub(crate) fn opened(&self) -> io::Result<()> {
        Ok(socket_error(self)??)
    }

    /// No more is written: the peer reads an end.
    pub(crate) fn end(&self) {
        // The peer may have gone before.
        let _ = match self {
            Socket::Tcp(stream) => stream.shutdown(Shutdown::Write),
            Socket::Unix(stream) => stream.shutdown(Shutdown::Write),
        };
    }

    /// Closes it so that a TCP peer gets a reset. (A Unix socket's peer reads an end: there is no
    /// other sign.)
    pub(crate) fn reset(self) {
        if let Socket::Tcp(stream) = &self {
            // To linger for no time is to reset: socket(7), SO_LINGER.
            let _ = set_socket_linger(stream, Some(Duration::ZERO));
        }
    }
}

impl AsFd for Socket {
    fn as_fd(&self) -> BorrowedFd<'_> {
        match self {
            Socket::Tcp(stream) => stream.as_fd(),
            Socket::Unix(stream) => stream.as_fd(),
        }
    }
}

impl Read for Socket {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        match self {
            Socket::Tcp(stream) => stream.read(buffer),
            Socket::Unix(stream) => stream.read(buffer),
        }
    }
}

impl Write for Socket {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            Socket::Tcp(stream) => stream.write(bytes),
            Socket::Unix(stream) => stream.write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
