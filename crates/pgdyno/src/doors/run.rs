//! `pgdyno run`: one measured run.

use std::time::Duration;

use clap::{Args, ValueEnum};
use pgdyno_drive::record::End;
use pgdyno_drive::{Control, Drive, OnConnectionLoss, OnError, QueryMode, Until};
use pgdyno_platform::host;
use pgdyno_platform::interrupt::Interrupts;
use pgdyno_platform::io::Choice;

use super::Talk;
use super::json_arg::JsonArg;
use super::observe_args::ObserveArgs;
use super::pack_args::PackArgs;
use super::retry_args::RetryArgs;
use super::store_args::StoreArgs;
use super::target_args::TargetArgs;
use crate::plan::brake::Brake;
use crate::plan::duration;
use crate::plan::io;
use crate::plan::isolation::Isolation;
use crate::plan::prepare::{Prepared, prepare};
use crate::plan::trial::{self, Outcome, Trial};
use crate::plan::warmup::Asked;
use crate::report::live::Screen;
use crate::report::{json, summary};
use crate::say::write_answer;
use crate::store::{Keep, TrialHeader, check_tag};
use pgdyno_model::{Exit, Failure, Observers};

/// How long a run lasts when the user does not say: long enough for a p99 at a few hundred
/// transactions a second.
const DURATION_DEFAULT: Duration = Duration::from_secs(10);

/// What to run, and how.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  pgdyno run tpcb                                one client for ten seconds
  pgdyno run tpcb -c 8 -T 1m --param scale=10    8 clients for a minute, scale 10
  pgdyno run tpcb --mix cte -c 8                 one of its mixes: see pgdyno pack list
  pgdyno run ycsb --mix a -c 16                  YCSB's mixes a to f, custom
  pgdyno run select-only -c 64 -j 2 --query-mode prepared
  pgdyno run tpcb -c 16 --rate 500 --warmup 5s   open loop: 500 transactions a second
  pgdyno run tpcb -c 16 --retry restart --backoff exponential=1ms,100ms,full
  pgdyno run tpcb -c 8 -T 5m --warmup auto       measure when throughput is steady
  pgdyno run slob -c 2 --loop client             random blocks; see pgdyno pack show slob
  pgdyno run mine.sql@9 other.sql@1 -t 1000      script files in pgbench's language
  pgdyno run tpcb -c 12 --url postgresql://me@db1,db2,db3/bench --reconnect
  pgdyno run tpcb --json=result.json             everything measured, for programs
  pgdyno run tpcb --tag baseline                 easy to find in the notebook: pgdyno ls

Percentiles are shown only where at least ten transactions lie beyond them.")]
pub struct RunArgs {
    /// A workload's name (`pgdyno pack list`), the path of a folder with a pack.toml, or script
    /// files in pgbench's language, each with its weight
    #[arg(value_name = "WORKLOAD|SCRIPT[@WEIGHT]", required = true)]
    pub workload: Vec<String>,

    /// One of the workload's mixes, instead of its scripts' own weights
    #[arg(long, value_name = "NAME")]
    pub mix: Option<String>,

    /// Where the workload's loop runs, if it can do either (slob): in the server, so that neither
    /// client nor network is in the way, or in the client [default: server, where it can]
    #[arg(long = "loop", value_enum, value_name = "WHERE")]
    pub loop_in: Option<LoopIn>,

    /// Clients that run at the same time, each on a connection of its own
    #[arg(short, long, default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=100_000))]
    pub clients: u32,

    /// Threads that drive them [default: one a CPU, at most one a client]
    #[arg(short = 'j', long, value_parser = clap::value_parser!(u32).range(1..=4096))]
    pub threads: Option<u32>,

    /// How long to measure: 60, 60s, 2m [default: 10s]
    #[arg(short = 'T', long, value_name = "TIME", value_parser = duration::parse_positive, conflicts_with = "transactions")]
    pub duration: Option<Duration>,

    /// Transactions of each client, instead of a duration
    #[arg(short, long, value_name = "COUNT", value_parser = clap::value_parser!(u64).range(1..))]
    pub transactions: Option<u64>,

    /// Transactions a second over all clients, started by a Poisson schedule whether or not the
    /// server keeps up (open loop); latency is then measured from the schedule too
    #[arg(short = 'R', long, value_name = "PER_SECOND", value_parser = rate)]
    pub rate: Option<f64>,

    /// Run so long before measuring; shown apart and never part of the figures. auto: until it is
    /// steady, at most a minute, or what auto=LIMIT says
    #[arg(long, value_name = "TIME|auto[=LIMIT]", value_parser = Asked::parse, default_value = "0")]
    pub warmup: Asked,

    /// Count transactions that take longer as late; with a rate, skip those that are so late
    /// before they start
    #[arg(short = 'L', long, value_name = "TIME", value_parser = duration::parse_positive)]
    pub latency_limit: Option<Duration>,

    /// What follows errors that may be tried again.
    #[command(flatten)]
    pub retry: RetryArgs,

    /// Go on after errors that are not retried: the transaction has failed, the client has not
    #[arg(long)]
    pub continue_on_error: bool,

    /// Tell every error, also those that are retried
    #[arg(long)]
    pub verbose_errors: bool,

    /// How statements travel [default: simple, unless the workload needs another]
    #[arg(short = 'M', long, value_enum)]
    pub query_mode: Option<Mode>,

    /// The isolation level of the transactions, unless a script says its own; what comes of it is
    /// read back from the server [default: the server's]
    #[arg(long, value_enum, value_name = "LEVEL")]
    pub isolation: Option<Isolation>,

    /// Connect again when a connection is lost, or cannot be made: to the same endpoint, else to
    /// the others in turn. Without it the client ends
    #[arg(long)]
    pub reconnect: bool,

    /// A new connection for each transaction
    #[arg(short = 'C', long)]
    pub connect: bool,

    /// How pgdyno waits for its sockets: io_uring where the kernel allows it, else epoll, or one of
    /// them at any rate. PGDYNO_IO says it where this does not
    #[arg(long, value_name = "auto|uring|epoll", value_parser = io::parse, default_value = "auto")]
    pub io: Choice,

    /// Where the random numbers come from: the same seed gives the same transactions
    /// [default: from the clock]
    #[arg(long, value_name = "NUMBER", allow_negative_numbers = true)]
    pub seed: Option<i64>,

    /// Where machines find the result.
    #[command(flatten)]
    pub json: JsonArg,

    /// Which store.
    #[command(flatten)]
    pub store: StoreArgs,

    /// Keep nothing in the notebook
    #[arg(long, conflicts_with_all = ["store", "tag", "note"])]
    pub no_store: bool,

    /// A word to find the trial by in the notebook; several times: several
    #[arg(long, value_name = "TAG", value_parser = tag)]
    pub tag: Vec<String>,

    /// What there is to say of the trial in the notebook
    #[arg(long, value_name = "TEXT")]
    pub note: Option<String>,

    /// How the workload is to be.
    #[command(flatten)]
    pub pack: PackArgs,

    /// What is observed meanwhile.
    #[command(flatten)]
    pub observe: ObserveArgs,

    /// Where the database is.
    #[command(flatten)]
    pub target: TargetArgs,
}

/// Where a workload's loop runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum LoopIn {
    /// A procedure of the server does work units for a while
    Server,
    /// The client sends each one
    Client,
}

/// The query modes by pgbench's names.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Mode {
    /// Values stand in the statement's text
    Simple,
    /// Parsed each time, values apart
    Extended,
    /// Parsed once a connection, values apart
    Prepared,
}

impl From<Mode> for QueryMode {
    fn from(mode: Mode) -> Self {
        match mode {
            Mode::Simple => Self::Simple,
            Mode::Extended => Self::Extended,
            Mode::Prepared => Self::Prepared,
        }
    }
}

fn rate(text: &str) -> Result<f64, String> {
    match text.parse() {
        Ok(rate) if rate > 0.0 && f64::is_finite(rate) => Ok(rate),
        _ => Err("a rate is a positive number of transactions a second".to_owned()),
    }
}

fn tag(text: &str) -> Result<String, String> {
    check_tag(text).map_err(|failure| failure.hints.join(" "))?;
    Ok(text.to_owned())
}

impl RunArgs {
    fn keep(&self, trial: &Trial, prepared: &Prepared) -> Keep {
        if self.no_store {
            return Keep::nothing();
        }
        let header = TrialHeader {
            tags: self.tag.clone(),
            note: self.note.clone(),
            ..TrialHeader::of(trial, prepared)
        };
        Keep::begin(self.store.store.as_deref(), &header)
    }

    /// The pack's parameters: `--loop` is one that has an option of its own.
    fn params(&self) -> Vec<String> {
        let loop_in = self.loop_in.map(|loop_in| match loop_in {
            LoopIn::Server => "loop=server".to_owned(),
            LoopIn::Client => "loop=client".to_owned(),
        });
        self.pack.param.iter().cloned().chain(loop_in).collect()
    }

    fn trial(&self, talk: Talk) -> Result<Trial, Failure> {
        let counted = self.transactions.and_then(trial::transactions);
        let timed = Until::Elapsed(self.duration.unwrap_or(DURATION_DEFAULT));
        let mut trial = Trial {
            workload: self.workload.clone(),
            mix: self.mix.clone(),
            params: self.params(),
            target: self.target.wanted(),
            query_mode: self.query_mode.map(Mode::into),
            isolation: self.isolation,
            inject_retries: self.retry.inject_retries,
            drive: Drive {
                clients: self.clients as usize,
                threads: self
                    .threads
                    .map_or_else(host::cpus, |threads| threads as usize),
                io: self.io,
                until: counted.unwrap_or(timed),
                warmup: self.warmup.longest(),
                rate: self.rate,
                latency_limit: self.latency_limit,
                on_error: if self.continue_on_error {
                    OnError::Continue
                } else {
                    OnError::EndClient
                },
                connection_per_transaction: self.connect,
                on_connection_loss: if self.reconnect {
                    OnConnectionLoss::Reconnect
                } else {
                    OnConnectionLoss::EndClient
                },
                verbose_errors: self.verbose_errors,
                seed: self.seed.unwrap_or_else(trial::seed_from_clock),
                ..trial::native_drive()
            },
            detects_warmup: self.warmup.is_detected(),
            observe: self.observe.asked(talk)?,
        };
        self.retry.asked()?.apply(&mut trial.drive);
        Ok(trial)
    }
}

/// Does it.
pub fn open(args: &RunArgs, talk: Talk) -> Result<Exit, Failure> {
    let json_to = args.json.open()?;
    let trial = args.trial(talk)?;
    let interrupts = super::interrupts()?;
    let interrupted_before = interrupts.count();
    let prepared = prepare(&trial, talk.progress(), interrupts)?;
    let keep = args.keep(&trial, &prepared);
    let since = (interrupts, interrupted_before);
    let (outcome, number) = measure(trial, &prepared, keep, talk, since)?;
    if outcome.recording.clients.disconnected > 0
        && let Some(words) = prepared.target.last_words()
    {
        crate::say::remark!("pgdyno: the server's last words:\n{words}");
    }
    if args.json.replaces_text() {
        json_to.write(&json::document(&outcome))?;
    } else {
        write_answer(format_args!("{}", summary::text(&outcome)))?;
        json_to.write(&json::document(&outcome))?;
    }
    if let Some(number) = number.filter(|_| !talk.quiet) {
        crate::say::remark!("pgdyno: kept as trial {number} (pgdyno show {number})");
    }
    Ok(exit(&outcome, interrupts))
}

/// Runs what was prepared, shown while it goes on, and kept; gives the number that it is kept by.
/// Interrupts beyond the number that had come before it was prepared end it.
///
/// # Errors
/// As [`Trial::run`]; why it came to nothing is kept then.
pub fn measure(
    trial: Trial,
    prepared: &Prepared,
    mut keep: Keep,
    talk: Talk,
    (interrupts, interrupted_before): (&'static Interrupts, u32),
) -> Result<(Outcome, Option<i64>), Failure> {
    let control = Control::default();
    let mut screen = Screen::new(talk.screen());
    let mut observers = Observers::new([keep.observer(), &mut screen]);
    let brake = Brake::on(&control, interrupts, interrupted_before);
    let outcome = trial.run(prepared, &control, &mut observers);
    drop(brake);
    match outcome {
        Ok(outcome) => {
            let number = keep.finish(&outcome);
            Ok((outcome, number))
        }
        Err(failure) => {
            keep.end_with(&failure);
            Err(failure)
        }
    }
}

/// What a trial that was run comes to for the shell.
pub fn exit(outcome: &Outcome, interrupts: &Interrupts) -> Exit {
    let recording = &outcome.recording;
    if recording.end == End::Interrupted {
        Exit::Interrupted(interrupts.exit_code().unwrap_or(130))
    } else if recording.clients.disconnected > 0 {
        Exit::Connection
    } else if recording.clients.aborted > 0 {
        Exit::Failed
    } else {
        Exit::Ok
    }
}
