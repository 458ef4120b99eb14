//! Several hosts, addresses and ports: how the lists go together, and what each one means.

use std::net::{IpAddr, SocketAddr, ToSocketAddrs};
use std::path::{Path, PathBuf};

use pgdyno_wire::{Addr, Secret};

use super::ConnInfoError;
use super::options::{Options, integer};

const DEFAULT_PORT: &str = "5432";
/// Where servers put their socket: distributions in the first, PostgreSQL's own builds in the
/// second. libpq knows the one it was built with.
const SOCKET_DIRECTORIES: [&str; 2] = ["/var/run/postgresql", "/tmp"];
/// Bytes of a Unix socket's path, its final zero included.
const MAX_SOCKET_PATH_BYTES: usize = 108;

/// One entry of the lists.
#[derive(Clone)]
pub(super) struct Host {
    host: String,
    hostaddr: String,
    port: String,
    pub password: Option<Secret>,
}

/// Splits the lists by libpq's rules: a port for all hosts or one each, an address for each name.
pub(super) fn split(options: &Options) -> Result<Vec<Host>, ConnInfoError> {
    let list = |name: &str| -> Vec<String> {
        let text = options.filled(name);
        text.map_or(Vec::new(), |text| {
            text.split(',').map(str::to_owned).collect()
        })
    };
    let (names, addrs, ports) = (list("host"), list("hostaddr"), list("port"));
    let count = if addrs.is_empty() {
        names.len().max(1)
    } else {
        addrs.len()
    };
    if !names.is_empty() && names.len() != count {
        return Err(ConnInfoError::new(format!(
            "could not match {} host names to {count} hostaddr values",
            names.len()
        )));
    }
    if ports.len() > 1 && ports.len() != count {
        return Err(ConnInfoError::new(format!(
            "could not match {} port numbers to {count} hosts",
            ports.len()
        )));
    }
    let at = |list: &[String], i: usize| list.get(i).cloned().unwrap_or_default();
    let hosts: Vec<Host> = (0..count)
        .map(|i| Host {
            host: at(&names, i),
            hostaddr: at(&addrs, i),
            port: at(&ports, if ports.len() == 1 { 0 } else { i }),
            password: None,
        })
        .collect();
    for host in &hosts {
        host.port_number()?;
    }
    Ok(hosts)
}

fn is_socket_directory(host: &str) -> bool {
    host.starts_with('/') || host.starts_with('@')
}

impl Host {
    /// A server by its name, address or socket directory.
    pub(super) fn new(host: &str, port: u16) -> Host {
        Host {
            host: host.to_owned(),
            hostaddr: String::new(),
            port: port.to_string(),
            password: None,
        }
    }

    /// What the options `host`, `hostaddr` and `port` say of it alone.
    pub(super) fn options(&self) -> [(&'static str, &str); 3] {
        [
            ("host", &self.host),
            ("hostaddr", &self.hostaddr),
            ("port", &self.port),
        ]
    }

    pub(super) fn display_name(&self) -> &str {
        if self.hostaddr.is_empty() {
            &self.host
        } else {
            &self.hostaddr
        }
    }

    /// The name that a certificate must be for.
    pub(super) fn tls_name(&self) -> &str {
        &self.host
    }

    pub(super) fn port_text(&self) -> &str {
        if self.port.is_empty() {
            DEFAULT_PORT
        } else {
            &self.port
        }
    }

    fn port_number(&self) -> Result<u16, ConnInfoError> {
        const WAY_OUT: &str = "a port is a whole number from 1 to 65535, as in postgresql://USER@HOST:5432/DATABASE, port=5432 or PGPORT";
        let number = integer(self.port_text(), "port").map_err(|e| e.hint(WAY_OUT.to_owned()))?;
        let port = u16::try_from(number).ok().filter(|port| *port != 0);
        port.ok_or_else(|| {
            let text = format!("invalid port number: \"{}\"", self.port_text());
            ConnInfoError::new(text).hint(WAY_OUT.to_owned())
        })
    }

    /// The host's name in the password file; a default socket directory is `localhost` there.
    pub(super) fn password_key(&self) -> &str {
        let name = if self.host.is_empty() {
            &self.hostaddr
        } else {
            &self.host
        };
        if name.is_empty() || SOCKET_DIRECTORIES.contains(&name.as_str()) {
            "localhost"
        } else {
            name
        }
    }

    /// Its addresses, looked up if it is a name.
    pub(super) fn addresses(&self) -> Result<Vec<Addr>, ConnInfoError> {
        let port = self.port_number()?;
        if !self.hostaddr.is_empty() {
            let ip: IpAddr = self.hostaddr.parse().map_err(|_| {
                ConnInfoError::new(format!(
                    "could not parse network address \"{}\": Name or service not known",
                    self.hostaddr
                ))
            })?;
            return Ok(vec![Addr::Tcp(SocketAddr::new(ip, port))]);
        }
        if self.host.is_empty() {
            return Ok(vec![Addr::Unix(default_socket(port))]);
        }
        if is_socket_directory(&self.host) {
            let path = socket_path(&self.host, port);
            if path.as_os_str().len() >= MAX_SOCKET_PATH_BYTES {
                return Err(ConnInfoError::new(format!(
                    "Unix-domain socket path \"{}\" is too long (maximum {} bytes)",
                    path.display(),
                    MAX_SOCKET_PATH_BYTES - 1
                )));
            }
            return Ok(vec![Addr::Unix(path)]);
        }
        let failed = |reason: &str| {
            ConnInfoError::new(format!(
                "could not translate host name \"{}\" to address: {reason}",
                self.host
            ))
        };
        let found = (self.host.as_str(), port).to_socket_addrs().map_err(|e| {
            let text = e.to_string();
            failed(
                text.strip_prefix("failed to lookup address information: ")
                    .unwrap_or(&text),
            )
        })?;
        let mut addrs: Vec<Addr> = Vec::new();
        for addr in found.map(Addr::Tcp) {
            if !addrs.contains(&addr) {
                addrs.push(addr);
            }
        }
        if addrs.is_empty() {
            Err(failed("No address associated with hostname"))
        } else {
            Ok(addrs)
        }
    }
}

fn socket_path(directory: &str, port: u16) -> PathBuf {
    PathBuf::from(format!("{directory}/.s.PGSQL.{port}"))
}

/// The first default directory with a server's socket; without one, the first that exists.
fn default_socket(port: u16) -> PathBuf {
    let with_socket = SOCKET_DIRECTORIES
        .iter()
        .find(|dir| socket_path(dir, port).exists());
    let existing = SOCKET_DIRECTORIES
        .iter()
        .find(|dir| Path::new(dir).is_dir());
    socket_path(
        with_socket.or(existing).unwrap_or(&SOCKET_DIRECTORIES[1]),
        port,
    )
}
