//! Whether a network address belongs to this host.

use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// Whether `address` is one of this host's own: loopback, or an interface's. A server behind
/// such an address shares the CPU with its client.
///
/// # Errors
/// When the interfaces cannot be listed.
pub fn is_local(address: IpAddr) -> io::Result<bool> {
    let address = address.to_canonical();
    if address.is_loopback() || address.is_unspecified() {
        return Ok(true);
    }
    Ok(own_addresses()?.contains(&address))
}

/// The addresses of all interfaces of this host.
fn own_addresses() -> io::Result<Vec<IpAddr>> {
    let mut first: *mut libc::ifaddrs = std::ptr::null_mut();
    // SAFETY: `first` is a valid place for the head of the list.
    if unsafe { libc::getifaddrs(&mut first) } != 0 {
        return Err(io::Error::last_os_error());
    }
    let mut addresses = Vec::new();
    let mut next = first;
    while !next.is_null() {
        // SAFETY: `next` is an element of the list, which is freed only below.
        let entry = unsafe { &*next };
        if !entry.ifa_addr.is_null() {
            // SAFETY: the address is not null; its family says which type it has.
            match i32::from(unsafe { (*entry.ifa_addr).sa_family }) {
                libc::AF_INET => {
                    // SAFETY: an AF_INET address is a sockaddr_in.
                    let v4 = unsafe { &*entry.ifa_addr.cast::<libc::sockaddr_in>() };
                    addresses.push(IpAddr::V4(Ipv4Addr::from(u32::from_be(v4.sin_addr.s_addr))));
                }
                libc::AF_INET6 => {
                    // SAFETY: an AF_INET6 address is a sockaddr_in6.
                    let v6 = unsafe { &*entry.ifa_addr.cast::<libc::sockaddr_in6>() };
                    addresses.push(IpAddr::V6(Ipv6Addr::from(v6.sin6_addr.s6_addr)));
                }
                _ => {}
            }
        }
        next = entry.ifa_next;
    }
    // SAFETY: the list came from getifaddrs and no reference into it is left.
    unsafe { libc::freeifaddrs(first) };
    Ok(addresses)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn local(address: &str) -> bool {
        is_local(address.parse().expect("an address")).expect("interfaces are listed")
    }

    #[test]
    fn loopback_in_all_its_forms_is_local() {
        for address in ["127.0.0.1", "127.9.8.7", "::1", "::ffff:127.0.0.1"] {
            assert!(local(address), "{address}");
        }
    }

    #[test]
    fn addresses_reserved_for_documentation_are_not_local() {
        for address in ["192.0.2.1", "2001:db8::1"] {
            assert!(!local(address), "{address}");
        }
    }

    #[test]
    fn every_interface_is_local() {
        for address in own_addresses().expect("interfaces are listed") {
            assert!(is_local(address).expect("interfaces are listed"));
        }
    }
}
