//! The server behind a proxy, and a socket of either kind.

use std::io::{self, Read, Write};
use std::net::{Shutdown, SocketAddr, TcpStream};
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// The server behind a proxy.
#[derive(Debug, Clone)]
pub enum Upstream {
    /// Its Unix socket.
    Unix(PathBuf),
    /// Its TCP address.
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

impl Upstream {
    /// A new connection to it.
    pub(crate) fn connect(&self) -> io::Result<Socket> {
        match self {
            Upstream::Unix(path) => UnixStream::connect(path).map(Socket::Unix),
            Upstream::Tcp(address) => {
                let stream = TcpStream::connect(address)?;
                stream.set_nodelay(true)?;
                Ok(Socket::Tcp(stream))
            }
        }
    }
}

/// A connected socket.
#[derive(Debug)]
pub(crate) enum Socket {
    Tcp(TcpStream),
    Unix(UnixStream),
}

impl Socket {
    pub(crate) fn set_nonblocking(&self, is_nonblocking: bool) -> io::Result<()> {
        match self {
            Socket::Tcp(stream) => stream.set_nonblocking(is_nonblocking),
            Socket::Unix(stream) => stream.set_nonblocking(is_nonblocking),
        }
    }

    pub(crate) fn set_read_timeout(&self, limit: Duration) -> io::Result<()> {
        match self {
            Socket::Tcp(stream) => stream.set_read_timeout(Some(limit)),
            Socket::Unix(stream) => stream.set_read_timeout(Some(limit)),
        }
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
            let _ = rustix::net::sockopt::set_socket_linger(stream, Some(Duration::ZERO));
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
