//! What all programs work on: one server, started for the bench and ended with it, and one load
//! of tables.

mod tls;

use std::cell::OnceCell;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use pgdyno_platform::child::{Signal, die_with_parent};
use pgdyno_platform::interrupt::Interrupts;
use pgdyno_platform::proc::{self, task};
use pgdyno_server::{Cache, Listen, Options, Server};

use crate::Error;
use crate::programs::Programs;
use crate::rows::{RowVia, Workload};
use tls::Tls;

/// The loads of pgbench's tables, and where they go: a database of its own.
pub const LOAD_SCALE: u32 = 100;
/// See [`LOAD_SCALE`].
pub const LOAD_DATABASE: &str = "load";

/// More branches than any row has tpcb clients, so that they do not queue for one row.
const SCALE: u32 = 20;

/// Rows of pgbench_accounts.
pub const ACCOUNTS: u32 = SCALE * 100_000;

/// pgbench's select-only transaction, as a file.
const SELECT_ONLY: &str =
    "\\set aid random(1, 2000000)\nSELECT abalance FROM pgbench_accounts WHERE aid = :aid;\n";
/// The same, which says what it observes.
const HISTORY: &str = "\\set aid random(1, 2000000)\nSELECT abalance FROM pgbench_accounts WHERE aid = :aid;\n\\observe read :aid\n";
/// sysbench's point select.
const POINT_SELECT: &str = "\\set id random(1, 100000)\nSELECT c FROM sbtest1 WHERE id = :id;\n";

/// What makes runs of a few seconds comparable; durability is PostgreSQL's own: all on. The tables
/// fit into shared_buffers, and neither a checkpoint nor autovacuum falls into one program's run
/// and not into the other's.
const SETTINGS: &[(&str, &str)] = &[
    ("shared_buffers", "512MB"),
    ("max_wal_size", "16GB"),
    ("checkpoint_timeout", "1d"),
    ("autovacuum", "off"),
    ("max_connections", "1200"),
];

/// A loaded server. Dropped, it is stopped and its data are removed; it dies with this process in
/// any case.
pub struct Bed {
    server: Server,
    /// Started when a row first asks for it.
    tls: OnceCell<Tls>,
    /// Ends with the bed.
    _stub: Stub,
    /// Scripts and the stub's socket.
    directory: PathBuf,
    psql: PathBuf,
}

/// Processes of a session are gone within so long of its end.
const GONE_WITHIN: Duration = Duration::from_secs(5);

/// What the server's processes have used.
pub struct ServerCpu {
    /// Of those there are and of those that have been, in clock ticks.
    ticks: u64,
    /// Those there are beside the first.
    children: BTreeSet<u32>,
}

impl ServerCpu {
    /// Of the server whose first process this is; `None`: it is not there.
    fn now(pid: u32) -> Option<Self> {
        let stat = |pid| {
            let text = std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
            task::stat(&text)
        };
        let entries = std::fs::read_dir("/proc").ok()?;
        let pids = entries.filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok());
        let children = pids.filter_map(stat).filter(|task| task.parent == pid);
        let children: Vec<task::Task> = children.collect();
        // Read last: one that ends meanwhile is counted twice rather than not at all.
        let first = stat(pid)?;
        let of_children: u64 = children
            .iter()
            .map(|task| task.ticks() + task.children_ticks)
            .sum();
        Some(Self {
            ticks: first.ticks() + first.children_ticks + of_children,
            children: children.iter().map(|task| task.pid).collect(),
        })
    }
}

/// The server that answers at once, a process of its own that ends when this is dropped.
pub struct Stub(Child);

impl Bed {
    /// Starts the server and loads the tables.
    pub fn prepare(programs: &Programs) -> Result<Self, Error> {
        let options = options(&programs.bindir, cache()?)?;
        let server = Server::start(&options, &mut |step| eprintln!("bench: {step}"))?;
        let directory = std::env::temp_dir().join(format!("pgdyno-bench-{}", std::process::id()));
        std::fs::create_dir_all(&directory)?;
        std::fs::write(directory.join("select-only.sql"), SELECT_ONLY)?;
        std::fs::write(directory.join("point-select.sql"), POINT_SELECT)?;
        std::fs::write(directory.join("history.sql"), HISTORY)?;
        let bed = Self {
            server,
            tls: OnceCell::new(),
            _stub: Stub::start(&stub_socket(&directory))?,
            directory,
            psql: programs.bindir.join("psql"),
        };
        eprintln!("bench: loading pgbench's tables, scale {SCALE}");
        must_succeed(&mut programs.pgbench.load(&bed.url(RowVia::Socket), SCALE))?;
        must_succeed(&mut bed.sql("CHECKPOINT"))?;
        must_succeed(&mut bed.create_database(LOAD_DATABASE))?;
        Ok(bed)
    }

    /// Starts what is missing for going this way.
    pub fn ready_for(&self, via: RowVia) -> Result<(), Error> {
        if via == RowVia::Tls && self.tls.get().is_none() {
            let tls = Tls::start(cache()?)?;
            // Nothing has set it meanwhile: this thread is alone with it.
            let _ = self.tls.set(tls);
        }
        Ok(())
    }

    /// The pgbench that can go this way, if the stock one cannot.
    pub fn pgbench_with_tls(&self, via: RowVia) -> Option<&PathBuf> {
        let is_there = matches!(via, RowVia::Tls | RowVia::TlsOff);
        let tls = self.tls.get().filter(|_| is_there);
        tls.map(|tls| &tls.pgbench)
    }

    /// The script whose observations are recorded.
    pub fn history(&self) -> PathBuf {
        self.directory.join("history.sql")
    }

    /// Where it is reached in this way.
    pub fn url(&self, via: RowVia) -> String {
        let address = self.server.address();
        match via {
            RowVia::Socket => address.url(),
            RowVia::Tcp => address.loopback_url().unwrap_or_default(),
            RowVia::Tls | RowVia::TlsOff => {
                let tls = self.tls.get();
                tls.map_or_else(String::new, |tls| tls.url(via == RowVia::Tls))
            }
            RowVia::Stub => format!(
                "postgresql://postgres@/postgres?host={}",
                self.directory.display()
            ),
        }
    }

    /// Another of its databases.
    pub fn url_of_database(&self, name: &str) -> String {
        self.url(RowVia::Socket)
            .replace("/postgres?", &format!("/{name}?"))
    }

    /// The Unix socket.
    pub fn socket(&self, via: RowVia) -> PathBuf {
        match via {
            RowVia::Stub => stub_socket(&self.directory),
            RowVia::Socket | RowVia::Tcp | RowVia::Tls | RowVia::TlsOff => {
                self.server.address().socket_path()
            }
        }
    }

    /// The port on 127.0.0.1.
    pub fn port(&self) -> u16 {
        self.server.address().port
    }

    /// The select-only script.
    pub fn script(&self) -> PathBuf {
        self.directory.join("select-only.sql")
    }

    /// sysbench's point select as a script.
    pub fn point_select(&self) -> PathBuf {
        self.directory.join("point-select.sql")
    }

    /// What makes a database.
    pub fn create_database(&self, name: &str) -> Command {
        self.sql(&format!("CREATE DATABASE {name}"))
    }

    /// What makes a database that is empty, whatever was in it.
    pub fn empty_database(&self, name: &str) -> Vec<Command> {
        let drop = self.sql(&format!("DROP DATABASE IF EXISTS {name}"));
        vec![drop, self.create_database(name)]
    }

    /// Before each load of pgbench's tables: what the one before has left to write is written. The pack's loader
    /// drops nothing that is another's; each program then finds an empty database.
    pub fn before_load(&self, workload: Workload) -> Vec<Command> {
        let mut commands = match workload {
            Workload::PackLoad => self.empty_database(LOAD_DATABASE),
            _ => Vec::new(),
        };
        commands.push(self.sql("CHECKPOINT"));
        commands
    }

    /// CPU time of the server's processes until now.
    ///
    /// # Errors
    /// The server's own process is not seen.
    pub fn server_cpu(&self) -> Result<ServerCpu, Error> {
        ServerCpu::now(self.server.pid()).ok_or_else(|| "the server's process is not seen".into())
    }

    /// What they have used since then, in microseconds: when those that have come since have gone, because what
    /// they used counts with their parent's then.
    ///
    /// # Errors
    /// As [`Bed::server_cpu`].
    pub fn server_cpu_since(&self, before: &ServerCpu) -> Result<u64, Error> {
        let begun = Instant::now();
        loop {
            let now = self.server_cpu()?;
            if now.children.is_subset(&before.children) || begun.elapsed() > GONE_WITHIN {
                let ticks = now.ticks.saturating_sub(before.ticks);
                return Ok(ticks * 1_000_000 / proc::ticks_per_second());
            }
            std::thread::sleep(Duration::from_millis(10));
        }
    }

    /// What has psql execute a statement.
    pub fn sql(&self, sql: &str) -> Command {
        let mut command = Command::new(&self.psql);
        command.args(["--no-psqlrc", "--quiet", "--tuples-only", "--no-align"]);
        command.args(["--dbname", &self.url(RowVia::Socket), "--command", sql]);
        command
    }

    /// Whether every page of the loaded tables is all-visible, and all are analysed, else which are not.
    pub fn check_load(&self) -> Result<(), Error> {
        let sql = "SELECT string_agg(relname, ', ') FROM pg_class WHERE relkind = 'r' \
                   AND relname LIKE 'pgbench%' AND (relallvisible <> relpages OR reltuples < 0 \
                   OR relpages > 0 AND NOT EXISTS (SELECT FROM pg_stats WHERE tablename = relname))";
        let mut command = Command::new(&self.psql);
        command.args(["--no-psqlrc", "--quiet", "--tuples-only", "--no-align"]);
        let url = self.url_of_database(LOAD_DATABASE);
        let output = command
            .args(["--dbname", &url, "--command", sql])
            .output()?;
        let said = String::from_utf8_lossy(&output.stdout);
        match (output.status.success(), said.trim()) {
            (true, "") => Ok(()),
            (true, tables) => {
                Err(format!("not all pages are all-visible and analysed: {tables}").into())
            }
            (false, _) => {
                let said = String::from_utf8_lossy(&output.stderr);
                Err(format!("psql failed: {said}").into())
            }
        }
    }

    /// What it is, for the results.
    pub fn description(&self) -> String {
        let settings: Vec<_> = SETTINGS
            .iter()
            .map(|(name, value)| format!("{name}={value}"))
            .collect();
        let tls = self.tls.get();
        format!(
            "PostgreSQL {} on the same machine, scale {SCALE}, {}{}{}",
            self.server.version(),
            settings.join(" "),
            if self.server.data_in_memory() {
                ", data in memory"
            } else {
                ""
            },
            tls.map_or_else(String::new, |tls| format!("; {}", tls.description()))
        )
    }
}

impl Drop for Bed {
    fn drop(&mut self) {
        // Files left in the temporary directory do no harm.
        let _ = std::fs::remove_dir_all(&self.directory);
    }
}

impl Drop for Stub {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

impl Stub {
    /// Starts it on this socket, and waits until it listens.
    pub fn start(socket: &Path) -> Result<Self, Error> {
        let mut command = Command::new(std::env::current_exe()?);
        command.arg("stub").arg(socket).stdin(Stdio::null());
        die_with_parent(&mut command, Signal::Kill);
        let child = command.stdout(Stdio::null()).spawn()?;
        let begun = Instant::now();
        while !socket.exists() {
            if begun.elapsed() > Duration::from_secs(10) {
                return Err("the stub server did not begin to listen".into());
            }
            std::thread::sleep(Duration::from_millis(10));
        }
        Ok(Self(child))
    }
}

fn cache() -> Result<Cache, Error> {
    Ok(Cache::at(&pgdyno_testkit::tools_dir().join("cache"))?)
}

fn interrupted() -> bool {
    Interrupts::install().is_ok_and(|interrupts| interrupts.count() > 0)
}

/// A server of these programs, with the settings of the bench.
fn options(bindir: &Path, cache: Cache) -> Result<Options, Error> {
    let settings = SETTINGS
        .iter()
        .map(|(name, value)| pgdyno_server::Setting::new(name, value));
    Ok(Options {
        bindir: Some(bindir.to_path_buf()),
        settings: settings.collect::<Result<_, _>>()?,
        listen: Listen::Loopback(0),
        cache: Some(cache),
        interrupted,
        ..Options::default()
    })
}

fn stub_socket(directory: &Path) -> PathBuf {
    directory.join(".s.PGSQL.5432")
}

/// Runs a command whose failure ends the bench.
pub fn must_succeed(command: &mut Command) -> Result<(), Error> {
    let output = command.stdin(Stdio::null()).output();
    let program = command.get_program().to_string_lossy().into_owned();
    let output = output.map_err(|e| format!("cannot run {program}: {e}"))?;
    if output.status.success() {
        return Ok(());
    }
    let said = String::from_utf8_lossy(&output.stderr);
    Err(format!("{program} failed ({}): {said}", output.status).into())
}
