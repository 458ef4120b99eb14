//! `pgdyno run`: one measured run.

use clap::{Args, ValueEnum};
use std::path::{Path, PathBuf};

use pgdyno_model::document::TargetKind;
use pgdyno_spec::{Exit, Experiment, Failure, GeneratorsSpec, TrialSpec};
use pgdyno_workload::script_files::split_weight;

use super::history_file::HistoryFile;
use super::observing::observing;
use super::serve::{ServeArgs, announce_trial};
use super::sweep::{self, SweepArgs};
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
  pgdyno run mine.sql@9 other.sql@1 -t 1000      script files in pgbench's language
  pgdyno run tpcb --repeat 5 --tag baseline      repeats with a tag, to compare
  pgdyno run ycsb --mix a -c 16                  YCSB's mixes a to f, custom
  pgdyno run select-only -c 64 -j 2 --query-mode prepared
  pgdyno run tpcb -c 16 --rate 500 --warmup 5s   open loop: 500 transactions a second
  pgdyno run tpcb -c 16 --rate 500@30s,1000@30s  steps; also ramps, sines, bursts: pgdyno help guide
  pgdyno run tpcb -c 16 --retry restart --backoff exponential=1ms,100ms,full
  pgdyno run tpcb -c 8 -T 5m --warmup auto       measure when throughput is steady
  pgdyno run slob -c 2 --loop client             random blocks; see pgdyno pack show slob
  pgdyno run tpcb --mix cte -c 8                 one of its mixes: see pgdyno pack list
  pgdyno run tpcb -c 12 --url postgresql://me@db1,db2,db3/bench --reconnect
  pgdyno run tpcb -c 4000 --generators 16 --store postgresql://notes/pgdyno --url …
                                                 16 pgdynos, one trial: pgdyno help scale-out
  pgdyno run isolation -c 8 --isolation serializable --history h.edn
                                                 for pgdyno check-history h.edn: was it kept?
  pgdyno run tpcb --json=result.json             everything measured, for programs

Percentiles are shown where at least ten transactions lie beyond them.")]
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

    /// Measure it so many times, for an interval over the repeats and for pgdyno compare
    ///
    /// They are an experiment of one point, which is reset between them.
    #[arg(long, value_name = "COUNT", value_parser = clap::value_parser!(u32).range(1..),
          conflicts_with_all = ["no_store", "note", "history_file", "generators", "during", "at"], help_heading = "Load")]
    pub repeat: Option<u32>,

    /// Several pgdynos for one trial.
    #[command(flatten)]
    pub generators: GeneratorsSpec,

    /// What becomes of the result.
    #[command(flatten)]
    pub result: ResultArgs,
}

/// Where a trial's result goes.
#[derive(Debug, Args)]
#[command(next_help_heading = "Result")]
pub struct ResultArgs {
    /// `--json`.
    #[command(flatten)]
    pub json: JsonArg,

    /// Whether and where the trial is kept.
    #[command(flatten)]
    pub keep: KeepArgs,

    /// The notebook in the browser meanwhile.
    #[command(flatten)]
    pub serve: ServeArgs,

    /// Tag the trial in the notebook (repeatable)
    #[arg(long, value_name = "TAG", value_parser = tag, conflicts_with = "no_store")]
    pub tag: Vec<String>,

    /// Record what each transaction observed, read every key at the end, and write it all to FILE, for
    /// pgdyno check-history: in Elle's JSON if its name ends in .json, else in Elle's EDN. The
    /// workload must say what it observes: isolation does, and scripts with \observe (pgdyno help isolation)
    #[arg(long, id = "history_file", value_name = "FILE")]
    pub history: Option<PathBuf>,

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

/// A tag that was typed.
pub(super) fn tag(text: &str) -> Result<String, String> {
    check_tag(text).map_err(|failure| failure.hints.join(" "))?;
    Ok(text.to_owned())
}

impl ResultArgs {
    /// What is kept of a trial before it begins.
    pub fn header(&self, spec: &TrialSpec, prepared: &Prepared) -> TrialHeader {
        let mut header = header::header(spec, prepared);
        header.tags.extend(self.tag.iter().cloned());
        TrialHeader {
            note: self.note.clone(),
            ..header
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
    if let Some(repeats) = args.repeat {
        return repeated(&args.result, spec, repeats, verbosity);
    }
    match args.generators.generators {
        None => run(spec, &args.result, verbosity),
        Some(_) => generators::run(spec, &args.generators, &args.result, verbosity),
    }
}

/// Runs a trial, prints what came of it and keeps it.
///
/// # Errors
/// It cannot be prepared, or came to nothing.
pub fn run(mut spec: TrialSpec, args: &ResultArgs, verbosity: Verbosity) -> Result<Exit, Failure> {
    let json_to = args.json.open()?;
    let history_to = args.history.as_deref().map(HistoryFile::open).transpose()?;
    spec.history |= history_to.is_some();
    let mut trial = Trial {
        share: None,
        observe: observing(&spec.observe, verbosity)?,
        spec: spec.resolved(),
    };
    let keep = args.keep.open()?;
    let served = args
        .serve
        .start_for_trial(args.keep.no_store, &args.keep.store)?;
    let interrupts = pgdyno_run::interrupts()?;
    let interrupted_before = interrupts.count();
    let mut prepared = prepare(&trial.spec, &mut verbosity.progress(), interrupts)?;
    // What the environment named is kept: run again, the trial finds the same server.
    if trial.spec.target.urls.is_empty() && prepared.target.kind == TargetKind::Named {
        trial.spec.target.urls = vec![prepared.target.address.clone().into()];
    }
    trial.spec.workload = whole_paths(trial.spec.workload);
    let keep = keep.begin(&mut prepared, |prepared| args.header(&trial.spec, prepared))?;
    announce_trial(served.as_ref(), keep.number());
    let since = (interrupts, interrupted_before);
    let mut screen = Screen::new(verbosity);
    let ran = Ran::run(trial, &prepared, keep, &mut screen, since)?;
    if ran.outcome.recording.has_lost_server()
        && let Some(words) = prepared.target.last_words()
    {
        pgdyno_output::remark!("pgdyno: the server's last words:\n{words}");
    }
    ran.print(json_to, verbosity)?;
    if let (Some(file), Some(recorded)) = (history_to, &ran.outcome.recording.history) {
        file.write(recorded, verbosity)?;
    }
    let has_only_failed = ran.has_only_failed();
    Ok(match ran.exit(interrupts)? {
        Exit::Ok if has_only_failed => Exit::Failed,
        exit => exit,
    })
}

/// Runs the same trial several times, as an experiment of its own.
///
/// # Errors
/// It cannot be carried out, or a trial came to nothing.
pub(super) fn repeated(
    result: &ResultArgs,
    mut spec: TrialSpec,
    repeats: u32,
    verbosity: Verbosity,
) -> Result<Exit, Failure> {
    spec.workload = whole_paths(spec.workload);
    let first = spec.workload.first().map_or("", |name| name.as_str());
    let first = split_weight(first).map_or(first, |(file, _)| file);
    let stem = Path::new(first).file_stem().unwrap_or_default();
    let name = format!("run-{}", stem.to_string_lossy());
    let experiment = Experiment::of_trial(name, &spec).repeats(repeats);
    let sweep = SweepArgs {
        tag: result.tag.clone(),
        // Who types a script's options types what it may do.
        allow_shell: true,
        json: result.json.clone(),
        store: result.keep.store.clone(),
        serve: result.serve.clone(),
        observe: spec.observe.clone(),
        target: spec.target.clone(),
        ..SweepArgs::default()
    };
    sweep::sweep(&sweep, verbosity, experiment)
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

#[cfg(test)]
mod tests {
    use pgdyno_report::first_screen::SIZES;
    use pgdyno_workload::shipped;

    #[test]
    fn a_heading_names_what_the_size_of_each_workload_hangs_on() {
        let packs = shipped::names();
        let packs = packs.iter().map(|name| shipped::find(name).unwrap());
        let mut sizes: Vec<String> = packs
            .flat_map(|pack| {
                let params = pack.params().into_iter().filter(|param| param.grows);
                params.map(|param| param.name.clone()).collect::<Vec<_>>()
            })
            .collect();
        sizes.sort();
        sizes.dedup();
        let mut named = SIZES.map(str::to_owned);
        named.sort();
        assert_eq!(sizes, named);
    }
}
