//! `pgdyno lab`: questions that a set of trials answers, on the user's own database.

pub(super) mod conducted;
mod disturb;
mod failover;
mod isolation;
mod migrate;

use std::time::Duration;

use clap::{Args, Subcommand, builder::PossibleValuesParser};

pub use conducted::print;

use super::generators::{Together, check_new};
use super::made_args::MadeArgs;
use super::sweep;
use crate::screen::experiment::Lines;
use conducted::{Conducted, show};
use pgdyno_output::{Sink, Verbosity};
use pgdyno_report::{lab as report, retries_lab};
use pgdyno_run::experiment::notebook::StoredExperiment;
use pgdyno_run::experiment::plan::Plan;
use pgdyno_run::experiment::study::TrialsAlone;
use pgdyno_run::generators::Conductor;
use pgdyno_spec::experiment::retries_lab::{FORMS, LEVELS, Lab, Length, WORKLOADS};
use pgdyno_spec::{Exit, Failure, Isolation, TrialSpec};
use pgdyno_spec::{GeneratorsSpec, TargetSpec, duration, seed_from_clock};
use pgdyno_store::Store;

/// Marks the trials of a first look.
const TAG: &str = "exploratory";
const DURATION_DEFAULT: Duration = Duration::from_secs(5);
/// Tables are at most this wide, where that is possible.
const WIDTH: usize = 110;

/// What can be asked.
#[derive(Debug, Subcommand)]
pub enum LabVerb {
    /// Compare ways to write a transaction under contention
    #[command(long_about = "\
Compare ways to write a transaction under contention. The same transaction is run in several forms,
in turn and for a few seconds each, with retries, and the forms are compared side by side: goodput,
latency from the first try, retries, work thrown away.

At scale 1, which is loaded when there are no tables yet, all clients update the same branch row: maximum
contention. --param scale=N has N branches.")]
    Retries(Box<RetriesArgs>),

    /// Disturb a database under load and measure how clients fare
    #[command(long_about = "\
Disturb a database under load and measure how clients fare. Transactions come at a rate, whether the
database serves them or not; shell commands, or pgdyno itself (--list), disturb it (a node is killed,
a disk is full, a network is slow), and what was due and not served is counted: how long service was
gone, when it was back, what was lost.")]
    Disturb(Box<disturb::DisturbArgs>),

    /// Kill a private primary, promote its standby, and measure what clients notice and what is lost
    #[command(long_about = "\
Kill a private primary, promote its standby, and measure what clients notice and what is lost. pgdyno
starts both servers, runs tpcb at a constant rate, kills the primary after 10 s (all of its processes at
once), promotes the standby, and goes on for 20 s; three times, in less than three minutes. Each
transaction leaves a receipt, so that acknowledged writes that are missing are counted. Between the runs
the killed server is made a standby of the other.")]
    Failover(Box<failover::FailoverArgs>),

    /// Check which isolation levels a database keeps under load
    #[command(long_about = "\
Check which isolation levels a database keeps under load. Transactions read and write a few keys that others
read and write at the same time, at each level by turns; each is recorded with what it observed, and the
history is checked: which anomalies occurred, how often, and whether the level in effect forbids them. For
anomalies not seen there is a bound on how often they occur.")]
    Isolation(Box<isolation::IsolationArgs>),

    /// Run a migration under load and measure what clients feel
    #[command(long_about = "\
Run a migration under load and measure what clients feel: for how long none of them commits, what is missed,
whom the migration waits for, who waits behind it. Its forms by turns, with controls without it: as written, with
lock_timeout and retries, and with online forms of its statements, where there are some. --explain needs no load:
it says what each statement locks, writes anew and reads, with the source.")]
    Migrate(Box<migrate::MigrateArgs>),
}

/// Which forms, under which circumstances.
#[derive(Debug, Args)]
#[command(after_help = "\
The forms (mixes of the workload; pgdyno pack show tpcb has them as files):
  statements   a round trip for each statement: what most applications do
  batch        all statements in one message of the simple protocol
  cte          one statement: updates and insert within WITH
  pipeline     all statements sent before the first answer is read
  for-update   the most contended row is locked first
  procedure    a procedure on the server that retries by itself

Examples:
  pgdyno lab retries                                  a private server, two minutes
  pgdyno lab retries --isolation serializable         where conflicts become retries
  pgdyno lab retries --url postgresql://me@db1/bench -c 8,64 --repeat 5
  pgdyno lab retries --forms statements,cte -T 30s --workload simple-update
  pgdyno lab retries --full --print > mine.toml       the full experiment, to change and sweep
  pgdyno lab retries --json=retries.json

What each form is for, and how to read the table: pgdyno help retries")]
pub struct RetriesArgs {
    /// The workload: tpcb, or simple-update, which has no row that all clients update
    #[arg(long, value_name = "NAME", value_parser = PossibleValuesParser::new(WORKLOADS), default_value = WORKLOADS[0])]
    pub workload: String,

    /// The forms to compare
    #[arg(long, value_name = "FORM,…", value_delimiter = ',', value_parser = PossibleValuesParser::new(FORMS), default_values = FORMS, hide_default_value = true, hide_possible_values = true)]
    pub forms: Vec<String>,

    /// Clients that run at the same time [default: 1,32; with --full 1,4,16,64]
    #[arg(short, long, value_name = "COUNT,…", value_delimiter = ',', value_parser = clap::value_parser!(u32).range(1..=100_000))]
    pub clients: Vec<u32>,

    /// Isolation levels [default: the server's; with --full all but read-uncommitted]
    #[arg(
        long,
        value_enum,
        value_name = "LEVEL,…",
        value_delimiter = ',',
        ignore_case = true,
        hide_possible_values = true
    )]
    pub isolation: Vec<Isolation>,

    /// How long each trial measures: 5, 5s, 1m [default: 5s]
    #[arg(short = 'T', long, value_name = "TIME", value_parser = duration::parse_positive, conflicts_with = "transactions")]
    pub duration: Option<Duration>,

    /// Transactions of each client in a trial, instead of a duration
    #[arg(short, long, value_name = "COUNT", value_parser = clap::value_parser!(u64).range(1..=i64::MAX as u64))]
    pub transactions: Option<u64>,

    /// Trials of each form at each point, in turn
    #[arg(long, value_name = "COUNT", default_value_t = 2, value_parser = clap::value_parser!(u32).range(1..=1000))]
    pub repeat: u32,

    /// Also compare retry policies, isolation levels, more numbers of clients, and foreign keys;
    /// takes hours
    #[arg(long)]
    pub full: bool,

    /// Several pgdynos for each trial.
    #[command(flatten)]
    pub generators: GeneratorsSpec,

    /// What every made experiment has.
    #[command(flatten)]
    pub made: MadeArgs,
}

impl RetriesArgs {
    fn lab(&self) -> Result<Lab, Failure> {
        let or = |given: &[u32], plain: &[u32], full: &[u32]| match (given, self.full) {
            ([], false) => plain.to_vec(),
            ([], true) => full.to_vec(),
            (given, _) => given.to_vec(),
        };
        Ok(Lab {
            workload: self.workload.clone(),
            forms: self.forms.clone(),
            clients: or(&self.clients, &[1, 32], &[1, 4, 16, 64]),
            isolation: match (self.isolation.as_slice(), self.full) {
                ([], true) => LEVELS.map(str::to_owned).to_vec(),
                (given, _) => given.iter().map(|level| level.name().to_owned()).collect(),
            },
            length: match (self.duration, self.transactions) {
                (_, Some(count)) => Length::Transactions(count),
                (duration, None) => Length::Time(duration.unwrap_or(DURATION_DEFAULT)),
            },
            repeats: self.repeat,
            seed: self.made.seed,
            params: self.made.pack.pairs()?,
            full: self.full,
        })
    }
}

/// Runs the command.
pub fn open(verb: &LabVerb, verbosity: Verbosity) -> Result<Exit, Failure> {
    let args = match verb {
        LabVerb::Retries(args) => args,
        LabVerb::Disturb(args) => return disturb::open(args, verbosity),
        LabVerb::Failover(args) => return failover::open(args, verbosity),
        LabVerb::Isolation(args) => return isolation::open(args, verbosity),
        LabVerb::Migrate(args) => return migrate::open(args, verbosity),
    };
    let made = args.lab()?.experiment();
    if args.made.print {
        return print(made);
    }
    let experiment = made.experiment;
    let seed = experiment.seed.unwrap_or_else(seed_from_clock);
    let plan = Plan::new(experiment, &args.made.target, seed)?;
    retries(args, verbosity, &plan)
}

/// The plan with its place in the notebook, in the order in which it was begun before, where it is to go on
/// (`resume`): by this command, or by a generator that died (`goes_on`).
fn begin<'s>(
    store: &'s Store,
    plan: &Plan,
    wanted: &TargetSpec,
    (resume, goes_on): (bool, bool),
) -> Result<(Plan, StoredExperiment<'s>), Failure> {
    let planned = |seed| Plan::new(plan.experiment.clone(), wanted, seed);
    if resume || goes_on {
        match StoredExperiment::resume(store, &plan.identity, goes_on)? {
            Some(begun) => return Ok((planned(begun.seed)?, begun.notebook)),
            None => pgdyno_output::remark!(
                "pgdyno: note: no {} in {}: starting it",
                plan.identity.name,
                store.place()
            ),
        }
    }
    let notebook = StoredExperiment::new(store, &plan.identity);
    Ok((planned(plan.identity.seed)?, notebook))
}

fn retries(args: &RetriesArgs, verbosity: Verbosity, plan: &Plan) -> Result<Exit, Failure> {
    let json_to = args.made.json.open()?;
    let store = args.made.store.open()?;
    let _served = args.made.serve.start(&args.made.store)?;
    let together = Together {
        options: &args.generators,
        identity: (&plan.identity.name, &plan.identity.sha256),
        store: &store,
        complete: &|_, spec| TrialSpec {
            target: args.made.target.clone(),
            ..spec
        },
    };
    let conducted = together.conduct(verbosity, |generators, goes_on| {
        check_new(goes_on)?;
        conducted(args, verbosity, plan, (&store, json_to), generators)
    })?;
    Ok(conducted.unwrap_or(Exit::Ok))
}

/// Carries it out, and shows what came of it.
fn conducted(
    args: &RetriesArgs,
    verbosity: Verbosity,
    plan: &Plan,
    (store, json_to): (&Store, Sink),
    generators: Option<Conductor<'_>>,
) -> Result<Exit, Failure> {
    let notebook = StoredExperiment::new(store, &plan.identity).tagged(vec![TAG.to_owned()]);
    let mut lines = Lines::on_stderr(verbosity);
    let ended = Conducted {
        name: "lab retries",
        plan,
        notebook: &notebook,
        wanted: args.made.target.clone(),
        observe: Default::default(),
        generators,
    }
    .run_with_lines(&mut TrialsAlone, verbosity, &mut lines)?;
    let row = store.experiment(notebook.uuid()?)?;
    let document = retries_lab::lab(&report::Trials::of(store, &row)?)?;
    let nothing_but = document.nothing_but();
    let found = nothing_but
        .is_empty()
        .then_some(&document as &dyn report::Lab);
    show(
        found,
        &document,
        (store, &notebook),
        (&args.made.json, json_to),
        WIDTH,
    )?;
    sweep::kept_as(&plan.identity.name, verbosity);
    if let Some(failure) = ended.early {
        return Err(failure);
    }
    if nothing_but.is_empty() {
        return Ok(Exit::Ok);
    }
    let unsaid = nothing_but.into_iter().filter(|why| !lines.has_said(why));
    let failure = Failure::new("no form can be run here");
    Err(unsaid.fold(failure, Failure::detail))
}
