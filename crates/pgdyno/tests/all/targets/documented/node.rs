//! A node: where it listens, and how it goes and comes back.

use std::io;
use std::net::{Ipv4Addr, Shutdown, SocketAddr, SocketAddrV4, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, AtomicU8, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};

use super::{Played, page, session};

/// A node of the product. It has an address of its own, so that its pages are at the ports where all programs
/// expects them.
pub struct Node {
    pub id: usize,
    pub address: SocketAddr,
    state: Arc<State>,
}

/// What its sessions look at.
#[derive(Default)]
pub struct State {
    is_down: AtomicBool,
    is_draining: AtomicBool,
    /// Statements that it was asked.
    pub asked: AtomicUsize,
    connections: Mutex<Vec<TcpStream>>,
}

impl Node {
    pub fn start(id: usize, played: &Arc<Played>) -> Node {
        let state = Arc::new(State::default());
        let ip = own_address();
        page::serve(ip, id, played, &state);
        let listener = TcpListener::bind((ip, 0)).unwrap();
        let address = listener.local_addr().unwrap();
        let node = Node { id, address, state };
        node.accept(listener, played);
        node
    }

    fn accept(&self, listener: TcpListener, played: &Arc<Played>) {
        let (id, state, played) = (self.id, Arc::clone(&self.state), Arc::clone(played));
        std::thread::spawn(move || {
            for client in listener.incoming().map_while(Result::ok) {
                if state.is_down.load(Ordering::SeqCst) {
                    return;
                }
                let (state, played) = (Arc::clone(&state), Arc::clone(&played));
                std::thread::spawn(move || {
                    state.keep(&client);
                    // A client that hangs up is no news.
                    drop(session::serve(client, id, &played, &state));
                });
            }
        });
    }

    pub fn kill(&self) {
        self.state.is_down.store(true, Ordering::SeqCst);
        // The thread that waits for connections sees it at the next one, and ends.
        drop(TcpStream::connect(self.address));
        for connection in self.state.connections().drain(..) {
            drop(connection.shutdown(Shutdown::Both));
        }
    }

    pub fn restart(&self, played: &Arc<Played>) {
        self.state.is_down.store(false, Ordering::SeqCst);
        self.state.is_draining.store(false, Ordering::SeqCst);
        let listener = TcpListener::bind(self.address).unwrap();
        self.accept(listener, played);
    }

    pub fn drain(&self) {
        self.state.is_draining.store(true, Ordering::SeqCst);
    }
}

impl State {
    fn connections(&self) -> MutexGuard<'_, Vec<TcpStream>> {
        self.connections.lock().unwrap_or_else(|e| e.into_inner())
    }

    fn keep(&self, client: &TcpStream) {
        self.connections().extend(client.try_clone());
        if self.is_down() {
            drop(client.shutdown(Shutdown::Both));
        }
    }

    pub fn is_down(&self) -> bool {
        self.is_down.load(Ordering::SeqCst)
    }

    pub fn is_draining(&self) -> bool {
        self.is_draining.load(Ordering::SeqCst)
    }
}

/// An address of this host's loopback network that no other node has.
fn own_address() -> Ipv4Addr {
    static TRIED: AtomicU8 = AtomicU8::new(0);
    let pid = std::process::id();
    loop {
        let number = TRIED.fetch_add(1, Ordering::Relaxed);
        let ip = Ipv4Addr::new(
            127,
            100 + (pid / 250 % 100) as u8,
            1 + (pid % 250) as u8,
            number,
        );
        let is_free = |port: &u16| -> io::Result<()> {
            TcpListener::bind(SocketAddrV4::new(ip, *port)).map(drop)
        };
        if page::PORTS.iter().all(|port| is_free(port).is_ok()) {
            return ip;
        }
    }
}
