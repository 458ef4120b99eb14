//! A network between a client and a server that is as bad as one likes: late, narrow, cut, dead in
//! one direction or in both. It knows nothing of what it carries, and changes none of it.
//!
//! ```no_run
//! use pgdyno_testkit::link::{CutAt, Delay, Direction, How, Link};
//! use std::time::Duration;
//!
//! # fn main() -> std::io::Result<()> {
//! let server = pgdyno_testkit::postgres().address().socket_path();
//! let ms = Duration::from_millis;
//! let network = Link::to(&*server)
//!     .delay(Direction::ToServer, Delay::of(ms(3)))
//!     .delay(Direction::ToClient, Delay::of(ms(3)).with_jitter(ms(1), 7))
//!     .bandwidth(Direction::ToClient, 5_000_000)
//!     .cut(CutAt::After(ms(2_000)), How::Reset)
//!     .start()?;
//! let url = network.url("postgres");
//! network.block(Direction::ToClient); // answers are on their way until …
//! network.unblock(Direction::ToClient);
//! # Ok(())
//! # }
//! ```

mod bandwidth;
mod connection;
mod control;
mod cut;
mod delay;
mod pipe;

use std::io;
use std::net::{SocketAddr, TcpStream};
use std::sync::Arc;
use std::thread;

use crate::listen::Listener;
use crate::upstream::{Socket, Upstream};
use bandwidth::Bandwidth;
use connection::Connection;
use control::{Control, Order};
use cut::Cut;
pub use cut::{CutAt, How};
pub use delay::Delay;
use pipe::Pipe;

/// Which way bytes go.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Direction {
    /// What clients send.
    ToServer = 0,
    /// What the server sends.
    ToClient = 1,
}

/// One end of a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Side {
    /// The one that has connected.
    Client = 0,
    /// The one behind the link.
    Server = 1,
}

/// What a link is to be like. Without anything else it hands on what comes at once.
#[derive(Debug, Clone)]
pub struct Link {
    server: Upstream,
    delays: [Delay; 2],
    bandwidths: [Option<u64>; 2],
    cut: Option<Cut>,
}

impl Link {
    /// To this server.
    pub fn to(server: impl Into<Upstream>) -> Link {
        Link {
            server: server.into(),
            delays: Default::default(),
            bandwidths: [None; 2],
            cut: None,
        }
    }

    /// What goes this way arrives so much later.
    #[must_use]
    pub fn delay(mut self, direction: Direction, delay: Delay) -> Link {
        self.delays[direction as usize] = delay;
        self
    }

    /// All connections together carry so many bytes a second this way.
    #[must_use]
    pub fn bandwidth(mut self, direction: Direction, bytes_per_s: u64) -> Link {
        self.bandwidths[direction as usize] = Some(bytes_per_s);
        self
    }

    /// Cuts each connection there.
    #[must_use]
    pub fn cut(mut self, at: CutAt, how: How) -> Link {
        self.cut = Some(Cut { at, how });
        self
    }

    /// Starts it: a port on loopback that leads to the server.
    ///
    /// # Errors
    /// It cannot listen.
    pub fn start(self) -> io::Result<LinkProxy> {
        let control = Arc::new(Control::default());
        let bandwidths = self
            .bandwidths
            .map(|limit| limit.map(Bandwidth::new).map(Arc::new));
        let connections = Arc::clone(&control);
        let mut number = 0;
        let listener = Listener::start(move |client| {
            number += 1;
            let pipe = |direction: Direction| {
                Pipe::new(
                    self.delays[direction as usize].for_connection(number),
                    bandwidths[direction as usize].clone(),
                    self.cut.and_then(|cut| cut.after_bytes(direction)),
                )
            };
            let pipes = [pipe(Direction::ToServer), pipe(Direction::ToClient)];
            let (server, cut) = (self.server.clone(), self.cut);
            let Ok(orders) = connections.join() else {
                // No more sockets, or down: to the client it looks like a server that hangs up.
                return;
            };
            thread::spawn(move || {
                if let Ok((client, server)) = connect(client, &server) {
                    Connection::new(client, server, pipes, cut, orders).carry();
                }
            });
        })?;
        Ok(LinkProxy { listener, control })
    }
}

fn connect(client: TcpStream, server: &Upstream) -> io::Result<(Socket, Socket)> {
    let (client, server) = (Socket::Tcp(client), server.connect()?);
    client.set_nonblocking(true)?;
    server.set_nonblocking(true)?;
    Ok((client, server))
}

/// A link at work. When dropped it closes its port and all of its connections.
#[derive(Debug)]
pub struct LinkProxy {
    listener: Listener,
    control: Arc<Control>,
}

impl LinkProxy {
    /// Where clients connect.
    pub fn address(&self) -> SocketAddr {
        self.listener.address()
    }

    /// The URL by which a database of a PostgreSQL server is reached through it.
    pub fn url(&self, database: &str) -> String {
        let address = self.address();
        format!("postgresql://postgres@{address}/{database}?sslmode=disable")
    }

    /// From now on nothing arrives this way, an end neither: it waits until [`Self::unblock`]. Both
    /// ways blocked are a black hole. Connections are still taken.
    pub fn block(&self, direction: Direction) {
        self.control.block(direction, true);
    }

    /// What was held up goes on.
    pub fn unblock(&self, direction: Direction) {
        self.control.block(direction, false);
    }

    /// Cuts the connections that there are; new ones can be made.
    pub fn cut_now(&self, how: How) {
        self.control.order(Order::Cut(how));
    }

    /// Cuts all connections, and hangs up on those who connect until [`Self::come_up`].
    pub fn go_down(&self) {
        self.control.set_down(true);
        self.cut_now(How::Reset);
    }

    /// New connections can be made again.
    pub fn come_up(&self) {
        self.control.set_down(false);
    }

    /// The connections that there are become half open: this side's sockets are closed, the other
    /// side does not learn of it and gets no answer (its host has lost power).
    pub fn lose(&self, side: Side) {
        self.control.order(Order::Lose(side));
    }
}
