//! Real servers that can be killed, stopped and started again: each case has one of its own, on a copy of
//! data that are made once.

use std::fs;
use std::net::TcpListener;
use std::os::unix::fs::{PermissionsExt, chown};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use pgdyno_platform::child::{Signal, die_with_parent, send_signal, spawn_from_lasting_thread};
use pgdyno_platform::user::{User, run_as};
use pgdyno_server::Account;
use pgdyno_session::{Env, Given, Session, resolve};
use tempfile::TempDir;

use crate::child::{server_processes, wait_until};
use crate::support::connect;
use pgdyno_testkit::Certs;

/// A server that is killed takes a while until it can be started again.
const START_LIMIT: Duration = Duration::from_secs(60);

/// The role and the table of the trials. Nothing makes a row unique: one that is there twice is found.
const TABLES: &str = "CREATE ROLE bench LOGIN PASSWORD 'first';
    CREATE TABLE done (client int, n int);
    GRANT SELECT, INSERT ON done TO bench";

/// Small and quick; nothing is synced, because the machine does not lose its power.
const SETTINGS: &str = "listen_addresses='127.0.0.1'\nfsync=off\nshared_buffers=32MB\n\
    max_connections=150\nautovacuum=off\nlog_min_messages=warning\n";

/// What a server differs in from the others.
#[derive(Debug, Clone, Copy, Default)]
pub struct Setup {
    pub settings: &'static str,
    /// Its own certificate, and clients that check it.
    pub tls: bool,
    pub password: bool,
}

/// Data with the tables, to be copied.
pub struct Template {
    dir: TempDir,
    bindir: PathBuf,
}

pub struct Server {
    dir: TempDir,
    bindir: PathBuf,
    port: u16,
    child: Mutex<Option<Child>>,
    /// Its certificate's authority, and another one.
    certs: Option<[Certs; 2]>,
}

/// The user that servers run as; none: as ourselves.
fn account() -> Option<User> {
    let account = Account::choose(None).unwrap();
    let name = account.other_name()?;
    User::named(name).unwrap()
}

fn give(path: &Path, mode: u32) {
    fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
    if let Some(user) = account() {
        chown(path, Some(user.uid), Some(user.gid)).unwrap();
    }
}

fn directory() -> TempDir {
    let dir = tempfile::Builder::new()
        .prefix("pgdyno-faults-")
        .tempdir()
        .unwrap();
    give(dir.path(), 0o700);
    dir
}

/// A program of the server as its user, without settings of the environment.
fn command(program: &Path) -> Command {
    let mut command = Command::new(program);
    command.current_dir("/").env("LC_ALL", "C");
    for (name, _) in std::env::vars_os() {
        if name.to_string_lossy().starts_with("PG") {
            command.env_remove(name);
        }
    }
    if let Some(user) = account() {
        run_as(&mut command, &user);
    }
    command.stdin(Stdio::null());
    command
}

impl Template {
    /// Made with the programs in this directory.
    pub fn new(bindir: &Path) -> Template {
        let dir = directory();
        let output = command(&bindir.join("initdb"))
            .arg("-D")
            .arg(dir.path().join("data"))
            .args(["-U", "postgres", "-A", "trust", "-E", "UTF8"])
            .args(["--no-locale", "-N", "--wal-segsize=1"])
            .output()
            .unwrap();
        assert!(output.status.success(), "{output:?}");
        let template = Template {
            dir,
            bindir: bindir.to_owned(),
        };
        // What its own server leaves is what is copied.
        let server = Server::start(&template, Setup::default());
        let run = |database: &str, statements: &str| {
            let mut session = server.admin(database);
            session.simple_query(statements).unwrap();
        };
        run("postgres", "CREATE DATABASE faults");
        run("faults", TABLES);
        server.stop(Signal::Interrupt);
        let data = template.dir.path().join("data");
        fs::remove_dir_all(&data).unwrap();
        fs::rename(server.data_dir(), &data).unwrap();
        template
    }
}

impl Server {
    /// Starts one on a copy of the template's data.
    pub fn start(template: &Template, setup: Setup) -> Server {
        let dir = directory();
        let data = dir.path().join("data");
        let copied = Command::new("cp")
            .args(["-a", "--reflink=auto"])
            .args([&template.dir.path().join("data"), &data])
            .status();
        assert!(copied.unwrap().success());
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        drop(listener);
        let mut conf = format!(
            "{SETTINGS}port={port}\nunix_socket_directories='{}'\n{}",
            dir.path().display(),
            setup.settings
        );
        let certs = setup.tls.then(|| {
            ["own", "other"].map(|name| {
                let path = dir.path().join(name);
                fs::create_dir(&path).unwrap();
                Certs::make(&path)
            })
        });
        if certs.is_some() {
            conf.push_str("ssl=on\nssl_cert_file='server.crt'\nssl_key_file='server.key'\n");
        }
        fs::write(data.join("postgresql.conf"), conf).unwrap();
        let method = if setup.password {
            "scram-sha-256"
        } else {
            "trust"
        };
        let rules = format!("local all all trust\nhost all all 127.0.0.1/32 {method}\n");
        fs::write(data.join("pg_hba.conf"), rules).unwrap();
        let server = Server {
            dir,
            bindir: template.bindir.clone(),
            port,
            child: Mutex::default(),
            certs,
        };
        if server.certs.is_some() {
            server.use_certificate(0);
        }
        server.run();
        server
    }

    pub fn data_dir(&self) -> PathBuf {
        self.dir.path().join("data")
    }

    pub fn port(&self) -> u16 {
        self.port
    }

    /// The certificate of the authority that clients are to trust.
    pub fn root_certificate(&self) -> Option<PathBuf> {
        self.certs.as_ref().map(|certs| certs[0].ca_cert.clone())
    }

    /// From its next reload on the server shows the certificate of one of the two authorities.
    pub fn use_certificate(&self, of: usize) {
        let certs = &self.certs.as_ref().unwrap()[of];
        for (from, name) in [
            (&certs.server_cert, "server.crt"),
            (&certs.server_key, "server.key"),
        ] {
            let to = self.data_dir().join(name);
            fs::copy(from, &to).unwrap();
            give(&to, 0o600);
        }
    }

    /// A new certificate of the authority that clients trust.
    pub fn renew_certificate(&self) {
        let names = ["localhost"];
        let certs = &self.certs.as_ref().unwrap()[0];
        certs.issue("server", "server", &names, &rcgen::PKCS_ECDSA_P256_SHA256);
        self.use_certificate(0);
    }

    /// Starts it and waits until it takes connections. What an earlier one left is its own affair.
    pub fn run(&self) {
        let began = Instant::now();
        let status = self.data_dir().join("postmaster.pid");
        while !self.try_run(&status) {
            let log = fs::read_to_string(self.dir.path().join("log")).unwrap();
            assert!(began.elapsed() < START_LIMIT, "it does not start: {log}");
            std::thread::sleep(Duration::from_millis(50));
        }
    }

    /// Whether a start succeeds. It does not while processes of a killed one are still there.
    fn try_run(&self, status: &Path) -> bool {
        let log = fs::File::options()
            .create(true)
            .append(true)
            .open(self.dir.path().join("log"))
            .unwrap();
        let mut command = command(&self.bindir.join("postgres"));
        command.arg("-D").arg(self.data_dir());
        command.stdout(Stdio::null()).stderr(log);
        die_with_parent(&mut command, Signal::Quit);
        let mut child = spawn_from_lasting_thread(command).unwrap();
        let pid = child.id().to_string();
        loop {
            if child.try_wait().unwrap().is_some() {
                return false;
            }
            // Line 1 is the process, line 8 its state.
            let text = fs::read_to_string(status).unwrap_or_default();
            let mut lines = text.lines().map(str::trim);
            if lines.next() == Some(&pid) && lines.nth(6) == Some("ready") {
                break;
            }
            std::thread::sleep(Duration::from_millis(5));
        }
        *self.child() = Some(child);
        true
    }

    fn child(&self) -> std::sync::MutexGuard<'_, Option<Child>> {
        self.child.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub fn postmaster(&self) -> u32 {
        self.child().as_ref().unwrap().id()
    }

    pub fn processes(&self) -> Vec<u32> {
        server_processes(self.dir.path())
    }

    /// Ends it by this signal and waits until none of its processes is left.
    pub fn stop(&self, signal: Signal) {
        let mut child = self.child().take().unwrap();
        send_signal(child.id(), signal).unwrap();
        child.wait().unwrap();
        wait_until("the end of all processes", || self.processes().is_empty());
    }

    /// A superuser's session by the Unix socket, as soon as the server takes one.
    pub fn admin(&self, database: &str) -> Session {
        let url = format!(
            "host={} port={} user=postgres dbname={database}",
            self.dir.path().display(),
            self.port
        );
        let info = resolve(&Given::target(&url), &Env::empty()).unwrap();
        let candidates = info.candidates().unwrap();
        let limit = Some(Duration::from_secs(30));
        wait_until("a session", || {
            Session::connect(&candidates.list, limit).is_ok()
        });
        connect(&url)
    }

    /// Executes a statement; its first value.
    pub fn sql(&self, statement: &str) -> String {
        self.sql_in("faults", statement)
    }

    /// The same in another database.
    pub fn sql_in(&self, database: &str, statement: &str) -> String {
        let outcome = self.admin(database).query(statement).unwrap();
        let value = outcome.rows.into_iter().flatten().next().flatten();
        value.unwrap_or_default()
    }

    /// Changes the configuration; the server has it when this returns.
    pub fn set(&self, setting: &str) {
        self.sql(&format!("ALTER SYSTEM {setting}"));
        self.reload();
    }

    pub fn reload(&self) {
        let before = self.sql("SELECT pg_conf_load_time()");
        self.sql("SELECT pg_reload_conf()");
        // New sessions come from the postmaster, which may read it a little later.
        wait_until("a reload", || {
            self.sql("SELECT pg_conf_load_time()") != before
        });
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        if let Some(mut child) = self.child().take() {
            // Stopped ones end by nothing else.
            for pid in self.processes() {
                let _ = send_signal(pid, Signal::Kill);
            }
            let _ = child.wait();
            let began = Instant::now();
            while !self.processes().is_empty() && began.elapsed() < Duration::from_secs(10) {
                std::thread::sleep(Duration::from_millis(5));
            }
        }
    }
}
