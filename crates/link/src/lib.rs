//! A network between clients and a server that is as bad as one likes: late, narrow, cut, dead in
//! one direction or in both, and changed while connections are open. It is a port on loopback that
//! leads to the server; it knows nothing of what it carries, and changes none of it. A [`Relay`] that is given
//! to it reads along, and may.
//!
//! An event loop owns all connections ([`Link::threads`]: several, each with its share of them), so that
//! a thousand connections cost what they carry, not a thread each.
//!
//! ```no_run
//! use pgdyno_link::{CutAt, Delay, Direction, How, Link};
//! use std::time::Duration;
//!
//! # fn main() -> std::io::Result<()> {
//! let ms = Duration::from_millis;
//! let network = Link::to("/tmp/.s.PGSQL.5432")
//!     .delay(Direction::ToServer, Delay::of(ms(3)))
//!     .delay(Direction::ToClient, Delay::of(ms(3)).with_jitter(ms(1), 7))
//!     .bandwidth(Direction::ToClient, 5_000_000)
//!     .cut(CutAt::After(ms(2_000)), How::Reset)
//!     .start()?;
//! let clients_connect_to = network.address();
//! network.block(Direction::ToClient); // answers are on their way until …
//! network.unblock(Direction::ToClient);
//! # Ok(())
//! # }
//! ```
//!
//! What it cannot be like: clients' connections to it are open at once, so that a handshake of TCP is neither
//! late nor lost, and a server that refuses looks like one that resets; what was lost is sent again
//! by TCP, so that it is held up here and never missing.

mod bandwidth;
mod connection;
mod cut;
mod delay;
mod event_loop;
mod orders;
mod pipe;
mod proxy;
mod relay;
mod upstream;

pub use cut::{CutAt, How};
pub use delay::Delay;
pub use proxy::LinkProxy;
pub use relay::{Outbox, Relay, Relays, Verdict};
pub use upstream::Upstream;

use std::net::{Ipv4Addr, SocketAddr, SocketAddrV4};
use std::sync::Arc;

use cut::Cut;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Direction {
    ToServer = 0,
    ToClient = 1,
}

impl Direction {
    /// Both, in the order of their numbers.
    pub const BOTH: [Direction; 2] = [Direction::ToServer, Direction::ToClient];
}

/// One end of a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Side {
    /// The one that has connected.
    Client = 0,
    /// The one behind the link.
    Server = 1,
}

impl Side {
    /// Who sends what goes this way.
    fn of_source(direction: Direction) -> Side {
        match direction {
            Direction::ToServer => Side::Client,
            Direction::ToClient => Side::Server,
        }
    }
}

/// What a link is to be like. Without anything else it hands on what comes at once.
#[derive(Debug, Clone)]
pub struct Link {
    server: Upstream,
    delays: [Delay; 2],
    bandwidths: [Option<u64>; 2],
    cut: Option<Cut>,
    threads: usize,
    name: String,
    listen: SocketAddr,
    relays: Option<Arc<dyn Relays>>,
}

impl Link {
    pub fn to(server: impl Into<Upstream>) -> Link {
        Link {
            server: server.into(),
            delays: Default::default(),
            bandwidths: [None; 2],
            cut: None,
            threads: 1,
            name: "link".to_owned(),
            listen: SocketAddrV4::new(Ipv4Addr::LOCALHOST, 0).into(),
            relays: None,
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

    #[must_use]
    pub fn cut(mut self, at: CutAt, how: How) -> Link {
        self.cut = Some(Cut { at, how });
        self
    }

    /// So many event loops carry it (1 unless said; at least one): the kernel deals connections to them.
    #[must_use]
    pub fn threads(mut self, threads: usize) -> Link {
        self.threads = threads.max(1);
        self
    }

    /// What its threads are called (at most 15 bytes: pthread_setname_np(3)).
    #[must_use]
    pub fn name(mut self, name: impl Into<String>) -> Link {
        self.name = name.into();
        self
    }

    /// Where it listens (a free port of 127.0.0.1 unless said).
    #[must_use]
    pub fn listen(mut self, address: SocketAddr) -> Link {
        self.listen = address;
        self
    }

    /// Who reads along.
    #[must_use]
    pub fn relays(mut self, relays: Arc<dyn Relays>) -> Link {
        self.relays = Some(relays);
        self
    }
}
