//! Ports for servers that a test starts.

use std::net::{Ipv4Addr, TcpListener};

/// Ports of this host that were free a moment ago, no two the same. Another process may take one before the
/// test's server does: it then says so.
///
/// # Panics
/// There is no port.
pub fn free_ports<const N: usize>() -> [u16; N] {
    let held =
        [(); N].map(|()| TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("a port is free"));
    held.map(|listener| listener.local_addr().expect("it is bound").port())
}
