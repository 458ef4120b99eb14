//! A real PostgreSQL for these tests: started on demand, shared by the tests of one binary, stopped
//! and removed with the last of them.
#![allow(dead_code, clippy::unwrap_used)]

use std::ffi::OsStr;
use std::fs;
use std::net::TcpListener;
use std::os::unix::fs::{PermissionsExt, chown};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex, Weak};
use std::time::{Duration, Instant};

use pgdyno_session::{Env, Given, Session, resolve};
use pgdyno_testkit::Certs;
use tempfile::TempDir;

/// Settings and rules of one server.
#[derive(Clone, Copy, Default)]
pub struct Setup<'a> {
    pub settings: &'a [(&'a str, &'a str)],
    pub hba: &'a str,
    pub standby: bool,
    pub tls: bool,
    /// The server's own OpenSSL takes weak keys and hashes.
    pub weak_tls: bool,
}

pub struct Server {
    pub port: u16,
    /// Directory of its Unix socket.
    pub sockets: PathBuf,
    pub certs: Option<Certs>,
    stop: Option<Sender<()>>,
    runner: Option<std::thread::JoinHandle<()>>,
    _dir: TempDir,
}

/// The server kept in `slot`, started if no test holds it.
pub fn shared(slot: &'static Mutex<Weak<Server>>, setup: Setup<'_>) -> Arc<Server> {
    let mut slot = slot.lock().unwrap_or_else(|e| e.into_inner());
    if let Some(server) = slot.upgrade() {
        return server;
    }
    let server = Arc::new(Server::start(setup));
    *slot = Arc::downgrade(&server);
    server
}

fn bindir() -> PathBuf {
    if let Some(dir) = std::env::var_os("PGDYNO_TEST_PG_BINDIR") {
        return dir.into();
    }
    pgdyno_testkit::installation_with_tls().bindir.clone()
}

fn is_root() -> bool {
    rustix::process::geteuid().is_root()
}

/// User and group that may run a server.
fn server_user() -> Option<(u32, u32)> {
    if !is_root() {
        return None;
    }
    let passwd = fs::read_to_string("/etc/passwd").unwrap();
    let find = |name: &str| {
        passwd
            .lines()
            .map(|l| l.split(':').collect::<Vec<_>>())
            .find(|f| f[0] == name)
            .map(|f| (f[2].parse().unwrap(), f[3].parse().unwrap()))
    };
    Some(
        find("postgres")
            .or_else(|| find("nobody"))
            .expect("no user to run the server as"),
    )
}

fn server_command(program: &Path) -> Command {
    let mut command = Command::new("setpriv");
    command.args(["--pdeathsig", "QUIT"]);
    if let Some((uid, gid)) = server_user() {
        command.args([
            format!("--reuid={uid}"),
            format!("--regid={gid}"),
            "--clear-groups".into(),
        ]);
    }
    command
        .arg(program)
        .current_dir("/")
        .env_clear()
        .env("LC_ALL", "C")
        .env("PATH", "/usr/bin:/bin");
    command
}

pub fn give_to_server(path: &Path, mode: u32) {
    fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
    if let Some((uid, gid)) = server_user() {
        chown(path, Some(uid), Some(gid)).unwrap();
    }
}

/// Has the server read its settings and certificates again, and waits until it did.
pub fn reload(server: &Server) {
    let loaded = || {
        let time = server.admin().query_one_value("SELECT pg_conf_load_time()");
        time.unwrap().unwrap()
    };
    let before = loaded();
    server.admin().query("SELECT pg_reload_conf()").unwrap();
    let deadline = Instant::now() + Duration::from_secs(20);
    while loaded() == before {
        assert!(Instant::now() < deadline, "the server never reloaded");
        std::thread::sleep(Duration::from_millis(5));
    }
}

impl Server {
    pub fn start(setup: Setup<'_>) -> Server {
        let bin = bindir();
        let dir = tempfile::Builder::new()
            .prefix("pgdyno-session-")
            .tempdir()
            .unwrap();
        give_to_server(dir.path(), 0o700);
        let data = dir.path().join("data");
        let output = server_command(&bin.join("initdb"))
            .args([OsStr::new("-D"), data.as_os_str()])
            .args([
                "-U",
                "postgres",
                "-A",
                "trust",
                "-E",
                "UTF8",
                "--no-locale",
                "-N",
            ])
            .output()
            .unwrap();
        assert!(
            output.status.success(),
            "{}",
            String::from_utf8_lossy(&output.stderr)
        );
        let port = TcpListener::bind("127.0.0.1:0")
            .unwrap()
            .local_addr()
            .unwrap()
            .port();
        let mut conf = format!(
            "listen_addresses='127.0.0.1'\nport={port}\nfsync=off\nshared_buffers=16MB\n\
             unix_socket_directories='{}, @pgdyno-test-{port}'\nlog_min_messages=error\n",
            dir.path().display()
        );
        let certs = setup.tls.then(|| Certs::make(dir.path()));
        if let Some(certs) = &certs {
            give_to_server(&certs.server_key, 0o600);
            for file in [&certs.server_cert, &certs.ca_cert] {
                give_to_server(file, 0o644);
            }
            conf.push_str(&format!(
                "ssl=on\nssl_cert_file='{}'\nssl_key_file='{}'\nssl_ca_file='{}'\n",
                certs.server_cert.display(),
                certs.server_key.display(),
                certs.ca_cert.display()
            ));
        }
        for (name, value) in setup.settings {
            conf.push_str(&format!("{name}='{value}'\n"));
        }
        fs::write(data.join("postgresql.auto.conf"), conf).unwrap();
        let hba = format!(
            "local all postgres trust\n{}host all all all trust\nlocal all all trust\n",
            setup.hba
        );
        fs::write(data.join("pg_hba.conf"), hba).unwrap();
        if setup.standby {
            fs::write(data.join("standby.signal"), "").unwrap();
        }
        let log = dir.path().join("log");
        let mut command = server_command(&bin.join("postgres"));
        if setup.weak_tls {
            let file = dir.path().join("openssl.cnf");
            let text = "openssl_conf=a\n[a]\nssl_conf=b\n[b]\nsystem_default=c\n[c]\nCipherString=DEFAULT@SECLEVEL=0\n";
            fs::write(&file, text).unwrap();
            give_to_server(&file, 0o644);
            command.env("OPENSSL_CONF", file);
        }
        command
            .arg("-D")
            .arg(&data)
            .stdin(Stdio::null())
            .stdout(Stdio::null());
        command
            .stderr(fs::File::create(&log).unwrap())
            .process_group(0);
        let (stop, stopped) = channel::<()>();
        // The server dies with the thread that started it, so that thread lives as long as it.
        let exited = Arc::new(AtomicBool::new(false));
        let tell = exited.clone();
        let runner = std::thread::spawn(move || {
            let mut child = command.spawn().unwrap();
            while stopped.recv_timeout(Duration::from_millis(100)) == Err(RecvTimeoutError::Timeout)
            {
                if child.try_wait().unwrap().is_some() {
                    tell.store(true, Ordering::SeqCst);
                    return;
                }
            }
            let pid = rustix::process::Pid::from_child(&child);
            rustix::process::kill_process(pid, rustix::process::Signal::QUIT).unwrap();
            child.wait().unwrap();
        });
        let server = Server {
            port,
            sockets: dir.path().to_owned(),
            certs,
            stop: Some(stop),
            runner: Some(runner),
            _dir: dir,
        };
        let deadline = Instant::now() + Duration::from_secs(60);
        loop {
            match server.try_connect("user=postgres") {
                Ok(_) => return server,
                Err(error) if exited.load(Ordering::SeqCst) || Instant::now() > deadline => {
                    panic!("{error}\n{}", fs::read_to_string(&log).unwrap_or_default())
                }
                Err(_) => std::thread::sleep(Duration::from_millis(50)),
            }
        }
    }

    /// Connects as the superuser through the Unix socket.
    pub fn admin(&self) -> Session {
        self.try_connect("user=postgres").unwrap()
    }

    /// Connects with these options; without `host` or `hostaddr` through the Unix socket.
    pub fn try_connect(&self, options: &str) -> Result<Session, String> {
        let mut target = format!("port={} dbname=postgres {options}", self.port);
        if !options.contains("host") {
            target.push_str(&format!(" host={}", self.sockets.display()));
        }
        connect(&target, &Env::empty())
    }

    pub fn tcp(&self, options: &str) -> Result<Session, String> {
        self.try_connect(&format!("host=127.0.0.1 {options}"))
    }
}

pub fn connect(target: &str, env: &Env) -> Result<Session, String> {
    let info = resolve(&Given::target(target), env).map_err(|e| e.to_string())?;
    let candidates = info.candidates().map_err(|e| e.to_string())?;
    Session::connect(&candidates.list, Some(Duration::from_secs(20))).map_err(|e| e.to_string())
}

impl Drop for Server {
    fn drop(&mut self) {
        drop(self.stop.take());
        if let Some(runner) = self.runner.take() {
            let _ = runner.join();
        }
    }
}
