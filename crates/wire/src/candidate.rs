//! One attempt at a session, and which attempt comes after a failed one.
//!
//! The rules are libpq's: a list of hosts, each with its addresses, each with one or two ways to
//! encrypt, flattened to one list that is walked by what the last failure allows.

use std::fmt;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use pgdyno_platform::io::TcpOptions;

use crate::error::{ConnectError, Retry};
use crate::login::{Encryption, Login};

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Addr {
    Tcp(SocketAddr),
    /// The socket file; a path that begins with `@` names an abstract socket.
    Unix(PathBuf),
}

impl Addr {
    /// The name of an abstract Unix socket, without its `@`.
    pub fn abstract_name(&self) -> Option<&[u8]> {
        use std::os::unix::ffi::OsStrExt;
        match self {
            Addr::Unix(path) => path.as_os_str().as_bytes().strip_prefix(b"@"),
            Addr::Tcp(_) => None,
        }
    }

    /// The path of a Unix socket that is a file.
    pub fn socket_path(&self) -> Option<&Path> {
        match self {
            Addr::Unix(path) if self.abstract_name().is_none() => Some(path),
            _ => None,
        }
    }
}

/// One attempt: an address, and who knocks there and how. A list of them is tried in order, see
/// [`next_candidate`].
#[derive(Clone, Debug)]
pub struct Candidate {
    pub addr: Addr,
    pub login: Arc<Login>,
    /// The host as the user named it: a name, an address or the directory of a Unix socket.
    pub host: String,
    /// Candidates of one host have the same number; a second pass over the hosts has others.
    pub host_index: usize,
    /// Candidates of one address of one host have the same number.
    pub address_index: usize,
    /// Time for the whole start-up of this attempt, if limited.
    pub connect_timeout: Option<Duration>,
    pub socket: TcpOptions,
    /// The user that the server behind a Unix socket must run as.
    pub require_peer: Option<String>,
    /// A proxy that leads to `addr`: connections are made to it. Names, the certificate's among them, stay
    /// those of the server.
    pub via: Option<SocketAddr>,
}

impl Candidate {
    /// A candidate on its own, named by its address.
    pub fn new(addr: Addr, login: Arc<Login>) -> Candidate {
        let host = match &addr {
            Addr::Tcp(addr) => addr.ip().to_string(),
            Addr::Unix(path) => path.display().to_string(),
        };
        Candidate {
            addr,
            login,
            host,
            host_index: 0,
            address_index: 0,
            connect_timeout: None,
            socket: TcpOptions::default(),
            require_peer: None,
            via: None,
        }
    }

    /// Where connections are made: to the proxy, if there is one.
    pub fn dialled(&self) -> Addr {
        self.via.map_or_else(|| self.addr.clone(), Addr::Tcp)
    }

    /// The server by the name that its user gave it: `host:port`, or the path of a Unix socket. The
    /// addresses of one name are one place: several ways to one server, as the loopback has two.
    pub fn place(&self) -> String {
        match &self.addr {
            Addr::Tcp(addr) if self.host.contains(':') => {
                format!("[{}]:{}", self.host, addr.port())
            }
            Addr::Tcp(addr) => format!("{}:{}", self.host, addr.port()),
            Addr::Unix(path) => path.display().to_string(),
        }
    }

    /// The message for a failed attempt, in libpq's words: endpoint, then reason.
    pub fn failure(&self, error: &ConnectError) -> String {
        format!("connection to {self} failed: {error}")
    }
}

/// The endpoint in libpq's words: `server at "localhost" (127.0.0.1), port 5432` or
/// `server on socket "/tmp/.s.PGSQL.5432"`.
impl fmt::Display for Candidate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.addr {
            Addr::Unix(path) => write!(f, "server on socket \"{}\"", path.display()),
            Addr::Tcp(addr) => {
                write!(f, "server at \"{}\"", self.host)?;
                let ip = addr.ip().to_string();
                if ip != self.host {
                    write!(f, " ({ip})")?;
                }
                write!(f, ", port {}", addr.port())
            }
        }
    }
}

/// The candidate to try after `candidates[failed]` ended with `error`, or `None` if the error is
/// final or nothing is left.
pub fn next_candidate(
    candidates: &[Candidate],
    failed: usize,
    error: &ConnectError,
) -> Option<usize> {
    let last = candidates.get(failed)?;
    let same_host = |c: &Candidate| c.host_index == last.host_index;
    let same_address = |c: &Candidate| same_host(c) && c.address_index == last.address_index;
    let rest = candidates.iter().enumerate().skip(failed + 1);
    match error.retry() {
        Retry::Stop => None,
        Retry::OtherEncryption => rest.take(1).find(|(_, c)| same_address(c)).map(|(i, _)| i),
        Retry::NextAddress => rest
            .skip_while(|(_, c)| same_address(c))
            .map(|(i, _)| i)
            .next(),
        Retry::NextHost => rest
            .skip_while(|(_, c)| same_host(c))
            .map(|(i, _)| i)
            .next(),
    }
}

/// Why the session with `next` will be without TLS, in one line, if that is because TLS with `failed` was
/// preferred and ended with `error`. A server that refuses in its own words has been asked with TLS and without,
/// and wants it so.
pub fn without_tls(failed: &Candidate, error: &ConnectError, next: &Candidate) -> Option<String> {
    let is_preferred = matches!(failed.login.encryption, Encryption::TlsIfOffered(_));
    let is_plain = matches!(next.login.encryption, Encryption::Plain);
    let is_tls = error.retry() == Retry::OtherEncryption && error.server().is_none();
    (is_preferred && is_plain && is_tls).then(|| error.to_string().replace(['\n', '\t'], " "))
}

/// The candidates with hosts, and addresses within each host, in an order drawn from `seed`
/// (`load_balance_hosts=random`). Attempts at one address stay together, as do the passes of
/// `prefer-standby`.
pub fn shuffle(candidates: &[Candidate], seed: u64) -> Vec<Candidate> {
    let hosts = 1 + candidates
        .iter()
        .map(|c| c.host_index % PASS)
        .max()
        .unwrap_or(0);
    let mut state = seed;
    let host_keys: Vec<u64> = (0..hosts).map(|_| split_mix(&mut state)).collect();
    let mut shuffled = candidates.to_vec();
    let address_salt = split_mix(&mut state);
    shuffled.sort_by_cached_key(|c| {
        let mut address_state =
            address_salt ^ (((c.host_index % PASS) as u64) << 32) ^ c.address_index as u64;
        (
            c.host_index / PASS,
            host_keys[c.host_index % PASS],
            split_mix(&mut address_state),
        )
    });
    shuffled
}

/// A second pass over the hosts numbers them from here, a third from twice this.
pub const PASS: usize = 1 << 20;

/// SplitMix64 (Steele, Lea and Flood 2014): enough to spread clients over hosts.
fn split_mix(state: &mut u64) -> u64 {
    *state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let mut z = *state;
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}
