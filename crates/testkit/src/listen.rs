//! A listener on loopback TCP that closes its port when dropped.

use std::io;
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::os::unix::net::UnixStream;
use std::thread;

use rustix::event::{PollFd, PollFlags, poll};

/// A port of this host with a thread that takes connections.
#[derive(Debug)]
pub(crate) struct Listener {
    address: SocketAddr,
    /// The thread ends when this is closed.
    _stop: UnixStream,
}

impl Listener {
    /// Listens on a free port and gives each client to `serve`, which must not block.
    ///
    /// # Errors
    /// There is no port, or no more sockets.
    pub(crate) fn start(mut serve: impl FnMut(TcpStream) + Send + 'static) -> io::Result<Listener> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
        // A client that hangs up between poll and accept must not block the thread.
        listener.set_nonblocking(true)?;
        let address = listener.local_addr()?;
        let (stop, stopped) = UnixStream::pair()?;
        thread::spawn(move || {
            loop {
                let mut ready = [
                    PollFd::new(&listener, PollFlags::IN),
                    PollFd::new(&stopped, PollFlags::IN),
                ];
                let _ = poll(&mut ready, None);
                if !ready[1].revents().is_empty() {
                    break;
                }
                if let Ok((client, _)) = listener.accept() {
                    // Statements are small and each waits for its answer.
                    let _ = client.set_nodelay(true);
                    serve(client);
                }
            }
        });
        Ok(Listener {
            address,
            _stop: stop,
        })
    }

    pub(crate) fn address(&self) -> SocketAddr {
        self.address
    }
}
