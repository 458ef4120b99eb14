//! A proxy that stands for a long way: every byte arrives so much later, in each direction.

use std::io::{self, Write};
use std::net::{Ipv4Addr, Shutdown, SocketAddr, TcpListener, TcpStream};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::sync::mpsc::{Receiver, channel};
use std::thread;
use std::time::{Duration, Instant};

use crate::proxy::Stream;

/// A proxy before the Unix socket of one server, listening on loopback TCP. It ends with the test
/// process.
#[derive(Debug)]
pub struct DelayingProxy {
    address: SocketAddr,
}

impl DelayingProxy {
    /// Starts one. A round trip through it takes twice `one_way` longer.
    ///
    /// # Panics
    /// When it cannot listen.
    pub fn start(server: &Path, one_way: Duration) -> DelayingProxy {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("a port is free");
        let address = listener.local_addr().expect("it is bound");
        let server = server.to_owned();
        thread::spawn(move || {
            for client in listener.incoming().map_while(Result::ok) {
                let _ = client.set_nodelay(true);
                // To the client it looks like a server that hangs up.
                let _ = UnixStream::connect(&server).and_then(|s| join(client, s, one_way));
            }
        });
        DelayingProxy { address }
    }

    /// Where it listens.
    pub fn address(&self) -> SocketAddr {
        self.address
    }
}

fn join(client: TcpStream, server: UnixStream, one_way: Duration) -> io::Result<()> {
    let (client_twin, server_twin) = (client.twin()?, server.twin()?);
    delay(client, server, one_way);
    delay(server_twin, client_twin, one_way);
    Ok(())
}

/// What has arrived, and when; nothing is the end.
type Arrival = (Instant, Vec<u8>);

/// One thread takes what comes, another hands it on when its time has come: what is on its way does
/// not hold up what follows.
fn delay(mut from: impl Stream, mut to: impl Stream, one_way: Duration) {
    let (arrivals, waiting) = channel::<Arrival>();
    thread::spawn(move || {
        let mut buffer = [0; 16 * 1024];
        loop {
            let count = match from.read(&mut buffer) {
                Err(e) if e.kind() == io::ErrorKind::Interrupted => continue,
                Ok(count) => count,
                Err(_) => 0,
            };
            let arrival = (Instant::now(), buffer[..count].to_vec());
            if arrivals.send(arrival).is_err() || count == 0 {
                break;
            }
        }
    });
    thread::spawn(move || {
        hand_on(&waiting, &mut to, one_way);
        to.close(Shutdown::Write);
    });
}

fn hand_on(waiting: &Receiver<Arrival>, to: &mut impl Write, one_way: Duration) {
    for (came, bytes) in waiting {
        thread::sleep((came + one_way).saturating_duration_since(Instant::now()));
        if bytes.is_empty() || to.write_all(&bytes).is_err() {
            break;
        }
    }
}
