//! What the kernel knows of a TCP connection (tcp(7), `TCP_INFO`).

use std::os::fd::{AsFd, AsRawFd};

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct TcpInfo {
    /// The shortest time from a segment to its acknowledgement, in microseconds: the peer's kernel
    /// answers, no program. 0 when none was measured.
    pub min_rtt_us: u32,
    pub retransmitted: u32,
}

/// Where the fields stand (linux/tcp.h, `struct tcp_info`, which only grows at its end).
const TOTAL_RETRANS: usize = 100;
const MIN_RTT: usize = 148;
const LENGTH: usize = 152;

/// Of this socket; `None` where it is none of TCP, or the kernel is older than 4.6.
pub fn of(socket: impl AsFd) -> Option<TcpInfo> {
    let mut bytes = [0u8; LENGTH];
    let mut length = LENGTH as libc::socklen_t;
    // SAFETY: `bytes` has room for `length` bytes, which the kernel does not exceed, and both live
    // until the call returns.
    let result = unsafe {
        libc::getsockopt(
            socket.as_fd().as_raw_fd(),
            libc::IPPROTO_TCP,
            libc::TCP_INFO,
            bytes.as_mut_ptr().cast(),
            &raw mut length,
        )
    };
    if result != 0 || (length as usize) < LENGTH {
        return None;
    }
    let number = |at: usize| {
        let mut number = [0; 4];
        number.copy_from_slice(&bytes[at..at + 4]);
        u32::from_ne_bytes(number)
    };
    Some(TcpInfo {
        min_rtt_us: number(MIN_RTT),
        retransmitted: number(TOTAL_RETRANS),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::{Read, Write};
    use std::net::{TcpListener, TcpStream};
    use std::os::unix::net::UnixStream;

    #[test]
    fn a_connection_over_loopback_has_a_short_round_trip() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let mut near = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        let (mut far, _) = listener.accept().unwrap();
        near.write_all(b"x").unwrap();
        far.read_exact(&mut [0]).unwrap();
        let info = of(&near).expect("a TCP socket");
        assert!(
            info.min_rtt_us > 0 && info.min_rtt_us < 1_000_000,
            "{info:?}"
        );
    }

    #[test]
    fn another_socket_has_none() {
        assert_eq!(of(UnixStream::pair().unwrap().0), None);
    }
}
