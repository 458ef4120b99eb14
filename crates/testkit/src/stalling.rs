//! A proxy that stops handing bytes on, and closes nothing: to its client the server has gone silent.

use std::io;
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU8, AtomicUsize, Ordering};
use std::thread;

use crate::proxy::Stream;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub enum Passes {
    All,
    /// Of each client only the first message, which asks for a session: what it sends after start-up
    /// has no answer. (TLS has another first message; ask for none.)
    StartUp,
    /// Nothing. Connections are still taken.
    Nothing,
}

/// A proxy before the Unix socket of one server, listening on loopback TCP. It ends with the test
/// process.
#[derive(Debug)]
pub struct StallingProxy {
    address: SocketAddr,
    passes: Arc<AtomicU8>,
    swallowed: Arc<AtomicUsize>,
}

impl StallingProxy {
    /// Starts one.
    ///
    /// # Panics
    /// When it cannot listen.
    pub fn start(server: &Path, passes: Passes) -> StallingProxy {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("a port is free");
        let proxy = StallingProxy {
            address: listener.local_addr().expect("it is bound"),
            passes: Arc::new(AtomicU8::new(passes as u8)),
            swallowed: Arc::default(),
        };
        let (server, passes) = (server.to_owned(), proxy.passes.clone());
        let swallowed = proxy.swallowed.clone();
        thread::spawn(move || {
            for client in listener.incoming().map_while(Result::ok) {
                let _ = client.set_nodelay(true);
                let _ = UnixStream::connect(&server)
                    .and_then(|server| join(client, server, &passes, &swallowed));
            }
        });
        proxy
    }

    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// The URL by which database `postgres` of the server is reached through it.
    pub fn url(&self) -> String {
        let port = self.address.port();
        format!("postgresql://postgres@127.0.0.1:{port}/postgres?sslmode=disable")
    }

    /// What is handed on from here.
    pub fn pass(&self, passes: Passes) {
        self.passes.store(passes as u8, Ordering::Relaxed);
    }

    /// How many times clients have sent something that was not handed on.
    pub fn swallowed(&self) -> usize {
        self.swallowed.load(Ordering::Relaxed)
    }
}

fn join(
    client: TcpStream,
    server: UnixStream,
    passes: &Arc<AtomicU8>,
    swallowed: &Arc<AtomicUsize>,
) -> io::Result<()> {
    let (client_twin, server_twin) = (client.twin()?, server.twin()?);
    let (back, forth) = (passes.clone(), passes.clone());
    let swallowed = swallowed.clone();
    thread::spawn(move || {
        hand_on(server_twin, client_twin, |_| {
            back.load(Ordering::Relaxed) != Passes::Nothing as u8
        });
    });
    thread::spawn(move || {
        hand_on(client, server, |number| {
            let passes = forth.load(Ordering::Relaxed);
            let passes =
                passes == Passes::All as u8 || (passes == Passes::StartUp as u8 && number == 0);
            swallowed.fetch_add(usize::from(!passes), Ordering::Relaxed);
            passes
        });
    });
    Ok(())
}

/// Copies what passes until one side is closed.
fn hand_on(mut from: impl Stream, mut to: impl Stream, passes: impl Fn(usize) -> bool) {
    let mut buffer = [0; 16 * 1024];
    let mut number = 0;
    loop {
        match from.read(&mut buffer) {
            Err(e) if e.kind() == io::ErrorKind::Interrupted => continue,
            Ok(0) | Err(_) => break,
            Ok(count) if passes(number) => {
                if to.write_all(&buffer[..count]).is_err() {
                    break;
                }
            }
            Ok(_) => {}
        }
        number += 1;
    }
    to.close(std::net::Shutdown::Both);
}
