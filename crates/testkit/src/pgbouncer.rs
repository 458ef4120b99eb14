//! A real PgBouncer before a server.

use std::io;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Command, Stdio};

use crate::middlebox::Middlebox;

impl Middlebox {
    /// PgBouncer, which trusts all clients and logs in as `postgres`, before the server on this port of 127.0.0.1, with
    /// settings of its own (`pool_mode=transaction`).
    ///
    /// # Errors
    /// Why it is not here: the reason to skip a test.
    ///
    /// # Panics
    /// It is here and does not start.
    pub fn pgbouncer(server_port: u16, settings: &[&str]) -> Result<Self, String> {
        crate::debian(&["pgbouncer"], &["pgbouncer"])?;
        let program = match Path::new("/usr/sbin/pgbouncer") {
            path if path.exists() => path,
            _ => Path::new("pgbouncer"),
        };
        Ok(run(program, server_port, settings).expect("PgBouncer starts"))
    }
}

fn run(program: &Path, server_port: u16, settings: &[&str]) -> io::Result<Middlebox> {
    let [port] = crate::free_ports();
    let folder = tempfile::tempdir()?;
    let ini = format!(
        "[databases]\n* = host=127.0.0.1 port={server_port} user=postgres\n[pgbouncer]\n\
         listen_addr=127.0.0.1\nlisten_port={port}\nunix_socket_dir=\nauth_type=any\n{}\n",
        settings.join("\n")
    );
    let file = folder.path().join("pgbouncer.ini");
    std::fs::write(&file, ini)?;
    // It refuses to run as root.
    std::fs::set_permissions(folder.path(), std::fs::Permissions::from_mode(0o755))?;
    let mut command = Command::new(program);
    command.arg("-q").arg(&file).stderr(Stdio::null());
    if pgdyno_platform::user::is_root() {
        command.args(["-u", "nobody"]);
    }
    Middlebox::run(&mut command, port, folder)
}
