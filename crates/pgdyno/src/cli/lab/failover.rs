//! `pgdyno lab failover`: a private primary is killed and its standby promoted, with nothing but pgdyno.
//!
//! It is `lab disturb` with a pair of servers of its own and a disturbance that pgdyno carries out itself.

use std::str::FromStr;
use std::time::Duration;

use clap::Args;
use pgdyno_output::{JsonArg, StoreArgs, Verbosity};
use pgdyno_spec::{
    DisturbSpec, Exit, FAILOVER, Failure, GeneratorsSpec, OwnSpec, Rate, Replication, TargetSpec,
    TrialSpec, duration, experiment::Kind,
};

use super::super::serve::ServeArgs;
use super::conducted::WithArgs;
use super::disturb::{self, DisturbArgs};

/// A rate that any machine serves with ease, so that what is missing is the failover's.
const RATE_PER_S: &str = "200";
const CLIENTS: u32 = 8;
/// Branches enough for so many clients; loaded in seconds.
const SCALE: &str = "scale=8";

/// Which pair, how it replicates, how often.
#[derive(Debug, Args)]
#[command(after_help = "\
Asynchronous is the default because it is PostgreSQL's own and what most run: what it loses is what is to be
seen. On one machine a standby is only microseconds behind, so that often nothing is lost.

The standby is promoted at once: the time that a failover manager takes to notice comes on top. For your own
cluster with its manager: pgdyno lab disturb … --during 'patronictl …' (pgdyno help failover).

Examples:
  pgdyno lab failover                     three failovers, less than three minutes
  pgdyno lab failover --sync              COMMIT waits for the standby
  pgdyno lab failover --full              six failovers, six controls, an interval
  pgdyno lab failover -c 32 -R 1000       more load
  pgdyno lab failover --full --print > mine.toml      the experiment, to change and sweep
  pgdyno report lab-failover              its page

Lost writes make the exit code 1. What each figure means: pgdyno help disturb, pgdyno help failover")]
pub struct FailoverArgs {
    /// COMMIT waits until the standby has it on disk (synchronous_standby_names)
    #[arg(long, conflicts_with = "asynchronous")]
    pub sync: bool,

    /// COMMIT does not wait for the standby [default]
    #[arg(long = "async")]
    pub asynchronous: bool,

    /// Six failovers and six controls in place of three failovers; takes seven minutes
    #[arg(long)]
    pub full: bool,

    /// Failovers [default: 3; with --full 6]
    #[arg(long, value_name = "COUNT", value_parser = clap::value_parser!(u32).range(1..=1000))]
    pub repeat: Option<u32>,

    /// Transactions leave no receipts: lost writes are not looked for
    #[arg(long)]
    pub no_receipts: bool,

    /// Concurrent clients
    #[arg(short, long, default_value_t = CLIENTS, value_parser = clap::value_parser!(u32).range(1..=900))]
    pub clients: u32,

    /// Transactions per second over all clients; 30% is a share of what they get at most, which a first
    /// trial measures, '30% of EXPERIMENT' one of a capacity that was found; it may move (pgdyno run --help)
    #[arg(short = 'R', long, default_value = RATE_PER_S, value_parser = Rate::from_str)]
    pub rate: Rate,

    /// How long each run measures before the failover
    #[arg(long, value_name = "TIME", default_value = "10s", value_parser = duration::parse_positive)]
    pub before: Duration,

    /// How long it goes on after it
    #[arg(long, value_name = "TIME", default_value = "20s", value_parser = duration::parse_positive)]
    pub after: Duration,

    /// Seed of the random numbers [default: from the clock]
    #[arg(long, value_name = "NUMBER", allow_negative_numbers = true)]
    pub seed: Option<i64>,

    /// Continue an interrupted laboratory: skip runs that are complete in the notebook
    #[arg(long)]
    pub resume: bool,

    /// Print the experiment as TOML for `pgdyno sweep` and exit
    #[arg(long, conflicts_with_all = ["json", "resume"])]
    pub print: bool,

    /// The servers' options.
    #[command(flatten)]
    pub own: OwnSpec,

    /// `--json`.
    #[command(flatten, next_help_heading = "Result")]
    pub json: JsonArg,

    /// The notebook's options.
    #[command(flatten)]
    pub store: StoreArgs,

    /// The notebook in the browser meanwhile.
    #[command(flatten)]
    pub serve: ServeArgs,
}

impl FailoverArgs {
    fn disturb(&self) -> DisturbArgs {
        let replication = if self.sync {
            Replication::Sync
        } else {
            Replication::Async
        };
        DisturbArgs {
            spec: TrialSpec {
                clients: Some(self.clients.into()),
                rate: Some(self.rate.clone()),
                seed: self.seed,
                params: vec![SCALE.to_owned()],
                target: TargetSpec {
                    pg_standby: Some(replication),
                    own: self.own.clone(),
                    ..TargetSpec::default()
                },
                disturb: DisturbSpec {
                    during: Some(FAILOVER.into()),
                    before: Some(self.before),
                    after: Some(self.after),
                    ..DisturbSpec::default()
                },
                ..TrialSpec::of("tpcb")
            },
            kind: Kind::Failover,
            with: WithArgs::default(),
            only: Vec::new(),
            except: Vec::new(),
            list: false,
            no_receipts: self.no_receipts,
            repeat: self.repeat.unwrap_or(if self.full { 6 } else { 3 }),
            no_controls: !self.full,
            against: Vec::new(),
            resume: self.resume,
            print: self.print,
            generators: GeneratorsSpec::default(),
            json: self.json.clone(),
            store: self.store.clone(),
            serve: self.serve.clone(),
        }
    }
}

/// Runs the command.
pub fn open(args: &FailoverArgs, verbosity: Verbosity) -> Result<Exit, Failure> {
    disturb::open(&args.disturb(), verbosity)
}
