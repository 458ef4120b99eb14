//! A shell in which a tool's name means pgdyno, or the tool itself: a folder of its own, with the
//! programs in `bin`, and the environment that says where the server is.

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use pgdyno_server::Server;
use pgdyno_testkit::stock_bindir;

use crate::child::Running;
use crate::seeds::table::{Line, Side};
use crate::support::Ran;

/// The names by which pgdyno is called.
const NAMES: [&str; 9] = [
    "pgdyno",
    "pgbench",
    "ysql_bench",
    "pgio",
    "ybio",
    "cockroach",
    "workload",
    "ycsb",
    "go-ycsb",
];

/// A folder to type lines in.
pub struct Shell {
    dir: tempfile::TempDir,
    side: Side,
    env: Vec<(String, String)>,
}

impl Shell {
    pub fn ours(server: &Server, database: &str) -> Shell {
        let shell = Shell::new(server, database, Side::Ours);
        for name in NAMES {
            shell.program(name, Path::new(env!("CARGO_BIN_EXE_pgdyno")));
        }
        shell
    }

    /// pgbench is PostgreSQL's; the other tools are those that are put in.
    pub fn theirs(server: &Server, database: &str) -> Shell {
        Shell::new(server, database, Side::Theirs)
    }

    fn new(server: &Server, database: &str, side: Side) -> Shell {
        let dir = tempfile::tempdir().expect("a temporary directory");
        // A server's unprivileged user must get in.
        let all = fs::Permissions::from_mode(0o755);
        fs::set_permissions(dir.path(), all).expect("our own");
        fs::create_dir(dir.path().join("bin")).expect("it is empty");
        let port = server.address().port.to_string();
        let mut shell = Shell {
            dir,
            side,
            env: Vec::new(),
        };
        for (name, value) in [
            ("PGHOST", "localhost"),
            ("PGPORT", &port),
            ("PGUSER", "postgres"),
            ("PGDATABASE", database),
            (
                "URL",
                &format!("postgresql://postgres@localhost:{port}/{database}"),
            ),
            ("LC_ALL", "C"),
        ] {
            shell.set(name, value);
        }
        let store = shell.path("notebook.sqlite");
        shell.set("PGDYNO_STORE", &store.display().to_string());
        shell
    }

    /// A variable of its environment.
    pub fn set(&mut self, name: &str, value: &str) {
        self.env.push((name.to_owned(), value.to_owned()));
    }

    pub fn url(&self) -> String {
        let mut env = self.env.iter();
        let url = env.find_map(|(name, value)| (name == "URL").then(|| value.clone()));
        url.expect("set from the beginning")
    }

    /// A program in `bin`, by this name.
    pub fn program(&self, name: &str, program: &Path) {
        let link = self.path("bin").join(name);
        symlink(program, link).expect("a name is given once");
    }

    /// A script of one command in `bin`.
    pub fn script(&self, name: &str, text: &str) {
        let path = self.path("bin").join(name);
        fs::write(&path, format!("#!/bin/sh\n{text}\n")).expect("our folder");
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).expect("our own");
    }

    /// Where a file of this folder is.
    pub fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    pub fn write(&self, name: &str, text: &str) {
        let path = self.path(name);
        fs::create_dir_all(path.parent().expect("within the folder")).expect("our folder");
        fs::write(path, text).expect("our folder");
    }

    /// What is in a file of it.
    #[track_caller]
    pub fn read(&self, name: &str) -> String {
        fs::read_to_string(self.path(name)).unwrap_or_else(|e| panic!("{name}: {e}"))
    }

    /// Types a line of the table.
    pub fn run(&self, line: &Line) -> Ran {
        self.type_in(&line.command(self.side))
    }

    pub fn type_in(&self, command: &str) -> Ran {
        let path = std::env::var("PATH").unwrap_or_default();
        let stock = stock_bindir().unwrap_or_default();
        let path = format!("{}:{}:{path}", self.path("bin").display(), stock.display());
        let mut bash = Command::new("bash");
        for (name, _) in std::env::vars_os() {
            let name = name.to_string_lossy().into_owned();
            if ["PG", "LC_", "LANG"].iter().any(|of| name.starts_with(of)) {
                bash.env_remove(name);
            }
        }
        bash.args(["-c", command])
            .env("PATH", path)
            .envs(self.env.iter().map(|(name, value)| (name, value)))
            .current_dir(self.dir.path())
            // pgbench-tools kills process groups.
            .process_group(0)
            .stdin(Stdio::null());
        Running::start(&mut bash).ended()
    }

    /// Types this, which must end well.
    #[track_caller]
    pub fn must(&self, command: &str) -> Ran {
        let ran = self.type_in(command);
        assert_eq!(ran.code, Some(0), "{command}: {ran:#?}");
        ran
    }
}
