//! Reads options one by one, in the order of the command line; some act at once, as in pgbench: `-f`
//! reads its file, `-b list` answers. Then come the checks, in pgbench's order.

use pgdyno_drive::{Drive, Script};
use pgdyno_script::seeds::SEED_DETAIL;
use pgdyno_script::{SeedChoice, SeedError, is_valid_name};

use super::values::{
    check_init_steps, count, partition_method, percentiles, positive, query_mode, warmup,
};
use super::{Bench, InitJob, LogOptions, PgbenchOptions, PgbenchSurroundings, Target, try_help};
use crate::c_numbers::{atof, atoi, option_int};
use crate::flavour::Flavour;
use crate::getopt::{Id, ParsedOption};
use crate::init::{InitOptions, PartitionMethod};
use crate::messages::{Kind, Messages, Stop};
use crate::scripts::{self, Scripts};
use crate::seed;

/// What has been read so far.
pub struct Reader<'a> {
    flavour: &'static Flavour,
    around: &'a PgbenchSurroundings,
    target: Target,
    scripts: Scripts,
    is_init: bool,
    /// Whether an option was given that only a run takes.
    has_bench_option: bool,
    /// Whether one was given that only `-i` takes.
    has_init_option: bool,
    init_steps: Option<String>,
    foreign_keys: bool,
    init: InitOptions,
    bench: Bench,
    jobs: u32,
    /// What belongs to the log, which there may not be.
    use_log: bool,
    log_prefix: Option<String>,
    sampling: Option<f64>,
    aggregate_s: Option<u32>,
}

impl<'a> Reader<'a> {
    pub fn new(flavour: &'static Flavour, around: &'a PgbenchSurroundings) -> Self {
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
            init: InitOptions {
                steps: String::new(),
                scale: 1,
                fillfactor: 100,
                partitions: 0,
                partition_method: None,
                tablespace: None,
                index_tablespace: None,
                unlogged: false,
                quiet: false,
                tables: flavour.tables(None),
            },
            bench: Bench::new(flavour),
            jobs: 1,
            use_log: false,
            log_prefix: None,
            sampling: None,
            aggregate_s: None,
        }
    }

    /// The seed, as the option or the variable that `place` names gives it.
    ///
    /// # Errors
    /// It is none.
    pub fn random_seed(&mut self, text: &str, place: &str, say: &Messages) -> Result<(), Stop> {
        let error = format!("error while setting random seed from {place}");
        let choice: SeedChoice = text.parse().map_err(|why: SeedError| {
            Stop::fatal(why.to_string())
                .and(Kind::Detail, SEED_DETAIL)
                .and(Kind::Error, error.as_str())
        })?;
        let seed = seed::choose(choice).map_err(|_| {
            Stop::fatal("could not generate random seed").and(Kind::Error, error.as_str())
        })?;
        say.log(Kind::Info, &format!("setting random seed to {seed}"));
        self.bench.seed = seed;
        Ok(())
    }

    /// One option.
    ///
    /// # Errors
    /// It makes no sense, or it asks for something that is said at once.
    pub fn option(&mut self, option: ParsedOption, say: &mut Messages) -> Result<(), Stop> {
        let ParsedOption { id, value } = option;
        let value = value.unwrap_or_default();
        if self.common_option(id, &value, say)? || self.init_option(id, &value)? {
            return Ok(());
        }
        self.has_bench_option = true;
        self.bench_option(id, value, say)
    }

    /// Options that do not say which of the two jobs is meant; whether it was one.
    fn common_option(&mut self, id: Id, value: &str, say: &mut Messages) -> Result<bool, Stop> {
        let text = || Some(value.to_owned());
        match id {
            "initialize" => self.is_init = true,
            "no-vacuum" => self.bench.no_vacuum = true,
            "scale" => self.bench.scale = Some(count(value, "-s/--scale")?),
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
        let init = &mut self.init;
        match id {
            "fillfactor" => {
                let number = option_int(value, "-F/--fillfactor", 10, 100)?;
                init.fillfactor = number.unsigned_abs();
            }
            "init-steps" => {
                check_init_steps(value)?;
                self.init_steps = Some(value.to_owned());
            }
            "quiet" => init.quiet = true,
            "unlogged-tables" => init.unlogged = true,
            "tablespace" => init.tablespace = Some(value.to_owned()),
            "index-tablespace" => init.index_tablespace = Some(value.to_owned()),
            "foreign-keys" => self.foreign_keys = true,
            "partitions" => {
                let number = option_int(value, "--partitions", 0, i32::MAX)?;
                init.partitions = number.unsigned_abs();
            }
            "partition-method" => init.partition_method = Some(partition_method(value)?),
            "batch-size" => {
                let rows = u64::from(count(value, "--batch-size")?);
                init.tables = self.flavour.tables(Some(rows));
            }
            _ => return Ok(false),
        }
        self.has_init_option = true;
        Ok(true)
    }

    fn bench_option(&mut self, id: Id, value: String, say: &Messages) -> Result<(), Stop> {
        let bench = &mut self.bench;
        match id {
            "builtin" => self.scripts.add_builtin(&value, self.flavour)?,
            "skip-some-updates" => self.scripts.add_builtin("simple-update", self.flavour)?,
            "select-only" => self.scripts.add_builtin("select-only", self.flavour)?,
            "file" => self.scripts.add_file(&value)?,
            "client" => bench.clients = client_count(&value, self.around)?,
            "jobs" => self.jobs = count(&value, "-j/--jobs")?,
            "connect" => bench.connect = true,
            "define" => bench.defined.push(definition(&value)?),
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
                bench.latency_limit_us = (limit_ms * 1000.0) as u64;
            }
            "protocol" => bench.query_mode = query_mode(&value)?,
            "vacuum-all" => bench.vacuum_all = true,
            "progress" => bench.progress_s = Some(count(&value, "-P/--progress")?),
            "progress-timestamp" => bench.progress_timestamp = true,
            "report-per-command" => bench.report_per_command = true,
            "rate" => bench.rate = Some(positive(&value, "rate limit")?),
            "transactions" => bench.transactions = count(&value, "-t/--transactions")?,
            "time" => bench.duration_s = count(&value, "-T/--time")?,
            "random-seed" => self.random_seed(&value, "--random-seed option", say)?,
            "failures-detailed" => bench.failures_detailed = true,
            "max-tries" => {
                bench.max_tries = u32::try_from(atoi(&value)).map_err(|_| {
                    Stop::fatal(format!("invalid number of maximum tries: \"{value}\""))
                })?;
            }
            "verbose-errors" => bench.verbose_errors = true,
            "exit-on-abort" => bench.exit_on_abort = true,
            "continue-on-error" => bench.continue_on_error = true,
            "hdr-log" => bench.hdr_log = Some(value.into()),
            "json" => bench.json = Some(value.into()),
            "percentiles" => bench.percentiles = Some(percentiles(&value)?),
            "reconnect" => bench.reconnect = true,
            "store" => {
                let named = (!value.is_empty()).then(|| value.into());
                bench.store = Some(named);
            }
            "warmup" => bench.warmup = warmup(&value)?,
            // Every option of the tables is one of these.
            other => return Err(Stop::fatal(format!("option --{other} does nothing"))),
        }
        Ok(())
    }

    /// What pgbench does and checks when all options are read; `others` are the arguments that are
    /// none.
    ///
    /// # Errors
    /// Options that do not go together.
    pub fn finish(mut self, others: Vec<String>, say: &Messages) -> Result<PgbenchOptions, Stop> {
        if self.scripts.list.is_empty() && !self.is_init {
            self.scripts.add_builtin("tpcb-like", self.flavour)?;
            self.has_bench_option = true;
        }
        let total_weight = self.scripts.total_weight();
        let scripts = std::mem::take(&mut self.scripts.list);
        let mut scripts = Drive::compile(scripts, self.bench.query_mode, None)
            .map_err(|error| Stop::fatal(error.reason))?;
        for script in &mut scripts {
            script.counts_missing = crate::scripts::is_builtin(&script.program.script().name);
        }
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
            InitJob::Initialize(self.init()?)
        } else {
            InitJob::Bench(Box::new(self.bench(scripts)?))
        };
        Ok(PgbenchOptions { target, job })
    }

    fn init(self) -> Result<InitOptions, Stop> {
        let mut init = self.init;
        if self.has_bench_option {
            return Err(Stop::fatal(
                "some of the specified options cannot be used in initialization (-i) mode",
            ));
        }
        if init.partitions == 0 && init.partition_method.is_some() {
            return Err(Stop::fatal(
                "--partition-method requires greater than zero --partitions",
            ));
        }
        if init.partitions > 0 {
            init.partition_method.get_or_insert(PartitionMethod::Range);
        }
        init.scale = self.bench.scale.unwrap_or(1);
        let default = || self.flavour.init_steps.to_owned();
        init.steps = self.init_steps.unwrap_or_else(default);
        if self.bench.no_vacuum {
            init.steps = init.steps.replace('v', " ");
        }
        if self.foreign_keys && !init.steps.contains('f') {
            init.steps.push('f');
        }
        Ok(init)
    }

    fn bench(mut self, scripts: Vec<Script>) -> Result<Bench, Stop> {
        self.check_bench()?;
        let mut bench = self.bench;
        bench.scripts = scripts;
        bench.texts = self.scripts.texts;
        bench.names = self.scripts.names;
        bench.uses_builtin = self.scripts.uses_builtin;
        bench.threads = self.jobs.min(bench.clients);
        bench.store = bench.store.or(self.around.keeps_runs.then_some(None));
        if bench.transactions == 0 && bench.duration_s == 0 {
            bench.transactions = 10;
        }
        bench.log = self.use_log.then(|| LogOptions {
            prefix: self.log_prefix.take().unwrap_or("pgbench_log".to_owned()),
            sampling: self.sampling,
            aggregate_s: self.aggregate_s,
        });
        Ok(bench)
    }

    /// What does not go together, in the order in which pgbench complains.
    fn check_bench(&self) -> Result<(), Stop> {
        let bench = &self.bench;
        let refuse = |text: &str| Err(Stop::fatal(text));
        if self.has_init_option {
            return refuse("some of the specified options cannot be used in benchmarking mode");
        }
        if bench.transactions > 0 && bench.duration_s > 0 {
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
        let duration_s = bench.duration_s;
        if let Some(interval_s) = self.aggregate_s.filter(|_| duration_s > 0) {
            if interval_s > duration_s {
                return refuse(&format!(
                    "number of seconds for aggregation ({interval_s}) must not be higher than \
                     test duration ({duration_s})"
                ));
            }
            if !duration_s.is_multiple_of(interval_s) {
                return refuse(&format!(
                    "duration ({duration_s}) must be a multiple of aggregation interval \
                     ({interval_s})"
                ));
            }
        }
        if bench.progress_timestamp && bench.progress_s.is_none() {
            return refuse("--progress-timestamp is allowed only under --progress");
        }
        let is_unlimited = bench.max_tries == 0 && !self.flavour.zero_tries_is_one;
        if is_unlimited && bench.latency_limit_us == 0 && duration_s == 0 {
            return refuse(
                "an unlimited number of transaction tries can only be used with --latency-limit \
                 or a duration (-T)",
            );
        }
        Ok(())
    }
}

fn client_count(value: &str, around: &PgbenchSurroundings) -> Result<u32, Stop> {
    let clients = count(value, "-c/--client")?;
    // Three for standard input, output and error.
    let needed = u64::from(clients) + 3;
    if around.open_files_max < needed {
        let max = around.open_files_max;
        let text = format!("need at least {needed} open files, but system limit is {max}");
        let hint = "Reduce number of clients, or use limit/ulimit to increase the system limit.";
        return Err(Stop::fatal(text).and(Kind::Hint, hint));
    }
    Ok(clients)
}

fn definition(value: &str) -> Result<(String, String), Stop> {
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
    Ok((name.to_owned(), text.to_owned()))
}
