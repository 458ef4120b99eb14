//! A link at work: its port, its event loops, and what its owner may order meanwhile.

use std::io;
use std::net::{SocketAddr, TcpListener};
use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::sync::mpsc::Receiver;
use std::thread::{self, JoinHandle};

use rustix::net::sockopt::{set_socket_reuseaddr, set_socket_reuseport};
use rustix::net::{AddressFamily, SocketFlags, SocketType, bind, listen, socket_with};

use super::bandwidth::Bandwidth;
use super::event_loop::{EventLoop, Way};
use super::orders::{Master, Order, orders};
use super::{Delay, Direction, How, Link, Side};

/// Clients that have connected and were not taken yet: a thousand may come at once.
const BACKLOG: i32 = 4096;

impl Link {
    /// Starts it: a port that leads to the server.
    ///
    /// # Errors
    /// It cannot listen, or there are no more threads or descriptors.
    pub fn start(self) -> io::Result<LinkProxy> {
        let bandwidths = self
            .bandwidths
            .map(|limit| limit.map(Bandwidth::new).map(Arc::new));
        let count = Arc::<AtomicU64>::default();
        let mut proxy = LinkProxy {
            address: self.listen,
            loops: Vec::new(),
        };
        for _ in 0..self.threads {
            let listener = listen_on(proxy.address, self.threads > 1)?;
            proxy.address = listener.local_addr()?;
            let way = |direction: Direction| Way {
                delay: self.delays[direction as usize].clone(),
                bandwidth: bandwidths[direction as usize].clone(),
                is_blocked: false,
            };
            let (master, orders) = orders()?;
            let event_loop = EventLoop::new(
                listener,
                self.server.clone(),
                Direction::BOTH.map(way),
                self.cut,
                self.relays.clone(),
                orders,
                Arc::clone(&count),
            )?;
            let thread = thread::Builder::new().name(self.name.clone());
            let thread = thread.spawn(move || event_loop.run())?;
            proxy.loops.push((master, thread));
        }
        Ok(proxy)
    }
}

/// A listener there; a shared one is one of several, to which the kernel deals connections.
fn listen_on(address: SocketAddr, is_shared: bool) -> io::Result<TcpListener> {
    let flags = SocketFlags::NONBLOCK | SocketFlags::CLOEXEC;
    let family = match address {
        SocketAddr::V4(_) => AddressFamily::INET,
        SocketAddr::V6(_) => AddressFamily::INET6,
    };
    let socket = socket_with(family, SocketType::STREAM, flags, None)?;
    // Connections of one before may still be closing.
    set_socket_reuseaddr(&socket, address.port() != 0)?;
    set_socket_reuseport(&socket, is_shared)?;
    bind(&socket, &address)?;
    listen(&socket, BACKLOG)?;
    Ok(socket.into())
}

/// A link at work. When dropped it closes its port and all of its connections, and its threads have ended.
#[derive(Debug)]
pub struct LinkProxy {
    address: SocketAddr,
    loops: Vec<(Master, JoinHandle<()>)>,
}

impl LinkProxy {
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// The URL by which a database of a PostgreSQL server is reached through it as user postgres.
    pub fn url(&self, database: &str) -> String {
        let address = self.address();
        format!("postgresql://postgres@{address}/{database}?sslmode=disable")
    }

    /// From now on nothing arrives this way, an end neither: it waits until [`Self::unblock`]. Both
    /// ways blocked are a black hole. Connections are still taken; the server learns of them
    /// when what clients send arrives again.
    pub fn block(&self, direction: Direction) {
        // Who blocks it relies on what comes next finding it so.
        for done in self.order(&Order::Block(direction, true)) {
            let _ = done.recv();
        }
    }

    /// What was held up goes on.
    pub fn unblock(&self, direction: Direction) {
        let _ = self.order(&Order::Block(direction, false));
    }

    /// What is read from now on arrives so much later, on all connections.
    pub fn set_delay(&self, direction: Direction, delay: Delay) {
        let _ = self.order(&Order::Delay(direction, delay));
    }

    /// From now on all connections together carry so many bytes a second this way; `None`: as many as they can.
    pub fn set_bandwidth(&self, direction: Direction, bytes_per_s: Option<u64>) {
        let line = bytes_per_s.map(Bandwidth::new).map(Arc::new);
        let _ = self.order(&Order::Bandwidth(direction, line));
    }

    /// Cuts the connections that there are; new ones can be made.
    pub fn cut_now(&self, how: How) {
        let _ = self.order(&Order::Cut(how));
    }

    /// Cuts all connections, and hangs up on those who connect until [`Self::come_up`].
    pub fn go_down(&self) {
        let _ = self.order(&Order::Down(true));
        self.cut_now(How::Reset);
    }

    /// New connections can be made again.
    pub fn come_up(&self) {
        let _ = self.order(&Order::Down(false));
    }

    /// The connections that there are become half open: this side's sockets are closed, the other
    /// side does not learn of it and gets no answer (its host has lost power).
    pub fn lose(&self, side: Side) {
        let _ = self.order(&Order::Lose(side));
    }

    /// Has all loops obey; what is returned ends when they have.
    fn order(&self, order: &Order) -> Vec<Receiver<()>> {
        let given = self
            .loops
            .iter()
            .map(|(master, _)| master.order(order.clone()));
        given.collect()
    }
}

impl Drop for LinkProxy {
    fn drop(&mut self) {
        let (masters, threads): (Vec<_>, Vec<_>) = self.loops.drain(..).unzip();
        // Without their masters they end.
        drop(masters);
        for thread in threads {
            // One that broke has ended as well.
            let _ = thread.join();
        }
    }
}
