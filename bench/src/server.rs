//! What all programs work on: one server, started for the bench and ended with it, and one load
//! of tables.

use std::process::{Command, Stdio};

use pgdyno_platform::interrupt::Interrupts;
use pgdyno_server::{Cache, Options, Server};

use crate::Error;
use crate::programs::Programs;

/// More branches than any row has tpcb clients, so that they do not queue for one row.
const SCALE: u32 = 20;

/// What makes runs of a few seconds comparable; durability is PostgreSQL's own: all on. The tables
/// fit into shared_buffers, and neither a checkpoint nor autovacuum falls into one program's run
/// and not into the other's.
const SETTINGS: &[(&str, &str)] = &[
    ("shared_buffers", "512MB"),
    ("max_wal_size", "16GB"),
    ("checkpoint_timeout", "1d"),
    ("autovacuum", "off"),
];

/// A loaded server. Dropped, it is stopped and its data are removed; it dies with this process in
/// any case.
pub struct Bed {
    server: Server,
}

impl Bed {
    /// Starts the server and loads the tables.
    pub fn prepare(programs: &Programs) -> Result<Self, Error> {
        let settings = SETTINGS
            .iter()
            .map(|(name, value)| pgdyno_server::Setting::new(name, value));
        let options = Options {
            bindir: Some(programs.bindir.clone()),
            settings: settings.collect::<Result<_, _>>()?,
            cache: Some(Cache::at(&pgdyno_testkit::tools_dir().join("cache"))?),
            interrupted: || Interrupts::install().is_ok_and(|interrupts| interrupts.count() > 0),
            ..Options::default()
        };
        let server = Server::start(&options, &mut |step| eprintln!("bench: {step}"))?;
        let bed = Self { server };
        eprintln!("bench: loading pgbench's tables, scale {SCALE}");
        must_succeed(&mut programs.pgbench.load(&bed.url(), SCALE))?;
        let mut psql = Command::new(programs.bindir.join("psql"));
        psql.args(["--no-psqlrc", "--quiet", "--dbname", &bed.url()]);
        must_succeed(psql.args(["--command", "CHECKPOINT"]))?;
        Ok(bed)
    }

    /// Where it is reached: a Unix socket.
    pub fn url(&self) -> String {
        self.server.address().url()
    }

    /// What it is, for the results.
    pub fn description(&self) -> String {
        let settings: Vec<_> = SETTINGS
            .iter()
            .map(|(name, value)| format!("{name}={value}"))
            .collect();
        format!(
            "PostgreSQL {} on the same machine, Unix socket, scale {SCALE}, {}{}",
            self.server.version(),
            settings.join(" "),
            if self.server.data_in_memory() {
                ", data in memory"
            } else {
                ""
            }
        )
    }
}

fn must_succeed(command: &mut Command) -> Result<(), Error> {
    let output = command.stdin(Stdio::null()).output();
    let program = command.get_program().to_string_lossy().into_owned();
    let output = output.map_err(|e| format!("cannot run {program}: {e}"))?;
    if output.status.success() {
        return Ok(());
    }
    let said = String::from_utf8_lossy(&output.stderr);
    Err(format!("{program} failed ({}): {said}", output.status).into())
}
