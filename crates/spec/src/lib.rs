//! What is asked for, as plain typed data without I/O: a trial and an experiment.
//!
//! - [`TrialSpec`]: one type for the command line, experiment files, the notebook, `--json`, `show` and the page.
//!   An option that a trial takes is one field of it.
//! - [`experiment`]: a matrix of trials.
//! - [`load`], [`Retry`], [`Backoff`], [`ErrorRule`], [`QueryMode`], [`Until`]: what the engine gets.
//! - [`exit`]: how pgdyno ends, and the one form of its errors; [`text`]: quantities as people read them.
//!
//! Not here: making the engine's `Drive` from it, finding the workload and the server it names, what came of it.

pub mod backoff;
mod clients;
pub mod command;
mod compatible;
pub mod defaults;
mod disturb;
pub mod duration;
mod error_rule;
mod errors;
pub mod exit;
pub mod experiment;
pub mod generators;
mod isolation;
pub mod load;
pub mod network;
mod observe;
mod option;
mod profile;
mod query_mode;
mod rate;
mod retry;
pub mod roles;
pub mod secret;
mod serialized;
pub mod suggest;
mod target;
pub mod text;
mod until;
mod warmup;

use std::collections::BTreeMap;
use std::num::NonZeroU64;
use std::str::FromStr;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use clap::Args;
use pgdyno_platform::{host, io};
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

pub use backoff::{Backoff, Jitter, Pauses};
pub use clients::Clients;
pub use command::ShellCommand;
pub use compatible::{Commits, Compatible, SysbenchDraws};
pub use disturb::{DisturbSpec, FAILOVER, OWN, Step, Timed};
pub use error_rule::{ErrorClass, ErrorRule, PGBENCH_RULES};
pub use errors::{ErrorPolicy, OnConnectionLoss, OnError, OnLastTry};
pub use exit::{Exit, Failure};
pub use experiment::Experiment;
pub use generators::{GeneratorsSpec, Share};
pub use isolation::Isolation;
pub use load::Profile;
pub use observe::{ObserveSpec, Wish};
pub use option::{Takes, TrialOption};
pub use query_mode::QueryMode;
pub use rate::Rate;
pub use retry::{Policy, Retry, RetryPolicy};
pub use roles::{EndpointRole, EndpointRoles, RolesSpec, ScriptRoles};
pub use secret::Address;
pub use target::{Discover, OwnSpec, Replication, TargetSpec};
pub use until::Until;
pub use warmup::Warmup;

use self::network::NetworkStep;

/// How long a trial lasts when the user does not say: long enough for a p99 at a few hundred
/// transactions a second.
const DURATION_DEFAULT: Duration = Duration::from_secs(10);

/// One measured run as it is asked for. Serialized, it has no secrets; what is missing when it is read
/// is as the command line has it when nothing is typed.
#[derive(Debug, Clone, Default, PartialEq, Args, Serialize, Deserialize)]
#[serde(default)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
pub struct TrialSpec {
    /// A workload's name (`pgdyno pack list`), the path of a folder with a pack.toml, or script
    /// files in pgbench's language, each with its weight
    #[arg(value_name = "WORKLOAD|SCRIPT[@WEIGHT]", required = true)]
    pub workload: Vec<String>,

    /// For script files of a sweep: the pack whose tables they run on.
    #[arg(skip)]
    pub tables: Option<String>,

    /// Use one of the workload's mixes instead of its scripts' weights
    #[arg(long, value_name = "NAME", help_heading = "Workload")]
    pub mix: Option<String>,

    /// Let scripts run any program on this host as the current user (\shell, \setshell)
    #[arg(long, help_heading = "Workload")]
    pub allow_shell: bool,

    /// Concurrent clients, each with its own connection [default: 1]
    ///
    /// Their number may move: a ramp 8..64/60s, steps 8@30s,64@30s, and what else --rate takes; all connect at
    /// the beginning, and those above it rest.
    #[arg(short, long, value_name = "COUNT", value_parser = Clients::from_str, help_heading = "Load")]
    #[serde(flatten, with = "clients::kept")]
    #[cfg_attr(feature = "typescript", ts(skip))]
    pub clients: Option<Clients>,

    /// Threads that drive the clients [default: one per CPU, at most one per client]
    #[arg(short = 'j', long, value_parser = clap::value_parser!(u32).range(1..=4096), help_heading = "Generator")]
    pub threads: Option<u32>,

    /// How long to measure: 60, 60s, 2m [default: 10s]
    ///
    /// With a rate or clients that move, the default is their length.
    #[arg(short = 'T', long, id = "duration_s", value_name = "TIME", value_parser = duration::parse_positive, conflicts_with = "transactions_per_client", help_heading = "Load")]
    #[serde(rename = "duration_s", with = "serialized::s")]
    #[cfg_attr(feature = "typescript", ts(as = "Option<f64>"))]
    pub duration: Option<Duration>,

    /// Transactions per client, instead of a duration
    #[arg(short, long, id = "transactions_per_client", value_name = "COUNT", value_parser = clap::value_parser!(u64).range(1..), help_heading = "Load")]
    #[serde(rename = "transactions_per_client")]
    #[cfg_attr(feature = "typescript", ts(as = "Option<f64>"))]
    pub transactions: Option<u64>,

    /// Transactions per second over all clients; it may move: 100..2000/60s [default: as many as clients can]
    ///
    /// An open loop: transactions start on a Poisson schedule, and latency is also measured from the scheduled
    /// start. It may move: a ramp 100..2000/60s, steps 500@30s,1000@30s, a sine 1000~400/60s
    /// (mean~amplitude/period), bursts 200+1500@2s/20s (1500 more for 2 s every 20 s), @FILE.csv (seconds,rate);
    /// '80% of EXPERIMENT' is a share of the capacity that it found.
    #[arg(short = 'R', long, id = "rate_per_s", value_name = "PER_SECOND", value_parser = Rate::from_str, help_heading = "Load")]
    #[serde(flatten, with = "rate::kept")]
    #[cfg_attr(feature = "typescript", ts(skip))]
    pub rate: Option<Rate>,

    /// Run this long before measuring; auto: until throughput is steady
    ///
    /// It is reported separately and never part of the figures. auto goes on for at most one minute, or
    /// auto=LIMIT.
    #[arg(
        long,
        value_name = "TIME|auto",
        default_value = "0",
        help_heading = "Load"
    )]
    #[serde(flatten)]
    #[cfg_attr(feature = "typescript", ts(flatten))]
    pub warmup: Warmup,

    /// Count slower transactions as late; with --rate, skip transactions that are already this late
    /// before they start
    #[arg(short = 'L', long, id = "latency_limit_us", value_name = "TIME", value_parser = duration::parse_positive, help_heading = "Load")]
    #[serde(rename = "latency_limit_us", with = "serialized::us")]
    #[cfg_attr(feature = "typescript", ts(as = "Option<f64>"))]
    pub latency_limit: Option<Duration>,

    /// A client that has waited this long for the answer to a statement gives its connection up, as if
    /// it had been lost; the statement is cancelled on the server, if that still answers
    #[arg(long, id = "statement_timeout_us", value_name = "TIME", value_parser = duration::parse_positive, help_heading = "Errors and retries")]
    #[serde(rename = "statement_timeout_us", with = "serialized::us")]
    #[cfg_attr(feature = "typescript", ts(as = "Option<f64>"))]
    pub statement_timeout: Option<Duration>,

    /// What follows errors that may be tried again.
    #[command(flatten)]
    #[serde(flatten)]
    pub retry: RetryPolicy,

    /// What follows all other errors.
    #[command(flatten)]
    #[serde(flatten)]
    pub errors: ErrorPolicy,

    /// Protocol for sending statements [default: simple, unless the workload needs another]
    #[arg(short = 'M', long, value_enum, help_heading = "Load")]
    #[cfg_attr(feature = "typescript", ts(as = "Option<String>"))]
    pub query_mode: Option<QueryMode>,

    /// Isolation level of the transactions, unless a script sets its own; pgdyno reads back which
    /// level the server uses [default: the server's]
    #[arg(long, value_enum, value_name = "LEVEL", help_heading = "Load")]
    #[cfg_attr(feature = "typescript", ts(as = "Option<String>"))]
    pub isolation: Option<Isolation>,

    /// Read from the nearest replica, a few seconds stale, in sessions that are read-only: on
    /// CockroachDB and YugabyteDB
    #[arg(long, help_heading = "Target")]
    pub follower_reads: bool,

    /// Connect clients through a proxy that pgdyno starts on loopback before each endpoint: disturbances of the
    /// network (pgdyno:net-delay and others) need it, and latencies include it. pgdyno's own sessions
    /// go directly (pgdyno help disturb)
    #[arg(long, help_heading = "Target")]
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    #[cfg_attr(feature = "typescript", ts(optional, as = "Option<bool>"))]
    pub via: bool,

    /// Server settings by name, for sweeps. Session settings are set by the clients' sessions.
    #[arg(skip)]
    #[serde(deserialize_with = "serialized::settings::deserialize")]
    pub settings: BTreeMap<String, String>,

    /// Roles of endpoints and scripts.
    #[command(flatten)]
    #[serde(flatten)]
    pub roles: RolesSpec,

    /// Have each transaction leave a receipt, and ask the database for them afterwards: acknowledged
    /// transactions that it does not have are lost writes (exit code 1). A script that writes pgbench's
    /// history has it in that row; others get an INSERT more (pgdyno help failover)
    #[arg(long, help_heading = "Correctness")]
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    #[cfg_attr(feature = "typescript", ts(optional, as = "Option<bool>"))]
    pub receipts: bool,

    /// Record what each transaction observes, read every key at the end, and check which isolation levels
    /// that keeps. The workload must say what it observes: isolation does, and scripts with \observe
    /// (pgdyno help isolation)
    #[arg(long = "check-isolation", id = "history", help_heading = "Correctness")]
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    #[cfg_attr(feature = "typescript", ts(optional, as = "Option<bool>"))]
    pub history: bool,

    /// Open a new connection for each transaction
    #[arg(
        short = 'C',
        long = "connect",
        id = "connection_per_transaction",
        help_heading = "Load"
    )]
    pub connection_per_transaction: bool,

    /// How pgdyno waits for sockets. auto: io_uring where a thread has more than 8 clients and the kernel allows it, else epoll.
    /// PGDYNO_IO sets it too
    #[arg(long, value_name = "auto|uring|epoll", value_parser = io_choice, default_value = "auto", help_heading = "Generator")]
    #[serde(with = "serialized::io")]
    #[cfg_attr(feature = "typescript", ts(as = "String"))]
    pub io: io::Choice,

    /// Keep each thread on a CPU of its own, of those that pgdyno may use (taskset), one core after the other.
    /// The result says which
    #[arg(long, help_heading = "Generator")]
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    #[cfg_attr(feature = "typescript", ts(optional, as = "Option<bool>"))]
    pub pin: bool,

    /// Seed of the random numbers: the same seed gives the same transactions
    /// [default: from the clock]
    #[arg(
        long,
        value_name = "NUMBER",
        allow_negative_numbers = true,
        help_heading = "Load"
    )]
    #[cfg_attr(feature = "typescript", ts(as = "Option<f64>"))]
    pub seed: Option<i64>,

    /// Set a workload parameter (repeatable), such as scale=100
    ///
    /// `pgdyno pack list NAME` shows them. Others are read from the loaded tables or have their defaults.
    #[arg(
        long = "param",
        id = "params",
        value_name = "NAME=VALUE",
        help_heading = "Workload"
    )]
    #[serde(with = "serialized::named")]
    #[cfg_attr(feature = "typescript", ts(as = "BTreeMap<String, String>"))]
    pub params: Vec<String>,

    /// Do not ask the checks of the workload's pack (what must hold of the data) before, during and
    /// after the trial
    #[arg(long, help_heading = "Correctness")]
    pub no_checks: bool,

    /// What is observed during the trial.
    #[command(flatten)]
    pub observe: ObserveSpec,

    /// The server's options.
    #[command(flatten)]
    pub target: TargetSpec,

    /// What disturbs it.
    #[command(flatten)]
    #[serde(skip_serializing_if = "DisturbSpec::is_empty")]
    #[cfg_attr(feature = "typescript", ts(optional, as = "Option<DisturbSpec>"))]
    pub disturb: DisturbSpec,

    /// Options set only by compatible commands.
    #[arg(skip)]
    #[serde(skip_serializing_if = "Compatible::is_empty")]
    #[cfg_attr(feature = "typescript", ts(optional, as = "Option<Compatible>"))]
    pub compatible: Compatible,
}

fn io_choice(word: &str) -> Result<io::Choice, String> {
    io::Choice::named(word).ok_or_else(|| {
        let words = io::Choice::ALL.map(io::Choice::name).join(", ");
        format!("\"{word}\" is no way to wait for sockets: it is one of {words}")
    })
}

impl TrialSpec {
    /// A trial of this workload, as the command line has it when nothing else is typed.
    pub fn of(workload: impl Into<String>) -> Self {
        Self {
            workload: vec![workload.into()],
            ..Self::default()
        }
    }

    /// When the trial ends without an interruption.
    pub fn until(&self) -> Until {
        let counted = self.transactions.and_then(NonZeroU64::new);
        let timed = self.duration.unwrap_or_else(|| {
            let rate = self.rate.as_ref();
            let rate = rate.and_then(|rate| rate.length(DURATION_DEFAULT));
            let clients = self.clients.as_ref();
            let clients = clients.and_then(|clients| clients.length(DURATION_DEFAULT));
            rate.max(clients).unwrap_or(DURATION_DEFAULT)
        });
        let disturbed = (!self.disturb.is_empty()).then(|| self.disturb.whole());
        let timed = disturbed.unwrap_or(timed);
        counted.map_or(Until::Elapsed(timed), Until::Transactions)
    }

    /// Whether its load changes while it is measured, because that was asked for.
    pub fn moves(&self) -> bool {
        let is_moving = |rate: &Rate| rate.constant().is_none();
        self.rate.as_ref().is_some_and(is_moving) || self.moving_clients().is_some()
    }

    /// Its clients, where their number moves.
    pub fn moving_clients(&self) -> Option<&Clients> {
        let is_moving = |clients: &&Clients| clients.moving().is_some();
        self.clients.as_ref().filter(is_moving)
    }

    /// How statements travel, as far as it is decided.
    pub fn query_mode(&self) -> QueryMode {
        self.query_mode.unwrap_or_default()
    }

    /// Clients that there are: the most that run at the same time.
    pub fn clients(&self) -> u32 {
        self.clients.as_ref().map_or(1, Clients::most)
    }

    /// Threads that drive them: at most one a client.
    pub fn threads(&self) -> u32 {
        let threads = self.threads.unwrap_or_else(|| host::cpus() as u32);
        threads.clamp(1, self.clients().max(1))
    }

    /// The trial with nothing left open that this host decides: what is run, kept and shown. Run
    /// again, it is the same trial.
    pub fn resolved(self) -> Self {
        Self {
            threads: Some(self.threads()),
            duration: match self.until() {
                Until::Elapsed(time) => Some(time),
                Until::Transactions(_) => None,
            },
            retry: self.retry.resolved(),
            seed: Some(self.seed.unwrap_or_else(seed_from_clock)),
            clients: Some(self.clients.unwrap_or(1.into())),
            ..self
        }
    }

    /// What parts of it contradict each other.
    ///
    /// # Errors
    /// They do, and the way out.
    pub fn check(&self) -> Result<(), Failure> {
        if let Some(rate) = self.rate.as_ref().filter(|rate| rate.is_of_maximum()) {
            let text = format!("a trial alone does not know what {rate} is a share of");
            return Err(Failure::with(Exit::Usage, text)
                .hint(format!(
                    "of a capacity that was found: -R '{rate} of EXPERIMENT', where `pgdyno ls` shows the \
                     name of a capacity search"
                ))
                .hint("pgdyno lab disturb and sweeps measure the maximum first"));
        }
        let ends = |rate: &Rate| !rate.profile().lasts();
        if self.transactions.is_some() && self.rate.as_ref().is_some_and(ends) {
            let text = "the rate ends at 0, so that the transactions of -t might never come";
            return Err(Failure::with(Exit::Usage, text)
                .hint("-T says how long the trial lasts; a last number is held: 500@30s,100"));
        }
        if self.transactions.is_some() && self.moving_clients().is_some() {
            let text =
                "a number of clients that moves lasts for a time, not for transactions of each";
            return Err(Failure::with(Exit::Usage, text)
                .hint("leave -t out: the trial lasts as long as the profile, or as -T says"));
        }
        self.retry.check()?;
        self.roles.check()?;
        if self.via && self.errors.new_nodes {
            let text = "--via starts a proxy before each endpoint at the beginning, and --new-nodes adds others";
            return Err(Failure::with(Exit::Usage, text).hint("leave one of them out"));
        }
        if self.disturb.is_empty() {
            return Ok(());
        }
        let usage = |text: &str, hint: &str| Err(Failure::with(Exit::Usage, text).hint(hint));
        if self.transactions.is_some() {
            let text = "a disturbed trial lasts for a time, not for a number of transactions";
            return usage(
                text,
                "leave --transactions out: --before, --for and --after say how long",
            );
        }
        if self.warmup.is_detected() {
            let text =
                "--warmup auto ends when it will: commands of a disturbance need their moment";
            return usage(text, "name a time: --warmup 10s");
        }
        let fails_over = self.disturb.steps().iter().any(Step::is_failover);
        if fails_over && self.target.pg_standby.is_none() {
            return usage(
                "pgdyno:failover is for a private server with a standby",
                "add --pg-standby async, or name a command that your cluster fails over with",
            );
        }
        self.check_network()?;
        self.disturb.check(self.duration)
    }

    /// Disturbances of the network: understood, and possible.
    fn check_network(&self) -> Result<(), Failure> {
        let usage = |text: String| Failure::with(Exit::Usage, text);
        for step in self.disturb.steps() {
            let Some(network) = NetworkStep::of(&step.command) else {
                continue;
            };
            let lasting = network.map_err(usage)?.lasting;
            if lasting.is_some_and(|lasting| step.at + lasting >= self.disturb.whole()) {
                let text = format!(
                    "`{}` would last longer than the trial, which measures {}",
                    step.command.public(),
                    crate::text::as_typed(self.disturb.whole())
                );
                return Err(usage(text).hint("let the trial go on for longer: --after 30s"));
            }
            if !self.via {
                let text = format!(
                    "`{}` disturbs connections that go through a proxy of pgdyno's",
                    step.command.public()
                );
                return Err(usage(text).hint("add --via"));
            }
        }
        Ok(())
    }

    /// Identifies the load: SHA-256 of the spec, without the
    /// server, what is observed, and what has no part in the load. In hexadecimal.
    pub fn load_sha256(&self) -> String {
        let load = Self {
            target: TargetSpec::default(),
            observe: ObserveSpec::default(),
            errors: ErrorPolicy {
                verbose_errors: false,
                ..self.errors
            },
            ..self.clone()
        };
        // Its keys stand in the order of the fields.
        let text = serde_json::to_string(&load).unwrap_or_default();
        let hash = Sha256::digest(text);
        hash.iter().map(|byte| format!("{byte:02x}")).collect()
    }
}

/// A default seed from the clock, short enough to type again. Results show it.
pub fn seed_from_clock() -> i64 {
    let since_epoch = SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .unwrap_or_default();
    since_epoch.as_micros() as i64 & i64::from(u32::MAX)
}
