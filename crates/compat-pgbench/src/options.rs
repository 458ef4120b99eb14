//! pgbench's options, read and checked in pgbench's order and with its words, and pgdyno's own.
//! (Facts: `main` in PostgreSQL's `src/bin/pgbench/pgbench.c`, release 18.)
//!
//! `table`: their names; `values`: what they take; `reader`: reading them one by one, and what is
//! checked afterwards.

mod reader;
mod table;
mod values;

use std::path::PathBuf;
use std::time::Duration;

use pgdyno_drive::Script;
use pgdyno_script::Names;
use pgdyno_spec::QueryMode;

use super::flavour::Flavour;
use super::getopt::GetOpt;
use super::init::InitOptions;
use super::messages::{Kind, Line, Messages, Stop};
use super::seed;
use reader::Reader;
use table::{BATCH_SIZE, LONG, SHORT};

/// What the command line asks for.
#[derive(Debug)]
pub struct PgbenchOptions {
    pub target: Target,
    /// What is to be done there.
    pub job: InitJob,
}

#[derive(Debug)]
pub enum InitJob {
    Initialize(InitOptions),
    Bench(Box<Bench>),
}

/// `-h`, `-p`, `-U` and the database.
#[derive(Debug, Default)]
pub struct Target {
    pub host: Option<String>,
    pub port: Option<String>,
    pub user: Option<String>,
    /// `-d`, or the argument that is no option: a name, a URI or `key=value` pairs.
    pub database: Option<String>,
}

#[derive(Debug, Clone)]
pub struct Bench {
    pub scripts: Vec<Script>,
    /// Their texts, in the same order.
    pub texts: Vec<String>,
    /// The names of their variables.
    pub names: Names,
    /// Whether the standard tables are needed.
    pub uses_builtin: bool,
    pub defined: Vec<(String, String)>,
    pub clients: u32,
    /// `-j`, at most the number of clients.
    pub threads: u32,
    pub connect: bool,
    /// `-t`; 0 with a duration.
    pub transactions: u32,
    /// `-T`; 0 with a number of transactions.
    pub duration_s: u32,
    pub query_mode: QueryMode,
    pub no_vacuum: bool,
    pub vacuum_all: bool,
    pub scale: Option<u32>,
    pub progress_s: Option<u32>,
    pub progress_timestamp: bool,
    pub rate: Option<f64>,
    /// `-L`, in microseconds; 0 for none, also when it was less than one.
    pub latency_limit_us: u64,
    pub report_per_command: bool,
    pub failures_detailed: bool,
    /// `--max-tries`, 0 for no limit.
    pub max_tries: u32,
    pub verbose_errors: bool,
    pub exit_on_abort: bool,
    pub continue_on_error: bool,
    /// `-l` and what belongs to it.
    pub log: Option<LogOptions>,
    /// `--random-seed`, PGBENCH_RANDOM_SEED or the clock.
    pub seed: u64,
    pub percentiles: Option<Vec<f64>>,
    pub warmup: Duration,
    pub json: Option<PathBuf>,
    pub hdr_log: Option<PathBuf>,
    /// Whether the run is kept (`--store`, PGDYNO_STORE, a configuration file), with the file of `--store`.
    pub store: Option<Option<PathBuf>>,
    pub reconnect: bool,
}

impl Bench {
    /// Before any option is read.
    fn new(flavour: &Flavour) -> Self {
        Self {
            scripts: Vec::new(),
            texts: Vec::new(),
            names: Names::new(),
            uses_builtin: false,
            defined: Vec::new(),
            clients: 1,
            threads: 1,
            connect: false,
            transactions: 0,
            duration_s: 0,
            query_mode: QueryMode::Simple,
            no_vacuum: false,
            vacuum_all: false,
            scale: None,
            progress_s: None,
            progress_timestamp: false,
            rate: None,
            latency_limit_us: 0,
            report_per_command: false,
            failures_detailed: false,
            max_tries: flavour.max_tries,
            verbose_errors: false,
            exit_on_abort: false,
            continue_on_error: false,
            log: None,
            seed: seed::from_clock(),
            percentiles: None,
            warmup: Duration::ZERO,
            json: None,
            hdr_log: None,
            store: None,
            reconnect: false,
        }
    }

    /// Whether clients survive what ends them in pgbench 18.
    pub fn goes_on(&self) -> bool {
        self.continue_on_error || self.reconnect
    }
}

#[derive(Debug, Clone, PartialEq)]
pub struct LogOptions {
    pub prefix: String,
    pub sampling: Option<f64>,
    pub aggregate_s: Option<u32>,
}

/// What is known of the machine and the environment.
#[derive(Debug, Clone)]
pub struct PgbenchSurroundings {
    pub random_seed: Option<String>,
    pub posixly_correct: bool,
    /// The database unless the command line names one: PGDATABASE, PGUSER or the user's name.
    pub database: Option<String>,
    /// How many files this process may open at most.
    pub open_files_max: u64,
    /// Whether the environment or a configuration file says where runs are kept.
    pub keeps_runs: bool,
}

/// Reads a command line without the program's name. `argv0` is that name as it was typed.
///
/// # Errors
/// What pgbench would say, and its exit code, which is 0 where it was asked to say something.
pub fn read(
    argv0: &str,
    arguments: Vec<String>,
    flavour: &'static Flavour,
    around: &PgbenchSurroundings,
    say: &mut Messages,
) -> Result<PgbenchOptions, Stop> {
    let mut reader = Reader::new(flavour, around);
    if let Some(seed) = &around.random_seed {
        reader.random_seed(seed, "PGBENCH_RANDOM_SEED environment variable", say)?;
    }
    let mut all = LONG.to_vec();
    if flavour.has_batch_size {
        all.push(BATCH_SIZE);
    }
    let mut getopt = GetOpt::new(SHORT, &all, arguments, around.posixly_correct);
    loop {
        match getopt.next_option() {
            Ok(Some(option)) => reader.option(option, say)?,
            Ok(None) => break,
            Err(complaint) => return Err(misunderstood(argv0, &complaint, say)),
        }
    }
    reader.finish(getopt.others(), say)
}

fn misunderstood(argv0: &str, complaint: &str, say: &Messages) -> Stop {
    Stop {
        lines: vec![Line::Raw(format!("{argv0}: {complaint}\n")), try_help(say)],
        code: 1,
    }
}

fn try_help(say: &Messages) -> Line {
    let text = format!("Try \"{} --help\" for more information.", say.program());
    Line::Message(Kind::Hint, text)
}
