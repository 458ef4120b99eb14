//! The server, its tables, and a trial on them.

use std::path::Path;
use std::process::Command;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use pgdyno_server::{Cache, Listen, Options, Server};
use pgdyno_session::Session;
use pgdyno_testkit::Upstream;
use serde_json::Value;

use crate::support::{Database, connect, pgdyno, ran};
use crate::verdict::processes::Quota;
use crate::verdict::storage::Storage;

/// Long enough for a steady share of samples, and for intervals over blocks.
const SECONDS: &str = "6";

/// Few shared buffers, so that tables of 50 MB do not fit, and no work in the background but what a
/// limit asks for.
const SETTINGS: [&str; 8] = [
    "fsync=on",
    "shared_buffers=16MB",
    "checkpoint_timeout=1h",
    "max_wal_size=8GB",
    "autovacuum=off",
    "bgwriter_lru_maxpages=0",
    "wal_writer_delay=10s",
    "max_connections=300",
];

/// A result; or why the limit cannot be made here.
pub type Made = Result<Value, String>;

/// The server and the tables.
pub struct Stage {
    pub server: Server,
    pub db: Database,
    storage: Option<Storage>,
    dir: tempfile::TempDir,
}

impl Stage {
    pub fn new() -> Self {
        let installation = pgdyno_testkit::installation();
        // Not in target/: the server's account must reach it.
        let dir = tempfile::tempdir_in("/tmp").unwrap();
        let storage = Storage::build(&installation.bindir, dir.path());
        let bindir = storage
            .as_ref()
            .map_or(installation.bindir.as_path(), Storage::bindir);
        let cache: Cache = pgdyno_testkit::cache();
        let options = Options {
            bindir: Some(bindir.to_owned()),
            settings: SETTINGS.map(|text| text.parse().unwrap()).into(),
            listen: Listen::Loopback(0),
            cache: Some(cache),
            ..Options::default()
        };
        let server = Server::start(&options, &mut |_| {}).unwrap();
        let db = Database::on(&server, "limits");
        db.sql(include_str!("tables.sql"));
        db.sql("VACUUM (FREEZE, ANALYZE)");
        db.sql("CHECKPOINT");
        Stage {
            server,
            db,
            storage,
            dir,
        }
    }

    /// The storage to slow down.
    ///
    /// # Errors
    /// There is no C compiler for the library that does it.
    pub fn storage(&self) -> Result<&Storage, String> {
        let storage = self.storage.as_ref();
        storage.ok_or_else(|| "no C compiler (cc) for the slow storage".to_owned())
    }

    /// Where a proxy finds the server.
    pub fn upstream(&self) -> Upstream {
        self.server.address().socket_path().into()
    }

    /// A session of another one than pgdyno.
    pub fn session(&self) -> Session {
        connect(&self.db.url)
    }

    /// A trial of this script.
    pub fn trial<'a>(&'a self, script: &str, args: &[&'a str]) -> Trial<'a> {
        let path = self.dir.path().join("script.sql");
        std::fs::write(&path, script).unwrap();
        Trial {
            script: path,
            args: args.to_vec(),
            seconds: SECONDS,
            url: self.db.url.clone(),
            starter: Vec::new(),
        }
    }

    /// What is done again and again during a trial, on a session of its own.
    pub fn meanwhile(&self, mut step: impl FnMut(&mut Session) + Send, trial: &Trial) -> Value {
        let is_over = AtomicBool::new(false);
        thread::scope(|scope| {
            scope.spawn(|| {
                let mut session = self.session();
                while !is_over.load(Ordering::Relaxed) {
                    step(&mut session);
                }
            });
            let json = trial.run();
            is_over.store(true, Ordering::Relaxed);
            json
        })
    }
}

pub struct Trial<'a> {
    script: std::path::PathBuf,
    args: Vec<&'a str>,
    seconds: &'a str,
    url: String,
    starter: Vec<String>,
}

impl<'a> Trial<'a> {
    /// Not as long as the others.
    pub fn seconds(mut self, seconds: &'a str) -> Self {
        self.seconds = seconds;
        self
    }

    /// By another way than the server's socket.
    pub fn through(mut self, url: &str) -> Self {
        url.clone_into(&mut self.url);
        self
    }

    /// pgdyno on these CPUs only.
    pub fn on_cpus(mut self, cpus: &str) -> Self {
        self.starter = ["taskset", "-c", cpus].map(str::to_owned).into();
        self
    }

    /// pgdyno in this control group.
    pub fn under(mut self, quota: &Quota) -> Self {
        let members = quota.members();
        let enter = "echo $$ > \"$0\" && exec \"$@\"";
        self.starter = ["sh", "-c", enter, members.to_str().unwrap()]
            .map(str::to_owned)
            .into();
        self
    }

    pub fn run(&self) -> Value {
        let own = pgdyno(&["run"]);
        let mut command = self.start(&own);
        command.arg(&self.script).args(&self.args);
        command.args(["-T", self.seconds, "--url", &self.url, "--json", "-q"]);
        let run = ran(&mut command);
        serde_json::from_str(&run.stdout).unwrap_or_else(|e| panic!("{e}: {run:?}"))
    }

    /// The program with its environment, behind what it is started by.
    fn start(&self, own: &Command) -> Command {
        let program = Path::new(own.get_program());
        let mut command = match self.starter.split_first() {
            Some((first, rest)) => {
                let mut command = Command::new(first);
                command.args(rest).arg(program);
                command
            }
            None => Command::new(program),
        };
        command.args(own.get_args());
        for (name, value) in own.get_envs() {
            match value {
                Some(value) => command.env(name, value),
                None => command.env_remove(name),
            };
        }
        command
    }
}
