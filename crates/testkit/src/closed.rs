//! An address that refuses connections.

use std::mem;
use std::net::{Ipv4Addr, SocketAddr, SocketAddrV4};

use rustix::net::{AddressFamily, SocketType, bind, getsockname, socket};

/// An address on this host whose port is taken and on which nothing listens, so that no test ever
/// will: that of a listener which was dropped might go to another test's.
///
/// # Panics
/// There is no port.
pub fn closed_address() -> SocketAddr {
    let taken = socket(AddressFamily::INET, SocketType::STREAM, None).expect("a socket");
    bind(&taken, &SocketAddrV4::new(Ipv4Addr::LOCALHOST, 0)).expect("a port is free");
    let address = getsockname(&taken).expect("it has an address");
    // Kept open as long as the process lives.
    mem::forget(taken);
    SocketAddr::try_from(address).expect("an address of IPv4")
}
