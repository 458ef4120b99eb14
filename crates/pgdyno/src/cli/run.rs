//! `pgdyno run`: one measured run.

use clap::{Args, ValueEnum};
use std::path::Path;

use pgdyno_model::document::TargetKind;
use pgdyno_model::spec::GeneratorsSpec;
use pgdyno_model::{Exit, Failure, TrialSpec};
use pgdyno_workload::script_files::split_weight;

use super::observing::observing;
use super::{generators, of_capacity};
use crate::screen::Screen;
use pgdyno_model::notebook::{TrialHeader, check_tag};
use pgdyno_output::{JsonArg, KeepArgs, Ran, Verbosity};
use pgdyno_run::header;
use pgdyno_run::prepare::{Prepared, prepare};
use pgdyno_run::trial::Trial;

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
  pgdyno run tpcb -c 16 --rate 500@30s,1000@30s  steps; also ramps, sines, bursts: docs/guide.md
  pgdyno run tpcb -c 16 --retry restart --backoff exponential=1ms,100ms,full
  pgdyno run tpcb -c 8 -T 5m --warmup auto       measure when throughput is steady
  pgdyno run slob -c 2 --loop client             random blocks; see pgdyno pack show slob
  pgdyno run mine.sql@9 other.sql@1 -t 1000      script files in pgbench's language
  pgdyno run tpcb -c 12 --url postgresql://me@db1,db2,db3/bench --reconnect
  pgdyno run tpcb -c 4000 --generators 16 --store postgresql://notes/pgdyno --url …
                                                 16 pgdynos, one trial: docs/scale-out.md
  pgdyno run tpcb --json=result.json             everything measured, for programs
  pgdyno run tpcb --tag baseline                 easy to find in the notebook: pgdyno ls

Percentiles are shown only where at least ten transactions lie beyond them.")]
pub struct RunArgs {
    /// The trial.
    #[command(flatten)]
    pub spec: TrialSpec,

    /// Where the workload's loop runs, for workloads that support both (slob): in the server,
    /// without network round trips, or in the client [default: server, if supported]
    #[arg(
        long = "loop",
        value_enum,
        value_name = "WHERE",
        help_heading = "Workload"
    )]
    pub loop_in: Option<LoopIn>,

    /// Several pgdynos for one trial.
    #[command(flatten)]
    pub generators: GeneratorsSpec,

    /// What becomes of the result.
    #[command(flatten)]
    pub result: ResultArgs,
}

/// Where a trial's result goes.
#[derive(Debug, Args)]
pub struct ResultArgs {
    /// `--json`.
    #[command(flatten)]
    pub json: JsonArg,

    /// Whether and where the trial is kept.
    #[command(flatten)]
    pub keep: KeepArgs,

    /// Tag the trial in the notebook (repeatable)
    #[arg(long, value_name = "TAG", value_parser = tag, conflicts_with = "no_store")]
    pub tag: Vec<String>,

    /// Note about the trial in the notebook
    #[arg(long, value_name = "TEXT", conflicts_with = "no_store")]
    pub note: Option<String>,
}

/// Where a workload's loop runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum LoopIn {
    /// A stored procedure runs work units in a loop
    Server,
    /// The client sends each work unit
    Client,
}

fn tag(text: &str) -> Result<String, String> {
    check_tag(text).map_err(|failure| failure.hints.join(" "))?;
    Ok(text.to_owned())
}

impl ResultArgs {
    /// What is kept of a trial before it begins.
    pub fn header(&self, spec: &TrialSpec, prepared: &Prepared) -> TrialHeader {
        TrialHeader {
            tags: self.tag.clone(),
            note: self.note.clone(),
            ..header::header(spec, prepared)
        }
    }
}

/// Runs the command.
pub fn open(args: &RunArgs, verbosity: Verbosity) -> Result<Exit, Failure> {
    let mut spec = args.spec.clone();
    spec.check()?;
    if let Some(rate) = spec.rate {
        spec.rate = Some(of_capacity::resolved(rate, &args.result.keep.store)?);
    }
    // A parameter of the pack that has an option of its own.
    spec.params
        .extend(args.loop_in.map(|loop_in| match loop_in {
            LoopIn::Server => "loop=server".to_owned(),
            LoopIn::Client => "loop=client".to_owned(),
        }));
    match args.generators.generators {
        None => run(spec, &args.result, verbosity),
        Some(_) => generators::run(spec, &args.generators, &args.result, verbosity),
    }
}

/// Runs a trial, prints what came of it and keeps it.
///
/// # Errors
/// It cannot be prepared, or came to nothing.
pub fn run(spec: TrialSpec, args: &ResultArgs, verbosity: Verbosity) -> Result<Exit, Failure> {
    let json_to = args.json.open()?;
    let mut trial = Trial {
        share: None,
        observe: observing(&spec.observe, verbosity)?,
        spec: spec.resolved(),
    };
    let keep = args.keep.open()?;
    let interrupts = pgdyno_run::interrupts()?;
    let interrupted_before = interrupts.count();
    let mut prepared = prepare(&trial.spec, &mut verbosity.progress(), interrupts)?;
    // What the environment named is kept: run again, the trial finds the same server.
    if trial.spec.target.urls.is_empty() && prepared.target.kind == TargetKind::Named {
        trial.spec.target.urls = vec![prepared.target.address.clone().into()];
    }
    trial.spec.workload = whole_paths(trial.spec.workload);
    let keep = keep.begin(&mut prepared, |prepared| args.header(&trial.spec, prepared))?;
    let since = (interrupts, interrupted_before);
    let mut screen = Screen::new(verbosity);
    let ran = Ran::run(trial, &prepared, keep, &mut screen, since)?;
    if ran.outcome.recording.has_lost_server()
        && let Some(words) = prepared.target.last_words()
    {
        pgdyno_output::remark!("pgdyno: the server's last words:\n{words}");
    }
    ran.print(json_to, verbosity.quiet)?;
    ran.exit(interrupts)
}

/// Scripts and folders by paths that lead there from anywhere, their weights behind them.
pub fn whole_paths(workload: Vec<String>) -> Vec<String> {
    let whole = |name: String| {
        let file = split_weight(&name).map_or(name.as_str(), |(file, _)| file);
        let path = Path::new(file);
        let is_path = path.exists() && (path.is_file() || file.contains('/'));
        match std::path::absolute(path) {
            Ok(whole) if is_path => format!("{}{}", whole.display(), &name[file.len()..]),
            _ => name,
        }
    };
    workload.into_iter().map(whole).collect()
}
