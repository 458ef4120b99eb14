//! The two programs that are compared, called in the same way.

use std::os::unix::fs::{PermissionsExt, symlink};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::OnceLock;

use pgdyno_server::Server;

/// The program under test as `pgbench`: a symbolic link in a directory of its own, which all users can
/// read.
pub fn under_test() -> PathBuf {
    static LINKS: OnceLock<tempfile::TempDir> = OnceLock::new();
    let links = LINKS.get_or_init(|| {
        let dir = tempfile::tempdir().expect("a temporary directory");
        let all = std::fs::Permissions::from_mode(0o755);
        std::fs::set_permissions(dir.path(), all).expect("our own");
        let named = std::env::var_os("PGDYNO_PGBENCH_UNDER_TEST").filter(|v| !v.is_empty());
        let program = named.map_or_else(|| env!("CARGO_BIN_EXE_pgdyno").into(), PathBuf::from);
        let program = program.canonicalize().expect("the program under test");
        symlink(&program, dir.path().join("pgbench")).expect("it is new");
        dir
    });
    links.path().join("pgbench")
}

/// `program ARGS` in `dir`, with nothing in its environment that names a server or a language.
/// It is called `pgbench` wherever it lies: getopt_long complains in the words of argv\[0\].
pub fn command(program: &Path, dir: &Path) -> Command {
    let mut command = Command::new(program);
    for (name, _) in std::env::vars_os() {
        let text = name.to_string_lossy();
        if text.starts_with("PG") || text.starts_with("LC_") || text.starts_with("LANG") {
            command.env_remove(name);
        }
    }
    command
        .env_remove("POSIXLY_CORRECT")
        .env("LC_ALL", "C")
        .current_dir(dir)
        .stdin(Stdio::null());
    if let Some(name) = program.file_name() {
        command.arg0(name);
    }
    command
}

/// Has it connect to this server, as its superuser, when nothing else is said.
pub fn at<'a>(command: &'a mut Command, server: &Server, database: &str) -> &'a mut Command {
    command
        .env("PGHOST", &server.address().socket_dir)
        .env("PGPORT", server.address().port.to_string())
        .env("PGUSER", "postgres")
        .env("PGDATABASE", database)
}
