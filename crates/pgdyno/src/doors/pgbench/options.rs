//! pgbench's options, read and checked in pgbench's order and with its words, and pgdyno's own.
//! (Facts: `main` in PostgreSQL's `src/bin/pgbench/pgbench.c`, release 18.)

use std::path::PathBuf;
use std::time::Duration;

use pgdyno_drive::{Drive, QueryMode, Script};
use pgdyno_script::seeds::SEED_DETAIL;
use pgdyno_script::{Names, SeedChoice, is_valid_name};

use super::c_numbers::{atof, atoi, option_int};
use super::flavour::Flavour;
use super::getopt::{Argument, Found, GetOpt, Id, Long, Short};
use super::init::{InitOptions, PartitionMethod};
use super::say::{Kind, Line, Say, Stop};
use super::scripts::{self, Scripts};
use super::seed;
use crate::report::figures::PERCENTILES;

/// What the command line asks for.
#[derive(Debug)]
pub struct Asked {
    /// Where the database is.
    pub target: Target,
    /// What is to be done there.
    pub job: Job,
}

/// Initialise or measure.
#[derive(Debug)]
pub enum Job {
    /// `-i`
    Initialize(InitOptions),
    /// A run.
    Bench(Box<Bench>),
}

/// `-h`, `-p`, `-U` and the database.
#[derive(Debug, Default)]
pub struct Target {
    /// `-h`
    pub host: Option<String>,
    /// `-p`
    pub port: Option<String>,
    /// `-U`
    pub user: Option<String>,
    /// `-d`, or the argument that is no option: a name, a URI or `key=value` pairs.
    pub database: Option<String>,
}

/// A run.
#[derive(Debug, Clone)]
pub struct Bench {
    /// Ready to be run.
    pub scripts: Vec<Script>,
    /// Their texts, in the same order.
    pub texts: Vec<String>,
    /// The names of their variables.
    pub names: Names,
    /// Whether the standard tables are needed.
    pub uses_builtin: bool,
    /// `-D`, in order.
    pub defined: Vec<(String, String)>,
    /// `-c`
    pub clients: u32,
    /// `-j`, at most the number of clients.
    pub threads: u32,
    /// `-C`
    pub connect: bool,
    /// `-t`; 0 with a duration.
    pub transactions: u32,
    /// `-T`; 0 with a number of transactions.
    pub duration_s: u32,
    /// `-M`
    pub query_mode: QueryMode,
    /// `-n`
    pub no_vacuum: bool,
    /// `-v`
    pub vacuum_all: bool,
    /// `-s`, if given.
    pub scale: Option<u32>,
    /// `-P`
    pub progress_s: Option<u32>,
    /// `--progress-timestamp`
    pub progress_timestamp: bool,
    /// `-R`, transactions a second.
    pub rate: Option<f64>,
    /// `-L`, in microseconds; 0 for none, also when it was less than one.
    pub latency_limit_us: u64,
    /// `-r`
    pub report_per_command: bool,
    /// `--failures-detailed`
    pub failures_detailed: bool,
    /// `--max-tries`, 0 for no limit.
    pub max_tries: u32,
    /// `--verbose-errors`
    pub verbose_errors: bool,
    /// `--exit-on-abort`
    pub exit_on_abort: bool,
    /// `--continue-on-error`
    pub continue_on_error: bool,
    /// `-l` and what belongs to it.
    pub log: Option<Log>,
    /// `--random-seed`, PGBENCH_RANDOM_SEED or the clock.
    pub seed: u64,
    /// `--percentiles`
    pub percentiles: Option<Vec<f64>>,
    /// `--warmup`
    pub warmup: Duration,
    /// `--json`
    pub json: Option<PathBuf>,
    /// `--hdr-log`
    pub hdr_log: Option<PathBuf>,
    /// `--reconnect`
    pub reconnect: bool,
}

impl Bench {
    /// Whether clients survive what ends them in pgbench 18.
    pub fn goes_on(&self) -> bool {
        self.continue_on_error || self.reconnect
    }
}

/// How transactions are logged.
#[derive(Debug, Clone, PartialEq)]
pub struct Log {
    /// `--log-prefix`
    pub prefix: String,
    /// `--sampling-rate`
    pub sampling: Option<f64>,
    /// `--aggregate-interval`
    pub aggregate_s: Option<u32>,
}

const SHORT: &[Short] = &[
    flag('C', "connect"),
    flag('i', "initialize"),
    flag('l', "log"),
    flag('n', "no-vacuum"),
    flag('N', "skip-some-updates"),
    flag('q', "quiet"),
    flag('r', "report-per-command"),
    flag('S', "select-only"),
    flag('v', "vacuum-all"),
    with('b', "builtin"),
    with('c', "client"),
    with('d', "dbname"),
    with('D', "define"),
    with('f', "file"),
    with('F', "fillfactor"),
    with('h', "host"),
    with('I', "init-steps"),
    with('j', "jobs"),
    with('L', "latency-limit"),
    with('M', "protocol"),
    with('p', "port"),
    with('P', "progress"),
    with('R', "rate"),
    with('s', "scale"),
    with('t', "transactions"),
    with('T', "time"),
    with('U', "username"),
];

/// In pgbench's order, which shows in its complaint about ambiguous abbreviations.
const LONG: &[Long] = &[
    long("builtin", Argument::Required),
    long("client", Argument::Required),
    long("connect", Argument::None),
    long("dbname", Argument::Required),
    long("define", Argument::Required),
    long("file", Argument::Required),
    long("fillfactor", Argument::Required),
    long("host", Argument::Required),
    long("initialize", Argument::None),
    long("init-steps", Argument::Required),
    long("jobs", Argument::Required),
    long("log", Argument::None),
    long("latency-limit", Argument::Required),
    long("no-vacuum", Argument::None),
    long("port", Argument::Required),
    long("progress", Argument::Required),
    long("protocol", Argument::Required),
    long("quiet", Argument::None),
    long("report-per-command", Argument::None),
    long("rate", Argument::Required),
    long("scale", Argument::Required),
    long("select-only", Argument::None),
    long("skip-some-updates", Argument::None),
    long("time", Argument::Required),
    long("transactions", Argument::Required),
    long("username", Argument::Required),
    long("vacuum-all", Argument::None),
    long("unlogged-tables", Argument::None),
    long("tablespace", Argument::Required),
    long("index-tablespace", Argument::Required),
    long("sampling-rate", Argument::Required),
    long("aggregate-interval", Argument::Required),
    long("progress-timestamp", Argument::None),
    long("log-prefix", Argument::Required),
    long("foreign-keys", Argument::None),
    long("random-seed", Argument::Required),
    long("show-script", Argument::Required),
    long("partitions", Argument::Required),
    long("partition-method", Argument::Required),
    long("failures-detailed", Argument::None),
    long("max-tries", Argument::Required),
    long("verbose-errors", Argument::None),
    long("exit-on-abort", Argument::None),
    long("debug", Argument::None),
    own("continue-on-error", Argument::None),
    own("hdr-log", Argument::Required),
    own("json", Argument::Required),
    own("percentiles", Argument::Optional),
    own("reconnect", Argument::None),
    own("warmup", Argument::Required),
];

const BATCH_SIZE: Long = own("batch-size", Argument::Required);

const fn flag(letter: char, id: Id) -> Short {
    Short {
        letter,
        id,
        has_argument: false,
    }
}

const fn with(letter: char, id: Id) -> Short {
    Short {
        letter,
        id,
        has_argument: true,
    }
}

const fn long(name: &'static str, argument: Argument) -> Long {
    Long {
        name,
        id: name,
        argument,
        is_own: false,
    }
}

const fn own(name: &'static str, argument: Argument) -> Long {
    Long {
        is_own: true,
        ..long(name, argument)
    }
}

/// What is known of the machine and the environment.
#[derive(Debug, Clone)]
pub struct Surroundings {
    /// PGBENCH_RANDOM_SEED.
    pub random_seed: Option<String>,
    /// Whether POSIXLY_CORRECT is set.
    pub posixly_correct: bool,
    /// The database unless the command line names one: PGDATABASE, PGUSER or the user's name.
    pub database: Option<String>,
    /// How many files this process may open at most.
    pub open_files_max: u64,
}

/// Reads a command line without the program's name. `argv0` is that name as it was typed.
///
/// # Errors
/// What pgbench would say, and its exit code, which is 0 where it was asked to say something.
pub fn read(
    argv0: &str,
    arguments: Vec<String>,
    flavour: &'static Flavour,
    around: &Surroundings,
    say: &mut Say,
) -> Result<Asked, Stop> {
    let mut reader = Reader::new(flavour, around);
    if let Some(seed) = &around.random_seed {
        reader.seed = read_seed(seed, say, "PGBENCH_RANDOM_SEED environment variable")?;
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

fn misunderstood(argv0: &str, complaint: &str, say: &Say) -> Stop {
    Stop {
        lines: vec![Line::Raw(format!("{argv0}: {complaint}\n")), try_help(say)],
        code: 1,
    }
}

fn try_help(say: &Say) -> Line {
    let text = format!("Try \"{} --help\" for more information.", say.program());
    Line::Told(Kind::Hint, text)
}

fn read_seed(text: &str, say: &Say, place: &str) -> Result<u64, Stop> {
    let choice: SeedChoice = text.parse().map_err(|error: pgdyno_script::SeedError| {
        Stop::fatal(error.to_string())
            .and(Kind::Detail, SEED_DETAIL)
            .and(
                Kind::Error,
                format!("error while setting random seed from {place}"),
            )
    })?;
    let seed = seed::choose(choice).map_err(|_| {
        Stop::fatal("could not generate random seed").and(
            Kind::Error,
            format!("error while setting random seed from {place}"),
        )
    })?;
    say.told(Kind::Info, &format!("setting random seed to {seed}"));
    Ok(seed)
}

/// What has been read so far.
struct Reader<'a> {
    flavour: &'static Flavour,
    around: &'a Surroundings,
    target: Target,
    scripts: Scripts,
    is_init: bool,
    has_bench_option: bool,
    has_init_option: bool,
    init_steps: Option<String>,
    foreign_keys: bool,
    fillfactor: u32,
    quiet: bool,
    unlogged: bool,
    tablespace: Option<String>,
    index_tablespace: Option<String>,
    partitions: u32,
    partition_method: Option<PartitionMethod>,
    batch_rows: Option<u64>,
    clients: u32,
    jobs: u32,
    connect: bool,
    defined: Vec<(String, String)>,
    use_log: bool,
    log_prefix: Option<String>,
    sampling: Option<f64>,
    aggregate_s: Option<u32>,
    latency_limit_us: u64,
    query_mode: QueryMode,
    no_vacuum: bool,
    vacuum_all: bool,
    progress_s: Option<u32>,
    progress_timestamp: bool,
    report_per_command: bool,
    rate: Option<f64>,
    scale: Option<u32>,
    transactions: u32,
    duration_s: u32,
    failures_detailed: bool,
    max_tries: u32,
    verbose_errors: bool,
    exit_on_abort: bool,
    continue_on_error: bool,
    seed: u64,
    percentiles: Option<Vec<f64>>,
    warmup: Duration,
    json: Option<PathBuf>,
    hdr_log: Option<PathBuf>,
    reconnect: bool,
}

impl<'a> Reader<'a> {
    fn new(flavour: &'static Flavour, around: &'a Surroundings) -> Self {
        Self {
            flavour,
            around,
            target: Target::default(),
            scripts: Scripts::default(),
            is_init: false,
            has_bench_option: false,
            has_init_option: false,
            init_steps: None,
            foreign_keys: false,
            fillfactor: 100,
            quiet: false,
            unlogged: false,
            tablespace: None,
            index_tablespace: None,
            partitions: 0,
            partition_method: None,
            batch_rows: None,
            clients: 1,
            jobs: 1,
            connect: false,
            defined: Vec::new(),
            use_log: false,
            log_prefix: None,
            sampling: None,
            aggregate_s: None,
            latency_limit_us: 0,
            query_mode: QueryMode::Simple,
            no_vacuum: false,
            vacuum_all: false,
            progress_s: None,
            progress_timestamp: false,
            report_per_command: false,
            rate: None,
            scale: None,
            transactions: 0,
            duration_s: 0,
            failures_detailed: false,
            max_tries: flavour.max_tries,
            verbose_errors: false,
            exit_on_abort: false,
            continue_on_error: false,
            seed: seed::from_clock(),
            percentiles: None,
            warmup: Duration::ZERO,
            json: None,
            hdr_log: None,
            reconnect: false,
        }
    }

    /// One option. Some act at once, as in pgbench: `-f` reads its file, `-b list` answers.
    fn option(&mut self, option: Found, say: &mut Say) -> Result<(), Stop> {
        let Found { id, value } = option;
        let value = value.unwrap_or_default();
        if self.common_option(id, &value, say)? || self.init_option(id, &value)? {
            return Ok(());
        }
        self.has_bench_option = true;
        self.bench_option(id, value, say)
    }

    /// Options that do not say which of the two jobs is meant; whether it was one.
    fn common_option(&mut self, id: Id, value: &str, say: &mut Say) -> Result<bool, Stop> {
        let text = || Some(value.to_owned());
        match id {
            "initialize" => self.is_init = true,
            "no-vacuum" => self.no_vacuum = true,
            "scale" => self.scale = Some(count(value, "-s/--scale")?),
            "dbname" => self.target.database = text(),
            "host" => self.target.host = text(),
            "port" => self.target.port = text(),
            "username" => self.target.user = text(),
            "debug" => say.debug = true,
            "show-script" => {
                let shown = scripts::show(value, self.flavour)?;
                return Err(Stop::done().raw(shown));
            }
            "builtin" if value == "list" => return Err(Stop::done().raw(scripts::list())),
            _ => return Ok(false),
        }
        Ok(true)
    }

    /// Options of `-i`; whether it was one.
    fn init_option(&mut self, id: Id, value: &str) -> Result<bool, Stop> {
        match id {
            "fillfactor" => {
                let number = option_int(value, "-F/--fillfactor", 10, 100)?;
                self.fillfactor = number.unsigned_abs();
            }
            "init-steps" => {
                check_init_steps(value)?;
                self.init_steps = Some(value.to_owned());
            }
            "quiet" => self.quiet = true,
            "unlogged-tables" => self.unlogged = true,
            "tablespace" => self.tablespace = Some(value.to_owned()),
            "index-tablespace" => self.index_tablespace = Some(value.to_owned()),
            "foreign-keys" => self.foreign_keys = true,
            "partitions" => {
                let number = option_int(value, "--partitions", 0, i32::MAX)?;
                self.partitions = number.unsigned_abs();
            }
            "partition-method" => self.partition_method = Some(partition_method(value)?),
            "batch-size" => {
                self.batch_rows = Some(u64::from(count(value, "--batch-size")?));
            }
            _ => return Ok(false),
        }
        self.has_init_option = true;
        Ok(true)
    }

    fn bench_option(&mut self, id: Id, value: String, say: &Say) -> Result<(), Stop> {
        match id {
            "builtin" => self.scripts.add_builtin(&value, self.flavour)?,
            "skip-some-updates" => self.scripts.add_builtin("simple-update", self.flavour)?,
            "select-only" => self.scripts.add_builtin("select-only", self.flavour)?,
            "file" => self.scripts.add_file(&value)?,
            "client" => self.clients = self.client_count(&value)?,
            "jobs" => self.jobs = count(&value, "-j/--jobs")?,
            "connect" => self.connect = true,
            "define" => self.define(&value)?,
            "log" => self.use_log = true,
            "log-prefix" => self.log_prefix = Some(value),
            "sampling-rate" => {
                let rate = atof(&value);
                if !(rate > 0.0 && rate <= 1.0) {
                    let text = format!("invalid sampling rate: \"{value}\"");
                    return Err(Stop::fatal(text));
                }
                self.sampling = Some(rate);
            }
            "aggregate-interval" => {
                self.aggregate_s = Some(count(&value, "--aggregate-interval")?);
            }
            "latency-limit" => {
                let limit_ms = positive(&value, "latency limit")?;
                self.latency_limit_us = (limit_ms * 1000.0) as u64;
            }
            "protocol" => self.query_mode = query_mode(&value)?,
            "vacuum-all" => self.vacuum_all = true,
            "progress" => self.progress_s = Some(count(&value, "-P/--progress")?),
            "progress-timestamp" => self.progress_timestamp = true,
            "report-per-command" => self.report_per_command = true,
            "rate" => self.rate = Some(positive(&value, "rate limit")?),
            "transactions" => self.transactions = count(&value, "-t/--transactions")?,
            "time" => self.duration_s = count(&value, "-T/--time")?,
            "random-seed" => self.seed = read_seed(&value, say, "--random-seed option")?,
            "failures-detailed" => self.failures_detailed = true,
            "max-tries" => {
                let number = atoi(&value);
                self.max_tries = u32::try_from(number).map_err(|_| {
                    Stop::fatal(format!("invalid number of maximum tries: \"{value}\""))
                })?;
            }
            "verbose-errors" => self.verbose_errors = true,
            "exit-on-abort" => self.exit_on_abort = true,
            "continue-on-error" => self.continue_on_error = true,
            "hdr-log" => self.hdr_log = Some(value.into()),
            "json" => self.json = Some(value.into()),
            "percentiles" => self.percentiles = Some(percentiles(&value)?),
            "reconnect" => self.reconnect = true,
            "warmup" => self.warmup = warmup(&value)?,
            // Every option of the tables above is one of these.
            other => return Err(Stop::fatal(format!("option --{other} does nothing"))),
        }
        Ok(())
    }

    fn client_count(&self, value: &str) -> Result<u32, Stop> {
        let clients = count(value, "-c/--client")?;
        // Three for standard input, output and error.
        let needed = u64::from(clients) + 3;
        if self.around.open_files_max < needed {
            let max = self.around.open_files_max;
            let text = format!("need at least {needed} open files, but system limit is {max}");
            let hint =
                "Reduce number of clients, or use limit/ulimit to increase the system limit.";
            return Err(Stop::fatal(text).and(Kind::Hint, hint));
        }
        Ok(clients)
    }

    fn define(&mut self, value: &str) -> Result<(), Stop> {
        let (name, text) = match value.split_once('=') {
            Some((name, text)) if !name.is_empty() && !text.is_empty() => (name, text),
            _ => {
                let text = format!("invalid variable definition: \"{value}\"");
                return Err(Stop::fatal(text));
            }
        };
        if !is_valid_name(name) {
            let text = format!("option: invalid variable name: \"{name}\"");
            return Err(Stop::fatal(text));
        }
        self.defined.push((name.to_owned(), text.to_owned()));
        Ok(())
    }

    /// What pgbench does and checks when all options are read, in its order.
    fn finish(mut self, others: Vec<String>, say: &Say) -> Result<Asked, Stop> {
        if self.scripts.list.is_empty() && !self.is_init {
            self.scripts.add_builtin("tpcb-like", self.flavour)?;
            self.has_bench_option = true;
        }
        let total_weight = self.scripts.total_weight();
        let scripts = std::mem::take(&mut self.scripts.list);
        let scripts = Drive::compile(scripts, self.query_mode)
            .map_err(|error| Stop::fatal(error.to_string()))?;
        if total_weight == 0 && !self.is_init {
            return Err(Stop::fatal("total script weight must not be zero"));
        }
        let mut others = others.into_iter();
        if self.target.database.is_none() {
            let database = others.next().or_else(|| self.around.database.clone());
            self.target.database = database;
        }
        if let Some(other) = others.next() {
            let text = format!("too many command-line arguments (first is \"{other}\")");
            let mut stop = Stop::fatal(text);
            stop.lines.push(try_help(say));
            return Err(stop);
        }
        let target = std::mem::take(&mut self.target);
        let job = if self.is_init {
            Job::Initialize(self.init()?)
        } else {
            Job::Bench(Box::new(self.bench(scripts)?))
        };
        Ok(Asked { target, job })
    }

    fn init(mut self) -> Result<InitOptions, Stop> {
        if self.has_bench_option {
            return Err(Stop::fatal(
                "some of the specified options cannot be used in initialization (-i) mode",
            ));
        }
        if self.partitions == 0 && self.partition_method.is_some() {
            return Err(Stop::fatal(
                "--partition-method requires greater than zero --partitions",
            ));
        }
        if self.partitions > 0 {
            self.partition_method.get_or_insert(PartitionMethod::Range);
        }
        let default = || self.flavour.init_steps.to_owned();
        let mut steps = self.init_steps.take().unwrap_or_else(default);
        if self.no_vacuum {
            steps = steps.replace('v', " ");
        }
        if self.foreign_keys && !steps.contains('f') {
            steps.push('f');
        }
        Ok(InitOptions {
            steps,
            scale: self.scale.unwrap_or(1),
            fillfactor: self.fillfactor,
            partitions: self.partitions,
            partition_method: self.partition_method,
            tablespace: self.tablespace,
            index_tablespace: self.index_tablespace,
            unlogged: self.unlogged,
            quiet: self.quiet,
            tables: self.flavour.tables(self.batch_rows),
        })
    }

    fn bench(self, scripts: Vec<Script>) -> Result<Bench, Stop> {
        let refuse = |text: &str| Err(Stop::fatal(text));
        if self.has_init_option {
            return refuse("some of the specified options cannot be used in benchmarking mode");
        }
        if self.transactions > 0 && self.duration_s > 0 {
            return refuse(
                "specify either a number of transactions (-t) or a duration (-T), not both",
            );
        }
        if self.sampling.is_some() && !self.use_log {
            return refuse(
                "log sampling (--sampling-rate) is allowed only when logging transactions (-l)",
            );
        }
        if self.sampling.is_some() && self.aggregate_s.is_some() {
            return refuse(
                "log sampling (--sampling-rate) and aggregation (--aggregate-interval) cannot be \
                 used at the same time",
            );
        }
        if self.aggregate_s.is_some() && !self.use_log {
            return refuse("log aggregation is allowed only when actually logging transactions");
        }
        if !self.use_log && self.log_prefix.is_some() {
            return refuse(
                "log file prefix (--log-prefix) is allowed only when logging transactions (-l)",
            );
        }
        let duration_s = self.duration_s;
        if let Some(interval_s) = self.aggregate_s.filter(|_| duration_s > 0) {
            if interval_s > duration_s {
                return refuse(&format!(
                    "number of seconds for aggregation ({interval_s}) must not be higher than \
                     test duration ({duration_s})"
                ));
            }
            if duration_s % interval_s != 0 {
                return refuse(&format!(
                    "duration ({duration_s}) must be a multiple of aggregation interval \
                     ({interval_s})"
                ));
            }
        }
        if self.progress_timestamp && self.progress_s.is_none() {
            return refuse("--progress-timestamp is allowed only under --progress");
        }
        let is_unlimited = self.max_tries == 0 && !self.flavour.zero_tries_is_one;
        if is_unlimited && self.latency_limit_us == 0 && duration_s == 0 {
            return refuse(
                "an unlimited number of transaction tries can only be used with --latency-limit \
                 or a duration (-T)",
            );
        }
        let is_default = self.transactions == 0 && duration_s == 0;
        Ok(Bench {
            scripts,
            texts: self.scripts.texts,
            names: self.scripts.names,
            uses_builtin: self.scripts.uses_builtin,
            defined: self.defined,
            clients: self.clients,
            threads: self.jobs.min(self.clients),
            connect: self.connect,
            transactions: if is_default { 10 } else { self.transactions },
            duration_s,
            query_mode: self.query_mode,
            no_vacuum: self.no_vacuum,
            vacuum_all: self.vacuum_all,
            scale: self.scale,
            progress_s: self.progress_s,
            progress_timestamp: self.progress_timestamp,
            rate: self.rate,
            latency_limit_us: self.latency_limit_us,
            report_per_command: self.report_per_command,
            failures_detailed: self.failures_detailed,
            max_tries: self.max_tries,
            verbose_errors: self.verbose_errors,
            exit_on_abort: self.exit_on_abort,
            continue_on_error: self.continue_on_error,
            log: self.use_log.then(|| Log {
                prefix: self.log_prefix.unwrap_or_else(|| "pgbench_log".to_owned()),
                sampling: self.sampling,
                aggregate_s: self.aggregate_s,
            }),
            seed: self.seed,
            percentiles: self.percentiles,
            warmup: self.warmup,
            json: self.json,
            hdr_log: self.hdr_log,
            reconnect: self.reconnect,
        })
    }
}

fn count(value: &str, name: &str) -> Result<u32, Stop> {
    option_int(value, name, 1, i32::MAX).map(i32::unsigned_abs)
}

/// A number greater than zero; `what` names it in the complaint.
fn positive(value: &str, what: &str) -> Result<f64, Stop> {
    match atof(value) {
        number if number > 0.0 && number.is_finite() => Ok(number),
        _ => Err(Stop::fatal(format!("invalid {what}: \"{value}\""))),
    }
}

fn check_init_steps(steps: &str) -> Result<(), Stop> {
    if steps.is_empty() {
        return Err(Stop::fatal("no initialization steps specified"));
    }
    match steps.chars().find(|step| !"dtgGvpf ".contains(*step)) {
        None => Ok(()),
        Some(step) => Err(
            Stop::fatal(format!("unrecognized initialization step \"{step}\""))
                .and(Kind::Detail, "Allowed step characters are: \"dtgGvpf\"."),
        ),
    }
}

fn partition_method(value: &str) -> Result<PartitionMethod, Stop> {
    match value.to_ascii_lowercase().as_str() {
        "range" => Ok(PartitionMethod::Range),
        "hash" => Ok(PartitionMethod::Hash),
        _ => Err(Stop::fatal(format!(
            "invalid partition method, expecting \"range\" or \"hash\", got: \"{value}\""
        ))),
    }
}

fn query_mode(value: &str) -> Result<QueryMode, Stop> {
    [QueryMode::Simple, QueryMode::Extended, QueryMode::Prepared]
        .into_iter()
        .find(|mode| mode.name() == value)
        .ok_or_else(|| Stop::fatal(format!("invalid query mode (-M): \"{value}\"")))
}

fn percentiles(list: &str) -> Result<Vec<f64>, Stop> {
    if list.is_empty() {
        return Ok(PERCENTILES.to_vec());
    }
    let read = |text: &str| match text.trim().parse::<f64>() {
        Ok(percent) if percent > 0.0 && percent < 100.0 => Ok(percent),
        _ => Err(Stop::fatal(format!("invalid percentile: \"{text}\"")).and(
            Kind::Hint,
            "Percentiles are numbers between 0 and 100, separated by commas: 50,99,99.9.",
        )),
    };
    list.split(',').map(read).collect()
}

fn warmup(value: &str) -> Result<Duration, Stop> {
    crate::plan::duration::parse(value).map_err(|why| {
        Stop::fatal(format!("invalid warm-up time: \"{value}\"")).and(Kind::Hint, why)
    })
}
