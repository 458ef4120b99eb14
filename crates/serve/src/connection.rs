//! One client's connection, with or without TLS: everything on it ends by a deadline, however slowly the
//! client sends or reads.

use std::io::{self, Read, Write};
use std::net::{Shutdown, TcpStream};
use std::sync::Arc;
use std::time::{Duration, Instant};

use rustls::{ServerConfig, ServerConnection, StreamOwned};

/// How long a client that was refused may go on sending what is not read.
const DRAIN_LIMIT: Duration = Duration::from_millis(500);
const DRAIN_BYTES_MAX: usize = 1 << 20;

pub enum Connection {
    Plain(TimedConnection),
    Tls(Box<StreamOwned<ServerConnection, TimedConnection>>),
}

impl Connection {
    /// The server's end of it.
    ///
    /// # Errors
    /// TLS cannot begin.
    pub fn new(socket: TcpStream, tls: Option<&Arc<ServerConfig>>) -> io::Result<Self> {
        let _ = socket.set_nodelay(true);
        let timed = TimedConnection {
            socket,
            until: Instant::now(),
        };
        let Some(config) = tls else {
            return Ok(Self::Plain(timed));
        };
        let session = ServerConnection::new(config.clone()).map_err(io::Error::other)?;
        Ok(Self::Tls(Box::new(StreamOwned::new(session, timed))))
    }

    /// All that follows has to be done in this time.
    pub fn allow(&mut self, time: Duration) {
        self.timed().until = Instant::now() + time;
    }

    fn timed(&mut self) -> &mut TimedConnection {
        match self {
            Self::Plain(timed) => timed,
            Self::Tls(stream) => &mut stream.sock,
        }
    }

    /// Ends it so that the last answer arrives even while the client still sends: closed at once, the
    /// kernel would take the answer back.
    pub fn close(mut self) {
        if let Self::Tls(stream) = &mut self {
            stream.conn.send_close_notify();
            let _ = stream.flush();
        }
        let timed = self.timed();
        timed.until = Instant::now() + DRAIN_LIMIT;
        let _ = timed.socket.shutdown(Shutdown::Write);
        let (mut buffer, mut read) = ([0; 4096], 0);
        while read < DRAIN_BYTES_MAX {
            match timed.read(&mut buffer) {
                Ok(0) | Err(_) => return,
                Ok(count) => read += count,
            }
        }
    }
}

impl Read for Connection {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        match self {
            Self::Plain(timed) => timed.read(buffer),
            Self::Tls(stream) => stream.read(buffer),
        }
    }
}

impl Write for Connection {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            Self::Plain(timed) => timed.write(bytes),
            Self::Tls(stream) => stream.write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match self {
            Self::Plain(timed) => timed.flush(),
            Self::Tls(stream) => stream.flush(),
        }
    }
}

/// A socket that waits no longer than until then.
pub struct TimedConnection {
    socket: TcpStream,
    until: Instant,
}

impl TimedConnection {
    fn left(&self) -> io::Result<Duration> {
        let left = self.until.saturating_duration_since(Instant::now());
        if left.is_zero() {
            Err(io::ErrorKind::TimedOut.into())
        } else {
            Ok(left)
        }
    }
}

impl Read for TimedConnection {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.socket.set_read_timeout(Some(self.left()?))?;
        self.socket.read(buffer)
    }
}

impl Write for TimedConnection {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.socket.set_write_timeout(Some(self.left()?))?;
        self.socket.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
