//! Where a server listens, and how to say so to libpq.

use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};

/// The superuser that initdb creates, and the database to connect to.
pub(crate) const SUPERUSER: &str = "postgres";

/// Whether the server listens on more than its Unix socket.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Listen {
    /// On a Unix socket in a directory that only the server's user (and root) can enter.
    #[default]
    SocketOnly,
    /// Also on 127.0.0.1 at this port; 0 takes a free one. Every user of this machine can then
    /// connect without a password.
    Loopback(u16),
}

/// Where a running server is reached, as user `postgres`, database `postgres`, no password.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Address {
    /// Directory of the Unix socket.
    pub socket_dir: PathBuf,
    /// Port: it names the Unix socket too.
    pub port: u16,
    /// Whether it also listens on 127.0.0.1.
    pub loopback: bool,
}

impl Address {
    /// URL for the Unix socket, in a form that psql takes.
    pub fn url(&self) -> String {
        let host = percent_encoded(self.socket_dir.as_os_str().as_bytes());
        format!(
            "postgresql://{SUPERUSER}@/{SUPERUSER}?host={host}&port={}",
            self.port
        )
    }

    /// URL for 127.0.0.1; `None` when the server does not listen there.
    pub fn loopback_url(&self) -> Option<String> {
        self.loopback.then(|| {
            format!(
                "postgresql://{SUPERUSER}@127.0.0.1:{}/{SUPERUSER}",
                self.port
            )
        })
    }

    pub fn socket_path(&self) -> PathBuf {
        self.socket_dir.join(format!(".s.PGSQL.{}", self.port))
    }
}

/// Leaves only what a URL's query may hold plainly; libpq decodes the rest.
fn percent_encoded(bytes: &[u8]) -> String {
    let mut text = String::new();
    for &byte in bytes {
        if byte.is_ascii_alphanumeric() || b"/-_.~".contains(&byte) {
            text.push(byte as char);
        } else {
            text.push_str(&format!("%{byte:02X}"));
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn urls_hold_any_path() {
        let mut address = Address {
            socket_dir: "/tmp/a b&ü".into(),
            port: 5433,
            loopback: false,
        };
        assert_eq!(
            address.url(),
            "postgresql://postgres@/postgres?host=/tmp/a%20b%26%C3%BC&port=5433"
        );
        assert_eq!(address.loopback_url(), None);
        address.loopback = true;
        assert_eq!(
            address.loopback_url().as_deref(),
            Some("postgresql://postgres@127.0.0.1:5433/postgres")
        );
    }
}
