//! What the axes work on, each part made when it is first needed: a private server, the server that answers
//! at once, files. All of it ends with the bench.

use std::cell::OnceCell;
use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Instant;

use pgdyno_platform::child::{Signal, die_with_parent};
use pgdyno_platform::cpu_time;
use pgdyno_platform::host::Host;
use pgdyno_platform::interrupt::Interrupts;
use pgdyno_server::{Cache, Listen, Server};
use time::OffsetDateTime;

use super::axis::{Run, Who};
use super::options::Size;
use super::section::GrowthFacts;
use crate::Error;
use crate::measure::{PeakMemory, wait};
use crate::programs::Programs;
use crate::server::{Stub, must_succeed};

/// Above the most connections of any axis, and what administration takes.
const MAX_CONNECTIONS: &str = "2100";

/// As in `crate::server`, and room for many connections.
const SETTINGS: &[(&str, &str)] = &[
    ("shared_buffers", "512MB"),
    ("max_wal_size", "16GB"),
    ("checkpoint_timeout", "1d"),
    ("autovacuum", "off"),
    ("max_connections", MAX_CONNECTIONS),
];

/// See the module.
pub struct GrowthBed {
    programs: Programs,
    pgdyno: PathBuf,
    own: PathBuf,
    server: OnceCell<Server>,
    stub: OnceCell<Stub>,
    directory: PathBuf,
}

/// One run of scripts on a server, in terms that both programs have.
pub struct Work<'a> {
    /// Which server.
    pub url: &'a str,
    /// What is executed.
    pub scripts: &'a [PathBuf],
    /// How statements travel: `simple`, `extended`, `prepared`.
    pub mode: &'a str,
    /// Connections.
    pub clients: u64,
    /// Threads that drive them.
    pub threads: u64,
    /// How long.
    pub until: BedUntil,
}

/// When a run ends.
#[derive(Clone, Copy)]
pub enum BedUntil {
    /// Each client has made so many transactions.
    Transactions(u64),
    /// So many seconds are over, with so many transactions a second by schedule.
    Rate {
        /// Of all clients together.
        per_s: u64,
        /// How long.
        seconds: u64,
    },
}

impl GrowthBed {
    /// Finds the programs.
    pub fn prepare() -> Result<Self, Error> {
        let _ = pgdyno_platform::limits::raise_open_files();
        let directory = std::env::temp_dir().join(format!("pgdyno-growth-{}", std::process::id()));
        fs::create_dir_all(&directory)?;
        let own = std::env::current_exe()?;
        Ok(Self {
            programs: Programs::find()?,
            pgdyno: own.with_file_name("pgdyno"),
            own,
            server: OnceCell::new(),
            stub: OnceCell::new(),
            directory,
        })
    }

    /// The URL of the private PostgreSQL server, which has pgbench's tables of scale 1.
    pub fn server_url(&self) -> Result<String, Error> {
        if let Some(server) = self.server.get() {
            return Ok(server.address().url());
        }
        let settings = SETTINGS
            .iter()
            .map(|(name, value)| pgdyno_server::Setting::new(name, value));
        let options = pgdyno_server::Options {
            bindir: Some(self.programs.bindir.clone()),
            settings: settings.collect::<Result<_, _>>()?,
            listen: Listen::Loopback(0),
            cache: Some(Cache::at(&pgdyno_testkit::tools_dir().join("cache"))?),
            interrupted: || Interrupts::install().is_ok_and(|interrupts| interrupts.count() > 0),
            ..pgdyno_server::Options::default()
        };
        let server = Server::start(&options, &mut |step| eprintln!("bench: {step}"))?;
        let url = server.address().url();
        must_succeed(&mut self.programs.pgbench.load(&url, 1))?;
        // Nothing has set it meanwhile: this thread is alone with it.
        let _ = self.server.set(server);
        Ok(url)
    }

    /// The URL of an empty database of that server, made anew.
    pub fn empty_database(&self, name: &str) -> Result<String, Error> {
        self.sql(&format!("DROP DATABASE IF EXISTS {name}"))?;
        self.sql(&format!("CREATE DATABASE {name}"))?;
        Ok(self
            .server_url()?
            .replace("/postgres?", &format!("/{name}?")))
    }

    /// Has psql execute a statement there.
    pub fn sql(&self, sql: &str) -> Result<(), Error> {
        let mut command = Command::new(self.programs.bindir.join("psql"));
        command.args(["--no-psqlrc", "--quiet", "--dbname", &self.server_url()?]);
        must_succeed(command.args(["--command", sql]))
    }

    /// The URL of the server that answers at once.
    pub fn stub_url(&self) -> Result<String, Error> {
        if self.stub.get().is_none() {
            let stub = Stub::start(&self.directory.join(".s.PGSQL.5432"))?;
            let _ = self.stub.set(stub);
        }
        let directory = self.directory.display();
        Ok(format!("postgresql://postgres@/postgres?host={directory}"))
    }

    /// A path for this name, whether there is a file or not.
    pub fn path(&self, name: &str) -> PathBuf {
        self.directory.join(name)
    }

    /// A file with this text.
    pub fn file(&self, name: &str, text: &str) -> Result<PathBuf, Error> {
        let path = self.path(name);
        fs::write(&path, text)?;
        Ok(path)
    }

    /// The select-only script on the loaded tables, of scale 1.
    pub fn select_only(&self) -> Result<PathBuf, Error> {
        self.file(
            "select-only.sql",
            "\\set aid random(1, 100000)\nSELECT abalance FROM pgbench_accounts WHERE aid = :aid;\n",
        )
    }

    /// pgdyno, without arguments.
    pub fn pgdyno(&self) -> Command {
        Command::new(&self.pgdyno)
    }

    /// This program, without arguments.
    pub fn own(&self) -> Command {
        Command::new(&self.own)
    }

    /// A notebook of so many trials of so many seconds, select-only on PostgreSQL with these options, made when it is
    /// first asked for.
    pub fn notebook(
        &self,
        name: &str,
        trials: u32,
        seconds: u32,
        options: &[&str],
    ) -> Result<PathBuf, Error> {
        let path = self.path(&format!("{name}.sqlite"));
        if fs::exists(&path)? {
            return Ok(path);
        }
        for _ in 0..trials {
            let mut command = self.pgdyno();
            command
                .args(["run", "select-only", "--quiet", "--clients=4"])
                .arg(format!("--duration={seconds}s"))
                .arg(format!("--url={}", self.server_url()?))
                .args(options)
                .arg("--store")
                .arg(&path);
            must_succeed(&mut command)?;
        }
        Ok(path)
    }

    /// Has one of the scripts of the checkout make a notebook of another, of so many trials or seconds.
    pub fn python(&self, name: &str, from: &Path, to: &Path, count: u64) -> Result<(), Error> {
        let scripts = Path::new(env!("CARGO_MANIFEST_DIR")).join("../scripts");
        let mut command = Command::new("python3");
        command.arg(scripts.join(name)).args([from, to]);
        must_succeed(command.arg(count.to_string()))
    }

    /// Where a new notebook of this name will be.
    pub fn new_notebook(&self, name: &str) -> Result<PathBuf, Error> {
        let notebook = self.path(name);
        match fs::remove_file(&notebook) {
            Err(error) if error.kind() != ErrorKind::NotFound => Err(error.into()),
            _ => Ok(notebook),
        }
    }

    /// Runs a command of pgdyno that keeps what it does in this notebook, whose size is what it puts out.
    pub fn keeps(&self, mut command: Command, notebook: &Path) -> Result<Run, Error> {
        command.arg("--store").arg(notebook);
        self.puts_out(command, notebook)
    }

    /// Runs a command as [`GrowthBed::client`] does; the size of this file is then what it puts out.
    pub fn puts_out(&self, command: Command, file: &Path) -> Result<Run, Error> {
        let run = self.client(command)?;
        Ok(Run {
            output_bytes: Some(fs::metadata(file)?.len()),
            ..run
        })
    }

    /// pgbench, without arguments.
    pub fn pgbench(&self) -> Command {
        Command::new(self.programs.bindir.join("pgbench"))
    }

    /// Has one of the programs do this, once.
    pub fn work(&self, who: Who, work: &Work<'_>) -> Result<Run, Error> {
        self.client(match who {
            Who::Pgdyno => self.pgdyno_work(work),
            Who::Pgbench => self.pgbench_work(work),
        })
    }

    fn pgdyno_work(&self, work: &Work<'_>) -> Command {
        let mut command = self.pgdyno();
        // As in `make bench`: pgbench watches and keeps nothing either.
        command.args(["run", "--quiet", "--no-store", "--observe=none"]);
        command.args(work.scripts);
        command
            .arg(format!("--url={}", work.url))
            .arg(format!("--query-mode={}", work.mode))
            .arg(format!("--clients={}", work.clients))
            .arg(format!("--threads={}", work.threads));
        match work.until {
            BedUntil::Transactions(each) => command.arg(format!("--transactions={each}")),
            BedUntil::Rate { per_s, seconds } => command
                .arg(format!("--rate={per_s}"))
                .arg(format!("--duration={seconds}s")),
        };
        command
    }

    fn pgbench_work(&self, work: &Work<'_>) -> Command {
        let mut command = self.pgbench();
        command.arg("--no-vacuum");
        for script in work.scripts {
            command.arg(format!("--file={}", script.display()));
        }
        command
            .arg(format!("--protocol={}", work.mode))
            .arg(format!("--client={}", work.clients))
            .arg(format!("--jobs={}", work.threads));
        match work.until {
            BedUntil::Transactions(each) => command.arg(format!("--transactions={each}")),
            BedUntil::Rate { per_s, seconds } => command
                .arg(format!("--rate={per_s}"))
                .arg(format!("--time={seconds}")),
        };
        command.arg(work.url);
        command
    }

    /// Runs a client to its end, which must be a good one.
    pub fn client(&self, mut command: Command) -> Result<Run, Error> {
        let name = command.get_program().to_string_lossy().into_owned();
        let name = Path::new(&name).file_name().unwrap_or_default();
        let name = name.to_string_lossy();
        // The arguments say it all.
        for (variable, _) in std::env::vars_os() {
            let text = variable.to_string_lossy();
            if text.starts_with("PG") && !text.starts_with("PGDYNO_TEST") {
                command.env_remove(variable);
            }
        }
        command
            .current_dir(&self.directory)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        die_with_parent(&mut command, Signal::Kill);
        // No other child ends meanwhile: the servers last as long as the bed.
        let (cpu, begun) = (cpu_time::ended_children(), Instant::now());
        let child = command
            .spawn()
            .map_err(|e| format!("cannot start {name}: {e}"))?;
        let peak = PeakMemory::of(child.id(), PeakMemory::OFTEN);
        let (status, _, errors) = wait(child)?;
        let run = Run {
            wall_s: begun.elapsed().as_secs_f64(),
            cpu_us: (cpu_time::ended_children() - cpu).total_us(),
            peak_bytes: peak.end(),
            output_bytes: None,
        };
        if status.success() {
            Ok(run)
        } else {
            Err(format!("{name} failed ({status}): {}", last_lines(&errors)).into())
        }
    }

    /// What is said beside the figures.
    pub fn facts(&self, size: Size) -> GrowthFacts {
        let host = Host::read();
        let unknown = || "unknown".to_owned();
        GrowthFacts {
            date: OffsetDateTime::now_utc().date().to_string(),
            cpu: host.cpu_model.unwrap_or_else(unknown),
            cpus: host.cpus.to_string(),
            kernel: host.kernel.unwrap_or_else(unknown),
            pgdyno: version(&self.programs.pgdyno),
            pgbench: version(&self.programs.pgbench),
            size: size.name(),
            others: others(),
        }
    }
}

impl Drop for GrowthBed {
    fn drop(&mut self) {
        // Files left in the temporary directory do no harm.
        let _ = fs::remove_dir_all(&self.directory);
    }
}

fn version(program: &dyn crate::programs::BenchProgram) -> String {
    program.version().to_owned()
}

/// The most that an error says: a thousand clients say the same.
fn last_lines(text: &str) -> String {
    let lines: Vec<&str> = text.trim().lines().collect();
    lines[lines.len().saturating_sub(3)..].join("; ")
}

/// How many threads the machine had to run, on average over the last minute (proc_loadavg(5)).
fn others() -> String {
    let text = fs::read_to_string("/proc/loadavg").unwrap_or_default();
    text.split_whitespace()
        .next()
        .unwrap_or("unknown")
        .to_owned()
}
