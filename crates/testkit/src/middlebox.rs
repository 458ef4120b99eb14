//! Programs between clients and a server: each listens on a port of 127.0.0.1 and passes on to the server's.

use std::io;
use std::net::TcpStream;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

const START_MAX: Duration = Duration::from_secs(20);

/// One at work. Ends when dropped.
#[derive(Debug)]
pub struct Middlebox {
    child: Child,
    port: u16,
    /// Whether it has processes of its own, which it ends itself.
    has_children: bool,
    _folder: tempfile::TempDir,
}

impl Middlebox {
    /// Starts it, and waits until it listens on this port; its files are in `folder`.
    pub(crate) fn run(
        command: &mut Command,
        port: u16,
        folder: tempfile::TempDir,
    ) -> io::Result<Self> {
        let mut middlebox = Self {
            child: command.spawn()?,
            port,
            has_children: false,
            _folder: folder,
        };
        let began = Instant::now();
        while TcpStream::connect(("127.0.0.1", port)).is_err() {
            if began.elapsed() > START_MAX || middlebox.child.try_wait()?.is_some() {
                return Err(io::Error::other("it does not listen"));
            }
            std::thread::sleep(Duration::from_millis(10));
        }
        Ok(middlebox)
    }

    /// pgpool-II before the server on this port, with so many sessions, each kept for the next client.
    ///
    /// # Errors
    /// Why it is not here: the reason to skip a test.
    ///
    /// # Panics
    /// It is here and does not start.
    pub fn pgpool(server_port: u16, sessions: usize) -> Result<Self, String> {
        crate::debian(&["pgpool"], &["pgpool2"])?;
        let [port, for_commands] = crate::free_ports();
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().display();
        let text = format!(
            "listen_addresses = '127.0.0.1'\nport = {port}\nunix_socket_directories = '{path}'\n\
             pcp_socket_dir = '{path}'\npcp_listen_addresses = ''\npcp_port = {for_commands}\n\
             backend_clustering_mode = 'raw'\nbackend_hostname0 = '127.0.0.1'\n\
             backend_port0 = {server_port}\nbackend_flag0 = 'DISALLOW_TO_FAILOVER'\n\
             num_init_children = {sessions}\nmax_pool = 1\npid_file_name = '{path}/pid'\n\
             logdir = '{path}'\nwork_dir = '{path}'\nsr_check_period = 0\nhealth_check_period = 0\n\
             enable_pool_hba = off\n"
        );
        let file = |name: &str, text: &str| {
            let path = folder.path().join(name);
            std::fs::write(&path, text).expect("written");
            path
        };
        let (config, empty) = (file("pgpool.conf", &text), file("empty", ""));
        let mut command = program("pgpool");
        command.arg("-n").arg("-f").arg(config);
        command.arg("-F").arg(&empty).arg("-a").arg(&empty);
        let mut pgpool = Self::run(&mut command, port, folder).expect("pgpool-II starts");
        pgpool.has_children = true;
        Ok(pgpool)
    }

    /// HAProxy before the server on this port.
    ///
    /// # Errors
    /// As [`Middlebox::pgpool`].
    ///
    /// # Panics
    /// As [`Middlebox::pgpool`].
    pub fn haproxy(server_port: u16) -> Result<Self, String> {
        crate::debian(&["haproxy"], &["haproxy"])?;
        let [port] = crate::free_ports();
        let folder = tempfile::tempdir().expect("a folder");
        let config = folder.path().join("haproxy.cfg");
        let text = format!(
            "defaults\n mode tcp\n timeout connect 5s\n timeout client 10m\n timeout server 10m\n\
             listen postgresql\n bind 127.0.0.1:{port}\n server one 127.0.0.1:{server_port}\n"
        );
        std::fs::write(&config, text).expect("written");
        let mut command = program("haproxy");
        command.arg("-f").arg(config);
        Ok(Self::run(&mut command, port, folder).expect("HAProxy starts"))
    }

    /// The URL by which a database is reached through it.
    pub fn url(&self, database: &str) -> String {
        let port = self.port;
        format!("postgresql://postgres@127.0.0.1:{port}/{database}?sslmode=disable")
    }
}

/// Debian's, which root's PATH alone has.
fn program(name: &str) -> Command {
    let path = Path::new("/usr/sbin").join(name);
    let mut command = if path.exists() {
        Command::new(path)
    } else {
        Command::new(name)
    };
    command.stdout(Stdio::null()).stderr(Stdio::null());
    command
}

impl Drop for Middlebox {
    fn drop(&mut self) {
        if self.has_children {
            let pid = self.child.id().to_string();
            let _ = Command::new("kill").args(["-INT", &pid]).status();
            let began = Instant::now();
            while matches!(self.child.try_wait(), Ok(None)) && began.elapsed() < START_MAX {
                std::thread::sleep(Duration::from_millis(5));
            }
        }
        // It may have ended.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
