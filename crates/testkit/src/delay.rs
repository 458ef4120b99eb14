//! A proxy that represents a long way: every byte arrives so much later, in each direction.

use std::net::SocketAddr;
use std::path::Path;
use std::time::Duration;

use pgdyno_link::{Delay, Direction, Link, LinkProxy};

/// A proxy before the Unix socket of one server, listening on loopback TCP. It ends when dropped.
#[derive(Debug)]
pub struct DelayingProxy(LinkProxy);

impl DelayingProxy {
    /// Starts one. A round trip through it takes twice `one_way` longer.
    ///
    /// # Panics
    /// When it cannot listen.
    pub fn start(server: &Path, one_way: Duration) -> DelayingProxy {
        let delay = Delay::of(one_way);
        let link = Link::to(server)
            .delay(Direction::ToServer, delay.clone())
            .delay(Direction::ToClient, delay);
        DelayingProxy(link.start().expect("a port is free"))
    }

    pub fn address(&self) -> SocketAddr {
        self.0.address()
    }
}
