//! A proxy that hands on every byte and records what the clients send.

use std::io::{self, Read, Write};
use std::net::{Ipv4Addr, Shutdown, SocketAddr, TcpListener, TcpStream};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::{Duration, Instant};

use crate::Upstream;
use crate::messages::Connection;

/// A proxy before one server, listening on loopback TCP and on a Unix socket. It ends with the
/// test process; the socket's directory goes with the value.
#[derive(Debug)]
pub struct RecordingProxy {
    tcp: SocketAddr,
    socket_dir: tempfile::TempDir,
    connections: Arc<Mutex<Vec<Connection>>>,
}

impl RecordingProxy {
    /// Starts a proxy before the server at this Unix socket or TCP address.
    ///
    /// # Panics
    /// When it cannot listen.
    pub fn start(server: impl Into<Upstream>) -> RecordingProxy {
        let server = server.into();
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("a port is free");
        let tcp = listener.local_addr().expect("it is bound");
        // Not in target/: the path of a socket must be short.
        let socket_dir = tempfile::tempdir_in("/tmp").expect("/tmp is writable");
        let name = format!(".s.PGSQL.{}", tcp.port());
        let unix = UnixListener::bind(socket_dir.path().join(name)).expect("its directory is new");

        let connections = Arc::new(Mutex::new(Vec::new()));
        let (record, tcp_server) = (Arc::clone(&connections), server.clone());
        std::thread::spawn(move || {
            for client in listener.incoming().map_while(Result::ok) {
                // Statements are small and each waits for its answer.
                let _ = client.set_nodelay(true);
                serve(client, &tcp_server, &record);
            }
        });
        let record = Arc::clone(&connections);
        std::thread::spawn(move || {
            for client in unix.incoming().map_while(Result::ok) {
                serve(client, &server, &record);
            }
        });
        RecordingProxy {
            tcp,
            socket_dir,
            connections,
        }
    }

    /// Where it listens on TCP.
    pub fn tcp_address(&self) -> SocketAddr {
        self.tcp
    }

    /// The directory of its Unix socket, for `-h` or `host=`; the port is [`Self::port`].
    pub fn socket_dir(&self) -> &Path {
        self.socket_dir.path()
    }

    /// Its port, for TCP and for the Unix socket.
    pub fn port(&self) -> u16 {
        self.tcp.port()
    }

    /// What the clients have sent so far, connection by connection in the order in which they
    /// connected. Call [`Self::settle`] first when the client has just ended.
    pub fn connections(&self) -> Vec<Connection> {
        lock(&self.connections).clone()
    }

    /// Waits until all clients have closed their connections, then returns what they sent.
    ///
    /// # Panics
    /// When one is still open after 10 s.
    pub fn settle(&self) -> Vec<Connection> {
        let start = Instant::now();
        while start.elapsed() < Duration::from_secs(10) {
            let connections = self.connections();
            if connections.iter().all(|connection| connection.closed) {
                return connections;
            }
            std::thread::sleep(Duration::from_millis(5));
        }
        panic!("a client has not closed its connection after 10 s");
    }

    /// What each client that executed anything has sent, in words; then forgets it. Sorted, as
    /// threads connect their clients in any order. A result format of 0 and none mean the same,
    /// text, and read the same here.
    ///
    /// # Panics
    /// When a client is still connected after 10 s.
    pub fn take_sessions(&self) -> Vec<Vec<String>> {
        let connections = self.settle();
        self.clear();
        let described = |connection: &Connection| -> Vec<String> {
            let messages = connection.described().into_iter();
            messages
                .map(|text| text.replace("results [0]", "results []"))
                .collect()
        };
        let mut sessions: Vec<Vec<String>> = connections.iter().map(described).collect();
        sessions.retain(|sent| sent.iter().any(|message| message != "Terminate"));
        sessions.sort();
        sessions
    }

    /// Forgets what was sent on connections that are closed.
    pub fn clear(&self) {
        self.settle();
        lock(&self.connections).clear();
    }
}

/// A stream of either kind, to read and to write from two threads.
pub(crate) trait Stream: Read + Write + Send + Sized + 'static {
    /// Another handle of the same.
    fn twin(&self) -> io::Result<Self>;
    /// Closes a direction, or both.
    fn close(&self, how: Shutdown);
}

impl Stream for TcpStream {
    fn twin(&self) -> io::Result<Self> {
        self.try_clone()
    }

    fn close(&self, how: Shutdown) {
        let _ = self.shutdown(how);
    }
}

impl Stream for UnixStream {
    fn twin(&self) -> io::Result<Self> {
        self.try_clone()
    }

    fn close(&self, how: Shutdown) {
        let _ = self.shutdown(how);
    }
}

/// Joins the client with the server and records what it sends.
fn serve(client: impl Stream, server: &Upstream, record: &Arc<Mutex<Vec<Connection>>>) {
    let number = {
        let mut connections = lock(record);
        connections.push(Connection::default());
        connections.len() - 1
    };
    let closing = client.twin();
    let joined = match server {
        Upstream::Unix(path) => {
            UnixStream::connect(path).and_then(|server| join(client, server, number, record))
        }
        Upstream::Tcp(address) => TcpStream::connect(address).and_then(|server| {
            server.set_nodelay(true)?;
            join(client, server, number, record)
        }),
    };
    if joined.is_err() {
        // To the client it looks like a server that hangs up.
        if let Ok(client) = closing {
            client.close(Shutdown::Both);
        }
        with(record, number, |connection| connection.closed = true);
    }
}

/// Hands on both directions, on two threads.
fn join(
    client: impl Stream,
    server: impl Stream,
    number: usize,
    record: &Arc<Mutex<Vec<Connection>>>,
) -> io::Result<()> {
    let (client_twin, server_twin) = (client.twin()?, server.twin()?);
    let record = Arc::clone(record);
    std::thread::spawn(move || hand_on(server_twin, client_twin, |_| {}));
    std::thread::spawn(move || {
        hand_on(client, server, |bytes| {
            with(&record, number, |connection| connection.received(bytes));
        });
        with(&record, number, |connection| connection.closed = true);
    });
    Ok(())
}

/// Copies until one side is closed, then closes the other in that direction. The record is made
/// before the bytes go on: a test that sees the effect of a message finds it recorded.
fn hand_on(mut from: impl Stream, mut to: impl Stream, mut see: impl FnMut(&[u8])) {
    let mut buffer = [0; 16 * 1024];
    loop {
        match from.read(&mut buffer) {
            Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
            Ok(0) | Err(_) => break,
            Ok(count) => {
                see(&buffer[..count]);
                if to.write_all(&buffer[..count]).is_err() {
                    from.close(Shutdown::Both);
                    break;
                }
            }
        }
    }
    to.close(Shutdown::Write);
}

fn with(record: &Mutex<Vec<Connection>>, number: usize, change: impl FnOnce(&mut Connection)) {
    // `clear` may have taken it away.
    if let Some(connection) = lock(record).get_mut(number) {
        change(connection);
    }
}

fn lock(record: &Mutex<Vec<Connection>>) -> MutexGuard<'_, Vec<Connection>> {
    // A thread that panicked cannot have left a vector half changed.
    record.lock().unwrap_or_else(|e| e.into_inner())
}
