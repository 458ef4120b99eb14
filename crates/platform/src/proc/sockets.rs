//! /proc/net/tcp and tcp6: the TCP sockets of this process's network namespace (proc_pid_net(5)).

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Tcp {
    pub local: SocketAddr,
    pub remote: SocketAddr,
    /// Whether it waits for connections.
    pub listens: bool,
    /// The user who made it.
    pub user: u32,
    /// By this number it is found among the open files of a process; 0 when no process has it any more.
    pub inode: u64,
}

/// Reads /proc/net/tcp or tcp6. IPv4 addresses in IPv6's form are reported as IPv4.
pub fn tcp(text: &str) -> Vec<Tcp> {
    text.lines().filter_map(line).collect()
}

fn line(line: &str) -> Option<Tcp> {
    let mut words = line.split_ascii_whitespace();
    words.next()?.strip_suffix(':')?;
    let local = address(words.next()?)?;
    let remote = address(words.next()?)?;
    // TCP_LISTEN of the kernel's include/net/tcp_states.h.
    let listens = words.next()? == "0A";
    // Queues, timer, retransmissions come between.
    let user = words.nth(3)?.parse().ok()?;
    let inode = words.nth(1)?.parse().ok()?;
    Some(Tcp {
        local,
        remote,
        listens,
        user,
        inode,
    })
}

/// Such as `0100007F:1538`: words of 32 bits in this machine's order of bytes, then the port.
fn address(text: &str) -> Option<SocketAddr> {
    let (ip, port) = text.split_once(':')?;
    let port = u16::from_str_radix(port, 16).ok()?;
    let word = |at: usize| {
        let digits = ip.get(at * 8..at * 8 + 8)?;
        u32::from_str_radix(digits, 16).ok().map(u32::to_ne_bytes)
    };
    let ip = match ip.len() {
        8 => IpAddr::V4(Ipv4Addr::from(word(0)?)),
        32 => {
            let mut bytes = [0; 16];
            for at in 0..4 {
                bytes[at * 4..at * 4 + 4].copy_from_slice(&word(at)?);
            }
            IpAddr::V6(Ipv6Addr::from(bytes)).to_canonical()
        }
        _ => return None,
    };
    Some(SocketAddr::new(ip, port))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::{TcpListener, TcpStream};

    #[cfg(target_endian = "little")]
    #[test]
    fn sockets_are_read_with_both_ends() {
        let text = "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   \
            uid  timeout inode\n   \
            0: 0100007F:1538 00000000:0000 0A 00000000:00000000 00:00000000 00000000   999        \
            0 12345 1 0000000000000000 100 0 0 10 0\n   \
            1: 0000000000000000FFFF00000100007F:6691 0000000000000000FFFF00000100007F:C350 01 \
            00000000:00000000 00:00000000 00000000     0        0 777 1 0 20 4 30 10 -1\n   \
            2: 00000000000000000000000001000000:1538 00000000000000000000000000000000:0000 0A \
            00000000:00000000 00:00000000 00000000     0        0 778 1 0 100 0 0 10 0\n";
        let sockets = tcp(text);
        assert_eq!(sockets.len(), 3);
        assert_eq!(sockets[0].local, "127.0.0.1:5432".parse().unwrap());
        assert!(sockets[0].listens);
        assert_eq!((sockets[0].user, sockets[0].inode), (999, 12345));
        assert_eq!(sockets[1].local, "127.0.0.1:26257".parse().unwrap());
        assert_eq!(sockets[1].remote, "127.0.0.1:50000".parse().unwrap());
        assert!(!sockets[1].listens);
        assert_eq!(sockets[2].local, "[::1]:5432".parse().unwrap());
    }

    #[test]
    fn a_connection_of_this_process_is_among_them() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let client = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        let sockets = tcp(&super::super::text("/proc/net/tcp").unwrap());
        let both = |local, remote| {
            let mut same = sockets.iter();
            same.any(|socket| socket.local == local && socket.remote == remote)
        };
        let (near, far) = (client.local_addr().unwrap(), client.peer_addr().unwrap());
        assert!(both(near, far) && both(far, near));
        assert!(
            sockets
                .iter()
                .any(|socket| socket.listens && socket.local == far)
        );
    }
}
