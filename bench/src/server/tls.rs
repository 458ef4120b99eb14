//! The server of the row with TLS: a second one, because stock PostgreSQL as it is fetched has no OpenSSL, and
//! neither has its pgbench.

use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use pgdyno_server::{Account, Cache, Installation, Server};

use super::{SCALE, interrupted, must_succeed, options};
use crate::Error;
use crate::programs::{pgbench, version_line};

/// How long a server may take to read its settings again.
const PATIENCE: Duration = Duration::from_secs(10);

/// A loaded server with TLS, and the pgbench that is installed with it.
pub struct Tls {
    server: Server,
    pub(super) pgbench: PathBuf,
    version: String,
}

impl Tls {
    /// Starts a distribution's server, or one that pgdyno fetches, with a certificate of its own, and loads the tables.
    pub fn start(cache: Cache) -> Result<Self, Error> {
        let account = Account::choose(None)?;
        let mut tell = |step| eprintln!("bench: {step}");
        let found = Installation::find(None, &account, &cache, interrupted, &mut tell)?;
        let pgbench = found.bindir.join("pgbench");
        let version = version_line(&pgbench, "--version")
            .map_err(|e| format!("no pgbench with OpenSSL to compare with: {e}"))?;
        let server = Server::start(&options(&found.bindir, cache)?, &mut tell)?;
        let tls = Self {
            server,
            pgbench,
            version,
        };
        pgdyno_testkit::certify(&tls.server, "localhost");
        let psql = |url: &str, sql: &str| {
            let mut command = Command::new(found.bindir.join("psql"));
            command.args(["--no-psqlrc", "--quiet", "--dbname", url, "--command", sql]);
            command
        };
        let socket = tls.server.address().url();
        must_succeed(&mut psql(&socket, "ALTER SYSTEM SET ssl = on"))?;
        must_succeed(&mut psql(&socket, "SELECT pg_reload_conf()"))?;
        eprintln!("bench: loading pgbench's tables, scale {SCALE}, for TLS");
        must_succeed(&mut pgbench::load(&tls.pgbench, &socket, SCALE))?;
        must_succeed(&mut psql(&socket, "CHECKPOINT"))?;
        let begun = Instant::now();
        loop {
            let mut command = psql(&tls.url(true), "SELECT 1");
            match must_succeed(command.stdout(Stdio::null())) {
                Ok(()) => return Ok(tls),
                Err(error) if begun.elapsed() > PATIENCE => return Err(error),
                Err(_) => std::thread::sleep(Duration::from_millis(100)),
            }
        }
    }

    /// Where it is reached by TCP, encrypted or not.
    pub fn url(&self, is_encrypted: bool) -> String {
        let url = self.server.address().loopback_url().unwrap_or_default();
        let mode = if is_encrypted { "require" } else { "disable" };
        format!("{url}?sslmode={mode}")
    }

    /// What it is, for the results.
    pub fn description(&self) -> String {
        format!(
            "with TLS: PostgreSQL {}, {}",
            self.server.version(),
            self.version
        )
    }
}
